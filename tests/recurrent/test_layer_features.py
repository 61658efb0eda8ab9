import keras
import numpy as np
import pytest
import reference_recurrent
from backends import TWO_MODES
from backends import count_traces
from backends import in_mode
from backends import needs_masks_of_rnns
from backends import tensorflow_only
from comparison import assert_close
from keras import ops
from keras import tree
from layer_catalogue import ATTENTION_UNITS
from layer_catalogue import ATTENTIONS
from layer_catalogue import BATCH
from layer_catalogue import CELL_UNITS
from layer_catalogue import CELLS
from layer_catalogue import EVERYTHING
from layer_catalogue import INNER_CELLS
from layer_catalogue import INPUT_UNITS
from layer_catalogue import LENGTH
from layer_catalogue import MASK
from layer_catalogue import MEMORY_LENGTH
from layer_catalogue import MEMORY_MASK
from layer_catalogue import MEMORY_UNITS
from layer_catalogue import VOCABULARY_SIZE
from layer_catalogue import draw
from layer_catalogue import draw_memory
from layer_catalogue import draw_sequences
from layer_catalogue import make_rnn
from layer_catalogue import randomize

from keras_attention import AttentionRNN
from keras_attention import BahdanauAttention
from keras_attention import BahdanauRNNCell
from keras_attention import StateBridge


ENCODER_UNITS = 5
# Of tokens without a hole, so that rows can be cut to their length.
LENGTHS, MEMORY_LENGTHS = [5, 3, 3], [7, 2, 2]


def draw_tokens(rng, lengths, length):
    """Draws tokens of rows of these lengths, padded with 0."""
    tokens = rng.integers(1, VOCABULARY_SIZE, (len(lengths), length))
    return np.where(np.arange(length) < np.array(lengths)[:, None], tokens, 0)


def draw_pairs(rng):
    """Draws tokens of sources and of targets."""
    return [
        draw_tokens(rng, MEMORY_LENGTHS, MEMORY_LENGTH),
        draw_tokens(rng, LENGTHS, LENGTH),
    ]


def make_symbols():
    return [keras.Input((None,), dtype="int32") for _ in range(2)]


# Encoder, bridge and decoder


class Translator:
    """The layers of a model from two rows of tokens to a decoder's results."""

    def __init__(self, kind="gru", mode="dense", mask_zero=True):
        encoder, cell, name = {
            "gru": (keras.layers.GRU, keras.layers.GRUCell, "bahdanau"),
            "lstm": (keras.layers.LSTM, keras.layers.LSTMCell, "luong_feeding"),
        }[kind]
        units = {"sum": ENCODER_UNITS, "concat": 2 * ENCODER_UNITS}
        self.by_hand = not mask_zero
        self.embeddings = [
            keras.layers.Embedding(VOCABULARY_SIZE, 3, mask_zero=mask_zero)
            for _ in range(2)
        ]
        self.encoder = keras.layers.Bidirectional(
            encoder(ENCODER_UNITS, return_sequences=True, return_state=True)
        )
        self.bridge = StateBridge(mode, CELL_UNITS if mode == "dense" else None)
        self.rnn = AttentionRNN(
            CELLS[name](
                cell(units.get(mode, CELL_UNITS)),
                BahdanauAttention(ATTENTION_UNITS),
            ),
            **EVERYTHING,
        )

    def encode(self, sources):
        mask = ops.not_equal(sources, 0) if self.by_hand else None
        embedded = self.embeddings[0](sources)
        memory, *states = self.encoder(embedded, mask=mask)
        return memory, self.bridge(states), mask

    def decode(self, targets, memory, states, memory_mask):
        return self.rnn(
            self.embeddings[1](targets),
            memory,
            initial_state=states,
            mask=ops.not_equal(targets, 0) if self.by_hand else None,
            memory_mask=memory_mask,
        )

    def __call__(self, sources, targets):
        return self.decode(targets, *self.encode(sources))


