"""What explanations cost: `python bench/why.py [W1 ...] [--events N]`; ids alone are measured by `bench/ropes.py`.

Level full beside no level, by `run` and by `push`, in turns: the best processor time of each counts, and all matches
are compared before anything is timed. Then ids of an aggregate of 8,000 elements, and how long `justify` takes: in a
keyed history, and 10,000 derivations deep, with every print.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "src"))

from feeding import push_rows, run_rows  # noqa: E402 - the package may not be installed
from ratio import WrongAnswerError  # noqa: E402
from streams import prepare  # noqa: E402

import etalis  # noqa: E402

STREAMS = ("W1", "W2", "W3", "W4", "W5")
FULL_ASKED, FOLD_ASKED, JUSTIFY_ASKED = 2.2, 2.0, 0.1
WAYS = {"run": run_rows, "push": push_rows}
NESTED = "n(0) <- a. n(Y) <- n(X) seq e where Y is X + 1."
KEYED = "fraud(C) <- (w(C, A) seq w(C, B) where B > A) within 600."
FOLD = "s(R) <- o seq aggregate(sum(X), p(X), R)."


def compare(
    text: str, policy: str, rows: list[Any], feed: Callable[..., list[etalis.Event]], level: str, turns: int
) -> tuple[float, float]:
    """Return the best processor times at no level and at one."""
    program = etalis.compile(text)
    found = {on: feed(program.engine(policy=policy, justification=on), rows) for on in ("off", level)}
    if found["off"] != found[level]:
        raise WrongAnswerError(f"other matches at level {level}")
    del found
    seconds: dict[str, list[float]] = {"off": [], level: []}
    for turn in range(turns):
        for on in ("off", level) if turn % 2 else (level, "off"):
            engine = program.engine(policy=policy, justification=on)
            gc.collect()
            started = time.process_time()
            kept = feed(engine, rows)
            seconds[on].append(time.process_time() - started)
            del kept, engine
    return min(seconds["off"]), min(seconds[level])


def show(name: str, off: float, on: float, asked: float) -> None:
    """Print a row."""
    print(f"{name:24} {off:8.3f} s {on:8.3f} s {on / off:6.2f}{' !' if on / off > asked else ''}", flush=True)


def timed(name: str, ask: Callable[[], Any], asked: float | None = None) -> Any:
    """Print how long a call takes, of processor time."""
    started = time.process_time()
    found = ask()
    taken = time.process_time() - started
    print(f"{name:24} {taken:8.3f} s{' !' if asked is not None and taken > asked else ''}", flush=True)
    return found


def justify_keyed(events: int) -> None:
    """Say how long one match takes in a history of many keys: one that was returned, and one that is asked for."""
    engine = etalis.compile(KEYED).engine(policy="chronological", justification="full")
    rows = (("w", (i * 7919) % (events // 10), (i * 31) % 97, i / 1000) for i in range(events))
    found = list(engine.run(rows))
    engine.justify(found[0])  # what is made once
    timed(f"why, {events} events", lambda: engine.justify(found[len(found) // 2]), JUSTIFY_ASKED)
    timed("the latest of a key", lambda: engine.justify(f"fraud({found[0].args[0]})"), JUSTIFY_ASKED)


def justify_nested(depth: int) -> None:
    """Say how long a deep derivation takes, and its prints."""
    engine = etalis.compile(NESTED).engine(justification="full")
    *_, last = engine.run([("a", 0), *(("e", i) for i in range(1, depth))])
    told = timed(f"why, {depth} deep", lambda: engine.justify(last))
    for name in ("to_text", "to_json", "to_term", "to_udraw"):
        timed(f"  {name}", getattr(told, name))


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what is asked for, and return the exit code."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", default=[*STREAMS], metavar="NAME")
    parser.add_argument("--events", type=int, default=300_000)
    parser.add_argument("--history", type=int, default=1_000_000)
    parser.add_argument("--depth", type=int, default=10_000)
    parser.add_argument("--turns", type=int, default=5)
    given = parser.parse_args(arguments)
    try:
        for name in given.names:
            work = prepare(name, given.events)
            rows = list(work.rows())
            for way, feed in WAYS.items():
                show(
                    f"{name} full, {way}", *compare(work.text, work.policy, rows, feed, "full", given.turns), FULL_ASKED
                )
        rows = [("o", 0), *(("p", 1, i) for i in range(1, 8_001))]
        for way, feed in WAYS.items():
            show(f"fold ids, {way}", *compare(FOLD, "recent", rows, feed, "ids", given.turns), FOLD_ASKED)
    except WrongAnswerError as error:
        print(error)
        return 1
    justify_keyed(given.history)
    justify_nested(given.depth)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
