"""What was reported against other libraries and holds here."""

import keras
import numpy as np
import pytest
from backends import TWO_MODES
from backends import in_mode
from gradients import value_and_gradients
from keras import ops
from keras import tree
from layer_catalogue import ATTENTIONS
from layer_catalogue import BATCH
from layer_catalogue import CATALOGUE
from layer_catalogue import CELL_UNITS
from layer_catalogue import LENGTH
from layer_catalogue import MEMORY_LENGTH
from layer_catalogue import MEMORY_MASK
from layer_catalogue import MEMORY_UNITS
from layer_catalogue import VOCABULARY_SIZE
from layer_catalogue import draw
from layer_catalogue import draw_inputs
from layer_catalogue import draw_memory
from layer_catalogue import embed
from layer_catalogue import make_decoder
from layer_catalogue import randomize

import keras_attention
from keras_attention import masking


# Half precision.


@pytest.mark.parametrize(
    ("probability", "expected"),
    [
        ("softmax", [0.5, 0.5, 0]),
        ("sparsemax", [0.5, 0.5, 0]),
        ("hardmax", [1, 0, 0]),
    ],
)
def test_smallest_score_is_more_than_padding(probability, expected):
    """Reported as google/flax#982, NVIDIA/apex#1105 and
    huggingface/transformers#382: a constant that hides padding is beyond the
    range of half precision, or beside its end.
    """
    lowest = float(np.finfo("float16").min)
    received = masking.masked_probabilities(
        ops.cast([[[lowest, lowest, 0.0]]], "float16"),
        np.array([[[True, True, False]]]),
        masking.PROBABILITIES[probability],
    )
    np.testing.assert_array_equal(received, [[expected]])


@pytest.mark.parametrize("score", [-65504, 65504])
def test_scores_at_the_end_of_float16_can_be_checked_on_paper(score):
    """Equal scores; the last row has nothing to look at.

    Reported as google/flax#982, NVIDIA/apex#1105, huggingface/transformers#382.
    """
    attention = keras_attention.LuongAttention("dot", dtype="float16")
    query = np.full((2, 1, 1), 16, dtype="float16")
    value = np.full((2, 3, 1), score / 16, dtype="float16")
    value[:, 2] *= -1
    mask = np.array([[True, True, False], [False, False, False]])

    def function(query, value):
        context, scores = attention(
            [query, value], mask=[None, mask], return_attention_scores=True
        )
        return [ops.sum(context), context, scores]

    (_, context, scores), gradients = value_and_gradients(
        function, [query, value]
    )
    np.testing.assert_array_equal(context, [[[score / 16]], [[0]]])
    np.testing.assert_array_equal(scores, [[[0.5, 0.5, 0]], [[0, 0, 0]]])
    np.testing.assert_array_equal(gradients[0], np.zeros((2, 1, 1)))
    np.testing.assert_array_equal(gradients[1], np.swapaxes(scores, 1, 2))


@pytest.mark.parametrize(
    ("policy", "tolerance"), [("mixed_float16", 1e-2), ("mixed_bfloat16", 5e-2)]
)
@pytest.mark.parametrize("name", ATTENTIONS)
def test_two_steps_of_training_are_near_those_of_float32(
    name, policy, tolerance, rng
):
    """Reported as keras-team/keras#17571 and tensorflow/tensorflow#59657:
    under a mask float16 overflowed, and training stood still.
    """
    arrays = [
        draw(rng, BATCH, LENGTH, CELL_UNITS),
        draw(rng, BATCH, MEMORY_LENGTH, CELL_UNITS),
        MEMORY_MASK,
    ]
    targets = draw(rng, BATCH, LENGTH, 1)

    def train(policy, weights=None):
        query, value, mask = (
            keras.Input(part.shape[1:], dtype=part.dtype) for part in arrays
        )
        keras.config.set_dtype_policy(policy)
        try:
            attention, output_layer = ATTENTIONS[name](), keras.layers.Dense(1)
        finally:
            keras.config.set_dtype_policy("float32")
        context = attention([query, value], mask=[None, mask])
        model = keras.Model([query, value, mask], output_layer(context))
        if weights is None:
            randomize(model, rng, 0.3)
        else:
            model.set_weights(weights)
        start = model.get_weights()
        model.compile(
            keras.optimizers.SGD(0.1),
            "mse",
            run_eagerly=True,
            auto_scale_loss=False,
        )
        history = model.fit(arrays, targets, epochs=2, verbose=0).history
        return start, history["loss"], model.get_weights()

    start, expected_losses, expected = train("float32")
    _, losses, weights = train(policy, start)
    np.testing.assert_allclose(losses, expected_losses, rtol=tolerance)
    for one, other, old in zip(weights, expected, start, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=tolerance / 2)
        assert np.any(one != old)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_strategy_gets_log_probabilities_computed_in_float32(dtype, rng):
    """Reported as keras-team/keras-hub#2585: sampling fails in float16."""
    logits = ops.cast(rng.normal(size=(3, 101), scale=7.0), dtype)
    noted = []

    class Noting(keras_attention.GreedySearch):
        def select(self, next_tokens, *others):
            noted.append(next_tokens.log_probabilities())
            return super().select(next_tokens, *others)

    result = keras_attention.decode(
        lambda tokens, state: (logits, state, None),
        [],
        batch_size=3,
        start_token=1,
        end_token=2,
        max_length=1,
        strategy=Noting(),
    )
    exact = np.array(ops.cast(logits, "float32"), dtype="float64")
    exact -= np.log(np.sum(np.exp(exact), axis=-1, keepdims=True))
    assert keras.backend.standardize_dtype(noted[0].dtype) == "float32"
    np.testing.assert_allclose(noted[0], exact, rtol=1e-5, atol=1e-5)
    best = np.max(exact, axis=-1, keepdims=True)
    np.testing.assert_allclose(result.scores, best, rtol=1e-5, atol=1e-5)


