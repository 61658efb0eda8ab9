import keras
import numpy as np
import pytest
import reference_mechanisms
from attention_cases import QUERY_MASK
from attention_cases import VALUE_MASK
from attention_cases import AttentionCase
from attention_cases import attend_and_differentiate
from attention_cases import built_attention
from attention_cases import joined_mask
from attention_cases import query_and_value
from gradients import finite_differences
from gradients import value_and_gradients
from keras import ops
from score_cases import BATCH
from score_cases import MEMORY_LENGTH
from score_cases import MEMORY_UNITS
from score_cases import QUERY_LENGTH
from score_cases import SCORES
from score_cases import UNITS
from score_cases import fill_weights

from keras_attention import AdditiveScore
from keras_attention import AttentionRNN
from keras_attention import BahdanauAttention
from keras_attention import BahdanauRNNCell
from keras_attention import coverage_loss


CASES = {
    name: AttentionCase(
        lambda normalize=normalize, **kwargs: BahdanauAttention(
            UNITS, normalize=normalize, coverage=True, **kwargs
        ),
        SCORES[name],
    )
    for name, normalize in [("additive", False), ("additive_normalized", True)]
}
ADDITIVE = CASES["additive"]
MASKS = {
    "none": [None, None],
    "right": [QUERY_MASK, VALUE_MASK],
    "left": [QUERY_MASK[:, ::-1], VALUE_MASK[:, ::-1]],
    "empty": [np.roll(QUERY_MASK, 1, 1), VALUE_MASK & [[False], [True]]],
}


def attend(attention, arrays, masks=None):
    results = attention(arrays, mask=masks, return_attention_scores=True)
    return [np.array(result) for result in results]


def weights_of(case, attention):
    first, second, third, *others = case.score.weights(attention.score)
    return [first, second, third, attention.score.coverage_kernel, *others]


def assert_same(received, expected, atol=1e-12):
    for one, other in zip(received, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=atol)


# The equations.


@pytest.mark.parametrize("masks", MASKS.values(), ids=MASKS)
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_results_are_those_of_the_equation(case, masks, rng):
    """Padded steps spend no attention."""
    attention = built_attention(case, rng, dtype="float64", temperature=0.7)
    arrays = query_and_value(case, rng, "float64")
    weights = map(ops.convert_to_numpy, weights_of(case, attention))
    expected = reference_mechanisms.coverage_attention(
        *arrays, *weights, mask=joined_mask(*masks), temperature=0.7
    )
    assert_same(attend(attention, arrays, masks), expected, 1e-11)


def test_gradients_are_those_of_the_equation(rng):
    case = CASES["additive_normalized"]
    attention = built_attention(case, rng, dtype="float64")
    inputs = query_and_value(case, rng, "float64")
    weights = weights_of(case, attention)
    assert len(weights) == len(attention.trainable_weights)
    masks = MASKS["right"]
    shares = rng.normal(size=(BATCH, QUERY_LENGTH, MEMORY_UNITS))

    def loss(query, value):
        context = attention([query, value], mask=masks)
        return [ops.sum(ops.multiply(shares, context))]

    def equation(*arrays):
        context, _ = reference_mechanisms.coverage_attention(
            *arrays, mask=joined_mask(*masks)
        )
        return np.sum(shares * context)

    _, received = value_and_gradients(loss, inputs, weights)
    expected = finite_differences(
        equation, [*inputs, *map(ops.convert_to_numpy, weights)]
    )
    assert_same(received, expected, 1e-7)
    assert np.max(np.abs(received[5])) > 1e-3


def test_coverage_changes_weights_from_the_second_step_on(rng):
    """Reported as OpenNMT/OpenNMT-py#179 and OpenNMT/OpenNMT-py#867.

    There coverage never reached the score. It has broken since, as reported
    in OpenNMT/OpenNMT-py#2013 (repaired in OpenNMT/OpenNMT-py#2272),
    OpenNMT/OpenNMT-py#847, OpenNMT/OpenNMT-py#1908 and
    OpenNMT/OpenNMT-py#2378.
    """
    attention = built_attention(ADDITIVE, rng)
    plain = BahdanauAttention(UNITS)
    arrays = query_and_value(ADDITIVE, rng)
    plain.build([array.shape for array in arrays])
    for pair in zip(
        *(ADDITIVE.score.weights(part.score) for part in (plain, attention)),
        strict=True,
    ):
        pair[0].assign(pair[1])
    _, scores = attend(attention, arrays)
    _, expected = attend(plain, arrays)
    np.testing.assert_allclose(scores[:, 0], expected[:, 0], atol=1e-6)
    for step in range(1, QUERY_LENGTH):
        assert np.max(np.abs(scores[:, step] - expected[:, step])) > 0.01
    attention.score.coverage_kernel.assign(np.zeros(UNITS))
    assert_same(attend(attention, arrays), attend(plain, arrays), 1e-6)


def test_state_is_the_sum_of_the_weights_so_far(rng):
    """Reported as OpenNMT/OpenNMT-py#867."""
    attention = built_attention(ADDITIVE, rng)
    query, value = map(ops.convert_to_tensor, query_and_value(ADDITIVE, rng))
    _, expected = attend(attention, [query, value], [None, VALUE_MASK])
    memory = attention.prepare_memory(value, VALUE_MASK)
    state = attention.initial_state(memory)
    np.testing.assert_array_equal(state, np.zeros((1, BATCH, MEMORY_LENGTH)))
    for i in range(QUERY_LENGTH):
        _, scores, state = attention.step(query[:, i], memory, state)
        np.testing.assert_allclose(scores, expected[:, i], atol=1e-6)
        np.testing.assert_allclose(
            state[0], expected[:, : i + 1].sum(1), atol=1e-6
        )


