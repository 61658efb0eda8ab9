"""Beam search."""

import keras
from keras import ops

from keras_attention.decoding.strategy import DecodingStrategy
from keras_attention.masking import MASKED_SCORE
from keras_attention.validation import check_positive


# The least attention that a word is counted with: without it, one real word
# that nothing looked at would make a hypothesis impossible.
LEAST_COVERAGE = 1e-9


@keras.saving.register_keras_serializable(package="keras_attention")
class BeamSearch(DecodingStrategy):
    r"""Keeps the best few hypotheses of every example.

    Hypotheses are ordered by

    $$s(y, x) = \frac{\log p(y \mid x)}{\mathrm{lp}(y)} + \mathrm{cp}(y, x),
    \quad \mathrm{lp}(y) = \left(\frac{5 + |y|}{6}\right)^{w}, \quad
    \mathrm{cp}(y, x) = \beta \sum_j \log \min\Bigl(\sum_i \alpha_{ij}, 1
    \Bigr)$$

    Source: Wu et al. (2016), section 7, eq. 14,
    https://arxiv.org/abs/1609.08144. Their $\alpha$ in the exponent is our
    `length_penalty` $w$, their $p_{ij}$ our attention scores $\alpha_{ij}$.
    $|y|$ is in tokens and counts the end token. Padding of the memory is no
    part of the sum over $j$; a real position that was never attended to
    counts as one with an attention of 1e-9.

    A finished hypothesis stays as it is and keeps its place as long as it is
    among the best. With as many beams as there are sequences the search is
    exhaustive; with one it is greedy.

    Args:
        num_beams: Hypotheses that are kept for every example.
        length_penalty: $w$, 0 or more. With 0 short ones have the advantage
            that fewer probabilities are multiplied.
        coverage_penalty: $\beta$, 0 or more. Needs a step that returns
            attention scores.
        num_return: Hypotheses to return, best first, at most `num_beams`.

    Example:
        ```python
        def step(tokens, state):  # 2 is likely; 4, the end, less so
            logits = keras.ops.log([[0.1, 0.1, 0.4, 0.1, 0.3]])
            logits = keras.ops.repeat(logits, tokens.shape[0], axis=0)
            return logits, state, None

        result = keras_attention.decode(
            step,
            [],
            batch_size=1,
            start_token=1,
            end_token=4,
            max_length=2,
            strategy=keras_attention.BeamSearch(num_beams=2, num_return=2),
        )
        print(*result.tokens[0])  # [4 0] [2 2]
        ```
    """

    def __init__(
        self,
        num_beams: int = 5,
        length_penalty: float = 0.0,
        coverage_penalty: float = 0.0,
        num_return: int = 1,
    ):
        check_positive("BeamSearch", "num_beams", num_beams)
        check_positive("BeamSearch", "num_return", num_return)
        if num_return > num_beams:
            raise ValueError(
                f"`BeamSearch` received num_return={num_return} and "
                f"num_beams={num_beams}. Expected to return at most as many "
                "hypotheses as are kept."
            )
        for name, value in (
            ("length_penalty", length_penalty),
            ("coverage_penalty", coverage_penalty),
        ):
            if value < 0:
                raise ValueError(
                    f"`BeamSearch` received {name}={value}. Expected 0 or "
                    "more: a penalty below 0 would be a reward."
                )
        self.num_beams = num_beams
        self.length_penalty = length_penalty
        self.coverage_penalty = coverage_penalty
        self.num_return = num_return

    @property
    def needs_coverage(self) -> bool:
        return self.coverage_penalty > 0

    def initial_scores(self, batch_size):
        # All hypotheses of an example are the same at first; one may go on.
        alone = ops.arange(self.num_beams) == 0
        scores = ops.where(alone, 0.0, MASKED_SCORE)
        return ops.cast(ops.tile(scores, (batch_size,)), "float32")

    def select(self, next_tokens, hypotheses, noise):
        # The best of all go on from the best few of every hypothesis.
        log_probabilities, tokens = next_tokens.most_probable(self.num_beams)
        scores = hypotheses.scores[:, None] + log_probabilities
        ranks = self._penalize(scores, hypotheses)
        count = tokens.shape[-1]
        grouped = (-1, self.num_beams * count)
        _, chosen = ops.top_k(ops.reshape(ranks, grouped), self.num_beams)
        chosen = ops.cast(chosen, "int32")  # batch beams

        def take_chosen(tensor):  # rows count -> rows
            tensor = ops.reshape(tensor, grouped)
            tensor = ops.take_along_axis(tensor, chosen, axis=1)
            return ops.reshape(tensor, (-1,))

        firsts = ops.arange(ops.shape(chosen)[0], dtype="int32")[:, None]
        parents = self.num_beams * firsts + chosen // count
        return (
            take_chosen(tokens),
            take_chosen(scores),
            ops.reshape(parents, (-1,)),
        )

    def is_settled(self, hypotheses, finished, max_length):
        # What goes on gets no better than with its sum of now over the
        # greatest length: log-probabilities and coverage penalty are never
        # above 0. So it may be known early that it comes to nothing.
        done = super().is_settled(hypotheses, finished, max_length)
        reachable = hypotheses.scores / self._length_penalty(max_length)
        reachable = ops.where(done, -float("inf"), reachable)
        to_come = ops.max(self._by_example(reachable), axis=-1)
        returned = slice(self.num_return)  # the best come first
        worst = self._by_example(self.final_scores(hypotheses))[:, returned]
        settled = ops.all(self._by_example(done)[:, returned], axis=-1)
        settled = settled & (ops.min(worst, axis=-1) >= to_come)
        return ops.repeat(settled, self.num_beams)

    def final_scores(self, hypotheses):
        scores = self._penalize(hypotheses.scores[:, None], hypotheses)
        return scores[:, 0]

    def _penalize(self, scores, hypotheses):
        """Gives what hypotheses are ordered by, for scores `(rows, any)`."""
        if self.length_penalty:
            penalty = self._length_penalty(hypotheses.lengths)
            scores = scores / penalty[:, None]
        if self.coverage_penalty:
            coverage = ops.clip(hypotheses.coverage, LEAST_COVERAGE, 1.0)
            penalty = ops.sum(ops.log(coverage), axis=-1, keepdims=True)
            scores = scores + self.coverage_penalty * penalty
        return scores

    def _length_penalty(self, lengths):
        lengths = ops.cast(lengths, "float32")
        return ((5.0 + lengths) / 6.0) ** self.length_penalty

    def _by_example(self, tensor):  # rows -> batch beams
        return ops.reshape(tensor, (-1, self.num_beams))

    def get_config(self):
        return {
            "num_beams": self.num_beams,
            "length_penalty": self.length_penalty,
            "coverage_penalty": self.coverage_penalty,
            "num_return": self.num_return,
        }
