"""Tutorials are tested as they are used: as processes."""

import json
import os
import subprocess
import sys
import tempfile
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


def train(command):
    """Runs a training to its last step, and not what follows it.

    Args:
        command: From `tutorial`.

    Returns:
        What it printed.
    """
    history = Path(command[command.index("--output") + 1]) / "history.jsonl"
    environment = {**ENVIRONMENT, "PYTHONUNBUFFERED": "1"}
    with tempfile.TemporaryFile("w+") as printed:
        process = subprocess.Popen(
            command, env=environment, stdout=printed, stderr=subprocess.STDOUT
        )
        wait_for(lambda: history.exists() or process.poll() is not None, 900)
        process.kill()
        process.wait()
        printed.seek(0)
        text = printed.read()
    assert history.exists(), text
    return text


def read_history(output):
    """What a training has recorded, step by step."""
    lines = (output / "history.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def wait_for(condition, seconds=120):
    deadline = time.time() + seconds
    while not condition():
        assert time.time() < deadline, f"nothing within {seconds} seconds"
        time.sleep(0.05)
