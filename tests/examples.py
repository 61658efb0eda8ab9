"""The examples of a text: run as they stand, held to what they promise."""

import re
import textwrap
from typing import NamedTuple

from keras import ops


class Outcome(NamedTuple):
    """What came of the examples of a text.

    Attributes:
        names: All names that are defined at the end.
        printed: What was printed, one string for each call of print.
        promised: What the comments behind print, `print(...)  # so`, say.
    """

    names: dict
    printed: list[str]
    promised: list[str]


def run_examples(text, **names):
    """Runs the Python blocks of a text, one after another, as one program.

    Args:
        text: Markdown, as a page or a docstring is.
        names: What is defined before.

    Returns:
        An `Outcome`.
    """
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    program = "\n".join(map(textwrap.dedent, blocks))
    printed = []
    names["print"] = lambda *values: printed.append(
        " ".join(map(_as_text, values))
    )
    exec(program, names)
    promised = re.findall(r"print\(.*\)  # (.*)", program)
    return Outcome(names, printed, promised)


def _as_text(value):
    if ops.is_tensor(value):
        return str(ops.convert_to_numpy(value))
    # PyTorch has a tuple of its own for shapes.
    return str(tuple(value) if isinstance(value, tuple) else value)
