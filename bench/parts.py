"""A long stream of W1 in Parquet parts, its memory and speed: `python bench/parts.py [--events 100000000]`.

Parts are made with NumPy, a million events each: every id has an a, a b and a c, at random places within about 300
events, so that about a hundred ids are open at any time. An engine takes one part after the other over columns and its
matches are counted, so memory must not grow. Every run is a process of its own; the short one and the long one take
turns, the short one a tenth as long. Asked: at most 2 GB, and at most 1.2 times the short one's time per event.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "src"))

from memory import read_status  # noqa: E402 - the package may not be installed
from ratio import WrongAnswerError  # noqa: E402
from workloads import PROGRAMS  # noqa: E402

import etalis  # noqa: E402

PART = 999_999
SPREAD = 300
MEMORY_ASKED, SLOWER_ASKED = 2_000.0, 1.2


def part_of(number: int) -> Any:
    """Return a part of the stream: a third of its ids as many, none of them in two parts."""
    chance = np.random.default_rng(number)
    ids = PART // 3
    places = np.sort(np.arange(ids)[:, None] * 3 + chance.integers(0, SPREAD, (ids, 3)), axis=1)
    order = np.argsort(places.ravel(), kind="stable")
    kinds = pa.DictionaryArray.from_arrays(pa.array((order % 3).astype(np.int8)), pa.array(["a", "b", "c"]))
    columns = {
        "ts": number * PART + np.arange(PART) + 1,
        "type": kinds.dictionary_decode(),
        "id": number * ids + order // 3,
        "v": chance.integers(0, 100, PART),
    }
    return pa.table(columns)


def make_parts(folder: Path, count: int) -> list[Path]:
    """Return the first parts of the stream, made if they are not there yet."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{number:04}.parquet" for number in range(count)]
    for number, path in enumerate(paths):
        if not path.exists():
            pq.write_table(part_of(number), path.with_suffix(".new"))
            path.with_suffix(".new").rename(path)
    return paths


def watch(paths: list[Path]) -> dict[str, float]:
    """Run the stream in this process; check its matches."""
    text, policy = PROGRAMS["W1"]
    program = etalis.compile(text)
    program.engine(policy=policy).detect(paths[0], time="ts", event="type")  # kernels compiled
    engine = program.engine(policy=policy)
    wall, cpu, peaks, found = time.perf_counter(), time.process_time(), [], 0
    for path in paths:
        found += engine.detect(path, time="ts", event="type").num_rows
        peaks.append(read_status("VmHWM"))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    if found != len(paths) * PART // 3:
        raise WrongAnswerError(f"{found} matches instead of {len(paths) * PART // 3}")
    return {"wall": wall, "cpu": cpu, "tenth": peaks[len(peaks) // 10], "peak": peaks[-1], "events": len(paths) * PART}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--events", type=int, default=100_000_000)
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--folder", type=Path, default=HERE / "data" / "parts")
    parser.add_argument("--here", type=int, help="so many parts, in this process; prints JSON")
    given = parser.parse_args()
    if given.here:
        print(json.dumps(watch(make_parts(given.folder, given.here))))
        return
    parts = max(1, given.events // PART)
    begun = time.perf_counter()
    make_parts(given.folder, parts)
    print(f"{parts * PART:,} events in {parts} parts, made in {time.perf_counter() - begun:.0f} s")
    runs = [run_apart(given.folder, count) for _ in range(given.turns) for count in (max(1, parts // 10), parts)]
    short, long = (min((runs[i::2]), key=lambda run: run["cpu"]) for i in range(2))
    slower = long["cpu"] / long["events"] / (short["cpu"] / short["events"])
    for run in (short, long):
        speed = run["events"] / run["cpu"] / 1e6, run["events"] / run["wall"] / 1e6
        print(f"{run['events']:12,.0f} events {speed[0]:6.2f} M events/s cpu {speed[1]:6.2f} wall", end="  ")
        print(f"peak {run['peak']:.0f} MB, after a tenth {run['tenth']:.0f} MB")
    reached = slower <= SLOWER_ASKED and long["peak"] < MEMORY_ASKED
    print(f"the long one to the short one: {slower:.2f} times the time per event{'' if reached else ' !'}")


def run_apart(folder: Path, parts: int) -> dict[str, float]:
    command = [sys.executable, __file__, "--folder", str(folder), "--here", str(parts)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    found: dict[str, float] = json.loads(done.stdout)
    return found


if __name__ == "__main__":
    main()
