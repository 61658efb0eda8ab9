"""What was reported against other libraries and holds here: decoding."""

import itertools

import keras
import numpy as np
import pytest
from backends import MODES
from backends import ONE_MODE
from backends import TWO_MODES
from backends import call_back
from backends import in_mode
from backends import tensorflow_only
from keras import ops
from keras import tree
from layer_catalogue import ATTENTIONS
from layer_catalogue import BATCH
from layer_catalogue import CELLS
from layer_catalogue import INNER_CELLS
from layer_catalogue import INPUT_UNITS
from layer_catalogue import MEMORY_LENGTH
from layer_catalogue import MEMORY_MASK
from layer_catalogue import MEMORY_UNITS
from layer_catalogue import VOCABULARY_SIZE
from layer_catalogue import draw
from layer_catalogue import draw_memory
from layer_catalogue import make_decoder
from layer_catalogue import randomize
from test_reports_cells import DictCell
from test_reports_cells import NestedCell

from keras_attention import AttentionDecoder
from keras_attention import AttentionRNN
from keras_attention import BeamSearch
from keras_attention import GreedySearch
from keras_attention import RandomSampling
from keras_attention import decode


PADDING, START, END = 0, 1, 2
IDS = {"start_token": START, "end_token": END}

by_mode = pytest.mark.parametrize("mode", MODES[1:] or MODES)

STRATEGIES = {
    "greedy": GreedySearch(),
    "beam": BeamSearch(3, 0.7, 0.2, num_return=3),
    "random": RandomSampling(1.5, top_k=5, top_p=0.9, seed=3),
}
by_strategy = pytest.mark.parametrize(
    "strategy", STRATEGIES.values(), ids=STRATEGIES
)


def follow(table):
    """A step that finds its logits at the last token; the state is empty."""

    def step(tokens, state):
        return ops.take(table, tokens, axis=0), state, None

    return step


# The end


# Log-probabilities after the start, after 3 and after 4. Neither padding nor
# the start comes ever again.
NEVER = 1e-30
LATE = np.log(
    [
        [1.0, 1.0, 1.0, 1.0, 1.0],
        [NEVER, NEVER, 0.52, 0.47, 0.01],
        [1.0, 1.0, 1.0, 1.0, 1.0],
        [NEVER, NEVER, 0.013, 0.007, 0.98],
        [NEVER, NEVER, 0.97, 0.019, 0.011],
    ]
).astype("float32")


def rank_late(length_penalty, max_length):
    """All sequences, best first: Wu et al. (2016), eq. 14."""
    sequences = [
        (*start, END)
        for length in range(max_length)
        for start in itertools.product([3, 4], repeat=length)
    ]
    sequences += itertools.product([3, 4], repeat=max_length)
    ranked = []
    for sequence in sequences:
        total, last = 0.0, START
        for token in sequence:
            total += LATE[last, token]
            last = token
        penalty = ((5 + len(sequence)) / 6) ** length_penalty
        padded = [*sequence, *[PADDING] * (max_length - len(sequence))]
        ranked.append((total / penalty, padded))
    return sorted(ranked, reverse=True)


@pytest.mark.parametrize(
    ("num_beams", "num_return"), [(2, 1), (2, 2), (16, 11)]
)
def test_hypothesis_that_ends_later_may_be_the_best(num_beams, num_return):
    """Can be checked on paper: log 0.52 is less than log(0.47 * 0.98 * 0.97)
    times 6/8, and more than log(0.47 * 0.98) times 6/7.

    Reported as OpenNMT/OpenNMT-py#1320: the search stopped when the best
    hypothesis had ended, though with a length penalty a longer one may yet
    become better; the best one depended on how many were asked for.
    """

    def run(max_length):
        return decode(
            follow(ops.convert_to_tensor(LATE)),
            [],
            batch_size=1,
            max_length=max_length,
            strategy=BeamSearch(num_beams, 1.0, num_return=num_return),
            **IDS,
        )

    *early, result = in_mode(lambda: [run(1), run(2), run(3)], ONE_MODE)()
    for one in early:  # until then the first to end is the best
        assert np.array(one.tokens)[0, 0, 0] == END
    ranked = rank_late(1.0, 3)
    count = 1 if num_beams == 2 else num_return
    np.testing.assert_array_equal(
        result.tokens[0, :count], [tokens for _, tokens in ranked[:count]]
    )
    np.testing.assert_allclose(
        result.scores[0, :count],
        [score for score, _ in ranked[:count]],
        rtol=1e-5,
    )
    np.testing.assert_array_equal(result.tokens[0, 0], [3, 4, END])