@pytest.mark.parametrize(
    "mask_zero",
    [
        pytest.param(True, id="automatic", marks=needs_masks_of_rnns),
        pytest.param(False, id="by_hand"),
    ],
)
@pytest.mark.parametrize("mode", ["concat", "sum", "dense"])
@pytest.mark.parametrize("kind", ["gru", "lstm"])
def test_one_model_translates_rows_as_if_alone(kind, mode, mask_zero, rng):
    translator = Translator(kind, mode, mask_zero)
    symbols = make_symbols()
    model = keras.Model(symbols, translator(*symbols))
    randomize(model, rng)
    sources, targets = draw_pairs(rng)
    received = model([sources, targets])
    assert_close(received, translator(sources, targets))
    short = slice(1, None)  # rows of one length
    output, *states, scores = received
    in_batch = [
        output[short, : LENGTHS[-1]],
        [state[short] for state in states],
        scores[short, : LENGTHS[-1], : MEMORY_LENGTHS[-1]],
    ]
    alone = translator(
        sources[short, : MEMORY_LENGTHS[-1]], targets[short, : LENGTHS[-1]]
    )
    assert_close(in_batch, alone, 1e-5)


# Models within models


# Keras warns that a nested model destroys the mask, and then hands it on.
@pytest.mark.filterwarnings("ignore:Layer .* was passed an input with a mask")
@pytest.mark.parametrize(
    "mask_zero",
    [
        pytest.param(True, id="automatic", marks=needs_masks_of_rnns),
        pytest.param(False, id="by_hand"),
    ],
)
def test_nested_models_equal_a_flat_one(mask_zero, rng):
    translator = Translator("lstm", "dense", mask_zero)
    symbols = make_symbols()
    flat = keras.Model(symbols, translator(*symbols))
    randomize(flat, rng)

    sources, targets = symbols
    memory, states, mask = translator.encode(sources)
    encoded = [memory, states, *([] if mask_zero else [mask])]
    encoder = keras.Model(sources, encoded)
    between = tree.map_structure(
        lambda part: keras.Input(part.shape[1:], dtype=part.dtype), encoded
    )
    decoder = keras.Model(
        [targets, *between],
        translator.decode(targets, *between, *([None] if mask_zero else [])),
    )
    nested = keras.Model(symbols, decoder([targets, *encoder(sources)]))
    pairs = draw_pairs(rng)
    assert_close(nested(pairs), flat(pairs))
    assert_close(in_mode(nested, TWO_MODES[-1])(pairs), flat(pairs))


@pytest.mark.parametrize("cell", ["bahdanau", "luong"])
def test_model_with_a_memory_of_its_own_is_distributed_over_time(cell, rng):
    """`TimeDistributed` takes one input, so the model makes the memory."""
    sequences = keras.Input((LENGTH, INPUT_UNITS))
    memory, state = keras.layers.GRU(
        CELL_UNITS, return_sequences=True, return_state=True
    )(sequences)
    rnn = make_rnn(cell, return_sequences=True)
    model = keras.Model(
        sequences, rnn(sequences, memory, initial_state=[state])
    )
    randomize(model, rng)
    many = keras.Input((2, LENGTH, INPUT_UNITS))
    distributed = keras.Model(many, keras.layers.TimeDistributed(model)(many))
    arrays = draw(rng, BATCH, 2, LENGTH, INPUT_UNITS)
    expected = [np.array(model(arrays[:, time])) for time in range(2)]
    assert_close(distributed(arrays), np.stack(expected, axis=1))


# What training reaches


class LouderInTraining(keras.layers.Layer):
    """A user's cell that tells training from inference."""

    state_size = output_size = CELL_UNITS

    def __init__(self, in_training, otherwise=1.0):
        super().__init__()
        self.factors = otherwise, in_training

    def call(self, inputs, states, training=False):
        total = ops.sum(inputs, axis=-1, keepdims=True)
        factor = self.factors[bool(training)]
        output = ops.tanh(factor * (0.1 * total + 0.5 * states[0]))
        return output, [output]


