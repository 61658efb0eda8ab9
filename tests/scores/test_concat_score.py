import numpy as np
import pytest
from score_cases import SCORES
from score_cases import built_score
from score_cases import check_equation
from score_cases import check_gradients
from score_cases import query_and_memory

from keras_attention import ConcatScore


def test_scores_are_those_of_the_equation(rng):
    check_equation(SCORES["concat"], rng)


def test_gradients_are_those_of_the_equation(rng):
    check_gradients(SCORES["concat"], rng)


def test_hand_set_weights_give_the_score_computed_on_paper():
    score = ConcatScore(units=1)
    score.build((1, 1, 1), (1, 1, 2))
    score.kernel.assign([[3.0], [1.0], [2.0]])
    score.direction.assign([5.0])
    query = np.full((1, 1, 1), np.log(2), dtype="float32")
    memory = np.array([[[2 * np.log(2), -2 * np.log(2)]]], dtype="float32")
    # (3 + 2 - 4) log 2 = log 2, tanh(log 2) = 3/5, and 5 * 3/5 = 3.
    scores = score(query, score.project(memory))
    np.testing.assert_allclose(scores, [[[3.0]]], rtol=1e-6)


def test_memory_that_was_not_projected_is_refused(rng):
    score = built_score(SCORES["concat"], rng)
    query, memory = query_and_memory(SCORES["concat"], rng)
    with pytest.raises(ValueError, match=r"Expected 11 units .*score.project"):
        score(query, memory)


@pytest.mark.parametrize("units", [0, -3, 2.5, True, None])
def test_units_that_are_no_positive_integer_are_refused(units):
    with pytest.raises(ValueError, match="Expected a positive integer"):
        ConcatScore(units)
