"""The numbers that TensorFlow Addons 0.23 tests its AttentionWrapper with.

Its tests store means alone. Full arrays are compared with its equations,
written in NumPy from the names of its weights.
"""

from pathlib import Path
from types import SimpleNamespace
from typing import Any
from typing import NamedTuple

import keras
import numpy as np
import pytest
import reference
import reference_mechanisms
import reference_recurrent

import keras_attention


pytestmark = pytest.mark.every_case

# What its tests draw, see tests/golden/make_tfa_golden.py.
INPUTS = np.load(Path(__file__).parents[1] / "golden" / "tfa_inputs.npz")

# The decoder runs to the longest of its lengths, [2, 0, 1, 2, 3], and without
# `impute_finished` it takes all steps in all rows.
SEQUENCES = INPUTS["decoder_inputs"][:, :3]
MEMORY = INPUTS["encoder_outputs"]
MEMORY_MASK = np.arange(8) < np.array([[3], [2], [3], [1], [1]])

INPUT_UNITS, CELL_UNITS, MEMORY_UNITS, STATE_UNITS = 7, 9, 10, 6
ADDITIVE_UNITS = 3


class Numbers(NamedTuple):
    """One of its tests, and the means that it stores.

    Attributes:
        attention: Function that makes our attention.
        output: Of all steps; `sample_ids` are the largest units of it.
        sample_ids: See `output`.
        hidden: State of the LSTM after the last step, as what follows.
        carry: The other state of the LSTM.
        attention_vector: The attentional state.
        alignment: The attention scores.
        history: The attention scores of all steps.
        has_layer: Whether there is an attention layer.
    """

    attention: Any
    output: float
    sample_ids: float
    hidden: float
    carry: float
    attention_vector: float
    alignment: float = 1 / 8
    history: float = 1 / 8
    has_layer: bool = True


def additive(normalize=False):
    return keras_attention.BahdanauAttention(ADDITIVE_UNITS, normalize)


def multiplicative(scale=False):
    return keras_attention.LuongAttention("general", scale=scale)


def monotonic_additive(normalize=False):
    return keras_attention.MonotonicAttention(
        keras_attention.AdditiveScore(ADDITIVE_UNITS, normalize)
    )


def monotonic_multiplicative(scale=False):
    return keras_attention.MonotonicAttention(
        keras_attention.GeneralScore(scale)
    )


LUONG = (-0.06124732, 2.7333333, 0.52021580, 1.0964939, -0.0318060)
# Its tests store other numbers, see the last test; these it computes with
# mode="recursive".
LUONG_MONOTONIC = (
    *(0.00456441, 3.0666667, 0.54318613, 1.12592840, 0.06182693),
    *(0.06071947, 0.07314625),
)
SETS = {
    "bahdanau": Numbers(
        additive, -0.003204414, 3.2, 0.40868404, 0.89017969, 0.041453815
    ),
    "bahdanau_normalized": Numbers(
        lambda: additive(normalize=True),
        *(-0.008089137, 2.8, 0.49166861, 1.01068615, 0.042427111),
    ),
    "luong": Numbers(multiplicative, *LUONG),
    "luong_scaled": Numbers(lambda: multiplicative("learned"), *LUONG),
    "bahdanau_without_layer": Numbers(
        additive,
        *(0.078317143, 4.2, 0.89382392, 1.722382, 0.026356646),
        has_layer=False,
    ),
    "bahdanau_monotonic": Numbers(
        monotonic_additive,
        *(-0.009921653, 3.1333333, 0.44612807, 0.95786464, 0.038682378),
        *(0.09778417, 0.102615796),
    ),
    "bahdanau_monotonic_normalized": Numbers(
        lambda: monotonic_additive(normalize=True),
        *(0.007140680, 3.2666667, 0.47012400, 1.0249618, 0.068432882),
        *(0.0615656, 0.07909643),
    ),
    "luong_monotonic": Numbers(monotonic_multiplicative, *LUONG_MONOTONIC),
    "luong_monotonic_scaled": Numbers(
        lambda: monotonic_multiplicative("learned"), *LUONG_MONOTONIC
    ),
}


def initial_weights(name):
    """Returns what the weights of a test of TFA are, by their names there."""
    has_layer = SETS[name].has_layer
    is_additive = name.startswith("bahdanau")
    depth = ADDITIVE_UNITS if is_additive else CELL_UNITS
    fed = STATE_UNITS if has_layer else MEMORY_UNITS
    bias = np.zeros((4, CELL_UNITS))
    bias[1] = 1  # of the gate that forgets
    weights = {
        "lstm_cell/kernel": np.ones((INPUT_UNITS + fed, 4 * CELL_UNITS)),
        "lstm_cell/recurrent_kernel": np.ones((CELL_UNITS, 4 * CELL_UNITS)),
        "lstm_cell/bias": bias.reshape(-1),
        "memory_layer/kernel": np.ones((MEMORY_UNITS, depth)),
    }
    if has_layer:
        kernel = INPUTS["attention_layer_kernel"]
        weights["attention_layer/kernel"] = kernel
    if is_additive:
        weights["query_layer/kernel"] = np.ones((CELL_UNITS, depth))
        weights["attention_v"] = np.ones(depth)
    if name.endswith("normalized"):
        weights["attention_g"] = np.sqrt(1 / depth)
        weights["attention_b"] = np.zeros(depth)
    if name.endswith("scaled"):
        weights["attention_g"] = np.ones(())
    if "monotonic" in name:
        weights["attention_score_bias"] = np.zeros(())
    return weights


