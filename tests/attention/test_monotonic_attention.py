import functools

import keras
import numpy as np
import pytest
import reference_mechanisms
from attention_cases import QUERY_MASK
from attention_cases import AttentionCase
from attention_cases import attend_and_differentiate
from attention_cases import built_attention
from attention_cases import joined_mask
from attention_cases import query_and_value
from keras import ops
from score_cases import BATCH
from score_cases import MEMORY_LENGTH
from score_cases import QUERY_LENGTH
from score_cases import SCORES
from score_cases import UNITS

from keras_attention import AttentionRNN
from keras_attention import BahdanauRNNCell
from keras_attention import GeneralScore
from keras_attention import MonotonicAttention


MODES = ["parallel", "recursive", "hard"]
CASES = {
    name: AttentionCase(
        functools.partial(MonotonicAttention, name, units), SCORES[name]
    )
    for name, units in [
        ("additive", UNITS),
        ("concat", UNITS),
        ("general", None),
        ("dot", None),
    ]
}
ADDITIVE = CASES["additive"]
MASKS = {
    "none": [None, None],
    "right": [QUERY_MASK, np.arange(MEMORY_LENGTH) < [[3], [4]]],
    "left": [None, np.arange(MEMORY_LENGTH) >= [[1], [2]]],
    "holes": [QUERY_MASK[:, ::-1], np.array([[1, 0, 1, 0, 1]] * 2) == 1],
    "empty": [np.roll(QUERY_MASK, 1, 1), np.arange(MEMORY_LENGTH) < [[0], [5]]],
}

every_mode = pytest.mark.parametrize("mode", MODES)
both_expectations = pytest.mark.parametrize("mode", ["parallel", "recursive"])


def attend(attention, arrays, masks=None, **kwargs):
    kwargs["return_attention_scores"] = True
    results = attention(arrays, mask=masks, **kwargs)
    return [np.array(result) for result in results]


def by_equation(case, attention, query, value, mask=None, noise=0.0):
    """Context and attention scores of the equations."""
    weights = map(ops.convert_to_numpy, case.score.weights(attention.score))
    scores = case.score.equation(query, value, *weights)
    scores = scores + ops.convert_to_numpy(attention.bias) + noise
    return reference_mechanisms.monotonic_attention(
        scores, value, mask, attention.mode == "hard"
    )


def assert_same(received, expected, atol=1e-12):
    for one, other in zip(received, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=atol)


# The equations.


@pytest.mark.parametrize("masks", MASKS.values(), ids=MASKS)
@every_mode
def test_results_are_those_of_the_equation(mode, masks, rng):
    attention = built_attention(ADDITIVE, rng, mode=mode, dtype="float64")
    arrays = query_and_value(ADDITIVE, rng, "float64")
    expected = by_equation(ADDITIVE, attention, *arrays, joined_mask(*masks))
    assert_same(attend(attention, arrays, masks), expected, 1e-11)
    assert np.any(expected[1][1] > 0.1)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_every_score_may_be_used(case, rng):
    attention = built_attention(case, rng, dtype="float64")
    arrays = query_and_value(case, rng, "float64")
    expected = by_equation(case, attention, *arrays)
    assert_same(attend(attention, arrays), expected, 1e-11)
    weights = case.score.weights(attention.score)
    assert len(attention.trainable_weights) == len(weights) + 1


def test_modes_agree_where_they_should(rng):
    """All do where a model is sure. Reported as asyml/texar-pytorch#325."""
    arrays = query_and_value(ADDITIVE, rng)
    attention = built_attention(ADDITIVE, rng)

    def attend_in(mode):
        attention.mode = mode
        return attend(attention, arrays)

    parallel = attend_in("parallel")
    assert np.all(parallel[1].sum(-1) <= 1 + 1e-6)
    assert_same(parallel, attend_in("recursive"), 1e-6)
    assert np.max(np.abs(parallel[1] - attend_in("hard")[1])) > 0.1
    for weight in (attention.score.direction, attention.bias):
        weight.assign(weight * 1e4)
    hard = attend_in("hard")
    assert set(hard[1].ravel()) == {0, 1}
    assert_same(attend_in("parallel"), hard, 1e-6)
    assert_same(attend_in("recursive"), hard, 1e-6)


def test_positions_chosen_by_hand():
    """Each step goes on where the one before ended; past the end all is 0."""
    attention = MonotonicAttention("dot", mode="hard")
    value = np.array([[[1.0, -1, -1], [-1, -1, -1], [-1, 1, -1], [1, 1, -1]]])
    query = np.eye(3)[[0, 1, 0, 2, 0]][None]
    _, scores = attend(attention, [0.1 * query, value])
    chosen = np.eye(5)[[0, 2, 3, 4, 4]][:, :4]
    np.testing.assert_array_equal(scores[0], chosen)