def draw_logits(rng, *shape):
    """Logits after every token; neither padding nor the start comes again."""
    logits = rng.normal(size=(*shape, 7, 7), scale=1.5).astype("float32")
    logits[..., [PADDING, START]] = -1e9
    return logits


@by_mode
@by_strategy
def test_nothing_counts_that_comes_after_the_end(strategy, mode, rng):
    """Neither logits nor attention scores, whatever they are.

    Reported as jarobyte91/pytorch_beam_search#5 (a hypothesis goes on after
    its end, as in KerasHub's `BeamSampler`) and facebookresearch/ParlAI#2064
    (it was scored for going on, and samples became impossible).
    """
    logits = draw_logits(rng, 5)
    scores = rng.uniform(size=(5, 7, MEMORY_LENGTH)).astype("float32")
    # What is fed after the end is padding.
    is_after = np.isin(np.arange(7), [PADDING, END])[:, None]

    def run(after):
        def step(tokens, example):
            now, seen = [
                ops.take(
                    ops.reshape(
                        ops.where(is_after, after, table),
                        (35, table.shape[-1]),
                    ),
                    7 * example + tokens,
                    axis=0,
                )
                for table in (logits, scores)
            ]
            return now, example, seen

        return decode(
            step,
            ops.repeat(ops.arange(5, dtype="int32"), strategy.num_beams),
            batch_size=5,
            max_length=11,
            strategy=strategy,
            **IDS,
        )

    run = in_mode(run, mode)
    expected = run(ops.zeros((1, 1)))
    lengths = np.array(expected.lengths)
    assert np.min(lengths) < np.max(lengths)
    for after in (np.nan, np.inf, -np.inf, 3e38):
        received = run(ops.full((1, 1), after))
        for one, other in zip(received, expected, strict=True):
            np.testing.assert_array_equal(one, other)


def test_what_has_ended_keeps_its_tokens_and_its_score(rng):
    """However long the others go on.

    Reported as jarobyte91/pytorch_beam_search#5: a beam is not ended by its
    end token, and there is no length penalty.
    """
    logits = draw_logits(rng)

    def run(max_length):
        return decode(
            follow(ops.convert_to_tensor(logits)),
            [],
            batch_size=1,
            max_length=max_length,
            strategy=BeamSearch(5, num_return=5),
            **IDS,
        )

    short, long = [
        {
            tuple(row[row != PADDING]): score
            for row, score in zip(
                np.array(result.tokens)[0],
                np.array(result.scores)[0],
                strict=True,
            )
        }
        for result in in_mode(lambda: [run(3), run(17)], ONE_MODE)()
    ]
    ended = {tokens for tokens in short if tokens[-1] == END}
    assert 1 < len(ended) < 5
    assert max(map(len, long)) > 4
    for tokens in ended:
        assert long[tokens] == short[tokens]


# States


STATES = {
    "two_memories": ("luong_feeding", "lstm", ["additive", "coverage"]),
    "coverage": ("bahdanau", "stacked", ["coverage"]),
    "monotonic": ("luong_feeding", "lstm", ["monotonic"]),
    "local": ("luong", "nested", ["local_m"]),
    "dict": ("bahdanau_context", "dict", ["additive"]),
}
INNER = {**INNER_CELLS, "nested": NestedCell, "dict": DictCell}


