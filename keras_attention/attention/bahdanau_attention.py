"""Additive attention: Bahdanau, Cho and Bengio (2015)."""

import keras

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

    Args:
        units: Width of the hidden layer of the score.
        normalize: Whether $v$ is weight-normalised, see `AdditiveScore`.
        probability: See `Attention`.
        dropout: See `Attention`.

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
        units,
        normalize=False,
        probability="softmax",
        dropout=0.0,
        **kwargs,
    ):
        policy = kwargs.get("dtype")
        score = AdditiveScore(units, normalize, dtype=policy, name="score")
        super().__init__(score, probability, dropout, **kwargs)

    def get_config(self):
        return {
            **super().get_config(),
            "units": self.score.units,
            "normalize": self.score.normalize,
        }
