"""The streams of the workloads: made once by workloads.py into bench/data, read as rows (name, id, v, time)."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from workloads import PROGRAMS

HERE = Path(__file__).resolve().parent
DATA = HERE / "data"
SHARE = {"W3": "_c10"}  # what workloads.py adds to the file's name
LARGEST_CONDITION = "100"  # the {K} of W2: all b pass, the hardest of its streams
ANSWERS = {"W2": f"K{LARGEST_CONDITION}", "W6": "unrestricted", "W8": "trend"}
Row = tuple[str, int, int, int]


@dataclass(frozen=True)
class Workload:
    """A program, its policy, and its stream with the number of complex events it has by construction."""

    name: str
    text: str
    policy: str
    path: Path
    events: int
    expected: int
    links: int = 0

    def rows(self) -> Iterator[Row]:
        """Read the stream, one row at a time."""
        with self.path.open() as lines:
            for line in lines:
                time, kind, key, value = line.split(",")
                yield kind, int(key), int(value), int(time)

    def blocks(self, size: int) -> Iterator[list[Row]]:
        """Read the stream in lists, so that a long one need not fit into memory."""
        rows = self.rows()
        while block := list(islice(rows, size)):
            yield block


def prepare(name: str, events: int, *, links: int = 0) -> Workload:
    """Return a workload, its stream made if it is not there yet; W8 has a chain of so many links."""
    path = DATA / f"{name}_{events}{f'_l{links}' if links else SHARE.get(name, '')}.csv"
    described = path.with_suffix(".meta.json")
    if not described.exists():
        command = [sys.executable, str(HERE / "workloads.py"), name, str(events), "--out", str(DATA)]
        command += ["--links", str(links)] if links else []
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        path.with_suffix(".pl").unlink()  # the same stream for another engine
    answer = json.loads(described.read_text())
    text, policy = PROGRAMS[name]
    expected = answer["expected"][ANSWERS.get(name, "d")] * (16 if name == "W7" else 1)
    return Workload(name, text.replace("{K}", LARGEST_CONDITION), policy, path, answer["events"], expected, links)
