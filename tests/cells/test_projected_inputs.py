import keras
import numpy as np
import pytest
from gradients import value_and_gradients
from keras import ops
from layer_catalogue import BATCH
from layer_catalogue import CELL_UNITS
from layer_catalogue import INPUT_UNITS
from layer_catalogue import LENGTH
from layer_catalogue import MASK
from layer_catalogue import MEMORY_MASK
from layer_catalogue import draw
from layer_catalogue import draw_memory
from layer_catalogue import draw_sequences
from layer_catalogue import randomize

import keras_attention
from keras_attention.cells.projected_inputs import ProjectedInputs
from keras_attention.cells.projected_inputs import project_inputs
from keras_attention.cells.projected_inputs import take_step


FED_UNITS = 5
TOLERANCE = 2e-6


class OwnGRUCell(keras.layers.GRUCell):
    """Like any cell that is not exactly one of Keras, it sees its inputs."""


class OwnLSTMCell(keras.layers.LSTMCell):
    """As above."""


class OwnSimpleRNNCell(keras.layers.SimpleRNNCell):
    """As above."""


class OwnStackedRNNCells(keras.layers.StackedRNNCells):
    """As above."""


def make_stacked(cls):
    gru = keras.layers.GRUCell(7, reset_after=False)
    return cls([gru, keras.layers.LSTMCell(11), keras.layers.GRUCell(13)])


# A cell of Keras, and one of the same equations that is not projected.
PAIRS = {
    "gru": (keras.layers.GRUCell, OwnGRUCell, {}),
    "gru_reset_before": (
        keras.layers.GRUCell,
        OwnGRUCell,
        {"reset_after": False},
    ),
    "gru_without_bias": (
        keras.layers.GRUCell,
        OwnGRUCell,
        {"use_bias": False},
    ),
    "gru_of_other_functions": (
        keras.layers.GRUCell,
        OwnGRUCell,
        {"activation": "softsign", "recurrent_activation": "hard_sigmoid"},
    ),
    "lstm": (keras.layers.LSTMCell, OwnLSTMCell, {}),
    "lstm_of_other_functions": (
        keras.layers.LSTMCell,
        OwnLSTMCell,
        {
            "activation": "softsign",
            "recurrent_activation": "hard_sigmoid",
            "use_bias": False,
        },
    ),
    "simple": (keras.layers.SimpleRNNCell, OwnSimpleRNNCell, {}),
    "simple_linear": (
        keras.layers.SimpleRNNCell,
        OwnSimpleRNNCell,
        {"activation": None, "use_bias": False},
    ),
}


def make_pair(name):
    if name == "stacked":
        return [
            make_stacked(keras.layers.StackedRNNCells),
            make_stacked(OwnStackedRNNCells),
        ]
    *classes, arguments = PAIRS[name]
    return [cls(CELL_UNITS, **arguments) for cls in classes]


NAMES = [*PAIRS, "stacked"]
# What an attention cell feeds into the cell: a context, an attentional state,
# or nothing, so that attention follows the loop.
CELLS = {
    "context": keras_attention.BahdanauRNNCell,
    "attentional_state": lambda cell, attention: keras_attention.LuongRNNCell(
        cell, attention, input_feeding=True
    ),
    "nothing": keras_attention.LuongRNNCell,
}


def make_twins(name, fed, rng, **kwargs):
    """Makes two layers of the same weights; only the first one projects."""
    layers = [
        keras_attention.AttentionRNN(
            CELLS[fed](cell, keras_attention.LuongAttention("general")),
            return_sequences=True,
            return_state=True,
            **kwargs,
        )
        for cell in make_pair(name)
    ]
    sequences, memory = draw_sequences(rng), draw_memory(rng)
    for layer in layers:
        layer.build(sequences.shape, memory.shape)
    randomize(layers[0], rng, scale=0.4)
    layers[1].set_weights(layers[0].get_weights())
    return layers, sequences, memory


