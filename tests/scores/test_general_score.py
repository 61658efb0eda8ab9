import numpy as np
import pytest
from score_cases import SCORES
from score_cases import built_score
from score_cases import check_equation
from score_cases import check_gradients
from score_cases import query_and_memory

from keras_attention import GeneralScore


NAMES = ["general", "general_learned", "general_sqrt"]


@pytest.mark.parametrize("name", NAMES)
def test_scores_are_those_of_the_equation(name, rng):
    check_equation(SCORES[name], rng)


@pytest.mark.parametrize("name", NAMES)
def test_gradients_are_those_of_the_equation(name, rng):
    check_gradients(SCORES[name], rng)


def test_hand_set_weights_give_the_score_computed_on_paper():
    score = GeneralScore()
    score.build((1, 1, 2), (1, 1, 3))
    score.memory_layer.kernel.assign([[1.0, 2.0], [2.0, 1.0], [1.0, 3.0]])
    query = np.array([[[1.0, 2.0]]], dtype="float32")
    memory = np.array([[[3.0, 4.0, 5.0]]], dtype="float32")
    # W h = (3 + 8 + 5, 6 + 4 + 15) = (16, 25), and 1 * 16 + 2 * 25 = 66.
    scores = score(query, score.project(memory))
    np.testing.assert_allclose(scores, [[[66.0]]])


def test_memory_that_was_not_projected_is_refused(rng):
    score = built_score(SCORES["general"], rng)
    query, memory = query_and_memory(SCORES["general"], rng)
    with pytest.raises(ValueError, match=r"Expected 13 units .*score.project"):
        score(query, memory)


@pytest.mark.parametrize("scale", [True, None, 0.5, "Sqrt"])
def test_unknown_scale_is_refused_by_the_name_of_the_score(scale):
    match = "`GeneralScore` .*Expected one of: False, 'learned', 'sqrt'"
    with pytest.raises(ValueError, match=match):
        GeneralScore(scale)
