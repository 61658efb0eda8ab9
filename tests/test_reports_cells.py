"""What was reported against other libraries and holds here: cells, states."""

import keras
import numpy as np
import pytest
from backends import COMPILE_FIT
from backends import ONE_MODE
from backends import SIZES_MAY_BE_UNKNOWN
from backends import TWO_MODES
from backends import count_traces
from backends import in_mode
from gradients import value_and_gradients
from keras import ops
from keras import tree
from layer_catalogue import ATTENTION_UNITS
from layer_catalogue import ATTENTIONS
from layer_catalogue import BATCH
from layer_catalogue import CELL_UNITS
from layer_catalogue import CELLS
from layer_catalogue import INNER_CELLS
from layer_catalogue import INPUT_UNITS
from layer_catalogue import LENGTH
from layer_catalogue import MASK
from layer_catalogue import MEMORY_LENGTH
from layer_catalogue import MEMORY_MASK
from layer_catalogue import MEMORY_UNITS
from layer_catalogue import VOCABULARY_SIZE
from layer_catalogue import draw
from layer_catalogue import draw_inputs
from layer_catalogue import draw_memory
from layer_catalogue import draw_sequences
from layer_catalogue import randomize

from keras_attention import AttentionRNN
from keras_attention import BahdanauAttention
from keras_attention import BahdanauRNNCell
from keras_attention import LuongRNNCell
from keras_attention import StateBridge


EVERYTHING = {
    "return_sequences": True,
    "return_state": True,
    "return_attention_scores": True,
}


class NestedCell(keras.layers.Layer):
    """A user's cell with lists within the list of its states, one of rank 3.

    Its states are the hidden state, and a pair of a sum of all hidden states
    and of a map.
    """

    state_size = [CELL_UNITS, [CELL_UNITS, (2, 3)]]
    output_size = CELL_UNITS

    def get_initial_state(self, batch_size=None):
        shapes = (CELL_UNITS,), (CELL_UNITS,), (2, 3)
        hidden, total, grid = (
            ops.zeros((batch_size, *shape)) for shape in shapes
        )
        return [hidden, [total, grid]]

    def build(self, input_shape):
        shape = (input_shape[-1], CELL_UNITS)
        self.kernel = self.add_weight(shape=shape, name="kernel")

    def call(self, inputs, states):
        hidden, [total, grid] = states
        change = 0.3 * ops.mean(grid, axis=(1, 2))[:, None]
        hidden = ops.tanh(inputs @ self.kernel - 0.5 * hidden + change)
        grid = 0.5 * grid + hidden[:, :3, None][:, None, :, 0]
        return hidden, [hidden, [total + hidden, grid]]


class DictCell(keras.layers.Layer):
    """A user's cell with a dictionary of states."""

    state_size = {"hidden": CELL_UNITS, "total": CELL_UNITS}
    output_size = CELL_UNITS

    def build(self, input_shape):
        shape = (input_shape[-1], CELL_UNITS)
        self.kernel = self.add_weight(shape=shape, name="kernel")

    def call(self, inputs, states):
        [states] = states
        hidden = ops.tanh(inputs @ self.kernel - 0.5 * states["hidden"])
        return hidden, {"hidden": hidden, "total": states["total"] + hidden}


INNER = {**INNER_CELLS, "nested": NestedCell, "dict": DictCell}
by_inner = pytest.mark.parametrize("inner", INNER)
by_cell = pytest.mark.parametrize(
    "cell", ["bahdanau", "luong", "luong_feeding"]
)


def make(cell, inner="gru", attention="additive", **kwargs):
    return AttentionRNN(
        CELLS[cell](INNER[inner](), ATTENTIONS[attention]()),
        **{**EVERYTHING, **kwargs},
    )


def arrays_of(structure):
    return [ops.convert_to_numpy(part) for part in tree.flatten(structure)]


def assert_close(received, expected, tolerance=1e-6):
    pairs = zip(arrays_of(received), arrays_of(expected), strict=True)
    for one, other in pairs:
        np.testing.assert_allclose(one, other, rtol=0, atol=tolerance)


def take_row(row, structure):
    return tree.map_structure(lambda part: part[row : row + 1], structure)


def symbols_of(structure):
    return tree.map_structure(
        lambda part: keras.Input(part.shape[1:], dtype="float32"), structure
    )


# States


