r"""The sum that the additive and the concat score share.

$$e_{ij} = \sum_u v_u \tanh(q_{iu} + k_{ju})$$

Written down at once it holds a number for every query, key and unit. For
long sequences that is gigabytes, once forward and several times backward. So
beyond a size the sum is made one query at a time, and the gradient, which
needs the tanh again, computes it again instead of keeping it:

$$\frac{\partial e_{ij}}{\partial q_{iu}} =
\frac{\partial e_{ij}}{\partial k_{ju}} =
v_u \left(1 - \tanh^2(q_{iu} + k_{ju})\right)$$
"""

import math

import keras
from keras import ops


# Numbers that may be held at once: 16 MiB in float32, about what a cache
# holds. Below it a loop over queries costs more time than it saves memory.
MAX_ELEMENTS = 2**22


def additive_scores(query, keys, direction):
    """Sums `direction * tanh(query + keys)` for every pair of positions.

    Args:
        query: Float, `(batch, query_length, units)`, projected.
        keys: Float, `(batch, memory_length, units)`, projected.
        direction: Float, `(units,)`.

    Returns:
        Float, `(batch, query_length, memory_length)`.
    """
    # A copy, for a gradient rule of TensorFlow takes no variable.
    tensors = query, keys, ops.copy(direction)
    if query.shape[1] == 1:
        return _at_once(*tensors)
    sizes = [*ops.shape(query), ops.shape(keys)[1]]
    if all(isinstance(size, int) for size in sizes):
        small = math.prod(sizes) <= MAX_ELEMENTS
        return _at_once(*tensors) if small else _by_query(*tensors)
    # As floats, since the product may be beyond the range of int32.
    elements = math.prod(ops.cast(size, "float32") for size in sizes)
    return ops.cond(
        elements <= MAX_ELEMENTS,
        lambda: _at_once(*tensors),
        lambda: _by_query(*tensors),
    )


def _at_once(query, keys, direction):
    query = ops.expand_dims(query, 2)  # batch query_length 1 units
    keys = ops.expand_dims(keys, 1)  # batch 1 memory_length units
    hidden = ops.tanh(query + keys)  # batch query_length memory_length units
    return ops.tensordot(hidden, direction, axes=1)


def _by_query(query, keys, direction):
    @ops.custom_gradient
    def scores_and_gradient(query, keys, direction):
        queries = ops.swapaxes(query, 0, 1)  # query_length batch units
        scores = ops.map(
            lambda one: ops.tensordot(_hidden(one, keys), direction, axes=1),
            queries,
        )

        def gradient(*arguments, upstream=None):
            # PyTorch gives the arguments again and `upstream` by name.
            upstream = arguments[0] if upstream is None else upstream
            return _gradient(upstream, queries, keys, direction)

        return ops.swapaxes(scores, 0, 1), gradient

    return scores_and_gradient(query, keys, direction)


def _hidden(query, keys):
    """The hidden layer of one query, `(batch, memory_length, units)`."""
    return ops.tanh(ops.expand_dims(query, 1) + keys)


def _gradient(upstream, queries, keys, direction):
    """Gradients to query, keys and direction, one query at a time.

    With g the upstream gradient and t the tanh, all three come from the sums
    of g, g t and g t^2 over the other two axes.
    """
    # Sums over long sequences need more than half precision.
    dtype = keras.backend.result_type(keys.dtype, "float32")
    by_query = ops.swapaxes(upstream, 0, 1)  # query_length batch memory_length

    def add_query(index, to_queries, squares, to_direction):
        hidden = _hidden(ops.take(queries, index, axis=0), keys)
        weights = ops.take(by_query, index, axis=0)  # batch memory_length
        weighted = ops.expand_dims(weights, -1) * hidden
        weighted_square = ops.cast(weighted * hidden, dtype)
        total = ops.sum(ops.cast(weights, dtype), axis=-1, keepdims=True)
        to_query = total - ops.sum(weighted_square, axis=1)  # batch units
        return (
            index + 1,
            ops.scatter_update(
                to_queries,
                ops.reshape(index, (1, 1)),
                ops.expand_dims(to_query, 0),
            ),
            squares + weighted_square,
            to_direction + ops.sum(ops.cast(weighted, dtype), axis=(0, 1)),
        )

    _, to_queries, squares, to_direction = ops.while_loop(
        lambda index, *_: index < ops.shape(queries)[0],
        add_query,
        (
            ops.zeros((), dtype="int32"),
            ops.zeros_like(queries, dtype=dtype),
            ops.zeros_like(keys, dtype=dtype),
            ops.zeros_like(direction, dtype=dtype),
        ),
    )
    total = ops.sum(ops.cast(upstream, dtype), axis=1)  # batch memory_length
    scale = ops.cast(direction, dtype)
    to_query = ops.swapaxes(to_queries, 0, 1) * scale
    to_keys = (ops.expand_dims(total, -1) - squares) * scale
    return (
        ops.cast(to_query, queries.dtype),
        ops.cast(to_keys, keys.dtype),
        ops.cast(to_direction, direction.dtype),
    )
