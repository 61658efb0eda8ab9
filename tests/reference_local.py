"""Local attention of Luong et al. (2015), section 3.2, in NumPy loops."""

import numpy as np


def predicted_shares(query, hidden_kernel, output_kernel):
    """p_t / S = sigmoid(v_p . tanh(W_p h_t)), eq. 9; `(batch, query_length)`.

    Kernels are (input units, output units): W_p h is `h @ hidden_kernel`.
    """
    logits = np.tanh(query @ hidden_kernel) @ output_kernel
    return 1 / (1 + np.exp(-logits[..., 0]))


def attend(
    scores,
    value,
    half_width,
    shares=None,
    query_mask=None,
    memory_mask=None,
    causal=False,
):
    """Returns the context and the attention scores.

    Args:
        scores: `(batch, query_length, memory_length)`.
        value: `(batch, memory_length, value_units)`.
        half_width: D, in tokens.
        shares: As `predicted_shares` returns, for local-p; None for local-m.
        query_mask: Boolean, `(batch, query_length)`, or None. A query that is
            padding is no step.
        memory_mask: Boolean, `(batch, memory_length)`, or None. Only real
            tokens have a place s.
        causal: Whether query i sees positions up to i only.
    """
    batch, query_length, memory_length = scores.shape
    attention_scores = np.zeros(scores.shape)
    context = np.zeros((batch, query_length, value.shape[-1]))
    for b in range(batch):
        real = np.arange(memory_length)
        if memory_mask is not None:
            real = real[memory_mask[b]]
        last = len(real) - 1
        step = 0
        for i in range(query_length):
            if query_mask is not None and not query_mask[b, i]:
                continue
            if shares is None:
                place = min(step, last + half_width)
                center = place
                step += 1
            else:
                place = len(real) * shares[b, i]
                center = min(int(place), last)
            window = [
                s
                for s in range(len(real))
                if abs(s - center) <= half_width
                and not (causal and real[s] > i)
            ]
            powers = {s: np.exp(scores[b, i, real[s]]) for s in window}
            for s in window:
                weight = powers[s] / sum(powers.values())
                if shares is not None:  # eq. 10, with sigma = D / 2
                    sigma = half_width / 2
                    weight *= np.exp(-((s - place) ** 2) / (2 * sigma**2))
                attention_scores[b, i, real[s]] = weight
                context[b, i] += weight * value[b, real[s]]
    return context, attention_scores
