import keras
import numpy as np
import pytest
from backends import MODES
from backends import in_mode
from keras import ops

from keras_attention.decoding.draw_tokens import draw_tokens


GREATEST = np.float32(1 - 2**-24)
IMPOSSIBLE = [-1e9, -1e30, -np.inf]


def draw_in_python(log_probabilities, uniform):
    """One row after the other, in float64."""
    tokens = []
    for row, number in zip(log_probabilities, uniform, strict=True):
        probabilities = np.exp(np.float64(row))
        rest = np.float64(number) * probabilities.sum()
        token = 0
        while rest >= probabilities[token]:
            rest -= probabilities[token]
            token += 1
        tokens.append(token)
    return tokens


@pytest.mark.parametrize("mode", MODES)
def test_tokens_are_those_of_plain_loops(mode, rng):
    log_probabilities = rng.normal(0.0, 2.0, (997, 13)).astype("float32")
    uniform = rng.uniform(size=997).astype("float32")
    tokens = in_mode(draw_tokens, mode)(
        ops.convert_to_tensor(log_probabilities), ops.convert_to_tensor(uniform)
    )
    assert keras.backend.standardize_dtype(tokens.dtype) == "int32"
    expected = draw_in_python(log_probabilities, uniform)
    np.testing.assert_array_equal(tokens, expected)
    assert len(set(expected)) == 13


def test_intervals_are_open_above():
    uniform = np.float32([0.0, 0.2499, 0.25, 0.7499, 0.75, GREATEST])
    log_probabilities = np.log(np.float32([[0.25, 0.5, 0.25]] * 6))
    tokens = draw_tokens(log_probabilities, uniform)
    np.testing.assert_array_equal(tokens, [0, 0, 1, 1, 2, 2])


def test_tokens_follow_the_distribution(rng):
    """Chi-squared with 6 degrees of freedom: above 22.5 once in 1000."""
    probabilities = np.array([0.05, 0.3, 0.01, 0.2, 0.14, 0.1, 0.2])
    count = 20011
    logits = np.log(probabilities) + 3.0
    tokens = draw_tokens(
        np.tile(np.float32(logits), (count, 1)),
        rng.uniform(size=count).astype("float32"),
    )
    received = np.bincount(np.array(tokens), minlength=7)
    expected = count * probabilities
    assert np.sum((received - expected) ** 2 / expected) < 22.5


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("impossible", IMPOSSIBLE)
@pytest.mark.parametrize("vocabulary_size", [5, 101, 8009])
def test_impossible_tokens_are_never_drawn(
    vocabulary_size, impossible, mode, rng
):
    """Neither at the ends of the unit interval nor where sums are rounded."""
    rows = 67
    possible = rng.uniform(size=(rows, vocabulary_size)) < 0.4
    possible[:, [0, -1]] = False
    possible[:, 2] = True
    scores = rng.normal(0.0, 3.0, possible.shape)
    scores = np.where(possible, scores, impossible).astype("float32")
    run = in_mode(draw_tokens, mode)
    for uniform in (0.0, 2**-24, 0.5, 1 - 2**-23, GREATEST):
        tokens = run(
            ops.convert_to_tensor(scores),
            ops.full((rows,), uniform, dtype="float32"),
        )
        chosen = np.take_along_axis(possible, np.array(tokens)[:, None], 1)
        assert np.all(chosen)
        if uniform == 0.0:
            first = np.argmax(possible, axis=1)
            np.testing.assert_array_equal(tokens, first)


def test_the_only_possible_token_is_drawn():
    """So is padding behind the end of a sequence, and a single token."""
    uniform = np.float32([0.0, 0.5, GREATEST])
    scores = np.full((3, 4), -1e9, "float32")
    scores[:, 2] = 0.0
    np.testing.assert_array_equal(draw_tokens(scores, uniform), [2, 2, 2])
    single = np.zeros((3, 1), "float32")
    np.testing.assert_array_equal(draw_tokens(single, uniform), [0, 0, 0])


def test_half_precision_does_not_round_the_sums(rng):
    """float16 holds no sum of 8009 equal probabilities."""
    uniform = rng.uniform(size=31).astype("float32")
    tokens = draw_tokens(np.zeros((31, 8009), "float16"), uniform)
    np.testing.assert_allclose(tokens, np.floor(uniform * 8009), atol=1)
