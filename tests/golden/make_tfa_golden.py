"""Runs TensorFlow Addons 0.23 and stores what it computes.

TensorFlow Addons does not run beside Keras 3, so this script has an
environment of its own:

    python3.11 -m venv tfa
    tfa/bin/pip install tensorflow-cpu==2.15.1 tensorflow-addons==0.23.0 "numpy<2"
    tfa/bin/python tests/golden/make_tfa_golden.py

It writes, beside itself, `tfa_inputs.npz`, what the tests of TensorFlow Addons
draw; and `tfa_outputs.npz`, for each case below the weights by name and the
results of a decoder over `sequences` and `memory`. Names in it are
`case|output`, `case|weight|name of the variable` and so on.
"""  # noqa: E501 - a command is one line

from pathlib import Path

import numpy as np
import tensorflow as tf
from tensorflow.keras import layers
from tensorflow_addons import seq2seq


FOLDER = Path(__file__).parent

BATCH = 3
LENGTHS = [5, 2, 3]
MEMORY_LENGTHS = [7, 2, 5]
INPUT_UNITS = 2
CELL_UNITS = 11
MEMORY_UNITS = 13
MECHANISM_UNITS = 17
STATE_UNITS = 19

LSTM = layers.LSTMCell
GRU = layers.GRUCell

# Inner cell and its arguments, mechanism and its arguments, attention layer.
CASES = {
    "bahdanau": (LSTM, {}, "Bahdanau", {}, STATE_UNITS),
    "bahdanau_normalized": (
        GRU,
        {"reset_after": True},
        "Bahdanau",
        {"normalize": True},
        STATE_UNITS,
    ),
    "luong": (GRU, {"reset_after": False}, "Luong", {}, STATE_UNITS),
    "luong_scaled": (LSTM, {}, "Luong", {"scale": True}, STATE_UNITS),
    "no_attention_layer": (LSTM, {}, "Bahdanau", {}, None),
    "simple_rnn": (layers.SimpleRNNCell, {}, "Luong", {}, None),
    "bahdanau_monotonic": (
        LSTM,
        {},
        "BahdanauMonotonic",
        {"normalize": True},
        STATE_UNITS,
    ),
    "luong_monotonic": (
        GRU,
        {"reset_after": True},
        "LuongMonotonic",
        {"scale": True},
        STATE_UNITS,
    ),
}


def draw_inputs():
    """Draws what AttentionWrapperTest of TensorFlow Addons draws."""
    np.random.seed(87654321)
    # Its set-up draws and throws away before.
    np.random.randn(64, 10, 256)
    np.random.randint(1, high=10, size=(64,))
    np.random.randn(64, 12, 128)
    np.random.randint(12, size=(64,))
    sequences = np.random.randn(5, 4, 7)
    memory = np.random.randn(5, 8, 10)
    tf.random.set_seed(87654321)
    draw = tf.compat.v1.glorot_uniform_initializer(seed=1337)
    return {
        "decoder_inputs": sequences.astype("float32"),
        "encoder_outputs": memory.astype("float32"),
        "attention_layer_kernel": draw((19, 6)).numpy(),
    }


def decode(case, sequences, memory, rng):
    """Returns the weights and results of one case."""
    cell, arguments, mechanism, options, state_units = CASES[case]
    units = MECHANISM_UNITS if mechanism.startswith("B") else CELL_UNITS
    mechanism = getattr(seq2seq, f"{mechanism}Attention")(units, **options)
    mechanism.setup_memory(memory, MEMORY_LENGTHS)
    wrapper = seq2seq.AttentionWrapper(
        cell(CELL_UNITS, **arguments),
        mechanism,
        attention_layer_size=state_units,
        alignment_history=True,
    )
    decoder = seq2seq.BasicDecoder(wrapper, seq2seq.TrainingSampler())

    def run():
        # The keys of the mechanism are computed here, from its weights.
        mechanism.setup_memory(memory, MEMORY_LENGTHS)
        start = wrapper.get_initial_state(batch_size=BATCH, dtype="float32")
        return decoder(sequences, initial_state=start, sequence_length=LENGTHS)

    run()  # makes the weights
    for variable in decoder.variables:
        variable.assign(rng.normal(0.0, 0.3, variable.shape))
    output, state, _ = run()
    results = {
        f"weight|{variable.name}": variable.numpy()
        for variable in decoder.variables
    }
    results["output"] = output.rnn_output
    history = state.alignment_history.stack()
    results["alignments"] = np.transpose(history, (1, 0, 2))
    for index, part in enumerate(tf.nest.flatten(state.cell_state)):
        results[f"state|{index}"] = part
    results["attention"] = state.attention
    return {f"{case}|{name}": array for name, array in results.items()}


def main():
    rng = np.random.default_rng(7)
    arrays = {
        "sequences": rng.normal(size=(BATCH, max(LENGTHS), INPUT_UNITS)),
        "memory": rng.normal(size=(BATCH, max(MEMORY_LENGTHS), MEMORY_UNITS)),
    }
    arrays = {name: part.astype("float32") for name, part in arrays.items()}
    results = {"memory_lengths": np.array(MEMORY_LENGTHS), **arrays}
    for case in CASES:
        results |= decode(case, **arrays, rng=rng)
    np.savez_compressed(FOLDER / "tfa_inputs.npz", **draw_inputs())
    np.savez_compressed(FOLDER / "tfa_outputs.npz", **results)


if __name__ == "__main__":
    main()
