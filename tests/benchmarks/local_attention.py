"""Local attention: one step over ever longer memories, and whole sequences.

    python tests/benchmarks/local_attention.py --output local.json

First the seconds of one step of `LocalAttention` (local-p, half width 10)
and of `LuongAttention`, both with the general score, from prepared memories
of 100 to 10,000 positions, in random order: the context alone, as a decoder
in training needs it, and with the attention scores, which are as long as the
memory. Then both layers over whole sequences, forward and backward, each in a
process of its own: seconds, and the memory that the process needed beyond
what the same call needs for sequences of length 2.
"""

import argparse
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import time


LENGTHS = [100, 1000, 10000]
BATCH, UNITS, HALF_WIDTH = 16, 256, 10
WHOLE = (4, 2000, 2000, 256)  # batch query memory units
LAYERS = ("local", "global")


def make_layer(name):
    import keras_attention

    if name == "local":
        return keras_attention.LocalAttention("general", half_width=HALF_WIDTH)
    return keras_attention.LuongAttention("general")


def seconds_of(function, *arguments):
    start = time.perf_counter()
    for tensor in function(*arguments):
        tensor.numpy()
    return time.perf_counter() - start


def measure_steps(repeats):
    import tensorflow as tf

    query = tf.random.normal((BATCH, UNITS))
    runs = {}
    for name in LAYERS:
        for length in LENGTHS:
            layer = make_layer(name)
            memory = tf.random.normal((BATCH, length, UNITS))
            layer.build([(BATCH, 1, UNITS), memory.shape])
            prepared = layer.prepare_memory(memory)

            def context(query, memory, layer=layer):
                return layer.step(query, memory, [])[:1]

            def context_and_scores(query, memory, layer=layer):
                return layer.step(query, memory, [])[:2]

            for step in (context, context_and_scores):
                key = name, step.__name__, length
                runs[key] = (tf.function(step), query, prepared)
    for run in runs.values():
        seconds_of(*run)  # traces
    seconds, order = {key: [] for key in runs}, random.Random(1)
    for _ in range(repeats):
        # In another order each time: what ran before leaves the caches cold.
        for key in order.sample(list(runs), len(runs)):
            seconds[key].append(seconds_of(*runs[key]))
    return [
        {
            "layer": name,
            "result": result,
            "memory_length": length,
            "seconds": statistics.median(values),
        }
        for (name, result, length), values in seconds.items()
    ]


def measure_whole(name, repeats):
    import tensorflow as tf

    batch, query_length, memory_length, units = WHOLE
    query = tf.random.normal((batch, query_length, units))
    value = tf.random.normal((batch, memory_length, units))
    layer = make_layer(name)
    layer.build([query.shape, value.shape])

    @tf.function
    def step(query, value):
        with tf.GradientTape() as tape:
            tape.watch([query, value])
            total = tf.reduce_sum(tf.square(layer([query, value])))
        return tape.gradient(total, [query, value, *layer.trainable_weights])

    # What TensorFlow needs for itself is needed by now.
    seconds_of(step, query[:1, :2], value[:1, :2])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds = [seconds_of(step, query, value) for _ in range(repeats + 1)]
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "layer": name,
        "whole": WHOLE,
        "seconds": statistics.median(seconds[1:]),  # the first one traces
        "extra_megabytes": (after - before) / 1024,
    }


def in_process(*arguments):
    """Measures in a process of its own, which begins small."""
    process = subprocess.run(
        [sys.executable, __file__, "--one", json.dumps(arguments)],
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(process.stdout.splitlines()[-1])


def main():
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--output", help="JSON file for all figures")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        kind, *arguments = json.loads(options.one)
        measure = {"steps": measure_steps, "whole": measure_whole}[kind]
        sys.stdout.write(json.dumps(measure(*arguments)) + "\n")
        return
    rows = in_process("steps", options.repeats)
    for _ in range(options.rounds):
        rows += [in_process("whole", name, 5) for name in LAYERS]
    for row in rows:
        sys.stdout.write(json.dumps(row) + "\n")
    for result in ("context", "context_and_scores"):
        flat = [
            row["seconds"]
            for row in rows
            if row["layer"] == "local" and row.get("result") == result
        ]
        sys.stdout.write(
            f"local, {result}: slowest length / fastest length = "
            f"{max(flat) / min(flat):.2f}\n"
        )
    if options.output:
        with open(options.output, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=2)


if __name__ == "__main__":
    main()
