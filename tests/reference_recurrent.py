"""The recurrent equations of Keras and of the papers, in NumPy and float64.

Weights are read from the layers; nothing else of them is used. A state is an
array or a list of states, as the cells of Keras have it.
"""

import keras
import numpy as np
import reference

import keras_attention


def number(weight):
    return np.array(weight).astype("float64")


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def simple_rnn_step(cell, inputs, states):
    state = number(cell.recurrent_kernel)
    hidden = np.tanh(
        inputs @ number(cell.kernel) + states[0] @ state + number(cell.bias)
    )
    return hidden, [hidden]


def gru_step(cell, inputs, states):
    """Cho et al. (2014); `reset_after` is the variant of cuDNN."""
    previous = states[0]
    kernels = np.split(number(cell.kernel), 3, axis=1)
    recurrent = np.split(number(cell.recurrent_kernel), 3, axis=1)
    biases = np.split(np.atleast_2d(number(cell.bias)), 3, axis=1)
    update, reset, candidate = (
        inputs @ kernel + bias[0]
        for kernel, bias in zip(kernels, biases, strict=True)
    )
    if not cell.reset_after:
        update = sigmoid(update + previous @ recurrent[0])
        reset = sigmoid(reset + previous @ recurrent[1])
        candidate = np.tanh(candidate + (reset * previous) @ recurrent[2])
    else:
        update = sigmoid(update + previous @ recurrent[0] + biases[0][1])
        reset = sigmoid(reset + previous @ recurrent[1] + biases[1][1])
        candidate = np.tanh(
            candidate + reset * (previous @ recurrent[2] + biases[2][1])
        )
    hidden = update * previous + (1 - update) * candidate
    return hidden, [hidden]


def lstm_step(cell, inputs, states):
    hidden, carry = states
    gates = (
        inputs @ number(cell.kernel)
        + hidden @ number(cell.recurrent_kernel)
        + number(cell.bias)
    )
    entry, forget, candidate, output = np.split(gates, 4, axis=1)
    carry = sigmoid(forget) * carry + sigmoid(entry) * np.tanh(candidate)
    hidden = sigmoid(output) * np.tanh(carry)
    return hidden, [hidden, carry]


def stacked_step(cell, inputs, states):
    next_states = []
    for inner, state in zip(cell.cells, states, strict=True):
        is_list = isinstance(state, list)
        inputs, state = step(inner, inputs, state if is_list else [state])
        next_states.append(state if is_list else state[0])
    return inputs, next_states


STEPS = {
    "SimpleRNNCell": simple_rnn_step,
    "GRUCell": gru_step,
    "LSTMCell": lstm_step,
    "StackedRNNCells": stacked_step,
}


def step(cell, inputs, states):
    return STEPS[type(cell).__name__](cell, inputs, states)


def zero_states(cell, batch):
    def zeros(size):
        if isinstance(size, (list, tuple)):
            return [zeros(part) for part in size]
        return np.zeros((batch, size))

    sizes = cell.state_size
    return zeros(sizes if isinstance(sizes, (list, tuple)) else [sizes])


def scores_of(attention, query, memory):
    """The scores of one query row per example, `(batch, 1, memory_length)`."""
    score = attention.score
    query = query[:, None]
    if isinstance(score, keras_attention.AdditiveScore):
        return reference.additive_score(
            query,
            memory,
            number(score.query_layer.kernel),
            number(score.memory_layer.kernel),
            number(score.direction),
            number(score.gain) if score.normalize else None,
            number(score.bias) if score.normalize else None,
        )
    if isinstance(score, keras_attention.ConcatScore):
        return reference.concat_score(
            query, memory, number(score.kernel), number(score.direction)
        )
    if isinstance(score, keras_attention.GeneralScore):
        return reference.general_score(
            query, memory, number(score.memory_layer.kernel)
        )
    return reference.dot_score(query, memory)


def look(attention, query, memory, memory_mask):
    """Returns the context `(batch, units)` and the attention scores."""
    scores = scores_of(attention, query, memory)
    mask = None if memory_mask is None else memory_mask[:, None]
    context, attention_scores = reference.attend(scores, memory, mask)
    return context[:, 0], attention_scores[:, 0]


