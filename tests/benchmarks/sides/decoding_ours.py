"""Translation with `AttentionDecoder.generate`, on TensorFlow."""

import os


os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import tensorflow as tf
from measuring import run_side
from ours import make_encoder
from ours import make_rnn
from tensorflow_data import START_TOKEN
from tensorflow_data import draw_tokens

from keras_attention import AttentionDecoder
from keras_attention import BeamSearch
from keras_attention import GreedySearch


class Translator(tf.Module):
    """Source tokens in, as many target tokens as are asked for out."""

    def __init__(self, task):
        super().__init__()
        units, vocabulary = task.units, task.vocabulary
        self.encoder = make_encoder(task)
        self.decoder = AttentionDecoder(
            keras.layers.Embedding(vocabulary, units),
            make_rnn(task),
            keras.layers.Dense(vocabulary),
        )
        self.decoder.build((None, None), (None, None, units))
        self.strategy = BeamSearch(task.beams) if task.beams else GreedySearch()
        self.no_token = vocabulary

    def encode(self, source, lengths):
        """Returns a memory and its mask."""
        memory_mask = tf.sequence_mask(lengths, tf.shape(source)[1])
        return self.encoder(source), memory_mask

    def __call__(self, source, lengths, max_length):
        memory, memory_mask = self.encode(source, lengths)
        result = self.decoder.generate(
            memory,
            memory_mask=memory_mask,
            start_token=START_TOKEN,
            end_token=self.no_token,  # no sequence ends early
            max_length=max_length,
            strategy=self.strategy,
            return_attention_scores=False,  # as TFA does unless it is told to
        )
        return result.tokens[:, 0]


def make_step(task):
    translate = tf.function(Translator(task), jit_compile=task.compiled)

    def run(batch, length):
        source, _, lengths = draw_tokens(batch, length, task.vocabulary)
        translate(source, lengths, length).numpy()

    return run


if __name__ == "__main__":
    run_side(decoding=make_step)
