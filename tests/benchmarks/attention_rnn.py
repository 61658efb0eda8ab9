"""Training with AttentionRNN against TensorFlow Addons and a PyTorch loop.

    TFA_PYTHON=... TORCH_PYTHON=... python tests/benchmarks/attention_rnn.py

The same translator on every side (sides/*.py): two embeddings, a GRU in both
directions, attention around a GRU cell, an output layer, Adam, float32. A
whole training step, and the recurrent attention alone, forward and backward.
The sides take turns, each time in a process of its own; medians of the rounds.
Extra memory is what the process needed beyond what a tiny step needs.

TFA_PYTHON names an interpreter with tensorflow-addons 0.23, TORCH_PYTHON one
with PyTorch; a side without its interpreter is left out. Beside them stands
the time of the matrix products alone, each done at once for all time steps
where the equations allow it.
"""

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path


SIDES = Path(__file__).parent / "sides"
SIZES = {
    "20 tokens, 256 units, vocabulary 8,000": {
        "batch": 64,
        "length": 20,
        "units": 256,
        "vocabulary": 8000,
    },
    "50 tokens, 512 units, vocabulary 1,000": {
        "batch": 64,
        "length": 50,
        "units": 512,
        "vocabulary": 1000,
    },
}
PARTS = ("training", "decoder")
# TFA has no attention that stays out of the recurrence; what it is compared
# with is "luong", which feeds the attentional state as TFA does.
ATTENTIONS = ("bahdanau", "luong", "luong_after")
FIGURES = ("seconds", "peak_megabytes", "extra_megabytes")


def find_sides():
    """Returns interpreter, script and options of every side."""
    sides = {
        "ours": (sys.executable, "ours.py", {}),
        "ours, XLA": (sys.executable, "ours.py", {"compiled": True}),
        "TFA": (os.environ.get("TFA_PYTHON"), "tfa.py", {}),
        "PyTorch": (os.environ.get("TORCH_PYTHON"), "pytorch.py", {}),
        "products": (sys.executable, "products.py", {}),
    }
    return {name: side for name, side in sides.items() if side[0]}


def measure(interpreter, script, task):
    """Measures in a process of its own, which begins small."""
    process = subprocess.run(
        [interpreter, SIDES / script, json.dumps(task)],
        capture_output=True,
        text=True,
        check=False,
    )
    if process.returncode:
        sys.exit(f"{script} {task} failed:\n{process.stderr[-3000:]}")
    return json.loads(process.stdout.splitlines()[-1])


def compare(sides, task, rounds):
    """Returns the medians of every side over rounds in turn."""
    results = {name: [] for name in sides}
    for _, name in itertools.product(range(rounds), sides):
        interpreter, script, options = sides[name]
        results[name].append(measure(interpreter, script, {**task, **options}))
    return {
        name: {
            figure: statistics.median(one[figure] for one in values)
            for figure in FIGURES
        }
        for name, values in results.items()
    }


def table(size, part, attention, results):
    """Formats the figures of all sides, with ratios to ours."""
    ours = results["ours"]["seconds"]
    lines = [f"\n{part}, {attention}, {size}"]
    for name, figures in results.items():
        lines.append(
            f"  {name:10} {figures['seconds']:7.3f} s"
            f" {figures['seconds'] / ours:6.2f} x ours"
            f" {figures['peak_megabytes']:6.0f} MB,"
            f" extra {figures['extra_megabytes']:6.0f} MB"
        )
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument(
        "--attentions", nargs="+", choices=ATTENTIONS, default=ATTENTIONS
    )
    parser.add_argument("--sides", nargs="+", help="only these sides")
    parser.add_argument("--output", help="JSON file for all figures")
    options = parser.parse_args()
    sides = find_sides()
    rows = []
    for part, attention, (name, size) in itertools.product(
        options.parts, options.attentions, SIZES.items()
    ):
        chosen = {
            side: sides[side]
            for side in options.sides or sides
            if not (side == "TFA" and attention == "luong_after")
        }
        task = {
            "attention": attention,
            "part": part,
            "repeats": options.repeats,
            **size,
        }
        results = compare(chosen, task, options.rounds)
        rows.append({**task, "results": results})
        sys.stdout.write(table(name, part, attention, results))
        sys.stdout.flush()
        if options.output:
            Path(options.output).write_text(json.dumps(rows, indent=2))


if __name__ == "__main__":
    main()
