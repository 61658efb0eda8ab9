"""The contract of an attention layer, and what all of them share."""

from collections.abc import Callable
from typing import Self

import keras
from keras import ops

from keras_attention.attention.inputs import causal_mask
from keras_attention.attention.inputs import checked_inputs
from keras_attention.attention.inputs import split_masks
from keras_attention.attention.inputs import split_shapes
from keras_attention.attention.prepared_memory import PreparedMemory
from keras_attention.attention.steps import attend_by_steps
from keras_attention.attention.steps import initial_state
from keras_attention.masking import PROBABILITIES
from keras_attention.masking import clear_padding
from keras_attention.masking import masked_probabilities
from keras_attention.scores import Score
from keras_attention.validation import check_choice
from keras_attention.validation import check_mask
from keras_attention.validation import check_positive_number
from keras_attention.validation import check_rank
from keras_attention.validation import check_rate


class Attention(keras.layers.Layer):
    r"""Weighs the positions of a value by how well a query fits them.

    $$c_i = \sum_j \alpha_{ij} h_j, \qquad
    \alpha_i = \mathrm{probability}(\mathrm{score}(s_i, h) / \tau)$$

    Source: Bahdanau et al. (2015), section 3.1, eqs. 5 and 6; Luong et al.
    (2015), section 3.1. $c$ is our `context`, $\alpha$ (their $a$) is what
    Keras and this library call attention scores.

    This is the abstract base of all attention layers. It serves two callers.
    Whole sequences call the layer, as `keras.layers.Attention` is called.
    A recurrent cell prepares the memory once and then takes one step at a
    time. A mechanism that carries something from one step to the next (the
    position reached, the attention spent so far) defines `num_states`,
    `initial_state` and `step`, and whole sequences are attended step by
    step.

    Args:
        score: A `Score` layer.
        probability: `"softmax"`, `"sparsemax"`, `"hardmax"`, or a function
            of the scores that normalises their last axis. It gets float32
            scores, with a large negative number in place of padding.
        dropout: Share of the attention scores to drop in training, from 0
            up to, not including, 1. Returned attention scores are those
            before dropout.
        temperature: The $\tau$ that scores are divided by, dimensionless,
            above 0. Below 1 it sharpens the attention, above 1 it spreads it.

    Call arguments:
        inputs: A list or tuple `[query, value]` or `[query, value, key]`
            of `(batch, query_length, query_units)`,
            `(batch, memory_length, value_units)` and
            `(batch, memory_length, key_units)`; the key is the value unless
            given. A single tensor attends to itself.
        mask: `[query_mask, value_mask]`, boolean, `(batch, query_length)`
            and `(batch, memory_length)`, True marks a real token; or None.
            Attached masks come in by themselves.
        return_attention_scores: Whether to return the attention scores too.
        use_causal_mask: Whether position i of the query may only attend to
            positions up to i of the value.
        training: Whether dropout is on.

    Output shape:
        Context, `(batch, query_length, value_units)`. With
        `return_attention_scores=True` also the attention scores,
        `(batch, query_length, memory_length)`: probability, each row sums
        to 1 over `memory_length`. Padding gets exactly 0; a row that is
        padding itself, or has no real position to attend to, is all 0, and
        so is its context.

    Example:
        ```python
        class BoundedAttention(keras_attention.Attention):
            def __init__(self, bound=5.0, **kwargs):
                super().__init__(keras_attention.GeneralScore(), **kwargs)
                self.bound = bound

            def attend(self, query, memory, mask=None, training=False):
                scores = keras.ops.tanh(self.score(query, memory.keys))
                return self.weigh(self.bound * scores, memory, mask, training)


        query = keras.random.normal((2, 3, 5))
        value = keras.random.normal((2, 7, 6))
        print(BoundedAttention()([query, value]).shape)  # (2, 3, 6)
        ```
    """

    # False for a mechanism that makes attention scores in a way of its own,
    # and whose constructor has no probability, dropout and temperature.
    normalizes_scores = True

    def __init__(
        self,
        score: Score,
        probability: str | Callable = "softmax",
        dropout: float = 0.0,
        temperature: float = 1.0,
        **kwargs,
    ):
        owner = type(self).__name__
        for name in ("return_attention_scores", "use_causal_mask"):
            if name in kwargs:
                raise TypeError(
                    f"`{owner}` received {name}={kwargs[name]!r} where it is "
                    "made. Expected it where the layer is called, for example "
                    f"attention([query, value], {name}=True)."
                )
        super().__init__(**kwargs)
        if not callable(probability):
            check_choice(owner, "probability", probability, PROBABILITIES)
        check_rate(owner, "dropout", dropout)
        check_positive_number(owner, "temperature", temperature)
        self.supports_masking = True
        self.score = score
        self.probability = probability
        self.dropout = dropout
        self.temperature = temperature
        self.seed_generator = keras.random.SeedGenerator()

    def build(self, input_shape):
        owner = type(self).__name__
        query_shape, value_shape, key_shape = split_shapes(owner, input_shape)
        check_rank(
            owner,
            "query",
            query_shape,
            ("batch", "query_length", "query_units"),
        )
        for name, shape in (("value", value_shape), ("key", key_shape)):
            check_rank(
                owner, name, shape, ("batch", "memory_length", "memory_units")
            )
        self.value_units = value_shape[-1]
        if not self.score.built:  # a score may serve several layers
            self.score.build(query_shape, key_shape)

    def prepare_memory(self, value, mask=None, key=None) -> PreparedMemory:
        """Computes once what every query needs of a memory.

        Args:
            value: Float, `(batch, memory_length, value_units)`.
            mask: Boolean, `(batch, memory_length)`, or None.
            key: Float, `(batch, memory_length, key_units)`; `value` if None.

        Returns:
            A `PreparedMemory`.
        """
        key = value if key is None else key
        if mask is not None:
            check_mask(
                type(self).__name__, "memory_mask", mask.shape, value.shape
            )
            mask = ops.cast(mask, "bool")
        values = clear_padding(value, mask)
        keys = values if key is value else clear_padding(key, mask)
        return PreparedMemory(self.score.project(keys), values, mask)

    def attend(
        self, query, memory: PreparedMemory, mask=None, training: bool = False
    ):
        """Attends from many queries at once.

        Args:
            query: Float, `(batch, query_length, query_units)`.
            memory: A `PreparedMemory`.
            mask: Boolean, broadcastable to `(batch, query_length,
                memory_length)`: further limits beside the memory's mask.
            training: Whether dropout is on.

        Returns:
            Context `(batch, query_length, value_units)` and attention
            scores `(batch, query_length, memory_length)`.
        """
        if initial_state(self, memory):
            return attend_by_steps(self, query, memory, mask, training)
        scores = self.score(query, memory.keys)
        return self.weigh(scores, memory, mask, training)

    def weigh(
        self, scores, memory: PreparedMemory, mask=None, training: bool = False
    ):
        """Turns scores into a context.

        Args:
            scores: Float, `(batch, query_length, memory_length)`.
            memory: A `PreparedMemory`.
            mask: As in `attend`.
            training: Whether dropout is on.

        Returns:
            As `attend`.
        """
        if memory.mask is not None:
            memory_mask = ops.expand_dims(memory.mask, 1)
            mask = memory_mask if mask is None else memory_mask & mask
        return self.select(self.normalize(scores, mask), memory, training)

    def normalize(self, scores, mask=None):
        """Returns the masked probabilities of scores, float32 at least."""
        dtype = keras.backend.result_type(scores.dtype, "float32")
        probability = PROBABILITIES.get(self.probability, self.probability)
        return masked_probabilities(
            ops.cast(scores, dtype) / self.temperature, mask, probability
        )

    def select(
        self, attention_scores, memory: PreparedMemory, training: bool = False
    ):
        """Returns the context, and the attention scores before dropout.

        Args:
            attention_scores: Float, `(batch, query_length, memory_length)`.
            memory: A `PreparedMemory`.
            training: Whether dropout is on.
        """
        attention_scores = ops.cast(attention_scores, self.compute_dtype)
        weights = attention_scores
        if training and self.dropout:
            weights = self.drop(weights, memory)
        return ops.matmul(weights, memory.values), attention_scores

    def drop(self, weights, memory: PreparedMemory):
        """Drops some of the weights `(batch, query_length, width)`."""
        noise = memory.noise
        if noise is None:
            noise = self.draw_noise(memory, ops.shape(weights)[1])
        else:
            noise = ops.expand_dims(noise, 1)
        return weights * ops.cast(noise, weights.dtype)

    def draw_noise(self, memory: PreparedMemory, query_length):
        """Draws what is random in training, for many queries at once.

        Args:
            memory: What `prepare_memory` returns.
            query_length: Number of queries.

        Returns:
            Float, `(batch, query_length, width)`, for `PreparedMemory.noise`
            query by query; None where nothing is random. Here: 0 for an
            attention score to be dropped, and what keeps the mean for the
            others.
        """
        batch, memory_length = ops.shape(memory.values)[:2]
        return self.draw_dropout((batch, query_length, memory_length))

    def draw_dropout(self, shape):
        """Draws the factors of a dropout, or returns None without one."""
        if not self.dropout:
            return None
        ones = ops.ones(shape, dtype=self.compute_dtype)
        return keras.random.dropout(
            ones, self.dropout, seed=self.seed_generator
        )

    @property
    def num_states(self) -> int:
        """How many tensors the mechanism carries from step to step."""
        return 0

    def initial_state(self, memory: PreparedMemory):
        """Returns what the mechanism knows before its first step.

        Args:
            memory: A `PreparedMemory`.

        Returns:
            A list of `num_states` tensors, each with the batch first.
        """
        return []

    def step(
        self, query, memory: PreparedMemory, state, training: bool = False
    ):
        """Attends from one query per example.

        Args:
            query: Float, `(batch, query_units)`.
            memory: A `PreparedMemory`.
            state: A list of tensors, as `initial_state` returns.
            training: Whether dropout and noise are on.

        Returns:
            Context `(batch, value_units)`, attention scores
            `(batch, memory_length)`, and the next state.
        """
        if self.num_states:
            raise NotImplementedError(
                f"`{type(self).__name__}` has num_states={self.num_states} "
                "and must define `step(query, memory, state, training)`."
            )
        context, scores = self.attend(
            ops.expand_dims(query, 1), memory, training=training
        )
        return ops.squeeze(context, 1), ops.squeeze(scores, 1), state

    def call(
        self,
        inputs,
        mask=None,
        return_attention_scores: bool = False,
        use_causal_mask: bool = False,
        training: bool = False,
    ):
        query, value, key, query_mask, value_mask = checked_inputs(
            type(self).__name__, inputs, mask
        )
        limits = None
        if query_mask is not None:
            query = clear_padding(query, query_mask)
            limits = ops.expand_dims(query_mask, -1)
        if use_causal_mask:
            causal = causal_mask(ops.shape(query)[1], ops.shape(value)[1])
            limits = causal if limits is None else limits & causal
        memory = self.prepare_memory(value, value_mask, key)
        context, scores = self.attend(query, memory, limits, training)
        return (context, scores) if return_attention_scores else context

    def compute_output_shape(self, input_shape):
        query_shape, value_shape, _ = split_shapes(
            type(self).__name__, input_shape
        )
        return (*query_shape[:2], value_shape[-1])

    def compute_output_spec(
        self, inputs, mask=None, return_attention_scores: bool = False, **kwargs
    ):
        # Keras would take `compute_output_shape` for all that is put out.
        query, value, *_ = checked_inputs(type(self).__name__, inputs, mask)
        context, scores = (
            keras.KerasTensor((*query.shape[:2], size), self.compute_dtype)
            for size in (value.shape[-1], value.shape[1])
        )
        return (context, scores) if return_attention_scores else context

    def compute_mask(self, inputs, mask=None):
        # The outputs follow the query; the attention scores carry no mask.
        return split_masks(type(self).__name__, inputs, mask)[0]

    def get_config(self) -> dict:
        config = super().get_config()
        if not self.normalizes_scores:
            return config
        probability = self.probability
        if callable(probability):
            probability = keras.saving.serialize_keras_object(probability)
        return {
            **config,
            "probability": probability,
            "dropout": self.dropout,
            "temperature": self.temperature,
        }

    @classmethod
    def from_config(cls, config: dict) -> Self:
        config = dict(config)
        for name in ("probability", "score"):
            if isinstance(config.get(name), dict):
                config[name] = keras.saving.deserialize_keras_object(
                    config[name]
                )
        return cls(**config)