@by_inner
@pytest.mark.parametrize(
    ("cell", "attention"),
    [
        ("bahdanau", "additive"),
        ("bahdanau", "coverage"),
        ("luong", "additive"),
        ("luong_feeding", "coverage"),
    ],
)
def test_states_of_a_functional_model_go_in_as_they_come_out(
    cell, attention, inner, rng
):
    """Two calls in a row are one, whatever states the cell has.

    Reported as tensorflow/addons#1095 (a state turned from a tuple into a
    list; repaired in tensorflow/addons#1118), tensorflow/addons#1856,
    tensorflow/addons#684 and ludwig-ai/ludwig#699 (only LSTM worked),
    keras-team/keras#19482 (stacked cells that return their states),
    tensorflow/tensorflow#27817 (states of stacked cells come out flat and are
    wanted nested), keras-team/keras#14905 (nested sizes of states), and
    zimmerrol/keras-utility-layer-collection#1 (states counted from the front,
    of which Keras passed fewer).
    """
    layer = make(cell, inner, attention)
    sequences, memory = draw_sequences(rng), draw_memory(rng)
    layer(sequences, memory)
    randomize(layer, rng)
    prepared = layer.cell.prepare_memory(memory)
    default = layer.cell.get_initial_state(BATCH, prepared)
    state = tree.map_structure(lambda part: draw(rng, *part.shape), default)
    inputs = symbols_of([sequences[:, :3], memory, state])
    symbols = layer(inputs[0], inputs[1], initial_state=inputs[2])
    model = keras.Model(inputs, symbols)
    output, *middle, scores = model([sequences[:, :3], memory, state])
    tree.assert_same_structure(middle, default)
    rest = layer(sequences[:, 3:], memory, initial_state=middle)
    expected = layer(sequences, memory, initial_state=state)
    joined = [ops.concatenate([output, rest[0]], axis=1), *rest[1:-1]]
    joined += [ops.concatenate([scores, rest[-1]], axis=1)]
    assert_close(joined, expected, 1e-5)
    assert np.max(np.abs(expected[0] - layer(sequences, memory)[0])) > 1e-2


@by_inner
@by_cell
def test_symbolic_outputs_have_the_structure_of_eager_ones(cell, inner, rng):
    """No public report found.

    `keras.layers.RNN` of Keras 3.15 refuses a dictionary of states, and lists
    within their list; it takes a tuple of sizes for a shape in
    `compute_output_shape`.
    """
    layer = make(cell, inner)
    arrays = draw_sequences(rng), draw_memory(rng)
    symbols = [keras.Input(part.shape[1:], BATCH) for part in arrays]
    functional = layer(*symbols)
    eager = layer(*arrays)
    for symbolic in (functional, layer.compute_output_spec(*symbols)):
        tree.assert_same_structure(symbolic, eager)
        for one, other in zip(
            tree.flatten(symbolic), arrays_of(eager), strict=True
        ):
            assert (tuple(one.shape), one.dtype) == (other.shape, other.dtype)


@pytest.mark.parametrize("mode", TWO_MODES)
@by_cell
def test_state_of_rank_3_within_a_list_runs_and_repeats(cell, mode, rng):
    """A masked step leaves it as it was, too.

    Reported as keras-team/keras#16103, tensorflow/tensorflow#54464 and
    tensorflow/tensorflow#34541: an initial state of such a cell was "not
    compatible" with its `state_size`.
    """
    layer = make(cell, "nested")
    arrays = draw_sequences(rng), draw_memory(rng)
    layer(*arrays)
    randomize(layer, rng)
    state = tree.map_structure(
        lambda part: draw(rng, *part.shape),
        NestedCell().get_initial_state(BATCH),
    )
    run = in_mode(
        lambda sequences, memory, state: layer(
            sequences, memory, initial_state=state, mask=MASK
        ),
        mode,
    )
    _, hidden, [total, grid], *_ = run(*arrays, state)
    for row in range(BATCH):
        alone = layer(
            arrays[0][row : row + 1, MASK[row]],
            arrays[1][row : row + 1],
            initial_state=take_row(row, state),
        )
        received = take_row(row, [hidden, [total, grid]])
        assert_close(received, alone[1:3], 1e-5)
    assert grid.shape == (BATCH, 2, 3)