# Bias and noise.


@pytest.mark.parametrize("start", [0.0, -2.5])
def test_score_bias_is_where_the_bias_starts(start):
    attention = MonotonicAttention("dot", score_bias=start)
    attention.build([(1, 1, 7), (1, 3, 7)])
    assert ops.convert_to_numpy(attention.bias) == start
    assert attention.trainable_weights == [attention.bias]


def test_negative_score_bias_moves_attention_to_later_positions(rng):
    """Reported as tensorflow/tensorflow#13669: it stays in the first column."""
    query, value = rng.normal(size=(23, 1, 7)), rng.normal(size=(23, 53, 7))
    means, firsts = [], []
    for bias in (0.0, -2.0, -4.0):
        attention = MonotonicAttention(units=UNITS, score_bias=bias)
        _, scores = attend(attention, [0.3 * query, 0.3 * value])
        means.append(np.sum(scores @ np.arange(53)) / np.sum(scores))
        firsts.append(np.mean(scores[..., 0]))
    assert means[0] < 2
    assert means[1] > 3 * means[0]
    assert means[2] > 1.5 * means[1]
    assert firsts[0] > 3 * firsts[1] > 9 * firsts[2]


def test_noise_is_for_training_only(rng):
    """Reported as tensorflow/tensorflow#13669."""
    arrays = query_and_value(ADDITIVE, rng)
    noisy = built_attention(ADDITIVE, rng, noise=0.5)
    quiet = built_attention(ADDITIVE, rng)
    quiet.set_weights(noisy.get_weights())
    expected = attend(quiet, arrays)
    assert_same(attend(noisy, arrays), expected, 0)
    assert_same(attend(quiet, arrays, training=True), expected, 0)
    first, second = (attend(noisy, arrays, training=True) for _ in range(2))
    assert not np.allclose(first[1], second[1])
    assert not np.allclose(first[1], expected[1])


def test_noise_has_the_standard_deviation_asked_for(rng):
    attention = built_attention(ADDITIVE, rng, noise=0.7)
    _, value = query_and_value(ADDITIVE, rng)
    memory = attention.prepare_memory(ops.convert_to_tensor(value))
    noise = np.array(attention.draw_noise(memory, 4001))
    assert noise.shape == (BATCH, 4001, MEMORY_LENGTH)
    np.testing.assert_allclose(noise.std((0, 1)), 0.7, rtol=0.05)
    np.testing.assert_allclose(noise.mean((0, 1)), 0, atol=0.05)
    assert np.max(np.abs(np.corrcoef(noise[0].T) - np.eye(5))) < 0.1
    assert not np.allclose(noise, attention.draw_noise(memory, 4001))


def test_noise_is_added_to_the_scores(rng):
    attention = built_attention(ADDITIVE, rng, noise=0.7, dtype="float64")
    query, value = query_and_value(ADDITIVE, rng, "float64")
    noise = rng.normal(size=(BATCH, QUERY_LENGTH, MEMORY_LENGTH))
    memory = attention.prepare_memory(ops.convert_to_tensor(value))
    state, received = attention.initial_state(memory), []
    for i in range(QUERY_LENGTH):
        now = memory._replace(noise=ops.convert_to_tensor(noise[:, i]))
        _, scores, state = attention.step(
            ops.convert_to_tensor(query[:, i]), now, state, training=True
        )
        received.append(np.array(scores))
    _, expected = by_equation(ADDITIVE, attention, query, value, noise=noise)
    np.testing.assert_allclose(np.stack(received, 1), expected, atol=1e-11)


# Masks and numbers.


@pytest.mark.parametrize("places", [[], [0], [2] * 7, [MEMORY_LENGTH] * 7])
def test_padding_of_the_memory_changes_nothing(places, rng):
    attention = built_attention(ADDITIVE, rng)
    query, value = query_and_value(ADDITIVE, rng)
    mask = np.insert(np.ones((BATCH, MEMORY_LENGTH), bool), places, False, 1)
    context, scores = attend(
        attention, [query, np.insert(value, places, np.nan, 1)], [None, mask]
    )
    received = [context, scores[..., mask[0]]]
    assert_same(received, attend(attention, [query, value]), 1e-6)
    np.testing.assert_array_equal(scores[..., ~mask[0]], 0)


