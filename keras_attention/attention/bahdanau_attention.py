"""Additive attention: Bahdanau, Cho and Bengio (2015)."""

from collections.abc import Callable

import keras
from keras import ops

from keras_attention.attention.attention import Attention
from keras_attention.scores import AdditiveScore


@keras.saving.register_keras_serializable(package="keras_attention")
class BahdanauAttention(Attention):
    r"""Additive attention.

    $$e_{ij} = v^\top \tanh(W s_{i-1} + U h_j), \quad
    \alpha_i = \mathrm{softmax}(e_i), \quad
    c_i = \sum_j \alpha_{ij} h_j$$

    Source: Bahdanau et al. (2015), section 3.1, eqs. 5 and 6, and appendix
    A.1.2, https://arxiv.org/abs/1409.0473. Their $s_{i-1}$ is our `query`,
    their annotations $h$ are our `value`, their $\alpha$ is what Keras calls
    attention scores. Which state asks (theirs: the one before the step) is
    the business of `BahdanauRNNCell`.

    With `coverage=True` the attention that a position has got in all steps
    before enters its score (See et al. 2017, eqs. 10 and 11; Tu et al.
    2016, eq. 7), so that the model can learn neither to repeat nor to leave
    out:

    $$e_{ij} = v^\top \tanh(W s_{i-1} + U h_j + w_c \kappa_{ij}), \quad
    \kappa_{ij} = \sum_{i' < i} \alpha_{i'j}$$

    Args:
        units: Width of the hidden layer of the score.
        normalize: Whether $v$ is weight-normalised, see `AdditiveScore`.
        probability: See `Attention`.
        dropout: See `Attention`.
        temperature: See `Attention`.
        coverage: Whether the accumulated attention enters the score. Queries
            are then attended from one after another. `coverage_loss` is the
            loss that goes with it.

    Call arguments and output shape: as `Attention`.

    Example:
        ```python
        query = keras.random.normal((2, 3, 5))
        value = keras.random.normal((2, 7, 6))
        attention = keras_attention.BahdanauAttention(units=8)
        context, scores = attention(
            [query, value], return_attention_scores=True
        )
        print(context.shape, scores.shape)  # (2, 3, 6) (2, 3, 7)
        ```
    """

    def __init__(
        self,
        units: int,
        normalize: bool = False,
        probability: str | Callable = "softmax",
        dropout: float = 0.0,
        temperature: float = 1.0,
        coverage: bool = False,
        **kwargs,
    ):
        score = AdditiveScore(
            units,
            normalize,
            coverage,
            dtype=kwargs.get("dtype"),
            name="score",
        )
        super().__init__(score, probability, dropout, temperature, **kwargs)

    @property
    def num_states(self):
        return 1 if self.score.coverage else 0

    def initial_state(self, memory):
        if not self.score.coverage:
            return []
        # A sum over many steps needs more than half precision.
        dtype = keras.backend.result_type(memory.values.dtype, "float32")
        return [ops.zeros(ops.shape(memory.values)[:2], dtype=dtype)]

    def step(self, query, memory, state, training=False):
        if not self.score.coverage:
            return super().step(query, memory, state, training)
        (covered,) = state  # batch memory_length
        scores = self.score(ops.expand_dims(query, 1), memory.keys, covered)
        context, scores = self.weigh(scores, memory, training=training)
        scores = ops.squeeze(scores, 1)
        covered = covered + ops.cast(scores, covered.dtype)
        return ops.squeeze(context, 1), scores, [covered]

    def get_config(self):
        return {
            **super().get_config(),
            "units": self.score.units,
            "normalize": self.score.normalize,
            "coverage": self.score.coverage,
        }
