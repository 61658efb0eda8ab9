"""The states that a loop over an attention cell starts from."""

from keras import ops
from keras import tree

from keras_attention.cells import wrapped_cell
from keras_attention.validation import shapes_agree


def complete_state(cell, initial_state, batch_size, memory):
    """Checks the initial states, and fills in those that were left out.

    Args:
        cell: An `AttentionRNNCell`.
        initial_state: As in a call of `AttentionRNN`, or None.
        batch_size: Integer or scalar tensor.
        memory: As `prepare_memory` of the cell returns.

    Returns:
        A list of states, as `get_initial_state` of the cell returns.
    """
    defaults = cell.get_initial_state(batch_size, memory)
    if initial_state is None:
        return defaults
    if not isinstance(initial_state, (list, tuple)):
        initial_state = [initial_state]
    given = len(initial_state)
    needed = len(wrapped_cell.state_sizes(cell.cell))
    if not needed <= given <= len(defaults):
        first = "" if needed == len(defaults) else f", or the first {needed}"
        raise ValueError(
            f"`AttentionRNN` received an initial_state of {given} states. "
            f"Expected a list of {len(defaults)}{first}, of the sizes "
            f"{cell.state_size}: the states of {type(cell.cell).__name__}, "
            "then those that the attention adds. `StateBridge` makes them "
            "from the states of an encoder."
        )
    states = [*initial_state, *defaults[given:]]
    for index, pair in enumerate(zip(states, defaults, strict=True)):
        _check_state(index, *pair)
    flat = zip(tree.flatten(states), tree.flatten(defaults), strict=True)
    flat = [ops.cast(state, default.dtype) for state, default in flat]
    return tree.pack_sequence_as(defaults, flat)


def _check_state(index, state, default):
    shapes = [tuple(part.shape) for part in tree.flatten(state)]
    expected = [tuple(part.shape) for part in tree.flatten(default)]
    fits = len(shapes) == len(expected) and all(
        map(shapes_agree, shapes, expected)
    )
    if not fits:
        received, wanted = (
            ", ".join(map(str, part)) for part in (shapes, expected)
        )
        raise ValueError(
            f"`AttentionRNN` received an initial_state whose entry number "
            f"{index} has the shape {received}. Expected {wanted}: (batch, "
            "units) of every state, in the order in which the layer "
            "returns them. `StateBridge` turns the states of an encoder "
            "into states of that size."
        )
