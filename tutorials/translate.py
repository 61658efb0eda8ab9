"""Translates sentences with an exported translator.

    python tutorials/translate.py runs/tatoeba "¿Dónde está la casa roja?"
    python tutorials/translate.py runs/tatoeba < spanish.txt > english.txt

Reads one sentence a line and prints one translation a line. It needs
tensorflow and tensorflow_text, and nothing else.
"""

import argparse
import itertools
import os
import sys
from pathlib import Path


os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import tensorflow as tf
import tensorflow_text  # noqa: F401  registers the operations of the model


BATCH_SIZE = 64


def load(folder):
    """Loads the model of a run, or a SavedModel given by itself."""
    for path in (folder / "saved_model", folder):
        if (path / "saved_model.pb").exists():
            return tf.saved_model.load(str(path)).signatures["serving_default"]
    raise SystemExit(
        f"{folder}: no SavedModel here. Give the folder that "
        "03_spanish_to_english.py wrote (its --output) once it has finished."
    )


def main():
    """Translates the arguments, or else standard input."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("sentences", nargs="*", metavar="SENTENCE")
    arguments = parser.parse_args()
    serve = load(arguments.folder)
    if arguments.sentences:
        lines = [os.fsencode(sentence) for sentence in arguments.sentences]
    else:
        # Bytes, because a line need not be UTF-8.
        lines = (line.rstrip(b"\r\n") for line in sys.stdin.buffer)
    lines = iter(lines)
    while batch := list(itertools.islice(lines, BATCH_SIZE)):
        results = serve(sentences=tf.constant(batch))["translations"]
        for translation in results.numpy():
            sys.stdout.buffer.write(translation + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
