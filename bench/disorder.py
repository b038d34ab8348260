"""What lateness and corrections cost: `python bench/disorder.py [--events N]`, ratios to the ordered stream in one run.

Times are of the processor. Contenders take turns, the best round of each counts; Python's collector is on, with its
default thresholds, and emptied before each. Answers are checked: the changelogs must come to the counts that the
streams were made for. Numbers that do not reach what was asked for are marked with `!`.
"""

from __future__ import annotations

import argparse
import gc
import random
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "src"))

from chain import take_back  # noqa: E402 - the package may not be installed

import etalis  # noqa: E402

W1 = "d(Id,X,Y,Z) <- a(Id,X) seq b(Id,Y) seq c(Id,Z)."
W2 = "d(Id,X,Y) <- a(Id,X) seq b(Id,Y) where Y < 50."
W3 = "d(Id,X,Y) <- (a(Id,X) seq b(Id,Y)) cnot c(Id,_)."
W11 = "e(Id,X,Y) <- a(Id,X) seq b(Id,Y)."
UNKEYED = "d(X,Y) <- (a(X) seq b(Y)) within 10."
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


@dataclass(frozen=True)
class Contender:
    """A program and the rows it takes; what must stand at the end, and how many times the first one's time is asked."""

    name: str
    program: str
    rows: list[Row]
    answer: int
    asked: float | None = None
    flags: dict[str, object] = field(default_factory=dict)

    def seconds(self, way: str) -> float:
        """Run once; return the time per row."""
        engine = etalis.compile(self.program, event_consumption_policy="chronological", **self.flags).engine()
        gc.collect()
        begun = time.process_time()
        found = list(pushed(engine, self.rows) if way == "push" else taken(engine, self.rows))
        cost = time.process_time() - begun
        check(net(found), self.answer, self.name)
        return cost / len(self.rows)


def pushed(engine: etalis.Engine, rows: list[Row]) -> Iterator[etalis.Event]:
    push = engine.push
    for row in rows:
        yield from push(*row[:-1], at=row[-1])
    yield from engine.close()


def taken(engine: etalis.Engine, rows: list[Row]) -> Iterator[etalis.Event]:
    yield from engine.run(rows)
    yield from engine.close()


def check(found: int, expected: int, what: str) -> None:
    if found != expected:
        raise SystemExit(f"wrong answer: {what}: {found} instead of {expected}")


def compare(contenders: list[Contender], rounds: int, way: str = "push") -> None:
    """Let contenders take turns, and print the best of each as a ratio to the first."""
    best = dict.fromkeys(range(len(contenders)), float("inf"))
    for _ in range(rounds):
        for place, contender in enumerate(contenders):
            best[place] = min(best[place], contender.seconds(way))
    for place, contender in enumerate(contenders):
        ratio = best[place] / best[0]
        asked = "" if contender.asked is None else f"  (asked: {contender.asked:g})"
        missed = " !" if contender.asked is not None and ratio > contender.asked else ""
        print(f"{contender.name:48} {best[place] * 1e6:6.2f} us  {ratio:5.2f} times{asked}{missed}", flush=True)


def count(rows: list[Row], name: str) -> int:
    return sum(row[0] == name for row in rows)


def revision(events: int, rounds: int) -> None:
    """Revision switched on: nothing taken back, then some."""
    for name, program, make, answer in (
        ("W1", W1, triple, lambda rows: count(rows, "c")),
        ("W2", W2, pair, lambda rows: sum(row[0] == "b" and row[2] < 50 for row in rows)),
        ("W3", W3, blocked, lambda rows: count(rows, "b") - count(rows, "c")),
    ):
        rows = interleave(make, events)
        plain = Contender(f"{name}, revision off", program, rows, answer(rows))
        kept = Contender(f"{name}, revision on, nothing taken back", program, rows, answer(rows), 2, REVISION)
        compare([plain, kept], rounds)
    rows = interleave(pair, events)
    contenders = [Contender("W11, revision off", W11, rows, count(rows, "b"))]
    for share in (5, 10, 20):
        rows = interleave(taken_back(share), events)
        answer = count(rows, "b") - count(rows, "rev")
        contenders.append(Contender(f"W11, {share} % taken back", W11, rows, answer, 3, REVISION))
    compare(contenders, rounds)


def lateness(events: int, rounds: int) -> None:
    """A tenth of the events late by up to 1,000."""
    rows = interleave(triple, events)
    answer = count(rows, "c")
    for way, asked in (("push", (2, 4)), ("run", (None, None))):
        contenders = [Contender(f"W1 by {way}, in order", W1, rows, answer)]
        for reporting, most in zip(("on_watermark", "on_arrival"), asked, strict=True):
            flags = {**LATE, "reporting": reporting}
            name = f"W1 by {way}, a tenth late, {reporting}"
            contenders.append(Contender(name, W1, delay(rows, 1_000), answer, most, flags))
        compare(contenders, rounds, way)


def chains(rounds: int) -> None:
    """Take back the first of a chain of derived events."""
    costs = take_back((1_000, 10_000, 50_000), rounds)
    for length, cost in costs.items():
        ratio = cost / costs[1_000]
        missed = " !" if ratio > 60 or cost > 1 else ""
        print(f"chain of {length:6} taken back {cost * 1e3:27.1f} ms  {ratio:5.1f} times{missed}", flush=True)


def unkeyed(events: int = 100_000) -> None:
    """Take back some of the last hundred events of a history without a key; the first leaves the checkpoints."""
    engine = etalis.compile(UNKEYED, event_consumption_policy="chronological", **REVISION).engine()
    rows = [("ab"[i % 2], i, i) for i in range(events)]
    standing = net(change for row in rows for change in engine.push(*row[:-1], at=row[-1]))
    rng, costs = random.Random(7), []
    for _ in range(20):
        wrong = rows.pop(rng.randrange(len(rows) - 100, len(rows)))
        begun = time.process_time()
        standing += net(engine.retract(*wrong[:-1], at=wrong[-1]))
        costs.append(time.process_time() - begun)
    again = etalis.compile(UNKEYED, event_consumption_policy="chronological").engine()
    check(standing, net(again.run(rows)), "corrections without a key")
    first, rest = costs[0] * 1e3, sum(costs[1:]) / len(costs[1:]) * 1e3
    print(f"without a key, {events:,} events: first correction {first:.1f} ms, then {rest:.2f} ms each", flush=True)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--events", type=int, default=200_000)
    options.add_argument("--rounds", type=int, default=5)
    given = options.parse_args()
    lateness(given.events, given.rounds)
    revision(given.events, given.rounds)
    unkeyed()
    chains(given.rounds)


if __name__ == "__main__":
    main()
