"""The translator of every row: nothing but what the row names differs."""

import keras
from claims.corpus import END
from claims.corpus import PADDING
from claims.corpus import START
from claims.corpus import UNKNOWN
from keras import ops

import keras_attention


HALF_WIDTH = 5  # the D of local attention, in pieces
LOCAL = {
    "local-m": {"window": "monotonic"},
    "local-p": {"window": "predictive"},
    "local-p-scaled": {"window": "predictive", "position_scale": "sqrt"},
}


def make_attention(name, units):
    if name == "additive":
        return keras_attention.BahdanauAttention(units)
    if name in LOCAL:
        return keras_attention.LocalAttention(
            "general", half_width=HALF_WIDTH, **LOCAL[name]
        )
    if name == "concat":
        return keras_attention.LuongAttention("concat", units=units)
    # Of one vector, which is all that "none" sees, any score has weight 1.
    return keras_attention.LuongAttention("dot" if name == "none" else name)


def make_cell(row, units):
    step = keras.layers.GRUCell(units)
    attention = make_attention(row.attention, units)
    if row.order == "bahdanau":
        return keras_attention.BahdanauRNNCell(
            step, attention, output_context="residual"
        )
    return keras_attention.LuongRNNCell(
        step,
        attention,
        input_feeding=row.input_feeding,
        attentional_state=row.state,
    )


def make_embedding(row, vocabulary_size, units):
    initializer = "uniform"
    if row.embedding_std:
        initializer = keras.initializers.RandomNormal(stddev=row.embedding_std)
    return keras.layers.Embedding(
        vocabulary_size, units, embeddings_initializer=initializer
    )


class Encoder(keras.layers.Layer):
    """Reads the source in both directions.

    Without attention the memory is one vector, the last states: a decoder
    that sees it at every step is that of Cho et al. (2014).
    """

    def __init__(self, row, vocabulary_size, units, dropout):
        super().__init__()
        self.row = row
        self.embedding = make_embedding(row, vocabulary_size, units)
        self.dropout = keras.layers.Dropout(dropout)
        # Memory and query are equally wide, which the dot score needs.
        gru = keras.layers.GRU(
            units // 2, return_sequences=True, return_state=True
        )
        self.reader = keras.layers.Bidirectional(gru)
        self.bridge = keras_attention.StateBridge("dense", units=units)

    def call(self, source, training=False):
        mask = source != PADDING if self.row.masks else None
        embedded = self.dropout(self.embedding(source), training=training)
        memory, *states = self.reader(embedded, mask=mask)
        if self.row.attention == "none":
            memory, mask = ops.concatenate(states, axis=-1)[:, None], None
        return memory, mask, self.bridge(states)  # batch source_length units


class Translator(keras.Model):
    """Predicts every next piece of the target."""

    def __init__(self, row, vocabulary_sizes, units, dropout):
        super().__init__()
        self.row = row
        source_size, target_size = vocabulary_sizes
        self.encoder = Encoder(row, source_size, units, dropout)
        self.decoder = keras_attention.AttentionDecoder(
            make_embedding(row, target_size, units),
            keras_attention.AttentionRNN(
                make_cell(row, units), return_sequences=True
            ),
            keras.layers.Dense(target_size),
            dropout=dropout,
        )

    def call(self, inputs, training=False):
        source, target = inputs
        memory, memory_mask, state = self.encoder(source, training=training)
        return self.decoder(
            target,
            memory,
            initial_state=state,
            mask=target != PADDING if self.row.masks else None,
            memory_mask=memory_mask,
            training=training,
        )  # batch target_length vocabulary_size

    def translate(self, source):
        """Returns the most probable pieces, one after another."""
        result = self.decoder.generate(
            *self.encoder(source),
            start_token=START,
            end_token=END,
            forbidden_tokens=(PADDING, START, UNKNOWN),
            max_length=2 * ops.shape(source)[1] + 10,
            return_attention_scores=False,
        )
        return result.tokens[:, 0]  # batch target_length

    def log_probabilities(self, source, target):
        """Returns the log-probability of each target (natural log)."""
        memory, memory_mask, state = self.encoder(source)
        return self.decoder.score(
            target[:, 1:],
            memory,
            memory_mask=memory_mask,
            initial_state=state,
            start_token=START,
            end_token=END,
        )

    def align(self, source, target):
        """Returns what is looked at for each piece of a given target."""
        memory, memory_mask, state = self.encoder(source)
        looking = keras_attention.AttentionRNN(
            self.decoder.rnn.cell,
            return_sequences=True,
            return_attention_scores=True,
        )
        _, attention_scores = looking(
            self.decoder.embedding(target[:, :-1]),
            memory,
            initial_state=state,
            mask=target[:, 1:] != PADDING,
            memory_mask=memory_mask,
        )
        return attention_scores  # batch target_length source_length
