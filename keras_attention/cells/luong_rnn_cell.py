"""The decoder step of Luong, Pham and Manning (2015)."""

import keras
from keras import ops

from keras_attention.attention import Attention
from keras_attention.attention import PreparedMemory
from keras_attention.cells import wrapped_cell
from keras_attention.cells.attention_rnn_cell import AttentionRNNCell
from keras_attention.cells.attention_rnn_cell import join
from keras_attention.cells.attentional_state import FORMS
from keras_attention.cells.attentional_state import AttentionalState
from keras_attention.cells.projected_inputs import ProjectedInputs
from keras_attention.cells.projected_inputs import project_inputs
from keras_attention.cells.projected_inputs import take_step
from keras_attention.validation import check_choice
from keras_attention.validation import check_positive


@keras.saving.register_keras_serializable(package="keras_attention")
class LuongRNNCell(AttentionRNNCell):
    r"""Takes the step, then attends with the new state.

    $$h_t = f(h_{t-1}, x_t), \quad
    c_t = \mathrm{attention}(h_t, \bar h), \quad
    \tilde h_t = \tanh(W_c [c_t; h_t])$$

    Source: Luong et al. (2015), section 3, eq. 5, and section 3.3,
    https://arxiv.org/abs/1508.04025. Their $f$ is our `cell`, their
    $\bar h$ our memory, their $\tilde h_t$ the attentional state, which is
    the output. With `input_feeding`, $x_t$ is $[x_t; \tilde h_{t-1}]$.

    Args:
        cell: See `AttentionRNNCell`.
        attention: See `AttentionRNNCell`.
        attention_units: Width of the attentional state; that of the cell's
            output if None.
        input_feeding: Whether the attentional state joins the next input.
            Without it nothing of the attention enters the recurrence, and
            `AttentionRNN` attends from all steps in one product.
        attentional_state: `"tanh"`, the paper's; `"residual"`,
            $\mathrm{LayerNorm}(h_t + W_c c_t)$, which learns far faster;
            `"linear"`, the paper's without the tanh; or `"context"`, the
            context itself.

    Call arguments and output shape: as `AttentionRNNCell`.

    Example:
        ```python
        cell = keras_attention.LuongRNNCell(
            keras.layers.LSTMCell(5),
            keras_attention.LuongAttention("general"),
            input_feeding=True,
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
        attention_units: int | None = None,
        input_feeding: bool = False,
        attentional_state: str = "tanh",
        **kwargs,
    ):
        super().__init__(cell, attention, **kwargs)
        check_choice(
            "LuongRNNCell", "attentional_state", attentional_state, FORMS
        )
        if attention_units is not None:
            check_positive("LuongRNNCell", "attention_units", attention_units)
            if attentional_state == "context":
                raise ValueError(
                    "`LuongRNNCell` received attentional_state='context' with "
                    f"attention_units={attention_units}. Expected no width: "
                    "it is that of the context. Leave attention_units out."
                )
        self.attention_units = attention_units
        self.input_feeding = input_feeding
        self.attentional_state = AttentionalState(
            attention_units or wrapped_cell.output_size(cell),
            attentional_state,
            dtype=self.dtype_policy,
            name="attentional_state",
        )

    @property
    def attention_is_recurrent(self):
        return self.input_feeding or self.num_attention_states > 0

    @property
    def output_size(self):
        if self.attentional_state.form == "context":
            return self.context_size
        return self.attentional_state.units

    @property
    def query_size(self):
        return wrapped_cell.output_size(self.cell)

    @property
    def state_size(self):
        fed = [self.output_size] if self.input_feeding else []
        return super().state_size + fed

    def get_initial_state(self, batch_size=None, memory=()):
        states = wrapped_cell.zero_states(
            self.cell, batch_size, self.compute_dtype
        )
        if self.input_feeding:
            shape = (batch_size, self.output_size)
            states.append(ops.zeros(shape, dtype=self.compute_dtype))
        return states + self.initial_attention_states(memory)

    def build(self, inputs_shape):
        self.check_attention_built()
        batch, units = inputs_shape[0], inputs_shape[-1]
        fed = self.output_size if self.input_feeding else 0
        wrapped_cell.build_cell(self.cell, (batch, units + fed))
        self.attentional_state.build(
            (batch, self.query_size), (batch, self.context_size)
        )

    def project_inputs(self, sequences, training=False):
        if self._is_extended:
            return None
        return project_inputs(self.cell, sequences, training)

    def call(self, inputs, states, memory, training=False):
        if not isinstance(inputs, ProjectedInputs):
            inputs = ops.cast(inputs, self.compute_dtype)
        states = list(states)
        count = len(wrapped_cell.state_sizes(self.cell))
        cell_states, states = states[:count], states[count:]
        fed = None
        if self.input_feeding:
            fed, *states = states
        hidden, cell_states = take_step(
            self.cell, inputs, fed, cell_states, training
        )
        context, states, scores = self.attend(hidden, memory, states, training)
        output = self.attentional_state(hidden, context)  # Luong eq. 5
        fed = [output] if self.input_feeding else []
        return output, cell_states + fed + states, scores

    def attend_from_all(
        self, hidden, memory: list[PreparedMemory], training: bool = False
    ):
        """Attends from all steps at once, where no step needs another.

        Args:
            hidden: Float, `(batch, length, query_size)`, outputs of `cell`.
            memory: As `prepare_memory` returns.
            training: Whether dropout is on.

        Returns:
            Attentional states `(batch, length, output_size)` and a list with
            the attention scores `(batch, length, memory_length)` of every
            attention.
        """
        results = [
            attention.attend(hidden, part, training=training)
            for attention, part in zip(self.attentions, memory, strict=True)
        ]
        context = join([context for context, _ in results])
        output = self.attentional_state(hidden, context)  # Luong eq. 5
        return output, [scores for _, scores in results]

    def get_config(self):
        return {
            **super().get_config(),
            "attention_units": self.attention_units,
            "input_feeding": self.input_feeding,
            "attentional_state": self.attentional_state.form,
        }
