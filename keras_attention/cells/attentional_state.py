"""The state that joins what a decoder knows with what it looked at."""

import keras
from keras import ops

from keras_attention.validation import check_choice


FORMS = ("tanh", "linear", "context", "residual")


class AttentionalState(keras.layers.Layer):
    r"""Joins a hidden state and a context.

    `"tanh"`: $\tilde h = \tanh(W_c [c; h])$, Luong et al. (2015), eq. 5.

    `"linear"`: $\tilde h = W_c [c; h]$, without the tanh.

    `"context"`: $\tilde h = c$, the context itself.

    `"residual"`: $\tilde h = \mathrm{LayerNorm}(h + W_c c)$. The hidden state
    reaches the output without passing a weight that must first be learned,
    which makes a translator learn far faster.

    Args:
        units: Width of the attentional state. `"residual"` needs that of
            the hidden state, `"context"` takes that of the context.
        form: `"tanh"`, `"linear"`, `"context"` or `"residual"`.

    Call arguments:
        hidden: Float, `(..., hidden_units)`.
        context: Float, `(..., context_units)`.

    Output shape:
        `(..., units)`.
    """

    def __init__(self, units, form="tanh", **kwargs):
        super().__init__(**kwargs)
        check_choice("AttentionalState", "form", form, FORMS)
        self.units = units
        self.form = form
        if form != "context":
            self.dense = keras.layers.Dense(
                units,
                activation="tanh" if form == "tanh" else None,
                use_bias=False,
                dtype=self.dtype_policy,
                name="dense",
            )
        if form == "residual":
            self.normalization = keras.layers.LayerNormalization(
                dtype=self.dtype_policy, name="normalization"
            )

    def build(self, hidden_shape, context_shape):
        if self.form == "context":
            return
        if self.form in ("tanh", "linear"):
            width = hidden_shape[-1] + context_shape[-1]
            self.dense.build((*hidden_shape[:-1], width))
            return
        if hidden_shape[-1] != self.units:
            raise ValueError(
                f"`AttentionalState` received form='residual' with "
                f"{self.units} units for a hidden state of "
                f"{hidden_shape[-1]} units. Expected equal units, since the "
                "two are added: leave `attention_units` out, or use "
                "attentional_state='tanh'."
            )
        self.dense.build(context_shape)
        self.normalization.build(hidden_shape)

    def call(self, hidden, context):
        if self.form == "context":
            return context
        if self.form in ("tanh", "linear"):
            return self.dense(ops.concatenate([context, hidden], axis=-1))
        return self.normalization(hidden + self.dense(context))
