"""The same translator with TensorFlow Addons 0.23 (TensorFlow 2.15).

Its AttentionWrapper attends after the step, whatever the attention, and
always feeds what it attended to; it has no step without input feeding.
"""

import os


os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf
import tensorflow_addons as tfa
from measuring import run_side
from tensorflow_data import draw_tokens
from tensorflow_data import draw_vectors


keras = tf.keras


class Decoder(keras.layers.Layer):
    def __init__(self, task, output_layer=None):
        super().__init__()
        additive = task.attention == "bahdanau"
        kind = (
            tfa.seq2seq.BahdanauAttention
            if additive
            else tfa.seq2seq.LuongAttention
        )
        self.mechanism = kind(task.units)
        self.wrapper = tfa.seq2seq.AttentionWrapper(
            keras.layers.GRUCell(task.units),
            self.mechanism,
            attention_layer_size=None if additive else task.units,
            output_attention=not additive,
        )
        self.decoder = tfa.seq2seq.BasicDecoder(
            self.wrapper, tfa.seq2seq.TrainingSampler(), output_layer
        )

    def initial_state(self, memory, lengths):
        """Sets the memory, which stays on the mechanism, and starts anew."""
        self.mechanism.setup_memory(memory, memory_sequence_length=lengths)
        return self.wrapper.get_initial_state(
            batch_size=tf.shape(memory)[0], dtype=tf.float32
        )

    def call(self, sequences, memory, lengths):
        batch, length = tf.shape(sequences)[0], tf.shape(sequences)[1]
        outputs, _, _ = self.decoder(
            sequences,
            initial_state=self.initial_state(memory, lengths),
            sequence_length=tf.fill([batch], length),
        )
        return outputs.rnn_output


class Model(keras.Model):
    def __init__(self, task):
        super().__init__()
        units, vocabulary = task.units, task.vocabulary
        self.source_embedding = keras.layers.Embedding(vocabulary, units)
        self.target_embedding = keras.layers.Embedding(vocabulary, units)
        self.encoder = keras.layers.Bidirectional(
            keras.layers.GRU(units, return_sequences=True), merge_mode="sum"
        )
        self.decoder = Decoder(task, keras.layers.Dense(vocabulary))

    def call(self, source, target, lengths):
        memory = self.encoder(self.source_embedding(source))
        return self.decoder(self.target_embedding(target), memory, lengths)


def make_training_step(task):
    model = Model(task)
    optimizer = keras.optimizers.Adam()

    @tf.function
    def step(source, target, lengths):
        with tf.GradientTape() as tape:
            losses = keras.losses.sparse_categorical_crossentropy(
                target, model(source, target, lengths), from_logits=True
            )
            loss = tf.reduce_mean(losses)
        variables = model.trainable_variables
        gradients = tape.gradient(loss, variables)
        optimizer.apply_gradients(zip(gradients, variables, strict=True))
        return loss

    def run(batch, length):
        step(*draw_tokens(batch, length, task.vocabulary)).numpy()

    return run


def make_decoder_step(task):
    decoder = Decoder(task)

    @tf.function
    def step(sequences, memory, lengths):
        with tf.GradientTape() as tape:
            tape.watch([sequences, memory])
            output = decoder(sequences, memory, lengths)
            total = tf.reduce_sum(tf.square(output))
        watched = [sequences, memory, *decoder.trainable_variables]
        return tape.gradient(total, watched)

    def run(batch, length):
        for gradient in step(*draw_vectors(batch, length, task.units)):
            gradient.numpy()

    return run


if __name__ == "__main__":
    run_side(training=make_training_step, decoder=make_decoder_step)
