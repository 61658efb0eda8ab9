"""The same translation with TensorFlow Addons 0.23 (TensorFlow 2.15)."""

import functools
import os


os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf
import tensorflow_addons as tfa
from measuring import run_side
from tensorflow_data import START_TOKEN
from tensorflow_data import draw_tokens
from tfa import Model


def make_decoder(task, model, max_length):
    trained = model.decoder.decoder
    options = {
        "output_layer": trained.output_layer,
        "maximum_iterations": max_length,
    }
    if task.beams:
        return tfa.seq2seq.BeamSearchDecoder(
            model.decoder.wrapper, task.beams, **options
        )
    sampler = tfa.seq2seq.GreedyEmbeddingSampler()
    return tfa.seq2seq.BasicDecoder(model.decoder.wrapper, sampler, **options)


def make_step(task):
    if task.compiled:
        tfa.options.disable_custom_kernel()  # XLA cannot compile it
    model = Model(task)
    model.target_embedding.build(None)

    @functools.cache
    def translator(max_length):
        decoder = make_decoder(task, model, max_length)

        @tf.function(jit_compile=task.compiled)
        def translate(source, lengths):
            start_tokens = tf.fill(tf.shape(lengths), START_TOKEN)
            memory = model.encoder(model.source_embedding(source))
            if task.beams:
                memory, lengths = tfa.seq2seq.tile_batch(
                    (memory, lengths), task.beams
                )
            outputs, _, _ = decoder(
                model.target_embedding.embeddings,
                start_tokens=start_tokens,
                end_token=task.vocabulary,  # no sequence ends early
                initial_state=model.decoder.initial_state(memory, lengths),
            )
            if task.beams:
                return outputs.predicted_ids[..., 0]
            return outputs.sample_id

        return translate

    def run(batch, length):
        source, _, lengths = draw_tokens(batch, length, task.vocabulary)
        translator(length)(source, lengths).numpy()

    return run


if __name__ == "__main__":
    run_side(decoding=make_step)
