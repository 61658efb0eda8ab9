import keras
import layer_catalogue as catalogue
import numpy as np
import pytest
import reference_recurrent
from backends import COMPILE_FIT
from backends import MODES
from backends import TWO_MODES
from backends import in_mode
from backends import tensorflow_only
from gradients import value_and_gradients
from keras import ops
from keras import tree
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
from layer_catalogue import draw
from layer_catalogue import draw_memory
from layer_catalogue import draw_sequences
from layer_catalogue import make_cell
from layer_catalogue import make_rnn
from layer_catalogue import randomize

import keras_attention
from keras_attention.recurrent import attention_rnn


# NumPy counts in float64; of five steps in float32, each makes more of what
# was rounded before. With input feeding they are up to 9e-6 apart on
# TensorFlow and 4e-5 on PyTorch, and 1e-13 where Keras counts in float64.
TOLERANCE = 6e-5
ATTENTIONS = ["additive", "dot", "general", "concat"]
# Shapes and dtypes of what a graph is made for, sizes unknown.
SEQUENCES = (None, None, INPUT_UNITS), "float32"
MEMORY = (None, None, MEMORY_UNITS), "float32"
A_MASK = (None, None), "bool"
EVERYTHING = {
    "return_sequences": True,
    "return_state": True,
    "return_attention_scores": True,
}


class LoopedLuongRNNCell(keras_attention.LuongRNNCell):
    """Says that its steps need each other, so that they are looped."""

    @property
    def attention_is_recurrent(self):
        return True


class CountedState(keras.layers.Layer):
    """A user's cell of one state that is not in a list."""

    state_size = CELL_UNITS

    def build(self, input_shape):
        self.kernel = self.add_weight(
            shape=(input_shape[-1], CELL_UNITS), name="kernel"
        )

    def call(self, inputs, states):
        state = states[0] if isinstance(states, list) else states
        output = ops.tanh(ops.matmul(inputs, self.kernel) + 0.5 * state)
        return output, output


class TwoStates(keras.layers.Layer):
    """A user's cell of two states of different sizes, as a tuple."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.state_size = (CELL_UNITS, 3)
        self.output_size = CELL_UNITS

    def build(self, input_shape):
        self.kernel = self.add_weight(
            shape=(input_shape[-1], CELL_UNITS), name="kernel"
        )

    def call(self, inputs, states):
        hidden, count = states
        hidden = ops.tanh(ops.matmul(inputs, self.kernel) - 0.5 * hidden)
        return hidden, (hidden, count + 1.0)


class PlainObject:
    """A user's cell that is no layer and has no weights."""

    state_size = CELL_UNITS
    output_size = CELL_UNITS

    def call(self, inputs, states):
        total = ops.sum(inputs, axis=-1, keepdims=True)
        output = ops.tanh(0.1 * total + 0.5 * states[0])
        return output, [output]


USER_CELLS = {
    "one_state": CountedState,
    "two_states": TwoStates,
    "no_layer": PlainObject,
}


def number_all(structure):
    return [np.array(part) for part in tree.flatten(structure)]


def assert_all_close(received, expected, tolerance=1e-5):
    received, expected = number_all(received), number_all(expected)
    assert [part.shape for part in received] == [
        part.shape for part in expected
    ]
    for one, other in zip(received, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=tolerance)


def gradients_of(layer, tensors, function):
    """Gradients of a scalar to tensors and to all weights of a layer."""
    _, gradients = value_and_gradients(
        lambda *tensors: [function(*tensors)], tensors, layer.trainable_weights
    )
    return gradients


def weigh(outputs):
    """A scalar to which every output counts differently."""
    total = 0.0
    for index, part in enumerate(tree.flatten(outputs)):
        part = ops.cast(part, "float32")
        total += ops.mean(ops.sin(part * (index + 1.0) + 0.3))
    return total


def built(layer, rng, memory_units=MEMORY_UNITS, input_units=INPUT_UNITS):
    layer.build((None, None, input_units), (None, MEMORY_LENGTH, memory_units))
    randomize(layer, rng)
    return layer


# Against the equations of the papers


@pytest.mark.parametrize(
    ("cell", "inner", "masked"),
    [
        *(
            (cell, inner, True)
            for cell in ("bahdanau", "luong", "luong_feeding")
            for inner in INNER_CELLS
        ),
        *((cell, "gru", True) for cell in CELLS if "residual" in cell),
        ("bahdanau_context", "gru", True),
        *((cell, "lstm", False) for cell in CELLS),
    ],
)
def test_layer_equals_the_loop_of_the_paper(cell, inner, masked, rng):
    """The query of Bahdanau's cell is the state before the step.

    Reported as tensorflow/tensorflow#11365: the wrapper of the time could
    only query with the state after it.

    Whole arrays are compared: stored means were wrong in
    tensorflow/addons#133. Without any mask or length it works too, unlike
    tensorflow/tensorflow#9962.
    """
    layer = built(make_rnn(cell, inner, **EVERYTHING), rng)
    sequences, memory = draw_sequences(rng), draw_memory(rng)
    masks = (MASK, MEMORY_MASK) if masked else (None, None)
    output, states, scores = reference_recurrent.attention_rnn(
        layer.cell, sequences, memory, *masks
    )
    received = layer(sequences, memory, mask=masks[0], memory_mask=masks[1])
    assert_all_close(received, [output, states, scores], TOLERANCE)


@pytest.mark.parametrize("attention", catalogue.GLOBAL_ATTENTIONS)
@pytest.mark.parametrize("cell", ["bahdanau", "luong", "luong_feeding"])
def test_every_attention_equals_the_loop_of_the_paper(cell, attention, rng):
    memory = draw_memory(rng, attention)
    layer = make_rnn(cell, "gru", attention, **EVERYTHING)
    built(layer, rng, memory.shape[-1])
    sequences = draw_sequences(rng)
    output, states, scores = reference_recurrent.attention_rnn(
        layer.cell, sequences, memory, MASK, MEMORY_MASK
    )
    received = layer(sequences, memory, mask=MASK, memory_mask=MEMORY_MASK)
    assert_all_close(received, [output, states, scores], TOLERANCE)


@pytest.mark.parametrize("inner", INNER_CELLS)
@pytest.mark.parametrize("cell", ["bahdanau", "luong", "luong_feeding"])
def test_initial_state_equals_the_loop_of_the_paper(cell, inner, rng):
    """A cell runs from an explicit initial state, whatever its structure.

    Reported as tensorflow/addons#1095, tensorflow/addons#1856.
    """
    layer = built(make_rnn(cell, inner, **EVERYTHING), rng)
    sequences, memory = draw_sequences(rng), draw_memory(rng)
    initial_state = tree.map_structure(
        lambda size: draw(rng, BATCH, size), list(layer.cell.state_size)
    )
    output, states, scores = reference_recurrent.attention_rnn(
        layer.cell, sequences, memory, MASK, MEMORY_MASK, initial_state
    )
    received = layer(
        sequences,
        memory,
        initial_state=initial_state,
        mask=MASK,
        memory_mask=MEMORY_MASK,
    )
    assert_all_close(received, [output, states, scores], TOLERANCE)


