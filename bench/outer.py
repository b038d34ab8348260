"""Parts that may be missing against the same rule without: `python bench/outer.py [events] [turns]`.

Every outer form of `seq`, `equals` and `and`, under the policy that matches all pairs and under one that consumes,
beside the inner form; ratios of processor time by `run`, the median of the turns. Before anything is timed, the matches
of the first rows must be what the program means.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "src"))

import feeding  # noqa: E402 - the package may not be installed
from ratio import WrongAnswerError  # noqa: E402
from side_by_side import Begin, Report, argument, measure, run_report  # noqa: E402

import etalis  # noqa: E402
from etalis.language.read.parser import parse  # noqa: E402
from etalis.semantics import steps as semantics  # noqa: E402
from etalis.temporal.event import Event  # noqa: E402

ASKED = 1 / 0.3  # the time of the outer form to that of the inner one
SUBJECTS = 200
CHECKED, SECOND = 400, 1_000_000
FORMS = {"seq": ("seq?", "?seq"), "equals": ("equals?", "?equals"), "and": ("and?", "?and")}
SPANS = (("instants", "p(C, X)", "q(C, Y)"), ("intervals", "(p(C, X) seq p(C, _))", "(q(C, Y) seq q(C, _))"))
Rows = list[tuple[Any, ...]]


def apart(events: int) -> Rows:
    """Return events of two kinds, one a second."""
    r = random.Random(71)
    return [(r.choice("pq"), r.randrange(SUBJECTS), r.randrange(1_000), i) for i in range(events)]


def in_pairs(events: int) -> Rows:
    """Return events of two kinds, both at the stamps of every second one."""
    r, rows = random.Random(72), []
    for i in range(events * 2 // 3):
        c, first = r.randrange(SUBJECTS), r.choice("pq")
        rows.append((first, c, r.randrange(1_000), i))
        if i % 2:
            rows.append(("q" if first == "p" else "p", c, r.randrange(1_000), i))
    return rows


def text_of(left: str, operator: str, right: str) -> str:
    return f"r(C, X, Y) <- ({left} {operator} {right}) within 400."


def run(program: etalis.Program, policy: str, rows: Rows) -> list[etalis.Event]:
    engine = program.engine(policy=policy)
    found = feeding.run_rows(engine, rows)
    found += engine.close()
    return found


def begin(text: str, policy: str, rows: Rows) -> Begin:
    program = etalis.compile(text)

    def start() -> Callable[[], list[etalis.Event]]:
        return lambda: run(program, policy, rows)

    return start


def check(text: str, policy: str, rows: Rows) -> tuple[int, int]:
    """Refuse matches that a program does not mean; return how many pairs there are, and how many rows without one."""
    found = run(etalis.compile(text), policy, rows)
    stream = [Event.make(name, tuple(values), at * SECOND, at * SECOND) for name, *values, at in rows]
    meant = semantics.run(parse(text), stream, policy=policy)
    if found != meant:
        raise WrongAnswerError(f"{text} {policy}: {len(found)} matches, {len(meant)} meant")
    alone = sum("null" in event.args for event in found)
    return len(found) - alone, alone


def main(report: Report) -> None:
    events, turns = argument(1, 100_000), argument(2, 5)
    for span, left, right in SPANS:
        title = f"outer forms of {span}, {events:,} events"
        table = report.table(title, "Form", "Policy", "Pairs", "Alone", "Time ratio")
        for operator, forms in FORMS.items():
            rows = in_pairs(events) if operator == "equals" else apart(events)
            for form in forms:
                for policy in ("unrestricted", "chronological"):
                    texts = [text_of(left, each, right) for each in (operator, form)]
                    pairs, alone = (f"{count:,}" for count in check(texts[1], policy, rows[:CHECKED]))
                    works = {text: begin(text, policy, rows) for text in texts}
                    inner, outer = measure(works, turns, same=False).values()
                    table.add_row(form, policy, pairs, alone, report.at_most(outer / inner, ASKED))
        report.show(table)


if __name__ == "__main__":
    sys.exit(run_report(main))
