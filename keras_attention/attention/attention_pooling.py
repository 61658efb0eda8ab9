"""One vector for a sequence, by attention."""

from typing import Self

import keras
from keras import ops

from keras_attention.attention.attention import Attention
from keras_attention.attention.windows import take_rows
from keras_attention.masking import clear_padding
from keras_attention.validation import check_choice
from keras_attention.validation import check_mask
from keras_attention.validation import check_rank


QUERIES = ("last", "learned")


@keras.saving.register_keras_serializable(package="keras_attention")
class AttentionPooling(keras.layers.Layer):
    r"""Sums a sequence up in one vector: the context of a single query.

    $$c = \sum_j \alpha_j h_j$$

    with $\alpha$ from an attention layer. It ends a sequence in
    `keras.Sequential`, as `keras.layers.GlobalAveragePooling1D` does.

    Args:
        attention: An attention layer of this library.
        query: What asks. `"last"`: the last real position of the sequence,
            which in the output of a recurrent layer has seen all the others.
            `"learned"`: a weight, as in Yang et al. (2016), section 2.2.

    Call arguments:
        inputs: Float, `(batch, length, units)`.
        mask: Boolean, `(batch, length)`, True marks a real token; the mask
            attached to `inputs` if None.
        return_attention_scores: Whether to return the attention scores too.
        training: Whether dropout is on.

    Output shape:
        `(batch, units)`. With `return_attention_scores=True` also the
        attention scores, `(batch, length)`. Both are 0 for a sequence
        without a real position.

    Example:
        ```python
        model = keras.Sequential(
            [
                keras.layers.Embedding(1000, 16, mask_zero=True),
                keras.layers.LSTM(16, return_sequences=True),
                keras_attention.AttentionPooling(
                    keras_attention.BahdanauAttention(16)
                ),
                keras.layers.Dense(1, activation="sigmoid"),
            ]
        )
        print(model(keras.ops.ones((2, 7), "int32")).shape)  # (2, 1)
        ```
    """

    def __init__(self, attention: Attention, query: str = "last", **kwargs):
        super().__init__(**kwargs)
        if not isinstance(attention, Attention):
            raise ValueError(
                f"`AttentionPooling` received attention={attention!r}. "
                "Expected an attention layer of this library, for example "
                "BahdanauAttention(64)."
            )
        check_choice("AttentionPooling", "query", query, QUERIES)
        self.supports_masking = True
        self.attention = attention
        self.query = query

    def build(self, input_shape):
        check_rank(
            "AttentionPooling",
            "inputs",
            input_shape,
            ("batch", "length", "units"),
        )
        batch, _, units = input_shape
        if not self.attention.built:
            self.attention.build([(batch, 1, units), input_shape])
        if self.query == "learned":
            self.learned_query = self.add_weight(
                shape=(1, units), initializer="glorot_uniform", name="query"
            )

    def call(
        self,
        inputs,
        mask=None,
        return_attention_scores: bool = False,
        training: bool = False,
    ):
        if mask is not None:
            check_mask("AttentionPooling", "mask", mask.shape, inputs.shape)
            inputs = clear_padding(inputs, mask)
        batch, length = ops.shape(inputs)[:2]
        if self.query == "learned":
            query = ops.broadcast_to(
                self.learned_query, (batch, 1, inputs.shape[-1])
            )
        else:
            query = take_rows(inputs, _last_position(mask, batch, length))
        context, scores = self.attention(
            [query, inputs],
            mask=[None, mask],
            return_attention_scores=True,
            training=training,
        )
        context, scores = ops.squeeze(context, 1), ops.squeeze(scores, 1)
        return (context, scores) if return_attention_scores else context

    def compute_mask(self, inputs, mask=None):
        return None  # no time is left that a mask could speak of

    def get_config(self) -> dict:
        return {
            **super().get_config(),
            "attention": keras.saving.serialize_keras_object(self.attention),
            "query": self.query,
        }

    @classmethod
    def from_config(cls, config: dict) -> Self:
        attention = keras.saving.deserialize_keras_object(config["attention"])
        return cls(**{**config, "attention": attention})


def _last_position(mask, batch, length):
    """Returns the last real position of every row, `(batch, 1)`.

    It is 0 for a row of padding alone, where nothing is attended to.
    """
    if mask is None:
        return ops.zeros((batch, 1), dtype="int32") + (length - 1)
    positions = ops.arange(length, dtype="int32")
    positions = ops.where(ops.cast(mask, "bool"), positions, 0)
    return ops.max(positions, axis=1, keepdims=True)