def model_of(cell, inner):
    attention = BahdanauAttention(ATTENTION_UNITS)
    inputs = [
        keras.Input((None, INPUT_UNITS)),
        keras.Input((None, MEMORY_UNITS)),
    ]
    rnn = AttentionRNN(CELLS[cell](inner, attention), return_sequences=True)
    return keras.Model(inputs, rnn(*inputs))


@pytest.mark.parametrize("stacked", [False, True], ids=["alone", "stacked"])
@pytest.mark.parametrize("cell", ["bahdanau", "luong", "luong_feeding"])
def test_training_reaches_the_cell_of_a_user(cell, stacked, rng):
    def make(*factors):
        inner = LouderInTraining(*factors)
        if stacked:
            inner = keras.layers.StackedRNNCells(
                [keras.layers.GRUCell(5), inner]
            )
        return model_of(cell, inner)

    model, loud = make(3.0), make(3.0, 3.0)
    randomize(model, rng)
    loud.set_weights(model.get_weights())
    arrays = [draw_sequences(rng), draw_memory(rng)]
    quiet = np.array(model(arrays, training=False))
    assert_close(model(arrays, training=True), loud(arrays, training=False))
    assert_close(model.predict(arrays, verbose=0), quiet)
    difference = np.array(model(arrays, training=True)) - quiet
    assert np.max(np.abs(difference)) > 0.01


@pytest.mark.parametrize("cell", ["bahdanau", "luong", "luong_feeding"])
@pytest.mark.parametrize("kind", ["cell", "recurrent", "attention"])
def test_training_of_a_model_reaches_dropout(kind, cell, rng):
    inner = keras.layers.GRUCell(
        CELL_UNITS,
        dropout=0.5 * (kind == "cell"),
        recurrent_dropout=0.5 * (kind == "recurrent"),
    )
    attention = BahdanauAttention(
        ATTENTION_UNITS, dropout=0.5 * (kind == "attention")
    )
    inputs = [
        keras.Input((None, INPUT_UNITS)),
        keras.Input((None, MEMORY_UNITS)),
    ]
    model = keras.Model(
        inputs, AttentionRNN(CELLS[cell](inner, attention))(*inputs)
    )
    randomize(model.layers[-1].cell, rng)
    arrays = [draw_sequences(rng), draw_memory(rng)]
    plain = np.array(model(arrays, training=False))
    assert_close(model(arrays), plain)
    dropped = np.array(model(arrays, training=True))
    assert np.max(np.abs(dropped - plain)) > 0.01


# Graphs and shapes


@tensorflow_only("graphs in which sizes are unknown")
@pytest.mark.parametrize("cell", ["bahdanau", "luong", "luong_feeding"])
def test_one_trace_serves_all_sizes(cell, rng):
    rnn = make_rnn(cell, **EVERYTHING)
    rnn.build((None, None, INPUT_UNITS), (None, None, MEMORY_UNITS))
    randomize(rnn, rng)

    def run(sequences, memory, state, mask, memory_mask):
        return rnn(
            sequences,
            memory,
            initial_state=[state],
            mask=mask,
            memory_mask=memory_mask,
        )

    shapes = [
        ((None, None, INPUT_UNITS), "float32"),
        ((None, None, MEMORY_UNITS), "float32"),
        ((None, CELL_UNITS), "float32"),
        ((None, None), "bool"),
        ((None, None), "bool"),
    ]
    calls = []
    for index in range(0, 10, 3):
        batch, length, memory_length = 1 + index % 5, 2 + index, 11 - index
        calls.append(
            [
                draw(rng, batch, length, INPUT_UNITS),
                draw(rng, batch, memory_length, MEMORY_UNITS),
                draw(rng, batch, CELL_UNITS),
                rng.random((batch, length)) < 0.7,
                rng.random((batch, memory_length)) < 0.7,
            ]
        )
    results, traces = count_traces(run, shapes, calls)
    assert traces == 1
    for arrays, received in zip(calls, results, strict=True):
        assert_close(received, run(*arrays), 1e-5)


