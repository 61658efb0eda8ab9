"""The contract of an attention layer, and what all of them share."""

from typing import Any
from typing import NamedTuple

import keras
from keras import ops

from keras_attention.masking import PROBABILITIES
from keras_attention.masking import clear_padding
from keras_attention.masking import masked_probabilities
from keras_attention.validation import check_choice
from keras_attention.validation import check_mask
from keras_attention.validation import check_rank
from keras_attention.validation import check_rate
from keras_attention.validation import check_same_size


class PreparedMemory(NamedTuple):
    """What attention needs of a memory, computed once per sequence.

    Attributes:
        keys: Float, `(batch, memory_length, key_units)`; the projected
            memory that queries are compared with.
        values: Float, `(batch, memory_length, value_units)`; what the
            context is made of. Padding is 0.
        mask: Boolean, `(batch, memory_length)`, True marks a real token;
            or None where every position is real.
    """

    keys: Any
    values: Any
    mask: Any = None


class Attention(keras.layers.Layer):
    r"""Weighs the positions of a value by how well a query fits them.

    $$c_i = \sum_j \alpha_{ij} h_j, \qquad
    \alpha_i = \mathrm{probability}(\mathrm{score}(s_i, h))$$

    Source: Bahdanau et al. (2015), section 3.1, eqs. 5 and 6; Luong et al.
    (2015), section 3.1. $c$ is our `context`, $\alpha$ (their $a$) is what
    Keras and this library call attention scores.

    This is the abstract base of all attention layers. It serves two callers.
    Whole sequences call the layer, as `keras.layers.Attention` is called.
    A recurrent cell prepares the memory once and then takes one step at a
    time; a mechanism that carries something from one step to the next (the
    position reached, the attention spent so far) defines `initial_state` and
    `step`.

    Args:
        score: A `Score` layer.
        probability: `"softmax"`, `"sparsemax"`, `"hardmax"`, or a function
            of the scores that normalises their last axis. It gets float32
            scores, with a large negative number in place of padding.
        dropout: Share of the attention scores to drop in training, from 0
            up to, not including, 1. Returned attention scores are those
            before dropout.

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
    """

    def __init__(self, score, probability="softmax", dropout=0.0, **kwargs):
        super().__init__(**kwargs)
        owner = type(self).__name__
        if not callable(probability):
            check_choice(owner, "probability", probability, PROBABILITIES)
        check_rate(owner, "dropout", dropout)
        self.supports_masking = True
        self.score = score
        self.probability = probability
        self.dropout = dropout
        self.dropout_layer = keras.layers.Dropout(
            dropout, dtype=self.dtype_policy, name="dropout"
        )

    def build(self, input_shape):
        first = input_shape[0]
        if first is None or isinstance(first, int):  # a single shape
            input_shape = [input_shape, input_shape]
        query_shape, value_shape, key_shape = self._split(input_shape)
        owner = type(self).__name__
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

    def _split(self, inputs):
        """Returns query, value, key (tensors or shapes) of the inputs."""
        if not isinstance(inputs, (list, tuple)):
            return inputs, inputs, inputs
        if len(inputs) not in (2, 3):
            raise ValueError(
                f"`{type(self).__name__}` received a list of length "
                f"{len(inputs)}. Expected [query, value] or [query, value, "
                "key], or a single tensor that attends to itself."
            )
        query, value, *key = inputs
        return query, value, key[0] if key else value

    def _split_masks(self, inputs, mask):
        """Returns the query mask and the value mask of a call."""
        if not isinstance(inputs, (list, tuple)):
            if isinstance(mask, (list, tuple)):
                raise ValueError(
                    f"`{type(self).__name__}` received a list of "
                    f"{len(mask)} masks for a single tensor. Expected one "
                    "mask (batch, length), where True marks a real token."
                )
            return mask, mask
        if mask is None:
            return None, None
        if not isinstance(mask, (list, tuple)) or len(mask) not in (2, 3):
            received = getattr(mask, "shape", mask)
            raise ValueError(
                f"`{type(self).__name__}` received mask={received} for "
                f"{len(inputs)} inputs. Expected a list [query_mask, "
                "value_mask]; put None for a mask that you do not have."
            )
        # A key is the value's sequence: the mask of either is that of both.
        query_mask, value_mask, *key_mask = mask
        if value_mask is None and key_mask:
            value_mask = key_mask[0]
        return query_mask, value_mask

    def prepare_memory(self, value, mask=None, key=None):
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

    def attend(self, query, memory, mask=None, training=False):
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
        if memory.mask is not None:
            memory_mask = ops.expand_dims(memory.mask, 1)
            mask = memory_mask if mask is None else memory_mask & mask
        probability = PROBABILITIES.get(self.probability, self.probability)
        scores = self.score(query, memory.keys)
        scores = masked_probabilities(scores, mask, probability)
        scores = ops.cast(scores, self.compute_dtype)
        weights = self.dropout_layer(scores, training=training)
        return ops.matmul(weights, memory.values), scores

    @property
    def num_states(self):
        """How many tensors the mechanism carries from step to step."""
        return 0

    def initial_state(self, memory):
        """Returns what the mechanism knows before its first step.

        Args:
            memory: A `PreparedMemory`.

        Returns:
            A list of `num_states` tensors, each with the batch first.
        """
        return []

    def step(self, query, memory, state, training=False):
        """Attends from one query per example.

        Args:
            query: Float, `(batch, query_units)`.
            memory: A `PreparedMemory`.
            state: A list of tensors, as `initial_state` returns.
            training: Whether dropout is on.

        Returns:
            Context `(batch, value_units)`, attention scores
            `(batch, memory_length)`, and the next state.
        """
        context, scores = self.attend(
            ops.expand_dims(query, 1), memory, training=training
        )
        return ops.squeeze(context, 1), ops.squeeze(scores, 1), state

    def call(
        self,
        inputs,
        mask=None,
        return_attention_scores=False,
        use_causal_mask=False,
        training=False,
    ):
        query, value, key = self._split(inputs)
        query_mask, value_mask = self._split_masks(inputs, mask)
        owner = type(self).__name__
        check_same_size(
            owner,
            "batch",
            query=query.shape[0],
            value=value.shape[0],
            key=key.shape[0],
        )
        check_same_size(
            owner, "memory_length", value=value.shape[1], key=key.shape[1]
        )
        limits = None
        if query_mask is not None:
            check_mask(owner, "query_mask", query_mask.shape, query.shape)
            query = clear_padding(query, query_mask)
            limits = ops.expand_dims(ops.cast(query_mask, "bool"), -1)
        if use_causal_mask:
            causal = _causal_mask(ops.shape(query)[1], ops.shape(value)[1])
            limits = causal if limits is None else limits & causal
        if value_mask is not None:
            check_mask(owner, "value_mask", value_mask.shape, value.shape)
        memory = self.prepare_memory(value, value_mask, key)
        context, scores = self.attend(query, memory, limits, training)
        return (context, scores) if return_attention_scores else context

    def compute_mask(self, inputs, mask=None):
        # The outputs follow the query; the attention scores carry no mask.
        query_mask, _ = self._split_masks(inputs, mask)
        return query_mask

    def get_config(self):
        probability = self.probability
        if callable(probability):
            probability = keras.saving.serialize_keras_object(probability)
        return {
            **super().get_config(),
            "probability": probability,
            "dropout": self.dropout,
        }

    @classmethod
    def from_config(cls, config):
        config = dict(config)
        if isinstance(config.get("probability"), dict):
            config["probability"] = keras.saving.deserialize_keras_object(
                config["probability"]
            )
        return cls(**config)


def _causal_mask(query_length, memory_length):
    """True where a query position may see a memory position."""
    rows = ops.expand_dims(ops.arange(query_length), -1)
    return ops.expand_dims(rows >= ops.arange(memory_length), 0)
