"""The contract of a decoding strategy."""

from typing import Any
from typing import NamedTuple
from typing import Self

from keras import ops

from keras_attention.decoding.next_tokens import NextTokens
from keras_attention.masking import MASKED_SCORE


class Hypotheses(NamedTuple):
    """What a strategy knows of hypotheses, beside their next tokens.

    Attributes:
        scores: Float32, `(rows,)`, sums of log-probabilities so far.
        lengths: int32, `(rows,)`, in tokens, the next one counted where a
            hypothesis goes on.
        coverage: Float32, `(rows, memory_length)`, the sum of all attention
            scores, those for the next token included; 1 where the memory is
            padding. None unless the strategy has `needs_coverage`.

    Example:
        ```python
        hypotheses = keras_attention.Hypotheses(
            scores=keras.ops.array([-12.0]), lengths=keras.ops.array([7])
        )
        strategy = keras_attention.BeamSearch(length_penalty=1.0)
        print(strategy.final_scores(hypotheses))  # [-6.]
        ```
    """

    scores: Any
    lengths: Any
    coverage: Any = None


class DecodingStrategy:
    """Chooses the next token of every hypothesis.

    `decode` owns the loop, the end of sequences and all bookkeeping. A
    strategy only chooses. It holds no state of a decoding, so that one object
    serves any number of them.

    A strategy keeps `num_beams` hypotheses for every example; those of one
    example lie next to each other on the first axis, which is called `rows`
    (`batch * num_beams`).

    Example:
        ```python
        class Greedy(keras_attention.DecodingStrategy):
            def select(self, next_tokens, hypotheses, noise):
                best, tokens = next_tokens.most_probable(1)
                return tokens[:, 0], hypotheses.scores + best[:, 0], None

        def step(tokens, state):  # after token n comes token n + 1
            return keras.ops.one_hot(tokens + 1, 5) * 9.0, state, None

        result = keras_attention.decode(
            step,
            [],
            batch_size=1,
            start_token=1,
            end_token=4,
            max_length=6,
            strategy=Greedy(),
        )
        print(result.tokens[0, 0])  # [2 3 4 0 0 0]
        ```
    """

    num_beams = 1
    num_return = 1
    needs_coverage = False

    def initial_scores(self, batch_size):
        """Returns the scores before the first token, float32, `(rows,)`."""
        return ops.zeros((batch_size * self.num_beams,), dtype="float32")

    def draw_noise(self, num_steps, rows):
        """Draws what is random in a decoding, before its loop.

        Args:
            num_steps: Integer.
            rows: Integer or scalar tensor.

        Returns:
            A tensor, `(num_steps, ...)`, of which `select` gets one step; or
            None.
        """
        return None

    def select(self, next_tokens: NextTokens, hypotheses: Hypotheses, noise):
        """Chooses tokens.

        Args:
            next_tokens: `NextTokens`, the choice and its log-probabilities.
            hypotheses: `Hypotheses`.
            noise: What `draw_noise` drew for this step.

        Returns:
            A tuple of the tokens, int32, `(rows,)`; the new sums, float32,
            `(rows,)`; and the row that each hypothesis continues, int32,
            `(rows,)`, or None where each continues itself.
        """
        raise NotImplementedError(
            f"`{type(self).__name__}` must define `select(next_tokens, "
            "hypotheses, noise)`."
        )

    def is_vacant(self, scores):
        """True where a row holds no sequence, boolean, `(rows,)`.

        Such rows are there where an example has fewer sequences than rows, or
        none, since no token was allowed. They keep no decoding from stopping,
        and are returned empty.
        """
        # No sum of log-probabilities of real tokens comes near.
        return scores < 0.5 * MASKED_SCORE

    def is_settled(self, hypotheses: Hypotheses, finished, max_length):
        """True where nothing that is returned can change any more.

        When all rows are settled the decoding stops. Here: where a sequence
        has ended, or there is none.

        Args:
            hypotheses: `Hypotheses` as they are after a step.
            finished: Boolean, `(rows,)`, True where a sequence has ended.
            max_length: Most tokens of a sequence; integer, scalar tensor, or
                one for each of the rows.

        Returns:
            Boolean, `(rows,)`.
        """
        return finished | self.is_vacant(hypotheses.scores)

    def final_scores(self, hypotheses: Hypotheses):
        """Returns the scores to report, float32, `(rows,)`.

        Args:
            hypotheses: `Hypotheses` as they are at the end.
        """
        return hypotheses.scores

    def get_config(self) -> dict:
        """Returns the arguments of the constructor."""
        return {}

    @classmethod
    def from_config(cls, config: dict) -> Self:
        """Makes the strategy that `get_config` described."""
        return cls(**config)


def check_strategy(owner, strategy):
    """Raises TypeError unless `strategy` is a `DecodingStrategy`."""
    if not isinstance(strategy, DecodingStrategy):
        raise TypeError(
            f"`{owner}` received strategy={strategy!r}. Expected a decoding "
            "strategy object, for example GreedySearch()."
        )
