"""What the papers claim about attention, measured on real sentences.

    python tests/benchmarks/papers.py --rows all --minutes 8 \
        --data spa-eng.zip --gold links.jsonl
    python tests/benchmarks/papers.py --plot

A row is a translator, trained for so many minutes of one processor core, as
many rows at a time as there are cores; claims/rows.py lists them. Whatever is
finished is in the results and is not done again: the same command goes on
where it was interrupted. `--plot` alone puts tables and plots in docs anew.

GOLD is a file of word alignments as tutorials/gold_alignments.py reads it;
without one the alignment is measured on the built-in corpus alone.
"""

import argparse
import concurrent.futures
import itertools
import json
import os
import platform
import queue
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

from claims.page import write_page
from claims.rows import ROWS


ROOT = Path(__file__).parents[2]
SCRIPT = Path(__file__).parent / "claims" / "train_row.py"
PAGE = ROOT / "docs" / "results.md"


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--rows", nargs="+", metavar="ROW", help=f"all, or {', '.join(ROWS)}")
    add("--minutes", type=float, help="of one core, for every row")
    add("--seeds", nargs="+", type=int, default=[1])
    add("--data", metavar="FILE", help="the Tatoeba zip, text or folder")
    add("--gold", metavar="FILE", help="sentences with word alignments")
    add("--results", type=Path, default=ROOT / "docs" / "results.json")
    add("--folder", type=Path, default=ROOT / "runs" / "papers")
    add("--plot", action="store_true", help="make docs/results.md anew")
    options = parser.parse_args()
    if not options.rows and not options.plot:
        parser.error("give --rows, or --plot, or both")
    if options.rows and not (options.minutes and options.minutes > 0):
        parser.error("--rows needs --minutes, more than 0")
    if options.rows == ["all"]:
        options.rows = list(ROWS)
    unknown = set(options.rows or ()) - set(ROWS)
    if unknown:
        parser.error(
            f"no row is called {', '.join(sorted(unknown))}. Expected all, "
            f"or some of {', '.join(ROWS)}"
        )
    return options


def read_results(path, minutes):
    """Returns what is finished; refuses to mix trainings of unequal length."""
    if not path.exists():
        return {}
    results = json.loads(path.read_text(encoding="utf-8"))
    others = {entry["minutes"] for entry in results.values()} - {minutes}
    if minutes and others:
        raise SystemExit(
            f"{path} holds rows of {others.pop()} minutes, which cannot be "
            f"compared with {minutes}. Choose another file by --results, or "
            "remove this one."
        )
    return results


def write_results(path, results):
    """Writes a whole file or none."""
    part = path.with_suffix(".part")
    part.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    part.replace(path)


def processor_name():
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line for line in lines if line.startswith("model name")]
    return names[0].partition(": ")[2] if names else platform.processor()


def measure(row, seed, options, cores):
    """Trains and measures a row on a core that nothing else of us uses."""
    core = cores.get()
    try:
        task = {
            "row": row,
            "seed": seed,
            "minutes": options.minutes,
            "data": options.data,
            "gold": options.gold,
            "folder": str(options.folder),
            "core": core,
        }
        process = subprocess.run(
            [sys.executable, SCRIPT, json.dumps(task)],
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        cores.put(core)
    if process.returncode:
        raise RuntimeError(f"{row} failed:\n{process.stderr[-3000:]}")
    return {
        "row": row,
        "seed": seed,
        "minutes": options.minutes,
        "processor": processor_name(),
        "versions": {
            name: version(name) for name in ("keras", "tensorflow", "numpy")
        },
        **json.loads(process.stdout.splitlines()[-1]),
    }


def run_rows(options):
    results = read_results(options.results, options.minutes)
    tasks = [
        (row, seed)
        for seed, row in itertools.product(options.seeds, options.rows)
        if f"{row}/{seed}" not in results
    ]
    say(f"{len(results)} finished, {len(tasks)} to do")
    options.folder.mkdir(parents=True, exist_ok=True)
    cores = queue.Queue()
    for core in os.sched_getaffinity(0):
        cores.put(core)
    with concurrent.futures.ThreadPoolExecutor(cores.qsize()) as pool:
        futures = [
            pool.submit(measure, *task, options, cores) for task in tasks
        ]
        try:
            for future in concurrent.futures.as_completed(futures):
                entry = future.result()
                results[f"{entry['row']}/{entry['seed']}"] = entry
                write_results(options.results, results)
                say(
                    f"{entry['row']}, seed {entry['seed']}: "
                    f"BLEU {entry['bleu']:.1f} after {entry['steps']:,} steps"
                )
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def say(text):
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main():
    options = parse_options()
    if options.rows:
        run_rows(options)
    if options.plot:
        write_page(PAGE, read_results(options.results, None))
        say(f"{PAGE} is up to date")


if __name__ == "__main__":
    main()