@pytest.mark.parametrize(
    ("mode", "policy"),
    [("parallel", "mixed_float16"), ("recursive", "float32")],
)
def test_garbage_under_the_masks_leaves_gradients_alone(mode, policy, rng):
    attention = built_attention(ADDITIVE, rng, mode=mode, dtype=policy)
    query, value = query_and_value(ADDITIVE, rng)
    masks = MASKS["empty"]
    clean = attend_and_differentiate(attention, query, value, masks)
    query = np.where(masks[0][..., None], query, np.float32(np.nan))
    value = np.where(masks[1][..., None], value, np.float32(np.nan))
    dirty = attend_and_differentiate(attention, query, value, masks)
    assert_same(dirty, clean, 0)
    assert all(np.all(np.isfinite(part)) for part in clean)
    assert all(np.any(part) for part in clean)
    np.testing.assert_array_equal(clean[0][0], 0)


@both_expectations
def test_gradients_are_finite_where_a_model_is_sure(mode, rng):
    """Scores of 10,000 and -10,000 in half precision."""
    case = CASES["dot"]
    attention = built_attention(case, rng, mode=mode, dtype="mixed_float16")
    query, value = (
        np.sign(array) * np.float32(10000 / 7) ** 0.5
        for array in query_and_value(case, rng)
    )
    value[0] = query[0, :1]  # scores of 10,000
    value[1] = -query[1, :1]
    results = attend_and_differentiate(attention, query, value, None)
    assert all(np.all(np.isfinite(part)) for part in results)
    np.testing.assert_array_equal(results[1][:, 0, 0], [1, 0])


def test_many_steps_keep_their_precision():
    """One position, chosen again at every step."""
    attention = MonotonicAttention("dot", score_bias=5.0, dtype="mixed_float16")
    _, scores = attend(attention, [np.zeros((1, 211, 3)), np.ones((1, 1, 3))])
    expected = (1 / (1 + np.exp(-5))) ** np.arange(1, 212)
    np.testing.assert_allclose(scores[0, :, 0], expected, rtol=2e-3)


@pytest.mark.parametrize(
    ("mode", "policy"),
    [("parallel", "mixed_float16"), ("recursive", "float32")],
)
def test_first_training_step_with_a_long_memory_is_finite(mode, policy, rng):
    """Reported as Rayhane-mamah/Tacotron-2#291, r9y9/tacotron_pytorch#8."""
    attention = MonotonicAttention(
        units=UNITS, mode=mode, noise=1.0, dtype=policy
    )
    cell = BahdanauRNNCell(keras.layers.GRUCell(5), attention, dtype=policy)
    inputs = [keras.Input((3, 2)), keras.Input((200, 7))]
    model = keras.Model(inputs, AttentionRNN(cell, dtype=policy)(*inputs))
    model.compile(keras.optimizers.SGD(0.1), "mse")
    before = model.get_weights()
    loss = model.train_on_batch(
        [rng.normal(size=(2, *tensor.shape[1:])) for tensor in inputs],
        rng.normal(size=(2, 5)),
    )
    assert np.isfinite(loss)
    after = model.get_weights()
    assert all(np.all(np.isfinite(weight)) for weight in after)
    assert not np.array_equal(before[0], after[0])


# Arguments.


def test_configuration_is_complete(rng):
    attention = MonotonicAttention(
        GeneralScore("sqrt"), mode="recursive", noise=0.7, score_bias=-1.5
    )
    config = attention.get_config()
    again = MonotonicAttention.from_config(config)
    assert again.get_config() == config
    arrays = query_and_value(CASES["general"], rng)
    attend(again, arrays), attend(attention, arrays)
    again.set_weights(attention.get_weights())
    assert_same(attend(again, arrays), attend(attention, arrays), 0)
    config = MonotonicAttention("concat", 7).get_config()
    assert (config["score"], config["units"]) == ("concat", 7)


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"mode": "soft"}, "Expected one of: 'parallel', 'recursive', 'hard'"),
        ({"noise": -0.1}, "noise=-0.1. Expected a number above 0"),
        ({"noise": float("nan")}, "noise=nan. Expected a number above 0"),
        ({"noise": "1"}, "noise='1'. Expected a number above 0"),
        ({"units": None}, "units=None.*Expected the width of its hidden layer"),
        ({"score": "dot"}, "units=7. Expected units only for"),
    ],
)
def test_wrong_arguments_are_refused(arguments, match):
    with pytest.raises(ValueError, match=match):
        MonotonicAttention(**{"units": 7, **arguments})


@pytest.mark.parametrize(
    ("name", "value"),
    [("probability", "softmax"), ("dropout", 0.5), ("temperature", 0.5)],
)
def test_arguments_that_mean_nothing_here_are_refused(name, value):
    with pytest.raises(TypeError, match=name):
        MonotonicAttention(units=7, **{name: value})
