"""The concat score of Luong, Pham and Manning (2015)."""

import keras
from keras import ops

from keras_attention.scores.additive_scores import additive_scores
from keras_attention.scores.score import Score
from keras_attention.scores.score import check_keys
from keras_attention.scores.score import check_shapes
from keras_attention.validation import check_positive


@keras.saving.register_keras_serializable(package="keras_attention")
class ConcatScore(Score):
    r"""Compares queries with keys through a layer over both together.

    $$\mathrm{score}(h_t, \bar h_s) = v_a^\top \tanh(W_a [h_t; \bar h_s])$$

    Source: Luong et al. (2015), section 3.1, the third score below eq. 7,
    https://arxiv.org/abs/1508.04025. Their $h_t$ is our `query`, their
    $\bar h_s$ is one row of `memory`.

    The concatenation is never made: $W_a$ is one weight whose upper rows
    meet the query and whose lower rows meet the memory, and the two products
    are added.

    Args:
        units: Width of the hidden layer.

    Call arguments:
        query: Float, `(batch, query_length, query_units)`.
        keys: Float, `(batch, memory_length, units)`, as `project` returns.

    Output shape:
        `(batch, query_length, memory_length)`. Not normalised, any real.

    Example:
        ```python
        score = keras_attention.ConcatScore(units=8)
        query = keras.random.normal((2, 3, 5))
        memory = keras.random.normal((2, 7, 6))
        score.build(query.shape, memory.shape)
        print(score(query, score.project(memory)).shape)  # (2, 3, 7)
        ```
    """

    def __init__(self, units: int, **kwargs):
        super().__init__(**kwargs)
        check_positive("ConcatScore", "units", units)
        self.units = units

    def build(self, query_shape, keys_shape):
        check_shapes("ConcatScore", query_shape, keys_shape)
        self.query_units = query_shape[-1]
        self.kernel = self.add_weight(
            shape=(query_shape[-1] + keys_shape[-1], self.units),
            initializer="glorot_uniform",
            name="kernel",
        )
        self.direction = self.add_weight(
            shape=(self.units,), initializer="glorot_uniform", name="direction"
        )

    def project(self, memory):
        return ops.matmul(memory, self.kernel[self.query_units :])

    def call(self, query, keys):
        check_keys("ConcatScore", keys, self.units)
        query = ops.matmul(query, self.kernel[: self.query_units])
        return additive_scores(query, keys, self.direction)

    def get_config(self) -> dict:
        return {**super().get_config(), "units": self.units}