def test_wrong_state_within_a_list_is_named(rng):
    """Reported as tensorflow/tensorflow#27817 and keras-team/keras#16103: the
    error listed every size, and not which of the states is the wrong one.
    """
    state = NestedCell().get_initial_state(BATCH)
    state[1][1] = draw(rng, BATCH, 3)
    expected = (
        r"entry number 1 has the shape \(3, 13\), \(3, 3\)\. "
        r"Expected \(3, 13\), \(3, 2, 3\): "
    )
    with pytest.raises(ValueError, match=expected):
        make("bahdanau", "nested")(
            draw_sequences(rng), draw_memory(rng), initial_state=state
        )


@pytest.mark.parametrize(
    ("cell", "attention"),
    [
        ("bahdanau", "coverage"),
        ("luong", "monotonic"),
        ("luong_feeding", "additive"),
        ("luong_feeding", "coverage"),
    ],
)
def test_state_made_by_hand_needs_no_state_of_the_attention(
    cell, attention, rng
):
    """It may be left out, or kept while those of the cell are replaced.

    Reported as tensorflow/tensorflow#48738: a state made by hand "missing 3
    required positional arguments".
    """
    layer = make(cell, "lstm", attention)
    sequences, memory = draw_sequences(rng), draw_memory(rng)
    states = [draw(rng, BATCH, CELL_UNITS), draw(rng, BATCH, CELL_UNITS)]
    prepared = layer.cell.prepare_memory(memory)
    whole = layer.cell.get_initial_state(BATCH, prepared)
    assert len(whole) > 2
    whole[:2] = states
    received = layer(sequences, memory, initial_state=states)
    assert_close(received, layer(sequences, memory, initial_state=whole), 0)
    plain = layer(sequences, memory)
    assert np.max(np.abs(received[0] - plain[0])) > 1e-2


# Memory


@by_cell
def test_memory_is_an_argument_and_the_encoder_learns_from_it(cell, rng):
    """Reported as tensorflow/tensorflow#47560, tensorflow/tensorflow#27292 and
    tensorflow/tensorflow#43369: a memory given as `constants` reached no cell,
    or could not be saved. Keras 3 has no `constants`.
    """
    encoder = keras.layers.GRU(MEMORY_UNITS, return_sequences=True)
    layer = make(cell, return_state=False)
    sources, sequences = draw_memory(rng), draw_sequences(rng)
    layer(sequences, encoder(sources))
    for part in (encoder, layer):
        randomize(part, rng)

    def run(sources):
        memory = encoder(sources, mask=MEMORY_MASK)
        output, _ = layer(sequences, memory, memory_mask=MEMORY_MASK)
        return [ops.sum(ops.sin(output * 1.7))]

    weights = encoder.trainable_weights
    [first], [on_sources, *gradients] = value_and_gradients(
        run, [sources], weights, ONE_MODE
    )
    for weight, gradient in zip(weights, gradients, strict=True):
        assert np.all(gradient != 0), weight.path
    np.testing.assert_array_equal(np.any(on_sources, axis=-1), MEMORY_MASK)
    [second] = arrays_of(run(sources[::-1].copy()))
    assert abs(first - second) > 1e-2
    [again] = arrays_of(run(sources))
    np.testing.assert_allclose(again, first, rtol=1e-5)


# Graphs and functional models


def make_translator(layer):
    """Makes a model of tokens, with the attention scores as an output.

    Returns:
        The model, and one of the tensors that its layer of attention gets.
    """
    sources, targets = (keras.Input((None,), dtype="int32") for _ in range(2))
    memory_mask = ops.not_equal(sources, 0)
    embedded, sequences = (
        keras.layers.Embedding(VOCABULARY_SIZE, 3, mask_zero=True)(tokens)
        for tokens in (sources, targets)
    )
    memory, state = keras.layers.GRU(
        CELL_UNITS, return_sequences=True, return_state=True
    )(embedded, mask=memory_mask)
    output, scores = layer(
        sequences, memory, initial_state=[state], memory_mask=memory_mask
    )
    logits = keras.layers.Dense(VOCABULARY_SIZE)(output)
    inputs = [sources, targets]
    return (
        keras.Model(inputs, [logits, scores]),
        keras.Model(inputs, [sequences, memory, state]),
    )


def draw_tokens(rng):
    inputs = draw_inputs(rng)
    return [inputs["sources"], inputs["targets"]]


