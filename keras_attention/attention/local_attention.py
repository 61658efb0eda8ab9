"""Local attention: Luong, Pham and Manning (2015), section 3.2."""

from collections.abc import Callable
from typing import Any
from typing import NamedTuple

import keras
from keras import ops

from keras_attention.attention.attention import Attention
from keras_attention.attention.inputs import split_shapes
from keras_attention.attention.windows import put_rows
from keras_attention.attention.windows import real_positions
from keras_attention.attention.windows import take_rows
from keras_attention.scores import Score
from keras_attention.scores.make_score import make_score
from keras_attention.scores.make_score import score_config
from keras_attention.validation import check_choice
from keras_attention.validation import check_positive


WINDOWS = ("monotonic", "predictive")
POSITION_SCALES = (False, "sqrt")


class LocalMemory(NamedTuple):
    """A `PreparedMemory`, and where its real tokens are.

    Attributes:
        keys: See `PreparedMemory`.
        values: See `PreparedMemory`.
        mask: See `PreparedMemory`.
        noise: See `PreparedMemory`.
        positions: int32, `(batch, memory_length)`; those of real tokens
            first, in order.
        lengths: int32, `(batch,)`; real tokens of each example.
    """

    keys: Any
    values: Any
    mask: Any
    noise: Any
    positions: Any
    lengths: Any


