import keras
import numpy as np
import pytest
import reference
from backends import MODES
from backends import in_mode
from gradients import finite_differences
from gradients import value_and_gradients
from keras import ops

from keras_attention import masking


PROBABILITIES = list(masking.PROBABILITIES)


def random_mask(rng, shape):
    """A mask with a real token in every row, and padding in between too."""
    mask = rng.random(shape) < 0.5
    mask[..., 1] = True
    mask[..., -1] = False
    return mask


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([0.5, 2.1, 0.3], [0.1477, 0.7314, 0.1209]),
        ([1.2, 3.5, 0.8, 2.1, 0.5], [0.0685, 0.6831, 0.0459, 0.1685, 0.0340]),
    ],
)
def test_softmax_of_the_worked_examples(scores, expected):
    scores = np.array([[scores]], dtype="float32")
    probabilities = masking.masked_probabilities(scores)
    np.testing.assert_allclose(probabilities, [[expected]], atol=5e-5)


def test_softmax_is_that_of_the_equation(rng):
    scores = rng.normal(size=(2, 3, 5))
    mask = random_mask(rng, (2, 3, 5))
    for each in (None, mask):
        np.testing.assert_allclose(
            masking.masked_probabilities(scores, each),
            reference.softmax(scores, each),
            rtol=1e-12,
        )


def test_sparsemax_is_the_projection_computed_on_paper():
    # Support {1.0, 0.5}: threshold (1.0 + 0.5 - 1) / 2 = 0.25.
    scores = np.array([[[1.0, 0.5, -0.2, 9.0]]], dtype="float32")
    mask = np.array([[[True, True, True, False]]])
    probabilities = masking.masked_probabilities(
        scores, mask, masking.sparsemax
    )
    np.testing.assert_allclose(probabilities, [[[0.75, 0.25, 0, 0]]])


def projection_on_simplex(row):
    """max(row - t, 0) whose sum is 1; the threshold t by bisection."""
    low, high = row.min() - 1, row.max()
    for _ in range(100):
        threshold = (low + high) / 2
        if np.sum(np.maximum(row - threshold, 0)) > 1:
            low = threshold
        else:
            high = threshold
    return np.maximum(row - low, 0)


def test_sparsemax_and_its_gradient_are_those_of_the_projection(rng):
    """Reported as keras-team/keras#23425."""
    # A small spread, so that up to all seven scores are in the support.
    scores = rng.normal(size=(5, 3, 7), scale=0.2)
    scores[0, 0] *= 9
    mask = random_mask(rng, scores.shape)
    shares = rng.normal(size=scores.shape)

    def equation(scores):
        probabilities = np.zeros(scores.shape)
        for row in np.ndindex(scores.shape[:-1]):
            real = scores[row][mask[row]]
            probabilities[row][mask[row]] = projection_on_simplex(real)
        return probabilities

    def function(scores):
        probabilities = masking.masked_probabilities(
            scores, mask, masking.sparsemax
        )
        return [ops.sum(ops.multiply(shares, probabilities)), probabilities]

    (_, received), gradients = value_and_gradients(function, [scores])
    np.testing.assert_allclose(received, equation(scores), atol=1e-12)
    assert np.max(np.count_nonzero(received, axis=-1)) > 3
    expected = finite_differences(
        lambda scores: np.sum(shares * equation(scores)), [scores]
    )
    np.testing.assert_allclose(gradients, expected, atol=1e-7)


def test_hardmax_takes_the_first_of_equal_scores():
    scores = np.array([[[2.0, 7.0, 7.0, 9.0]]], dtype="float32")
    mask = np.array([[[True, True, True, False]]])
    probabilities = masking.masked_probabilities(scores, mask, masking.hardmax)
    np.testing.assert_array_equal(probabilities, [[[0, 1, 0, 0]]])


