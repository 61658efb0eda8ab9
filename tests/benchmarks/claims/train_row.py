"""Trains and measures one row, in a process and on a core of its own.

    python train_row.py '{"row": "general", "seed": 1, ...}'

Prints the results as JSON. `papers.py` calls it.
"""

import json
import os
import sys
import time
from pathlib import Path


BENCHMARKS = Path(__file__).parents[1]
sys.path += map(str, (BENCHMARKS, BENCHMARKS.parents[1] / "tutorials"))
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

# ruff: noqa: E402  the paths and the backend come first
import keras
import tensorflow as tf
from claims.corpus import PADDING
from claims.corpus import batches
from claims.corpus import load_corpus
from claims.corpus import tokens_of
from claims.measure import measure
from claims.rows import ROWS
from claims.translator import Translator
from gold_alignments import read_gold


UNITS = {"phrases": 128, "tatoeba": 256}
DROPOUT = {"phrases": 0.1, "tatoeba": 0.2}
PEAK_RATE, WARM_UP = 3e-3, 300


class Clock(keras.callbacks.Callback):
    """Ends a training when its time is over, and its learning rate with it.

    Time is that of the processor, so that other work on the machine does not
    take from a row what another one gets.
    """

    def __init__(self, seconds):
        super().__init__()
        self.seconds = seconds
        self.steps = 0
        self.losses = []

    def on_train_begin(self, logs=None):
        self.start = time.process_time()

    def passed(self):
        return time.process_time() - self.start

    def on_train_batch_begin(self, batch, logs=None):
        warm_up = min(1.0, (self.steps + 1) / WARM_UP)
        left = max(0.0, 1 - self.passed() / self.seconds)
        self.model.optimizer.learning_rate = PEAK_RATE * warm_up * left

    def on_train_batch_end(self, batch, logs=None):
        self.steps += 1
        self.losses.append(logs["loss"])
        self.model.reset_metrics()  # the loss of this batch alone
        self.model.stop_training = self.passed() >= self.seconds


def train(model, corpus, seed, seconds):
    """Trains for a time; returns steps, seconds, and the loss as it falls."""
    model.compile(
        keras.optimizers.Adam(global_clipnorm=1.0),
        keras.losses.SparseCategoricalCrossentropy(
            from_logits=True, ignore_class=PADDING
        ),
        jit_compile=False,  # XLA would compile anew for every length
    )
    stream = batches(*tokens_of(corpus, corpus.train), seed)
    model.fit(stream, epochs=1, steps_per_epoch=1, verbose=0)  # traces
    clock = Clock(seconds)
    model.fit(stream, callbacks=[clock], verbose=0)
    width = max(1, clock.steps // 50)
    means = [
        sum(clock.losses[start : start + width]) / width
        for start in range(0, clock.steps - width + 1, width)
    ]
    return {
        "steps": clock.steps,
        "seconds": clock.passed(),
        "loss_every": width,
        "losses": means,
    }


def train_once(model, corpus, seed, seconds, path):
    """Trains, or takes up the weights of a training that was finished."""
    weights = path.with_suffix(".weights.h5")
    if path.exists():
        ones = tf.ones([1, 2], tf.int32)
        model((ones, ones))  # makes the weights
        model.load_weights(weights)
        return json.loads(path.read_text())
    training = train(model, corpus, seed, seconds)
    model.save_weights(weights)
    path.with_suffix(".part").write_text(json.dumps(training))
    path.with_suffix(".part").replace(path)
    return training


def run(row, seed, minutes, data, gold, folder, core):
    os.sched_setaffinity(0, [core])
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    keras.utils.set_random_seed(seed)
    path = Path(folder) / f"{row}-{seed}-{minutes}.json"
    row = ROWS[row]
    if row.corpus == "phrases":  # which is built in
        data = gold = None
    corpus = load_corpus(row.corpus, data, Path(folder), row.most_joined)
    model = Translator(
        row,
        (corpus.spanish.vocab_size(), corpus.english.vocab_size()),
        UNITS[row.corpus],
        DROPOUT[row.corpus],
    )
    training = train_once(model, corpus, seed, 60 * minutes * row.share, path)
    paths = {"phrases": "phrases"}
    if gold:
        paths["gold"] = gold
    known = {name: read_gold(path) for name, path in paths.items()}
    return {
        "parameters": model.count_params(),
        **training,
        **measure(model, corpus, known),
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(run(**json.loads(sys.argv[1]))) + "\n")
