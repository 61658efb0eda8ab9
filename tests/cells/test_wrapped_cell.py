import keras
import numpy as np
import pytest
from keras import ops
from keras import tree

from keras_attention.cells import wrapped_cell


def stacked():
    return keras.layers.StackedRNNCells(
        [
            keras.layers.LSTMCell(3, dropout=0.5),
            keras.layers.GRUCell(5, recurrent_dropout=0.5),
            keras.layers.LSTMCell(7),
        ]
    )


class OwnCell:
    """A user's cell: two states, the output of another size than they."""

    state_size = (2, 3)
    output_size = 11

    def call(self, inputs, states):
        return ops.ones((1, 11)), (states[0] + 1.0, states[1] + 2.0)


class BareCell:
    """A user's cell of one state, with nothing that is not needed."""

    state_size = 13

    def call(self, inputs, states):
        return states[0], states[0]


class NestedCell(keras.layers.Layer):
    """A user's layer of nested states; Keras tracks the list it keeps."""

    output_size = 5

    def __init__(self):
        super().__init__()
        self.state_size = [[2, 3], [5, 7]]

    def call(self, inputs, states):
        return states[1][0], states


CELLS = {
    "gru": (lambda: keras.layers.GRUCell(5), [5], 5, 5),
    "lstm": (lambda: keras.layers.LSTMCell(5), [5, 5], 5, 5),
    "simple_rnn": (lambda: keras.layers.SimpleRNNCell(5), [5], 5, 5),
    "stacked": (stacked, [[3, 3], 5, [7, 7]], 7, 7),
    "own": (OwnCell, [2, 3], 11, 2),
    "bare": (BareCell, [13], 13, 13),
    "nested": (NestedCell, [[2, 3], [5, 7]], 5, 2),
}
by_cell = pytest.mark.parametrize(
    ("make", "sizes", "output", "hidden"), CELLS.values(), ids=CELLS
)


@by_cell
def test_sizes(make, sizes, output, hidden):
    cell = make()
    assert wrapped_cell.state_sizes(cell) == sizes
    assert wrapped_cell.output_size(cell) == output
    assert wrapped_cell.hidden_size(cell) == hidden


@by_cell
def test_zero_states_have_the_sizes(make, sizes, output, hidden):
    states = wrapped_cell.zero_states(make(), 2, "float32")
    # JAX takes no lists of Keras's own kind for states.
    lists = [states, *(part for part in states if isinstance(part, list))]
    assert {type(part) for part in lists} == {list}
    expected = tree.map_structure(lambda size: np.zeros((2, size)), sizes)
    received = tree.flatten(states)
    for one, other in zip(received, tree.flatten(expected), strict=True):
        np.testing.assert_array_equal(one, other)


@by_cell
def test_hidden_state_is_the_first_of_the_top_cell(make, sizes, output, hidden):
    numbers = iter(range(17))
    states = tree.map_structure(lambda _: next(numbers), sizes)
    top = 3 if make is stacked else 0
    assert wrapped_cell.hidden_state(make(), states) == top


@by_cell
def test_a_step_keeps_the_structure_of_the_states(make, sizes, output, hidden):
    cell = make()
    wrapped_cell.build_cell(cell, (1, 4))
    states = wrapped_cell.zero_states(cell, 1, "float32")
    received, next_states = wrapped_cell.call_cell(
        cell, np.full((1, 4), 0.3, "float32"), states, training=False
    )
    assert received.shape == (1, output)
    tree.assert_same_structure(next_states, states)


def test_dropout_masks_are_found_and_forgotten_inside_stacked_cells():
    cell = stacked()
    cell.build((1, 2))
    states = wrapped_cell.zero_states(cell, 1, "float32")
    inputs = np.ones((1, 2), "float32")
    wrapped_cell.call_cell(cell, inputs, states, training=True)
    assert cell.cells[0]._dropout_mask is not None
    assert cell.cells[1]._recurrent_dropout_mask is not None
    assert wrapped_cell.has_dropout_masks(cell)
    wrapped_cell.reset_dropout_masks(cell)
    assert cell.cells[0]._dropout_mask is None
    assert cell.cells[1]._recurrent_dropout_mask is None


def test_cells_without_dropout_masks_are_left_alone():
    assert not wrapped_cell.has_dropout_masks(OwnCell())
    wrapped_cell.reset_dropout_masks(OwnCell())


def test_training_reaches_the_cell():
    cell = keras.layers.GRUCell(5, dropout=0.5)
    cell.build((3, 7))
    inputs = np.ones((3, 7), "float32")
    states = [np.zeros((3, 5), "float32")]
    plain, _ = wrapped_cell.call_cell(cell, inputs, states, training=False)
    dropped, _ = wrapped_cell.call_cell(cell, inputs, states, training=True)
    assert np.max(np.abs(np.array(plain) - np.array(dropped))) > 1e-3


@pytest.mark.parametrize(
    "cell", [keras.layers.Dense(3), "gru", None], ids=["dense", "name", "none"]
)
def test_what_is_no_cell_raises(cell):
    with pytest.raises(ValueError, match=r"Expected a Keras RNN cell.*GRUCell"):
        wrapped_cell.check_cell("Owner", cell)


def test_a_layer_in_place_of_its_cell_raises():
    with pytest.raises(ValueError, match="the cell, not the layer GRU"):
        wrapped_cell.check_cell("Owner", keras.layers.GRU(3))
