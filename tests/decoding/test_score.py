import keras
import numpy as np
import pytest
from backends import TWO_MODES
from backends import in_mode
from backends import tensorflow_only
from layer_catalogue import BATCH
from layer_catalogue import CELL_UNITS
from layer_catalogue import MEMORY_MASK
from layer_catalogue import VOCABULARY_SIZE
from layer_catalogue import draw
from layer_catalogue import draw_memory
from test_attention_decoder import lively_decoder

from keras_attention import BeamSearch
from keras_attention import GreedySearch
from keras_attention import RandomSampling


START, END, MAX_LENGTH = 1, 2, 9
IDS = {"start_token": START, "end_token": END}


def score_by_hand(decoder, tokens, memory, memory_mask, state):
    """One row and one token after another."""
    total = np.zeros(len(tokens))
    for row, sequence in enumerate(tokens):
        now = slice(row, row + 1)
        fed = [START, *sequence[:-1]]
        for index, token in enumerate(sequence):
            logits = decoder(
                np.array([fed[: index + 1]]),
                memory[now],
                initial_state=[state[now]],
                memory_mask=memory_mask[now],
            )
            logits = np.array(logits, "float64")[0, -1]
            total[row] += logits[token] - np.log(np.exp(logits).sum())
            if token == END:
                break
    return total


@pytest.mark.parametrize("mode", TWO_MODES)
def test_score_is_the_sum_over_the_tokens_up_to_the_first_end(mode, rng):
    decoder = lively_decoder(rng, mask_zero=False)
    memory, state = draw_memory(rng), draw(rng, BATCH, CELL_UNITS)
    tokens = rng.integers(3, VOCABULARY_SIZE, (BATCH, 5))
    tokens[1, 2:] = [END, 7, END]
    tokens[2] = [END, 0, 0, 0, 0]
    received = in_mode(
        lambda *inputs: decoder.score(
            inputs[0], inputs[1], inputs[2], [inputs[3]], **IDS
        ),
        mode,
    )(tokens, memory, MEMORY_MASK, state)
    expected = score_by_hand(decoder, tokens, memory, MEMORY_MASK, state)
    np.testing.assert_allclose(received, expected, atol=1e-5)


STRATEGIES = {
    "greedy": GreedySearch(),
    "beam": BeamSearch(3, num_return=3),
    "random": RandomSampling(1.3, top_k=5, seed=1),
}


@pytest.mark.parametrize("strategy", STRATEGIES.values(), ids=STRATEGIES)
@pytest.mark.parametrize(
    ("cell", "inner"),
    [("bahdanau", "stacked"), ("luong_feeding", "lstm"), ("luong", "gru")],
)
def test_score_is_what_decoding_reports(cell, inner, strategy, rng):
    """Scores and their meaning were unclear in allenai/allennlp#5208."""
    decoder = lively_decoder(
        rng, cell, inner, scale=0.8, return_attention_scores=True
    )
    memory = draw_memory(rng)
    for options in ({}, {"min_length": 4, "forbidden_tokens": [3]}):
        result = decoder.generate(
            memory,
            MEMORY_MASK,
            max_length=MAX_LENGTH,
            strategy=strategy,
            **options,
            **IDS,
        )
        scores = decoder.score(result.tokens, memory, MEMORY_MASK, **IDS)
        assert scores.shape == (BATCH, strategy.num_return)
        np.testing.assert_allclose(scores, result.scores, rtol=0, atol=1e-5)


def test_mask_that_the_memory_carries_is_minded(rng):
    class Encoder(keras.layers.Layer):
        def compute_mask(self, memory, mask=None):
            return keras.ops.convert_to_tensor(MEMORY_MASK)

        def call(self, memory):
            return keras.ops.multiply(memory, 1.0)

    decoder, memory = lively_decoder(rng), draw_memory(rng)
    tokens = rng.integers(3, VOCABULARY_SIZE, (BATCH, 4, 5))
    masked = Encoder()(memory)
    np.testing.assert_allclose(
        decoder.score(tokens, masked, **IDS),
        decoder.score(tokens, memory, MEMORY_MASK, **IDS),
        atol=1e-6,
    )


@tensorflow_only("sizes that are not known")
def test_sizes_need_not_be_known(rng):
    import tensorflow as tf

    decoder, memory = lively_decoder(rng), draw_memory(rng)

    @tf.function(
        input_signature=[
            tf.TensorSpec((None, None, None), tf.int32),
            tf.TensorSpec((None, None, memory.shape[-1])),
        ]
    )
    def score(tokens, memory):
        return decoder.score(tokens, memory, **IDS)

    for shape in ((BATCH, 2, 5), (2, 1, 7)):
        tokens = rng.integers(3, VOCABULARY_SIZE, shape).astype("int32")
        now = memory[: shape[0]]
        np.testing.assert_allclose(
            score(tokens, now), decoder.score(tokens, now, **IDS), atol=1e-5
        )


@pytest.mark.parametrize("shape", [(3,), (3, 2, 5, 7)])
def test_tokens_of_another_rank_raise(shape, rng):
    decoder, memory = lively_decoder(rng), draw_memory(rng)
    with pytest.raises(ValueError, match="num_sequences, length"):
        decoder.score(np.ones(shape, "int32"), memory, **IDS)
