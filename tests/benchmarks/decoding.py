"""Translation with AttentionDecoder against TensorFlow Addons and KerasHub.

    TFA_PYTHON=... HUB_PYTHON=... python tests/benchmarks/decoding.py

The same translator on every side (sides/decoding_*.py): an embedding, a GRU
in both directions, attention around a GRU cell, an output layer, float32.
Source tokens go in, and target tokens come out, as many as the source has;
no sequence ends early, since no token is the end token. The sides take turns,
each time in a process of its own; medians of the rounds. Extra memory is what
the process needed beyond what a tiny translation needs.

"SavedModel" is ours, written by one process and loaded by another that knows
TensorFlow alone. TFA_PYTHON names an interpreter with tensorflow-addons 0.23,
HUB_PYTHON one with this library and keras-hub, whose samplers run our step.
Beside them stands the time of the matrix products alone.
"""

import argparse
import itertools
import json
import os
import sys
from pathlib import Path

from attention_rnn import compare


# Variable that names the interpreter, script and options of every side.
SIDES = {
    "ours": (None, "decoding_ours.py", {}),
    "ours, XLA": (None, "decoding_ours.py", {"compiled": True}),
    "SavedModel": (None, "decoding_saved.py", {}),
    "SavedModel, XLA": (None, "decoding_saved.py", {"compiled": True}),
    "TFA": ("TFA_PYTHON", "decoding_tfa.py", {}),
    "TFA, XLA": ("TFA_PYTHON", "decoding_tfa.py", {"compiled": True}),
    "KerasHub": ("HUB_PYTHON", "decoding_kerashub.py", {}),
    "KerasHub, XLA": ("HUB_PYTHON", "decoding_kerashub.py", {"compiled": True}),
    "products": (None, "decoding_products.py", {}),
}
STRATEGIES = {"greedy": 0, "beam": 5}  # beams
ATTENTIONS = ("bahdanau", "luong")
SIZES = ("20/256/8000", "50/512/1000")
BATCHES = (64, 1)


def find_sides(names):
    """Returns interpreter, script and options of every side there is."""
    sides = {}
    for name in names:
        variable, script, options = SIDES[name]
        interpreter = os.environ.get(variable) if variable else sys.executable
        if interpreter:
            sides[name] = interpreter, script, options
        else:
            sys.stdout.write(f"{name} is left out: {variable} is not set\n")
    return sides


def read_size(text):
    names = ("length", "units", "vocabulary")
    return dict(zip(names, map(int, text.split("/")), strict=True))


def table(strategy, task, results):
    """Formats the figures of all sides, with ratios to ours."""
    ours = results.get("ours")
    lines = [
        f"\n{strategy}, {task['attention']}, {task['length']} tokens,"
        f" {task['units']} units, vocabulary {task['vocabulary']:,},"
        f" batch {task['batch']}"
    ]
    for name, figures in results.items():
        seconds = figures["seconds"]
        ratio = f"{seconds / ours['seconds']:6.2f} x ours" if ours else ""
        lines.append(
            f"  {name:15} {1000 * seconds:9.2f} ms {ratio}"
            f" {task['batch'] / seconds:8.1f} sentences/s"
            f" {figures['peak_megabytes']:6.0f} MB,"
            f" extra {figures['extra_megabytes']:6.0f} MB"
        )
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument(
        "--strategies", nargs="+", choices=STRATEGIES, default=STRATEGIES
    )
    parser.add_argument(
        "--attentions", nargs="+", choices=ATTENTIONS, default=ATTENTIONS
    )
    parser.add_argument(
        "--sizes",
        nargs="+",
        default=SIZES,
        metavar="TOKENS/UNITS/VOCABULARY",
    )
    parser.add_argument("--batches", nargs="+", type=int, default=BATCHES)
    parser.add_argument(
        "--sides", nargs="+", choices=SIDES, default=SIDES, metavar="SIDE"
    )
    parser.add_argument("--output", help="JSON file for all figures")
    options = parser.parse_args()
    sides = find_sides(options.sides)
    rows = []
    for strategy, attention, size, batch in itertools.product(
        options.strategies, options.attentions, options.sizes, options.batches
    ):
        task = {
            "attention": attention,
            "part": "decoding",
            "beams": STRATEGIES[strategy],
            "batch": batch,
            "repeats": options.repeats,
            **read_size(size),
        }
        results = compare(sides, task, options.rounds)
        rows.append({**task, "results": results})
        sys.stdout.write(table(strategy, task, results))
        sys.stdout.flush()
        if options.output:
            Path(options.output).write_text(json.dumps(rows, indent=2))


if __name__ == "__main__":
    main()