# Attention scores.


def test_attention_scores_are_equal_in_every_way_of_calling(rng):
    """From `generate`, the decoder, its RNN and its attention.

    Reported as keras-team/keras-hub#2799 (lost where keys are cached) and
    bfelbo/DeepMoji#4 (how to get them at all).
    """
    decoder = make_decoder("luong", return_attention_scores=True)
    decoder.build((None, None), (None, None, MEMORY_UNITS))
    randomize(decoder, rng)
    memory = draw_memory(rng)
    result = decoder.generate(
        memory,
        MEMORY_MASK,
        start_token=1,
        end_token=VOCABULARY_SIZE,  # which no row puts out
        max_length=LENGTH,
    )
    tokens = np.array(result.tokens[:, 0])
    tokens = np.concatenate([np.ones((BATCH, 1), int), tokens[:, :-1]], axis=1)
    sequences = np.array(decoder.embedding(tokens))
    cell = decoder.rnn.cell
    hidden = keras.layers.RNN(cell.cell, return_sequences=True)(sequences)
    every_token = np.ones(tokens.shape, dtype=bool)
    for _, scores in (
        decoder(tokens, memory, mask=every_token, memory_mask=MEMORY_MASK),
        decoder.rnn(sequences, memory, memory_mask=MEMORY_MASK),
        cell.attention(
            [hidden, memory],
            mask=[None, MEMORY_MASK],
            return_attention_scores=True,
        ),
    ):
        assert scores.shape == (BATCH, LENGTH, MEMORY_LENGTH)
        np.testing.assert_allclose(
            scores, result.attention_scores[:, 0], rtol=0, atol=1e-5
        )


@pytest.mark.parametrize("features", [2, 29])
@pytest.mark.parametrize("name", ATTENTIONS)
def test_attention_scores_do_not_depend_on_the_number_of_features(
    name, features, rng
):
    """They say how much of each position is taken, not of each feature.

    Reported as philipperemy/keras-attention#42 (scores come in a mode for
    debugging only) and philipperemy/keras-attention#54 (what they mean).
    """
    attention = ATTENTIONS[name]()
    query = draw(rng, BATCH, LENGTH, features)
    value = draw(rng, BATCH, MEMORY_LENGTH, features)
    context, scores = attention([query, value], return_attention_scores=True)
    assert scores.shape == (BATCH, LENGTH, MEMORY_LENGTH)
    np.testing.assert_allclose(
        context, np.array(scores) @ value, rtol=0, atol=1e-5
    )
    documented = "attention scores, `(batch, query_length, memory_length)`"
    assert documented in " ".join(keras_attention.Attention.__doc__.split())


def kept_tensors(layer):
    """Names the attributes that hold tensors which are no weights."""
    return [
        f"{part.name}.{name}"
        for part in layer._flatten_layers()
        for name, attribute in vars(part).items()
        for leaf in tree.flatten(attribute)
        if ops.is_tensor(leaf) and not isinstance(leaf, keras.Variable)
    ]


CALLED = [
    name
    for name, entry in CATALOGUE.items()
    if entry.call and not name.endswith(("Score", "Cell"))
]


@pytest.mark.parametrize("mode", TWO_MODES)
@pytest.mark.parametrize("name", CALLED)
def test_no_tensor_of_a_call_stays_on_a_layer(name, mode, rng):
    """A tutorial of TensorFlow keeps them as `last_attention_weights`, which
    nobody can read after a `tf.function`; no public report found.
    """
    entry, inputs = CATALOGUE[name], embed(draw_inputs(rng))
    layer = entry.make()
    entry.call(layer, inputs)
    in_mode(lambda inputs: entry.call(layer, inputs), mode)(
        {key: ops.convert_to_tensor(part) for key, part in inputs.items()}
    )
    assert kept_tensors(layer) == []
