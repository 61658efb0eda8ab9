import keras
import numpy as np
import pytest

from keras_attention import AdditiveScore
from keras_attention import BahdanauAttention


def test_hand_set_weights_give_the_context_computed_on_paper():
    attention = BahdanauAttention(units=1)
    attention.build([(1, 1, 1), (1, 3, 1)])
    attention.score.query_layer.kernel.assign([[1.0]])
    attention.score.memory_layer.kernel.assign([[1.0]])
    attention.score.direction.assign([np.log(3) / 1.2])
    query = np.full((1, 1, 1), np.log(4), dtype="float32")
    value = np.log([[[1 / 2], [1 / 8], [7.0]]]).astype("float32")
    mask = np.array([[True, True, False]])
    # tanh(log 2) = 3/5 and tanh(-log 2) = -3/5: scores log(3) / 2 and
    # -log(3) / 2, so that the first weighs 3 times as much as the second.
    context, scores = attention(
        [query, value], mask=[None, mask], return_attention_scores=True
    )
    np.testing.assert_allclose(scores, [[[0.75, 0.25, 0]]], rtol=1e-6)
    # (3 log(1/2) + log(1/8)) / 4 = -6 log(2) / 4
    np.testing.assert_allclose(context, [[[-1.5 * np.log(2)]]], rtol=1e-6)


@pytest.mark.parametrize("normalize", [False, True])
def test_score_is_additive_with_the_arguments_of_the_layer(normalize):
    attention = BahdanauAttention(7, normalize=normalize, dtype="float64")
    assert isinstance(attention.score, AdditiveScore)
    assert attention.score.units == 7
    assert attention.score.normalize is normalize
    assert attention.score.compute_dtype == "float64"


@pytest.mark.parametrize(("normalize", "count"), [(False, 3), (True, 5)])
def test_weights_are_those_of_the_paper(normalize, count):
    attention = BahdanauAttention(7, normalize=normalize)
    attention(keras.ops.ones((2, 3, 5)))
    assert len(attention.trainable_weights) == count
    assert attention.non_trainable_weights == []


@pytest.mark.parametrize("units", [0, -1, 2.5, None, "7"])
def test_units_that_are_no_positive_integer_are_refused(units):
    match = r"units=.*Expected a positive integer, for example units=64"
    with pytest.raises(ValueError, match=match):
        BahdanauAttention(units)


def test_units_have_to_be_given():
    with pytest.raises(TypeError, match="units"):
        BahdanauAttention()
