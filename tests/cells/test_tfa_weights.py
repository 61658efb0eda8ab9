from pathlib import Path

import keras
import numpy as np
import pytest

import keras_attention


# What TensorFlow Addons 0.23 computes.
GOLDEN = np.load(Path(__file__).parents[1] / "golden" / "tfa_outputs.npz")
REGENERATE = (
    "If TensorFlow Addons is to be asked again: tests/golden/"
    "make_tfa_golden.py says how, and stores its answers."
)

SEQUENCES, MEMORY = GOLDEN["sequences"], GOLDEN["memory"]
MEMORY_MASK = np.arange(MEMORY.shape[1]) < GOLDEN["memory_lengths"][:, None]

CELL_UNITS, MECHANISM_UNITS, STATE_UNITS = 11, 17, 19


def lstm():
    return keras.layers.LSTMCell(CELL_UNITS)


def gru(reset_after=True):
    return keras.layers.GRUCell(CELL_UNITS, reset_after=reset_after)


def additive(normalize=False):
    return keras_attention.BahdanauAttention(MECHANISM_UNITS, normalize)


def multiplicative(scale=False):
    return keras_attention.LuongAttention("general", scale=scale)


def make_cell(inner, attention, attention_units=STATE_UNITS):
    form = "linear" if attention_units else "context"
    return keras_attention.LuongRNNCell(
        inner,
        attention,
        attention_units,
        input_feeding=True,
        attentional_state=form,
    )


# The cases of tests/golden/make_tfa_golden.py, in this library.
CASES = {
    "bahdanau": lambda: make_cell(lstm(), additive()),
    "bahdanau_normalized": lambda: make_cell(gru(), additive(normalize=True)),
    "luong": lambda: make_cell(gru(reset_after=False), multiplicative()),
    "luong_scaled": lambda: make_cell(lstm(), multiplicative("learned")),
    "no_attention_layer": lambda: make_cell(lstm(), additive(), None),
    "simple_rnn": lambda: make_cell(
        keras.layers.SimpleRNNCell(CELL_UNITS), multiplicative(), None
    ),
    "bahdanau_monotonic": lambda: make_cell(
        lstm(),
        keras_attention.MonotonicAttention(
            keras_attention.AdditiveScore(MECHANISM_UNITS, normalize=True)
        ),
    ),
    "luong_monotonic": lambda: make_cell(
        gru(),
        keras_attention.MonotonicAttention(
            keras_attention.GeneralScore("learned")
        ),
    ),
}


def build(cell):
    layer = keras_attention.AttentionRNN(
        cell,
        return_sequences=True,
        return_state=True,
        return_attention_scores=True,
    )
    layer.build(SEQUENCES.shape, MEMORY.shape)
    return layer


def golden(case, part):
    """Returns the arrays of a case and a part, by what follows in the name."""
    prefix = f"{case}|{part}|"
    return {
        name.removeprefix(prefix): GOLDEN[name]
        for name in GOLDEN.files
        if name.startswith(prefix)
    }


def test_cases_are_those_that_were_stored():
    stored = {name.split("|")[0] for name in GOLDEN.files if "|" in name}
    assert stored == set(CASES), REGENERATE


@pytest.mark.parametrize("case", CASES)
def test_outputs_are_those_of_tensorflow_addons(case):
    layer = build(CASES[case]())
    keras_attention.import_tfa_weights(layer.cell, golden(case, "weight"))
    output, *states, scores = layer(SEQUENCES, MEMORY, memory_mask=MEMORY_MASK)
    expected = [
        GOLDEN[f"{case}|output"],
        GOLDEN[f"{case}|alignments"],
        *golden(case, "state").values(),
        GOLDEN[f"{case}|attention"],
    ]
    # A monotonic attention ends with a state that is its alignment.
    received = [output, scores, *states][: len(expected)]
    for one, other in zip(received, expected, strict=True):
        np.testing.assert_allclose(
            one, other, rtol=0, atol=1e-5, err_msg=REGENERATE
        )


# Names as TensorFlow Addons has them in other circumstances.
RENAMED = {
    "graph": lambda name: name.replace("decoder/att", "decoder/while/att"),
    "memory_given_early": lambda name: name.replace("memory_layer/", ""),
    "own_name": lambda name: name.replace("BahdanauAttention", "mine"),
    "bare": lambda name: name.split("attention_wrapper/")[-1].split(":")[0],
    "layers_by_name": lambda name: {
        "BahdanauAttention/kernel": "query_layer/kernel",
        "BahdanauAttention/memory_layer/kernel": "memory_layer/kernel",
        "BahdanauAttention/attention_v": "attention_v",
    }.get(name.split("attention_wrapper/")[-1].split(":")[0], name),
}


@pytest.mark.parametrize("rename", RENAMED)
def test_only_the_end_of_a_name_counts(rename):
    weights = golden("bahdanau", "weight")
    renamed = {RENAMED[rename](name): weights[name] for name in weights}
    assert set(renamed) != set(weights)
    cells = [build(CASES["bahdanau"]()).cell for _ in range(2)]
    for cell, mapping in zip(cells, (weights, renamed), strict=True):
        keras_attention.import_tfa_weights(cell, mapping)
    assert len(cells[0].weights) == len(weights)
    for one, other in zip(*(cell.weights for cell in cells), strict=True):
        np.testing.assert_array_equal(one, other)


def full_name(weights, end):
    return next(name for name in weights if end in name)


def without(end):
    def change(weights):
        del weights[full_name(weights, end)]

    return change


