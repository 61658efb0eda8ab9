"""How much memory a command takes."""

import sys

from processes import run


# Linux counts, for a child, what the parent had when it started it: so a
# small parent starts the command.
WRAPPER = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def peak(command):
    """Runs a command; the most memory it took, in bytes."""
    command = [sys.executable, "-c", WRAPPER, *map(str, command)]
    result = run(command, timeout=600, text=True)
    assert result.returncode == 0, result.stderr
    return int(result.stdout) * 1024
