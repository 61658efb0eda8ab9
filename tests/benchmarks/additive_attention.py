"""Whole-sequence additive attention against keras.layers.AdditiveAttention.

    python tests/benchmarks/additive_attention.py --output additive.json

Forward and backward, each side in a process of its own, the sides in turn;
medians of the seconds, and the memory that the process needed beyond what
the same call needs for sequences of length 2. Ours projects query and keys
besides, which Keras's layer does not.

With KERAS_BACKEND=jax the step is compiled by XLA, in float32 and bfloat16,
on a GPU where JAX finds one. There the memory is that of the device, and all
sizes are measured on both sides.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path


SCRIPTS = Path(__file__).parent / "sides"
SIDES = ("ours", "keras")
SIZES = [(8, 256, 256, 256), (8, 1024, 1024, 256)]  # batch query memory units
KERAS_SIZES = SIZES[:1]  # the larger one would need some 26 GB
GPU_SIZES = [*SIZES, (32, 512, 512, 256)]
VARIANTS = {
    "tensorflow": [{"compiled": False}, {"compiled": True}],
    "jax": [{"dtype": "float32"}, {"dtype": "bfloat16"}],
}
ENVIRONMENT = {
    "TF_CPP_MIN_LOG_LEVEL": "3",
    # JAX would take most of a GPU's memory at once.
    "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
}


def run(*arguments):
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **ENVIRONMENT},
    )


def jax_has_gpu():
    return "gpu" in run("-c", "import jax; print(jax.default_backend())").stdout


def measure(backend, task):
    """Measures in a process of its own; None where memory does not suffice."""
    process = run(SCRIPTS / f"additive_{backend}.py", json.dumps(task))
    if not process.returncode:
        return json.loads(process.stdout.splitlines()[-1])
    if "RESOURCE_EXHAUSTED" in process.stderr:
        return None
    sys.exit(f"{backend} {task} failed:\n{process.stderr[-3000:]}")


def compare(backend, task, sides, rounds):
    """Returns one row of figures: medians of every side over the rounds."""
    results = [
        {side: measure(backend, {"side": side, **task}) for side in sides}
        for _ in range(rounds)
    ]
    row = {**task, "backend": backend, "rounds": results}
    for side in sides:
        measured = [one[side] for one in results if one[side]]
        for name, first in (measured[0] if measured else {}).items():
            values = [one[name] for one in measured]
            is_figure = isinstance(first, float)
            row[f"{side} {name}"] = (
                statistics.median(values) if is_figure else first
            )
    return row


def table(rows):
    """Formats seconds and extra megabytes of both sides, as in the docs."""
    lines = [
        "| batch x query x memory x units | variant | ours | Keras | ratio "
        "| extra memory, ours | Keras | ratio |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        variant = row.get("dtype") or ("XLA" if row["compiled"] else "no XLA")
        cells = [" x ".join(map(str, row["size"])), variant]
        for name, unit in (("seconds", "s"), ("extra_megabytes", "MB")):
            ours, keras = (row.get(f"{side} {name}") for side in SIDES)
            cells += [show(ours, unit), show(keras, unit)]
            cells.append(f"{keras / ours:.2f}" if ours and keras else "")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def show(figure, unit):
    return "not run" if figure is None else f"{figure:.4g} {unit}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--output", help="JSON file for all figures")
    options = parser.parse_args()
    backend = os.environ.get("KERAS_BACKEND", "tensorflow")
    if backend not in VARIANTS:
        parser.error(f"KERAS_BACKEND={backend} is not tensorflow or jax")
    on_gpu = backend == "jax" and jax_has_gpu()
    rows = []
    for size in GPU_SIZES if on_gpu else SIZES:
        both = on_gpu or size in KERAS_SIZES
        for variant in VARIANTS[backend]:
            task = {"size": size, "repeats": options.repeats, **variant}
            sides = SIDES if both else SIDES[:1]
            rows.append(compare(backend, task, sides, options.rounds))
            shown = {k: v for k, v in rows[-1].items() if k != "rounds"}
            sys.stdout.write(json.dumps(shown) + "\n")
            sys.stdout.flush()
            if options.output:
                text = json.dumps(rows, indent=2)
                Path(options.output).write_text(text, encoding="utf-8")
    sys.stdout.write(table(rows))


if __name__ == "__main__":
    main()
