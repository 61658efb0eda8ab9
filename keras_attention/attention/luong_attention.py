"""Multiplicative attention: Luong, Pham and Manning (2015)."""

import keras

from keras_attention.attention.attention import Attention
from keras_attention.scores import ConcatScore
from keras_attention.scores import DotScore
from keras_attention.scores import GeneralScore
from keras_attention.scores import Score


@keras.saving.register_keras_serializable(package="keras_attention")
class LuongAttention(Attention):
    r"""Multiplicative attention, global over the memory.

    $$a_t(s) = \mathrm{softmax}_s(\mathrm{score}(h_t, \bar h_s)), \quad
    c_t = \sum_s a_t(s)\, \bar h_s$$

    Source: Luong et al. (2015), section 3.1, eqs. 7 and 8,
    https://arxiv.org/abs/1508.04025. Their $h_t$ is our `query`, their
    $\bar h$ is our `value`, their alignment vector $a_t$ is what Keras calls
    attention scores.

    Args:
        score: `"dot"`, `"general"`, `"concat"`, or a `Score` layer.
        units: Width of the hidden layer of `"concat"`; needed there, and
            meant for no other score.
        scale: False, `"learned"` or `"sqrt"`, for `"dot"` and `"general"`;
            see `DotScore`.
        probability: See `Attention`.
        dropout: See `Attention`.

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
        score="general",
        units=None,
        scale=False,
        probability="softmax",
        dropout=0.0,
        **kwargs,
    ):
        policy = kwargs.get("dtype")
        layer = _make_score(score, units, scale, policy)
        super().__init__(layer, probability, dropout, **kwargs)
        self.score_name = score if isinstance(score, str) else None
        self.units = units
        self.scale = scale

    def get_config(self):
        score = self.score_name
        if score is None:
            score = keras.saving.serialize_keras_object(self.score)
        return {
            **super().get_config(),
            "score": score,
            "units": self.units,
            "scale": self.scale,
        }

    @classmethod
    def from_config(cls, config):
        config = dict(config)
        if isinstance(config["score"], dict):
            config["score"] = keras.saving.deserialize_keras_object(
                config["score"]
            )
        return super().from_config(config)


def _make_score(score, units, scale, policy):
    if score == "concat":
        if units is None or scale:
            raise ValueError(
                "`LuongAttention` received score='concat' with "
                f"units={units!r} and scale={scale!r}. Expected the width of "
                "its hidden layer and no scale, for example "
                "LuongAttention('concat', units=64)."
            )
        return ConcatScore(units, dtype=policy, name="score")
    if units is not None:
        raise ValueError(
            f"`LuongAttention` received score={score!r} with units={units!r}. "
            "Expected units only for score='concat'; the other scores take "
            "their width from the query and the value. Leave units out."
        )
    if score == "dot":
        return DotScore(scale, dtype=policy, name="score")
    if score == "general":
        return GeneralScore(scale, dtype=policy, name="score")
    if isinstance(score, Score):
        if scale:
            raise ValueError(
                f"`LuongAttention` received scale={scale!r} beside a score "
                "layer. Expected the scale in the layer itself, for example "
                f"DotScore(scale={scale!r})."
            )
        return score
    raise ValueError(
        f"`LuongAttention` received score={score!r}. Expected 'dot', "
        "'general', 'concat', or a score layer such as GeneralScore()."
    )
