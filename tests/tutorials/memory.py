"""How much memory a command takes."""

import subprocess
import sys

from processes import ENVIRONMENT


# Linux counts, for a child, what the parent had when it started it: so a
# small parent starts the command.
WRAPPER = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def peak(command):
    """Runs a command; the most memory it took, in bytes."""
    result = subprocess.run(
        [sys.executable, "-c", WRAPPER, *map(str, command)],
        env=ENVIRONMENT,
        capture_output=True,
        check=False,
        timeout=600,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    return int(result.stdout) * 1024
