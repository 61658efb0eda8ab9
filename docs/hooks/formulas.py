r"""Makes MathML of every formula, so that pages need no scripts for them.

Formulas stand between dollars, in pages, docstrings and notebooks alike.
"""

import html
import re
from importlib import resources

import math_core
from mkdocs.structure.files import File


FONT = "STIXTwoMath-Regular.ttf"
PARTS = re.compile(
    r"<(?P<literal>pre|code|script|style|svg)\b.*?</(?P=literal)>"
    r"|\$\$(?P<block>.+?)\$\$"
    r"|\$(?P<inline>[^$<]+)\$",
    re.DOTALL,
)


def on_files(files, config):
    """Adds a font that has the shapes of mathematics."""
    font = resources.files("ziamath") / "fonts" / FONT
    content = font.read_bytes()
    files.append(File.generated(config, f"stylesheets/{FONT}", content=content))
    return files


def on_page_content(text, **_):
    """Puts MathML in the place of TeX."""
    return PARTS.sub(_to_mathml, text)


def _to_mathml(part):
    if part["literal"]:
        return part[0]
    tex = html.unescape(part["block"] or part["inline"])
    converter = math_core.LatexToMathML()
    return converter.convert_with_local_state(
        tex, displaystyle=bool(part["block"])
    )
