"""Windows of a padded sequence: where they lie, what is in them."""

from keras import ops


def real_positions(mask, shape):
    """Lists the real positions of every row, in order.

    Args:
        mask: Boolean, `(batch, length)`, True marks a real token; or None.
        shape: `(batch, length)`.

    Returns:
        int32 `(batch, length)`, the positions of real tokens first, and
        int32 `(batch,)`, how many those are.
    """
    batch, length = shape
    positions = ops.broadcast_to(ops.arange(length, dtype="int32"), shape)
    if mask is None:
        return positions, ops.zeros((batch,), dtype="int32") + length
    # Padding goes to the end, and all keys of the sort are different.
    order = ops.argsort(ops.where(mask, positions, positions + length))
    lengths = ops.sum(ops.cast(mask, "int32"), axis=-1)
    return ops.cast(order, "int32"), lengths


def take_rows(tensor, indices):
    """Takes positions of every row, each row its own.

    Args:
        tensor: `(batch, length)` or `(batch, length, units)`.
        indices: int32, `(batch, ...)`, from 0 to `length - 1`.

    Returns:
        The shape of `indices`, and the units if there are any.
    """
    batch, length, *units = ops.shape(tensor)
    starts = ops.arange(batch, dtype="int32") * length
    starts = ops.reshape(starts, (-1,) + (1,) * (len(indices.shape) - 1))
    flat = ops.reshape(tensor, (batch * length, *units))
    return ops.take(flat, indices + starts, axis=0)


def put_rows(values, indices, length):
    """Puts numbers to positions of rows that are 0 elsewhere.

    Args:
        values: Float, `(batch, rows, width)`.
        indices: int32, shape of `values`, from 0 to `length - 1`. Numbers
            that go to the same position are added.
        length: Integer, the length of the rows.

    Returns:
        Float, `(batch, rows, length)`.
    """
    batch, rows, width = ops.shape(values)
    starts = ops.arange(batch * rows, dtype="int32") * length
    indices = ops.reshape(indices, (batch * rows, width)) + starts[:, None]
    flat = ops.segment_sum(
        ops.reshape(values, (-1,)),
        ops.reshape(indices, (-1,)),
        num_segments=batch * rows * length,
    )
    return ops.reshape(flat, (batch, rows, length))
