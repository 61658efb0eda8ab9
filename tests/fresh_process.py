"""Python that knows nothing of the tests and of what they have imported."""

import os
import subprocess
import sys

import keras


def run_fresh(script, *arguments):
    """Runs a script in a process of its own, on the same backend.

    Args:
        script: Text of the script.
        arguments: What it finds in `sys.argv`.

    Returns:
        What it printed.
    """
    process = subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)],
        env={**os.environ, "KERAS_BACKEND": keras.backend.backend()},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr[-3000:]
    return process.stdout
