"""The contract of a recurrent cell that attends to a memory."""

import copy
from collections.abc import Sequence
from typing import Self

import keras
from keras import ops

from keras_attention.attention import Attention
from keras_attention.attention import PreparedMemory
from keras_attention.attention.steps import initial_state
from keras_attention.cells import wrapped_cell
from keras_attention.cells.shared_memory import attend_to
from keras_attention.cells.shared_memory import known_rows
from keras_attention.cells.shared_memory import repeat_rows
from keras_attention.cells.shared_memory import share_memory
from keras_attention.checkpoints import name_each
from keras_attention.validation import check_rank
from keras_attention.validation import check_same_size
from keras_attention.validation import is_shape


class AttentionRNNCell(keras.layers.Layer):
    """One step of a recurrent decoder that looks at a memory.

    This is the abstract base of `BahdanauRNNCell` and `LuongRNNCell`. Unlike
    a plain Keras cell, it takes the memory as an argument of every step, so
    nothing of a batch stays on the cell. `AttentionRNN` is the loop of the
    example as a layer.

    Args:
        cell: A Keras RNN cell: `GRUCell`, `LSTMCell`, `SimpleRNNCell`,
            `StackedRNNCells`, or any object with their contract.
        attention: An attention layer, or a list of several; the contexts of
            several are concatenated.

    Call arguments:
        inputs: Float, `(batch, units)`, one time step.
        states: A list as `get_initial_state` returns: the states of `cell`,
            then those that the attention adds.
        memory: As `prepare_memory` returns.
        training: Whether dropout is on.

    Output shape:
        A tuple of the output `(batch, output_size)`, the next states, and a
        list with the attention scores `(batch, memory_length)` of every
        attention.

    Example:
        ```python
        cell = keras_attention.BahdanauRNNCell(
            keras.layers.GRUCell(5), keras_attention.BahdanauAttention(8)
        )
        time_steps = keras.random.normal((3, 2, 4))
        memory = cell.prepare_memory(keras.random.normal((2, 7, 6)))  # once
        states = cell.get_initial_state(2, memory)
        for inputs in time_steps:
            output, states, attention_scores = cell(inputs, states, memory)
        print(output.shape, attention_scores[0].shape)  # (2, 5) (2, 7)
        ```
    """

    def __init__(self, cell, attention: Attention | list[Attention], **kwargs):
        # States of an attention keep their precision from step to step.
        super().__init__(autocast=False, **kwargs)
        owner = type(self).__name__
        wrapped_cell.check_cell(owner, cell)
        attentions = attention if isinstance(attention, list) else [attention]
        known = [isinstance(layer, Attention) for layer in attentions]
        if not known or not all(known):
            raise ValueError(
                f"`{owner}` received attention={attention!r}. Expected an "
                "attention layer of this library, for example "
                "BahdanauAttention(64), or a list of such layers."
            )
        self.cell = cell
        self.attention = attention
        if isinstance(attention, list):
            name_each(self, "attention", attention)
        if isinstance(cell, keras.layers.StackedRNNCells):
            name_each(self, "cell", cell.cells)

    @property
    def attentions(self) -> list[Attention]:
        """The attention layers, as a list also where there is one."""
        if isinstance(self.attention, Attention):
            return [self.attention]
        return list(self.attention)

    @property
    def attention_is_recurrent(self) -> bool:
        """Whether a step needs the attention of the step before.

        Where it does not, `AttentionRNN` attends from all steps at once.
        """
        raise NotImplementedError

    @property
    def output_size(self) -> int:
        """Units of the output."""
        raise NotImplementedError

    @property
    def query_size(self) -> int:
        """Units of the query that attention layers get."""
        raise NotImplementedError

    @property
    def state_size(self) -> list:
        """Sizes of the states that do not depend on the memory."""
        return wrapped_cell.state_sizes(self.cell)

    @property
    def context_size(self) -> int:
        """Units of the context, over all attentions. Known once built."""
        return sum(attention.value_units for attention in self.attentions)

    def get_initial_state(
        self, batch_size=None, memory: Sequence[PreparedMemory] = ()
    ):
        """Returns the states before the first step.

        Args:
            batch_size: Integer or scalar tensor.
            memory: As `prepare_memory` returns. Needed where an attention
                keeps a state of its own.

        Returns:
            A list: zeros for `cell`, then what the attention adds.
        """
        states = wrapped_cell.zero_states(
            self.cell, batch_size, self.compute_dtype
        )
        return states + self.initial_attention_states(memory)

    def initial_attention_states(self, memory: Sequence[PreparedMemory]):
        """Returns the states of all attentions, in one flat list."""
        pairs = zip(self.attentions, memory, strict=False)
        states = (initial_state(attention, part) for attention, part in pairs)
        return [tensor for state in states for tensor in state]

    def build_attention(self, memory_shape) -> None:
        """Creates the weights of the attention layers.

        Args:
            memory_shape: Shape of the memory; a list of shapes if there is
                one memory for each attention.
        """
        shapes = self._per_attention(memory_shape)
        for attention, shape in zip(self.attentions, shapes, strict=True):
            if not attention.built:
                query_shape = (shape[0], None, self.query_size)
                attention.build([query_shape, shape])

    def check_attention_built(self) -> None:
        """Raises ValueError unless the attention layers have weights."""
        for attention in self.attentions:
            if not attention.built:
                raise ValueError(
                    f"`{type(self).__name__}` was built before its attention "
                    f"layer `{attention.name}`, whose weights depend on the "
                    "memory. Call `prepare_memory(memory)` or "
                    "`build_attention(memory_shape)` first."
                )

    def prepare_memory(self, memory, memory_mask=None) -> list[PreparedMemory]:
        """Computes once what every step needs of the memory.

        Args:
            memory: Float, `(batch, memory_length, memory_units)`, or a list
                with one memory for each attention.
            memory_mask: Boolean, `(batch, memory_length)`, True marks a real
                token, or None; a list if memory is one.

        Returns:
            A list with a `PreparedMemory` for each attention.
        """
        memories = self._per_attention(memory)
        masks = self._per_attention(memory_mask)
        for part in memories:
            check_rank(
                type(self).__name__,
                "memory",
                part.shape,
                ("batch", "memory_length", "memory_units"),
            )
        self.build_attention([part.shape for part in memories])
        return [
            attention.prepare_memory(part, mask)
            for attention, part, mask in zip(
                self.attentions, memories, masks, strict=True
            )
        ]

    def share_memory(self, memory, num_rows: int) -> list:
        """Lets several rows look at each example of a memory.

        For hypotheses of one sentence, for example; it is not copied for each
        of them, where the attention carries no state from step to step.

        Args:
            memory: As `prepare_memory` returns.
            num_rows: How many rows, next to each other, each example has in
                the inputs and states of the steps to come.

        Returns:
            What `call` then takes as its memory.
        """
        if num_rows == 1:
            return memory
        # A mechanism that takes one step after another needs a copy for every
        # row, as does a subclass that may do anything with a memory.
        return [
            repeat_rows(part, num_rows)
            if attention.num_states or self._is_extended
            else share_memory(part, num_rows)
            for attention, part in zip(self.attentions, memory, strict=True)
        ]

    @property
    def _is_extended(self):
        """Whether a subclass may do more with its inputs and its memory."""
        methods = type(self).call, type(self).attend
        return any(
            method.__module__.partition(".")[0] != "keras_attention"
            for method in methods
        )

    def _per_attention(self, value):
        """Repeats what is common to all attentions, once for each."""
        count = len(self.attentions)
        if not isinstance(value, (list, tuple)) or is_shape(value):
            return [value] * count
        if len(value) != count:
            raise ValueError(
                f"`{type(self).__name__}` received {len(value)} memories or "
                f"memory masks for {count} attention layers. Expected one "
                "for all, or a list with one for each."
            )
        return value

    def project_inputs(self, sequences, training: bool = False):
        """Projects the inputs of all steps at once, where the cell allows it.

        Args:
            sequences: Float, `(batch, length, units)`.
            training: Whether dropout is on.

        Returns:
            `ProjectedInputs`, whose steps `call` takes in place of inputs;
            or None where it must be given the inputs themselves.
        """
        return None

    @property
    def num_attention_states(self) -> int:
        """How many states the attentions add to those of `state_size`."""
        return sum(attention.num_states for attention in self.attentions)

    def draw_noise(self, memory: list[PreparedMemory], num_steps):
        """Draws what is random in the attention of many steps of training.

        Args:
            memory: As `prepare_memory` returns.
            num_steps: Integer.

        Returns:
            A list with what `draw_noise` of every attention returns.
        """
        return [
            attention.draw_noise(part, num_steps)
            for attention, part in zip(self.attentions, memory, strict=True)
        ]

    def attend(
        self, query, memory: list[PreparedMemory], states, training: bool
    ):
        """Lets every attention take one step.

        Args:
            query: Float, `(batch, query_size)`.
            memory: As `prepare_memory` returns.
            states: The states of the attention layers, one flat list.
            training: Whether dropout is on.

        Returns:
            The contexts, concatenated; the next states, one flat list; and
            the attention scores, a list.
        """
        contexts, next_states, all_scores = [], [], []
        states = list(states)
        for attention, part in zip(self.attentions, memory, strict=True):
            check_same_size(
                type(self).__name__,
                "batch",
                inputs=query.shape[0],
                memory=known_rows(part),
            )
            count = attention.num_states
            state, states = states[:count], states[count:]
            context, scores, state = attend_to(
                attention, query, part, state, training
            )
            contexts.append(context)
            next_states += state
            all_scores.append(scores)
        return join(contexts), next_states, all_scores

    def call(
        self,
        inputs,
        states,
        memory: list[PreparedMemory],
        training: bool = False,
    ):
        raise NotImplementedError(
            f"`{type(self).__name__}` must define `call(inputs, states, "
            "memory)`."
        )

    def get_config(self) -> dict:
        attention = [
            keras.saving.serialize_keras_object(layer)
            for layer in self.attentions
        ]
        if isinstance(self.attention, Attention):
            attention = attention[0]
        return {
            **super().get_config(),
            "cell": keras.saving.serialize_keras_object(self.cell),
            "attention": attention,
        }

    @classmethod
    def from_config(cls, config: dict) -> Self:
        # StackedRNNCells of Keras takes its cells out of the config it gets.
        config = copy.deepcopy(config)
        for name in ("cell", "attention"):
            config[name] = _deserialize(config[name])
        return cls(**config)


def _deserialize(config):
    if isinstance(config, list):
        return [_deserialize(part) for part in config]
    return keras.saving.deserialize_keras_object(config)


def join(tensors):
    """Concatenates on the last axis; a single tensor is left as it is."""
    return tensors[0] if len(tensors) == 1 else ops.concatenate(tensors, -1)
