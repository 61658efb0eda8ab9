"""What Keras leaves open about an RNN cell, answered in one place.

A Keras cell is anything with `call(inputs, states)` and `state_size`. Its
states may be one tensor or several, and those of `StackedRNNCells` are lists
within a list. These functions hide the differences.
"""

import keras
from keras import ops
from keras import tree


def check_cell(owner, cell):
    """Raises ValueError unless `cell` is a Keras RNN cell."""
    is_cell = hasattr(cell, "state_size") and hasattr(cell, "call")
    if not is_cell or isinstance(cell, keras.layers.RNN):
        raise ValueError(
            f"`{owner}` received cell={cell!r}. Expected a Keras RNN cell, "
            "an object with `call(inputs, states)` and `state_size`, for "
            "example keras.layers.GRUCell(64) (the cell, not the layer GRU)."
        )


def state_sizes(cell):
    """Lists the sizes of a cell's states, one entry for each state."""
    sizes = cell.state_size
    return list(sizes) if isinstance(sizes, (list, tuple)) else [sizes]


def output_size(cell):
    """Returns the number of units that a cell puts out."""
    size = getattr(cell, "output_size", None)
    return tree.flatten(cell.state_size)[0] if size is None else size


def hidden_size(cell):
    """Returns the number of units of what `hidden_state` returns."""
    return tree.flatten(_top(cell, state_sizes(cell)))[0]


def hidden_state(cell, states):
    """Returns the state that a cell shows to the world.

    It is the first state, as Keras orders them; of stacked cells, the first
    state of the top cell.
    """
    return tree.flatten(_top(cell, states))[0]


def _top(cell, per_state):
    stacked = isinstance(cell, keras.layers.StackedRNNCells)
    return per_state[-1] if stacked else per_state[0]


def zero_states(cell, batch_size, dtype):
    """Makes the states that a cell starts from, always as a list."""
    if hasattr(cell, "get_initial_state"):
        states = cell.get_initial_state(batch_size=batch_size)
    else:
        states = _zeros(cell.state_size, batch_size, dtype)
    return list(states) if isinstance(states, (list, tuple)) else [states]


def _zeros(size, batch_size, dtype):
    if isinstance(size, (list, tuple)):  # Keras turns lists into its own kind
        return [_zeros(part, batch_size, dtype) for part in size]
    if isinstance(size, dict):
        return {
            name: _zeros(part, batch_size, dtype) for name, part in size.items()
        }
    return ops.zeros((batch_size, size), dtype=dtype)


def build_cell(cell, input_shape):
    """Builds a cell, if it is a layer that is not built."""
    if isinstance(cell, keras.layers.Layer) and not cell.built:
        cell.build(input_shape)


def call_cell(cell, inputs, states, training):
    """Takes one step and returns states of the structure that came in."""
    step = cell if callable(cell) else cell.call
    if isinstance(cell, keras.layers.Layer):
        # Keras drops `training` for a layer whose `call` does not take it.
        output, new_states = step(inputs, states, training=training)
    else:
        output, new_states = step(inputs, states)
    flat = tree.flatten(new_states)
    return output, tree.pack_sequence_as(states, flat)


def reset_dropout_masks(cell):
    """Makes a cell draw new dropout masks at its next step.

    Keras cells keep one mask for a whole sequence. `keras.layers.RNN` clears
    it after every batch, but only of the cells that it can see; those inside
    a cell of this library it cannot.
    """
    for inner in getattr(cell, "cells", ()):
        reset_dropout_masks(inner)
    if hasattr(cell, "reset_dropout_mask"):
        cell.reset_dropout_mask()
        cell.reset_recurrent_dropout_mask()


def has_dropout_masks(cell):
    """Tells whether a cell, or one inside it, keeps dropout masks."""
    return hasattr(cell, "reset_dropout_mask") or any(
        has_dropout_masks(inner) for inner in getattr(cell, "cells", ())
    )
