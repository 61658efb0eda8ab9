"""The decoder: embedding, recurrent attention, and an output layer."""

import copy

import keras
from keras import ops
from keras import tree

from keras_attention.decoding.decode import decode
from keras_attention.decoding.greedy_search import GreedySearch
from keras_attention.decoding.strategy import check_strategy
from keras_attention.masking import attached_mask
from keras_attention.recurrent import AttentionRNN
from keras_attention.recurrent.initial_state import complete_state
from keras_attention.validation import check_mask
from keras_attention.validation import check_rank


@keras.saving.register_keras_serializable(package="keras_attention")
class AttentionDecoder(keras.layers.Layer):
    r"""Predicts every next token from those before it and from a memory.

    $$p(y_t \mid y_{<t}, x) = \mathrm{softmax}(W_o\, o_t), \qquad
    o_t = \mathrm{rnn}(\mathrm{embedding}(y_{<t}), h)$$

    Source: Bahdanau et al. (2015), section 3.1, eq. 4; Luong et al. (2015),
    section 3, eq. 6. The memory $h$ is an argument; nothing of a batch stays
    on the layer.

    Args:
        embedding: Layer from tokens to vectors, `keras.layers.Embedding`.
        rnn: An `AttentionRNN` with `return_sequences=True`.
        output_layer: Layer from outputs of `rnn` to logits over the
            vocabulary, for example `keras.layers.Dense(vocabulary_size)`.

    Call arguments:
        tokens: Integer, `(batch, length)`: the target shifted by one, with
            the start token first (teacher forcing).
        memory: Float, `(batch, memory_length, memory_units)`.
        initial_state: See `AttentionRNN`.
        mask: Boolean, `(batch, length)`, True marks a real token; what the
            embedding's `mask_zero` says if None.
        memory_mask: Boolean, `(batch, memory_length)`; the mask attached to
            `memory` if None.
        training: Whether dropout is on.

    Output shape:
        Logits, `(batch, length, vocabulary_size)`; then what `rnn` returns
        beside its output (states, attention scores), if anything.

    Example:
        ```python
        rnn = keras_attention.AttentionRNN(
            keras_attention.LuongRNNCell(
                keras.layers.GRUCell(5), keras_attention.LuongAttention()
            ),
            return_sequences=True,
        )
        decoder = keras_attention.AttentionDecoder(
            keras.layers.Embedding(11, 4), rnn, keras.layers.Dense(11)
        )
        memory = keras.random.normal((2, 7, 6))
        print(decoder(keras.ops.ones((2, 3), "int32"), memory).shape)
        result = decoder.generate(
            memory, start_token=1, end_token=2, max_length=9
        )
        print(result.tokens.shape)  # (2, 1, 9)
        ```
    """

    def __init__(self, embedding, rnn, output_layer, **kwargs):
        super().__init__(**kwargs)
        if not isinstance(rnn, AttentionRNN) or not rnn.return_sequences:
            raise ValueError(
                f"`AttentionDecoder` received rnn={rnn!r}. Expected an "
                "AttentionRNN with return_sequences=True: a decoder predicts "
                "a token at every step."
            )
        if rnn.go_backwards:
            raise ValueError(
                "`AttentionDecoder` received an rnn with go_backwards=True. "
                "Expected go_backwards=False: a decoder predicts a token from "
                "those before it."
            )
        self.embedding = embedding
        self.rnn = rnn
        self.output_layer = output_layer
        self.supports_masking = True

    def build(self, tokens_shape, memory_shape):
        check_rank(
            "AttentionDecoder", "tokens", tokens_shape, ("batch", "length")
        )
        # Any batch and length may follow, also for a part that is a model.
        tokens_shape = (None, None)
        if not self.embedding.built:
            self.embedding.build(tokens_shape)
        embedded_shape = self.embedding.compute_output_shape(tokens_shape)
        if not self.rnn.built:
            self.rnn.build(embedded_shape, memory_shape)
        if not self.output_layer.built:
            self.output_layer.build((None, None, self.rnn.cell.output_size))

    def call(
        self,
        tokens,
        memory,
        initial_state=None,
        mask=None,
        memory_mask=None,
        training=False,
    ):
        if mask is None:
            mask = self.embedding.compute_mask(tokens)
        else:
            check_mask("AttentionDecoder", "mask", mask.shape, tokens.shape)
        results = self.rnn(
            self.embedding(tokens, training=training),
            memory,
            initial_state=initial_state,
            mask=mask,
            memory_mask=memory_mask,
            training=training,
        )
        output, *others = results if isinstance(results, tuple) else [results]
        # A copy leaves the mask behind: this layer puts it on the logits, and
        # Keras warns where a layer without support for masks is given one.
        logits = self.output_layer(ops.copy(output), training=training)
        return (logits, *others) if others else logits

    def generate(
        self,
        memory,
        memory_mask=None,
        initial_state=None,
        *,
        start_token,
        end_token,
        max_length,
        strategy=None,
        padding_token=0,
    ):
        """Decodes a sequence for every memory.

        The same weights and the same step as in training; the loop runs in
        the graph and stops when every sequence has ended.

        Args:
            memory: Float, `(batch, memory_length, memory_units)`.
            memory_mask: Boolean, `(batch, memory_length)`, True marks a real
                token; the mask attached to `memory` if None.
            initial_state: See `AttentionRNN`.
            start_token: Id that every sequence starts from; not put out.
            end_token: Id that ends a sequence.
            max_length: Most tokens to put out, the end token included.
            strategy: A decoding strategy; `GreedySearch()` if None.
            padding_token: Id put out after the end token.

        Returns:
            A `DecodingResult`; its attention scores are those of the first
            attention where the cell has several.
        """
        strategy = GreedySearch() if strategy is None else strategy
        check_strategy("AttentionDecoder", strategy)
        if not self.built:
            self.build((None, None), tree.map_structure(ops.shape, memory))
        if memory_mask is None:
            memory_mask = tree.map_structure(attached_mask, memory)
        cell = self.rnn.cell
        prepared = cell.prepare_memory(memory, memory_mask)
        first_mask = prepared[0].mask
        batch_size = ops.shape(prepared[0].values)[0]
        states = complete_state(cell, initial_state, batch_size, prepared)
        prepared, states = tree.map_structure(
            lambda tensor: _tile(tensor, strategy.num_beams),
            (prepared, states),
        )

        def step(tokens, states):
            embedded = self.embedding(
                ops.expand_dims(tokens, 1), training=False
            )
            inputs = embedded[:, 0]  # rows units
            output, states, scores = cell(
                inputs, states, prepared, training=False
            )
            logits = self.output_layer(
                ops.expand_dims(output, 1), training=False
            )
            return logits[:, 0], states, scores[0]

        return decode(
            step,
            states,
            batch_size=batch_size,
            start_token=start_token,
            end_token=end_token,
            max_length=max_length,
            strategy=strategy,
            padding_token=padding_token,
            memory_mask=first_mask,
        )

    def compute_mask(self, tokens, mask=None):
        if mask is None:
            mask = self.embedding.compute_mask(tokens)
        return self.rnn.compute_mask(None, mask)

    def get_config(self):
        config = super().get_config()
        for name in ("embedding", "rnn", "output_layer"):
            layer = getattr(self, name)
            config[name] = keras.saving.serialize_keras_object(layer)
        return config

    @classmethod
    def from_config(cls, config):
        config = copy.deepcopy(config)  # see AttentionRNNCell
        for name in ("embedding", "rnn", "output_layer"):
            config[name] = keras.saving.deserialize_keras_object(config[name])
        return cls(**config)


def _tile(tensor, num_beams):
    """Repeats every row for its beams, next to each other."""
    if tensor is None or num_beams == 1:
        return tensor
    return ops.repeat(tensor, num_beams, axis=0)
