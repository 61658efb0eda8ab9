r"""Inputs that are known before the loop, projected for all steps at once.

Keras's own cells look at an input $x_t$ through a product with their kernel
alone. With an input of two parts, $[x_t; c_t]$, of which only the second
depends on the step before (a context, or an attentional state),

$$W [x_t; c_t] + b = (W_x x_t + b) + W_c c_t$$

and the first term is one product for all steps, which is faster than one at
every step. The equations of the gates are those of the Keras cells.
"""

from typing import Any
from typing import NamedTuple

import keras
from keras import ops
from keras import tree

from keras_attention.cells.wrapped_cell import call_cell


class ProjectedInputs(NamedTuple):
    """What a step of a cell needs, beside what the step before tells.

    Attributes:
        values: Float, `(batch, gates)` of one step, `(batch, length, gates)`
            of all: inputs times kernel, plus bias.
        fed_kernel: Float, `(fed_units, gates)`, what multiplies the part of
            the input that the step before tells.
        recurrent_kernels: What multiplies the state: float, `(units, gates)`;
            of a GRU that resets before the product two, for the gates and for
            the candidate.
        recurrent_bias: Float, `(gates,)`, or None.
    """

    values: Any
    fed_kernel: Any
    recurrent_kernels: Any
    recurrent_bias: Any


def project_inputs(cell, sequences, training=False):
    """Projects the inputs of all steps, where a cell is one of Keras's own.

    Args:
        cell: A Keras RNN cell that is built.
        sequences: Float, `(batch, length, units)`.
        training: Whether dropout is on.

    Returns:
        `ProjectedInputs`, or None where the cell must see its inputs
        themselves: one that is not of Keras, or that drops inputs or states.
    """
    if _is_stacked(cell):
        cell = cell.cells[0]
    if type(cell) not in _STEPS:
        return None
    if training and (cell.dropout or cell.recurrent_dropout):
        return None
    dtype = cell.compute_dtype
    kernel = ops.cast(cell.kernel, dtype)
    recurrent_kernels = [ops.cast(cell.recurrent_kernel, dtype)]
    bias, recurrent_bias = None, None
    if cell.use_bias:
        bias = ops.cast(cell.bias, dtype)
    # Parts are cut out here, for a cut within the loop is made at every step.
    if type(cell) is keras.layers.GRUCell:
        if not cell.reset_after:
            recurrent_kernels = ops.split(
                recurrent_kernels[0], [2 * cell.units], axis=1
            )
        elif cell.use_bias:
            bias, recurrent_bias = bias[0], bias[1]
    units = sequences.shape[-1]
    values = ops.matmul(ops.cast(sequences, dtype), kernel[:units])
    if bias is not None:
        values = values + bias
    return ProjectedInputs(
        values, kernel[units:], recurrent_kernels, recurrent_bias
    )


def take_step(cell, inputs, fed, states, training=False):
    """Takes one step of a cell, part of whose input may be fed.

    Args:
        cell: A Keras RNN cell.
        inputs: Float, `(batch, units)`, or `ProjectedInputs` of one step.
        fed: Float, `(batch, fed_units)`, what joins the inputs, or None.
        states: The states of the cell, a list.
        training: Whether dropout is on.

    Returns:
        The output `(batch, units)` and states of the structure that came in.
    """
    if not isinstance(inputs, ProjectedInputs):
        if fed is not None:
            inputs = ops.concatenate([inputs, fed], axis=-1)
        return call_cell(cell, inputs, states, training)
    if not _is_stacked(cell):
        return _projected_step(cell, inputs, fed, states)
    first, *others = cell.cells
    output, next_states = _projected_step(
        first, inputs, fed, tree.flatten(states[0])
    )
    for inner, state in zip(others, states[1:], strict=True):
        state = state if tree.is_nested(state) else [state]
        output, state = call_cell(inner, output, state, training)
        next_states += tree.flatten(state)
    return output, tree.pack_sequence_as(states, next_states)


def _is_stacked(cell):
    return type(cell) is keras.layers.StackedRNNCells


def _projected_step(cell, inputs, fed, states):
    gates = inputs.values
    if fed is not None:
        fed = ops.cast(fed, gates.dtype)
        gates = gates + ops.matmul(fed, inputs.fed_kernel)
    states = [ops.cast(state, gates.dtype) for state in states]
    return _STEPS[type(cell)](cell, inputs, gates, *states)


def _gru_step(cell, inputs, gates, state):
    update, reset, candidate = ops.split(gates, 3, axis=-1)
    recurrent = ops.matmul(state, inputs.recurrent_kernels[0])
    if inputs.recurrent_bias is not None:
        recurrent = recurrent + inputs.recurrent_bias
    to_update, to_reset, *to_candidate = ops.split(
        recurrent, 3 if cell.reset_after else 2, axis=-1
    )
    update = cell.recurrent_activation(update + to_update)
    reset = cell.recurrent_activation(reset + to_reset)
    if cell.reset_after:
        from_state = reset * to_candidate[0]
    else:
        from_state = ops.matmul(reset * state, inputs.recurrent_kernels[1])
    candidate = cell.activation(candidate + from_state)
    state = update * state + (1 - update) * candidate
    return state, [state]


def _lstm_step(cell, inputs, gates, state, carry):
    gates = gates + ops.matmul(state, inputs.recurrent_kernels[0])
    write, keep, candidate, show = ops.split(gates, 4, axis=-1)
    write = cell.recurrent_activation(write)
    keep = cell.recurrent_activation(keep)
    carry = keep * carry + write * cell.activation(candidate)
    state = cell.recurrent_activation(show) * cell.activation(carry)
    return state, [state, carry]


def _simple_step(cell, inputs, gates, state):
    recurrent = ops.matmul(state, inputs.recurrent_kernels[0])
    state = cell.activation(gates + recurrent)
    return state, [state]


_STEPS = {
    keras.layers.GRUCell: _gru_step,
    keras.layers.LSTMCell: _lstm_step,
    keras.layers.SimpleRNNCell: _simple_step,
}
