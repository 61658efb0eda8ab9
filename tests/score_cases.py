"""Every score with its weights and its equation, for parametrized tests."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import reference
from gradients import finite_differences
from gradients import value_and_gradients
from keras import ops

from keras_attention import AdditiveScore
from keras_attention import ConcatScore
from keras_attention import DotScore
from keras_attention import GeneralScore


BATCH = 2
QUERY_LENGTH = 3
MEMORY_LENGTH = 5
MEMORY_UNITS = 7
UNITS = 11
QUERY_UNITS = 13


class ScoreCase(NamedTuple):
    """A score.

    Attributes:
        make: Takes layer arguments, returns the score.
        weights: Takes the score, returns its variables in the order in which
            the equation takes them.
        equation: `equation(query, memory, *weights)` in NumPy.
        query_units: Depth of the queries that it is tried with.
    """

    make: Callable
    weights: Callable
    equation: Callable
    query_units: int = QUERY_UNITS


def _additive_weights(score):
    return [
        score.query_layer.kernel,
        score.memory_layer.kernel,
        score.direction,
    ]


def _sqrt_scaled(scores, units):
    return scores / np.sqrt(units)


SCORES = {
    "additive": ScoreCase(
        lambda **kwargs: AdditiveScore(UNITS, **kwargs),
        _additive_weights,
        reference.additive_score,
    ),
    "additive_normalized": ScoreCase(
        lambda **kwargs: AdditiveScore(UNITS, normalize=True, **kwargs),
        lambda score: [*_additive_weights(score), score.gain, score.bias],
        reference.additive_score,
    ),
    "dot": ScoreCase(
        lambda **kwargs: DotScore(**kwargs),
        lambda score: [],
        reference.dot_score,
        MEMORY_UNITS,
    ),
    "dot_learned": ScoreCase(
        lambda **kwargs: DotScore("learned", **kwargs),
        lambda score: [score.gain],
        lambda query, memory, gain: gain * reference.dot_score(query, memory),
        MEMORY_UNITS,
    ),
    "dot_sqrt": ScoreCase(
        lambda **kwargs: DotScore("sqrt", **kwargs),
        lambda score: [],
        lambda query, memory: _sqrt_scaled(
            reference.dot_score(query, memory), MEMORY_UNITS
        ),
        MEMORY_UNITS,
    ),
    "general": ScoreCase(
        lambda **kwargs: GeneralScore(**kwargs),
        lambda score: [score.memory_layer.kernel],
        reference.general_score,
    ),
    "general_learned": ScoreCase(
        lambda **kwargs: GeneralScore("learned", **kwargs),
        lambda score: [score.memory_layer.kernel, score.dot.gain],
        lambda query, memory, kernel, gain: (
            gain * reference.general_score(query, memory, kernel)
        ),
    ),
    "general_sqrt": ScoreCase(
        lambda **kwargs: GeneralScore("sqrt", **kwargs),
        lambda score: [score.memory_layer.kernel],
        lambda query, memory, kernel: _sqrt_scaled(
            reference.general_score(query, memory, kernel), QUERY_UNITS
        ),
    ),
    "concat": ScoreCase(
        lambda **kwargs: ConcatScore(UNITS, **kwargs),
        lambda score: [score.kernel, score.direction],
        reference.concat_score,
    ),
}


def fill_weights(layer, rng):
    """Gives every weight random values, also those that start at 0 or 1."""
    for weight in layer.weights:
        # Wide kernels get small values, so that no tanh saturates.
        size = max(weight.shape[0] if len(weight.shape) == 2 else 1, 1)
        weight.assign(rng.normal(size=weight.shape, scale=size**-0.5))


def built_score(case, rng, **kwargs):
    """Returns a score with random weights for the sizes of this module."""
    score = case.make(**kwargs)
    score.build(
        (BATCH, QUERY_LENGTH, case.query_units),
        (BATCH, MEMORY_LENGTH, MEMORY_UNITS),
    )
    fill_weights(score, rng)
    return score


def query_and_memory(case, rng):
    """Returns a random query and a random memory of that score's sizes."""
    query = rng.normal(size=(BATCH, QUERY_LENGTH, case.query_units))
    memory = rng.normal(size=(BATCH, MEMORY_LENGTH, MEMORY_UNITS))
    return query, memory


def check_equation(case, rng):
    """Asserts that a score in float64 is its equation."""
    score = built_score(case, rng, dtype="float64")
    query, memory = query_and_memory(case, rng)
    weights = map(np.array, case.weights(score))
    np.testing.assert_allclose(
        score(query, score.project(memory)),
        case.equation(query, memory, *weights),
        rtol=1e-10,
    )


def check_gradients(case, rng):
    """Asserts that all gradients of a score are those of its equation."""
    score = built_score(case, rng, dtype="float64")
    inputs = query_and_memory(case, rng)
    weights = case.weights(score)
    assert len(weights) == len(score.trainable_weights)
    shares = rng.normal(size=(BATCH, QUERY_LENGTH, MEMORY_LENGTH))

    def loss(query, memory):
        scores = score(query, score.project(memory))
        return [ops.sum(ops.multiply(shares, scores))]

    _, received = value_and_gradients(loss, inputs, weights)
    expected = finite_differences(
        lambda *arrays: np.sum(shares * case.equation(*arrays)),
        [*inputs, *map(np.array, weights)],
    )
    for gradient, difference in zip(received, expected, strict=True):
        np.testing.assert_allclose(gradient, difference, atol=1e-7, rtol=1e-6)
