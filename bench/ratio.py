"""Time of a workload in the engine as a ratio to the loop written by hand (hand.py), in one run, the answer checked.

Hand, `push` and `run` take turns, each keeps its matches, and the best of each counts: what else the machine does hits
all three alike.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Sized
from dataclasses import dataclass
from functools import partial

import hand
from feeding import push_rows, run_rows
from streams import Row, Workload

import etalis

Answer = tuple[object, ...]


@dataclass(frozen=True)
class Ratio:
    """Seconds for a whole stream, each the best of several."""

    events: int
    matches: int
    hand: float
    push: float
    run: float


class WrongAnswerError(Exception):
    """The engine and the hand-written loop do not agree."""


def measure(workload: Workload, repetitions: int) -> Ratio:
    """Check the answer of a workload, then time it."""
    rows = list(workload.rows())
    by_hand: Callable[[list[Row]], list[Answer]] = getattr(hand, workload.name.lower())
    check(workload, rows, by_hand(rows))
    seconds: dict[str, list[float]] = {"hand": [], "push": [], "run": []}
    for _ in range(repetitions):
        seconds["hand"].append(timed(lambda: by_hand(rows), workload.expected))
        for way, feed in (("push", push_rows), ("run", run_rows)):
            seconds[way].append(timed(partial(feed, new_engine(workload), rows), workload.expected))
    best = {way: min(found) for way, found in seconds.items()}
    return Ratio(len(rows), workload.expected, best["hand"], best["push"], best["run"])


def timed(work: Callable[[], int | Sized], expected: int, clock: Callable[[], float] = time.perf_counter) -> float:
    """Return the seconds of some work that must keep `expected` matches, or count to that."""
    gc.collect()
    started = clock()
    found = work()
    seconds = clock() - started
    count = found if isinstance(found, int) else len(found)
    if count != expected:
        raise WrongAnswerError(f"{count}, not {expected}")
    return seconds


def new_engine(workload: Workload) -> etalis.Engine:
    return etalis.compile(workload.text).engine(policy=workload.policy)


def check(workload: Workload, rows: list[Row], by_hand: list[Answer]) -> None:
    """Compare all matches, attributes and intervals, of both ways in with those of the hand-written loop."""
    wanted = sorted(spelled(workload.name, by_hand))
    for way, feed in (("push", push_rows), ("run", run_rows)):
        found = sorted((m.name, *m.args, m.start, m.end) for m in feed(new_engine(workload), rows))
        if found != wanted or len(found) != workload.expected:
            difference = next((pair for pair in zip(found, wanted, strict=False) if pair[0] != pair[1]), "the number")
            raise WrongAnswerError(
                f"{workload.name}, {way}: {len(found)} of {len(wanted)} matches, first: {difference}"
            )


def spelled(name: str, answers: list[Answer]) -> Iterator[Answer]:
    """Yield the answers of hand.py as (event, attributes..., start, end)."""
    for answer in answers:
        match name, answer:
            case "W7", (int() as number, tuple() as inner):
                yield f"d{number + 1}", *inner
            case "W6", _:
                yield "tc", *answer
            case _:
                yield "d", *answer
