"""The natural form of a program against that of a specialist: `python bench/rewrites.py [events] [turns]`.

Conditions over both parts or at the parts, an equality in `where` or one variable, an offset or an attribute that has
it added, a look-up of facts or the attribute that was looked up before. Both find equally many matches, by `run` and
over columns; ratios of processor time.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "src"))

import feeding  # noqa: E402 - the package may not be installed
from programs.contenders import table_of  # noqa: E402
from side_by_side import Begin, Report, argument, measure, run_report  # noqa: E402

import etalis  # noqa: E402

ASKED = 1.5
Rows = list[tuple[Any, ...]]


@dataclass(frozen=True)
class Pair:
    """Two programs for one question, each with its stream."""

    title: str
    natural: str
    special: str
    rows: Callable[[int], Rows]
    special_rows: Callable[[int], Rows] | None = None
    facts: dict[str, Rows] = field(default_factory=dict)
    policy: str = "unrestricted"


def two_kinds(n: int, values: int) -> Rows:
    r = random.Random(51)
    return [(r.choice("ab"), r.randrange(values), i) for i in range(n)]


def keyed(n: int) -> Rows:
    r = random.Random(52)
    return [(r.choice("ab"), r.randrange(5_000), r.randrange(1_000), i) for i in range(n)]


def with_offset(rows: Rows) -> Rows:
    """Return the b with the offset added, under a key of its own."""
    return [(kind, x + 500 if kind == "b" else x, x, t) for kind, x, t in rows]


LINKS: Rows = [(i, (i * 7919) % 5_000) for i in range(5_000)]


def with_link(rows: Rows) -> Rows:
    """Return the a with what the facts link it to."""
    linked = dict(LINKS)
    return [(kind, linked[key] if kind == "a" else key, key, value, t) for kind, key, value, t in rows]


PAIRS = (
    Pair(
        "where (A < 10, B > 990) over two parts",
        "p(A, B) <- (a(A) seq b(B)) within 1000 where (A < 10, B > 990).",
        "p(A, B) <- ((a(A) where A < 10) seq (b(B) where B > 990)) within 1000.",
        lambda n: two_kinds(n, 1_000),
    ),
    Pair(
        "where I = J",
        "p(I, X, Y) <- (a(I, X) seq b(J, Y)) within 10000 where I = J.",
        "p(I, X, Y) <- (a(I, X) seq b(I, Y)) within 10000.",
        keyed,
    ),
    Pair(
        "where I == J, chronological",
        "p(I, X, Y) <- (a(I, X) seq b(J, Y)) where I == J.",
        "p(I, X, Y) <- a(I, X) seq b(I, Y).",
        keyed,
        policy="chronological",
    ),
    Pair(
        "where X =:= Y + 500",
        "p(X, Y) <- (a(X) seq b(Y)) within 5000 where X =:= Y + 500.",
        "p(X, Y) <- (a(K, X) seq b(K, Y)) within 5000.",
        lambda n: two_kinds(n, 2_000),
        lambda n: with_offset(two_kinds(n, 2_000)),
    ),
    Pair(
        "where link(I, J)",
        "p(I, J, X, Y) <- (a(I, X) seq b(J, Y)) within 10000 where link(I, J).",
        "p(I, J, X, Y) <- (a(J, I, X) seq b(J, _, Y)) within 10000.",
        keyed,
        lambda n: with_link(keyed(n)),
        {"link": LINKS},
    ),
)


def program_of(pair: Pair, text: str) -> etalis.Program:
    program = etalis.compile(text)
    for name, rows in pair.facts.items():
        if name in text:
            program.load_facts(name, rows)
    return program


def by_run(program: etalis.Program, policy: str, rows: Rows) -> Begin:
    def start() -> Callable[[], list[etalis.Event]]:
        engine = program.engine(policy=policy)
        return lambda: feeding.run_rows(engine, rows)

    return start


def over_columns(program: etalis.Program, policy: str, rows: Rows) -> Begin:
    events = table_of(program, rows)
    return lambda: lambda: program.detect(events, time="ts", event="type", policy=policy, threads=1)


def main(report: Report) -> None:
    events, turns = argument(1, 50_000), argument(2, 3)
    columns = ("run: us", "special us", "times", "columns: us", "special us", "times")
    table = report.table(f"{events:,} events, microseconds an event", "Condition", *columns)
    for pair in PAIRS:
        natural, special = program_of(pair, pair.natural), program_of(pair, pair.special)
        rows, special_rows = pair.rows(events), (pair.special_rows or pair.rows)(events)
        cells: list[Any] = []
        for way in (by_run, over_columns):
            works = {
                "natural": way(natural, pair.policy, rows), "special": way(special, pair.policy, special_rows)
            }  # fmt: skip
            if way is over_columns:
                measure(works, 1)  # kernels compiled
            found = measure(works, turns)
            cells += [f"{found[form] / events * 1e6:.2f}" for form in ("natural", "special")]
            cells.append(report.at_most(found["natural"] / found["special"], ASKED))
        table.add_row(pair.title, *cells)
    report.show(table)


if __name__ == "__main__":
    sys.exit(run_report(main))