@by_cell
def test_scores_of_every_step_are_an_output_under_masks(cell, rng):
    """Reported as tensorflow/addons#1194 (a history broke under a mask) and
    tensorflow/addons#1897 (a history of symbolic inputs).
    """
    layer = make(cell, return_state=False)
    model, encoder = make_translator(layer)
    randomize(model, rng)
    tokens = draw_tokens(rng)
    scores = np.array(model(tokens)[1])
    sequences, memory, state = arrays_of(encoder(tokens))
    _, expected = layer(
        sequences,
        memory,
        initial_state=[state],
        mask=MASK,
        memory_mask=MEMORY_MASK,
    )
    assert_close(scores, expected)
    started = np.cumsum(MASK, axis=1) > 0
    assert_close(np.sum(scores, axis=-1), started)
    assert np.all(scores[np.repeat(~MEMORY_MASK[:, None], LENGTH, 1)] == 0)


def test_decoder_on_keras_inputs_trains_in_a_graph(rng):
    """Reported as tensorflow/addons#1898 and tensorflow/addons#1995:
    "OperatorNotAllowedInGraph".
    """
    model, _ = make_translator(make("luong_feeding", return_state=False))
    randomize(model, rng)
    tokens, before = draw_tokens(rng), model.get_weights()
    model.compile(
        keras.optimizers.SGD(0.1),
        [
            keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            "mean_squared_error",
        ],
        jit_compile=COMPILE_FIT,
    )
    scores = np.abs(draw(rng, BATCH, LENGTH, MEMORY_LENGTH))
    history = model.fit(tokens, [tokens[1], scores], verbose=0).history
    assert np.isfinite(history["loss"][0])
    for weight, old in zip(model.weights, before, strict=True):
        assert np.any(np.array(weight) != old), weight.path


@by_cell
def test_one_graph_serves_batches_and_sequences_of_all_sizes(cell, rng):
    """Reported as tensorflow/addons#1121: a length that differs broke the
    sizes of the states in a graph.
    """
    layer = make(cell, "lstm")
    layer(draw_sequences(rng), draw_memory(rng))
    randomize(layer, rng)

    def run(sequences, memory, mask, hidden, carried):
        return layer(
            sequences, memory, initial_state=[hidden, carried], mask=mask
        )

    shapes = [
        ((None, None, INPUT_UNITS), "float32"),
        ((None, None, MEMORY_UNITS), "float32"),
        ((None, None), "bool"),
        *[((None, CELL_UNITS), "float32")] * 2,
    ]
    calls = []
    for batch, length, memory_length in [(2, 3, 11), (5, 2, 7), (1, 7, 2)]:
        mask = np.arange(length) < rng.integers(1, length, batch)[:, None]
        memory = draw(rng, batch, memory_length, MEMORY_UNITS)
        states = [draw(rng, batch, CELL_UNITS) for _ in range(2)]
        sequences = draw(rng, batch, length, INPUT_UNITS)
        calls.append([sequences, memory, mask, *states])
    results, traces = count_traces(run, shapes, calls)
    assert traces == 1 or not SIZES_MAY_BE_UNKNOWN
    for result, arrays in zip(results, calls, strict=True):
        assert_close(result, run(*arrays), 1e-5)


# Training


class TrainingCell(keras.layers.Layer):
    """A user's cell whose state is 1 in training and 0 otherwise."""

    state_size = CELL_UNITS
    output_size = CELL_UNITS

    def call(self, inputs, states, training=False):
        shape = (ops.shape(inputs)[0], CELL_UNITS)
        output = ops.full(shape, 1.0 if training else 0.0, dtype="float32")
        return output, [output]


