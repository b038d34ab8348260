"""What reading Parquet costs: `python bench/reading.py [--events N]`: W1 on one core, by processor time.

From memory, from a file as PyArrow writes it unless told otherwise, and from one whose numbers are written as
differences, as suits times in order; beside each file what PyArrow takes to read it and nothing else. All take turns in
one process, kept to one core, the best turn of each counts, and the number of matches (or rows) is checked in every
turn.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "src"))

import pyarrow as pa  # noqa: E402 - the package may not be installed
import pyarrow.parquet as pq  # noqa: E402
from ratio import timed  # noqa: E402
from rich.console import Console  # noqa: E402
from run import judged, machine, new_table  # noqa: E402
from streams import DIFFERENCES, Workload, prepare  # noqa: E402
from turns import keep_to_one_core  # noqa: E402

import etalis  # noqa: E402

ASKED = 0.6  # of the speed from memory


def main() -> int:
    """Measure and print; return the exit code."""
    parser = argparse.ArgumentParser(description="W1 from memory and from Parquet.")
    parser.add_argument("--events", type=int, default=10_000_000)
    parser.add_argument("--turns", type=int, default=5)
    options = parser.parse_args()
    keep_to_one_core()
    pa.set_cpu_count(1)
    workload = prepare("W1", options.events)
    works = works_of(workload)
    best = dict.fromkeys(works, float("inf"))
    for turn in range(options.turns + 1):
        for name, (work, expected) in works.items():
            seconds = timed(work, expected, time.process_time)
            if turn:  # the first is for what is made once
                best[name] = min(best[name], seconds)
    show(workload, best)
    return 0


def works_of(workload: Workload) -> dict[str, tuple[Callable[[], int], int]]:
    """Return what is measured, and the number that each must come to."""
    program = etalis.compile(workload.text, event_consumption_policy=workload.policy)
    table, usual, differences = workload.columns(), workload.parquet(), workload.parquet(DIFFERENCES)

    def detect(source: pa.Table | Path) -> Callable[[], int]:
        return lambda: program.detect(source, time="ts", event="type", threads=1).num_rows

    def read(path: Path) -> Callable[[], int]:
        return lambda: sum(map(len, pq.ParquetFile(path, read_dictionary=["type"]).iter_batches(use_threads=False)))

    return {
        "from memory": (detect(table), workload.expected),
        "from Parquet": (detect(usual), workload.expected),
        "reading it alone": (read(usual), workload.events),
        "from Parquet, differences": (detect(differences), workload.expected),
        "reading these alone": (read(differences), workload.events),
    }


def show(workload: Workload, best: dict[str, float]) -> None:
    console = Console(width=max(100, Console().width))
    console.print(f"{machine()}; {os.getloadavg()[0]:.1f} processes busy", style="dim")
    table = new_table(f"W1, {workload.events:,} events, one core", "Way", "cpu s", "ns an event", "of memory's speed")
    for name, seconds in best.items():
        of_memory = best["from memory"] / seconds
        asked = name.startswith("from Parquet")
        cell = judged(f"{of_memory:.2f}", of_memory >= ASKED) if asked else ""
        table.add_row(name, f"{seconds:.3f}", f"{seconds / workload.events * 1e9:.1f}", cell)
    console.print(table)


if __name__ == "__main__":
    sys.exit(main())
