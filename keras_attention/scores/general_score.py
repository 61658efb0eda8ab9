"""The general score of Luong, Pham and Manning (2015)."""

import keras

from keras_attention.scores.dot_score import SCALES
from keras_attention.scores.dot_score import DotScore
from keras_attention.scores.score import Score
from keras_attention.scores.score import check_keys
from keras_attention.scores.score import check_shapes
from keras_attention.validation import check_choice


@keras.saving.register_keras_serializable(package="keras_attention")
class GeneralScore(Score):
    r"""Compares queries with keys by a bilinear form.

    $$\mathrm{score}(h_t, \bar h_s) = h_t^\top W_a \bar h_s$$

    Source: Luong et al. (2015), section 3.1, the second score below eq. 7,
    https://arxiv.org/abs/1508.04025. Their $h_t$ is our `query`, their
    $\bar h_s$ is one row of `memory`. $W_a \bar h_s$ does not depend on the
    query, so `project` computes it once.

    Args:
        scale: False, `"learned"` or `"sqrt"`, as in `DotScore`.

    Call arguments:
        query: Float, `(batch, query_length, query_units)`.
        keys: Float, `(batch, memory_length, query_units)`, as `project`
            returns.

    Output shape:
        `(batch, query_length, memory_length)`. Not normalised, any real.

    Example:
        ```python
        score = keras_attention.GeneralScore()
        query = keras.random.normal((2, 3, 5))
        memory = keras.random.normal((2, 7, 6))
        score.build(query.shape, memory.shape)
        print(score(query, score.project(memory)).shape)  # (2, 3, 7)
        ```
    """

    def __init__(self, scale: bool | str = False, **kwargs):
        super().__init__(**kwargs)
        check_choice("GeneralScore", "scale", scale, SCALES)
        self.scale = scale
        self.dot = DotScore(scale, dtype=self.dtype_policy, name="dot")

    def build(self, query_shape, keys_shape):
        check_shapes("GeneralScore", query_shape, keys_shape)
        # The width of the keys is that of the query, known only here.
        self.memory_layer = keras.layers.Dense(
            query_shape[-1],
            use_bias=False,
            dtype=self.dtype_policy,
            name="memory",
        )
        self.memory_layer.build(keys_shape)
        self.dot.build(query_shape, (*keys_shape[:2], query_shape[-1]))

    def project(self, memory):
        return self.memory_layer(memory)

    def call(self, query, keys):
        check_keys("GeneralScore", keys, self.memory_layer.units)
        return self.dot(query, keys)

    def get_config(self) -> dict:
        return {**super().get_config(), "scale": self.scale}
