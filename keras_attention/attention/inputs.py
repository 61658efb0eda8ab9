"""Taking apart what an attention layer is called with."""

from keras import ops

from keras_attention.validation import check_mask
from keras_attention.validation import check_same_size


def split_inputs(owner, inputs):
    """Returns query, value and key (tensors or shapes) of the inputs."""
    if not isinstance(inputs, (list, tuple)):
        return inputs, inputs, inputs
    if len(inputs) not in (2, 3):
        raise ValueError(
            f"`{owner}` received a list of length {len(inputs)}. Expected "
            "[query, value] or [query, value, key], or a single tensor that "
            "attends to itself."
        )
    query, value, *key = inputs
    return query, value, key[0] if key else value


def split_shapes(owner, input_shape):
    """Returns the shapes of query, value and key."""
    first = input_shape[0]
    is_single = first is None or isinstance(first, int)
    return split_inputs(owner, [input_shape] * 2 if is_single else input_shape)


def split_masks(owner, inputs, mask):
    """Returns the query mask and the value mask of a call."""
    if not isinstance(inputs, (list, tuple)):
        if isinstance(mask, (list, tuple)):
            raise ValueError(
                f"`{owner}` received a list of {len(mask)} masks for a single "
                "tensor. Expected one mask (batch, length), where True marks "
                "a real token."
            )
        if len(getattr(mask, "shape", ())) > 2:
            raise ValueError(
                f"`{owner}` received a second tensor, of shape "
                f"{tuple(mask.shape)}, beside the inputs. Expected one list "
                "of inputs, `attention([query, value])`, and masks of shape "
                "(batch, length)."
            )
        return mask, mask
    if mask is None:
        return None, None
    if not isinstance(mask, (list, tuple)) or len(mask) not in (2, 3):
        received = tuple(mask.shape) if hasattr(mask, "shape") else mask
        raise ValueError(
            f"`{owner}` received mask={received} for {len(inputs)} inputs. "
            "Expected a list [query_mask, value_mask]; put None for a mask "
            "that you do not have."
        )
    # A key is the value's sequence: the mask of either is that of both.
    query_mask, value_mask, *key_mask = mask
    if value_mask is None and key_mask:
        value_mask = key_mask[0]
    return query_mask, value_mask


def checked_inputs(owner, inputs, mask):
    """Takes a call apart and checks that its parts fit.

    Returns:
        Query, value, key, query mask and value mask; masks are boolean
        tensors or None.
    """
    query, value, key = split_inputs(owner, inputs)
    masks = [
        None if part is None else ops.cast(part, "bool")
        for part in split_masks(owner, inputs, mask)
    ]
    check_same_size(
        owner,
        "batch",
        query=query.shape[0],
        value=value.shape[0],
        key=key.shape[0],
    )
    check_same_size(
        owner, "memory_length", value=value.shape[1], key=key.shape[1]
    )
    named = zip(("query", "value"), (query, value), masks, strict=True)
    for name, tensor, part in named:
        if part is not None:
            check_mask(owner, f"{name}_mask", part.shape, tensor.shape)
    return query, value, key, *masks


def causal_mask(query_length, memory_length):
    """True where a query position may see a memory position."""
    rows = ops.expand_dims(ops.arange(query_length), -1)
    return ops.expand_dims(rows >= ops.arange(memory_length), 0)