@pytest.mark.parametrize("fed", [0, FED_UNITS])
@pytest.mark.parametrize("name", NAMES)
def test_projected_step_equals_the_step_of_keras(name, fed, rng):
    cell, _ = make_pair(name)
    cell.build((BATCH, INPUT_UNITS + fed))
    randomize(cell, rng)
    sequences = draw_sequences(rng)
    projected = project_inputs(cell, ops.convert_to_tensor(sequences))
    assert isinstance(projected, ProjectedInputs)
    states = [
        keras.tree.map_structure(lambda size: draw(rng, BATCH, size), sizes)
        for sizes in np.atleast_1d(np.array(cell.state_size, dtype=object))
    ]
    states = keras.tree.map_structure(ops.convert_to_tensor, states)
    more = draw(rng, BATCH, fed) if fed else None
    for step in range(LENGTH):
        now = projected._replace(values=projected.values[:, step])
        output, next_states = take_step(cell, now, more, states)
        inputs = sequences[:, step]
        if fed:
            inputs = np.concatenate([inputs, more], axis=-1)
        expected, expected_states = cell(ops.convert_to_tensor(inputs), states)
        keras.tree.map_structure(
            lambda a, b: np.testing.assert_allclose(
                ops.convert_to_numpy(a),
                ops.convert_to_numpy(b),
                rtol=0,
                atol=TOLERANCE,
            ),
            [output, keras.tree.flatten(next_states)],
            [expected, keras.tree.flatten(expected_states)],
        )
        states = next_states


@pytest.mark.parametrize("fed", CELLS)
@pytest.mark.parametrize("name", NAMES)
def test_projected_inputs_change_no_output_and_no_gradient(name, fed, rng):
    layers, sequences, memory = make_twins(name, fed, rng)
    weight = draw(rng, BATCH, LENGTH, 1)
    results = []
    for layer in layers:

        def run(sequences, memory, layer=layer):
            output, *states = layer(
                sequences, memory, mask=MASK, memory_mask=MEMORY_MASK
            )
            states = keras.tree.flatten(states)
            total = ops.sum(output * weight)
            return [total + sum(map(ops.sum, states)), output, *states]

        results.append(
            value_and_gradients(
                run, [sequences, memory], layer.trainable_variables, "graph"
            )
        )
    for one, other in zip(
        keras.tree.flatten(results[0]),
        keras.tree.flatten(results[1]),
        strict=True,
    ):
        # Gradients are sums of many terms: exact to float32 of the largest.
        largest = max(1.0, np.abs(other).max())
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-5 * largest)


@pytest.mark.parametrize("make", [OwnGRUCell, OwnLSTMCell])
def test_cell_of_a_user_sees_its_inputs(make, rng):
    cell = make(CELL_UNITS)
    cell.build((BATCH, INPUT_UNITS))
    assert project_inputs(cell, draw_sequences(rng)) is None


@pytest.mark.parametrize("dropped", ["dropout", "recurrent_dropout"])
def test_cell_that_drops_inputs_or_states_sees_them_in_training(dropped, rng):
    cell = keras.layers.GRUCell(CELL_UNITS, **{dropped: 0.5})
    cell.build((BATCH, INPUT_UNITS))
    sequences = ops.convert_to_tensor(draw_sequences(rng))
    assert project_inputs(cell, sequences, training=True) is None
    assert project_inputs(cell, sequences) is not None


@pytest.mark.parametrize(
    "parent",
    [keras_attention.BahdanauRNNCell, keras_attention.LuongRNNCell],
)
def test_subclass_with_a_step_of_its_own_gets_plain_inputs(parent, rng):
    widths = set()

    class Watching(parent):
        def call(self, inputs, states, memory, training=False):
            widths.add(inputs.shape[-1])
            return super().call(inputs, states, memory, training=training)

        @property
        def attention_is_recurrent(self):
            return True

    layer = keras_attention.AttentionRNN(
        Watching(
            keras.layers.GRUCell(CELL_UNITS),
            keras_attention.LuongAttention("general"),
        )
    )
    layer(draw_sequences(rng), draw_memory(rng))
    assert widths == {INPUT_UNITS}
