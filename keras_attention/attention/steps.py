"""Whole sequences, for mechanisms that carry a state from step to step."""

from keras import ops

from keras_attention.loop import loop
from keras_attention.masking import clear_padding


def initial_state(attention, memory):
    """Returns what a mechanism starts from, and checks that it says so.

    Args:
        attention: An attention layer.
        memory: What `prepare_memory` of the layer returns.
    """
    state = list(attention.initial_state(memory))
    if len(state) != attention.num_states:
        raise ValueError(
            f"`{type(attention).__name__}` returned {len(state)} initial "
            f"states and has num_states={attention.num_states}. Expected as "
            "many: define the property num_states beside `initial_state` and "
            "`step`."
        )
    return state


def attend_by_steps(attention, query, memory, mask=None, training=False):
    """Attends from one query after another.

    A query that may not see any position (padding, for example) is no step:
    its context and attention scores are 0, and the state stays as it is.

    Args:
        attention: An attention layer whose `num_states` is not 0.
        query: Float, `(batch, query_length, query_units)`.
        memory: What `prepare_memory` of the layer returns.
        mask: Boolean, broadcastable to `(batch, query_length,
            memory_length)`, or None.
        training: Whether dropout and noise are on.

    Returns:
        As `Attention.attend`.
    """
    batch, query_length = ops.shape(query)[:2]
    memory_length = ops.shape(memory.values)[1]
    columns, is_step = {}, None
    if mask is not None:
        shape = (batch, query_length, memory_length)
        seen = ops.broadcast_to(mask, shape)
        if memory.mask is not None:
            seen = seen & ops.expand_dims(memory.mask, 1)
        is_step = ops.any(seen, axis=-1)  # batch query_length
        columns["mask"] = ops.cast(seen, query.dtype)
    noise = attention.draw_noise(memory, query_length) if training else None
    if noise is not None:
        columns["noise"] = noise

    def step(query, state, *values):
        now = dict(zip(columns, values, strict=True))
        if "mask" in now:
            now["mask"] = now["mask"] > 0.5
        context, scores, state = attention.step(
            query, memory._replace(**now), state, training
        )
        return ops.concatenate([context, scores], axis=-1), state

    units = attention.value_units
    outputs, _ = loop(
        step,
        query,
        initial_state(attention, memory),
        ops.zeros((batch, units + memory_length), dtype=query.dtype),
        mask=is_step,
        columns=list(columns.values()),
    )
    outputs = clear_padding(outputs, is_step)
    # A slice of an unknown width has no known width; reshape states it.
    context = ops.reshape(outputs[..., :units], (batch, query_length, units))
    return context, outputs[..., units:]