@pytest.mark.parametrize("returned", [{"return_state": True}, EVERYTHING])
@pytest.mark.parametrize("cell", CELLS)
def test_symbolic_shapes_of_stacked_cells_equal_eager_ones(cell, returned, rng):
    """What differs between two eager calls is unknown to a symbolic one."""
    rnn = make_rnn(cell, "stacked", **returned)

    def shapes_of(sequences, memory):
        results = rnn(sequences, memory)
        return tree.map_structure(lambda part: list(part.shape), results)

    symbolic = shapes_of(
        keras.Input((None, INPUT_UNITS)), keras.Input((None, MEMORY_UNITS))
    )
    one, other = (
        shapes_of(
            draw(rng, batch, length, INPUT_UNITS),
            draw(rng, batch, memory_length, MEMORY_UNITS),
        )
        for batch, length, memory_length in [(2, 3, 7), (3, 5, 2)]
    )
    assert symbolic == tree.map_structure(
        lambda size, another: size if size == another else None, one, other
    )


# Several memories


def several_attentions(kind, rng):
    """A layer of two attentions, their memories, and masks of those."""
    attentions = [ATTENTIONS["additive"](), ATTENTIONS["general"]()]
    rnn = AttentionRNN(CELLS[kind](INNER_CELLS["gru"](), attentions))
    memories = [draw_memory(rng), draw(rng, BATCH, 3, 23)]
    masks = [MEMORY_MASK, np.array([[1, 0, 1], [0, 1, 1], [0, 0, 1]], bool)]
    rnn.build((None, None, INPUT_UNITS), [part.shape for part in memories])
    randomize(rnn, rng)
    rnn.return_sequences = rnn.return_attention_scores = True
    return rnn, memories, masks


@pytest.mark.parametrize("kind", ["bahdanau", "luong"])
def test_two_sources_equal_the_loop_of_the_paper(kind, rng):
    """Each attention has its memory, its mask and its scores."""
    rnn, memories, masks = several_attentions(kind, rng)
    cell, sequences = rnn.cell, draw_sequences(rng)

    def look_at_all(query):
        looks = [
            reference_recurrent.look(attention, query, memory, mask)
            for attention, memory, mask in zip(
                cell.attentions, memories, masks, strict=True
            )
        ]
        contexts, scores = zip(*looks, strict=True)
        return np.concatenate(contexts, axis=-1), list(scores)

    state = np.zeros((BATCH, CELL_UNITS))
    expected = []
    for time in range(LENGTH):
        inputs = sequences[:, time]
        if kind == "bahdanau":
            context, scores = look_at_all(state)
            inputs = np.concatenate([inputs, context], axis=-1)
        output, [state] = reference_recurrent.step(cell.cell, inputs, [state])
        if kind == "luong":
            context, scores = look_at_all(output)
            output = reference_recurrent.attentional_state(
                cell.attentional_state, output, context
            )
        expected.append([output, *scores])
    received = rnn(sequences, memories, memory_mask=masks)
    stacked = [np.stack(part, 1) for part in zip(*expected, strict=True)]
    assert_close(received, stacked, 1e-5)


@pytest.mark.parametrize("kind", ["bahdanau", "luong"])
def test_one_of_two_sources_may_be_without_a_mask(kind, rng):
    rnn, memories, masks = several_attentions(kind, rng)
    sequences = draw_sequences(rng)
    received = rnn(sequences, memories, memory_mask=[masks[0], None])
    all_true = np.ones_like(masks[1])
    expected = rnn(sequences, memories, memory_mask=[masks[0], all_true])
    assert_close(received, expected)
    _, (_, masked) = rnn(sequences, memories, memory_mask=masks)
    difference = np.array(masked) - np.array(received[1][1])
    assert np.max(np.abs(difference)) > 0.01


# A decoder of another paper, with public names only


