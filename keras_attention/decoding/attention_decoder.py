"""The decoder: embedding, recurrent attention, and an output layer."""

import copy
from collections.abc import Sequence
from typing import Self

import keras
from keras import ops
from keras import tree

from keras_attention.attention import PreparedMemory
from keras_attention.cells.shared_memory import repeat_rows
from keras_attention.decoding.decode import DecodingResult
from keras_attention.decoding.decode import decode
from keras_attention.decoding.greedy_search import GreedySearch
from keras_attention.decoding.sample_inputs import check_sampling_probability
from keras_attention.decoding.sample_inputs import sample_inputs
from keras_attention.decoding.score_tokens import score_tokens
from keras_attention.decoding.strategy import DecodingStrategy
from keras_attention.decoding.strategy import check_strategy
from keras_attention.masking import attached_mask
from keras_attention.recurrent import AttentionRNN
from keras_attention.recurrent.initial_state import complete_state
from keras_attention.recurrent.steps_of_specs import all_steps
from keras_attention.recurrent.steps_of_specs import one_step
from keras_attention.validation import check_mask
from keras_attention.validation import check_rank
from keras_attention.validation import check_rate


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
        seed: Integer, or None for another one every time: what the sampling
            of tokens and the dropout in training start from.
        dropout: Share of the outputs of `rnn` to drop in training, before
            `output_layer`; from 0 up to, not including, 1.

    Call arguments:
        tokens: Integer, `(batch, length)`: the target shifted by one, with
            the start token first (teacher forcing).
        memory: Float, `(batch, memory_length, memory_units)`.
        initial_state: See `AttentionRNN`.
        mask: Boolean, `(batch, length)`, True marks a real token; what the
            embedding's `mask_zero` says if None.
        memory_mask: Boolean, `(batch, memory_length)`; the mask attached to
            `memory` if None.
        sampling_probability: Scalar from 0 to 1, or None. In training, the
            probability with which a token is replaced by one that the
            decoder draws from $p(y_t \mid y_{<t}, x)$ itself, so that it
            learns to go on from its own mistakes (scheduled sampling, Bengio
            et al. 2015, https://arxiv.org/abs/1506.03099). Decided for each
            token alone; the first of a row is never replaced. Drawn with
            dropout and noise off, as in decoding; no gradient flows through
            the drawing. Costs a second loop over the steps.
        training: Whether dropout and sampling are on.

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
        tokens = keras.ops.ones((2, 3), "int32")
        print(decoder(tokens, memory).shape)  # (2, 3, 11)
        result = decoder.generate(
            memory, start_token=1, end_token=2, max_length=9
        )
        print(result.tokens.shape)  # (2, 1, 9)
        ```

        Scheduled sampling in `fit`: the model counts the steps of training,
        for on JAX it does not see the counter of its optimizer.

        ```python
        class Translator(keras.Model):
            def __init__(self, decoder, schedule):
                super().__init__()
                self.decoder = decoder
                self.schedule = schedule
                self.steps = self.add_weight(
                    initializer="zeros", dtype="int32", trainable=False
                )

            def call(self, inputs, training=False):
                probability = self.schedule(self.steps)
                if training:
                    self.steps.assign_add(1)
                return self.decoder(
                    inputs["tokens"],
                    inputs["memory"],
                    sampling_probability=probability,
                    training=training,
                )


        schedule = keras_attention.InverseSigmoidSampling(1000)
        model = Translator(decoder, schedule)
        model.compile(
            "adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        )
        model.fit({"tokens": tokens, "memory": memory}, tokens, verbose=0)
        print(int(model.steps))  # 1
        ```
    """

    def __init__(
        self,
        embedding: keras.Layer,
        rnn: AttentionRNN,
        output_layer: keras.Layer,
        seed: int | None = None,
        dropout: float = 0.0,
        **kwargs,
    ):
        super().__init__(**kwargs)
        check_rate("AttentionDecoder", "dropout", dropout)
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
        self.seed = seed
        self.dropout = dropout
        self.seed_generator = keras.random.SeedGenerator(seed)
        self.supports_masking = True

    def build(self, tokens_shape, memory_shape):
        check_rank(
            "AttentionDecoder", "tokens", tokens_shape, ("batch", "length")
        )
        # Any batch and length may follow, also for a part that is a model.
        tokens_shape = (None, None)
        if not self.embedding.built:
            self.embedding.build(tokens_shape)
        _check_takes_tokens(self.embedding)
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
        sampling_probability=None,
        training: bool = False,
    ):
        if mask is None:
            mask = self.embedding.compute_mask(tokens, None)
        else:
            check_mask("AttentionDecoder", "mask", mask.shape, tokens.shape)
        if sampling_probability is not None:
            check_sampling_probability(sampling_probability)
            if training:
                tokens = sample_inputs(
                    self,
                    tokens,
                    memory,
                    initial_state,
                    mask,
                    memory_mask,
                    sampling_probability,
                )
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
        output = ops.copy(output)
        if training and self.dropout:
            output = keras.random.dropout(
                output, self.dropout, seed=self.seed_generator
            )
        logits = self.output_layer(output, training=training)
        return (logits, *others) if others else logits

    def generate(
        self,
        memory,
        memory_mask=None,
        initial_state=None,
        *,
        start_token: int,
        end_token: int,
        max_length,
        strategy: DecodingStrategy | None = None,
        padding_token: int = 0,
        min_length: int = 0,
        forbidden_tokens: Sequence[int] = (),
        no_repeat_ngram_size: int | None = None,
        length_limits=None,
        return_attention_scores: bool = True,
    ) -> DecodingResult:
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
            min_length: Fewest tokens to put out, the end token included.
            forbidden_tokens: Ids that are never put out, for example that of
                the unknown token; not the end token.
            no_repeat_ngram_size: Length of the runs of tokens that must not
                occur twice in a sequence; None where any may.
            length_limits: Integer, `(batch,)`, most tokens of each example
                where that is less than `max_length`, or None; see `decode`.
            return_attention_scores: Whether to keep them. To decode hundreds
                of tokens with many rows is faster without; see `decode`.

        Returns:
            A `DecodingResult`; its attention scores are those of the first
            attention where the cell has several.
        """
        strategy = GreedySearch() if strategy is None else strategy
        check_strategy("AttentionDecoder", strategy)
        if not self.built:
            shapes = tree.map_structure(lambda one: tuple(one.shape), memory)
            self.build((None, None), shapes)
        if memory_mask is None:
            memory_mask = tree.map_structure(attached_mask, memory)
        cell = self.rnn.cell
        prepared = cell.prepare_memory(memory, memory_mask)
        first_mask = prepared[0].mask
        batch_size = ops.shape(prepared[0].values)[0]
        states = complete_state(cell, initial_state, batch_size, prepared)
        if strategy.num_beams > 1:
            states = repeat_rows(states, strategy.num_beams)
        prepared = cell.share_memory(prepared, strategy.num_beams)

        def step(tokens, states):
            logits, states, scores = self.take_step(tokens, states, prepared)
            return logits, states, scores[0]

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
            min_length=min_length,
            forbidden_tokens=forbidden_tokens,
            no_repeat_ngram_size=no_repeat_ngram_size,
            length_limits=length_limits,
            return_attention_scores=return_attention_scores,
        )

    def take_step(self, tokens, states, memory: list[PreparedMemory]):
        """Predicts the next tokens, for a loop of your own.

        Without dropout, as all decoding.

        Args:
            tokens: Integer, `(batch,)`, the last tokens.
            states: As `rnn.cell.get_initial_state` and this method return
                them.
            memory: As `rnn.cell.prepare_memory` returns it.

        Returns:
            Logits `(batch, vocabulary_size)`, the next states, and a list of
            the attention scores `(batch, memory_length)` of every attention.
        """
        embedded = self.embedding(ops.expand_dims(tokens, 1), training=False)
        output, states, scores = self.rnn.cell(
            embedded[:, 0], states, memory, training=False
        )
        if type(self.output_layer) is keras.layers.Dense:
            # With two axes, backends do its product and bias in one pass.
            logits = self.output_layer(output)
        else:
            output = ops.expand_dims(output, 1)
            logits = self.output_layer(output, training=False)[:, 0]
        return logits, states, scores

    def score(
        self,
        tokens,
        memory,
        memory_mask=None,
        initial_state=None,
        *,
        start_token: int,
        end_token: int,
    ):
        r"""Tells how probable given sequences are.

        $$\log p(y \mid x) = \sum_{t=1}^{|y|} \log p(y_t \mid y_{<t}, x)$$

        It is what `generate` reports of a sequence that it found without
        penalties. A sequence ends with its first end token, which counts; one
        without is taken as cut, and all of its tokens count.

        Args:
            tokens: Integer, `(batch, length)`, without the start token; or
                `(batch, num_sequences, length)`, as `generate` returns them,
                where there are several sequences for each memory.
            memory: Float, `(batch, memory_length, memory_units)`.
            memory_mask: Boolean, `(batch, memory_length)`, True marks a real
                token; the mask attached to `memory` if None.
            initial_state: See `AttentionRNN`.
            start_token: Id that every sequence starts from.
            end_token: Id that ends a sequence.

        Returns:
            Log-probabilities (natural log), float32, `(batch,)` or `(batch,
            num_sequences)`.

        Example:
            ```python
            decoder = keras_attention.AttentionDecoder(
                keras.layers.Embedding(11, 4),
                keras_attention.AttentionRNN(
                    keras_attention.LuongRNNCell(
                        keras.layers.GRUCell(5),
                        keras_attention.LuongAttention(),
                    ),
                    return_sequences=True,
                ),
                keras.layers.Dense(11),
            )
            memory = keras.random.normal((2, 7, 6))
            tokens = keras.ops.array([[3, 4, 2], [5, 2, 0]])
            scores = decoder.score(
                tokens, memory, start_token=1, end_token=2
            )
            print(scores.shape)  # (2,)
            ```
        """
        return score_tokens(
            self,
            tokens,
            memory,
            memory_mask,
            initial_state,
            start_token,
            end_token,
        )

    def compute_output_spec(
        self,
        tokens,
        memory,
        initial_state=None,
        mask=None,
        memory_mask=None,
        sampling_probability=None,
        training: bool = False,
    ):
        if mask is not None:
            check_mask("AttentionDecoder", "mask", mask.shape, tokens.shape)
        results = super().compute_output_spec(
            one_step(tokens),
            memory,
            initial_state=initial_state,
            mask=one_step(mask),
            memory_mask=memory_mask,
            sampling_probability=sampling_probability,
            training=training,
        )
        return all_steps(results, tokens.shape[1], self.rnn)

    def compute_mask(self, tokens, mask=None):
        if mask is None:
            mask = self.embedding.compute_mask(tokens, None)
        return self.rnn.compute_mask(None, mask)

    def get_config(self) -> dict:
        config = super().get_config()
        for name in ("embedding", "rnn", "output_layer"):
            layer = getattr(self, name)
            config[name] = keras.saving.serialize_keras_object(layer)
        config["seed"] = self.seed
        config["dropout"] = self.dropout
        return config

    @classmethod
    def from_config(cls, config: dict) -> Self:
        config = copy.deepcopy(config)  # see AttentionRNNCell
        for name in ("embedding", "rnn", "output_layer"):
            config[name] = keras.saving.deserialize_keras_object(config[name])
        return cls(**config)


def _check_takes_tokens(embedding):
    """Raises ValueError where a model would round tokens in half precision."""
    inputs = getattr(embedding, "inputs", None)  # which only some models have
    dtype = keras.backend.standardize_dtype(inputs[0].dtype) if inputs else None
    if dtype in ("float16", "bfloat16"):
        raise ValueError(
            f"`AttentionDecoder` received an embedding that takes its tokens "
            f"as {dtype}, which cannot tell large integers apart. Expected "
            'integers: begin it with keras.Input([None], dtype="int32").'
        )
