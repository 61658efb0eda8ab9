"""Masked probabilities, and masks made from lengths.

In every mask of this library True marks a real token and False padding.
"""

import keras
from keras import ops


# The score of a position that must not be attended to. Scores are float32
# at least when it is used, so it is far inside the range; it is small enough
# that exp(MASKED_SCORE - maximum) is 0 beside any score that float16 holds,
# or a model in float32 puts out, and large enough that a sum over any length
# of memory stays finite.
MASKED_SCORE = -1e30


def hardmax(scores):
    """One-hot of the largest score on the last axis; the first one wins."""
    size = ops.shape(scores)[-1]
    largest = ops.expand_dims(ops.argmax(scores, axis=-1), -1)
    chosen = ops.equal(ops.arange(size, dtype=largest.dtype), largest)
    return ops.cast(chosen, scores.dtype)


def sparsemax(scores):
    """Projects scores on the simplex (Martins & Astudillo 2016, algorithm 1).

    Written out, for `keras.ops.sparsemax` takes a wrong threshold where two
    scores or more are in the support (keras-team/keras#23425).
    """
    # A shift changes nothing, and keeps the 1 visible beside large scores.
    largest = ops.max(scores, axis=-1, keepdims=True)
    scores = scores - ops.stop_gradient(largest)
    ordered = ops.flip(ops.sort(scores, axis=-1), axis=-1)
    ranks = 1 + ops.arange(ops.shape(scores)[-1], dtype=scores.dtype)
    support = ops.cast(
        1 + ranks * ordered > ops.cumsum(ordered, axis=-1), scores.dtype
    )
    total = ops.sum(support * ordered, axis=-1, keepdims=True)
    threshold = (total - 1) / ops.sum(support, axis=-1, keepdims=True)
    return ops.relu(scores - threshold)


def softmax(scores):
    """Softmax on the last axis."""
    if scores.shape[-1] == 1:  # Keras warns of a softmax over a single score
        return ops.ones_like(scores)
    return ops.softmax(scores, axis=-1)


PROBABILITIES = {
    "softmax": softmax,
    "sparsemax": sparsemax,
    "hardmax": hardmax,
}


def masked_probabilities(scores, mask=None, probability=softmax):
    r"""Turns scores into probabilities over the real positions only.

    $$\alpha_{ij} = \frac{m_{ij} \exp(e_{ij})}{\sum_k m_{ik} \exp(e_{ik})}$$

    for the softmax, with $\alpha_i = 0$ where no $m_{ik}$ is True.

    Args:
        scores: Float, `(batch, query_length, memory_length)`.
        mask: Boolean, broadcastable to `scores`, or None.
        probability: Function of the scores that normalises the last axis.

    Returns:
        Probability, float32 at least, shape of `scores`. A row sums to 1
        over `memory_length`. Masked positions are exactly 0 and send no
        gradient; a row without any real position is all 0.
    """
    # The exponential of a half-precision score is too coarse to normalise.
    dtype = keras.backend.result_type(scores.dtype, "float32")
    scores = ops.cast(scores, dtype)
    if mask is None:
        return probability(scores)
    # A function that is no softmax may fail on a row of MASKED_SCORE alone.
    any_real = ops.any(mask, axis=-1, keepdims=True)
    fill = MASKED_SCORE * ops.cast(any_real, dtype)
    scores = ops.where(mask, scores, fill)
    return probability(scores) * ops.cast(mask, dtype)


def clear_padding(tensor, mask):
    """Puts zeros where the mask is False, so that not even a NaN gets out.

    A weight of 0 does not stop a NaN (0 * NaN is NaN), neither forward nor
    in the gradient of what multiplies it; replacing the value does.

    Args:
        tensor: `(batch, length, units)`.
        mask: Boolean, `(batch, length)`, or None.

    Returns:
        The tensor, with exact zeros in place of padding.
    """
    if mask is None:
        return tensor
    mask = ops.expand_dims(ops.cast(mask, "bool"), -1)  # batch length 1
    return ops.where(mask, tensor, ops.zeros((), dtype=tensor.dtype))


def lengths_to_mask(lengths, max_length):
    """Makes the mask of sequences that are padded at their end.

    Args:
        lengths: Integer, `(batch,)`, in tokens.
        max_length: Integer, the length of the padded sequences.

    Returns:
        Boolean, `(batch, max_length)`. True marks a real token.
    """
    positions = ops.arange(max_length, dtype="int32")
    lengths = ops.cast(lengths, "int32")
    return positions[None, :] < lengths[:, None]


def mask_to_lengths(mask):
    """Counts the real tokens of every sequence.

    Args:
        mask: Boolean, `(batch, length)`. True marks a real token.

    Returns:
        Integer, `(batch,)`, in tokens.
    """
    return ops.sum(ops.cast(mask, "int32"), axis=-1)


class _MaskReader(keras.layers.Layer):
    """Returns the mask that Keras hands to a layer for its only input."""

    def __init__(self):
        super().__init__(autocast=False, name="mask_reader")
        self.supports_masking = True

    def call(self, inputs, mask=None):
        return mask


def attached_mask(tensor):
    """Reads the mask that an earlier layer attached to a tensor.

    Keras passes attached masks to a layer's `call` only when the layer gets
    a single tensor; with `initial_state` or a memory beside the sequence it
    passes none and says nothing. Reading the mask by way of a layer with a
    single input is the public way to get it in that case.

    Args:
        tensor: A tensor, with or without an attached mask.

    Returns:
        Boolean, `(batch, length)`, or None.
    """
    return _MaskReader()(tensor)