def test_two_steps_can_be_checked_on_paper():
    """One unit, all weights 1, no bias; the memory is [0, 2].

    Step 1: s_0 = 0, so both scores are s_0 * h = 0 and c_1 = 1. With y_1 = 1
    the cell gives s_1 = tanh(1 + 1 + 0) = 0.9640. Step 2: the scores are 0
    and 2 * 0.9640 = 1.9281, the weights 0.1269 and 0.8731, so c_2 = 1.7461;
    with y_2 = -1, s_2 = tanh(-1 + 1.7461 + 0.9640) = tanh(1.7102) = 0.9366.
    """
    layer = keras_attention.AttentionRNN(
        keras_attention.BahdanauRNNCell(
            keras.layers.SimpleRNNCell(1), keras_attention.LuongAttention("dot")
        ),
        return_sequences=True,
        return_attention_scores=True,
    )
    sequences = np.array([[[1.0], [-1.0]]], dtype="float32")
    memory = np.array([[[0.0], [2.0]]], dtype="float32")
    layer.build(sequences.shape, memory.shape)
    kernel, recurrent_kernel, bias = layer.weights
    kernel.assign([[1.0], [1.0]])
    recurrent_kernel.assign([[1.0]])
    bias.assign([0.0])
    output, scores = layer(sequences, memory)
    assert_all_close(output, np.array([[[0.9640], [0.9366]]]), 1e-4)
    assert_all_close(scores, np.array([[[0.5, 0.5], [0.1269, 0.8731]]]), 1e-4)


# One path against another


@pytest.mark.parametrize("cell", CELLS)
def test_layer_equals_its_cell_step_by_step(cell, rng):
    layer = built(make_rnn(cell, "lstm", **EVERYTHING), rng)
    sequences, memory = draw_sequences(rng), draw_memory(rng)
    prepared = layer.cell.prepare_memory(memory, MEMORY_MASK)
    states = layer.cell.get_initial_state(BATCH, prepared)
    outputs, all_scores = [], []
    for time in range(LENGTH):
        output, states, scores = layer.cell(
            sequences[:, time], states, prepared
        )
        outputs.append(output)
        all_scores.append(scores[0])
    assert_all_close(
        layer(sequences, memory, memory_mask=MEMORY_MASK),
        [np.stack(outputs, 1), *states, np.stack(all_scores, 1)],
        # The layer projects its inputs apart from what is fed.
        1e-5,
    )


def luong_and_looped(rng, form="tanh", inner="gru", **kwargs):
    """The same layer twice: attending at once, and step by step."""
    layers = []
    for cell in (keras_attention.LuongRNNCell, LoopedLuongRNNCell):
        layer = keras_attention.AttentionRNN(
            cell(
                INNER_CELLS[inner](),
                keras_attention.BahdanauAttention(17),
                attentional_state=form,
            ),
            **kwargs,
        )
        layers.append(built(layer, rng))
    layers[1].set_weights(layers[0].get_weights())
    return layers


@pytest.mark.parametrize("masked", [False, True], ids=["unmasked", "masked"])
@pytest.mark.parametrize("sequences_returned", [False, True])
@pytest.mark.parametrize("scores_returned", [False, True])
def test_attending_at_once_equals_the_loop(
    masked, sequences_returned, scores_returned, rng
):
    kwargs = {
        "return_sequences": sequences_returned,
        "return_attention_scores": scores_returned,
        "return_state": True,
    }
    layer, looped = luong_and_looped(rng, **kwargs)
    assert not layer.cell.attention_is_recurrent
    sequences, memory = draw_sequences(rng), draw_memory(rng)
    mask = MASK.copy() if masked else None
    if masked:
        mask[1] = False
        mask[2, 0] = False
    memory_mask = MEMORY_MASK if masked else None
    call = {"mask": mask, "memory_mask": memory_mask}
    assert_all_close(
        layer(sequences, memory, **call),
        looped(sequences, memory, **call),
        1e-6,
    )


@pytest.mark.parametrize("form", ["tanh", "residual"])
def test_attending_at_once_has_the_gradients_of_the_loop(form, rng):
    layers = luong_and_looped(rng, form, "lstm", **EVERYTHING)
    tensors = [
        draw_sequences(rng),
        draw_memory(rng),
        draw(rng, BATCH, CELL_UNITS),
        draw(rng, BATCH, CELL_UNITS),
    ]
    at_once, looped = (
        gradients_of(
            layer,
            tensors,
            lambda sequences, memory, *states, layer=layer: weigh(
                layer(
                    sequences,
                    memory,
                    initial_state=list(states),
                    mask=MASK,
                    memory_mask=MEMORY_MASK,
                )
            ),
        )
        for layer in layers
    )
    assert_all_close(at_once, looped, 1e-6)


@pytest.mark.parametrize("cell", ["bahdanau", "luong", "luong_feeding"])
def test_unrolled_equals_looped(cell, rng):
    layer = built(make_rnn(cell, **EVERYTHING), rng)
    unrolled = built(make_rnn(cell, unroll=True, **EVERYTHING), rng)
    unrolled.set_weights(layer.get_weights())
    sequences, memory = draw_sequences(rng), draw_memory(rng)
    for mask in (None, MASK):
        assert_all_close(
            unrolled(sequences, memory, mask=mask),
            layer(sequences, memory, mask=mask),
            1e-6,
        )


@pytest.mark.parametrize("masked", [False, True], ids=["unmasked", "masked"])
@pytest.mark.parametrize("cell", ["bahdanau", "luong", "luong_feeding"])
def test_backwards_equals_a_reversed_input(cell, masked, rng):
    layer = built(make_rnn(cell, **EVERYTHING), rng)
    backwards = built(make_rnn(cell, go_backwards=True, **EVERYTHING), rng)
    backwards.set_weights(layer.get_weights())
    sequences, memory = draw_sequences(rng), draw_memory(rng)
    mask = MASK if masked else None
    reversed_mask = MASK[:, ::-1] if masked else None
    assert_all_close(
        backwards(sequences, memory, mask=mask),
        layer(sequences[:, ::-1], memory, mask=reversed_mask),
        1e-6,
    )


def test_mask_of_a_backwards_output_is_reversed_too(rng):
    layer = built(make_rnn(go_backwards=True, return_sequences=True), rng)
    output = layer(draw_sequences(rng), draw_memory(rng), mask=MASK)
    assert_all_close(output._keras_mask, MASK[:, ::-1])


