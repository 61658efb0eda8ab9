"""From the last states of an encoder to the first of a decoder."""

from collections.abc import Callable

import keras
from keras import ops

from keras_attention.checkpoints import name_each
from keras_attention.validation import check_choice
from keras_attention.validation import check_positive
from keras_attention.validation import is_shape


@keras.saving.register_keras_serializable(package="keras_attention")
class StateBridge(keras.layers.Layer):
    r"""Turns the states of an encoder into a decoder's initial state.

    `"dense"`: $s_0 = \tanh(W [\overrightarrow h; \overleftarrow h] + b)$,
    as Bahdanau et al. (2015), appendix A.2.2, who give it the backward state
    alone; `"concat"`: $[\overrightarrow h; \overleftarrow h]$; `"sum"`:
    $\overrightarrow h + \overleftarrow h$.

    Args:
        mode: `"dense"`, `"concat"` or `"sum"`.
        units: Width of the decoder's states; for `"dense"` only.
        activation: Activation of `"dense"`.
        bidirectional: Whether the states are those of
            `keras.layers.Bidirectional`: first all forward states, then all
            backward states. If False, every state is bridged by itself.

    Call arguments:
        states: A list of states `(batch, encoder_units)`: what follows the
            output where the encoder has `return_state=True`.

    Output shape:
        A list of states `(batch, units)`, in the order of the encoder's:
        one for a GRU, two (h and c) for an LSTM.

    Example:
        ```python
        encoder = keras.layers.Bidirectional(
            keras.layers.GRU(4, return_sequences=True, return_state=True)
        )
        memory, *states = encoder(keras.random.normal((2, 7, 3)))
        bridge = keras_attention.StateBridge("dense", units=5)
        (state,) = bridge(states)
        print(state.shape)  # (2, 5)
        ```
    """

    def __init__(
        self,
        mode: str = "dense",
        units: int | None = None,
        activation: str | Callable = "tanh",
        bidirectional: bool = True,
        **kwargs,
    ):
        super().__init__(**kwargs)
        check_choice("StateBridge", "mode", mode, ("dense", "concat", "sum"))
        if mode == "dense":
            check_positive("StateBridge", "units", units)
        elif units is not None:
            raise ValueError(
                f"`StateBridge` received mode={mode!r} with units={units!r}. "
                "Expected units only for mode='dense'; leave them out."
            )
        self.mode = mode
        self.units = units
        self.activation = keras.activations.get(activation)
        self.bidirectional = bidirectional

    def build(self, states_shape):
        shapes = self._grouped(states_shape)
        self.layers = []
        if self.mode == "sum":
            for group in shapes:
                _check_equal(group)
        if self.mode != "dense":
            return
        for index, group in enumerate(shapes):
            layer = keras.layers.Dense(
                self.units,
                activation=self.activation,
                dtype=self.dtype_policy,
                name=f"state_{index}",
            )
            layer.build((group[0][0], sum(shape[-1] for shape in group)))
            self.layers.append(layer)
        name_each(self, "state", self.layers)

    def _grouped(self, states):
        """Pairs each forward state (or shape) with its backward one."""
        if not isinstance(states, (list, tuple)) or is_shape(states):
            shape = getattr(states, "shape", states)
            raise ValueError(
                f"`StateBridge` received one tensor of shape {tuple(shape)}. "
                "Expected a list of states: `memory, *states = encoder(...)`."
            )
        if not self.bidirectional:
            return [(state,) for state in states]
        half, odd = divmod(len(states), 2)
        if odd:
            raise ValueError(
                f"`StateBridge` received {len(states)} states. Expected an "
                "even number, forward states and as many backward ones, as "
                "`keras.layers.Bidirectional` returns after its output. For "
                "an encoder of one direction use bidirectional=False."
            )
        return list(zip(states[:half], states[half:], strict=True))

    def call(self, states):
        groups = self._grouped(states)
        if self.mode == "sum":
            return [sum(group[1:], start=group[0]) for group in groups]
        joined = [ops.concatenate(group, axis=-1) for group in groups]
        if self.mode == "concat":
            return joined
        return [
            layer(state)
            for layer, state in zip(self.layers, joined, strict=True)
        ]

    def get_config(self) -> dict:
        return {
            **super().get_config(),
            "mode": self.mode,
            "units": self.units,
            "activation": keras.activations.serialize(self.activation),
            "bidirectional": self.bidirectional,
        }


def _check_equal(shapes):
    """Raises ValueError unless states that are added have equal units."""
    units = [shape[-1] for shape in shapes]
    if len(set(units)) > 1:
        raise ValueError(
            f"`StateBridge` received mode='sum' for states of {units} units. "
            "Expected equal units, since forward and backward states are "
            "added: use mode='concat' or 'dense'."
        )
