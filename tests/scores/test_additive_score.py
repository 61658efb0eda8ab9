import keras
import numpy as np
import pytest
from score_cases import BATCH
from score_cases import MEMORY_LENGTH
from score_cases import QUERY_LENGTH
from score_cases import SCORES
from score_cases import UNITS
from score_cases import built_score
from score_cases import check_equation
from score_cases import check_gradients
from score_cases import query_and_memory

from keras_attention import AdditiveScore
from keras_attention import ConcatScore


NAMES = ["additive", "additive_normalized"]


@pytest.mark.parametrize("name", NAMES)
def test_scores_are_those_of_the_equation(name, rng):
    check_equation(SCORES[name], rng)


@pytest.mark.parametrize("name", NAMES)
def test_gradients_are_those_of_the_equation(name, rng):
    check_gradients(SCORES[name], rng)


def test_hand_set_weights_give_the_score_computed_on_paper():
    score = AdditiveScore(units=1)
    score.build((1, 1, 1), (1, 1, 1))
    score.query_layer.kernel.assign([[3.0]])
    score.memory_layer.kernel.assign([[2.0]])
    score.direction.assign([5.0])
    query = np.full((1, 1, 1), np.log(2), dtype="float32")
    memory = -query
    # 3 log 2 - 2 log 2 = log 2, tanh(log 2) = 3/5, and 5 * 3/5 = 3.
    scores = score(query, score.project(memory))
    np.testing.assert_allclose(scores, [[[3.0]]], rtol=1e-6)


def test_additive_is_concat_with_stacked_weights(rng):
    additive = built_score(SCORES["additive"], rng)
    concat = built_score(SCORES["concat"], rng)
    concat.kernel.assign(
        np.concatenate(
            [additive.query_layer.kernel, additive.memory_layer.kernel]
        )
    )
    concat.direction.assign(additive.direction)
    query, memory = query_and_memory(SCORES["additive"], rng)
    np.testing.assert_allclose(
        additive(query, additive.project(memory)),
        concat(query, concat.project(memory)),
        rtol=1e-5,
        atol=1e-6,
    )
    assert isinstance(concat, ConcatScore)


def test_gain_of_a_normalized_score_starts_at_one_over_root_units():
    score = AdditiveScore(UNITS, normalize=True)
    score.build((2, 3, 5), (2, 7, 5))
    np.testing.assert_allclose(score.gain, np.sqrt(1 / UNITS), rtol=1e-6)
    np.testing.assert_array_equal(score.bias, np.zeros(UNITS))


def test_length_of_the_direction_does_not_matter_when_normalized(rng):
    score = built_score(SCORES["additive_normalized"], rng)
    query, memory = query_and_memory(SCORES["additive_normalized"], rng)
    before = np.array(score(query, score.project(memory)))
    score.direction.assign(17.0 * np.array(score.direction))
    after = score(query, score.project(memory))
    np.testing.assert_allclose(after, before, rtol=1e-5)


def test_normalized_score_is_finite_in_half_precision(rng):
    """The square of a small direction underflows float16."""
    score = built_score(
        SCORES["additive_normalized"], rng, dtype="mixed_float16"
    )
    query, memory = query_and_memory(SCORES["additive_normalized"], rng)
    score.direction.assign(1e-4 * np.array(score.direction))
    scores = score(query, score.project(memory))
    assert np.all(np.isfinite(np.array(scores)))


@pytest.mark.parametrize("name", SCORES)
def test_shape_is_known_before_the_call(name, rng):
    case = SCORES[name]
    score = built_score(case, rng)
    query, memory = query_and_memory(case, rng)
    keys = score.project(memory)
    assert score.compute_output_shape(query.shape, keys.shape) == (
        BATCH,
        QUERY_LENGTH,
        MEMORY_LENGTH,
    )
    query = keras.Input((None, case.query_units))
    keys = keras.Input((None, keys.shape[-1]))
    assert score(query, keys).shape == (None, None, None)


@pytest.mark.parametrize("name", SCORES)
def test_half_precision_is_close_to_single_precision(name, rng):
    case = SCORES[name]
    single = built_score(case, rng)
    half = built_score(case, rng, dtype="mixed_float16")
    half.set_weights(single.get_weights())
    query, memory = query_and_memory(case, rng)
    scores = half(query, half.project(memory.astype("float16")))
    assert keras.backend.standardize_dtype(scores.dtype) == "float16"
    np.testing.assert_allclose(
        scores, single(query, single.project(memory)), atol=0.05, rtol=0.02
    )


def test_memory_that_was_not_projected_is_refused(rng):
    score = built_score(SCORES["additive"], rng)
    query, memory = query_and_memory(SCORES["additive"], rng)
    with pytest.raises(ValueError, match=r"Expected 11 units .*score.project"):
        score(query, memory)


@pytest.mark.parametrize("units", [0, -3, 2.5, True, None, "8"])
def test_units_that_are_no_positive_integer_are_refused(units):
    with pytest.raises(ValueError, match="Expected a positive integer"):
        AdditiveScore(units)


@pytest.mark.parametrize("name", SCORES)
def test_memory_of_another_batch_is_refused(name):
    case = SCORES[name]
    with pytest.raises(ValueError, match=r"query: 3, memory: 5.* equal sizes"):
        case.make().build((3, 2, case.query_units), (5, 7, 7))


@pytest.mark.parametrize("name", SCORES)
def test_memory_of_two_axes_is_refused(name):
    case = SCORES[name]
    with pytest.raises(ValueError, match=r"\(5, 7\).*Expected 3 axes.*whole"):
        case.make().build((5, 2, case.query_units), (5, 7))


@pytest.mark.parametrize("name", SCORES)
def test_query_of_two_axes_is_refused(name):
    case = SCORES[name]
    match = r"`query` of shape \(5, \d+\).*Expected 3 axes.*expand_dims"
    with pytest.raises(ValueError, match=match):
        case.make().build((5, case.query_units), (5, 2, 7))


@pytest.mark.parametrize("name", SCORES)
def test_config_makes_an_equal_score(name):
    config = SCORES[name].make(name="named").get_config()
    again = type(SCORES[name].make()).from_config(config)
    assert again.get_config() == config
