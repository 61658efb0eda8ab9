import keras
import numpy as np
import pytest
import reference_recurrent
from layer_catalogue import draw
from layer_catalogue import randomize

from keras_attention.cells.attentional_state import FORMS
from keras_attention.cells.attentional_state import AttentionalState


HIDDEN, CONTEXT, UNITS = 5, 3, 7


def made(form, rng):
    units = HIDDEN if form == "residual" else UNITS
    layer = AttentionalState(units, form)
    layer.build((2, HIDDEN), (2, CONTEXT))
    randomize(layer, rng)
    return layer


@pytest.mark.parametrize("axes", [(2,), (2, 11)], ids=["step", "sequence"])
@pytest.mark.parametrize("form", FORMS)
def test_state_equals_the_equation(form, axes, rng):
    layer = made(form, rng)
    hidden, context = draw(rng, *axes, HIDDEN), draw(rng, *axes, CONTEXT)
    expected = reference_recurrent.attentional_state(layer, hidden, context)
    np.testing.assert_allclose(layer(hidden, context), expected, atol=1e-5)


def test_context_stands_before_the_hidden_state():
    """W_c [c; h] with W_c = (1, 0) looks at the context alone."""
    layer = AttentionalState(1)
    layer.build((1, 1), (1, 1))
    layer.dense.kernel.assign([[1.0], [0.0]])
    result = layer(np.array([[0.7]]), np.array([[0.2]]))
    np.testing.assert_allclose(result, np.tanh([[0.2]]), atol=1e-6)


def test_residual_form_can_be_checked_on_paper():
    """h = (1, 3), c = 2, W_c = (1, -1): the sum is (3, 1), normed (1, -1)."""
    layer = AttentionalState(2, "residual")
    layer.build((1, 2), (1, 1))
    layer.dense.kernel.assign([[1.0, -1.0]])
    result = layer(np.array([[1.0, 3.0]]), np.array([[2.0]]))
    np.testing.assert_allclose(result, [[1.0, -1.0]], atol=1e-3)


def test_residual_form_of_unequal_units_raises():
    layer = AttentionalState(UNITS, "residual")
    with pytest.raises(ValueError, match="Expected equal units, since"):
        layer.build((2, HIDDEN), (2, CONTEXT))


def test_unknown_form_raises():
    with pytest.raises(ValueError, match="Expected one of: 'tanh', 'linear', "):
        AttentionalState(UNITS, "sum")


def test_symbolic_shape_is_that_of_the_units():
    layer = AttentionalState(UNITS)
    output = layer(keras.Input((None, HIDDEN)), keras.Input((None, CONTEXT)))
    assert output.shape == (None, None, UNITS)