@pytest.mark.parametrize("policy", ["float32", "mixed_float16"])
def test_garbage_under_the_masks_leaves_gradients_alone(policy, rng):
    attention = built_attention(ADDITIVE, rng, dtype=policy)
    query, value = query_and_value(ADDITIVE, rng)
    masks = MASKS["empty"]
    clean = attend_and_differentiate(attention, query, value, masks)
    query = np.where(masks[0][..., None], query, np.float32(np.nan))
    value = np.where(masks[1][..., None], value, np.float32(np.nan))
    dirty = attend_and_differentiate(attention, query, value, masks)
    assert_same(dirty, clean, 0)
    assert all(np.all(np.isfinite(part)) for part in clean)
    assert all(np.any(part) for part in clean)


@pytest.mark.parametrize("masked", [False, True], ids=["unmasked", "masked"])
def test_sum_of_many_steps_keeps_its_precision(masked, rng):
    """Half precision counts to 60, but not by thirtieths."""
    policy = "mixed_float16"
    cell = BahdanauRNNCell(
        keras.layers.GRUCell(5, dtype=policy),
        BahdanauAttention(UNITS, coverage=True, dtype=policy),
        dtype=policy,
    )
    layer = AttentionRNN(cell, return_state=True, dtype=policy)
    inputs = rng.normal(size=(2, 67, 3)), rng.normal(size=(2, 31, 7))
    layer.build(*[array.shape for array in inputs])
    fill_weights(layer, rng)
    mask = np.stack([np.arange(67) < 60, np.arange(67) >= 7])
    _, _, covered = layer(*inputs, mask=mask if masked else None)
    assert keras.backend.standardize_dtype(covered.dtype) == "float32"
    steps = 60 if masked else 67
    np.testing.assert_allclose(ops.sum(covered, -1), [steps] * 2, atol=1e-2)


# The score by itself.


@pytest.mark.parametrize(
    ("coverage", "given", "match"),
    [
        (True, False, "coverage=True received no coverage. Expected the sum"),
        (False, True, "coverage=False received a coverage. Expected the sum"),
    ],
)
def test_score_says_whether_it_needs_coverage(coverage, given, match, rng):
    score = AdditiveScore(UNITS, coverage=coverage)
    score.build((2, 1, 13), (2, 5, 7))
    query, keys = np.ones((2, 1, 13)), np.ones((2, 5, UNITS))
    spent = np.ones((2, 5), "float32") if given else None
    with pytest.raises(ValueError, match=match):
        score(query, keys, spent)


@pytest.mark.parametrize("coverage", [False, True])
def test_configuration_tells_of_coverage(coverage):
    for layer in (
        AdditiveScore(3, coverage=coverage),
        BahdanauAttention(3, coverage=coverage),
    ):
        config = layer.get_config()
        assert config["coverage"] is coverage
        assert type(layer).from_config(config).get_config() == config


# The loss.


@pytest.mark.parametrize("masked", [False, True], ids=["unmasked", "masked"])
def test_loss_is_that_of_the_equation(masked, rng):
    scores = rng.dirichlet(np.ones(7), size=(3, 5))
    mask = rng.random((3, 5)) < 0.6
    mask[0] = False
    expected = reference_mechanisms.coverage_loss(
        scores, mask if masked else np.ones((3, 5), bool)
    )
    if masked:
        scores = np.where(mask[..., None], scores, np.nan)
    loss = coverage_loss(scores, mask if masked else None)
    np.testing.assert_allclose(loss, expected, rtol=0, atol=1e-12)


def test_loss_is_the_one_computed_on_paper():
    scores = np.array([[[1.0, 0.0], [0.5, 0.5], [0.5, 0.5]]])
    np.testing.assert_array_equal(coverage_loss(scores), [[0, 0.5, 1]])
    # To look at the same place twice costs 1, at another 0.
    repeat, move = np.eye(3)[[0, 0]], np.eye(3)[[0, 1]]
    loss = coverage_loss(np.stack([repeat, move]))
    np.testing.assert_array_equal(loss, [[0, 1], [0, 0]])


def test_loss_of_many_steps_keeps_its_precision():
    scores = ops.full((1, 4001, 2), 0.5, dtype="float16")
    loss = coverage_loss(scores)
    assert keras.backend.standardize_dtype(loss.dtype) == "float32"
    np.testing.assert_array_equal(loss[0], [0] + [1] * 4000)


@pytest.mark.parametrize(
    ("shape", "mask_shape", "match"),
    [
        (
            (3, 7),
            None,
            r"`attention_scores` of shape \(3, 7\). Expected 3 axes",
        ),
        ((3, 5, 7), (3, 7), r"`mask` of shape \(3, 7\).*Expected \(3, 5\)"),
    ],
)
def test_loss_refuses_other_shapes(shape, mask_shape, match):
    mask = None if mask_shape is None else np.ones(mask_shape, bool)
    with pytest.raises(ValueError, match=match):
        coverage_loss(np.ones(shape), mask)
