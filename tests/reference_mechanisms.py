"""Attention that remembers its steps, in NumPy and float64, row by row.

As plain as `reference`: written from the papers, one number at a time.
"""

import numpy as np
import reference


def monotonic_row(choose, previous):
    """a_ij = p_ij sum_{k <= j} a_{i-1,k} prod_{k <= l < j} (1 - p_il).

    Raffel et al. (2017), section 2.3: the step before ended at k, everything
    from k up to j was passed, and j is chosen.

    Args:
        choose: The p of all positions, `(memory_length,)`.
        previous: The a of the step before, `(memory_length,)`.
    """
    alignment = np.zeros(len(choose))
    for k in range(len(choose)):
        passed = previous[k]
        for j in range(k, len(choose)):
            alignment[j] += passed * choose[j]
            passed *= 1 - choose[j]
    return alignment


def hard_monotonic_row(choose, start):
    """Looks from `start` on for the first position with p > 1/2.

    Raffel et al. (2017), algorithm 1, where a Bernoulli variable is replaced
    by its more probable value. Whoever has passed the end stays there.

    Args:
        choose: The p of all positions, `(memory_length,)`.
        start: Where the step before ended; the length if it passed the end.

    Returns:
        Where this step ends; the length if it passes the end.
    """
    for j in range(start, len(choose)):
        if choose[j] > 0.5:
            return j
    return len(choose)


def monotonic_attention(scores, value, mask=None, hard=False):
    """Attends with p_ij = sigmoid(e_ij), and p_ij = 0 for padding.

    A step that may see no position is none: all 0, and the next one goes on
    from where the step before it ended.

    Args:
        scores: The e with bias and noise, `(batch, query_length,
            memory_length)`.
        value: `(batch, memory_length, value_units)`.
        mask: Boolean, as the scores; or None.
        hard: Whether to choose, instead of taking the expectation.

    Returns:
        Context and attention scores.
    """
    scores = np.asarray(scores, dtype="float64")
    value = np.asarray(value, dtype="float64")
    if mask is None:
        mask = np.ones(scores.shape, dtype=bool)
    batch, query_length, memory_length = scores.shape
    attention_scores = np.zeros(scores.shape)
    for b in range(batch):
        position = 0
        alignment = np.zeros(memory_length)
        alignment[0] = 1
        for i in range(query_length):
            if not np.any(mask[b, i]):
                continue
            choose = np.zeros(memory_length)
            for j in np.flatnonzero(mask[b, i]):
                choose[j] = 1 / (1 + np.exp(-scores[b, i, j]))
            if hard:
                position = hard_monotonic_row(choose, position)
                alignment = np.zeros(memory_length)
                alignment[position : position + 1] = 1  # nothing at the end
            else:
                alignment = monotonic_row(choose, alignment)
            attention_scores[b, i] = alignment
    return average(attention_scores, value), attention_scores


def average(attention_scores, value):
    """c_i = sum_j a_ij h_j."""
    batch, query_length, memory_length = attention_scores.shape
    context = np.zeros((batch, query_length, value.shape[-1]))
    for b in range(batch):
        for i in range(query_length):
            for j in range(memory_length):
                context[b, i] += attention_scores[b, i, j] * value[b, j]
    return context


def coverage_attention(
    query,
    value,
    query_kernel,
    memory_kernel,
    direction,
    coverage_kernel,
    gain=None,
    bias=None,
    mask=None,
    temperature=1.0,
):
    """e_ij = v . tanh(W q_i + U h_j + w_c k_ij), k_ij = sum_{i' < i} a_i'j.

    See et al. (2017), eqs. 10 and 11. What is beside a memory position
    enters the sum as one more number of the memory, with w_c as its weights.

    Args:
        query: `(batch, query_length, query_units)`.
        value: `(batch, memory_length, value_units)`.
        query_kernel: See `reference.additive_score`, as what follows it.
        memory_kernel: See there.
        direction: See there.
        coverage_kernel: The w_c, `(hidden units,)`.
        gain: See `reference.additive_score`.
        bias: See there.
        mask: Boolean, `(batch, query_length, memory_length)`, or None.
        temperature: What the e are divided by.

    Returns:
        Context and attention scores.
    """
    kernel = np.concatenate([memory_kernel, [coverage_kernel]])
    covered = np.zeros(value.shape[:2])
    contexts, attention_scores = [], []
    for i in range(query.shape[1]):
        scores = reference.additive_score(
            query[:, i : i + 1],
            np.concatenate([value, covered[..., None]], axis=-1),
            query_kernel,
            kernel,
            direction,
            gain,
            bias,
        )
        limits = None if mask is None else mask[:, i : i + 1]
        context, weights = reference.attend(scores / temperature, value, limits)
        covered = covered + weights[:, 0]
        contexts.append(context)
        attention_scores.append(weights)
    return np.concatenate(contexts, 1), np.concatenate(attention_scores, 1)


def coverage_loss(attention_scores, mask):
    """l_i = sum_j min(a_ij, k_ij). See et al. (2017), eqs. 10 and 12.

    Args:
        attention_scores: `(batch, query_length, memory_length)`.
        mask: Boolean, `(batch, query_length)`; what is not real is no step.
    """
    batch, query_length, memory_length = attention_scores.shape
    loss = np.zeros((batch, query_length))
    for b in range(batch):
        covered = np.zeros(memory_length)
        for i in np.flatnonzero(mask[b]):
            for j in range(memory_length):
                weight = attention_scores[b, i, j]
                loss[b, i] += min(weight, covered[j])
                covered[j] += weight
    return loss
