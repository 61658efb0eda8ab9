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
    if mask is not None:
        carry.append(initial_output)
        valid = ops.cast(ops.expand_dims(mask, -1), sequences.dtype)
        sequences = ops.concatenate([sequences, valid], axis=-1)

    def plain_step(inputs, flat_states):
        states = tree.pack_sequence_as(initial_states, list(flat_states))
        output, states = step(inputs, states)
        flat_states = [
            ops.cast(state, dtype)
            for state, dtype in zip(tree.flatten(states), dtypes, strict=True)
        ]
        return output, flat_states

    def masked_step(inputs, carry):
        *flat_states, output = carry
        inputs, valid = inputs[:, :-1], inputs[:, -1] > 0.5
        new_output, new_states = plain_step(inputs, flat_states)
        new_output = ops.cast(new_output, initial_output.dtype)
        output = _select(valid, new_output, output)
        states = [
            _select(valid, new, old)
            for new, old in zip(new_states, flat_states, strict=True)
        ]
        return output, [*states, output]

    runner = keras.layers.RNN(
        _StepCell(
            plain_step if mask is None else masked_step,
            [state.shape[-1] for state in carry],
        ),
        return_sequences=return_sequences,
        go_backwards=go_backwards,
        unroll=unroll,
    )
    last_output, outputs, carry = runner.inner_loop(sequences, carry, mask=None)
    flat_states = list(carry)[: len(dtypes)]
    states = tree.pack_sequence_as(initial_states, flat_states)
    return (outputs if return_sequences else last_output), states


def _select(valid, new, old):
    """Takes `new` in the rows where `valid` is True, else `old`."""
    rank = len(new.shape)
    valid = ops.reshape(valid, (-1,) + (1,) * (rank - 1))
    return ops.where(valid, new, old)