@pytest.mark.parametrize(
    ("cell", "inner", "attentions"), STATES.values(), ids=STATES
)
def test_states_of_any_structure_follow_their_beams(
    cell, inner, attentions, rng
):
    """Tokens, scores and attention scores belong together: teacher forcing
    says the same of them.

    Reported as espnet/espnet#510 and espnet/espnet#681: the state of several
    attentions is a list, and beam search could not put it in a new order.
    """
    decoder = AttentionDecoder(
        keras.layers.Embedding(VOCABULARY_SIZE, INPUT_UNITS),
        AttentionRNN(
            CELLS[cell](INNER[inner](), [ATTENTIONS[a]() for a in attentions]),
            return_sequences=True,
            return_attention_scores=True,
        ),
        keras.layers.Dense(VOCABULARY_SIZE),
    )
    memories = [draw_memory(rng), draw(rng, BATCH, 3, 23)][: len(attentions)]
    masks = [MEMORY_MASK, np.ones((BATCH, 3), bool)][: len(attentions)]
    decoder.build((None, None), [memory.shape for memory in memories])
    randomize(decoder, rng)
    # No sequence ends before the beams have changed places some times.
    bias = np.array(decoder.output_layer.bias)
    decoder.output_layer.bias.assign(bias - 2.0 * (np.arange(len(bias)) == END))

    def run(*inputs):
        memories, masks = inputs[: len(attentions)], inputs[len(attentions) :]
        memories, masks = list(memories), list(masks)
        result = decoder.generate(
            memories,
            masks,
            max_length=7,
            strategy=BeamSearch(3, num_return=3),
            **IDS,
        )
        scores = decoder.score(result.tokens, memories, masks, **IDS)
        tokens = ops.reshape(result.tokens, (BATCH * 3, 7))
        start = ops.full_like(tokens[:, :1], START)
        is_token = ops.arange(7) < ops.reshape(result.lengths, (-1, 1))
        memories, masks = tree.map_structure(
            lambda part: ops.repeat(part, 3, axis=0), (memories, masks)
        )
        _, [seen, *_] = decoder(
            ops.concatenate([start, tokens[:, :-1]], axis=1),
            memories,
            mask=is_token,
            memory_mask=masks,
        )
        return result, scores, seen * ops.cast(is_token[..., None], seen.dtype)

    result, scores, seen = in_mode(run, ONE_MODE)(*memories, *masks)
    first = np.array(result.tokens)[:, :, 0]
    assert np.any(first[:, 0] == first[:, 1])  # one beam became two
    np.testing.assert_allclose(result.scores, scores, rtol=0, atol=1e-5)
    np.testing.assert_allclose(
        result.attention_scores,
        np.reshape(seen, result.attention_scores.shape),
        rtol=0,
        atol=1e-5,
    )


# Graphs


@tensorflow_only("graphs of nodes")
@by_strategy
def test_graph_is_no_larger_for_longer_sequences(strategy):
    """Reported in TensorFlow's own tutorial of translation with attention (a
    loop in Python is slow, or unrolled into a large graph) and as
    dpressel/mead-baseline#545.
    """
    import tensorflow as tf

    decoder = make_decoder("luong_feeding", "lstm")

    def count_nodes(max_length):
        @tf.function
        def run(memory):
            return decoder.generate(
                memory,
                max_length=max_length,
                strategy=strategy,
                no_repeat_ngram_size=3,
                **IDS,
            )

        memory = tf.TensorSpec((None, None, MEMORY_UNITS))
        graph = run.get_concrete_function(memory).graph.as_graph_def()
        functions = [part.node_def for part in graph.library.function]
        return sum(map(len, [graph.node, *functions]))

    assert count_nodes(5) == count_nodes(500)


def test_loop_stops_when_every_beam_has_ended():
    """Reported in TensorFlow's own tutorial of translation with attention: a
    loop without an early end is slow.
    """
    turns = []
    logits = np.full((7, 7), -1e9, "float32")
    logits[START, [END, 3, 4, 5]] = 1.0, 3.0, 2.0, 1.0
    logits[3, 4], logits[4, 6], logits[[5, 6], END] = 1.0, 1.0, 1.0

    def run():
        follow_table = follow(ops.convert_to_tensor(logits))

        def step(tokens, state):
            call_back(lambda: turns.append(1))
            return follow_table(tokens, state)

        return decode(
            step,
            [],
            batch_size=1,
            max_length=500,
            strategy=BeamSearch(4, num_return=4),
            **IDS,
        ).lengths

    lengths = in_mode(run, TWO_MODES[-1])()
    np.testing.assert_array_equal(lengths, [[4, 3, 1, 2]])
    assert len(turns) == 4
