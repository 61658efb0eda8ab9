"""The decoder step of Bahdanau, Cho and Bengio (2015)."""

import keras
from keras import ops

from keras_attention.attention import Attention
from keras_attention.cells import wrapped_cell
from keras_attention.cells.attention_rnn_cell import AttentionRNNCell
from keras_attention.cells.attentional_state import AttentionalState
from keras_attention.cells.projected_inputs import ProjectedInputs
from keras_attention.cells.projected_inputs import project_inputs
from keras_attention.cells.projected_inputs import take_step
from keras_attention.validation import check_choice


@keras.saving.register_keras_serializable(package="keras_attention")
class BahdanauRNNCell(AttentionRNNCell):
    r"""Attends with the previous state, then takes the step.

    $$c_i = \mathrm{attention}(s_{i-1}, h), \qquad
    s_i = f(s_{i-1}, [y_{i-1}; c_i])$$

    Source: Bahdanau et al. (2015), section 3.1, eqs. 4 to 6, and appendix
    A.1.2 and A.2.2, https://arxiv.org/abs/1409.0473. Their $f$ is our
    `cell`, their $y_{i-1}$ our `inputs`, their $s$ our hidden state, their
    $h$ our memory. The context is concatenated to the input, which gives it
    the weights $C$, $C_z$ and $C_r$ of the paper's gated unit.

    Args:
        cell: See `AttentionRNNCell`.
        attention: See `AttentionRNNCell`.
        output_context: What is put out beside the hidden state. False: only
            $s_i$. True: $[s_i; c_i]$, which the paper's deep output needs.
            `"residual"`: $\mathrm{LayerNorm}(s_i + W_c c_i)$, as wide as
            $s_i$; it learns fastest.

    Call arguments and output shape: as `AttentionRNNCell`.

    Example:
        ```python
        cell = keras_attention.BahdanauRNNCell(
            keras.layers.GRUCell(5), keras_attention.BahdanauAttention(8)
        )
        memory = cell.prepare_memory(keras.random.normal((2, 7, 6)))
        states = cell.get_initial_state(2, memory)
        output, states, scores = cell(
            keras.random.normal((2, 3)), states, memory
        )
        print(output.shape, scores[0].shape)  # (2, 5) (2, 7)
        ```
    """

    def __init__(
        self,
        cell,
        attention: Attention | list[Attention],
        output_context: bool | str = False,
        **kwargs,
    ):
        super().__init__(cell, attention, **kwargs)
        check_choice(
            "BahdanauRNNCell",
            "output_context",
            output_context,
            (False, True, "residual"),
        )
        if output_context != "residual":
            output_context = bool(output_context)
        self.output_context = output_context
        if output_context == "residual":
            self.attentional_state = AttentionalState(
                wrapped_cell.output_size(cell),
                "residual",
                dtype=self.dtype_policy,
                name="attentional_state",
            )

    @property
    def attention_is_recurrent(self):
        return True

    @property
    def output_size(self):
        size = wrapped_cell.output_size(self.cell)
        return size + (self.context_size if self.output_context is True else 0)

    @property
    def query_size(self):
        return wrapped_cell.hidden_size(self.cell)

    def build(self, inputs_shape):
        self.check_attention_built()
        batch, units = inputs_shape[0], inputs_shape[-1]
        wrapped_cell.build_cell(self.cell, (batch, units + self.context_size))
        if self.output_context == "residual":
            self.attentional_state.build(
                (batch, wrapped_cell.output_size(self.cell)),
                (batch, self.context_size),
            )

    def project_inputs(self, sequences, training=False):
        if self._is_extended:
            return None
        return project_inputs(self.cell, sequences, training)

    def call(self, inputs, states, memory, training=False):
        if not isinstance(inputs, ProjectedInputs):
            inputs = ops.cast(inputs, self.compute_dtype)
        states = list(states)
        count = len(self.state_size)
        cell_states, attention_states = states[:count], states[count:]
        query = wrapped_cell.hidden_state(self.cell, cell_states)  # s_{i-1}
        context, attention_states, scores = self.attend(
            query, memory, attention_states, training
        )
        output, cell_states = take_step(
            self.cell, inputs, context, cell_states, training
        )
        if self.output_context == "residual":
            output = self.attentional_state(output, context)
        elif self.output_context:
            output = ops.concatenate([output, context], axis=-1)
        return output, cell_states + attention_states, scores

    def get_config(self):
        return {
            **super().get_config(),
            "output_context": self.output_context,
        }
