"""One finished run for all tests of the tutorials."""

import fcntl
import os

import pytest
from processes import run
from processes import tutorial


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """The folder of a run, trained by the first worker that needs it."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent  # what all workers share
    output = folder / "finished" / "run"
    output.parent.mkdir(exist_ok=True)
    with open(folder / "finished.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (output / "results.json").exists():
            result = run(tutorial(output), text=True)
            assert result.returncode == 0, result.stdout + result.stderr
            (output.parent / "printed.txt").write_text(result.stdout)
    return output