@pytest.mark.parametrize("mode", TWO_MODES)
@pytest.mark.parametrize(
    ("cell", "stacked"),
    [("bahdanau", True), ("luong", True), ("luong_feeding", False)],
)
def test_training_reaches_the_cell_and_the_attention(cell, stacked, mode, rng):
    """Reported as keras-team/keras#10457: what else a cell takes in its call
    was not handed on.
    """
    inner = TrainingCell()
    if stacked:
        cells = [keras.layers.GRUCell(5), TrainingCell()]
        inner = keras.layers.StackedRNNCells(cells)
    layer = AttentionRNN(
        CELLS[cell](inner, BahdanauAttention(ATTENTION_UNITS, dropout=0.5)),
        return_state=True,
    )
    context = AttentionRNN(
        BahdanauRNNCell(
            TrainingCell(),
            BahdanauAttention(ATTENTION_UNITS, dropout=0.5),
            output_context=True,
        )
    )
    sequences, memory = keras.Input((None, 2)), keras.Input((None, 11))
    model = keras.Model(
        [sequences, memory],
        [layer(sequences, memory), context(sequences, memory)],
    )
    arrays = [draw_sequences(rng), draw_memory(rng)]

    def run(training):
        # The random numbers of dropout are a state of the model.
        function = in_mode(
            lambda *tensors: model(list(tensors), training=training),
            mode,
            state=model.non_trainable_variables,
        )
        (_, *states), output = function(*arrays)
        state = np.array(states[1 if stacked else 0])
        return state, np.array(output)[:, CELL_UNITS:]

    state, plain = run(False)
    np.testing.assert_array_equal(state, np.zeros((BATCH, CELL_UNITS)))
    np.testing.assert_array_equal(plain, run(False)[1])
    state, dropped = run(True)
    np.testing.assert_array_equal(state, np.ones((BATCH, CELL_UNITS)))
    assert np.max(np.abs(dropped - run(True)[1])) > 1e-2


@by_cell
def test_dropout_and_an_initial_state_train_together(cell, rng):
    """Reported as keras-team/keras#8407: either went, but not both."""
    layers = [
        AttentionRNN(
            CELLS[cell](
                keras.layers.GRUCell(CELL_UNITS, **arguments),
                BahdanauAttention(ATTENTION_UNITS),
            ),
            return_sequences=True,
        )
        for arguments in ({"dropout": 0.5, "recurrent_dropout": 0.3}, {})
    ]
    symbols = [
        keras.Input((None, INPUT_UNITS)),
        keras.Input((None, MEMORY_UNITS)),
        keras.Input((CELL_UNITS,)),
    ]
    model, plain = (
        keras.Model(symbols, layer(*symbols[:2], initial_state=[symbols[2]]))
        for layer in layers
    )
    randomize(plain, rng)
    before = plain.get_weights()
    for weight, old in zip(model.trainable_weights, before, strict=True):
        weight.assign(old)
    arrays = [draw_sequences(rng), draw_memory(rng), draw(rng, 3, CELL_UNITS)]
    expected = np.array(plain(arrays))
    assert_close(model(arrays), expected)
    dropped = np.array(model(arrays, training=True))
    assert np.max(np.abs(dropped - expected)) > 1e-2
    model.compile("sgd", "mse", run_eagerly=not COMPILE_FIT)
    history = model.fit(arrays, draw(rng, *expected.shape), verbose=0).history
    assert np.isfinite(history["loss"][0])
    for weight, old in zip(model.trainable_weights, before, strict=True):
        assert np.any(np.array(weight) != old), weight.path


# Bridge


@pytest.mark.parametrize("mode", ["dense", "concat", "sum"])
@pytest.mark.parametrize("encoder", ["GRU", "LSTM"])
def test_decoder_learns_from_the_states_of_both_directions(encoder, mode, rng):
    """Reported as rstudio/keras3#624 and IBM/pytorch-seq2seq#118: a decoder
    wants states of another number or width than those of two directions.
    """
    units = {"dense": CELL_UNITS, "concat": 14, "sum": 7}[mode]
    bidirectional = keras.layers.Bidirectional(
        getattr(keras.layers, encoder)(
            7, return_sequences=True, return_state=True
        )
    )
    bridge = StateBridge(mode, CELL_UNITS if mode == "dense" else None)
    layer = AttentionRNN(
        LuongRNNCell(
            getattr(keras.layers, f"{encoder}Cell")(units),
            BahdanauAttention(ATTENTION_UNITS),
        )
    )

    def run(sequences, memory, *states):
        output = layer(sequences, memory, initial_state=bridge(list(states)))
        return [ops.sum(ops.sin(output * 1.7))]

    memory, *states = bidirectional(draw_memory(rng))
    arrays = [draw_sequences(rng), *arrays_of([memory, states])]
    run(*arrays)
    for part in (bridge, layer):
        randomize(part, rng)
    _, (_, _, *gradients) = value_and_gradients(run, arrays, mode=ONE_MODE)
    assert len(gradients) == {"GRU": 2, "LSTM": 4}[encoder]
    for gradient in gradients:
        assert np.all(gradient != 0)
