"""The same translator from a SavedModel, which needs TensorFlow alone.

Another process writes it, so that this one has nothing but what it loads.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path


os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf
from measuring import run_side
from tensorflow_data import draw_tokens


EXPORT = Path(__file__).with_name("decoding_export.py")


def make_step(task):
    with tempfile.TemporaryDirectory() as folder:
        text = json.dumps(task._asdict())
        subprocess.run([sys.executable, EXPORT, text, folder], check=True)
        translator = tf.saved_model.load(folder)

    def run(batch, length):
        # The model puts out `task.length` tokens, whatever the source.
        source, _, lengths = draw_tokens(batch, length, task.vocabulary)
        translator.translate(source, lengths).numpy()

    return run


if __name__ == "__main__":
    run_side(decoding=make_step)
