"""Whole-sequence additive attention against keras.layers.AdditiveAttention.

    python tests/benchmarks/additive_attention.py --output additive.json

Forward and backward, each side in a process of its own, the sides in turn;
medians of the seconds, and the memory that the process needed beyond what
the same call needs for sequences of length 2. Ours projects query and keys
besides, which Keras's layer does not.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time


SIZES = [(8, 256, 256, 256), (8, 1024, 1024, 256)]  # batch query memory units
KERAS_SIZES = SIZES[:1]  # the larger one would need some 26 GB


def peak_megabytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(side, compiled, size, repeats):
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import keras
    import tensorflow as tf

    import keras_attention

    batch, query_length, memory_length, units = size
    query = tf.random.normal((batch, query_length, units))
    value = tf.random.normal((batch, memory_length, units))
    layer = (
        keras_attention.BahdanauAttention(units)
        if side == "ours"
        else keras.layers.AdditiveAttention()
    )
    layer.build([query.shape, value.shape])

    @tf.function(jit_compile=compiled)
    def step(query, value):
        with tf.GradientTape() as tape:
            tape.watch([query, value])
            total = tf.reduce_sum(tf.square(layer([query, value])))
        return tape.gradient(total, [query, value, *layer.trainable_weights])

    # What TensorFlow and its compiler need for themselves is needed by now.
    step(query[:1, :2], value[:1, :2])
    before = peak_megabytes()
    seconds = []
    for _ in range(repeats + 1):
        start = time.perf_counter()
        step(query, value)[0].numpy()
        seconds.append(time.perf_counter() - start)
    return {
        "seconds": statistics.median(seconds[1:]),  # the first one traces
        "extra_megabytes": peak_megabytes() - before,
    }


def measure_in_process(side, compiled, size, repeats):
    arguments = json.dumps([side, compiled, size, repeats])
    process = subprocess.run(
        [sys.executable, __file__, "--one", arguments],
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(process.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--output", help="JSON file for all figures")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        sys.stdout.write(json.dumps(measure(*json.loads(options.one))) + "\n")
        return
    rows = []
    for size in SIZES:
        sides = ["ours", "keras"] if size in KERAS_SIZES else ["ours"]
        for compiled in (False, True):
            rounds = [
                {
                    side: measure_in_process(
                        side, compiled, size, options.repeats
                    )
                    for side in sides
                }
                for _ in range(options.rounds)
            ]
            row = {"size": size, "compiled": compiled, "rounds": rounds}
            for side in sides:
                for name in ("seconds", "extra_megabytes"):
                    values = [one[side][name] for one in rounds]
                    row[f"{side} {name}"] = statistics.median(values)
            rows.append(row)
            shown = {k: v for k, v in row.items() if k != "rounds"}
            sys.stdout.write(json.dumps(shown) + "\n")
    if options.output:
        with open(options.output, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=2)


if __name__ == "__main__":
    main()
