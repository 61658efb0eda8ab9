"""The contract of a decoding strategy."""


class DecodingStrategy:
    """Chooses the next token of every hypothesis.

    `decode` owns the loop, the end of sequences and all bookkeeping. A
    strategy only chooses. It holds no state of a decoding, so that one object
    serves any number of them.

    A strategy keeps `num_beams` hypotheses for every example; those of one
    example lie next to each other on the first axis, which is called `rows`
    (`batch * num_beams`).
    """

    num_beams = 1
    num_return = 1

    def select(self, log_probabilities, scores):
        """Chooses tokens.

        Args:
            log_probabilities: Natural log of the next token's probability,
                float32, `(rows, vocabulary_size)`. A finished hypothesis has
                0 for padding and a large negative number for all else.
            scores: Sum of the log-probabilities so far, float32, `(rows,)`.

        Returns:
            A tuple of the tokens, int32, `(rows,)`; the new sums, float32,
            `(rows,)`; and the row that each hypothesis continues, int32,
            `(rows,)`, or None where each continues itself.
        """
        raise NotImplementedError(
            f"`{type(self).__name__}` must define `select(log_probabilities, "
            "scores)`."
        )

    def get_config(self):
        """Returns the arguments of the constructor."""
        return {}

    @classmethod
    def from_config(cls, config):
        """Makes the strategy that `get_config` described."""
        return cls(**config)


def check_strategy(owner, strategy):
    """Raises TypeError unless `strategy` is a `DecodingStrategy`."""
    if not isinstance(strategy, DecodingStrategy):
        raise TypeError(
            f"`{owner}` received strategy={strategy!r}. Expected a decoding "
            "strategy object, for example GreedySearch()."
        )
