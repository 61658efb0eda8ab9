"""What attention computes of a memory before any query comes."""

from typing import Any
from typing import NamedTuple


class PreparedMemory(NamedTuple):
    """What attention needs of a memory, computed once per sequence.

    Attributes:
        keys: Float, `(batch, memory_length, key_units)`; the projected
            memory that queries are compared with.
        values: Float, `(batch, memory_length, value_units)`; what the
            context is made of. Padding is 0.
        mask: Boolean, `(batch, memory_length)`, True marks a real token;
            or None where every position is real.
        noise: What is random in the next step, `(batch, width)`, as
            `Attention.draw_noise` returns for all steps; or None, and a step
            in training draws it itself. A loop over steps draws it before
            it begins, since not every backend can draw within a loop.

    Example:
        ```python
        attention = keras_attention.BahdanauAttention(units=8)
        attention.build([(2, 3, 5), (2, 7, 6)])
        memory = attention.prepare_memory(keras.random.normal((2, 7, 6)))
        print(memory.keys.shape, memory.values.shape)  # (2, 7, 8) (2, 7, 6)
        context, scores, state = attention.step(
            keras.random.normal((2, 5)), memory, []
        )
        print(context.shape, scores.shape)  # (2, 6) (2, 7)
        ```
    """

    keys: Any
    values: Any
    mask: Any = None
    noise: Any = None