def attentional_state(layer, hidden, context):
    if layer.form == "context":
        return context
    kernel = number(layer.dense.kernel)
    if layer.form in ("tanh", "linear"):  # Luong et al. (2015), eq. 5
        total = np.concatenate([context, hidden], axis=-1) @ kernel
        return total if layer.form == "linear" else np.tanh(total)
    total = hidden + context @ kernel
    mean = np.mean(total, axis=-1, keepdims=True)
    variance = np.mean((total - mean) ** 2, axis=-1, keepdims=True)
    normalization = layer.normalization
    total = (total - mean) / np.sqrt(variance + normalization.epsilon)
    return total * number(normalization.gamma) + number(normalization.beta)


def bahdanau_step(cell, inputs, states, memory, memory_mask):
    """c_i looks with s_{i-1}; then s_i = f(s_{i-1}, [y_{i-1}; c_i]).

    Bahdanau et al. (2015), section 3.1 and appendix A.2.2.
    """
    query = states[0]
    if isinstance(cell.cell, keras.layers.StackedRNNCells):
        query = states[-1]
    while isinstance(query, list):
        query = query[0]
    context, scores = look(cell.attention, query, memory, memory_mask)
    inputs = np.concatenate([inputs, context], axis=-1)
    hidden, states = step(cell.cell, inputs, states)
    if cell.output_context == "residual":
        return attentional_state(cell.attentional_state, hidden, context), (
            states,
            scores,
        )
    if cell.output_context:
        hidden = np.concatenate([hidden, context], axis=-1)
    return hidden, (states, scores)


def luong_step(cell, inputs, states, memory, memory_mask):
    """h_t; then c_t looks with h_t; then the attentional state.

    Luong et al. (2015), section 3, eq. 5; with input feeding (3.3) the
    attentional state is the last of the states.
    """
    if cell.input_feeding:
        *states, fed = states
        inputs = np.concatenate([inputs, fed], axis=-1)
    hidden, states = step(cell.cell, inputs, states)
    context, scores = look(cell.attention, hidden, memory, memory_mask)
    output = attentional_state(cell.attentional_state, hidden, context)
    return output, (
        [*states, output] if cell.input_feeding else states,
        scores,
    )


def keep(valid, new, old):
    """Takes `new` in the valid rows and `old` in the others."""
    if isinstance(new, list):
        return [keep(valid, *pair) for pair in zip(new, old, strict=True)]
    return np.where(valid[:, None], new, old)


def attention_rnn(
    cell,
    sequences,
    memory,
    mask=None,
    memory_mask=None,
    initial_state=None,
):
    """Runs the loop of either paper; a masked step repeats what was.

    Returns:
        Outputs `(batch, length, output_size)`, the last states, and the
        attention scores `(batch, length, memory_length)`.
    """
    is_bahdanau = isinstance(cell, keras_attention.BahdanauRNNCell)
    take_step = bahdanau_step if is_bahdanau else luong_step
    sequences = np.asarray(sequences, dtype="float64")
    memory = np.asarray(memory, dtype="float64")
    batch, length, _ = sequences.shape
    states = initial_state
    if states is None:
        states = zero_states(cell.cell, batch)
        if not is_bahdanau and cell.input_feeding:
            states.append(np.zeros((batch, cell.output_size)))
    if mask is None:
        mask = np.ones((batch, length), dtype=bool)
    output = np.zeros((batch, cell.output_size))
    scores = np.zeros((batch, memory.shape[1]))
    outputs, all_scores = [], []
    for time in range(length):
        valid = mask[:, time]
        new_output, (new_states, new_scores) = take_step(
            cell, sequences[:, time], states, memory, memory_mask
        )
        output = keep(valid, new_output, output)
        states = keep(valid, new_states, states)
        scores = keep(valid, new_scores, scores)
        outputs.append(output)
        all_scores.append(scores)
    return np.stack(outputs, 1), states, np.stack(all_scores, 1)
