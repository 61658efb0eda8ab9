"""The same weights and the same step in the samplers of KerasHub.

A sampler does less: it returns no attention scores and no lengths, and its
beam search lets a hypothesis go on after the end token. The prompt grows by
what was chosen; of every beam the whole prompt is reordered at every step.
"""

import os


os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf
from decoding_ours import Translator
from keras_hub.samplers import BeamSampler
from keras_hub.samplers import GreedySampler
from measuring import run_side
from tensorflow_data import START_TOKEN
from tensorflow_data import draw_tokens


def make_step(task):
    translator = Translator(task)
    decoder = translator.decoder
    cell = decoder.rnn.cell
    sampler = BeamSampler(task.beams) if task.beams else GreedySampler()

    @tf.function(jit_compile=task.compiled)
    def translate(source, lengths, max_length):
        prepared = cell.prepare_memory(*translator.encode(source, lengths))
        batch = source.shape[0]
        states = cell.get_initial_state(batch, prepared)
        if task.beams:
            # The sampler repeats the states; what stays the same is ours.
            prepared = tf.nest.map_structure(
                lambda part: (
                    None if part is None else tf.repeat(part, task.beams, 0)
                ),
                prepared,
            )

        def predict(prompt, states, index):
            logits, states, _ = decoder.take_step(
                prompt[:, index - 1], states, prepared
            )
            return logits, None, states

        start = tf.fill((batch, 1), START_TOKEN)
        tokens = sampler(
            predict,
            tf.pad(start, ((0, 0), (0, max_length))),
            cache=states,
            index=1,
            stop_token_ids=(translator.no_token,),
        )
        return tokens[:, 1:]

    def run(batch, length):
        source, _, lengths = draw_tokens(batch, length, task.vocabulary)
        translate(source, lengths, length).numpy()

    return run


if __name__ == "__main__":
    run_side(decoding=make_step)
