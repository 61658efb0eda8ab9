"""Monotonic attention: Raffel et al. (2017)."""

import keras
from keras import ops

from keras_attention.attention.attention import Attention
from keras_attention.attention.monotonic_alignment import parallel
from keras_attention.attention.monotonic_alignment import recursive
from keras_attention.scores import Score
from keras_attention.scores.make_score import make_score
from keras_attention.scores.make_score import score_config
from keras_attention.validation import check_choice
from keras_attention.validation import check_positive_number


MODES = ("parallel", "recursive", "hard")


@keras.saving.register_keras_serializable(package="keras_attention")
class MonotonicAttention(Attention):
    r"""Attends to positions that only move forward.

    From where the step before ended, positions are looked at in order, and
    each is chosen with probability $p_{ij}$ or passed:

    $$p_{ij} = \sigma(\mathrm{score}(s_i, h_j) + r + \epsilon), \quad
    \alpha_{ij} = p_{ij}\, q_{ij}, \quad
    q_{ij} = (1 - p_{i,j-1})\, q_{i,j-1} + \alpha_{i-1,j}$$

    The attention scores are the probabilities that a position is the chosen
    one. They sum to at most 1; the rest is the probability of having passed
    the end, where the context is 0. It stays lost in all later steps.

    Source: Raffel et al. (2017), eqs. 8 to 13,
    https://arxiv.org/abs/1704.00784. $r$ is their bias, $\epsilon$ noise from
    $\mathcal N(0, \mathrm{noise}^2)$, drawn in training only, which teaches
    the model to give probabilities near 0 and 1, as hard attention needs
    them.

    Without a bias well below 0 an untrained model spends nearly all of its
    probability on the first positions, since each is chosen with
    $p \approx 1/2$: begin with `score_bias=-2` or lower for a long memory,
    and with `noise=1`.

    Args:
        score: `"dot"`, `"general"`, `"concat"`, `"additive"`, or a `Score`
            layer, such as the authors' `AdditiveScore(64, normalize=True)`.
        units: Width of the hidden layer of `"concat"` and `"additive"`;
            needed there, and meant for no other of them.
        mode: `"parallel"` and `"recursive"` compute the equation above, with
            the same result, in as many turns as the memory length has binary
            digits and as it has positions. `"hard"` chooses the first
            position with $p > 1/2$; it is for inference, since no gradient
            passes. A model trained in another mode takes it by
            `attention.mode = "hard"`, before it is called.
        noise: Standard deviation of $\epsilon$, in units of the score.
        score_bias: Where $r$, which is learned, starts.

    Call arguments and output shape: as `Attention`; but attention scores sum
    to at most 1.

    Example:
        ```python
        query = keras.random.normal((2, 3, 5))
        value = keras.random.normal((2, 7, 6))
        attention = keras_attention.MonotonicAttention(
            units=8, noise=1.0, score_bias=-2.0
        )
        context, scores = attention(
            [query, value], return_attention_scores=True
        )
        print(context.shape, scores.shape)  # (2, 3, 6) (2, 3, 7)
        ```
    """

    normalizes_scores = False

    def __init__(
        self,
        score: str | Score = "additive",
        units: int | None = None,
        mode: str = "parallel",
        noise: float = 0.0,
        score_bias: float = 0.0,
        **kwargs,
    ):
        layer = make_score(
            "MonotonicAttention", score, units, False, kwargs.get("dtype")
        )
        for name in ("probability", "dropout", "temperature"):
            if name in kwargs:
                raise TypeError(
                    f"`MonotonicAttention` received {name}={kwargs[name]!r}. "
                    "Expected none: its attention scores are probabilities "
                    "without a softmax. `noise` is what trains it."
                )
        super().__init__(layer, **kwargs)
        check_choice("MonotonicAttention", "mode", mode, MODES)
        if noise != 0:
            check_positive_number("MonotonicAttention", "noise", noise)
        self.score_name = score if isinstance(score, str) else None
        self.units = units
        self.mode = mode
        self.noise = noise
        self.score_bias = score_bias

    def build(self, input_shape):
        super().build(input_shape)
        self.bias = self.add_weight(
            shape=(),
            initializer=keras.initializers.Constant(self.score_bias),
            name="bias",
        )

    @property
    def num_states(self):
        return 1

    def initial_state(self, memory):
        # Products of many probabilities need more than half precision.
        dtype = keras.backend.result_type(memory.values.dtype, "float32")
        batch, length = ops.shape(memory.values)[:2]
        first = ops.cast(ops.arange(length) == 0, dtype)
        return [ops.broadcast_to(first, (batch, length))]

    def draw_noise(self, memory, query_length):
        if not self.noise:
            return None
        batch, memory_length = ops.shape(memory.values)[:2]
        return keras.random.normal(
            (batch, query_length, memory_length),
            stddev=self.noise,
            dtype=self.compute_dtype,
            seed=self.seed_generator,
        )

    def step(self, query, memory, state, training=False):
        (previous,) = state
        scores = self.score(ops.expand_dims(query, 1), memory.keys)
        scores = ops.cast(ops.squeeze(scores, 1), previous.dtype)
        scores = scores + ops.cast(self.bias, previous.dtype)
        if training and self.noise:
            noise = memory.noise
            if noise is None:
                noise = ops.squeeze(self.draw_noise(memory, 1), 1)
            scores = scores + ops.cast(noise, previous.dtype)
        choose = self._choose(scores, memory.mask)
        find = recursive if self.mode == "recursive" else parallel
        alignment = find(choose, previous)
        context, scores = self.select(
            ops.expand_dims(alignment, 1), memory, training
        )
        return ops.squeeze(context, 1), ops.squeeze(scores, 1), [alignment]

    def _choose(self, scores, mask):
        """The probability of choosing a position once it is reached."""
        if self.mode == "hard":
            choose = ops.cast(scores > 0, scores.dtype)
        else:
            choose = ops.sigmoid(scores)
        if mask is None:
            return choose
        return ops.where(mask, choose, ops.zeros((), dtype=choose.dtype))

    def get_config(self):
        return {
            **super().get_config(),
            "score": score_config(self.score_name, self.score),
            "units": self.units,
            "mode": self.mode,
            "noise": self.noise,
            "score_bias": self.score_bias,
        }
