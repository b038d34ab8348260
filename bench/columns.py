"""Workloads over columns as ratios to `push` and `run`, and W1 to a loop written by hand with Numba.

    python bench/columns.py --events 1000000 W1 W2 W3 W4 W5 W7

The table is in memory. All ways take turns in one run, every answer is compared with what the stream has by
construction; times are of the process's CPU, the best of all turns, kernels compiled before.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
from ratio import WrongAnswerError, push_all, run_all
from streams import Workload, prepare

import etalis

WANTED = {"push": 10.0, "run": 4.0}


def main() -> None:
    """Print a line per workload."""
    parser = argparse.ArgumentParser()
    parser.add_argument("workloads", nargs="*", default=["W1", "W2", "W3", "W4", "W5", "W7"])
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--turns", type=int, default=3)
    given = parser.parse_args()
    print("workload   columns, M events/s   times push (asked 10)   times run (asked 4)   of hand-written Numba (0.5)")
    for name in given.workloads:
        print(line(prepare(name, given.events), given.turns), flush=True)


def line(workload: Workload, turns: int) -> str:
    """Measure one workload."""
    table = pc.read_csv(
        workload.path, pc.ReadOptions(column_names=["ts", "type", "id", "v"]),
        convert_options=pc.ConvertOptions(column_types={"type": pa.dictionary(pa.int32(), pa.string())}),
    )  # fmt: skip
    program = etalis.compile(workload.text, event_consumption_policy=workload.policy)
    rows = list(workload.rows())
    ways: dict[str, Callable[[], int]] = {"columns": lambda: program.detect(table).num_rows}
    if workload.name == "W1":
        ways["hand"] = by_hand(table)
    timed(ways["columns"], workload.expected)
    best = dict.fromkeys([*ways, "push", "run"], float("inf"))
    for _ in range(turns):
        for way, work in {**ways, "push": push_all(workload, rows), "run": run_all(workload, rows)}.items():
            best[way] = min(best[way], timed(work, workload.expected))
    columns = best["columns"]
    hand = f"{best['hand'] / columns:10.2f}" if "hand" in best else ""
    speed = workload.events / columns / 1e6
    return f"{workload.name:8} {speed:12.1f} {best['push'] / columns:22.1f} {best['run'] / columns:22.1f} {hand:>22}"


def by_hand(table: Any) -> Callable[[], int]:
    """Return the loop written by hand, its results gathered as columns too."""
    import hand_columns

    coded = table["type"].unify_dictionaries().combine_chunks()
    place = np.array(["abc".index(kind) for kind in coded.dictionary.to_pylist()])
    kinds = place[coded.indices.to_numpy()]
    ids, values = table["id"].to_numpy(), table["v"].to_numpy()

    def work() -> int:
        found = hand_columns.w1(kinds, ids)
        return len([ids[found[:, 0]], *(values[found[:, i]] for i in range(3))][0])

    work()
    return work


def timed(work: Callable[[], int], expected: int) -> float:
    """Return the CPU seconds of some work that must count to `expected`."""
    started = time.process_time()
    count = work()
    seconds = time.process_time() - started
    if count != expected:
        raise WrongAnswerError(f"{count} matches, not {expected}")
    return seconds


if __name__ == "__main__":
    main()
