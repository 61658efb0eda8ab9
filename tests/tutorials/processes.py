"""Tutorials are tested as they are used: as processes."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path


ROOT = Path(__file__).parents[2]
TUTORIALS = ROOT / "tutorials"
SCRIPT = TUTORIALS / "03_spanish_to_english.py"
ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": str(ROOT),
    "TF_CPP_MIN_LOG_LEVEL": "3",
}


def tutorial(output, *options):
    """The command of a short training."""
    return [
        sys.executable,
        str(SCRIPT),
        *("--epochs", "3", "--units", "32", "--output", str(output)),
        *options,
    ]


def run(command, **options):
    """Runs a command to its end; what it printed is kept, as bytes."""
    options = {"env": ENVIRONMENT, "timeout": 900, **options}
    return subprocess.run(command, capture_output=True, check=False, **options)


def read_history(output):
    """What a training has recorded, step by step."""
    lines = (output / "history.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def wait_for(condition, seconds=120):
    deadline = time.time() + seconds
    while not condition():
        assert time.time() < deadline, f"nothing within {seconds} seconds"
        time.sleep(0.05)
