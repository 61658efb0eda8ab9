"""The loop over time steps."""

import keras
from keras import ops
from keras import tree


class _StepCell:
    """Dresses a step function up as the cell that `keras.layers.RNN` loops."""

    def __init__(self, step, state_size):
        self.call = step
        self.state_size = state_size

    def __call__(self, inputs, states):
        return self.call(inputs, states)


def loop(
    step,
    sequences,
    initial_states,
    initial_output,
    mask=None,
    go_backwards=False,
    unroll=False,
    return_sequences=True,
    columns=(),
):
    """Runs a step function over time.

    In Python it would read:

    ```python
    states, output, outputs = initial_states, initial_output, []
    for inputs, valid in zip(sequences, mask):        # along the time axis
        new_output, new_states = step(inputs, states)
        output = where(valid, new_output, output)
        states = where(valid, new_states, states)
        outputs.append(output)
    ```

    so that a masked step repeats the output and the states before it, in the
    same way on every backend (`keras.layers.RNN`, which does the looping,
    takes the first state for the output on some of them).

    Args:
        step: Function of inputs `(batch, units)` and states that returns an
            output `(batch, output_units)` and states.
        sequences: Float, `(batch, length, units)`.
        initial_states: States, of any structure, each with the batch first.
        initial_output: `(batch, output_units)`, the output before any step.
        mask: Boolean, `(batch, length)`, True marks a real token, or None.
        go_backwards: Whether to begin at the last step. The outputs are then
            in the order in which they were computed.
        unroll: Whether to write every step into the graph. Faster for a few
            steps; needs a known length.
        return_sequences: Whether all outputs are needed.
        columns: What else the step gets, after the states: a list of
            `(batch, length, any width)`, of which a step sees `(batch, any
            width)`.

    Returns:
        The outputs, `(batch, length, output_units)`, or the last one,
        `(batch, output_units)`; and the last states.
    """
    if unroll and sequences.shape[1] is None:
        raise ValueError(
            "`unroll=True` received sequences of shape "
            f"{tuple(sequences.shape)}. Expected a known length: give the "
            "length to `keras.Input(shape=(length, units))`, or leave unroll "
            "out."
        )
    carry = tree.flatten(initial_states)
    dtypes = [state.dtype for state in carry]
    columns = list(columns)
    if mask is not None:
        carry.append(initial_output)
        columns.insert(0, ops.expand_dims(mask, -1))
    # One tensor is all that a loop takes in: side by side.
    dtype = sequences.dtype
    widths = [sequences.shape[-1], *[ops.shape(part)[-1] for part in columns]]
    if columns:
        columns = [ops.cast(part, dtype) for part in columns]
        sequences = ops.concatenate([sequences, *columns], axis=-1)

    def plain_step(inputs, flat_states, *values):
        states = tree.pack_sequence_as(initial_states, list(flat_states))
        output, states = step(inputs, states, *values)
        flat_states = [
            ops.cast(state, dtype)
            for state, dtype in zip(tree.flatten(states), dtypes, strict=True)
        ]
        return output, flat_states

    def masked_step(inputs, carry, valid, *values):
        *flat_states, output = carry
        new_output, new_states = plain_step(inputs, flat_states, *values)
        new_output = ops.cast(new_output, initial_output.dtype)
        valid = valid > 0.5
        output = _select(valid, new_output, output)
        states = [
            _select(valid, new, old)
            for new, old in zip(new_states, flat_states, strict=True)
        ]
        return output, [*states, output]

    def any_step(inputs, carry):
        inputs, *values = split_columns(inputs, widths)
        run = plain_step if mask is None else masked_step
        return run(inputs, carry, *values)

    runner = keras.layers.RNN(
        _StepCell(any_step, [state.shape[-1] for state in carry]),
        return_sequences=return_sequences,
        go_backwards=go_backwards,
        unroll=unroll,
    )
    last_output, outputs, carry = runner.inner_loop(sequences, carry, mask=None)
    flat_states = list(carry)[: len(dtypes)]
    states = tree.pack_sequence_as(initial_states, flat_states)
    return (outputs if return_sequences else last_output), states


def split_columns(tensor, widths):
    """Cuts the last axis into parts of these widths; undoes concatenate."""
    if len(widths) == 1:
        return [tensor]
    parts, start = [], 0
    for width in widths:
        parts.append(tensor[..., start : start + width])
        start = start + width
    return parts


def _select(valid, new, old):
    """Takes `new` in the rows where `valid` is True, else `old`."""
    valid = ops.reshape(valid, (-1,) + (1,) * (len(new.shape) - 1))
    return ops.where(valid, new, old)
