"""Memory of a workload, in a process of its own: `python bench/memory.py W1 300000 [policy] [window]`.

The stream is read as it is pushed, so what grows is the engine. Prints one JSON object: resident megabytes before the
first event, after a tenth of the stream, and at its end; the peak; instances that wait at the end.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "src"))

from streams import Workload, prepare  # noqa: E402 - the package may not be installed


@dataclass(frozen=True)
class Memory:
    """Megabytes, and instances that wait at the end."""

    before: float
    tenth: float
    end: float
    peak: float
    waiting: int

    @property
    def growth(self) -> float:
        """From a tenth of the stream to its end."""
        return self.end - self.tenth


def measure(name: str, events: int, policy: str = "", window: str = "") -> Memory:
    """Measure in a child process."""
    command = [sys.executable, str(Path(__file__).resolve()), name, str(events), policy, window]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return Memory(**json.loads(done.stdout))


def windowed(workload: Workload, policy: str, window: str) -> Workload:
    """Return a workload under another policy and in a window, where given."""
    text = workload.text
    if window:
        head, body = text.removesuffix(".").split(" <- ")
        text = f"{head} <- ({body}) within {window}."
    return replace(workload, text=text, policy=policy or workload.policy)


def read_status(field: str) -> float:
    """Return a size of this process in megabytes: VmRSS now, VmHWM at most (getrusage would count the parent's)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1e3 for line in lines if line.startswith(f"{field}:"))


def watch(workload: Workload) -> Memory:
    """Push a stream and look at this process."""
    from ratio import new_engine

    engine = new_engine(workload)
    push = engine.push
    before = tenth = read_status("VmRSS")
    for number, (kind, key, value, at) in enumerate(workload.rows()):
        for _ in push(kind, key, value, at=at):
            pass
        if number == workload.events // 10:
            tenth = read_status("VmRSS")
    return Memory(before, tenth, read_status("VmRSS"), read_status("VmHWM"), engine.waiting())


if __name__ == "__main__":
    name, events, policy, window = sys.argv[1:]
    print(json.dumps(watch(windowed(prepare(name, int(events)), policy, window)).__dict__))
