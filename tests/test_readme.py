"""The examples of the README, run as they stand."""

from pathlib import Path

import keras
import numpy as np
from examples import count_lines
from examples import python_blocks


ROOT = Path(__file__).parents[1]


def test_python_examples_make_models_that_fit():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    decoder, classifier = python_blocks(text)
    names = {}
    exec(decoder, names)
    model = names["model"]
    model.compile(
        "adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    )
    source = np.array([[5, 3, 2, 0], [7, 2, 0, 0]])
    target = np.array([[1, 4, 9], [1, 6, 0]])
    model.fit([source, target], target, verbose=0)
    wider = np.pad(source, [(0, 0), (0, 3)])
    np.testing.assert_allclose(
        model.predict([wider, target], verbose=0),
        model.predict([source, target], verbose=0),
        atol=1e-6,
    )
    exec(classifier, names)
    names["model"].compile("adam", "binary_crossentropy")
    names["model"].fit(source, np.array([0, 1]), verbose=0)


def test_examples_have_the_length_that_was_promised():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    decoder, classifier = python_blocks(text)
    assert count_lines(decoder) <= 15
    assert count_lines(classifier) <= 6
