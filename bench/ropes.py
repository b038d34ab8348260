"""What it costs to keep the inputs of every match: `python bench/ropes.py [W1 ...] [--events N] [--memory]`.

The same program, with and without `parts=True`, side by side: both take turns, by `run` and by `push`, and keep their
matches; the best processor time of each counts. Before anything is timed, all matches of both are compared, and the
inputs of every match with what its shape says. `--memory` tells what a process of each has grown by.
"""

from __future__ import annotations

import argparse
import gc
import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "src"))

from feeding import push_rows, run_rows  # noqa: E402 - the package may not be installed
from memory import read_status  # noqa: E402
from ratio import WrongAnswerError  # noqa: E402
from streams import prepare  # noqa: E402

import etalis  # noqa: E402

MEAN_ASKED, EACH_ASKED = 1.15, 1.25  # of W1 to W5
ASKED = {"W6": 1.5, "W10": 1.5, "recursion": 2.0}
STREAMS = ("W1", "W2", "W3", "W4", "W5", "W6", "W10")
DEPTH = 10_000
WAYS = {"run": run_rows, "push": push_rows}


@dataclass(frozen=True)
class Case:
    """A program with its stream, and what tells how many inputs a match is made of."""

    name: str
    text: str
    policy: str
    rows: list[Any]
    count: Callable[[etalis.Event], int | None]

    def engine(self, *, parts: bool) -> etalis.Engine:
        """Return a fresh engine."""
        return etalis.compile(self.text).engine(policy=self.policy, parts=parts)


def prepare_case(name: str, events: int) -> Case:
    """Return a case by its name."""
    made = MADE.get(name)
    if made is not None:
        return made()
    workload = prepare(name, events)
    leaves = {"W2": 2, "W3": 2, "W5": 2, "W1": 3, "W4": 3}.get(name)
    count = (lambda event: event.args[1] - event.args[0]) if name == "W6" else (lambda _: leaves)
    return Case(name, workload.text, workload.policy, list(workload.rows()), count)


def recursion() -> Case:
    """Every event is derived from the one before it: the last one is made of all inputs."""
    text = "n(0) <- a(0). n(Y) <- n(X) seq b(_) where Y is X + 1."
    rows = [("a", 0, 0), *(("b", 0, i) for i in range(1, DEPTH))]
    return Case("recursion", text, "chronological", rows, lambda event: event.args[0] + 1)


MADE: dict[str, Callable[[], Case]] = {"recursion": recursion}


def check(case: Case) -> None:
    """Compare all matches with and without, and look at some of their inputs."""
    for way, feed in WAYS.items():
        found = feed(case.engine(parts=True), case.rows)
        if found != feed(case.engine(parts=False), case.rows):
            raise WrongAnswerError(f"{case.name}, {way}: other matches with their inputs than without")
        for event in found[:: max(1, len(found) // 1_000)]:
            if len(event.parts) != (case.count(event) or len(event.parts)) or not event.parts:
                raise WrongAnswerError(f"{case.name}, {way}: {event} is made of {event.parts}")


def measure(case: Case, turns: int) -> dict[str, tuple[float, float]]:
    """Return the best processor times without and with, by the way in."""
    check(case)
    seconds: dict[tuple[str, bool], list[float]] = {(way, parts): [] for way in WAYS for parts in (False, True)}
    for turn in range(turns):
        for way, feed in WAYS.items():
            for parts in (False, True) if turn % 2 else (True, False):
                engine = case.engine(parts=parts)
                gc.collect()
                started = time.process_time()
                found = feed(engine, case.rows)
                seconds[way, parts].append(time.process_time() - started)
                del found, engine
    return {way: (min(seconds[way, False]), min(seconds[way, True])) for way in WAYS}


def grown(name: str, events: int, *, parts: bool) -> float:
    """Return by how many megabytes a process of its own grows, its matches kept."""
    command = [sys.executable, __file__, name, "--events", str(events), "--here", str(int(parts))]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(json.loads(done.stdout))


def grow_here(case: Case, *, parts: bool) -> float:
    """Return by how many megabytes this process grows."""
    engine = case.engine(parts=parts)
    before = read_status("VmRSS")
    found = run_rows(engine, case.rows)
    return read_status("VmRSS") - before if found else 0.0


def show(name: str, way: str, off: float, on: float, asked: float) -> None:
    ratio = on / off
    print(f"{name:10} {way:5} {off:8.3f} s {on:8.3f} s {ratio:6.2f}{' !' if ratio > asked else ''}", flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what is asked for, and return the exit code."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", default=[*STREAMS, *MADE], metavar="NAME")
    parser.add_argument("--events", type=int, default=300_000)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--here", type=int, help="measure memory in this process, with (1) or without (0)")
    given = parser.parse_args(arguments)
    if given.here is not None:
        print(json.dumps(grow_here(prepare_case(given.names[0], given.events), parts=bool(given.here))))
        return 0
    ratios: dict[str, list[float]] = {way: [] for way in WAYS}
    try:
        for name in given.names:
            for way, (off, on) in measure(prepare_case(name, given.events), given.turns).items():
                show(name, way, off, on, ASKED.get(name, EACH_ASKED))
                ratios[way] += [on / off] if name in STREAMS[:5] else []
            if given.memory:
                off, on = (grown(name, given.events, parts=parts) for parts in (False, True))
                print(f"{name:10} grown {off:7.1f} MB {on:7.1f} MB")
    except WrongAnswerError as error:
        print(error)
        return 1
    for way, found in ratios.items():
        if found:
            print(f"mean of {len(found)} {way:5} {fmean(found):6.2f}{' !' if fmean(found) > MEAN_ASKED else ''}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
