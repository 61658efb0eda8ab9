import matplotlib
import numpy as np
import pytest
from fresh_process import run_fresh
from keras import ops

import keras_attention


SOURCE = ["la", "casa", "roja", ".", "</s>"]
TARGET = ["the", "red", "house"]


@pytest.fixture(autouse=True)
def _closed_figures():
    import matplotlib.pyplot as plt

    matplotlib.use("agg")
    yield
    plt.close("all")


def labels(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def test_every_token_has_a_tick_at_its_place(rng):
    """Reported as espnet/espnet#4576 and matplotlib/matplotlib#18848: labels
    beside their ticks, or a warning.
    """
    scores = rng.random((len(TARGET), len(SOURCE)))
    ax = keras_attention.plot_attention(scores, SOURCE, TARGET)
    ax.figure.canvas.draw()
    np.testing.assert_array_equal(ax.get_xticks(), range(len(SOURCE)))
    np.testing.assert_array_equal(ax.get_yticks(), range(len(TARGET)))
    assert labels(ax.xaxis) == SOURCE
    assert labels(ax.yaxis) == TARGET


def test_picture_has_the_scores_in_their_places(rng):
    scores = rng.random((len(TARGET), len(SOURCE)))
    ax = keras_attention.plot_attention(scores, SOURCE, TARGET)
    (image,) = ax.get_images()
    np.testing.assert_allclose(image.get_array(), scores, rtol=1e-6)
    left, right, bottom, top = image.get_extent()
    assert (left, right) == (-0.5, len(SOURCE) - 0.5)
    assert (bottom, top) == (len(TARGET) - 0.5, -0.5)


def test_colours_run_from_zero_to_one():
    ax = keras_attention.plot_attention([[0.4, 0.6]], SOURCE[:2], TARGET[:1])
    assert ax.get_images()[0].get_clim() == (0, 1)


def test_padding_is_left_out(rng):
    scores = rng.random((7, 11))
    ax = keras_attention.plot_attention(scores, SOURCE, TARGET)
    received = ax.get_images()[0].get_array()
    np.testing.assert_allclose(received, scores[:3, :5], rtol=1e-6)


def test_tensors_of_a_layer_can_be_drawn():
    attention = keras_attention.BahdanauAttention(7)
    query = ops.ones((1, 3, 2))
    _, scores = attention([query, query], return_attention_scores=True)
    ax = keras_attention.plot_attention(scores[0], SOURCE[:3], TARGET)
    np.testing.assert_allclose(ax.get_images()[0].get_array(), scores[0])


def test_axes_given_are_drawn_on_and_returned(rng):
    import matplotlib.pyplot as plt

    _, ax = plt.subplots()
    scores = rng.random((len(TARGET), len(SOURCE)))
    assert keras_attention.plot_attention(scores, SOURCE, TARGET, ax=ax) is ax
    assert plt.get_fignums() == [ax.figure.number]


def test_non_latin_and_odd_tokens_are_drawn_as_they_are(tmp_path):
    tokens = ["¿dónde", "_x_", "100%"]
    ax = keras_attention.plot_attention(np.eye(3), tokens, tokens)
    ax.figure.savefig(tmp_path / "attention.png")
    assert labels(ax.xaxis) == labels(ax.yaxis) == tokens


@pytest.mark.parametrize("shape", [(2, 5), (3, 4), (1, 3, 5), (5,)], ids=str)
def test_scores_that_do_not_fit_the_tokens_are_refused(shape):
    match = r"3 target tokens and 5 source tokens. Expected \(target_length, s"
    with pytest.raises(ValueError, match=match):
        keras_attention.plot_attention(np.ones(shape), SOURCE, TARGET)


def test_import_needs_neither_matplotlib_nor_tensorflow_text():
    # Keras itself imports matplotlib where it is installed. None in
    # sys.modules makes an import fail as if a package were not.
    script = (
        "import sys; "
        "sys.modules['matplotlib'] = sys.modules['tensorflow_text'] = None; "
        "import keras_attention; print(keras_attention.__name__)"
    )
    assert run_fresh(script).strip() == "keras_attention"
