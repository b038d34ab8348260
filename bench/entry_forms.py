"""What the form of rows costs: `python bench/entry_forms.py [events] [turns]`.

The same events as whole seconds in tuples, and as users have them: times with fractions, datetimes, ISO text, rows as
dictionaries, scalars of NumPy, attributes by keyword, lists per attribute. Ratios of processor time to the plain form.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "src"))

import feeding  # noqa: E402 - the package may not be installed
import numpy as np  # noqa: E402
from programs.trades import ASOF, quote_rows  # noqa: E402
from side_by_side import Begin, Report, argument, measure, run_report  # noqa: E402

import etalis  # noqa: E402

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
CHAIN = """
:- event(a(id: int, v: int)). :- event(b(id: int, v: int)). :- event(c(id: int, v: int)).
d(Id, X, Y, Z) <- a(Id, X) seq b(Id, Y) seq c(Id, Z).
"""
Times = Callable[[int], Any]


def chain_rows(events: int) -> list[Any]:
    """Return a, b and c of one id after the other, some dozens of ids open."""
    return [("abc"[i // 40 % 3], i // 120 * 40 + i % 40, i % 100, i) for i in range(events)]


PROGRAMS = {
    "a, b, c in sequence": (CHAIN, "chronological", chain_rows, ("id", "v")),
    "each trade with its quote": (ASOF.text, ASOF.policy, quote_rows, ("sym", "price")),
}
TIMES: dict[str, Times] = {
    "whole seconds": lambda t: t,
    "floats": lambda t: t + 0.25,
    "datetimes": lambda t: EPOCH + timedelta(seconds=t),
    "ISO text": lambda t: (EPOCH + timedelta(seconds=t)).isoformat(),
}
PLAIN = "tuples, whole seconds"
ASKED = {
    "tuples, floats": 1.5,
    "tuples, datetimes": 2.0,
    "dicts, whole seconds": 1.5,
    "dicts, datetimes": 2.5,
    "push, keywords": 1.6,
}


def as_dict(row: Any, names: tuple[str, str], at: Any) -> dict[str, Any]:
    return {"event": row[0], names[0]: row[1], names[1]: row[2], "at": at}


def scalars(row: Any) -> tuple[Any, ...]:
    """Return a row as it comes out of arrays of NumPy."""
    name, a, b, t = row
    return name, np.int64(a) if isinstance(a, int) else np.str_(a), np.array([b])[0], np.int64(t)


def forms(rows: list[Any], names: tuple[str, str]) -> dict[str, Any]:
    """Return the rows in every form that `run` takes."""
    found: dict[str, list[Any]] = {}
    for title, time in TIMES.items():
        found[f"tuples, {title}"] = [(*row[:-1], time(row[-1])) for row in rows]
        found[f"dicts, {title}"] = [as_dict(row, names, time(row[-1])) for row in rows]
    return found | {
        "tuples of NumPy's scalars": [scalars(row) for row in rows],
        "lists per attribute": lists(rows, names),
    }


def lists(rows: list[Any], names: tuple[str, str]) -> dict[str, list[Any]]:
    """Return the columns of rows."""
    return dict(zip(("event", *names, "at"), map(list, zip(*rows, strict=True)), strict=True))


def push_named(names: tuple[str, str]) -> feeding.Feed:
    """Return the loop over `push` with attributes by keyword."""

    def of_chain(engine: etalis.Engine, rows: list[Any]) -> list[etalis.Event]:
        push = engine.push
        found: list[etalis.Event] = []
        for name, a, b, at in rows:
            found += push(name, id=a, v=b, at=at)
        return found

    def of_quotes(engine: etalis.Engine, rows: list[Any]) -> list[etalis.Event]:
        push = engine.push
        found: list[etalis.Event] = []
        for name, a, b, at in rows:
            found += push(name, sym=a, price=b, at=at)
        return found

    return of_chain if names == ("id", "v") else of_quotes


def main(report: Report) -> None:
    events, turns = argument(1, 100_000), argument(2, 3)
    for title, (text, policy, make, names) in PROGRAMS.items():
        program = etalis.compile(text)

        def begin(
            feed: feeding.Feed, rows: list[Any], program: etalis.Program = program, policy: str = policy
        ) -> Begin:
            def start() -> Callable[[], list[etalis.Event]]:
                engine = program.engine(policy=policy)
                return lambda: feed(engine, rows)

            return start

        rows = make(events)
        works = {form: begin(feeding.run_rows, given) for form, given in forms(rows, names).items()}
        works |= {"push": begin(feeding.push_rows, rows), "push, keywords": begin(push_named(names), rows)}
        found = measure(works, turns)
        table = report.table(f"{title}, {events:,} events", "Form", "us an event", "times the plain form")
        for form, seconds in found.items():
            base = found["push"] if form.startswith("push,") else found[PLAIN]
            ratio = report.at_most(seconds / base, ASKED.get(form))
            table.add_row(form, f"{seconds / events * 1e6:.2f}", ratio)
        report.show(table)


if __name__ == "__main__":
    sys.exit(run_report(main))
