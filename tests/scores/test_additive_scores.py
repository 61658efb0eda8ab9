"""The sum of the additive score, at once and one query at a time."""

import keras
import numpy as np
import pytest
from backends import MODES
from backends import differentiate
from backends import in_mode
from backends import largest_tensor
from backends import tensorflow_only
from gradients import value_and_gradients
from keras import ops

import keras_attention
from keras_attention.scores import additive_scores as module


BATCH, QUERY_LENGTH, MEMORY_LENGTH, UNITS = 3, 7, 5, 11


SHAPES = [
    (BATCH, QUERY_LENGTH, UNITS),
    (BATCH, MEMORY_LENGTH, UNITS),
    (UNITS,),
    (BATCH, QUERY_LENGTH, MEMORY_LENGTH),
]


def draw(rng, dtype="float32"):
    return [ops.cast(rng.normal(size=shape), dtype) for shape in SHAPES]


def scores_and_gradients(query, keys, direction, upstream):
    def function(query, keys, direction):
        scores = module.additive_scores(query, keys, direction)
        return [ops.sum(scores * upstream), scores]

    (_, scores), gradients = differentiate(function, [query, keys, direction])
    return scores, *gradients


@pytest.mark.parametrize(
    ("mode", "shapes"),
    [
        *((mode, None) for mode in MODES),
        pytest.param(
            "graph",
            [
                ((None, None, UNITS), "float32"),
                ((None, None, UNITS), "float32"),
                ((UNITS,), "float32"),
                ((None, None, None), "float32"),
            ],
            id="unknown sizes",
            marks=tensorflow_only("sizes that stay unknown"),
        ),
    ],
)
def test_one_query_at_a_time_gives_the_same_numbers(
    mode, shapes, monkeypatch, rng
):
    tensors = draw(rng)
    expected = scores_and_gradients(*tensors)
    monkeypatch.setattr(module, "MAX_ELEMENTS", 0)
    run = in_mode(scores_and_gradients, mode, shapes)
    for received, wanted in zip(run(*tensors), expected, strict=True):
        np.testing.assert_allclose(received, wanted, rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "make", [keras_attention.AdditiveScore, keras_attention.ConcatScore]
)
def test_layers_take_one_query_at_a_time_with_their_weights(
    make, mode, monkeypatch, rng
):
    """A gradient rule of TensorFlow takes tensors and no variables."""
    score = make(UNITS)
    query, memory, *_ = draw(rng)
    score.build(query.shape, memory.shape)

    def function(query, memory):
        scores = score(query, score.project(memory))
        return [ops.sum(scores * scores), scores]

    def run():
        return value_and_gradients(
            function, [query, memory], score.trainable_weights, mode
        )

    (_, expected), expected_gradients = run()
    monkeypatch.setattr(module, "MAX_ELEMENTS", 0)
    (_, received), gradients = run()
    np.testing.assert_allclose(received, expected, rtol=2e-6, atol=2e-6)
    assert len(gradients) == 2 + len(score.trainable_weights)
    for one, other in zip(gradients, expected_gradients, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_every_dtype_keeps_its_own(dtype, monkeypatch, rng):
    tensors = draw(rng, dtype)
    exact = [ops.cast(tensor, "float64") for tensor in tensors]
    expected = scores_and_gradients(*exact)
    monkeypatch.setattr(module, "MAX_ELEMENTS", 0)
    tolerance = {"float16": 1e-2, "bfloat16": 8e-2, "float64": 1e-12}[dtype]
    for received, wanted in zip(
        scores_and_gradients(*tensors), expected, strict=True
    ):
        assert keras.backend.standardize_dtype(received.dtype) == dtype
        scale = np.max(np.abs(wanted))
        received = ops.cast(received, "float64")
        np.testing.assert_allclose(received, wanted, atol=tolerance * scale)


def test_long_sequences_never_hold_every_pair_and_unit():
    batch, length, units = 2, 256, 64
    every = batch * length * length * units
    assert every > module.MAX_ELEMENTS
    largest = largest_tensor(
        scores_and_gradients,
        (batch, length, units),
        (batch, length, units),
        (units,),
        (batch, length, length),
    )
    assert batch * length * units <= largest < every / 8


def test_short_sequences_are_summed_at_once():
    largest = largest_tensor(module.additive_scores, *SHAPES[:3])
    assert largest == BATCH * QUERY_LENGTH * MEMORY_LENGTH * UNITS
