"""What every side of a comparison measures, in the same way.

A side is a script that runs in an interpreter of its own, so this module
imports nothing but the standard library.
"""

import json
import resource
import statistics
import sys
import time
from typing import NamedTuple


class Task(NamedTuple):
    """What a side is asked for.

    Attributes:
        attention: "bahdanau", "luong" (with input feeding), or
            "luong_after" (without).
        part: "training" for a whole training step, "decoder" for the
            recurrent attention alone, forward and backward.
        batch: Sentences.
        length: Of sources and targets, in tokens.
        units: Of embeddings, encoder and decoder.
        vocabulary: Of sources and targets.
        repeats: Timed calls.
        compiled: Whether XLA compiles the step.
    """

    attention: str
    part: str
    batch: int
    length: int
    units: int
    vocabulary: int
    repeats: int
    compiled: bool = False


def peak_megabytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def run_side(make_step):
    """Answers the task on the command line with one line of JSON.

    Args:
        make_step: Function of a `Task` that returns `step(batch, length)`,
            which takes one step on data of this size and waits for it.
    """
    task = Task(**json.loads(sys.argv[1]))
    step = make_step(task)
    # What a framework needs for itself is needed by now.
    step(2, 3)
    before = peak_megabytes()
    seconds = []
    for _ in range(task.repeats + 2):
        start = time.perf_counter()
        step(task.batch, task.length)
        seconds.append(time.perf_counter() - start)
    result = {
        "seconds": statistics.median(seconds[2:]),  # the first ones trace
        "peak_megabytes": peak_megabytes(),
        "extra_megabytes": peak_megabytes() - before,
    }
    sys.stdout.write("\n" + json.dumps(result) + "\n")