@pytest.mark.parametrize(
    ("cell", "inner"),
    [
        ("bahdanau", "gru"),
        ("luong", "lstm"),
        ("luong_feeding", "stacked"),
    ],
)
def test_eager_graph_functional_and_compiled_agree(cell, inner, rng):
    """The layer runs in graphs, with attention scores and lengths unknown.

    Reported as tensorflow/addons#1897 (symbolic inputs with a history),
    tensorflow/addons#1898 (decoder on Keras inputs), tensorflow/addons#1121
    (variable length), keras-team/keras#19482 (stacked cells, return_state).
    """
    layer = built(make_rnn(cell, inner, **EVERYTHING), rng)
    sequences, memory = draw_sequences(rng), draw_memory(rng)
    masks = {"mask": MASK, "memory_mask": MEMORY_MASK}
    eager = layer(sequences, memory, **masks)

    inputs = [
        keras.Input((None, INPUT_UNITS)),
        keras.Input((None, MEMORY_UNITS)),
        keras.Input((None,), dtype="bool"),
        keras.Input((None,), dtype="bool"),
    ]
    outputs = layer(*inputs[:2], mask=inputs[2], memory_mask=inputs[3])
    functional = keras.Model(inputs, outputs)
    arrays = [sequences, memory, MASK, MEMORY_MASK]
    assert_all_close(functional(arrays), eager, 1e-6)

    def run(sequences, memory, mask, memory_mask):
        return layer(sequences, memory, mask=mask, memory_mask=memory_mask)

    graph = in_mode(run, TWO_MODES[-1], [SEQUENCES, MEMORY, A_MASK, A_MASK])
    assert_all_close(graph(*arrays), eager, 1e-6)
    # XLA orders its sums as it likes.
    assert_all_close(in_mode(run, MODES[-1])(*arrays), eager, 1e-5)


@pytest.mark.parametrize("cell", ["bahdanau_context", "luong", "luong_feeding"])
@pytest.mark.parametrize(
    "returned",
    [
        {},
        {"return_sequences": True},
        {"return_state": True},
        {"return_attention_scores": True},
        EVERYTHING,
    ],
    ids=["last", "sequences", "state", "scores", "everything"],
)
def test_symbolic_structure_and_shapes_equal_eager_ones(cell, returned, rng):
    layer = built(make_rnn(cell, "stacked", **returned), rng)
    eager = layer(draw_sequences(rng), draw_memory(rng))
    symbolic = layer(
        keras.Input((LENGTH, INPUT_UNITS), BATCH),
        keras.Input((MEMORY_LENGTH, MEMORY_UNITS), BATCH),
    )
    tree.assert_same_structure(symbolic, eager)
    shapes = [tuple(part.shape) for part in tree.flatten(eager)]
    assert [tuple(part.shape) for part in tree.flatten(symbolic)] == shapes
    dtypes = [
        keras.backend.standardize_dtype(p.dtype) for p in number_all(eager)
    ]
    assert [part.dtype for part in tree.flatten(symbolic)] == dtypes


def test_functional_results_are_unpacked_with_unknown_lengths():
    """Output and attention scores of symbolic inputs unpack.

    Reported as keras-team/keras#20621 for the attention layers of Keras and
    as tensorflow/tensorflow#11067: how does one get the attention weights?
    """
    layer = make_rnn(return_sequences=True, return_attention_scores=True)
    output, scores = layer(
        keras.Input((None, INPUT_UNITS)), keras.Input((None, MEMORY_UNITS))
    )
    assert output.shape == (None, None, CELL_UNITS)
    assert scores.shape == (None, None, None)


@pytest.mark.parametrize("scores_returned", [False, True])
@pytest.mark.parametrize("cell", ["bahdanau", "luong", "luong_feeding"])
def test_last_output_is_that_of_the_last_valid_step(cell, scores_returned, rng):
    layer = built(make_rnn(cell, return_sequences=True), rng)
    last = built(make_rnn(cell, return_attention_scores=scores_returned), rng)
    last.set_weights(layer.get_weights())
    sequences, memory = draw_sequences(rng), draw_memory(rng)
    outputs = np.array(layer(sequences, memory, mask=MASK))
    received = tree.flatten(last(sequences, memory, mask=MASK))[0]
    valid = [np.flatnonzero(row)[-1] for row in MASK]
    assert valid == [4, 2, 3]
    assert_all_close(received, outputs[np.arange(BATCH), valid], 1e-6)


# Training


@pytest.mark.parametrize("cell", ["bahdanau", "luong_residual"])
def test_encoder_and_decoder_train_together(cell, rng):
    """Memory is a call argument, so gradients reach what made it.

    Reported as tensorflow/tensorflow#47560 and tensorflow/addons#1898: there
    was no way to give a memory to a cell, or Keras inputs to a decoder.
    """
    source = keras.Input((None,), dtype="int32")
    target = keras.Input((None,), dtype="int32")
    embedded = keras.layers.Embedding(23, 3, mask_zero=True)(source)
    memory, state = keras.layers.GRU(
        CELL_UNITS, return_sequences=True, return_state=True
    )(embedded)
    sequences = keras.layers.Embedding(19, 3, mask_zero=True)(target)
    output = make_rnn(cell, return_sequences=True)(
        sequences, memory, initial_state=[state]
    )
    model = keras.Model([source, target], keras.layers.Dense(19)(output))
    model.compile(
        "adam",
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        jit_compile=COMPILE_FIT,
    )
    before = model.get_weights()
    arrays = [
        rng.integers(1, 23, (BATCH, MEMORY_LENGTH)),
        rng.integers(1, 19, (BATCH, LENGTH)),
    ]
    labels = rng.integers(1, 19, (BATCH, LENGTH))
    model.fit(arrays, labels, batch_size=BATCH, verbose=0)
    for weight, old in zip(model.weights, before, strict=True):
        changed = np.array(weight) != old
        assert np.any(changed), weight.path


@pytest.mark.parametrize("inner", ["gru", "lstm", "stacked"])
@pytest.mark.parametrize("cell", CELLS)
def test_gradient_reaches_every_tensor_and_weight(cell, inner, rng):
    layer = built(make_rnn(cell, inner, return_sequences=True), rng)
    structure = list(layer.cell.state_size)
    sizes = tree.flatten(structure)
    tensors = [
        draw_sequences(rng),
        draw_memory(rng),
        *(draw(rng, BATCH, size) for size in sizes),
    ]

    def run(sequences, memory, *states):
        return weigh(
            layer(
                sequences,
                memory,
                initial_state=tree.pack_sequence_as(structure, list(states)),
            )
        )

    for gradient in gradients_of(layer, tensors, run):
        assert np.all(np.isfinite(gradient))
        assert np.any(gradient != 0)


