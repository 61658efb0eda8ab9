import keras
import numpy as np
import pytest
from keras import ops
from layer_catalogue import BATCH
from layer_catalogue import CELL_UNITS
from layer_catalogue import draw
from layer_catalogue import draw_memory
from layer_catalogue import draw_sequences
from layer_catalogue import make_rnn
from layer_catalogue import randomize

import keras_attention


ENCODERS = {"gru": (keras.layers.GRU, 1), "lstm": (keras.layers.LSTM, 2)}
UNITS = 5


def bidirectional_states(encoder, rng):
    """The states of a bidirectional encoder, as Keras returns them."""
    layer = keras.layers.Bidirectional(
        ENCODERS[encoder][0](UNITS, return_state=True)
    )
    sequences = draw_sequences(rng)
    layer.build(sequences.shape)
    randomize(layer, rng)
    _, *states = layer(sequences)
    return states


def expected_states(mode, states, bridge):
    """The equations of the docstring, on forward and backward states."""
    half = len(states) // 2
    results = []
    for index in range(half):
        pair = np.array(states[index]), np.array(states[half + index])
        if mode == "sum":
            results.append(pair[0] + pair[1])
            continue
        joined = np.concatenate(pair, axis=-1)
        if mode == "dense":
            dense = bridge.layers[index]
            joined = np.tanh(
                joined @ np.array(dense.kernel) + np.array(dense.bias)
            )
        results.append(joined)
    return results


@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("mode", ["dense", "concat", "sum"])
def test_bidirectional_states_are_bridged_by_the_equations(mode, encoder, rng):
    states = bidirectional_states(encoder, rng)
    units = CELL_UNITS if mode == "dense" else None
    bridge = keras_attention.StateBridge(mode, units=units)
    bridge(states)
    randomize(bridge, rng)
    received = bridge(states)
    expected = expected_states(mode, states, bridge)
    assert len(received) == ENCODERS[encoder][1]
    for one, other in zip(received, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


def test_every_state_has_weights_of_its_own(rng):
    bridge = keras_attention.StateBridge(units=CELL_UNITS)
    bridge(bidirectional_states("lstm", rng))
    shapes = [tuple(weight.shape) for weight in bridge.weights]
    assert shapes == [(2 * UNITS, CELL_UNITS), (CELL_UNITS,)] * 2


def test_states_of_one_direction_are_bridged_one_by_one(rng):
    states = [draw(rng, BATCH, 3), draw(rng, BATCH, 7), draw(rng, BATCH, 2)]
    bridge = keras_attention.StateBridge(
        units=CELL_UNITS, activation=None, bidirectional=False
    )
    bridge(states)
    randomize(bridge, rng)
    for state, layer, result in zip(
        states, bridge.layers, bridge(states), strict=True
    ):
        expected = state @ np.array(layer.kernel) + np.array(layer.bias)
        np.testing.assert_allclose(result, expected, atol=1e-6)


@pytest.mark.parametrize("mode", ["concat", "sum"])
def test_states_of_one_direction_pass_where_nothing_joins_them(mode, rng):
    states = [draw(rng, BATCH, 3), draw(rng, BATCH, 7)]
    bridge = keras_attention.StateBridge(mode, bidirectional=False)
    for state, result in zip(states, bridge(states), strict=True):
        np.testing.assert_array_equal(result, state)


@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("mode", ["dense", "concat"])
def test_bridged_states_start_a_decoder(mode, encoder, rng):
    """Reported as rstudio/keras3#624: encoder states that fit no decoder."""
    states = bidirectional_states(encoder, rng)
    bridge = keras_attention.StateBridge(
        mode, units=CELL_UNITS if mode == "dense" else None
    )
    inner = {"gru": keras.layers.GRUCell, "lstm": keras.layers.LSTMCell}
    units = CELL_UNITS if mode == "dense" else 2 * UNITS
    layer = keras_attention.AttentionRNN(
        keras_attention.BahdanauRNNCell(
            inner[encoder](units), keras_attention.BahdanauAttention(17)
        )
    )
    started = layer(
        draw_sequences(rng), draw_memory(rng), initial_state=bridge(states)
    )
    plain = layer(draw_sequences(rng), draw_memory(rng))
    assert started.shape == (BATCH, units)
    assert np.max(np.abs(np.array(started) - np.array(plain))) > 1e-3


def test_symbolic_states_have_the_shapes_of_eager_ones():
    states = [keras.Input((3,)), keras.Input((3,))]
    (state,) = keras_attention.StateBridge(units=CELL_UNITS)(states)
    assert state.shape == (None, CELL_UNITS)
    (state,) = keras_attention.StateBridge("concat")(states)
    assert state.shape == (None, 6)


def test_states_are_not_changed_in_place(rng):
    states = [ops.convert_to_tensor(draw(rng, BATCH, 3)) for _ in range(2)]
    before = np.array(states[0])
    keras_attention.StateBridge("sum")(states)
    np.testing.assert_array_equal(states[0], before)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"mode": "mean"}, "Expected one of: 'dense', 'concat', 'sum'"),
        ({"mode": "dense"}, "Expected a positive integer"),
        ({"units": 0}, "Expected a positive integer"),
        ({"mode": "sum", "units": 5}, "Expected units only for mode='dense'"),
    ],
    ids=["mode", "no_units", "zero_units", "units_for_sum"],
)
def test_errors_of_the_constructor(arguments, expected):
    with pytest.raises(ValueError, match=expected):
        keras_attention.StateBridge(**arguments)


def test_odd_number_of_states_raises(rng):
    states = [draw(rng, BATCH, 3)] * 3
    with pytest.raises(ValueError, match=r"Expected an even .*bidirectional=F"):
        keras_attention.StateBridge(units=CELL_UNITS)(states)


@pytest.mark.parametrize("mode", ["dense", "sum"])
def test_single_tensor_raises(mode, rng):
    units = CELL_UNITS if mode == "dense" else None
    with pytest.raises(ValueError, match=r"Expected a list of states: `mem"):
        keras_attention.StateBridge(mode, units)(draw(rng, BATCH, 3))


def test_unequal_states_have_no_sum(rng):
    states = [draw(rng, BATCH, 3), draw(rng, BATCH, 1)]
    with pytest.raises(ValueError, match="Expected equal units"):
        keras_attention.StateBridge("sum")(states)


def test_bridge_serves_symbolic_encoder_and_decoder():
    source = keras.Input((None, 2))
    memory, *states = keras.layers.Bidirectional(
        keras.layers.LSTM(UNITS, return_sequences=True, return_state=True)
    )(source)
    target = keras.Input((None, 3))
    output = make_rnn("luong_feeding", "lstm", return_sequences=True)(
        target,
        memory,
        initial_state=keras_attention.StateBridge(units=CELL_UNITS)(states),
    )
    assert output.shape == (None, None, 23)
