"""How long starting takes, in seconds of CPU: the least of several processes, with byte code, as after installation.

`python bench/startup.py [repetitions] [name ...]`. What is loaded is tested (tests/unit/test_startup.py); seconds are
for an idle machine. The exit code is 1 if one of the two that have a limit is over it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

REPETITIONS = 10
SOURCE = Path(__file__).resolve().parents[1] / "src"
RUN = "import etalis; engine = etalis.compile('b(X) <- a(X).').engine(); engine.push('a', 1, at=0)"
MEASURED = {
    "python": (("-c", "pass"), None),
    "import etalis": (("-c", "import etalis"), 0.15),
    "etalis --help": (("-m", "etalis", "--help"), 0.25),
    "etalis --version": (("-m", "etalis", "--version"), None),
    "etalis run --help": (("-m", "etalis", "run", "--help"), None),
    "compile a rule, push an event": (("-c", RUN), None),
}


def seconds_of(command: tuple[str, ...], environment: dict[str, str]) -> float:
    """Return the CPU that a process took, its own and the system's."""
    process = subprocess.Popen([sys.executable, *command], env=environment, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, command
    return used.ru_utime + used.ru_stime


def main(repetitions: int, names: Sequence[str]) -> int:
    late = 0
    with tempfile.TemporaryDirectory() as cache:
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        environment = kept | {"PYTHONPATH": str(SOURCE), "PYTHONPYCACHEPREFIX": cache}
        for name in names:
            command, limit = MEASURED[name]
            seconds_of(command, environment)  # writes the byte code
            least = min(seconds_of(command, environment) for _ in range(repetitions))
            late += limit is not None and least > limit
            print(f"{name:32}{least:6.3f} s{'' if limit is None else f', at most {limit}'}")
    return int(late > 0)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else REPETITIONS, sys.argv[2:] or list(MEASURED)))
