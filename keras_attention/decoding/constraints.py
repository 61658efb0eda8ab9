"""What a sequence may not contain."""

from typing import NamedTuple

from keras import ops

from keras_attention.validation import check_positive


class Constraints(NamedTuple):
    """Options of the decoding loop, the same for every strategy.

    Attributes:
        end_token: Id that ends a sequence.
        min_length: Fewest tokens to put out, the end token included.
        forbidden_tokens: Ids that are never put out.
        no_repeat_ngram_size: Length of the runs of tokens that must not occur
            twice in a sequence; None where any may.
    """

    end_token: int
    min_length: int = 0
    forbidden_tokens: tuple = ()
    no_repeat_ngram_size: int | None = None

    def check(self, max_length):
        """Raises ValueError where no sequence would be allowed."""
        end_token = self.end_token
        if isinstance(end_token, int) and end_token in self.forbidden_tokens:
            raise ValueError(
                f"`decode` received the end token {end_token} among the "
                "forbidden_tokens. Expected an end that can be reached; for "
                "sequences of one length use min_length=max_length."
            )
        lengths = self.min_length, max_length
        if all(isinstance(n, int) for n in lengths) and lengths[0] > lengths[1]:
            raise ValueError(
                f"`decode` received min_length={self.min_length} and "
                f"max_length={max_length}. Expected a min_length that is not "
                "the greater one."
            )
        if self.no_repeat_ngram_size is not None:
            check_positive(
                "decode", "no_repeat_ngram_size", self.no_repeat_ngram_size
            )

    def check_forbidden(self, vocabulary_size):
        """Raises ValueError where a forbidden token is none."""
        for token in self.forbidden_tokens:
            if not 0 <= token < vocabulary_size:
                raise ValueError(
                    f"`decode` received {token} among the forbidden_tokens. "
                    f"Expected ids from 0 to {vocabulary_size - 1}, since the "
                    f"step gives {vocabulary_size} logits."
                )

    def forbid(self, index, history, vocabulary_size):
        """Tells which tokens must not be the next ones.

        Args:
            index: Integer or scalar tensor, the tokens there are so far.
            history: int32, `(rows, max_length)`, these tokens.
            vocabulary_size: Integer.

        Returns:
            Boolean, `(rows, vocabulary_size)` or `(1, vocabulary_size)`, or
            None where all are allowed.
        """
        found = []
        tokens = ops.arange(vocabulary_size, dtype="int32")[None, :]
        # A tensor may be anything.
        if not isinstance(self.min_length, int) or self.min_length > 1:
            too_early = ops.cast(index, "int32") + 1 < self.min_length
            found.append(ops.equal(tokens, self.end_token) & too_early)
        if self.forbidden_tokens:
            ids = ops.convert_to_tensor(self.forbidden_tokens, dtype="int32")
            found.append(ops.any(tokens == ids[:, None], axis=0, keepdims=True))
        if self.no_repeat_ngram_size is not None:
            found.append(
                _would_repeat(
                    index, history, self.no_repeat_ngram_size, vocabulary_size
                )
            )
        if not found:
            return None
        result = found[0]
        for other in found[1:]:
            result = result | other
        return result


def _would_repeat(index, history, size, vocabulary_size):
    """True for tokens that would end a run of `size` that was there before.

    Such a run began at a place whose `size - 1` tokens are the last ones of
    now; the token that came after them there is the one to forbid.
    """
    history = ops.swapaxes(history, 0, 1)
    num_steps, rows = ops.shape(history)
    index = ops.cast(index, "int32")
    steps = ops.arange(num_steps, dtype="int32")[:, None]
    # A run that ends at a step is compared with the one that would end now.
    is_repeated = steps < index  # num_steps 1
    for back in range(1, size):
        last = ops.cast(ops.maximum(index - back, 0), "int32")
        last = ops.take(history, last, axis=0)
        before = ops.roll(history, back, axis=0)
        is_repeated = is_repeated & (before == last) & (steps >= back)
    is_repeated = ops.broadcast_to(is_repeated, (num_steps, rows))
    # One past the vocabulary stands for no token.
    ended = ops.where(is_repeated, history, vocabulary_size)
    return _occur(ended, vocabulary_size)


def _occur(tokens, vocabulary_size):
    """True where a token is among those of a row, `(rows, vocabulary)`."""
    rows, width = ops.shape(tokens)[1], vocabulary_size + 1
    places = tokens + width * ops.arange(rows, dtype="int32")
    places = ops.reshape(places, (-1, 1))
    found = ops.scatter_update(
        ops.zeros((rows * width,), dtype="int32"),
        places,
        ops.ones_like(places[:, 0]),
    )
    return ops.reshape(found, (rows, width))[:, :vocabulary_size] > 0
