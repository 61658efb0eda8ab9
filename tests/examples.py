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


def python_blocks(text):
    """Returns the Python blocks of a text, as they stand."""
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


def count_lines(block):
    """Counts the lines of a block that are not blank."""
    return sum(bool(line.strip()) for line in block.splitlines())


def run_examples(text, **names):
    """Runs the Python blocks of a text, one after another, as one program.

    Args:
        text: Markdown, as a page or a docstring is.
        names: What is defined before.

    Returns:
        An `Outcome`.
    """
    program = "\n".join(map(textwrap.dedent, python_blocks(text)))
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
