"""The layer that runs an attention cell over a sequence."""

import copy
from typing import Self

import keras
from keras import ops
from keras import tree

from keras_attention.cells import AttentionRNNCell
from keras_attention.cells import wrapped_cell
from keras_attention.cells.projected_inputs import project_inputs
from keras_attention.cells.projected_inputs import take_step
from keras_attention.loop import loop
from keras_attention.loop import split_columns
from keras_attention.masking import attached_mask
from keras_attention.masking import clear_padding
from keras_attention.recurrent.initial_state import complete_state
from keras_attention.recurrent.steps_of_specs import all_steps
from keras_attention.recurrent.steps_of_specs import one_step
from keras_attention.validation import check_mask
from keras_attention.validation import check_rank
from keras_attention.validation import check_same_size


@keras.saving.register_keras_serializable(package="keras_attention")
class AttentionRNN(keras.layers.Layer):
    r"""Runs an attention cell over a sequence, with a memory to look at.

    It is to `BahdanauRNNCell` and `LuongRNNCell` what `keras.layers.RNN` is
    to other cells. The memory is an argument of the call, so that one layer
    serves any number of memories and nothing of a batch stays behind.

    The keys are projected once per call. Where nothing of the attention
    enters the recurrence (`LuongRNNCell` without input feeding), attention
    is computed for all steps in one product, with the same numbers.

    Args:
        cell: A `BahdanauRNNCell` or `LuongRNNCell`.
        return_sequences: Whether to return the output of every step, or the
            last one only.
        return_state: Whether to return the states after the last step.
        return_attention_scores: Whether to return the attention scores of
            every step.
        go_backwards: Whether to begin at the last step; outputs are then in
            the order in which they were computed.
        unroll: Whether to write every step into the graph.

    Call arguments:
        sequences: Float, `(batch, length, units)`.
        memory: Float, `(batch, memory_length, memory_units)`; or a list, one
            for each attention of the cell.
        initial_state: A list of states as the call returns them. States that
            the attention adds at its end (an attentional state) may be left
            out and are then zeros. All zeros if None.
        mask: Boolean, `(batch, length)`, True marks a real token; the mask
            attached to `sequences` if None. A masked step repeats the output
            and the states before it.
        memory_mask: Boolean, `(batch, memory_length)`; the mask attached to
            `memory` if None; a list if memory is one.
        training: Whether dropout is on.

    Output shape:
        The output, `(batch, length, output_size)` or
        `(batch, output_size)`; then each state, if `return_state`; then the
        attention scores `(batch, length, memory_length)` (probability, each
        row sums to 1 over `memory_length`), if `return_attention_scores`; a
        list of them where the cell has a list of attentions.

    Example:
        ```python
        layer = keras_attention.AttentionRNN(
            keras_attention.BahdanauRNNCell(
                keras.layers.GRUCell(5), keras_attention.BahdanauAttention(8)
            ),
            return_sequences=True,
            return_attention_scores=True,
        )
        sequences = keras.random.normal((2, 3, 4))
        memory = keras.random.normal((2, 7, 6))
        output, scores = layer(sequences, memory)
        print(output.shape, scores.shape)  # (2, 3, 5) (2, 3, 7)
        ```
    """

    def __init__(
        self,
        cell: AttentionRNNCell,
        return_sequences: bool = False,
        return_state: bool = False,
        return_attention_scores: bool = False,
        go_backwards: bool = False,
        unroll: bool = False,
        **kwargs,
    ):
        if kwargs.pop("stateful", False):
            raise ValueError(
                "`AttentionRNN` received stateful=True. Expected the states "
                "as arguments: use return_state=True and pass what it returns "
                "as `initial_state` of the next call."
            )
        super().__init__(**kwargs)
        if not isinstance(cell, AttentionRNNCell):
            raise ValueError(
                f"`AttentionRNN` received cell={cell!r}. Expected a cell that "
                "attends, for example BahdanauRNNCell(keras.layers."
                "GRUCell(64), BahdanauAttention(64)). For a plain Keras cell "
                "use keras.layers.RNN."
            )
        self.cell = cell
        self.return_sequences = return_sequences
        self.return_state = return_state
        self.return_attention_scores = return_attention_scores
        self.go_backwards = go_backwards
        self.unroll = unroll
        self.supports_masking = True

    def build(self, sequences_shape, memory_shape):
        check_rank(
            "AttentionRNN",
            "sequences",
            sequences_shape,
            ("batch", "length", "units"),
        )
        self.cell.build_attention(memory_shape)
        if not self.cell.built:
            self.cell.build((sequences_shape[0], sequences_shape[-1]))

    def call(
        self,
        sequences,
        memory,
        initial_state=None,
        mask=None,
        memory_mask=None,
        training: bool = False,
    ):
        if mask is None:
            mask = attached_mask(sequences)
        if memory_mask is None:
            memory_mask = tree.map_structure(attached_mask, memory)
        if mask is not None:
            check_mask("AttentionRNN", "mask", mask.shape, sequences.shape)
        for part in tree.flatten(memory):
            check_same_size(
                "AttentionRNN",
                "batch",
                sequences=sequences.shape[0],
                memory=part.shape[0],
            )
        sequences = clear_padding(sequences, mask)
        memory = self.cell.prepare_memory(memory, memory_mask)
        states = complete_state(
            self.cell,
            initial_state,
            ops.shape(sequences)[0],
            memory,
        )
        if self.cell.attention_is_recurrent:
            run = self._attend_in_the_loop
        else:
            run = self._attend_after_the_loop
        output, states, scores = run(sequences, states, mask, memory, training)
        # The masks must not outlive the batch: a next one may differ in size.
        wrapped_cell.reset_dropout_masks(self.cell.cell)
        results = [output]
        if self.return_state:
            results += states
        if self.return_attention_scores:
            single = not isinstance(self.cell.attention, (list, tuple))
            results.append(scores[0] if single else scores)
        return results[0] if len(results) == 1 else tuple(results)

    def _attend_in_the_loop(self, sequences, states, mask, memory, training):
        """Takes one step of the whole cell after another."""
        drawn = [None] * len(memory)
        if training:
            drawn = self.cell.draw_noise(memory, ops.shape(sequences)[1])
        projected = self.cell.project_inputs(sequences, training)
        if projected is not None:
            sequences = projected.values

        def take_whole_step(inputs, states, memory):
            if projected is not None:
                inputs = projected._replace(values=inputs)
            return self.cell(inputs, states, memory, training=training)

        def step(inputs, states, *noise):
            noise = iter(noise)
            now = [
                part if one is None else part._replace(noise=next(noise))
                for part, one in zip(memory, drawn, strict=True)
            ]
            output, states, scores = take_whole_step(inputs, states, now)
            if self.return_attention_scores:
                # One tensor is all that a loop puts out: side by side.
                output = ops.concatenate([output, *scores], axis=-1)
            return output, states

        self._draw_dropout_masks(
            lambda: take_whole_step(sequences[:, 0], states, memory),
            training,
        )
        batch, length = ops.shape(sequences)[:2]
        widths = [self.cell.output_size]
        if self.return_attention_scores:
            widths += [ops.shape(part.values)[1] for part in memory]
        outputs, states = self._loop(
            step,
            sequences,
            states,
            ops.zeros((batch, sum(widths)), dtype=self.compute_dtype),
            mask,
            self.return_sequences or self.return_attention_scores,
            columns=[noise for noise in drawn if noise is not None],
        )
        if not self.return_attention_scores:
            return outputs, states, []
        output, *scores = split_columns(outputs, widths)
        # A slice of an unknown width has no known width; reshape states it.
        output = ops.reshape(output, (batch, length, widths[0]))
        return self._last_unless_sequences(output), states, scores

    def _attend_after_the_loop(self, sequences, states, mask, memory, training):
        """Runs the wrapped cell alone, then attends from all its outputs."""
        all_steps = self.return_sequences or self.return_attention_scores
        hidden, states = self._run_cell(
            sequences, states, mask, training, all_steps
        )
        if not all_steps:
            hidden = ops.expand_dims(hidden, 1)
        output, scores = self.cell.attend_from_all(hidden, memory, training)
        if mask is not None:
            # Before its first real step a row has put nothing out.
            started = _has_started(mask, self.go_backwards)
            if not all_steps:
                started = started[:, -1:]
            output = clear_padding(output, started)
            scores = [clear_padding(part, started) for part in scores]
        if not all_steps:
            return ops.squeeze(output, 1), states, scores
        return self._last_unless_sequences(output), states, scores

    def _run_cell(self, sequences, states, mask, training, all_steps):
        """Takes one step of the wrapped cell after another."""
        cell = self.cell.cell
        projected = project_inputs(cell, sequences, training)
        if projected is not None:
            sequences = projected.values

        def step(inputs, states):
            if projected is not None:
                inputs = projected._replace(values=inputs)
            return take_step(cell, inputs, None, states, training)

        self._draw_dropout_masks(
            lambda: step(sequences[:, 0], states), training
        )
        shape = (ops.shape(sequences)[0], self.cell.query_size)
        output = ops.zeros(shape, dtype=self.compute_dtype)
        return self._loop(step, sequences, states, output, mask, all_steps)

    def _loop(
        self, step, sequences, states, output, mask, all_steps, columns=()
    ):
        return loop(
            step,
            sequences,
            states,
            output,
            mask=mask,
            go_backwards=self.go_backwards,
            unroll=self.unroll,
            return_sequences=all_steps,
            columns=columns,
        )

    def _last_unless_sequences(self, output):
        return output if self.return_sequences else output[:, -1]

    def _draw_dropout_masks(self, take_step, training):
        """Draws dropout masks before the loop, for all of its steps.

        A mask drawn within a loop in a graph cannot be used outside the one
        step that drew it, so one step is taken here for its masks alone.
        """
        if training and wrapped_cell.has_dropout_masks(self.cell.cell):
            wrapped_cell.reset_dropout_masks(self.cell.cell)
            take_step()

    def compute_output_spec(
        self,
        sequences,
        memory,
        initial_state=None,
        mask=None,
        memory_mask=None,
        training: bool = False,
    ):
        length = sequences.shape[1]
        if mask is not None:
            check_mask("AttentionRNN", "mask", mask.shape, sequences.shape)
        if not self.unroll:  # which may need to know the length
            sequences, mask = one_step(sequences), one_step(mask)
        results = super().compute_output_spec(
            sequences,
            memory,
            initial_state=initial_state,
            mask=mask,
            memory_mask=memory_mask,
            training=training,
        )
        return all_steps(results, length, self)

    def compute_mask(self, sequences, mask=None):
        output_mask = mask if self.return_sequences else None
        if output_mask is not None and self.go_backwards:
            output_mask = ops.flip(output_mask, axis=1)
        num_states = len(tree.flatten(self.cell.state_size))
        num_states += self.cell.num_attention_states
        others = num_states if self.return_state else 0
        others += self.return_attention_scores * len(self.cell.attentions)
        return [output_mask] + [None] * others

    def get_config(self) -> dict:
        return {
            **super().get_config(),
            "cell": keras.saving.serialize_keras_object(self.cell),
            "return_sequences": self.return_sequences,
            "return_state": self.return_state,
            "return_attention_scores": self.return_attention_scores,
            "go_backwards": self.go_backwards,
            "unroll": self.unroll,
        }

    @classmethod
    def from_config(cls, config: dict) -> Self:
        # StackedRNNCells of Keras takes its cells out of the config it gets.
        config = copy.deepcopy(config)
        config["cell"] = keras.saving.deserialize_keras_object(config["cell"])
        return cls(**config)


def _has_started(mask, go_backwards):
    """True from the first real step of every row on, as the loop sees it."""
    steps = ops.cast(mask, "int32")
    if go_backwards:
        steps = ops.flip(steps, axis=1)
    return ops.cumsum(steps, axis=1) > 0
