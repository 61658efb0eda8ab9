"""Drawing tokens from a distribution."""

from keras import ops

from keras_attention.masking import softmax


def draw_tokens(log_probabilities, uniform):
    r"""Draws one token for every row by the inverse of the distribution.

    $$y = \min\Bigl\{w : \sum_{v \le w} p(v) > u\Bigr\}$$

    The random number is an argument, so that it can be drawn where that is
    possible: on JAX, not within a loop. A token of probability 0 is never
    drawn, whatever rounding does to the sums.

    Args:
        log_probabilities: Natural log of probabilities, up to a constant for
            each row (logits will do), `(rows, vocabulary_size)`; -1e9 and
            less, -inf too, is a probability of 0.
        uniform: Float32 in [0, 1), `(rows,)`.

    Returns:
        int32, `(rows,)`.
    """
    probabilities = softmax(ops.cast(log_probabilities, "float32"))
    # A sum that is computed in parallel may differ from the one before it
    # even where nothing was added, so what is impossible is taken out.
    sums = ops.where(probabilities > 0, ops.cumsum(probabilities, axis=-1), 0.0)
    # The greatest of the sums, not 1: they are rounded, and one of them must
    # be passed.
    target = ops.expand_dims(ops.cast(uniform, "float32"), -1) * ops.max(
        sums, axis=-1, keepdims=True
    )
    is_above = ops.cast(sums > target, "int32")  # rows vocabulary_size
    return ops.cast(ops.argmax(is_above, axis=-1), "int32")
