import keras
import numpy as np
import pytest
import reference_recurrent
from keras import tree
from layer_catalogue import BATCH
from layer_catalogue import CELL_UNITS
from layer_catalogue import GLOBAL_ATTENTIONS
from layer_catalogue import INNER_CELLS
from layer_catalogue import INPUT_UNITS
from layer_catalogue import LENGTH
from layer_catalogue import MEMORY_MASK
from layer_catalogue import MEMORY_UNITS
from layer_catalogue import draw
from layer_catalogue import draw_memory
from layer_catalogue import make_cell
from layer_catalogue import randomize

import keras_attention


FORMS = ["luong", "luong_residual", "luong_feeding", "luong_feeding_residual"]


def built_cell(form, inner, attention, rng):
    cell = make_cell(form, inner, attention)
    return built(cell, CELL_UNITS if attention == "dot" else MEMORY_UNITS, rng)


def built(cell, memory_units, rng):
    cell.build_attention((None, None, memory_units))
    cell.build((None, INPUT_UNITS))
    randomize(cell, rng)
    return cell


def make_feeding_cell(inner, form):
    return keras_attention.LuongRNNCell(
        INNER_CELLS[inner](),
        GLOBAL_ATTENTIONS["general"](),
        input_feeding=True,
        attentional_state=form,
    )


@pytest.mark.parametrize("inner", INNER_CELLS)
@pytest.mark.parametrize("form", [*FORMS, "linear", "context"])
def test_step_equals_the_equations(form, inner, rng):
    if form in FORMS:
        cell = built_cell(form, inner, "general", rng)
    else:
        cell = built(make_feeding_cell(inner, form), MEMORY_UNITS, rng)
    inputs, memory = draw(rng, BATCH, INPUT_UNITS), draw_memory(rng)
    states = tree.map_structure(
        lambda size: draw(rng, BATCH, size), list(cell.state_size)
    )
    expected, (expected_states, expected_scores) = (
        reference_recurrent.luong_step(
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


@pytest.mark.parametrize("attention", [*GLOBAL_ATTENTIONS, "local_p"])
@pytest.mark.parametrize("form", ["luong", "luong_residual"])
def test_attending_from_all_equals_attending_one_by_one(form, attention, rng):
    cell = built_cell(form, "gru", attention, rng)
    memory = cell.prepare_memory(draw_memory(rng, attention), MEMORY_MASK)
    hidden = draw(rng, BATCH, LENGTH, CELL_UNITS)
    outputs, [scores] = cell.attend_from_all(hidden, memory)
    for time in range(LENGTH):
        context, _, [one] = cell.attend(hidden[:, time], memory, [], False)
        output = cell.attentional_state(hidden[:, time], context)
        # PyTorch orders the sums of the two otherwise: up to 1.4e-6 apart.
        np.testing.assert_allclose(outputs[:, time], output, atol=2e-6)
        np.testing.assert_allclose(scores[:, time], one, atol=1e-6)


@pytest.mark.parametrize("form", FORMS)
def test_only_input_feeding_needs_the_step_before(form):
    cell = make_cell(form)
    assert cell.attention_is_recurrent == ("feeding" in form)


def test_input_feeding_adds_one_state_of_the_output_size():
    cell = make_cell("luong_feeding", "lstm")
    assert cell.state_size == [CELL_UNITS, CELL_UNITS, 23]
    states = cell.get_initial_state(BATCH)
    assert [state.shape for state in states] == [
        (BATCH, size) for size in cell.state_size
    ]


def test_width_is_that_of_the_cell_unless_given():
    attention = GLOBAL_ATTENTIONS["general"]()
    cell = keras_attention.LuongRNNCell(keras.layers.GRUCell(3), attention)
    assert cell.output_size == 3


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"attention_units": 0}, "Expected a positive integer"),
        ({"attention_units": 2.5}, "Expected a positive integer"),
        ({"attentional_state": "sum"}, "one of: 'tanh', 'linear', 'context'"),
        (
            {"attention_units": 7, "attentional_state": "context"},
            "Expected no width",
        ),
    ],
    ids=["zero", "fraction", "form", "context"],
)
def test_errors_of_the_constructor(arguments, expected):
    with pytest.raises(ValueError, match=expected):
        keras_attention.LuongRNNCell(
            keras.layers.GRUCell(3), GLOBAL_ATTENTIONS["general"](), **arguments
        )


def test_residual_form_of_another_width_raises(rng):
    cell = keras_attention.LuongRNNCell(
        keras.layers.GRUCell(3),
        GLOBAL_ATTENTIONS["general"](),
        attention_units=5,
        attentional_state="residual",
    )
    cell.build_attention((None, None, MEMORY_UNITS))
    with pytest.raises(ValueError, match="leave `attention_units` out"):
        cell.build((None, INPUT_UNITS))
