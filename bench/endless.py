"""Memory of an endless stream: `python bench/endless.py [--count 20000000] [--ways plain on_watermark ...]`.

Every run is a process of its own. Its stream is made as it is taken: pairs and triples, a hundred of them open at any
time, every id used once. One pair in twenty of W3 never ends, so that only its window bounds what waits. The peak of
each quarter of the stream is the system's (VmHWM, set back after each); asked is a last one of at most 1.05 times the
second. W3 waits up to 10,000 seconds, lateness is up to 1,000 seconds, the horizon of corrections 100,000.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "src"))

from memory import read_status  # noqa: E402 - the package may not be installed

import etalis  # noqa: E402

OPEN = 100
BOUND = 1_000
ASKED = 1.05
PROGRAMS = {
    "W1": "d(Id,X,Y,Z) <- a(Id,X) seq b(Id,Y) seq c(Id,Z).",
    "W3": "d(Id,X,Y) <- ((a(Id,X) seq b(Id,Y)) cnot c(Id,_)) within 10000.",
}
LATE = {"out_of_order": "on", "ooo_window": BOUND}
WAYS: dict[str, dict[str, object]] = {
    "plain": {},
    "on_watermark": {**LATE, "reporting": "on_watermark"},
    "on_arrival": {**LATE, "reporting": "on_arrival"},
    "revision": {"revision_flag": "on", "revision_window": 100_000},
}

Row = tuple[Any, ...]


def triple(i: int, _: random.Random) -> list[Row]:
    """Return the events of one id, the last one first."""
    return [("c", i, 3), ("b", i, 2), ("a", i, 1)]


def pair(i: int, rng: random.Random) -> list[Row]:
    """Return a pair, one in ten with what blocks it in between (its end is 0 then), one in twenty without its end."""
    chance = rng.random()
    if chance < 0.1:
        return [("b", i, 0), ("c", i, 1), ("a", i, 1)]
    return [("b", i, 2), ("a", i, 1)] if chance < 0.95 else [("a", i, 1)]


MAKERS: dict[str, tuple[Callable[[int, random.Random], list[Row]], str]] = {"W1": (triple, "c"), "W3": (pair, "b")}


def stream(name: str, count: int, matches: list[int]) -> Iterator[Row]:
    """Yield events, one per second, and count the matches that they make."""
    rng, number = random.Random(42), 0
    make, last = MAKERS[name]
    running: list[list[Row]] = []
    for second in range(count):
        while len(running) < OPEN:
            running.append(make(number, rng))
            number += 1
        place = int(rng.random() * OPEN)
        rows = running[place]
        kind, key, value = rows.pop()
        matches[0] += kind == last and value > 0
        if not rows:
            running[place] = running[-1]
            running.pop()
        yield kind, key, value, second


def delayed(rows: Iterator[Row]) -> Iterator[Row]:
    """Let a tenth of the rows come late, by less than the bound."""
    rng = random.Random(1)
    waiting: list[tuple[int, int, Row]] = []
    for place, row in enumerate(rows):
        while waiting and waiting[0][0] <= place:
            yield heappop(waiting)[2]
        if rng.random() < 0.1:
            heappush(waiting, (place + int(rng.random() * BOUND), place, row))
        else:
            yield row
    while waiting:
        yield heappop(waiting)[2]


def corrected(rows: Iterator[Row], matches: list[int]) -> Iterator[Row]:
    """Take back the first event of one in twenty matches: what is left of it waits for nothing."""
    rng = random.Random(2)
    before = 0
    for row in rows:
        made, before = matches[0] > before, matches[0]
        yield row
        if made and rng.random() < 0.05:
            matches[0] -= 1
            before = matches[0]
            yield "rev", etalis.Struct("a", (row[1], 1)), row[-1]


def quarters(rows: Iterator[Row], count: int, peaks: list[float]) -> Iterator[Row]:
    """Note the peak of each quarter."""
    every = count // 4
    for place, row in enumerate(rows):
        if place % every == 0 and place:
            note_peak(peaks)
        yield row
    note_peak(peaks)


def note_peak(peaks: list[float]) -> None:
    peaks.append(read_status("VmHWM"))
    Path("/proc/self/clear_refs").write_text("5")  # sets the peak back to what is in use


def watch(name: str, way: str, count: int) -> dict[str, Any]:
    """Run one stream in this process; check its matches."""
    matches, peaks = [0], list[float]()
    rows = stream(name, count, matches)
    if way in ("on_watermark", "on_arrival"):
        rows = delayed(rows)
    elif way == "revision":
        rows = corrected(rows, matches)
    engine = etalis.compile(PROGRAMS[name], event_consumption_policy="chronological", **WAYS[way]).engine()
    Path("/proc/self/clear_refs").write_text("5")
    begun = time.process_time()
    found = sum(change.sign for change in engine.run(quarters(rows, count, peaks)))
    found += sum(change.sign for change in engine.close())
    if found != matches[0] or engine.dead_letter_count:
        raise SystemExit(f"wrong answer: {name}, {way}: {found} instead of {matches[0]}")
    return {"matches": found, "peaks": peaks[:4], "seconds": time.process_time() - begun}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--count", type=int, default=2_000_000)
    options.add_argument("--programs", nargs="+", choices=PROGRAMS, default=list(PROGRAMS))
    options.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    options.add_argument("--here", action="store_true", help="one run, in this process; prints JSON")
    given = options.parse_args()
    if given.here:
        print(json.dumps(watch(given.programs[0], given.ways[0], given.count)))
        return
    for name in given.programs:
        for way in given.ways:
            chosen = ["--count", str(given.count), "--programs", name, "--ways", way]
            done = subprocess.run(
                [sys.executable, __file__, *chosen, "--here"], capture_output=True, text=True, check=False
            )
            if done.returncode:
                raise SystemExit(done.stderr)
            show(name, way, given.count, json.loads(done.stdout))


def show(name: str, way: str, count: int, found: dict[str, Any]) -> None:
    ratio = found["peaks"][3] / found["peaks"][1]
    peaks = " ".join(f"{peak:6.1f}" for peak in found["peaks"])
    missed = "" if ratio <= ASKED else f"  ! (asked: {ASKED})"
    each = found["seconds"] / count * 1e6
    print(f"{name} {way:13} {count:11,} events {each:5.2f} us {found['matches']:9,} matches", end="  ")
    print(f"peaks {peaks} MB  {ratio:5.3f}{missed}", flush=True)


if __name__ == "__main__":
    main()
