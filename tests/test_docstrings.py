"""The docstrings of all public names: complete, and their examples run."""

import inspect
import re

import keras
import matplotlib.pyplot as plt
import numpy as np
import pytest
from examples import run_examples
from public_names import CLASSES
from public_names import METHODS
from public_names import PUBLIC
from public_names import parameters

import keras_attention


DOCSTRINGS = {
    name: inspect.cleandoc(thing.__doc__) + "\n"
    for name, thing in (PUBLIC | METHODS).items()
    if thing.__doc__
}
EXAMPLES = [name for name, text in DOCSTRINGS.items() if "```python" in text]
# Methods that say it all in one line may leave the section out.
WITH_ARGUMENTS = [
    name
    for name, text in DOCSTRINGS.items()
    if name in PUBLIC or "\nArgs:\n" in text
]
LAYERS = [name for name, cls in CLASSES.items() if issubclass(cls, keras.Layer)]


def section(name, title):
    """The indented lines below a title, or "" where it is missing."""
    lines = re.search(
        rf"^{title}:\n((?: {{4}}.*\n|\n)*)", DOCSTRINGS[name], re.MULTILINE
    )
    return lines[1] if lines else ""


def entries(name, title):
    """What a section explains: `argument: Its meaning.`"""
    return re.findall(r"^ {4}(\w+): ", section(name, title), re.MULTILINE)


@pytest.mark.every_case
@pytest.mark.parametrize("name", EXAMPLES)
def test_example_prints_what_it_says(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # a picture is saved
    outcome = run_examples(
        DOCSTRINGS[name],
        keras=keras,
        keras_attention=keras_attention,
        np=np,
    )
    plt.close("all")
    assert outcome.promised
    assert outcome.printed == outcome.promised


@pytest.mark.parametrize("name", PUBLIC)
def test_public_name_has_an_example(name):
    assert "```python" in section(name, "Example")


def test_no_example_is_in_a_form_that_is_not_run():
    assert not [name for name, text in DOCSTRINGS.items() if ">>>" in text]


@pytest.mark.parametrize("name", WITH_ARGUMENTS)
def test_every_argument_is_explained(name):
    thing = (PUBLIC | METHODS)[name]
    is_tuple = inspect.isclass(thing) and issubclass(thing, tuple)
    title = "Attributes" if is_tuple else "Args"
    assert entries(name, title) == list(parameters(thing))


def explained_by(name):
    """The class whose docstring explains the call: itself, or its base."""
    base = re.search(
        r"^Call arguments and output shape: as `(\w+)`",
        DOCSTRINGS[name],
        re.MULTILINE,
    )
    if base is None:
        return name
    assert issubclass(PUBLIC[name], PUBLIC[base[1]])
    return base[1]


@pytest.mark.parametrize("name", LAYERS)
def test_call_and_its_shapes_are_explained(name):
    source = explained_by(name)
    arguments = list(parameters(PUBLIC[name].call))
    assert entries(source, "Call arguments") == arguments
    for title in ("Call arguments", "Output shape"):
        # Axes are words: `(batch, query_length, query_units)`.
        assert re.search(r"`\(batch(,\s+\w+)+\)`", section(source, title))
