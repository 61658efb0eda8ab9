import keras
import numpy as np
import pytest
import reference_recurrent
from keras import tree
from layer_catalogue import BATCH
from layer_catalogue import CELL_UNITS
from layer_catalogue import INNER_CELLS
from layer_catalogue import INPUT_UNITS
from layer_catalogue import MEMORY_MASK
from layer_catalogue import MEMORY_UNITS
from layer_catalogue import draw
from layer_catalogue import draw_memory
from layer_catalogue import make_cell
from layer_catalogue import randomize

import keras_attention


FORMS = ["bahdanau", "bahdanau_context", "bahdanau_residual"]


def built_cell(form, inner, rng):
    cell = make_cell(form, inner)
    cell.build_attention((None, None, MEMORY_UNITS))
    cell.build((None, INPUT_UNITS))
    randomize(cell, rng)
    return cell


@pytest.mark.parametrize("inner", INNER_CELLS)
@pytest.mark.parametrize("form", FORMS)
def test_step_equals_the_equations(form, inner, rng):
    """The context comes from the state before the step, then the step.

    Reported as tensorflow/tensorflow#11365: the wrapper of the time could
    not express it.
    """
    cell = built_cell(form, inner, rng)
    inputs, memory = draw(rng, BATCH, INPUT_UNITS), draw_memory(rng)
    states = tree.map_structure(
        lambda size: draw(rng, BATCH, size), list(cell.state_size)
    )
    expected, (expected_states, expected_scores) = (
        reference_recurrent.bahdanau_step(
            cell, inputs, states, memory, MEMORY_MASK
        )
    )
    output, states, scores = cell(
        inputs, states, cell.prepare_memory(memory, MEMORY_MASK)
    )
    np.testing.assert_allclose(output, expected, atol=1e-5)
    np.testing.assert_allclose(scores[0], expected_scores, atol=1e-5)
    for one, other in zip(
        tree.flatten(states), tree.flatten(expected_states), strict=True
    ):
        np.testing.assert_allclose(one, other, atol=1e-5)
    assert output.shape[-1] == cell.output_size


def test_input_decides_nothing_about_where_this_step_looks(rng):
    cell = built_cell("bahdanau", "gru", rng)
    prepared = cell.prepare_memory(draw_memory(rng))
    states = [draw(rng, BATCH, CELL_UNITS)]
    _, _, [first] = cell(draw(rng, BATCH, INPUT_UNITS), states, prepared)
    _, _, [second] = cell(draw(rng, BATCH, INPUT_UNITS), states, prepared)
    np.testing.assert_array_equal(first, second)


def test_gates_have_weights_for_the_context(rng):
    """The matrices C, C_z and C_r of appendix A.1.2 meet the context."""
    cell = built_cell("bahdanau", "gru", rng)
    assert cell.cell.kernel.shape == (
        INPUT_UNITS + MEMORY_UNITS,
        3 * CELL_UNITS,
    )


def test_only_the_residual_form_adds_weights(rng):
    counts = [len(built_cell(form, "gru", rng).weights) for form in FORMS]
    assert counts == [6, 6, 9]


@pytest.mark.parametrize("value", ["context", 2, None])
def test_unknown_output_context_raises(value):
    with pytest.raises(ValueError, match="one of: False, True, 'residual'"):
        keras_attention.BahdanauRNNCell(
            keras.layers.GRUCell(3),
            keras_attention.BahdanauAttention(5),
            output_context=value,
        )


def test_numbers_for_output_context_mean_what_booleans_do(rng):
    cell = keras_attention.BahdanauRNNCell(
        keras.layers.GRUCell(3),
        keras_attention.BahdanauAttention(5),
        output_context=1,
    )
    prepared = cell.prepare_memory(draw_memory(rng))
    output, _, _ = cell(
        draw(rng, BATCH, INPUT_UNITS),
        cell.get_initial_state(BATCH, prepared),
        prepared,
    )
    assert output.shape[-1] == cell.output_size == 3 + MEMORY_UNITS