@pytest.mark.parametrize(
    "cell", ["bahdanau_residual", "luong", "luong_feeding"]
)
def test_gradient_equals_finite_differences(cell, rng):
    keras.config.set_dtype_policy("float64")
    try:
        layer = keras_attention.AttentionRNN(
            make_cell(cell, "lstm"), return_sequences=True
        )
    finally:
        keras.config.set_dtype_policy("float32")
    built(layer, rng)
    arrays = [
        draw_sequences(rng).astype("float64"),
        draw_memory(rng).astype("float64"),
    ]
    weights = [np.array(part) for part in layer.trainable_weights]
    directions = [rng.normal(size=x.shape) for x in arrays + weights]

    def value(*tensors):
        output = layer(*tensors, mask=MASK, memory_mask=MEMORY_MASK)
        return ops.sum(ops.sin(output * 1.7))

    def moved(step):
        for weight, old, way in zip(
            layer.trainable_weights, weights, directions[2:], strict=True
        ):
            weight.assign(old + step * way)
        result = value(
            *(
                x + step * way
                for x, way in zip(arrays, directions, strict=False)
            )
        )
        return np.array(result)

    gradients = gradients_of(layer, arrays, value)
    expected = sum(
        np.sum(gradient * way)
        for gradient, way in zip(gradients, directions, strict=True)
    )
    step = 1e-5
    received = (moved(step) - moved(-step)) / (2 * step)
    assert abs(expected) > 1e-2
    np.testing.assert_allclose(received, expected, rtol=1e-7)


# Masks


def pad(array, columns, value):
    widths = [(0, 0)] * array.ndim
    widths[1] = (0, columns)
    return np.pad(array, widths, constant_values=value)


@pytest.fixture
def _float64():
    keras.config.set_dtype_policy("float64")
    yield
    keras.config.set_dtype_policy("float32")


# JAX sums more terms in another order, and steps make more of it: up to 1e-5.
@pytest.mark.usefixtures("_float64")
@pytest.mark.parametrize("mode", TWO_MODES)
@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("attention", ATTENTIONS)
def test_padding_of_the_source_changes_nothing(attention, cell, mode, rng):
    memory = draw_memory(rng, attention)
    layer = make_rnn(cell, "gru", attention, **EVERYTHING)
    built(layer, rng, memory.shape[-1])
    sequences = draw_sequences(rng)
    run = in_mode(
        lambda sequences, memory, memory_mask: layer(
            sequences, memory, memory_mask=memory_mask
        ),
        mode,
        [SEQUENCES, ((None, None, memory.shape[-1]), "float32"), A_MASK],
    )
    expected = number_all(run(sequences, memory, memory_mask=MEMORY_MASK))
    for columns in (1, 7):
        *others, scores = number_all(
            run(
                sequences,
                pad(memory, columns, np.nan),
                memory_mask=pad(MEMORY_MASK, columns, False),
            )
        )
        assert np.all(scores[..., MEMORY_LENGTH:] == 0)
        assert_all_close(
            [*others, scores[..., :MEMORY_LENGTH]], expected, 1e-12
        )


@pytest.mark.parametrize("mode", TWO_MODES)
@pytest.mark.parametrize("cell", CELLS)
def test_padding_of_the_target_changes_nothing(cell, mode, rng):
    layer = built(make_rnn(cell, "lstm", **EVERYTHING), rng)
    sequences, memory = draw_sequences(rng), draw_memory(rng)
    run = in_mode(
        lambda sequences, memory, mask: layer(sequences, memory, mask=mask),
        mode,
        [SEQUENCES, MEMORY, A_MASK],
    )
    output, *states, scores = number_all(run(sequences, memory, mask=MASK))
    garbage = np.where(MASK[..., None], sequences, np.nan)
    for columns in (0, 1, 7):
        padded_output, *padded_states, padded_scores = number_all(
            run(
                pad(garbage, columns, np.nan),
                memory,
                mask=pad(MASK, columns, False),
            )
        )
        assert_all_close(
            [
                padded_output[:, :LENGTH],
                padded_states,
                padded_scores[:, :LENGTH],
            ],
            [output, states, scores],
            1e-6,
        )
        # What is masked repeats what was before it.
        repeated = np.repeat(output[:, -1:], columns, axis=1)
        assert_all_close(padded_output[:, LENGTH:], repeated, 1e-6)


@pytest.mark.parametrize(
    ("attention", "cell"),
    [
        *(("additive", cell) for cell in CELLS),
        *((attention, "bahdanau") for attention in ATTENTIONS[1:]),
        *((attention, "luong") for attention in ATTENTIONS[1:]),
    ],
)
def test_nan_under_masks_leaves_gradients_alone(attention, cell, rng):
    memory = draw_memory(rng, attention)
    layer = make_rnn(cell, "gru", attention, return_sequences=True)
    built(layer, rng, memory.shape[-1])
    sequences = draw_sequences(rng)

    def run(sequences, memory):
        return weigh(
            layer(sequences, memory, mask=MASK, memory_mask=MEMORY_MASK)
        )

    garbage = [
        np.where(MASK[..., None], sequences, np.nan).astype("float32"),
        np.where(MEMORY_MASK[..., None], memory, np.nan).astype("float32"),
    ]
    expected = gradients_of(layer, [sequences, memory], run)
    received = gradients_of(layer, garbage, run)
    assert_all_close(received, expected, 1e-6)
    assert np.all(received[0][~MASK] == 0)
    assert np.all(received[1][~MEMORY_MASK] == 0)


@pytest.mark.parametrize(
    "policy", ["float32", "mixed_float16", "mixed_bfloat16"]
)
@pytest.mark.parametrize(
    "cell", ["bahdanau", "luong", "luong_feeding_residual"]
)
def test_empty_source_gets_no_attention_and_finite_gradients(cell, policy, rng):
    """A source of length 0: weights 0, context 0, no assertion, no NaN.

    Reported as tensorflow/nmt#210, d2l-ai/d2l-en#2423, OpenNMT/OpenNMT-tf#131.

    Also as tensorflow/nmt#140, tensorflow/nmt#64, OpenNMT/OpenNMT-tf#171.
    """
    keras.config.set_dtype_policy(policy)
    try:
        layer = make_rnn(cell, "gru", **EVERYTHING)
        context_layer = make_rnn("bahdanau_context", return_sequences=True)
    finally:
        keras.config.set_dtype_policy("float32")
    built(layer, rng)
    built(context_layer, rng)
    sequences, memory = draw_sequences(rng)[:, :2], draw_memory(rng)
    memory_mask = MEMORY_MASK.copy()
    memory_mask[1] = False

    def run(sequences, memory):
        return weigh(layer(sequences, memory, memory_mask=memory_mask))

    scores = layer(sequences, memory, memory_mask=memory_mask)[-1]
    scores = np.array(ops.cast(scores, "float32"))
    assert np.all(scores[1] == 0)
    np.testing.assert_allclose(np.sum(scores[[0, 2]], -1), 1.0, atol=2e-2)
    output = np.array(
        ops.cast(
            context_layer(sequences, memory, memory_mask=memory_mask), "float32"
        )
    )
    assert np.all(output[1, :, CELL_UNITS:] == 0)
    gradients = gradients_of(layer, [sequences, memory], run)
    for gradient in gradients:
        assert np.all(np.isfinite(gradient))
    on_sequences, on_memory, *_ = gradients
    assert np.all(on_memory[1] == 0)
    assert np.any(on_sequences[1] != 0)


