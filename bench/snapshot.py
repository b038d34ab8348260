"""What a snapshot costs: a million instances of W1 that wait, written, read again, and a small change after it.

Prints seconds of processor time and bytes per instance, and checks that the restored engine goes on as the original.

    PYTHONPATH=src python bench/snapshot.py [--instances 1000000] [--changes 1000]
"""

from __future__ import annotations

import argparse
from time import process_time

import etalis

PROGRAM = "d(Id, X, Y, Z) <- a(Id, X) seq b(Id, Y) seq c(Id, Z)."


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--instances", type=int, default=1_000_000)
    parser.add_argument("--changes", type=int, default=1_000)
    chosen = parser.parse_args()
    program = etalis.compile(PROGRAM)
    engine = program.engine(policy="chronological")
    for number in range(chosen.instances):
        engine.push("a", number, number % 97, at=number)
    start = process_time()
    data = engine.snapshot()
    taken = process_time()
    again = program.restore(data)
    print(f"snapshot {taken - start:.2f} s, restore {process_time() - taken:.2f} s")
    print(f"{len(data) / chosen.instances:.1f} bytes per instance, {again.waiting()} wait")
    check(engine, again, chosen.instances)
    for number in range(chosen.changes):
        engine.push("b", number * 7 % chosen.instances, number, at=chosen.instances + 10 + number)
    start = process_time()
    delta = engine.snapshot(since=data)
    taken = process_time()
    again = program.restore(data, delta)
    print(f"delta of {chosen.changes} changes {taken - start:.2f} s, restore {process_time() - taken:.2f} s")
    print(f"{len(delta) / chosen.changes:.1f} bytes per change")
    check(engine, again, chosen.instances + 10 + chosen.changes)


def check(engine: etalis.Engine, again: etalis.Engine, time: int) -> None:
    """Compare what two engines say from now on."""
    assert engine.waiting() == again.waiting()
    later = [("b", 5, 1, time + 1), ("c", 5, 2, time + 2), ("c", 0, 2, time + 3)]
    assert list(again.run(later)) == list(engine.run(later))


if __name__ == "__main__":
    main()
