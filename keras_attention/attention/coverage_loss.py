"""The loss for attention that comes back to where it has been."""

import keras
from keras import ops

from keras_attention.masking import clear_padding
from keras_attention.validation import check_mask
from keras_attention.validation import check_rank


def coverage_loss(attention_scores, mask=None):
    r"""Measures how much attention goes to what has had attention before.

    $$\ell_i = \sum_j \min(\alpha_{ij}, \kappa_{ij}), \qquad
    \kappa_{ij} = \sum_{i' < i} \alpha_{i'j}$$

    Source: See, Liu and Manning (2017), eqs. 10 and 12,
    https://arxiv.org/abs/1704.04368. They add it, times a weight of 1, to
    the loss of the same step.

    Args:
        attention_scores: Float, `(batch, query_length, memory_length)`, as
            attention layers and `AttentionRNN` return them.
        mask: Boolean, `(batch, query_length)`, True marks a real step, or
            None. Other steps count for nothing.

    Returns:
        Float32, `(batch, query_length)`: probability, from 0 (all attention
        went to new positions) to 1; 0 for steps that are not real.

    Example:
        ```python
        scores = keras.ops.array([[[1.0, 0.0], [0.5, 0.5], [0.5, 0.5]]])
        print(keras_attention.coverage_loss(scores))  # [[0.  0.5 1. ]]
        ```
    """
    attention_scores = ops.convert_to_tensor(attention_scores)
    # A sum over many steps needs more than half precision.
    dtype = keras.backend.result_type(attention_scores.dtype, "float32")
    attention_scores = ops.cast(attention_scores, dtype)
    check_rank(
        "coverage_loss",
        "attention_scores",
        attention_scores.shape,
        ("batch", "query_length", "memory_length"),
    )
    if mask is not None:
        mask = ops.convert_to_tensor(mask)
        check_mask("coverage_loss", "mask", mask.shape, attention_scores.shape)
        attention_scores = clear_padding(attention_scores, mask)
    covered = ops.cumsum(attention_scores, axis=1) - attention_scores
    return ops.sum(ops.minimum(attention_scores, covered), axis=-1)