class ContextForEveryLayer(keras.layers.Layer):
    """Layers that all see the context, and the lowest of which asks for it.

    Wu et al. (2016), section 3: the query is the last output of the bottom
    layer; from the third layer on the input is added to the output.
    """

    def __init__(self, cells, context_units):
        super().__init__()
        self.cells = cells
        self.context_units = context_units
        # The query is the first state: that of the bottom layer.
        self.state_size = [cell.state_size for cell in cells]
        self.output_size = cells[-1].output_size

    def build(self, input_shape):
        for cell in self.cells:
            cell.build(input_shape)
            input_shape = (None, cell.output_size + self.context_units)

    def call(self, inputs, states, training=False):
        hidden = inputs[:, : -self.context_units]
        context = inputs[:, -self.context_units :]
        next_states = []
        for index, cell in enumerate(self.cells):
            output, state = cell(
                ops.concatenate([hidden, context], axis=-1),
                states[index],
                training=training,
            )
            hidden = output + hidden if index >= 2 else output
            next_states.append(state)
        return hidden, next_states


@pytest.mark.parametrize("mode", TWO_MODES)
def test_decoder_of_google_equals_the_loop_of_its_paper(mode, rng):
    cells = [keras.layers.LSTMCell(units) for units in (5, 13, 13)]
    attention = BahdanauAttention(ATTENTION_UNITS)
    rnn = AttentionRNN(
        BahdanauRNNCell(ContextForEveryLayer(cells, MEMORY_UNITS), attention),
        **EVERYTHING,
    )
    rnn.build((None, None, INPUT_UNITS), (None, None, MEMORY_UNITS))
    randomize(rnn, rng)
    sequences, memory = draw_sequences(rng), draw_memory(rng)

    states = [[np.zeros((BATCH, units))] * 2 for units in (5, 13, 13)]
    outputs, all_scores = [], []
    for time in range(LENGTH):
        hidden = sequences[:, time]
        context, scores = reference_recurrent.look(
            attention, states[0][0], memory, MEMORY_MASK
        )
        for index, cell in enumerate(cells):
            below = hidden
            hidden, states[index] = reference_recurrent.step(
                cell, np.concatenate([below, context], axis=-1), states[index]
            )
            if index == 2:
                hidden = hidden + below
        outputs.append(hidden)
        all_scores.append(scores)
    run = in_mode(
        lambda *tensors: rnn(*tensors[:2], memory_mask=tensors[2]), mode
    )
    received = run(sequences, memory, MEMORY_MASK)
    expected = [np.stack(outputs, 1), *states, np.stack(all_scores, 1)]
    assert_close(received, expected, 1e-5)


# By hand


@pytest.mark.parametrize("attention", ["additive", "coverage", "monotonic"])
@pytest.mark.parametrize("cell", ["bahdanau_context", "luong", "luong_feeding"])
def test_steps_by_hand_equal_the_layer(cell, attention, rng):
    """With both masks, and with the states of the wrapped cell given."""
    rnn = make_rnn(cell, "lstm", attention, **EVERYTHING)
    rnn.build((None, None, INPUT_UNITS), (None, None, MEMORY_UNITS))
    randomize(rnn, rng)
    sequences, memory = draw_sequences(rng), draw_memory(rng)
    given = [draw(rng, BATCH, CELL_UNITS), draw(rng, BATCH, CELL_UNITS)]

    prepared = rnn.cell.prepare_memory(memory, MEMORY_MASK)
    states = [*given, *rnn.cell.get_initial_state(BATCH, prepared)[2:]]
    output = np.zeros((BATCH, rnn.cell.output_size))
    scores = np.zeros((BATCH, MEMORY_LENGTH))
    outputs, all_scores = [], []
    for time in range(LENGTH):
        new_output, new_states, [new_scores] = rnn.cell(
            sequences[:, time], states, prepared
        )
        # A masked step repeats what was before it.
        valid = MASK[:, time, None]
        output = np.where(valid, new_output, output)
        scores = np.where(valid, new_scores, scores)
        states = [
            np.where(valid, new, old)
            for new, old in zip(new_states, states, strict=True)
        ]
        outputs.append(output)
        all_scores.append(scores)
    received = rnn(
        sequences,
        memory,
        initial_state=given,
        mask=MASK,
        memory_mask=MEMORY_MASK,
    )
    expected = [np.stack(outputs, 1), *states, np.stack(all_scores, 1)]
    assert_close(received, expected, 1e-5)