def masked_embedding(rng, mask, units):
    """Tokens whose embedding carries `mask`, and the layer."""
    tokens = np.where(mask, rng.integers(1, 11, mask.shape), 0)
    layer = keras.layers.Embedding(11, units, mask_zero=True)
    layer.build()
    randomize(layer, rng)
    return tokens, layer


@pytest.mark.parametrize("mode", [*TWO_MODES, "functional"])
@pytest.mark.parametrize("cell", ["bahdanau", "luong", "luong_feeding"])
def test_attached_masks_are_used_with_an_initial_state(cell, mode, rng):
    """Keras 3.15 drops the attached mask when an initial state is given.

    `keras.layers.RNN(x, initial_state=s)` of keras-team/keras does so
    silently; no public report found.
    """
    layer = built(make_rnn(cell, "gru", **EVERYTHING), rng)
    tokens, embedding = masked_embedding(rng, MASK, INPUT_UNITS)
    sources, encoder = masked_embedding(rng, MEMORY_MASK, MEMORY_UNITS)
    state = draw(rng, BATCH, CELL_UNITS)

    def run(tokens, sources, state):
        return layer(embedding(tokens), encoder(sources), initial_state=[state])

    if mode == "functional":
        inputs = [
            keras.Input((None,), dtype="int32"),
            keras.Input((None,), dtype="int32"),
            keras.Input((CELL_UNITS,)),
        ]
        model = keras.Model(inputs, run(*inputs))
        received = model([tokens, sources, state])
    else:
        received = in_mode(run, mode)(tokens, sources, state)
    expected = layer(
        ops.convert_to_tensor(np.array(embedding(tokens))),
        ops.convert_to_tensor(np.array(encoder(sources))),
        initial_state=[state],
        mask=MASK,
        memory_mask=MEMORY_MASK,
    )
    assert_all_close(received, expected, 1e-6)
    unmasked = layer(
        ops.convert_to_tensor(np.array(embedding(tokens))),
        ops.convert_to_tensor(np.array(encoder(sources))),
        initial_state=[state],
    )
    assert (
        np.max(np.abs(number_all(unmasked)[1] - number_all(received)[1])) > 0.01
    )


def test_attached_masks_are_found_without_the_help_of_keras(rng):
    """A layer is called, and nobody looks for masks but the layer itself."""
    layer = built(make_rnn(**EVERYTHING), rng)
    tokens, embedding = masked_embedding(rng, MASK, INPUT_UNITS)
    sources, encoder = masked_embedding(rng, MEMORY_MASK, MEMORY_UNITS)
    sequences, memory = embedding(tokens), encoder(sources)
    assert_all_close(
        layer.call(sequences, memory), layer(sequences, memory), 1e-7
    )


def test_masked_steps_repeat_output_and_state(rng):
    """The final state is that of the last valid token.

    With `initial_state`, the RNN of keras-team/keras 3.15 steps on through
    padding; no public report found.
    """
    layer = built(make_rnn("luong_feeding", "lstm", **EVERYTHING), rng)
    sequences, memory = draw_sequences(rng), draw_memory(rng)
    state = [draw(rng, BATCH, CELL_UNITS), draw(rng, BATCH, CELL_UNITS)]
    output, *states, _ = number_all(
        layer(sequences, memory, initial_state=state, mask=MASK)
    )
    np.testing.assert_array_equal(output[1, 3:], output[1, [2, 2]])
    np.testing.assert_array_equal(output[2, 0], np.zeros(23))
    np.testing.assert_array_equal(output[2, 2], output[2, 1])
    short = layer(
        sequences[1:2, :3],
        memory[1:2],
        initial_state=[part[1:2] for part in state],
    )
    assert_all_close(
        [part[1:2] for part in states], number_all(short)[1:-1], 1e-6
    )


def test_explicit_masks_win_over_attached_ones(rng):
    layer = built(make_rnn(**EVERYTHING), rng)
    tokens, embedding = masked_embedding(rng, MASK, INPUT_UNITS)
    sources, encoder = masked_embedding(rng, MEMORY_MASK, MEMORY_UNITS)
    sequences, memory = embedding(tokens), encoder(sources)
    mask, memory_mask = MASK[::-1].copy(), MEMORY_MASK[::-1].copy()
    received = layer(sequences, memory, mask=mask, memory_mask=memory_mask)
    expected = layer(
        np.array(sequences),
        np.array(memory),
        mask=mask,
        memory_mask=memory_mask,
    )
    assert_all_close(received, expected, 1e-7)
    np.testing.assert_array_equal(received[0]._keras_mask, mask)


@pytest.mark.parametrize("cell", ["bahdanau", "luong", "luong_feeding"])
def test_output_carries_the_mask_of_the_target(cell, rng):
    """Joining context or attentional state to the input loses no mask.

    `Concatenate` of keras-team/keras 3.15 makes the mask all True when one
    of its inputs has none; no public report found.
    """
    layer = built(make_rnn(cell, **EVERYTHING), rng)
    tokens, embedding = masked_embedding(rng, MASK, INPUT_UNITS)
    output, *others = layer(
        embedding(tokens),
        draw_memory(rng),
        initial_state=[draw(rng, BATCH, CELL_UNITS)],
    )
    np.testing.assert_array_equal(output._keras_mask, MASK)
    for other in others:
        assert getattr(other, "_keras_mask", None) is None


def test_last_output_carries_no_mask(rng):
    layer = built(make_rnn(), rng)
    output = layer(draw_sequences(rng), draw_memory(rng), mask=MASK)
    assert getattr(output, "_keras_mask", None) is None