@pytest.mark.parametrize("probability", PROBABILITIES)
def test_padding_gets_zero_and_every_row_sums_to_one(probability, rng):
    scores = 9 * rng.normal(size=(2, 3, 5)).astype("float32")
    mask = random_mask(rng, (2, 1, 5))
    probabilities = np.array(
        masking.masked_probabilities(
            scores, mask, masking.PROBABILITIES[probability]
        )
    )
    np.testing.assert_array_equal(
        probabilities[np.broadcast_to(~mask, scores.shape)], 0
    )
    np.testing.assert_allclose(probabilities.sum(-1), 1, rtol=1e-6)


@pytest.mark.parametrize(
    ("dtype", "mode"),
    [
        *((dtype, mode) for dtype in ("float16", "float32") for mode in MODES),
        ("bfloat16", "eager"),
        ("float64", "eager"),
    ],
)
@pytest.mark.parametrize("probability", PROBABILITIES)
def test_row_of_padding_alone_is_zero_with_finite_gradients(
    probability, dtype, mode, rng
):
    """Reported as d2l-ai/d2l-en#2423 and tensorflow/nmt#210."""
    mask = random_mask(rng, (2, 1, 5))
    mask[1] = False
    shares = rng.normal(size=(2, 3, 5)).astype("float32")

    def function(scores):
        probabilities = masking.masked_probabilities(
            ops.cast(scores, dtype), mask, masking.PROBABILITIES[probability]
        )
        return [
            ops.sum(ops.multiply(shares, ops.cast(probabilities, "float32"))),
            probabilities,
        ]

    scores = rng.normal(size=(2, 3, 5)).astype("float32")
    (_, probabilities), (gradient,) = value_and_gradients(
        function, [scores], mode=mode
    )
    np.testing.assert_array_equal(probabilities[1], 0)
    np.testing.assert_allclose(probabilities[0].sum(-1), 1, rtol=1e-6)
    assert np.all(np.isfinite(gradient))
    hidden = np.broadcast_to(~mask, gradient.shape)
    np.testing.assert_array_equal(gradient[hidden], 0)


@pytest.mark.parametrize("garbage", [np.nan, np.inf, -np.inf, 1e38])
@pytest.mark.parametrize("probability", PROBABILITIES)
def test_garbage_scores_under_the_mask_change_nothing(
    probability, garbage, rng
):
    mask = random_mask(rng, (2, 3, 5))
    mask[1, 2] = False
    shares = rng.normal(size=(2, 3, 5)).astype("float32")

    def function(scores):
        probabilities = masking.masked_probabilities(
            scores, mask, masking.PROBABILITIES[probability]
        )
        return [ops.sum(ops.multiply(shares, probabilities)), probabilities]

    scores = rng.normal(size=(2, 3, 5)).astype("float32")
    clean = value_and_gradients(function, [scores])
    dirty = value_and_gradients(function, [np.where(mask, scores, garbage)])
    for expected, received in zip(clean, dirty, strict=True):
        for one, other in zip(expected, received, strict=True):
            np.testing.assert_array_equal(one, other)
    assert np.all(np.isfinite(clean[1][0]))


def test_function_that_is_no_softmax_stays_finite_on_padding_alone(rng):
    """Sigmoids divided by their sum are 0 / 0 where every score is masked."""

    def normalized_sigmoid(scores):
        shares = ops.sigmoid(scores)
        return shares / ops.sum(shares, axis=-1, keepdims=True)

    mask = np.array([[[True, True, False]], [[False, False, False]]])
    scores = rng.normal(size=(2, 2, 3)).astype("float32")
    (_, probabilities), (gradient,) = value_and_gradients(
        lambda scores: [
            ops.sum(
                masking.masked_probabilities(scores, mask, normalized_sigmoid)[
                    ..., 0
                ]
            ),
            masking.masked_probabilities(scores, mask, normalized_sigmoid),
        ],
        [scores],
    )
    np.testing.assert_array_equal(probabilities[1], 0)
    assert np.all(np.isfinite(gradient))


