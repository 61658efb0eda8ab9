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
    """

    keys: Any
    values: Any
    mask: Any = None
    noise: Any = None
