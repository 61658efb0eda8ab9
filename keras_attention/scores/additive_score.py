"""The additive score of Bahdanau, Cho and Bengio (2015)."""

import keras
from keras import ops

from keras_attention.scores.additive_scores import additive_scores
from keras_attention.scores.score import Score
from keras_attention.scores.score import check_keys
from keras_attention.scores.score import check_shapes
from keras_attention.validation import check_choice
from keras_attention.validation import check_positive


@keras.saving.register_keras_serializable(package="keras_attention")
class AdditiveScore(Score):
    r"""Compares queries with keys through one hidden layer.

    $$e_{ij} = v^\top \tanh(W s_{i-1} + U h_j)$$

    Source: Bahdanau et al. (2015), appendix A.1.2,
    https://arxiv.org/abs/1409.0473. Their $s_{i-1}$ is our `query`, their
    $h_j$ is one row of `memory`, their $e$ is our `scores`.

    With `normalize=True`, $v$ becomes $g\,v / \lVert v \rVert$ and a bias
    $b$ joins the sum inside the tanh (Salimans & Kingma 2016,
    https://arxiv.org/abs/1602.07868). $g$ starts at $\sqrt{1/\text{units}}$.

    With `coverage=True`, what a position has got of the attention so far,
    $\kappa_j$, enters too: $w_c \kappa_j$ joins the sum inside the tanh (See et
    al. 2017, eq. 11, https://arxiv.org/abs/1704.04368).

    Args:
        units: Width of the hidden layer.
        normalize: Whether $v$ is weight-normalised.
        coverage: Whether the attention so far enters the score.

    Call arguments:
        query: Float, `(batch, query_length, query_units)`.
        keys: Float, `(batch, memory_length, units)`, as `project` returns.
        coverage: Float, `(batch, memory_length)`; the sum of all attention
            scores so far, in steps. Needed with `coverage=True`.

    Output shape:
        `(batch, query_length, memory_length)`. Not normalised, any real.

    Example:
        ```python
        score = keras_attention.AdditiveScore(units=8)
        query = keras.random.normal((2, 3, 5))
        memory = keras.random.normal((2, 7, 6))
        score.build(query.shape, memory.shape)
        print(score(query, score.project(memory)).shape)  # (2, 3, 7)
        ```
    """

    def __init__(
        self,
        units: int,
        normalize: bool = False,
        coverage: bool = False,
        **kwargs,
    ):
        super().__init__(**kwargs)
        check_positive("AdditiveScore", "units", units)
        check_choice("AdditiveScore", "coverage", coverage, (False, True))
        self.units = units
        self.normalize = normalize
        self.coverage = coverage
        self.query_layer = keras.layers.Dense(
            units, use_bias=False, dtype=self.dtype_policy, name="query"
        )
        self.memory_layer = keras.layers.Dense(
            units, use_bias=False, dtype=self.dtype_policy, name="memory"
        )

    def build(self, query_shape, keys_shape):
        check_shapes("AdditiveScore", query_shape, keys_shape)
        self.query_layer.build(query_shape)
        self.memory_layer.build(keys_shape)
        self.direction = self.add_weight(
            shape=(self.units,), initializer="glorot_uniform", name="direction"
        )
        if self.normalize:
            self.gain = self.add_weight(
                shape=(),
                initializer=keras.initializers.Constant(self.units**-0.5),
                name="gain",
            )
            self.bias = self.add_weight(
                shape=(self.units,), initializer="zeros", name="bias"
            )

        if self.coverage:
            self.coverage_kernel = self.add_weight(
                shape=(self.units,),
                initializer="glorot_uniform",
                name="coverage_kernel",
            )

    def project(self, memory):
        return self.memory_layer(memory)

    def call(self, query, keys, coverage=None):
        check_keys("AdditiveScore", keys, self.units)
        if self.coverage != (coverage is not None):
            received = "a" if self.coverage is False else "no"
            raise ValueError(
                f"`AdditiveScore` with coverage={self.coverage} received "
                f"{received} coverage. Expected the sum of the attention "
                "scores so far, (batch, memory_length), with coverage=True "
                "and only then: `BahdanauAttention(units, coverage=True)` "
                "keeps it."
            )
        if self.coverage:
            spent = ops.expand_dims(coverage, -1)  # batch memory_length 1
            keys = keys + spent * self.coverage_kernel
        query = self.query_layer(query)  # batch query_length units
        if not self.normalize:
            return additive_scores(query, keys, self.direction)
        # The squares of small numbers are 0 in half precision.
        dtype = keras.backend.result_type(query.dtype, "float32")
        direction = ops.cast(self.direction, dtype)
        norm = ops.sqrt(ops.sum(ops.square(direction)))
        direction = ops.cast(self.gain, dtype) * direction / norm
        direction = ops.cast(direction, query.dtype)
        return additive_scores(query + self.bias, keys, direction)

    def get_config(self) -> dict:
        return {
            **super().get_config(),
            "units": self.units,
            "normalize": self.normalize,
            "coverage": self.coverage,
        }