@pytest.mark.parametrize("probability", PROBABILITIES)
def test_large_scores_neither_overflow_nor_lose_the_sum(probability):
    scores = np.array([[[3e4, 2e4, -3e4]]], dtype="float16")
    probabilities = masking.masked_probabilities(
        scores, None, masking.PROBABILITIES[probability]
    )
    np.testing.assert_allclose(probabilities, [[[1, 0, 0]]])
    scores = np.array([[[3e9, 2e9, -3e9]]], dtype="float32")
    probabilities = masking.masked_probabilities(
        scores, None, masking.PROBABILITIES[probability]
    )
    np.testing.assert_allclose(probabilities, [[[1, 0, 0]]])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_softmax_of_half_precision_is_computed_in_float32(dtype, rng):
    scores = ops.cast(rng.normal(size=(2, 3, 101)), dtype)
    probabilities = masking.masked_probabilities(scores)
    assert keras.backend.standardize_dtype(probabilities.dtype) == "float32"
    exact = reference.softmax(ops.convert_to_numpy(ops.cast(scores, "float64")))
    np.testing.assert_allclose(probabilities, exact, rtol=1e-5)


@pytest.mark.parametrize("garbage", [np.nan, np.inf])
def test_clear_padding_stops_values_and_gradients(garbage, rng):
    tensor = rng.normal(size=(2, 3, 5))
    mask = np.array([[True, False, True], [False, False, False]])
    dirty = np.where(mask[..., None], tensor, garbage)
    results, (gradient,) = value_and_gradients(
        lambda tensor: [
            ops.sum(ops.exp(masking.clear_padding(tensor, mask))),
            masking.clear_padding(tensor, mask),
        ],
        [dirty],
    )
    np.testing.assert_array_equal(
        results[1], np.where(mask[..., None], tensor, 0)
    )
    expected = np.where(mask[..., None], np.exp(tensor), 0)
    np.testing.assert_allclose(gradient, expected)


def test_clear_padding_takes_integer_masks_and_keeps_the_dtype(rng):
    tensor = ops.cast(rng.normal(size=(2, 3, 5)), "float16")
    mask = np.array([[1, 1, 0], [1, 0, 0]])
    cleared = masking.clear_padding(tensor, mask)
    assert keras.backend.standardize_dtype(cleared.dtype) == "float16"
    np.testing.assert_array_equal(cleared, np.array(tensor) * mask[..., None])


def test_clear_padding_without_a_mask_returns_the_tensor(rng):
    tensor = rng.normal(size=(2, 3, 5))
    assert masking.clear_padding(tensor, None) is tensor


@pytest.mark.parametrize("mode", MODES[:2])
def test_lengths_and_masks_are_each_other(mode):
    lengths = np.array([3, 0, 5, 1])
    expected = [
        [True, True, True, False, False],
        [False, False, False, False, False],
        [True, True, True, True, True],
        [True, False, False, False, False],
    ]
    mask = in_mode(lambda x: masking.lengths_to_mask(x, 5), mode)(lengths)
    np.testing.assert_array_equal(mask, expected)
    again = in_mode(masking.mask_to_lengths, mode)(mask)
    np.testing.assert_array_equal(again, lengths)


@pytest.mark.parametrize("mode", MODES[:2])
def test_attached_mask_is_the_one_of_the_embedding(mode):
    embedding = keras.layers.Embedding(11, 3, mask_zero=True)
    tokens = ops.convert_to_tensor([[4, 7, 0], [2, 0, 0]])
    read = in_mode(lambda x: masking.attached_mask(embedding(x)), mode)
    np.testing.assert_array_equal(
        read(tokens), [[True, True, False], [True, False, False]]
    )


def test_tensor_without_an_attached_mask_has_none(rng):
    tensor = ops.convert_to_tensor(rng.normal(size=(2, 3, 5)))
    assert masking.attached_mask(tensor) is None