@keras.saving.register_keras_serializable(package="keras_attention")
class LocalAttention(Attention):
    r"""Attends to a window of the memory.

    $$p_t = t \;\text{(local-m)}, \qquad
    p_t = S\, \sigma(v_p^\top \tanh(W_p h_t)) \;\text{(local-p)}$$

    $$a_t(s) = \mathrm{softmax}_{s \in [p_t - D,\, p_t + D]}
    (\mathrm{score}(h_t, \bar h_s)) \;
    \exp\left(-\frac{(s - p_t)^2}{2 (D/2)^2}\right)$$

    where local-m has no second factor. Source: Luong et al. (2015), section
    3.2, eqs. 9 and 10, https://arxiv.org/abs/1508.04025. Their $h_t$ is our
    `query`, their $D$ our `half_width`, their $S$ the number of real tokens
    of each example.

    $s$ and $t$ count from 0, real tokens only, so that padding anywhere
    changes nothing. A window has $2 D + 1$ positions, around the position
    that $p_t$ falls in, and is cut at the ends of the sentence. Its keys are
    gathered, so that scores and context of a step cost the same however long
    the memory is; whole sequences hold $2 D + 1$ keys for every query. Where
    $t$ is so far behind the end that the window of local-m would be empty, it
    stays at the last real token.

    Args:
        score: `"dot"`, `"general"`, `"concat"`, `"additive"`, or a `Score`
            layer.
        window: `"monotonic"`, local-m, or `"predictive"`, local-p.
        half_width: The $D$, in tokens.
        units: Width of the hidden layer of `"concat"` and `"additive"`;
            needed there, and meant for no other of them.
        scale: False, `"learned"` or `"sqrt"`, for `"dot"` and `"general"`;
            see `DotScore`.
        position_scale: False, or `"sqrt"`, which divides $v_p^\top \tanh(W_p
            h_t)$ by the square root of its number of units; for local-p
            alone. Both can learn the same places, but Adam moves every
            weight of $v_p$ by about the learning rate in a step: with False
            and many units their sum soon drives the place to an end of the
            sentence, where the sigmoid is flat, and there it stays. Train
            with `"sqrt"` unless the learning rate is low.
        probability: See `Attention`.
        dropout: See `Attention`.
        temperature: See `Attention`.

    Call arguments and output shape: as `Attention`; but the attention scores
    of local-p sum to less than 1, the Gaussian being multiplied on.

    Example:
        ```python
        query = keras.random.normal((2, 3, 5))
        value = keras.random.normal((2, 50, 6))
        attention = keras_attention.LocalAttention("general", half_width=4)
        context, scores = attention(
            [query, value], return_attention_scores=True
        )
        print(context.shape, scores.shape)  # (2, 3, 6) (2, 3, 50)
        ```
    """

    def __init__(
        self,
        score: str | Score = "general",
        window: str = "predictive",
        half_width: int = 10,
        units: int | None = None,
        scale: bool | str = False,
        position_scale: bool | str = False,
        probability: str | Callable = "softmax",
        dropout: float = 0.0,
        temperature: float = 1.0,
        **kwargs,
    ):
        layer = make_score(
            "LocalAttention", score, units, scale, kwargs.get("dtype")
        )
        super().__init__(layer, probability, dropout, temperature, **kwargs)
        check_choice("LocalAttention", "window", window, WINDOWS)
        check_positive("LocalAttention", "half_width", half_width)
        check_choice(
            "LocalAttention", "position_scale", position_scale, POSITION_SCALES
        )
        if position_scale and window == "monotonic":
            raise ValueError(
                f"`LocalAttention` received position_scale={position_scale!r} "
                "with window='monotonic', which predicts no position. "
                "Expected window='predictive', or no position_scale."
            )
        self.score_name = score if isinstance(score, str) else None
        self.window = window
        self.half_width = half_width
        self.units = units
        self.scale = scale
        self.position_scale = position_scale

    def build(self, input_shape):
        super().build(input_shape)
        if self.window == "predictive":
            query_shape, *_ = split_shapes("LocalAttention", input_shape)
            self.position_hidden = keras.layers.Dense(
                query_shape[-1],
                activation="tanh",
                use_bias=False,
                dtype=self.dtype_policy,
                name="position_hidden",
            )
            self.position_output = keras.layers.Dense(
                1,
                use_bias=False,
                dtype=self.dtype_policy,
                name="position_output",
            )
            self.position_hidden.build(query_shape)
            self.position_output.build(query_shape)

    def prepare_memory(self, value, mask=None, key=None):
        memory = super().prepare_memory(value, mask, key)
        shape = ops.shape(value)[:2]
        return LocalMemory(*memory, *real_positions(memory.mask, shape))

    @property
    def num_states(self):
        return 1 if self.window == "monotonic" else 0

    def initial_state(self, memory):
        if self.window == "predictive":
            return []
        batch = ops.shape(memory.values)[0]
        return [ops.zeros((batch, 1), dtype="int32")]  # the step, t

    def step(self, query, memory, state, training=False):
        if self.window == "predictive":
            return super().step(query, memory, state, training)
        (time,) = state
        context, scores = self._attend_around(
            time, ops.expand_dims(query, 1), memory, training=training
        )
        return ops.squeeze(context, 1), ops.squeeze(scores, 1), [time + 1]

    def attend(self, query, memory, mask=None, training=False):
        shape = (*ops.shape(query)[:2], ops.shape(memory.values)[1])
        if mask is not None:
            mask = ops.broadcast_to(mask, shape)
        time = None
        if self.window == "monotonic":
            # A query that may see nothing, such as padding, is no step.
            is_step = ops.ones(shape[:2], dtype="int32")
            if mask is not None:
                is_step = ops.cast(ops.any(mask, axis=-1), "int32")
            time = ops.cumsum(is_step, axis=1) - is_step
        return self._attend_around(time, query, memory, mask, training)

    def _attend_around(self, time, query, memory, mask=None, training=False):
        """Attends from `query` around its `time` or a place it predicts."""
        batch, query_length = ops.shape(query)[:2]
        memory_length = ops.shape(memory.values)[1]
        center, deviation = self._center(time, query, memory)
        offsets = ops.arange(-self.half_width, self.half_width + 1)
        offsets = ops.cast(offsets, "int32")
        width = 2 * self.half_width + 1
        # Positions among the real tokens, then among all.
        window = ops.expand_dims(center, -1) + offsets
        lengths = memory.lengths[:, None, None]
        inside = (window >= 0) & (window < lengths)  # batch query width
        window = ops.clip(window, 0, memory_length - 1)
        window = take_rows(memory.positions, window)

        def split(tensor):  # a row for every query, so that any score works
            shape = (batch * query_length, width, tensor.shape[-1])
            return ops.reshape(take_rows(tensor, window), shape)

        keys, values = split(memory.keys), split(memory.values)
        queries = ops.reshape(query, (batch * query_length, 1, query.shape[-1]))
        scores = ops.reshape(
            self.score(queries, keys), (batch, query_length, width)
        )
        if mask is not None:
            inside = inside & ops.take_along_axis(mask, window, axis=-1)
        weights = self.normalize(scores, inside)
        if deviation is not None:
            weights = weights * self._gaussian(deviation, offsets)
        weights = ops.cast(weights, self.compute_dtype)
        attention_scores = put_rows(weights, window, memory_length)
        if training and self.dropout:
            weights = self.drop(weights, memory)
        weights = ops.reshape(weights, (batch * query_length, 1, width))
        context = ops.reshape(
            ops.matmul(weights, values),
            (batch, query_length, values.shape[-1]),
        )
        return context, attention_scores

    def _center(self, time, query, memory):
        """Returns the position that p_t falls in, and how far p_t is on."""
        last = ops.expand_dims(memory.lengths, -1) - 1  # batch 1
        if time is not None:
            return ops.minimum(time, last + self.half_width), None
        place = self.position_output(self.position_hidden(query))
        dtype = keras.backend.result_type(place.dtype, "float32")
        place = ops.cast(ops.squeeze(place, -1), dtype)
        if self.position_scale == "sqrt":
            place = place * query.shape[-1] ** -0.5
        place = ops.sigmoid(place)
        place = place * ops.cast(last + 1, dtype)  # Luong eq. 9
        center = ops.minimum(ops.cast(ops.floor(place), "int32"), last)
        return center, place - ops.cast(center, dtype)

    def _gaussian(self, deviation, offsets):
        distance = ops.cast(offsets, deviation.dtype) - deviation[..., None]
        spread = self.half_width / 2
        return ops.exp(-0.5 * ops.square(distance / spread))  # Luong eq. 10

    def draw_noise(self, memory, query_length):
        width = 2 * self.half_width + 1
        batch = ops.shape(memory.values)[0]
        return self.draw_dropout((batch, query_length, width))

    def get_config(self):
        return {
            **super().get_config(),
            "score": score_config(self.score_name, self.score),
            "window": self.window,
            "half_width": self.half_width,
            "units": self.units,
            "scale": self.scale,
            "position_scale": self.position_scale,
        }
