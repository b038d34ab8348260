"""What must not grow: `bench/scaling.py [lengths] [windows] [keys] [unread] [rules] [alike] [--longest N]`, by `run`.

The programs on streams of 10,000 to a million events: time per event, or, where streams change with their length, the
share of the loop's speed; the better of both counts. Aggregates over windows of 10 to 10,000 elements. Patterns by key
with 10 to 100,000 keys, each key's events next to each other, so that there are equally many matches. Kinds of events
that no rule reads, against a loop that looks each up in a dictionary. A hundred rules of two parts with windows and
thresholds. Rules that differ in a constant or a threshold, one to 10,000 of them, each event of interest to one.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "src"))

import feeding  # noqa: E402 - the package may not be installed
import pyarrow as pa  # noqa: E402
from programs import CASES  # noqa: E402
from programs.case import Match, Row  # noqa: E402
from programs.contenders import program_of, row_work  # noqa: E402
from programs.table import ASKED  # noqa: E402
from programs.trades import TRADE, tick_rows  # noqa: E402
from side_by_side import Begin, Report, measure, run_report  # noqa: E402

import etalis  # noqa: E402

LENGTHS = (10_000, 100_000, 1_000_000)
LENGTHENED = [name for name in ASKED if name != "rfid_containment" and not name.startswith("rules_")]
FLAT = 1.5
WINDOWS = (10, 100, 1_000, 10_000)
AGGREGATES = ("count", "sum(Q)", "sum(P)", "avg(P)", "min(P)", "max(P)", "distinct(Q)", "first(P)", "last(P)")
WINDOW_ASKED = 2.0
KEYS = (10, 1_000, 100_000)
KEYS_ASKED = 2.0
BY_KEY = {
    "seq": "r(K, X, Y) <- (a(K, X) seq b(K, Y)) within 100.",
    "no c between": "r(K, X, Y) <- ((a(K, X) seq b(K, Y)) within 100) cnot c(K).",
    "then no a": "r(K) <- b(K, _) seq (not a(K, _) within 1).",
    "a, b+, b": "r(K) <- (a(K, _) seq b(K, _) star_times seq b(K, _)) within 100.",
    "count of two": "r(K, N) <- aggregate(count, a(K, _), N) last 2.",
}
UNREAD_ASKED = 5.0  # of a look-up in a dictionary, with its loop
RULES = 100
ALIKE = (1, 100, 1_000, 10_000)
ALIKE_ASKED = 3.0
FORMS = {  # of rules that differ in a constant or in a threshold
    "a('S7', X)": "r{n}(X) <- a('S{n}', X) where X > 950.",
    "where S = 'S7'": "r{n}(X) <- a(S, X) where (S = 'S{n}', X > 950).",
    "where X > 1017": "r{n}(S, X) <- a(S, X) where X > {over}.",
    "where 17 < X =< 18": "r{n}(S, X) <- a(S, X) where (X > {low}, X =< {high}).",
    "a('S7', X) seq b('S7', Y)": "r{n}(X, Y) <- (a('S{n}', X) seq b('S{n}', Y)) within 2.",
}


def by_run(program: etalis.Program, policy: str, rows: list[Any], feed: feeding.Feed = feeding.run_rows) -> Begin:
    def start() -> Callable[[], list[etalis.Event]]:
        engine = program.engine(policy=policy)
        return lambda: feed(engine, rows)

    return start


def show_lengths(report: Report, longest: int) -> None:
    lengths = [length for length in LENGTHS if length <= longest]
    columns = [f"{length:,}" for length in lengths]
    table = report.table("us an event, and (of the loop's speed)", "Program", *columns, "slower, or to the loop")
    for name in LENGTHENED:
        case = CASES[name]
        program = program_of(case)
        cells, shares, costs = [], [], []
        for length in lengths:
            rows = case.rows(length)
            loop: Begin = lambda rows=rows, case=case: lambda: case.loop(rows)  # noqa: E731
            run: Begin = lambda rows=rows, case=case, program=program: row_work(  # noqa: E731
                "run", case, program.engine(policy=case.policy), rows
            )
            found = measure({"run": run, "loop": loop}, 3 if length < 1e5 else 1)
            shares.append(found["loop"] / found["run"])
            costs.append(found["run"] / length * 1e6)
            cells.append(f"{costs[-1]:.2f} ({shares[-1]:.2f})")
        table.add_row(name, *cells, report.at_most(min(shares[0] / shares[-1], costs[-1] / costs[0]), FLAT))
    report.show(table)


def show_windows(report: Report, events: int = 100_000) -> None:
    rows = tick_rows(events, 1)
    table = report.table(
        f"aggregates, us an event of {events:,}", "Aggregate", *(f"{w:,}" for w in WINDOWS), "largest to smallest"
    )
    for aggregate in AGGREGATES:
        works = {}
        for window in WINDOWS:
            text = f"{TRADE}r(S, R) <- aggregate({aggregate}, trade(S, P, Q), R) within {window - 1}."
            works[str(window)] = by_run(etalis.compile(text), "unrestricted", rows)
        found = measure(works, 1)
        cells = (f"{seconds / events * 1e6:.2f}" for seconds in found.values())
        table.add_row(aggregate, *cells, report.at_most(found[str(WINDOWS[-1])] / found[str(WINDOWS[0])], WINDOW_ASKED))
    report.show(table)


def show_keys(report: Report, events: int = 1_000_000) -> None:
    table = report.table(
        f"by key, us an event of {events:,}", "Pattern", *(f"{keys:,} keys" for keys in KEYS), "most to fewest"
    )
    for pattern, rule in BY_KEY.items():
        program = etalis.compile(
            f":- event(a(k: int, x: int)). :- event(b(k: int, y: int)). :- event(c(k: int)).\n{rule}"
        )
        works = {}
        for keys in KEYS:
            rows = [("abab"[i % 4], i // 4 % keys, i % 100, i) for i in range(events)]
            works[str(keys)] = by_run(program, "recent", rows)
        found = measure(works, 1, same=False)
        cells = (f"{seconds / events * 1e6:.2f}" for seconds in found.values())
        table.add_row(pattern, *cells, report.at_most(found[str(KEYS[-1])] / found[str(KEYS[0])], KEYS_ASKED))
    report.show(table)


def show_unread(report: Report, events: int = 200_000) -> None:
    """Measure a stream of which nothing is read."""
    program = etalis.compile(":- event(a(id: int, v: int)).\nd(I, X) <- (a(I, X) seq b(I, _)) within 100.")
    rows = [(f"other{i % 10}", i % 1000, i % 100, i) for i in range(events)]
    known = {"a": print, "b": print}

    def look_up() -> list[Any]:
        found: list[Any] = []
        for name, _, _, _ in rows:
            if known.get(name) is not None:
                found.append(name)
        return found

    works: dict[str, Begin] = {
        "look-up in a dictionary": lambda: look_up,
        "run": by_run(program, "unrestricted", rows),
        "push": by_run(program, "unrestricted", rows, feeding.push_rows),
    }
    found = measure(works, 3)
    table = report.table(f"{events:,} events that no rule reads", "Way", "us an event", "times a look-up")
    base = found["look-up in a dictionary"]
    for way, seconds in found.items():
        asked = UNREAD_ASKED if way == "run" else None
        table.add_row(way, f"{seconds / events * 1e6:.3f}", report.at_most(seconds / base, asked))
    report.show(table)


def threshold(rule: int) -> tuple[int, int, int]:
    """Return what a rule asks of its first and its second part, and its window."""
    return 900 + rule % 50, 900 + rule * 7 % 50, 50 + rule


def rules_text() -> str:
    lines = []
    for rule in range(RULES):
        least, other, window = threshold(rule)
        lines.append(f"r{rule}(I, X, Y) <- (a(I, X) seq b(I, Y)) within {window} where (X > {least}, Y > {other}).")
    return "\n".join(lines)


def rules_loop(rows: list[Row]) -> list[Match]:
    recent: dict[int, deque[tuple[int, int]]] = {}
    out: list[Match] = []
    rules = [(f"r{rule}", *threshold(rule)) for rule in range(RULES)]
    for kind, key, value, t in rows:
        if value <= 900:
            continue
        window = recent.get(key)
        if kind == "a":
            if window is None:
                window = recent[key] = deque()
            window.append((value, t))
        elif window:
            while window and t - window[0][1] > 50 + RULES:
                window.popleft()
            for x, s in window:
                for name, least, other, most in rules:
                    if x > least and value > other and t - s <= most:
                        out.append((name, (key, x, value), s, t))
    return out


def show_rules(report: Report, events: int = 20_000) -> None:
    r = random.Random(61)
    rows = [(r.choice("ab"), r.randrange(20), r.randrange(1000), i) for i in range(events)]
    program = etalis.compile(rules_text())
    works: dict[str, Begin] = {
        "loop": lambda: lambda: rules_loop(rows),
        "run": by_run(program, "unrestricted", rows),
        "push": by_run(program, "unrestricted", rows, feeding.push_rows),
    }
    found = measure(works, 1)
    table = report.table(f"{RULES} rules of two parts, {events:,} events", "Way", "us an event", "times the loop")
    for way, seconds in found.items():
        table.add_row(way, f"{seconds / events * 1e6:.2f}", report.at_most(seconds / found["loop"], None))
    report.show(table)


def alike(rule: str, number: int, events: int) -> tuple[etalis.Program, list[tuple[Any, ...]]]:
    """Return rules that differ in one thing, and rows of as many symbols as there are rules: each concerns one rule."""
    r = random.Random(62)
    step = 1000 / number
    text = "".join(f"{rule.format(n=n, over=1000 + n, low=n * step, high=(n + 1) * step)}\n" for n in range(number))
    program = etalis.compile(f":- event(a(s: string, x: float)). :- event(b(s: string, y: float)).\n{text}")
    rows = [(r.choice("ab"), f"S{r.randrange(number)}", r.randrange(10_000) / 10, i) for i in range(events)]
    return program, rows


def over_columns(program: etalis.Program, rows: list[tuple[Any, ...]]) -> Begin:
    """Return how a table of rows is taken."""
    event, s, x, at = zip(*rows, strict=True)
    table = pa.table(
        {"event": pa.array(event), "s": pa.array(s), "x": pa.array(x), "y": pa.array(x), "at": pa.array(at)}
    )
    return lambda: lambda: program.detect(table, time="at", event="event", policy="unrestricted", threads=1)


def show_alike(report: Report, events: int = 100_000) -> None:
    """Measure rules that differ in one thing, event at a time and over columns, where the second call counts."""
    columns = [f"{number:,}" for number in ALIKE]
    ways: dict[str, Callable[[etalis.Program, list[tuple[Any, ...]]], Begin]] = {
        "run": lambda program, rows: by_run(program, "unrestricted", rows),
        "push": lambda program, rows: by_run(program, "unrestricted", rows, feeding.push_rows),
        "columns": over_columns,
    }
    for way, begin in ways.items():
        table = report.table(f"rules alike, us an event by {way}", "Form", *columns, "most to one")
        for form, rule in FORMS.items():
            costs = []
            for number in ALIKE:
                work = begin(*alike(rule, number, events))
                if way == "columns":
                    work()()
                costs.append(measure({way: work}, 1)[way] / events * 1e6)
            table.add_row(form, *(f"{c:.2f}" for c in costs), report.at_most(costs[-1] / costs[0], ALIKE_ASKED))
        report.show(table)


def main(report: Report) -> None:
    parser = argparse.ArgumentParser(description="What must not grow.")
    parser.add_argument(
        "parts", nargs="*", metavar="PART", help="lengths, windows, keys, unread, rules, alike; default: all"
    )
    parser.add_argument("--longest", type=int, default=LENGTHS[-1], help="the longest stream (default 1,000,000)")
    options = parser.parse_args()
    parts: dict[str, Callable[[], None]] = {
        "lengths": lambda: show_lengths(report, options.longest),
        "windows": lambda: show_windows(report),
        "keys": lambda: show_keys(report),
        "unread": lambda: show_unread(report),
        "rules": lambda: show_rules(report),
        "alike": lambda: show_alike(report),
    }
    for name, show in parts.items():
        if not options.parts or name in options.parts:
            show()


if __name__ == "__main__":
    sys.exit(run_report(main))
