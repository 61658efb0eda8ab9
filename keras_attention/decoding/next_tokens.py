"""What a strategy chooses from."""

from keras import ops

from keras_attention.decoding.top_k import top_k
from keras_attention.masking import MASKED_SCORE


class NextTokens:
    """The tokens that may come next, and how probable each is.

    A token that is not allowed has the log-probability -1e30; that of the
    others is the model's own, so that a score is always the log-probability
    of the whole sequence. A finished hypothesis has one choice, padding, at
    no cost: its log-probability is 0.

    Args:
        logits: Float, `(rows, vocabulary_size)`.
        finished: Boolean, `(rows,)`.
        padding_token: Id that follows the end.
        forbidden: Boolean, `(rows, vocabulary_size)` or `(1,
            vocabulary_size)`, True where a token is not allowed; or None.

    Example:
        ```python
        next_tokens = keras_attention.NextTokens(
            keras.ops.log([[0.2, 0.5, 0.3]]),
            finished=keras.ops.array([False]),
            padding_token=0,
        )
        log_probabilities, tokens = next_tokens.most_probable(2)
        print(tokens)  # [[1 2]]
        ```
    """

    def __init__(self, logits, finished, padding_token: int, forbidden=None):
        self._logits = ops.cast(logits, "float32")
        self._allowed = self._logits
        if forbidden is not None:
            # No logit shows beside it, and a sum is faster than a choice.
            penalty = MASKED_SCORE * ops.cast(forbidden, "float32")
            self._allowed = self._logits + penalty
        self._finished = ops.expand_dims(finished, -1)
        self._padding_token = padding_token

    def log_probabilities(self):
        """Returns those of all tokens.

        Returns:
            Natural logs, float32, `(rows, vocabulary_size)`; a token is its
            own position.
        """
        is_padding = ops.arange(self._logits.shape[-1]) == self._padding_token
        frozen = ops.where(is_padding, 0.0, MASKED_SCORE)
        normalized = self._allowed - self._log_total()
        return ops.where(self._finished, frozen, normalized)

    def most_probable(self, count: int | None):
        """Returns the most probable tokens, the fewer the faster.

        Args:
            count: Integer, or None for all. Where there are fewer tokens, all
                are returned.

        Returns:
            Natural logs of the probabilities, float32, greatest first, and
            the tokens, int32, both `(rows, count)`. Of equally probable
            tokens the one with the smallest id comes first; PyTorch promises
            that for a count of 1 alone.
        """
        vocabulary_size = self._logits.shape[-1]
        count = min(count or vocabulary_size, vocabulary_size)
        best, tokens = top_k(self._allowed, count)
        # If all tokens are allowed, the first of these is the greatest of all.
        all_allowed = self._allowed is self._logits
        known = (best[:, :1], tokens[:, :1]) if all_allowed else ()
        best = best - self._log_total(*known)
        first = ops.arange(count) == 0
        frozen = ops.where(first, 0.0, MASKED_SCORE)
        return (
            ops.where(self._finished, frozen, best),
            ops.where(self._finished & first, self._padding_token, tokens),
        )

    def _log_total(self, greatest=None, position=None):
        """The log of the sum of exponentials, `(rows, 1)`.

        By way of the greatest logit, of which backends, having a fast
        softmax, soon know the probability.
        """
        probabilities = ops.softmax(self._logits, axis=-1)
        if position is None:
            greatest = ops.max(self._logits, axis=-1, keepdims=True)
            probability = ops.max(probabilities, axis=-1, keepdims=True)
        else:
            probability = ops.take_along_axis(probabilities, position, axis=-1)
        return greatest - ops.log(probability)
