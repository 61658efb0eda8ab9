"""The examples of the pages in docs, run as they stand."""

import re
from pathlib import Path

import keras
import numpy as np
import pytest
from keras import ops


DOCS = Path(__file__).parents[1] / "docs"
PAGES = ["mechanisms.md"]


def run_page(name):
    """Runs the Python of a page; returns its names and what it printed."""
    text = (DOCS / name).read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    printed = []
    names = {"print": lambda *values: printed.append(values)}
    for block in blocks:
        exec(block, names)
    promised = re.findall(r"print\(.*\)  # (.*)", "".join(blocks))
    return names, printed, promised


def as_text(value):
    if keras.ops.is_tensor(value):
        return str(ops.convert_to_numpy(value))
    return str(tuple(value))


@pytest.mark.parametrize("page", PAGES)
def test_examples_print_what_the_page_says(page):
    _, printed, promised = run_page(page)
    assert [" ".join(map(as_text, values)) for values in printed] == promised


def test_mechanism_of_the_page_has_thirty_lines_at_most():
    """Reported as OpenNMT/OpenNMT-tf#180: the interface is too closed."""
    text = (DOCS / "mechanisms.md").read_text(encoding="utf-8")
    example = re.search(r"```python\n(.*?)```", text, re.DOTALL)[1]
    assert sum(bool(line.strip()) for line in example.splitlines()) <= 30


def test_mechanism_of_the_page_remembers_and_is_loaded(tmp_path):
    """Reported as OpenNMT/OpenNMT-tf#180: a mechanism with its own state."""
    names, *_ = run_page("mechanisms.md")
    query = keras.Input((None, 5), name="query")
    value = keras.Input((None, 6), name="value")
    attention = names["LocationAttention"](8)
    outputs = attention([query, value], return_attention_scores=True)
    model = keras.Model([query, value], outputs)
    arrays = [np.ones((2, 3, 5)), np.ones((2, 7, 6))]
    arrays[1][:, 0] = 3.0
    scores = ops.convert_to_numpy(model(arrays)[1])
    # The same query again sees what was seen before.
    assert np.all(np.diff(np.max(scores, axis=-1), axis=1) > 0)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(loaded(arrays)[1], scores, atol=1e-6)
