"""The equations of the papers, in NumPy and float64, one pair at a time.

Slow and plain on purpose: nothing here is shared with the library, and every
function can be read beside its equation.
"""

import numpy as np


def _each_pair(query, memory, score):
    """Calls `score(query_row, memory_row)` for every pair of positions."""
    query = np.asarray(query, dtype="float64")
    memory = np.asarray(memory, dtype="float64")
    batch, query_length, _ = query.shape
    memory_length = memory.shape[1]
    scores = np.empty((batch, query_length, memory_length))
    for b in range(batch):
        for i in range(query_length):
            for j in range(memory_length):
                scores[b, i, j] = score(query[b, i], memory[b, j])
    return scores


def additive_score(
    query,
    memory,
    query_kernel,
    memory_kernel,
    direction,
    gain=None,
    bias=None,
):
    """v . tanh(W q + U h); with a gain, (g v / |v|) . tanh(W q + U h + b).

    Bahdanau et al. (2015), appendix A.1.2; Salimans & Kingma (2016), eq. 2.
    Kernels are (input units, hidden units): W q is `q @ query_kernel`.
    """
    query_kernel = np.asarray(query_kernel, dtype="float64")
    memory_kernel = np.asarray(memory_kernel, dtype="float64")
    direction = np.asarray(direction, dtype="float64")
    if gain is not None:
        direction = gain * direction / np.sqrt(np.sum(direction**2))
    if bias is None:
        bias = np.zeros_like(direction)

    def score(q, h):
        return direction @ np.tanh(q @ query_kernel + h @ memory_kernel + bias)

    return _each_pair(query, memory, score)


def dot_score(query, memory):
    """q . h. Luong et al. (2015), section 3.1, first score."""
    return _each_pair(query, memory, lambda q, h: q @ h)


def general_score(query, memory, kernel):
    """q . W h. Luong et al. (2015), section 3.1, second score.

    The kernel is (memory units, query units): W h is `h @ kernel`.
    """
    kernel = np.asarray(kernel, dtype="float64")
    return _each_pair(query, memory, lambda q, h: q @ (h @ kernel))


def concat_score(query, memory, kernel, direction):
    """v . tanh(W [q; h]). Luong et al. (2015), section 3.1, third score.

    The kernel is (query units + memory units, hidden units).
    """
    kernel = np.asarray(kernel, dtype="float64")
    direction = np.asarray(direction, dtype="float64")

    def score(q, h):
        return direction @ np.tanh(np.concatenate([q, h]) @ kernel)

    return _each_pair(query, memory, score)


def softmax(scores, mask=None):
    """Softmax of the last axis over the positions where the mask is True.

    A row without any True is all zeros.
    """
    scores = np.asarray(scores, dtype="float64")
    if mask is None:
        mask = np.ones(scores.shape, dtype=bool)
    mask = np.asarray(mask, dtype=bool)
    probabilities = np.zeros(scores.shape)
    for row in np.ndindex(scores.shape[:-1]):
        real = np.flatnonzero(mask[row])
        if real.size:
            powers = np.exp(scores[row][real] - np.max(scores[row][real]))
            probabilities[row][real] = powers / np.sum(powers)
    return probabilities


def attend(scores, value, mask=None):
    """The context sum_j a_ij h_j, and the attention scores a.

    Args:
        scores: `(batch, query_length, memory_length)`.
        value: `(batch, memory_length, value_units)`.
        mask: Boolean, `(batch, query_length, memory_length)`, or None.
    """
    value = np.asarray(value, dtype="float64")
    attention_scores = softmax(scores, mask)
    batch, query_length, memory_length = attention_scores.shape
    context = np.zeros((batch, query_length, value.shape[-1]))
    for b in range(batch):
        for i in range(query_length):
            for j in range(memory_length):
                # A weight of 0 takes nothing, whatever the value (NaN too).
                if attention_scores[b, i, j] > 0:
                    context[b, i] += attention_scores[b, i, j] * value[b, j]
    return context, attention_scores
