"""The dot score of Luong, Pham and Manning (2015)."""

import keras
from keras import ops

from keras_attention.scores.score import Score
from keras_attention.scores.score import check_shapes
from keras_attention.validation import check_choice


SCALES = (False, "learned", "sqrt")


@keras.saving.register_keras_serializable(package="keras_attention")
class DotScore(Score):
    r"""Compares queries with keys by their inner product.

    $$\mathrm{score}(h_t, \bar h_s) = h_t^\top \bar h_s$$

    Source: Luong et al. (2015), section 3.1, the first score below eq. 7,
    https://arxiv.org/abs/1508.04025. Their $h_t$ is our `query`, their
    $\bar h_s$ is one row of `memory`.

    Args:
        scale: False; `"learned"` multiplies the score by one learned scalar
            that starts at 1; `"sqrt"` divides it by the square root of the
            number of units (Vaswani et al. 2017, section 3.2.1).

    Call arguments:
        query: Float, `(batch, query_length, units)`.
        keys: Float, `(batch, memory_length, units)`, as `project` returns.

    Output shape:
        `(batch, query_length, memory_length)`. Not normalised, any real.

    Raises:
        ValueError: If query and memory differ in units; `GeneralScore` has
            a weight between them.

    Example:
        ```python
        score = keras_attention.DotScore()
        query = keras.random.normal((2, 3, 6))
        memory = keras.random.normal((2, 7, 6))
        print(score(query, memory).shape)  # (2, 3, 7)
        ```
    """

    def __init__(self, scale: bool | str = False, **kwargs):
        super().__init__(**kwargs)
        check_choice("DotScore", "scale", scale, SCALES)
        self.scale = scale

    def build(self, query_shape, keys_shape):
        check_shapes("DotScore", query_shape, keys_shape)
        _check_units(query_shape, keys_shape)
        if self.scale == "learned":
            self.gain = self.add_weight(
                shape=(), initializer="ones", name="gain"
            )

    def call(self, query, keys):
        _check_units(query.shape, keys.shape)
        # Scaling the query is cheaper than scaling every score.
        if self.scale == "learned":
            query = query * self.gain
        elif self.scale == "sqrt":
            query = query * keys.shape[-1] ** -0.5
        # Not a product with transposed keys, which TensorFlow would copy.
        return ops.einsum("bqu,bku->bqk", query, keys)

    def get_config(self) -> dict:
        return {**super().get_config(), "scale": self.scale}


def _check_units(query_shape, keys_shape):
    if query_shape[-1] != keys_shape[-1]:
        raise ValueError(
            f"`DotScore` received a query of {query_shape[-1]} units and a "
            f"memory of {keys_shape[-1]} units (shapes {tuple(query_shape)} "
            f"and {tuple(keys_shape)}). Expected equal units; use "
            "`GeneralScore`, which learns a weight between them."
        )
