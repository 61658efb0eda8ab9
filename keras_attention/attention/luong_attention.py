"""Multiplicative attention: Luong, Pham and Manning (2015)."""

from collections.abc import Callable

import keras

from keras_attention.attention.attention import Attention
from keras_attention.scores import Score
from keras_attention.scores.make_score import make_score
from keras_attention.scores.make_score import score_config


@keras.saving.register_keras_serializable(package="keras_attention")
class LuongAttention(Attention):
    r"""Multiplicative attention, global over the memory.

    $$a_t(s) = \mathrm{softmax}_s(\mathrm{score}(h_t, \bar h_s)), \quad
    c_t = \sum_s a_t(s)\, \bar h_s$$

    Source: Luong et al. (2015), section 3.1, eq. 7 and the scores below it,
    https://arxiv.org/abs/1508.04025. Their $h_t$ is our `query`, their
    $\bar h$ is our `value`, their alignment vector $a_t$ is what Keras calls
    attention scores.

    Args:
        score: `"dot"`, `"general"`, `"concat"` or `"additive"`, or a `Score`
            layer.
        units: Width of the hidden layer of `"concat"` and `"additive"`;
            needed there, and meant for no other of them.
        scale: False, `"learned"` or `"sqrt"`, for `"dot"` and `"general"`;
            see `DotScore`.
        probability: See `Attention`.
        dropout: See `Attention`.
        temperature: See `Attention`.

    Call arguments and output shape: as `Attention`.

    Example:
        ```python
        query = keras.random.normal((2, 3, 5))
        value = keras.random.normal((2, 7, 6))
        attention = keras_attention.LuongAttention("general")
        context, scores = attention(
            [query, value], return_attention_scores=True
        )
        print(context.shape, scores.shape)  # (2, 3, 6) (2, 3, 7)
        ```
    """

    def __init__(
        self,
        score: str | Score = "general",
        units: int | None = None,
        scale: bool | str = False,
        probability: str | Callable = "softmax",
        dropout: float = 0.0,
        temperature: float = 1.0,
        **kwargs,
    ):
        layer = make_score(
            "LuongAttention", score, units, scale, kwargs.get("dtype")
        )
        super().__init__(layer, probability, dropout, temperature, **kwargs)
        self.score_name = score if isinstance(score, str) else None
        self.units = units
        self.scale = scale

    def get_config(self):
        return {
            **super().get_config(),
            "score": score_config(self.score_name, self.score),
            "units": self.units,
            "scale": self.scale,
        }
