"""A translator with `AttentionRNN`, on TensorFlow."""

import os


os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import tensorflow as tf
from measuring import run_side
from tensorflow_data import draw_tokens
from tensorflow_data import draw_vectors

from keras_attention import AttentionRNN
from keras_attention import BahdanauAttention
from keras_attention import BahdanauRNNCell
from keras_attention import LuongAttention
from keras_attention import LuongRNNCell


def make_rnn(task):
    inner = keras.layers.GRUCell(task.units)
    if task.attention == "bahdanau":
        cell = BahdanauRNNCell(inner, BahdanauAttention(task.units))
    else:
        cell = LuongRNNCell(
            inner,
            LuongAttention("general"),
            input_feeding=task.attention == "luong",
            attentional_state="linear",  # as TFA has it
        )
    return AttentionRNN(cell, return_sequences=True)


def make_encoder(task):
    """Returns a model from source tokens to a memory."""
    return keras.Sequential(
        [
            keras.Input((None,), dtype="int32"),
            keras.layers.Embedding(task.vocabulary, task.units),
            keras.layers.Bidirectional(
                keras.layers.GRU(task.units, return_sequences=True),
                merge_mode="sum",
            ),
        ]
    )


def make_training_step(task):
    units, vocabulary = task.units, task.vocabulary
    source = keras.Input((None,), dtype="int32")
    target = keras.Input((None,), dtype="int32")
    lengths = keras.Input((), dtype="int32")
    memory = make_encoder(task)(source)
    positions = keras.ops.cumsum(keras.ops.ones_like(source), axis=1) - 1
    memory_mask = positions < lengths[:, None]
    output = make_rnn(task)(
        keras.layers.Embedding(vocabulary, units)(target),
        memory,
        memory_mask=memory_mask,
    )
    logits = keras.layers.Dense(vocabulary)(output)
    model = keras.Model([source, target, lengths], logits)
    optimizer = keras.optimizers.Adam()
    optimizer.build(model.trainable_variables)
    variables = model.trainable_variables

    @tf.function(jit_compile=task.compiled)
    def step(source, target, lengths):
        with tf.GradientTape() as tape:
            losses = keras.losses.sparse_categorical_crossentropy(
                target, model([source, target, lengths]), from_logits=True
            )
            loss = tf.reduce_mean(losses)
        optimizer.apply(tape.gradient(loss, variables), variables)
        return loss

    def run(batch, length):
        step(*draw_tokens(batch, length, task.vocabulary)).numpy()

    return run


def make_decoder_step(task):
    rnn = make_rnn(task)
    rnn.build((None, None, task.units), (None, None, task.units))

    @tf.function(jit_compile=task.compiled)
    def step(sequences, memory, lengths):
        positions = tf.range(tf.shape(memory)[1])
        memory_mask = positions < lengths[:, None]
        with tf.GradientTape() as tape:
            tape.watch([sequences, memory])
            output = rnn(sequences, memory, memory_mask=memory_mask)
            total = tf.reduce_sum(tf.square(output))
        watched = [sequences, memory, *rnn.trainable_variables]
        return tape.gradient(total, watched)

    def run(batch, length):
        for gradient in step(*draw_vectors(batch, length, task.units)):
            gradient.numpy()

    return run


if __name__ == "__main__":
    run_side(training=make_training_step, decoder=make_decoder_step)