@pytest.mark.parametrize("cell", CELLS)
def test_batch_of_mixed_lengths_equals_each_row_alone(cell, rng):
    layer = built(make_rnn(cell, "lstm", **EVERYTHING), rng)
    sequences, memory = draw_sequences(rng), draw_memory(rng)
    lengths, memory_lengths = [5, 2, 3], [4, 7, 2]
    mask = np.arange(LENGTH) < np.array(lengths)[:, None]
    memory_mask = np.arange(MEMORY_LENGTH) < np.array(memory_lengths)[:, None]
    output, *states, scores = number_all(
        layer(sequences, memory, mask=mask, memory_mask=memory_mask)
    )
    for row, (length, memory_length) in enumerate(
        zip(lengths, memory_lengths, strict=True)
    ):
        one = slice(row, row + 1)
        alone = layer(sequences[one, :length], memory[one, :memory_length])
        in_batch = [
            output[one, :length],
            [state[one] for state in states],
            scores[one, :length, :memory_length],
        ]
        assert_all_close(in_batch, alone, 1e-6)


def test_integer_masks_mean_what_boolean_ones_do(rng):
    layer = built(make_rnn(**EVERYTHING), rng)
    sequences, memory = draw_sequences(rng), draw_memory(rng)
    assert_all_close(
        layer(
            sequences,
            memory,
            mask=MASK.astype("int32"),
            memory_mask=MEMORY_MASK.astype("int32"),
        ),
        layer(sequences, memory, mask=MASK, memory_mask=MEMORY_MASK),
        1e-7,
    )


# Memory


def test_two_memories_in_a_row_leave_nothing_behind(rng):
    """Nothing of a memory stays on the layer.

    Reported as tensorflow/addons#535: memory was kept from the first call.
    """
    layer = built(make_rnn(**EVERYTHING), rng)
    sequences = draw_sequences(rng)
    first, second = draw_memory(rng), draw(rng, BATCH, 3, MEMORY_UNITS)
    expected = layer(sequences, second)
    layer(sequences, first)
    assert_all_close(layer(sequences, second), expected, 0)


def test_layer_is_made_before_any_memory_exists():
    """Neither a cell nor its attention wants a memory when it is made.

    Reported as tensorflow/addons#670 (the wrapper) and
    tensorflow/addons#461 (its attention layer).
    """
    layer = make_rnn()
    assert layer.weights == []
    assert not layer.built


@pytest.mark.parametrize("cell", ["bahdanau", "luong", "luong_feeding"])
def test_several_attentions_each_have_their_memory(cell, rng):
    attentions = [
        catalogue.ATTENTIONS["additive"](),
        catalogue.ATTENTIONS["general"](),
    ]
    layer = keras_attention.AttentionRNN(
        CELLS[cell](INNER_CELLS["gru"](), attentions), **EVERYTHING
    )
    sequences = draw_sequences(rng)
    memories = [draw_memory(rng), draw(rng, BATCH, 3, 23)]
    masks = [MEMORY_MASK, np.ones((BATCH, 3), dtype=bool)]
    masks[1][0, 2] = False
    output, *_, scores = layer(
        sequences, memories, mask=MASK, memory_mask=masks
    )
    assert output.shape[:2] == (BATCH, LENGTH)
    assert [part.shape for part in scores] == [
        (BATCH, LENGTH, MEMORY_LENGTH),
        (BATCH, LENGTH, 3),
    ]
    for part, mask in zip(scores, masks, strict=True):
        part = np.array(part)
        started = np.cumsum(MASK, axis=1) > 0
        np.testing.assert_allclose(np.sum(part, -1), started, atol=1e-6)
        assert np.all(part[np.repeat(~mask[:, None], LENGTH, 1)] == 0)


# Dropout


@pytest.mark.parametrize("mode", TWO_MODES)
@pytest.mark.parametrize("cell", ["bahdanau", "luong"])
@pytest.mark.parametrize("kind", ["dropout", "recurrent_dropout"])
def test_dropout_of_the_wrapped_cell_is_drawn_afresh(cell, mode, kind, rng):
    """Every batch has its own dropout mask, and a batch of any size.

    keras-team/keras 3.15 keeps the mask of a wrapped cell for ever; no public
    report found.
    """
    layer = keras_attention.AttentionRNN(
        CELLS[cell](
            keras.layers.LSTMCell(CELL_UNITS, **{kind: 0.5}),
            catalogue.ATTENTIONS["additive"](),
        )
    )
    built(layer, rng)
    sequences, memory = draw_sequences(rng), draw_memory(rng)
    state = [draw(rng, BATCH, CELL_UNITS), draw(rng, BATCH, CELL_UNITS)]

    def run(sequences, memory, states):
        return layer(sequences, memory, initial_state=states, training=True)

    run = in_mode(run, mode, state=layer.non_trainable_variables)
    first = np.array(run(sequences, memory, state))
    second = np.array(run(sequences, memory, state))
    assert np.max(np.abs(first - second)) > 0.01
    two = [part[:2] for part in state]
    assert run(sequences[:2], memory[:2], two).shape[0] == 2
    plain = in_mode(
        lambda sequences, memory, states: layer(
            sequences, memory, initial_state=states
        ),
        mode,
    )
    once = np.array(plain(sequences, memory, state))
    assert np.max(np.abs(once - first)) > 0.01
    again = np.array(plain(sequences, memory, state))
    np.testing.assert_array_equal(again, once)


@pytest.mark.parametrize("mode", TWO_MODES)
@pytest.mark.parametrize("kind", ["bahdanau", "luong"])
def test_dropout_mask_is_one_for_all_steps(kind, mode, rng):
    cell = keras.layers.SimpleRNNCell(CELL_UNITS, dropout=0.5)
    layer = keras_attention.AttentionRNN(
        CELLS[kind](cell, catalogue.ATTENTIONS["additive"]()),
        return_sequences=True,
    )
    built(layer, rng)
    # With no way from one step to the next, and nothing to tell them apart,
    # all steps are the same if their masks are.
    cell.recurrent_kernel.assign(np.zeros((CELL_UNITS, CELL_UNITS)))
    same = np.repeat(draw(rng, BATCH, 1, INPUT_UNITS), LENGTH, axis=1)
    memory = np.repeat(draw(rng, BATCH, 1, MEMORY_UNITS), 7, axis=1)
    run = in_mode(lambda same, memory: layer(same, memory, training=True), mode)
    output = np.array(run(same, memory))
    assert_all_close(output, np.repeat(output[:, :1], LENGTH, axis=1), 1e-6)


@pytest.mark.parametrize("mode", TWO_MODES)
def test_no_dropout_mask_of_a_batch_stays_on_the_cell(mode, rng):
    cell = keras.layers.GRUCell(CELL_UNITS, dropout=0.5, recurrent_dropout=0.5)
    layer = keras_attention.AttentionRNN(
        CELLS["bahdanau"](cell, catalogue.ATTENTIONS["additive"]())
    )
    built(layer, rng)
    run = in_mode(lambda *tensors: layer(*tensors, training=True), mode)
    run(draw_sequences(rng), draw_memory(rng))
    assert cell._dropout_mask is None
    assert cell._recurrent_dropout_mask is None


