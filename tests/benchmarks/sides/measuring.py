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
            recurrent attention alone, forward and backward, "decoding" for
            a translation.
        batch: Sentences.
        length: Of sources and targets, in tokens.
        units: Of embeddings, encoder and decoder.
        vocabulary: Of sources and targets.
        repeats: Timed calls.
        compiled: Whether XLA compiles the step.
        beams: Hypotheses of a beam search, 0 for greedy search.
    """

    attention: str
    part: str
    batch: int
    length: int
    units: int
    vocabulary: int
    repeats: int
    compiled: bool = False
    beams: int = 0


def peak_megabytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def median_seconds(step, repeats, warm_up=1):
    """Times a step that waits for its result; the first calls may trace."""
    seconds = []
    for _ in range(warm_up + repeats):
        start = time.perf_counter()
        step()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds[warm_up:])


def run_side(**makers):
    """Answers the task on the command line with one line of JSON.

    Args:
        makers: By the name of the part, a function of a `Task` that returns
            `step(batch, length)`, which does what is timed once, on data of
            this size, and waits for it.
    """
    task = Task(**json.loads(sys.argv[1]))
    step = makers[task.part](task)
    # What a framework needs for itself is needed by now.
    step(2, 3)
    before = peak_megabytes()
    seconds = median_seconds(
        lambda: step(task.batch, task.length), task.repeats, warm_up=2
    )
    result = {
        "seconds": seconds,
        "peak_megabytes": peak_megabytes(),
        "extra_megabytes": peak_megabytes() - before,
    }
    sys.stdout.write("\n" + json.dumps(result) + "\n")
