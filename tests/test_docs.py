"""The examples of the pages in docs, run as they stand."""

import json
import os
import re
import subprocess
from pathlib import Path

import keras
import numpy as np
import pytest
import reference_recurrent
from examples import count_lines
from examples import python_blocks
from examples import run_examples
from keras import ops
from reference_recurrent import number

import keras_attention


DOCS = Path(__file__).parents[1] / "docs"
PAGES = [
    "cells.md",
    "coming_from_attention_package.md",
    "coming_from_tf_tutorial.md",
    "coming_from_tfa.md",
    "decoding.md",
    "equations.md",
    "index.md",
    "masks.md",
    "mechanisms.md",
    "recipes.md",
]


def run_page(name):
    return run_examples((DOCS / name).read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", PAGES)
def test_examples_print_what_the_page_says(page):
    _, printed, promised = run_page(page)
    assert printed == promised


# What is in tfa.seq2seq 0.23, but for its modules.
TFA_NAMES = """
    AttentionMechanism AttentionWrapper AttentionWrapperState
    BahdanauAttention BahdanauMonotonicAttention BaseDecoder BasicDecoder
    BasicDecoderOutput BeamSearchDecoder BeamSearchDecoderOutput
    BeamSearchDecoderState CustomSampler Decoder FinalBeamSearchDecoderOutput
    GreedyEmbeddingSampler InferenceSampler LuongAttention
    LuongMonotonicAttention SampleEmbeddingSampler Sampler
    ScheduledEmbeddingTrainingSampler ScheduledOutputTrainingSampler
    SequenceLoss TrainingSampler dynamic_decode gather_tree
    gather_tree_from_array hardmax monotonic_attention safe_cumprod
    sequence_loss tile_batch
""".split()


@pytest.mark.parametrize("name", TFA_NAMES)
def test_every_name_of_tensorflow_addons_has_its_row(name):
    """Reported as tensorflow/addons#2664, tensorflow/tensorflow#27498, #43612,
    #34328 and #37865: where did it go?
    """
    text = (DOCS / "coming_from_tfa.md").read_text(encoding="utf-8")
    table = text[text.index("## Every name") :]
    rows = [row.split("|")[1] for row in table.splitlines() if row[:1] == "|"]
    assert any(f"`{name}`" in row for row in rows)


LIST_TFA_NAMES = """
import json, types
from tensorflow_addons import seq2seq
print(json.dumps([
    name for name, thing in vars(seq2seq).items()
    if name[0] != "_" and not isinstance(thing, types.ModuleType)
]))
"""


def test_names_are_those_of_tensorflow_addons():
    program = os.environ.get("TFA_PYTHON")
    if not program:
        pytest.skip("needs TFA_PYTHON, a Python with TensorFlow Addons 0.23")
    listed = subprocess.run(
        [program, "-c", LIST_TFA_NAMES], check=True, stdout=subprocess.PIPE
    ).stdout
    assert sorted(json.loads(listed.splitlines()[-1])) == sorted(TFA_NAMES)


def test_first_example_has_fifteen_lines():
    text = (DOCS / "index.md").read_text(encoding="utf-8")
    assert count_lines(python_blocks(text)[0]) <= 15


def test_overview_has_every_file():
    text = (DOCS / "overview.md").read_text(encoding="utf-8")
    listed = re.findall(r"^- `(.+?\.py)`: ", text, re.MULTILINE)
    package = DOCS.parent / "keras_attention"
    files = [
        file.relative_to(package).as_posix()
        for file in package.rglob("*.py")
        if file.name != "__init__.py"
    ]
    assert sorted(listed) == sorted(files)


def test_mechanism_of_the_page_has_thirty_lines_at_most():
    """Reported as OpenNMT/OpenNMT-tf#180: the interface is too closed."""
    text = (DOCS / "mechanisms.md").read_text(encoding="utf-8")
    assert count_lines(python_blocks(text)[0]) <= 30


def test_mechanism_of_the_page_remembers_and_is_loaded(tmp_path):
    """Reported as OpenNMT/OpenNMT-tf#180: a mechanism with its own state."""
    names = run_page("mechanisms.md").names
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


@pytest.fixture(scope="module")
def cells_page():
    return run_page("cells.md").names


def run_cell(cell, tmp_path):
    """Checks that a model of a cell is loaded; returns inputs and outputs."""
    random = np.random.default_rng(1)
    arrays = [random.normal(size=shape) for shape in [(2, 3, 4), (2, 7, 6)]]
    layer = keras_attention.AttentionRNN(
        keras_attention.BahdanauRNNCell(
            cell, keras_attention.BahdanauAttention(11)
        ),
        return_sequences=True,
    )
    inputs = [keras.Input((None, array.shape[-1])) for array in arrays]
    model = keras.Model(inputs, layer(*inputs))
    outputs = ops.convert_to_numpy(model(arrays))
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    loaded = ops.convert_to_numpy(loaded(arrays))
    np.testing.assert_allclose(loaded, outputs, atol=1e-6)
    return layer.cell.attention, arrays, outputs


def test_context_reaches_every_layer_of_the_cell_of_the_page(
    cells_page, tmp_path
):
    """The equations of the page, which are those of GNMT, in NumPy."""
    stack = cells_page["ContextToEveryLayer"](3, 5, context_units=6)
    attention, (inputs, memory), outputs = run_cell(stack, tmp_path)
    states = [[np.zeros((2, 5))] * 2] * 3
    for index in range(3):
        query = states[0][0]
        context, _ = reference_recurrent.look(attention, query, memory, None)
        below, next_states = inputs[:, index], []
        for cell, state in zip(stack.cells, states, strict=True):
            below, state = reference_recurrent.step(
                cell, np.concatenate([below, context], axis=-1), state
            )
            next_states.append(state)
        states = next_states
        np.testing.assert_allclose(outputs[:, index], below, atol=1e-5)


def test_cell_of_the_page_keeps_a_matrix(cells_page, tmp_path):
    """Reported as keras-team/keras#19360: cells with states of any rank."""
    cell = cells_page["FastWeightsCell"](5)
    attention, (inputs, memory), outputs = run_cell(cell, tmp_path)
    hidden, matrix = np.zeros((2, 5)), np.zeros((2, 5, 5))
    for index in range(3):
        context, _ = reference_recurrent.look(attention, hidden, memory, None)
        known = np.concatenate([inputs[:, index], context, hidden], axis=-1)
        start = known @ number(cell.dense.kernel) + number(cell.dense.bias)
        recalled = np.einsum("bij,bj->bi", matrix, np.tanh(start))
        hidden = np.tanh(start + recalled)
        matrix = 0.9 * matrix + 0.5 * np.einsum("bi,bj->bij", hidden, hidden)
        np.testing.assert_allclose(outputs[:, index], hidden, atol=1e-5)
