"""Time of a workload in the engine as a ratio to the loop written by hand (hand.py), in one run, the answer checked.

Hand, `push` and `run` take turns, and the best of each counts: what else the machine does hits all three alike.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import hand
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
        seconds["hand"].append(timed(lambda: len(by_hand(rows)), workload.expected))
        seconds["push"].append(timed(push_all(new_engine(workload), rows), workload.expected))
        seconds["run"].append(timed(run_all(new_engine(workload), rows), workload.expected))
    best = {way: min(found) for way, found in seconds.items()}
    return Ratio(len(rows), workload.expected, best["hand"], best["push"], best["run"])


def timed(work: Callable[[], int], expected: int, clock: Callable[[], float] = time.perf_counter) -> float:
    """Return the seconds of some work that must count to `expected`."""
    gc.collect()
    started = clock()
    count = work()
    seconds = clock() - started
    if count != expected:
        raise WrongAnswerError(f"{count}, not {expected}")
    return seconds


def push_all(engine: etalis.Engine, rows: list[Row]) -> Callable[[], int]:
    """Return the loop over `push`, its results looped over."""
    push = engine.push

    def loop() -> int:
        count = 0
        for kind, key, value, at in rows:
            for _ in push(kind, key, value, at=at):
                count += 1
        return count

    return loop


def run_all(engine: etalis.Engine, rows: list[Row]) -> Callable[[], int]:
    """Return the loop over `run`."""
    run = engine.run

    def loop() -> int:
        count = 0
        for _ in run(rows):
            count += 1
        return count

    return loop


def new_engine(workload: Workload) -> etalis.Engine:
    return etalis.compile(workload.text).engine(policy=workload.policy)


def check(workload: Workload, rows: list[Row], by_hand: list[Answer]) -> None:
    """Compare all matches, attributes and intervals, of both ways in with those of the hand-written loop."""
    wanted = sorted(spelled(workload.name, by_hand))
    engine = new_engine(workload)
    pushed = [match for kind, key, value, at in rows for match in engine.push(kind, key, value, at=at)]
    for way, matches in (("push", pushed), ("run", new_engine(workload).run(rows))):
        found = sorted((m.name, *m.args, m.start, m.end) for m in matches)
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
