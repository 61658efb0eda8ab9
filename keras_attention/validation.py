"""Checks of arguments and shapes, and the one form of error message.

Every message says what was received, what was expected and what to do.
Shapes may hold None where a size is not known yet; such a size fits any.
"""

import numbers


def is_shape(value):
    """Tells one shape from a list of shapes, tensors or masks."""
    return isinstance(value, (list, tuple)) and any(
        isinstance(size, int) for size in value
    )


def shapes_agree(shape, other):
    """Tells whether two shapes are equal wherever both are known."""
    return len(shape) == len(other) and all(
        None in sizes or sizes[0] == sizes[1]
        for sizes in zip(shape, other, strict=True)
    )


def check_positive(owner, name, value):
    """Raises ValueError unless `value` is a positive integer."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(
            f"`{owner}` received {name}={value!r}. Expected a positive "
            f"integer, for example {name}=64."
        )


def check_positive_number(owner, name, value):
    """Raises ValueError unless `value` is a positive, finite number."""
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not is_number or not 0 < value < float("inf"):
        raise ValueError(
            f"`{owner}` received {name}={value!r}. Expected a number above 0, "
            f"for example {name}=1.0."
        )


def check_rate(owner, name, value):
    """Raises ValueError unless `0 <= value < 1`."""
    if not isinstance(value, numbers.Real) or not 0 <= value < 1:
        raise ValueError(
            f"`{owner}` received {name}={value!r}. Expected a number from 0 "
            "up to, not including, 1: the share of entries to drop."
        )


def check_probability(owner, name, value):
    """Raises ValueError unless `value` is a number from 0 to 1."""
    if not isinstance(value, numbers.Real) or not 0 <= value <= 1:
        raise ValueError(
            f"`{owner}` received {name}={value!r}. Expected a probability: a "
            "number from 0 to 1."
        )


def check_choice(owner, name, value, choices):
    """Raises ValueError unless `value` is one of `choices`."""
    choices = list(choices)  # where a value need not be hashable
    if value not in choices:
        known = ", ".join(repr(choice) for choice in choices)
        raise ValueError(
            f"`{owner}` received {name}={value!r}. Expected one of: {known}."
        )


def check_rank(owner, name, shape, axes):
    """Raises ValueError unless `shape` has one size for each axis name."""
    if len(shape) != len(axes):
        raise ValueError(
            f"`{owner}` received `{name}` of shape {tuple(shape)}. Expected "
            f"{len(axes)} axes: ({', '.join(axes)}). "
            + _rank_advice(name, shape, axes)
        )


def _rank_advice(name, shape, axes):
    if len(shape) == 2 and len(axes) == 3:
        if name == "query":
            return (
                "A query of 2 axes is one step: pass "
                "`keras.ops.expand_dims(query, 1)`, a sequence of length 1."
            )
        return (
            "A tensor of 2 axes is often the final state of an encoder: build "
            "the encoder with `return_sequences=True` and pass its whole "
            "output (batch, time, depth)."
        )
    return "Add or remove axes with `keras.ops.reshape`."


def check_depth(owner, name, shape):
    """Raises ValueError unless the size of the last axis is known."""
    if shape[-1] is None:
        raise ValueError(
            f"`{owner}` received `{name}` of shape {tuple(shape)}. Expected a "
            "known size of the last axis, on which the weights depend: state "
            "it where the tensor is made, for example keras.Input((None, 64))."
        )


def check_same_size(owner, axis, **sizes):
    """Raises ValueError unless the known sizes of one axis are equal."""
    known = {size for size in sizes.values() if size is not None}
    if len(known) > 1:
        received = ", ".join(f"{name}: {size}" for name, size in sizes.items())
        advice = (
            "Every example needs its own memory; repeat the memory once per "
            "row (`keras.ops.repeat(memory, n, axis=0)`) if rows share it."
            if axis == "batch"
            else "Check that these tensors come from the same sequence."
        )
        raise ValueError(
            f"`{owner}` received different sizes of the axis `{axis}` "
            f"({received}). Expected equal sizes. {advice}"
        )


def check_mask(owner, name, mask_shape, tensor_shape):
    """Raises ValueError unless a mask is `(batch, length)` of its tensor."""
    expected = tuple(tensor_shape[:2])
    if not shapes_agree(mask_shape, expected):
        raise ValueError(
            f"`{owner}` received `{name}` of shape {tuple(mask_shape)} for a "
            f"tensor of shape {tuple(tensor_shape)}. Expected {expected}: "
            "(batch, length), where True marks a real token."
        )
