import keras
import numpy as np
import pytest
from backends import TWO_MODES
from backends import in_mode
from keras import ops

from keras_attention import NextTokens
from keras_attention.decoding.top_k import MANY
from keras_attention.decoding.top_k import top_k
from keras_attention.masking import MASKED_SCORE


ROWS, VOCABULARY_SIZE, PADDING = 5, 11, 3


def log_softmax(logits):
    logits = logits.astype("float64")
    return logits - np.log(np.exp(logits).sum(-1, keepdims=True))


def draw(rng):
    logits = rng.normal(size=(ROWS, VOCABULARY_SIZE), scale=2).astype("float32")
    finished = np.array([False, True, False, False, True])
    forbidden = rng.uniform(size=logits.shape) < 0.3
    return logits, finished, forbidden


def expect(logits, finished, forbidden):
    expected = np.where(forbidden, MASKED_SCORE, log_softmax(logits))
    expected[finished] = MASKED_SCORE
    expected[finished, PADDING] = 0.0
    return expected


@pytest.mark.parametrize("mode", TWO_MODES)
def test_log_probabilities_are_those_of_the_model_or_none(mode, rng):
    """What is forbidden makes no other token more probable."""
    logits, finished, forbidden = draw(rng)
    received = in_mode(
        lambda *inputs: NextTokens(
            inputs[0], inputs[1], PADDING, inputs[2]
        ).log_probabilities(),
        mode,
    )(logits, finished, forbidden)
    np.testing.assert_allclose(
        received, expect(logits, finished, forbidden), rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize("mode", TWO_MODES)
@pytest.mark.parametrize("count", [1, 2, 7, 11, 13, None])
@pytest.mark.parametrize("all_allowed", [True, False])
def test_most_probable_are_the_first_of_all_in_order(
    all_allowed, count, mode, rng
):
    logits, finished, forbidden = draw(rng)
    if all_allowed:
        forbidden[:] = False
    received, tokens = in_mode(
        lambda *inputs: NextTokens(
            inputs[0],
            inputs[1],
            PADDING,
            None if all_allowed else inputs[2],
        ).most_probable(count),
        mode,
    )(logits, finished, forbidden)
    received, tokens = np.array(received), np.array(tokens)
    count = min(count or VOCABULARY_SIZE, VOCABULARY_SIZE)
    assert received.shape == tokens.shape == (ROWS, count)
    expected = expect(logits, finished, forbidden)
    ordered = -np.sort(-expected, axis=-1)[:, :count]
    np.testing.assert_allclose(received, ordered, rtol=1e-5, atol=1e-6)
    # Tokens that are not there are in any order.
    real = received > 0.5 * MASKED_SCORE
    np.testing.assert_allclose(
        np.take_along_axis(expected, tokens, axis=-1)[real],
        received[real],
        rtol=1e-5,
        atol=1e-6,
    )
    for row in range(ROWS):
        assert len(set(tokens[row][real[row]])) == real[row].sum()


@pytest.mark.parametrize("forbidden", [None, [[True, False, False, False]]])
def test_improbable_tokens_keep_their_log_probability(forbidden):
    """Also where the probability itself is 0 in float32."""
    logits = np.array([[-1e4, 1e4, 0, -200], [-1e4, -300, 0, -200]], "float32")
    received, tokens = NextTokens(
        logits, np.zeros(2, bool), PADDING, forbidden
    ).most_probable(3)
    np.testing.assert_array_equal(tokens, [[1, 2, 3], [2, 3, 1]])
    np.testing.assert_array_equal(
        received, [[0, -1e4, -1.02e4], [0, -200, -300]]
    )


@pytest.mark.parametrize("mode", TWO_MODES)
@pytest.mark.parametrize("size", [7, MANY - 1, MANY, 2579, 3 * MANY])
@pytest.mark.parametrize("count", [1, 2, 5, 7])
def test_top_k_finds_what_sorting_finds(size, count, mode, rng):
    values = rng.normal(size=(ROWS, size)).astype("float32")
    values[1, -3:] = 9.0 + np.arange(3)  # in what no piece holds
    values[2, 1:4] = 9.0 + np.arange(3)  # all in one piece
    found, positions = in_mode(lambda values: top_k(values, count), mode)(
        values
    )
    expected = np.argsort(-values, axis=-1, kind="stable")[:, :count]
    np.testing.assert_array_equal(positions, expected)
    np.testing.assert_array_equal(
        found, np.take_along_axis(values, expected, axis=-1)
    )


@pytest.mark.parametrize("count", [1, 5])
@pytest.mark.parametrize("size", [13, MANY + 101])
def test_of_equal_values_top_k_takes_the_first(size, count):
    if count > 1 and keras.backend.backend() == "torch":
        pytest.skip("top_k of PyTorch promises no order of equal values")
    values = np.zeros((2, size), "float32")
    values[1, ::3] = 1.0
    _, positions = top_k(ops.convert_to_tensor(values), count)
    expected = np.stack([np.arange(count), 3 * np.arange(count)])
    np.testing.assert_array_equal(positions, expected)
