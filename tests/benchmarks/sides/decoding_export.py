"""Writes the translator of decoding_ours.py as a SavedModel."""

import json
import sys

import tensorflow as tf
from decoding_ours import Translator
from measuring import Task


def export(task, folder):
    """Saves `translate(source, lengths)`, for any batch and source length."""
    translator = Translator(task)

    @tf.function(
        input_signature=[
            tf.TensorSpec((None, None), "int32"),
            tf.TensorSpec((None,), "int32"),
        ],
        jit_compile=task.compiled,
    )
    def translate(source, lengths):
        return translator(source, lengths, task.length)

    translator.translate = translate
    tf.saved_model.save(translator, folder)


if __name__ == "__main__":
    export(Task(**json.loads(sys.argv[1])), sys.argv[2])
