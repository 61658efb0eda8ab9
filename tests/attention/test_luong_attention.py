import keras
import numpy as np
import pytest

from keras_attention import AdditiveScore
from keras_attention import ConcatScore
from keras_attention import DotScore
from keras_attention import GeneralScore
from keras_attention import LuongAttention


def test_hand_set_numbers_give_the_context_computed_on_paper():
    attention = LuongAttention("dot")
    query = np.array([[[1.0, 2.0]]], dtype="float32")
    log = np.log(3)
    value = [[[log, 2.0], [2 * log, 2 - log / 2 + log], [9.0, 9.0]]]
    value = np.array(value, dtype="float32")
    mask = np.array([[True, True, False]])
    # Scores log(3) + 4 and 2 log(3) + 4 + log(3): log(9) apart, so that the
    # second weighs 9 times as much as the first.
    context, scores = attention(
        [query, value], mask=[None, mask], return_attention_scores=True
    )
    np.testing.assert_allclose(scores, [[[0.1, 0.9, 0]]], rtol=1e-5)
    expected = 0.1 * value[:, :1] + 0.9 * value[:, 1:2]
    np.testing.assert_allclose(context, expected, rtol=1e-5)


@pytest.mark.parametrize(
    ("arguments", "score", "count"),
    [
        ({"score": "dot"}, DotScore, 0),
        ({"score": "dot", "scale": "learned"}, DotScore, 1),
        ({}, GeneralScore, 1),
        ({"score": "general", "scale": "learned"}, GeneralScore, 2),
        ({"score": "concat", "units": 7}, ConcatScore, 2),
        ({"score": AdditiveScore(7)}, AdditiveScore, 3),
    ],
)
def test_score_and_weights_are_those_of_the_paper(arguments, score, count):
    attention = LuongAttention(**arguments)
    attention(keras.ops.ones((2, 3, 5)))
    assert type(attention.score) is score
    assert len(attention.trainable_weights) == count


def test_scale_reaches_the_score():
    for name in ("dot", "general"):
        for scale in (False, "learned", "sqrt"):
            assert LuongAttention(name, scale=scale).score.scale == scale


@pytest.mark.parametrize("score", ["Additive", "Dot", None, 3, DotScore])
def test_unknown_scores_are_refused(score):
    match = "Expected one of: .*'dot', 'general', or a score layer"
    with pytest.raises(ValueError, match=match):
        LuongAttention(score)


@pytest.mark.parametrize("score", ["dot", "general"])
def test_units_are_for_concat_only(score):
    with pytest.raises(ValueError, match="Expected units only for .*concat"):
        LuongAttention(score, units=7)


@pytest.mark.parametrize("arguments", [{}, {"units": 7, "scale": "sqrt"}])
def test_concat_wants_units_and_no_scale(arguments):
    match = "Expected the width of its hidden layer and no scale"
    with pytest.raises(ValueError, match=match):
        LuongAttention("concat", **arguments)


@pytest.mark.parametrize("units", [0, -1, 2.5])
def test_units_of_concat_are_a_positive_integer(units):
    with pytest.raises(ValueError, match="Expected a positive integer"):
        LuongAttention("concat", units=units)


def test_scale_beside_a_score_layer_is_refused():
    with pytest.raises(ValueError, match="Expected them in the layer"):
        LuongAttention(DotScore(), scale="sqrt")


@pytest.mark.parametrize("score", ["dot", "general"])
def test_unknown_scale_is_refused(score):
    match = "Expected one of: False, 'learned', 'sqrt'"
    with pytest.raises(ValueError, match=match):
        LuongAttention(score, scale=True)