def with_shape(end, *shape):
    def change(weights):
        weights[full_name(weights, end)] = np.ones(shape)

    return change


def with_name(name):
    def change(weights):
        weights[name] = np.ones((2, 3))

    return change


# A case, what is changed in its weights, and what the error says of it.
MISFITS = {
    "missing": (
        "bahdanau",
        without("attention_v"),
        "missing: attention_v",
    ),
    "missing_kernel": (
        "bahdanau",
        without("lstm_cell/kernel"),
        "missing: kernel",
    ),
    "missing_query_layer": (
        "bahdanau",
        without("BahdanauAttention/kernel"),
        "missing: query_layer/kernel",
    ),
    "left_over": (
        "bahdanau",
        with_name("BahdanauAttention/attention_g:0"),
        "left over: BahdanauAttention/attention_g:0",
    ),
    "left_over_layer": (
        "no_attention_layer",
        with_name("attention_wrapper/attention_layer/kernel:0"),
        "left over: attention_wrapper/attention_layer/kernel:0",
    ),
    "several": (
        "luong",
        with_name("mine/memory_layer/kernel:0"),
        "several for memory_layer/kernel: LuongAttention/memory_layer/",
    ),
    "output_layer": (
        "luong",
        with_name("decoder/dense/kernel:0"),
        "several for memory_layer/kernel: LuongAttention/memory_layer/",
    ),
    "wrong_shape": (
        "bahdanau",
        with_shape("attention_layer", 24, 3),
        r"attention_layer/kernel:0, \(24, 3\) for \(24, 19\)",
    ),
    "transposed": (
        "bahdanau",
        with_shape("lstm_cell/kernel", 44, 21),
        r"lstm_cell/kernel:0, \(44, 21\) for \(21, 44\)",
    ),
    "other_reset": (
        "bahdanau_normalized",
        with_shape("gru_cell/bias", 33),
        r"gru_cell/bias:0, \(33,\) for \(2, 33\)",
    ),
}


@pytest.mark.parametrize("misfit", MISFITS)
def test_weights_that_do_not_fit_raise_and_change_nothing(misfit):
    case, change, message = MISFITS[misfit]
    cell = build(CASES[case]()).cell
    before = [np.array(weight) for weight in cell.weights]
    weights = golden(case, "weight")
    change(weights)
    with pytest.raises(ValueError, match=f"{message}.*Expected one array"):
        keras_attention.import_tfa_weights(cell, weights)
    for one, other in zip(cell.weights, before, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("case", CASES)
def test_weights_of_another_kind_raise(case):
    """Each cell takes the weights of its own case alone."""
    for other in set(CASES) - {case}:
        with pytest.raises(ValueError, match="Expected one array for each"):
            keras_attention.import_tfa_weights(
                build(CASES[case]()).cell, golden(other, "weight")
            )


def test_every_misfit_is_said_at_once():
    cell = build(CASES["luong"]()).cell
    with pytest.raises(
        ValueError, match=r"missing: kernel; .*left over: a/b\."
    ):
        keras_attention.import_tfa_weights(cell, {"a/b": np.ones(3)})


def test_text_instead_of_numbers_raises_and_changes_nothing():
    cell = build(CASES["luong"]()).cell
    before = [np.array(weight) for weight in cell.weights]
    weights = golden("luong", "weight")
    weights[full_name(weights, "gru_cell_1/bias")] = "zeros"
    with pytest.raises(ValueError, match="could not convert"):
        keras_attention.import_tfa_weights(cell, weights)
    for one, other in zip(cell.weights, before, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("weights", [[], None], ids=["list", "none"])
def test_weights_without_names_raise(weights):
    cell = build(CASES["luong"]()).cell
    with pytest.raises(ValueError, match="Expected a mapping from names"):
        keras_attention.import_tfa_weights(cell, weights)


OTHER_CELLS = {
    "several_attentions": lambda: make_cell(
        lstm(), [additive(), multiplicative()]
    ),
    "stacked": lambda: make_cell(
        keras.layers.StackedRNNCells([lstm(), lstm()]), additive()
    ),
    "coverage": lambda: make_cell(
        lstm(),
        keras_attention.BahdanauAttention(MECHANISM_UNITS, coverage=True),
    ),
    "concat": lambda: make_cell(
        lstm(), keras_attention.LuongAttention("concat", MECHANISM_UNITS)
    ),
    "local": lambda: make_cell(lstm(), keras_attention.LocalAttention()),
    "residual": lambda: keras_attention.LuongRNNCell(
        lstm(), additive(), attentional_state="residual"
    ),
}


@pytest.mark.parametrize("name", OTHER_CELLS)
def test_cells_that_tensorflow_addons_has_not_raise(name):
    cell = build(OTHER_CELLS[name]()).cell
    with pytest.raises(ValueError, match="Expected one attention, with an"):
        keras_attention.import_tfa_weights(cell, golden("bahdanau", "weight"))


@pytest.mark.parametrize(
    "cell",
    [
        lambda: CASES["bahdanau"](),
        lambda: build(CASES["bahdanau"]()),
        lambda: build(keras_attention.BahdanauRNNCell(lstm(), additive())).cell,
    ],
    ids=["not_built", "layer", "bahdanau_cell"],
)
def test_what_is_no_built_luong_cell_raises(cell):
    with pytest.raises(ValueError, match="Expected a LuongRNNCell that is "):
        keras_attention.import_tfa_weights(cell(), {})