@pytest.mark.parametrize("cell", ["bahdanau", "luong", "luong_feeding"])
def test_dropout_of_the_attention_is_on_in_training_only(cell, rng):
    layer = keras_attention.AttentionRNN(
        CELLS[cell](
            INNER_CELLS["gru"](),
            keras_attention.BahdanauAttention(17, dropout=0.5),
        ),
        return_sequences=True,
        return_attention_scores=True,
    )
    built(layer, rng)
    sequences, memory = draw_sequences(rng), draw_memory(rng)
    plain, _ = layer(sequences, memory)
    again, _ = layer(sequences, memory)
    dropped, scores = number_all(layer(sequences, memory, training=True))
    np.testing.assert_array_equal(plain, again)
    assert np.max(np.abs(np.array(plain) - dropped)) > 0.01
    np.testing.assert_allclose(np.sum(scores, -1), 1.0, atol=1e-6)


def test_dropout_trains_in_fit(rng):
    sequences = keras.Input((None, INPUT_UNITS))
    memory = keras.Input((None, MEMORY_UNITS))
    layer = keras_attention.AttentionRNN(
        keras_attention.BahdanauRNNCell(
            keras.layers.StackedRNNCells(
                [
                    keras.layers.GRUCell(5, dropout=0.3, recurrent_dropout=0.3),
                    keras.layers.GRUCell(CELL_UNITS, dropout=0.3),
                ]
            ),
            keras_attention.BahdanauAttention(17, dropout=0.3),
        )
    )
    model = keras.Model([sequences, memory], layer(sequences, memory))
    model.compile("sgd", "mse", jit_compile=COMPILE_FIT)
    arrays = [draw_sequences(rng), draw_memory(rng)]
    history = model.fit(
        arrays, draw(rng, BATCH, CELL_UNITS), batch_size=2, verbose=0
    )
    assert np.isfinite(history.history["loss"][0])


# States


@pytest.mark.parametrize(
    ("cell", "inner", "mode"),
    [
        *(
            (cell, inner, "eager")
            for cell in ("bahdanau", "luong", "luong_feeding")
            for inner in (*INNER_CELLS, *USER_CELLS)
        ),
        *(
            (cell, inner, mode)
            for cell, inner in [
                ("bahdanau", "two_states"),
                ("luong", "one_state"),
                ("luong_feeding", "stacked"),
            ]
            for mode in TWO_MODES[1:]
        ),
    ],
)
def test_states_come_out_as_they_went_in(cell, inner, mode, rng):
    """The states of a call are an initial state of the next.

    Reported as tensorflow/addons#1856, tensorflow/addons#684 (only LSTM
    worked) and tensorflow/addons#1194 (a mask broke it).
    """
    inner_cell = {**INNER_CELLS, **USER_CELLS}[inner]()
    layer = keras_attention.AttentionRNN(
        CELLS[cell](inner_cell, catalogue.ATTENTIONS["additive"]()),
        **EVERYTHING,
    )
    built(layer, rng)
    run = in_mode(layer, mode)
    sequences, memory = draw_sequences(rng), draw_memory(rng)
    whole_output, *whole_states, whole_scores = run(
        sequences, memory, mask=MASK
    )
    output, *states, scores = run(sequences[:, :2], memory, mask=MASK[:, :2])
    expected = layer.cell.get_initial_state(BATCH)
    tree.assert_same_structure(states, expected)
    rest_output, *rest_states, rest_scores = run(
        sequences[:, 2:], memory, initial_state=states, mask=MASK[:, 2:]
    )
    tree.assert_same_structure(rest_states, expected)
    assert_all_close(rest_states, whole_states, 1e-6)
    first = np.concatenate([output, rest_output], 1)[0]
    assert_all_close(first, np.array(whole_output)[0], 1e-6)
    first = np.concatenate([scores, rest_scores], 1)[0]
    assert_all_close(first, np.array(whole_scores)[0], 1e-6)


def test_states_that_the_attention_adds_may_be_left_out(rng):
    layer = built(make_rnn("luong_feeding", "lstm", **EVERYTHING), rng)
    sequences, memory = draw_sequences(rng), draw_memory(rng)
    states = [draw(rng, BATCH, CELL_UNITS), draw(rng, BATCH, CELL_UNITS)]
    zeros = np.zeros((BATCH, 23), dtype="float32")
    assert_all_close(
        layer(sequences, memory, initial_state=states),
        layer(sequences, memory, initial_state=[*states, zeros]),
        0,
    )


def test_single_state_needs_no_list(rng):
    layer = built(make_rnn(**EVERYTHING), rng)
    sequences, memory = draw_sequences(rng), draw_memory(rng)
    state = draw(rng, BATCH, CELL_UNITS)
    assert_all_close(
        layer(sequences, memory, initial_state=state),
        layer(sequences, memory, initial_state=[state]),
        0,
    )


def test_initial_state_of_another_dtype_is_cast(rng):
    layer = built(make_rnn(return_state=True), rng)
    _, state = layer(
        draw_sequences(rng),
        draw_memory(rng),
        initial_state=[draw(rng, BATCH, CELL_UNITS).astype("float64")],
    )
    assert keras.backend.standardize_dtype(state.dtype) == "float32"


def test_policy_of_the_layer_may_differ_from_that_of_its_cell(rng):
    layer = built(make_rnn(dtype="mixed_float16", **EVERYTHING), rng)
    sequences, memory = draw_sequences(rng), draw_memory(rng)
    plain = number_all(layer(sequences, memory))
    masked = number_all(layer(sequences, memory, mask=np.ones_like(MASK)))
    assert_all_close(masked, plain, 1e-2)
    graph = in_mode(layer, TWO_MODES[-1])
    masked = graph(sequences, memory, mask=np.ones_like(MASK))
    assert_all_close(masked, plain, 1e-2)


# Errors


def test_errors_of_the_constructor():
    with pytest.raises(ValueError, match="Expected a cell that attends"):
        keras_attention.AttentionRNN(keras.layers.GRUCell(3))
    with pytest.raises(ValueError, match="use return_state=True and pass"):
        make_rnn(stateful=True)


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (1, r"Expected a list of 3, or the first 2, .*\[13, 13, 23\]"),
        (4, r"Expected a list of 3, or the first 2, .*LSTMCell"),
    ],
    ids=["too_few", "too_many"],
)
def test_wrong_number_of_states_raises(count, expected, rng):
    layer = make_rnn("luong_feeding", "lstm")
    states = [draw(rng, BATCH, CELL_UNITS)] * count
    with pytest.raises(ValueError, match=expected):
        layer(draw_sequences(rng), draw_memory(rng), initial_state=states)


