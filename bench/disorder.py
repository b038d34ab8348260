"""What lateness and corrections cost: `python bench/disorder.py [--events N]`, ratios to the ordered stream in one run.

Times are of the processor, best of some repetitions, with Python's collector at its defaults. Answers are checked: the
changelogs must come to the counts that the streams were made for.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

import etalis

W1 = "d(Id,X,Y,Z) <- a(Id,X) seq b(Id,Y) seq c(Id,Z)."
W2 = "d(Id,X,Y) <- a(Id,X) seq b(Id,Y) where Y < 50."
W3 = "d(Id,X,Y) <- (a(Id,X) seq b(Id,Y)) cnot c(Id,_)."
W11 = "e(Id,X,Y) <- a(Id,X) seq b(Id,Y)."
REVISION = {"revision_flag": "on", "revision_window": 100_000}
LATE = {"out_of_order": "on", "ooo_window": 1_000}

Row = tuple[Any, ...]


def interleave(make: Callable[[int, random.Random], list[Row]], events: int) -> list[Row]:
    """Return a stream of instances of a pattern, a hundred of them open at any time, one event per second."""
    rng, rows, running, number = random.Random(42), [], [], 0
    while running or len(rows) < events:
        while len(running) < 100 and len(rows) + sum(map(len, running)) < events:
            running.append(make(number, rng)[::-1])
            number += 1
        if not running:
            break
        place = rng.randrange(len(running))
        rows.append((*running[place].pop(), len(rows)))
        if not running[place]:
            running[place] = running[-1]
            running.pop()
    return rows


def triple(i: int, rng: random.Random) -> list[Row]:
    return [(name, i, rng.randrange(100)) for name in "abc"]


def pair(i: int, rng: random.Random) -> list[Row]:
    return [(name, i, rng.randrange(100)) for name in "ab"]


def blocked(i: int, rng: random.Random) -> list[Row]:
    return [("a", i, 1), *([("c", i, 0)] if rng.randrange(10) == 0 else []), ("b", i, 2)]


def taken_back(share: int) -> Callable[[int, random.Random], list[Row]]:
    """Return pairs of which a share is followed by the retraction of its first event."""

    def make(i: int, rng: random.Random) -> list[Row]:
        back = [("rev", etalis.Struct("a", (i, 3)))] if rng.randrange(100) < share else []
        return [("a", i, 3), ("b", i, 4), *back]

    return make


def delay(rows: list[Row], bound: int) -> list[Row]:
    """Return the rows with a tenth of them late by up to `bound` places."""
    rng = random.Random(1)
    places = [(i + (rng.randrange(bound) if rng.randrange(10) == 0 else 0), i) for i in range(len(rows))]
    return [rows[i] for _, i in sorted(places)]


def net(changes: Iterable[etalis.Event]) -> int:
    return sum(change.sign for change in changes)


def measure(program: str, rows: list[Row], repetitions: int, **flags: Any) -> tuple[float, int]:
    """Return the time per row in microseconds, and what stands at the end."""
    best, standing = float("inf"), 0
    for _ in range(repetitions):
        engine = etalis.compile(program, event_consumption_policy="chronological", **flags).engine()
        begun = time.process_time()
        found = list(pushed(engine, rows))
        best = min(best, time.process_time() - begun)
        standing = net(found)
    return best / len(rows) * 1e6, standing


def pushed(engine: etalis.Engine, rows: list[Row]) -> Iterator[etalis.Event]:
    push = engine.push
    for row in rows:
        yield from push(*row[:-1], at=row[-1])
    yield from engine.close()


def check(found: int, expected: int, what: str) -> None:
    if found != expected:
        raise SystemExit(f"wrong answer: {what}: {found} instead of {expected}")


def show(what: str, cost: float, plain: float, asked: float) -> None:
    missed = "" if cost <= asked * plain else f"  (asked: {asked})"
    print(f"{what:44} {cost:6.2f} us  {cost / plain:5.2f} times{missed}")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--events", type=int, default=200_000)
    options.add_argument("--repetitions", type=int, default=2)
    given = options.parse_args()
    events, often = given.events, given.repetitions
    plain = {}
    for name, program, make in (("W1", W1, triple), ("W2", W2, pair), ("W3", W3, blocked)):
        rows = interleave(make, events)
        plain[name], answer = measure(program, rows, often)
        cost, found = measure(program, rows, often, **REVISION)
        check(found, answer, name)
        show(f"{name}, revision on, nothing taken back", cost, plain[name], 2)
    pairs, _ = measure(W11, interleave(pair, events), often)
    for share in (5, 10, 20):
        rows = interleave(taken_back(share), events)
        cost, found = measure(W11, rows, often, **REVISION)
        check(found, sum(row[0] == "b" for row in rows) - sum(row[0] == "rev" for row in rows), f"W11 {share} %")
        show(f"W11, {share} % taken back", cost, pairs, 3)
    rows = interleave(triple, events)
    for reporting, asked in (("on_watermark", 2), ("on_arrival", 4)):
        cost, found = measure(W1, delay(rows, 1_000), often, reporting=reporting, **LATE)
        check(found, sum(row[0] == "c" for row in rows), reporting)
        show(f"W1, a tenth late by up to 1,000, {reporting}", cost, plain["W1"], asked)
    chains()


def chains() -> None:
    """Take back the first of a chain of derived events."""
    first = 0.0
    for length in (1_000, 10_000, 50_000):
        rules = "\n".join(f"e{i + 1}(Id) <- e{i}(Id)." for i in range(1, length))
        engine = etalis.compile(rules, revision_flag="on").engine()
        check(net(engine.push("e1", 7, at=1)), length - 1, "chain")
        begun = time.process_time()
        check(net(engine.retract("e1", 7, at=1)), 1 - length, "chain taken back")
        cost = time.process_time() - begun
        first = first or cost
        print(f"chain of {length:6} taken back {cost * 1e3:27.1f} ms  {cost / first:5.1f} times")


if __name__ == "__main__":
    main()
