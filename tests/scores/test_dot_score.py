import numpy as np
import pytest
from score_cases import SCORES
from score_cases import check_equation
from score_cases import check_gradients

from keras_attention import DotScore


NAMES = ["dot", "dot_learned", "dot_sqrt"]


@pytest.mark.parametrize("name", NAMES)
def test_scores_are_those_of_the_equation(name, rng):
    check_equation(SCORES[name], rng)


@pytest.mark.parametrize("name", NAMES)
def test_gradients_are_those_of_the_equation(name, rng):
    check_gradients(SCORES[name], rng)


@pytest.mark.parametrize(
    ("scale", "expected"), [(False, 70.0), ("sqrt", 35.0), ("learned", 70.0)]
)
def test_score_is_the_one_computed_on_paper(scale, expected):
    query = np.array([[[1.0, 2.0, 3.0, 4.0]]], dtype="float32")
    memory = np.array([[[5.0, 6.0, 7.0, 8.0]]], dtype="float32")
    scores = DotScore(scale)(query, memory)
    np.testing.assert_allclose(scores, [[[expected]]])


def test_learned_scale_multiplies_the_score():
    score = DotScore("learned")
    score.build((1, 1, 2), (1, 1, 2))
    score.gain.assign(3.0)
    query = np.array([[[1.0, 2.0]]], dtype="float32")
    memory = np.array([[[5.0, 7.0]]], dtype="float32")
    np.testing.assert_allclose(score(query, memory), [[[57.0]]])


def test_keys_are_the_memory_itself(rng):
    memory = rng.normal(size=(2, 3, 5))
    assert DotScore().project(memory) is memory


def test_unequal_depths_are_refused_and_general_score_is_named():
    with pytest.raises(ValueError, match="Expected equal units.*GeneralScore"):
        DotScore().build((2, 3, 5), (2, 7, 11))


@pytest.mark.parametrize("scale", [True, None, 0.5, "Sqrt", ["sqrt"]])
def test_unknown_scale_is_refused(scale):
    match = "Expected one of: False, 'learned', 'sqrt'"
    with pytest.raises(ValueError, match=match):
        DotScore(scale)