@pytest.mark.parametrize(
    "shape", [(BATCH, 11), (BATCH, 1, CELL_UNITS)], ids=["units", "rank"]
)
def test_state_of_wrong_shape_raises(shape, rng):
    layer = make_rnn(inner="lstm")
    states = [draw(rng, BATCH, CELL_UNITS), draw(rng, *shape)]
    # JAX and PyTorch have another word, or number, for a size not known.
    expected = r"number 1 .*Expected \(\w+, 13\): \(batch, units\)"
    with pytest.raises(ValueError, match=expected):
        layer(draw_sequences(rng), draw_memory(rng), initial_state=states)
    symbolic = [keras.Input(part.shape[1:]) for part in states]
    with pytest.raises(ValueError, match=expected):
        make_rnn(inner="lstm")(
            keras.Input((None, INPUT_UNITS)),
            keras.Input((None, MEMORY_UNITS)),
            initial_state=symbolic,
        )


def test_state_of_another_batch_raises(rng):
    states = [draw(rng, 2, CELL_UNITS)]
    with pytest.raises(ValueError, match=r"Expected \(3, 13\)"):
        make_rnn()(draw_sequences(rng), draw_memory(rng), initial_state=states)


def test_states_of_another_structure_raise(rng):
    """Stacked cells take what they give: one entry for each cell."""
    layer = make_rnn(inner="stacked")
    flat = [draw(rng, BATCH, size) for size in (5, CELL_UNITS, CELL_UNITS)]
    with pytest.raises(
        ValueError, match=r"Expected a list of 2, .*\[5, \[13, 13\]\]"
    ):
        layer(draw_sequences(rng), draw_memory(rng), initial_state=flat)
    unnested = [flat[0], flat[1]]
    with pytest.raises(ValueError, match=r"Expected \(3, 13\), \(3, 13\): "):
        layer(draw_sequences(rng), draw_memory(rng), initial_state=unnested)


@pytest.mark.parametrize("mode", ["eager", "symbolic"])
def test_memory_of_rank_2_raises(mode, rng):
    """An encoder's state is no memory, and the error says what is.

    Reported as tensorflow/addons#1153, tensorflow/addons#1995.
    """
    state = draw(rng, BATCH, MEMORY_UNITS)
    sequences = draw_sequences(rng)
    if mode == "symbolic":
        state = keras.Input((MEMORY_UNITS,))
        sequences = keras.Input((None, INPUT_UNITS))
    with pytest.raises(ValueError, match=r"Expected.*\(batch, time, depth\)"):
        make_rnn()(sequences, state)


def test_memory_of_rank_2_raises_once_built_too(rng):
    layer = built(make_rnn(), rng)
    with pytest.raises(ValueError, match=r"Expected.*\(batch, time, depth\)"):
        layer(draw_sequences(rng), draw(rng, BATCH, MEMORY_UNITS))


def test_memory_of_other_units_raises_once_built(rng):
    layer = built(make_rnn(), rng)
    with pytest.raises(ValueError, match="11"):
        layer(draw_sequences(rng), draw(rng, BATCH, MEMORY_LENGTH, 23))


@pytest.mark.parametrize("mode", ["eager", "symbolic"])
def test_unequal_batches_raise(mode, rng):
    """The error names both sizes. Reported as jayparks/tf-seq2seq#8."""
    sequences, memory = draw_sequences(rng), draw_memory(rng)[:2]
    if mode == "symbolic":
        sequences = keras.Input(sequences.shape[1:], sequences.shape[0])
        memory = keras.Input(memory.shape[1:], memory.shape[0])
    expected = r"sequences: 3, memory: 2\). Expected equal sizes"
    with pytest.raises(ValueError, match=expected):
        make_rnn()(sequences, memory)


@pytest.mark.parametrize("name", ["mask", "memory_mask"])
def test_mask_of_wrong_length_raises(name, rng):
    """Reported as keras-team/keras#22037: another length was accepted."""
    mask = np.ones((BATCH, 4), dtype=bool)
    expected = (
        rf"`{name}` of shape \(3, 4\).*Expected \(3, [57]\): \(batch, len"
    )
    with pytest.raises(ValueError, match=expected):
        make_rnn()(draw_sequences(rng), draw_memory(rng), **{name: mask})


def test_sequences_of_rank_2_raise(rng):
    expected = r"Expected 3 axes: \(batch, length, units\)"
    with pytest.raises(ValueError, match=expected):
        make_rnn()(draw(rng, BATCH, INPUT_UNITS), draw_memory(rng))


@pytest.mark.parametrize("length", [None, 97])
@pytest.mark.parametrize("cell", CELLS)
def test_shapes_are_found_without_all_steps(cell, length, monkeypatch):
    layer = make_rnn(cell, **EVERYTHING)
    whole_loop, lengths = attention_rnn.loop, []

    def count(step, sequences, *arguments, **options):
        lengths.append(sequences.shape[1])
        return whole_loop(step, sequences, *arguments, **options)

    monkeypatch.setattr(attention_rnn, "loop", count)
    sequences, memory = (
        keras.Input((length, INPUT_UNITS)),
        keras.Input((length, MEMORY_UNITS)),
    )
    results = layer(sequences, memory)
    assert set(lengths) == {1}
    assert results[0].shape == (None, length, layer.cell.output_size)
    assert results[-1].shape == (None, length, length)


@tensorflow_only("lengths that stay unknown")
def test_unrolling_an_unknown_length_raises():
    with pytest.raises(ValueError, match="Expected a known length"):
        make_rnn(unroll=True)(
            keras.Input((None, INPUT_UNITS)), keras.Input((None, MEMORY_UNITS))
        )


def test_wrong_number_of_memories_raises(rng):
    memories = [draw_memory(rng), draw_memory(rng)]
    with pytest.raises(ValueError, match="2 memories .*Expected one for all"):
        make_rnn()(draw_sequences(rng), memories)


# Saving


@pytest.mark.parametrize("cell", ["bahdanau", "luong_feeding_residual"])
def test_saved_model_loads_with_equal_outputs(cell, tmp_path, rng):
    """An RNN with a memory saves and loads.

    Reported as tensorflow/tensorflow#43369 for cells with constants.
    """
    inputs = [
        keras.Input((None, INPUT_UNITS)),
        keras.Input((None, MEMORY_UNITS)),
    ]
    model = keras.Model(
        inputs, make_rnn(cell, "stacked", **EVERYTHING)(*inputs)
    )
    randomize(model, rng)
    path = tmp_path / "model.keras"
    model.save(path)
    arrays = [draw_sequences(rng), draw_memory(rng)]
    loaded = keras.models.load_model(path)
    assert len(loaded.weights) == len(model.weights)
    assert_all_close(loaded(arrays), model(arrays), 1e-6)
