"""A memory that several rows look at, as the hypotheses of a beam search do."""

from typing import Any
from typing import NamedTuple

from keras import ops
from keras import tree


class SharedMemory(NamedTuple):
    """One memory for several rows, in place of a copy for each.

    Attributes:
        memory: What `prepare_memory` of an attention layer returns.
        rows: int32, `(num_rows,)`, numbers the rows, next to each other, that
            look at the same example. A tensor, since a Keras layer takes no
            plain integer within its inputs; only its size matters.
    """

    memory: Any
    rows: Any


def share_memory(memory, num_rows):
    """Lets several rows look at each example of a memory.

    Args:
        memory: What `prepare_memory` of an attention layer returns.
        num_rows: Rows for each example, an integer.

    Returns:
        What `attend_to` takes as a memory.
    """
    return SharedMemory(memory, ops.arange(num_rows, dtype="int32"))


def repeat_rows(structure, count):
    """Repeats every row of all tensors, next to each other."""
    return tree.map_structure(
        lambda tensor: None if tensor is None else ops.repeat(tensor, count, 0),
        structure,
    )


def attend_to(attention, query, memory, state, training=False):
    """Lets an attention layer take one step, as its `step` does.

    All rows that share an example attend in one product, so that its memory
    is read once for all of them.

    Args:
        attention: An attention layer; where the memory is shared, one without
            a state.
        query: Float, `(rows, query_units)`.
        memory: What `prepare_memory` of the layer or `share_memory` returns.
        state: A list of tensors.
        training: Whether dropout and noise are on.

    Returns:
        Context `(rows, value_units)`, attention scores
        `(rows, memory_length)`, and the next state.
    """
    if not isinstance(memory, SharedMemory):
        return attention.step(query, memory, state, training)
    memory, rows = memory
    num_rows = rows.shape[0]
    query = ops.reshape(query, (-1, num_rows, query.shape[-1]))
    context, scores = attention.attend(query, memory, training=training)
    batch, _, memory_length = ops.shape(scores)
    return (
        ops.reshape(context, (batch * num_rows, context.shape[-1])),
        ops.reshape(scores, (batch * num_rows, memory_length)),
        state,
    )


def known_rows(memory):
    """Returns how many rows look at a memory, or None where it is not known."""
    if not isinstance(memory, SharedMemory):
        return memory.values.shape[0]
    examples = memory.memory.values.shape[0]
    return None if examples is None else examples * memory.rows.shape[0]
