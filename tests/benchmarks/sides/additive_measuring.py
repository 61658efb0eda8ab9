"""What both backends of additive_attention.py measure in the same way."""

from typing import NamedTuple

import keras

import keras_attention


class Task(NamedTuple):
    """What a process is asked for.

    Attributes:
        side: "ours" or "keras".
        size: Batch, query length, memory length and units.
        repeats: Timed calls.
        compiled: Whether XLA compiles the step. JAX compiles it always.
        dtype: Of the layer and its inputs.
    """

    side: str
    size: tuple
    repeats: int
    compiled: bool = True
    dtype: str = "float32"

    @property
    def shapes(self):
        """The shapes of query and value."""
        batch, query_length, memory_length, units = self.size
        return [(batch, query_length, units), (batch, memory_length, units)]


def make_layer(task):
    if task.side == "ours":
        layer = keras_attention.BahdanauAttention(
            task.size[-1], dtype=task.dtype
        )
    else:
        layer = keras.layers.AdditiveAttention(dtype=task.dtype)
    layer.build(task.shapes)
    return layer