def scores_of(weights, query):
    """The scores of one step, `(batch, memory_length)`."""
    query = query[:, None]
    memory_kernel = weights["memory_layer/kernel"]
    gain = weights.get("attention_g")
    if "attention_v" in weights:
        scores = reference.additive_score(
            query,
            MEMORY,
            weights["query_layer/kernel"],
            memory_kernel,
            weights["attention_v"],
            gain,
            weights.get("attention_b"),
        )
    else:
        scores = reference.general_score(query, MEMORY, memory_kernel)
        scores = scores * (1 if gain is None else gain)
    return scores[:, 0] + weights.get("attention_score_bias", 0)


def clipped_row(choose, previous):
    """Raffel et al. (2017), eq. 12, as mode="parallel" of TFA computes it.

    Where nearly all probability stops early, the product of what passes is
    below 1e-10 further on, and what was there in the step before is lost.
    """
    passed = np.cumprod([1, *(1 - choose[:-1])])
    reached = np.cumsum(previous / np.maximum(passed, 1e-10))
    return choose * passed * reached


def align(weights, scores, previous, monotonic_row):
    """The alignments of one step, from those of the step before."""
    if "attention_score_bias" not in weights:
        return reference.softmax(scores, MEMORY_MASK)
    choose = np.where(MEMORY_MASK, reference_recurrent.sigmoid(scores), 0)
    rows = zip(choose, previous, strict=True)
    return np.array([monotonic_row(*row) for row in rows])


def attention_wrapper(
    weights, monotonic_row=reference_mechanisms.monotonic_row
):
    """Steps on [inputs; attention], looks, and takes [hidden; context].

    Args:
        weights: Arrays by the names of TFA.
        monotonic_row: Alignments of a row of a monotonic mechanism.

    Returns:
        Outputs, sample ids, the two states of the LSTM, the attention, and
        the alignments of the last and of all steps.
    """
    cell = SimpleNamespace(
        kernel=weights["lstm_cell/kernel"],
        recurrent_kernel=weights["lstm_cell/recurrent_kernel"],
        bias=weights["lstm_cell/bias"],
    )
    kernel = weights.get("attention_layer/kernel", np.eye(MEMORY_UNITS))
    batch = len(SEQUENCES)
    attention = np.zeros((batch, kernel.shape[1]))
    states = [np.zeros((batch, CELL_UNITS))] * 2
    alignment = np.tile(np.arange(8) == 0, (batch, 1))
    outputs, history = [], []
    for inputs in np.swapaxes(SEQUENCES, 0, 1):
        hidden, states = reference_recurrent.lstm_step(
            cell, np.concatenate([inputs, attention], axis=1), states
        )
        scores = scores_of(weights, hidden)
        alignment = align(weights, scores, alignment, monotonic_row)
        attention = reference_mechanisms.average(alignment[:, None], MEMORY)
        attention = attention[:, 0]
        if "attention_layer/kernel" in weights:
            attention = np.concatenate([hidden, attention], axis=1) @ kernel
        outputs.append(attention)
        history.append(alignment)
    outputs = np.stack(outputs, axis=1)
    history = np.stack(history, axis=1)
    sample_ids = np.argmax(outputs, axis=-1)
    return outputs, sample_ids, *states, attention, alignment, history


def attention_rnn(name):
    """The same as `attention_wrapper`, by a layer of this library."""
    has_layer = SETS[name].has_layer
    rnn = keras_attention.AttentionRNN(
        keras_attention.LuongRNNCell(
            keras.layers.LSTMCell(CELL_UNITS),
            SETS[name].attention(),
            attention_units=STATE_UNITS if has_layer else None,
            input_feeding=True,
            attentional_state="linear" if has_layer else "context",
        ),
        return_sequences=True,
        return_state=True,
        return_attention_scores=True,
    )
    rnn.build(SEQUENCES.shape, MEMORY.shape)
    keras_attention.import_tfa_weights(rnn.cell, initial_weights(name))
    outputs, hidden, carry, attention, *_, history = map(
        np.asarray, rnn(SEQUENCES, MEMORY, memory_mask=MEMORY_MASK)
    )
    sample_ids = np.argmax(outputs, axis=-1)
    alignment = history[:, -1]
    return outputs, sample_ids, hidden, carry, attention, alignment, history


@pytest.mark.parametrize("name", SETS)
def test_arrays_are_those_of_the_equations(name):
    expected = attention_wrapper(initial_weights(name))
    received = attention_rnn(name)
    for one, other in zip(received, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", SETS)
def test_means_are_those_of_tensorflow_addons(name):
    """Its own tests have a tolerance of 1e-3."""
    _, *expected, _ = SETS[name]
    received = [np.mean(array) for array in attention_rnn(name)]
    np.testing.assert_allclose(received, expected, rtol=0, atol=1e-5)


def test_tensorflow_addons_loses_probability_where_scores_are_large():
    """Its tests of LuongMonotonicAttention store the loss, in one row."""
    weights = initial_weights("luong_monotonic")
    results = attention_wrapper(weights, clipped_row)
    expected = (
        *(0.003664831, 3.0666667, 0.54318606, 1.12592840, 0.059128221),
        *(0.05112994, 0.069949739),
    )
    received = [np.mean(array) for array in results]
    np.testing.assert_allclose(received, expected, rtol=0, atol=1e-5)
    *_, history = attention_rnn("luong_monotonic")
    lost = np.sum(history - results[-1], axis=-1)
    np.testing.assert_allclose(lost[0, 2], 0.3836, atol=1e-3)
    lost[0, 2] = 0
    np.testing.assert_allclose(lost, 0, atol=1e-5)
