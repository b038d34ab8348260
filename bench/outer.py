"""Parts that may be missing against the same rule without: `python bench/outer.py [events] [turns]`.

Every outer form of `seq`, `equals` and `and`, under the policy that matches all pairs and under one that consumes,
beside the inner form; ratios of processor time by `run`, the median of the turns. The pairs of both must be the same,
and there must be one row more for every instance without a partner.
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

ASKED = 1 / 0.3  # the time of the outer form to that of the inner one
SUBJECTS = 200
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


def compare(texts: dict[str, str], policy: str, rows: Rows) -> int:
    """Return how many matches of the outer form have no partner; refuse an answer that is wrong."""
    inner, outer = (run(etalis.compile(text), policy, rows) for text in texts.values())
    pairs = [event for event in outer if "null" not in event.args]
    if sorted(map(str, pairs)) != sorted(map(str, inner)):
        raise WrongAnswerError(f"{[*texts][1]}, {policy}: {len(pairs)} pairs, not {len(inner)}")
    return len(outer) - len(inner)


def main(report: Report) -> None:
    events, turns = argument(1, 100_000), argument(2, 5)
    for span, left, right in SPANS:
        table = report.table(
            f"outer forms, {span}, {events:,} events", "Form", "Policy", "Pairs", "Alone", "Time ratio"
        )
        for operator, forms in FORMS.items():
            rows = in_pairs(events) if operator == "equals" else apart(events)
            for form in forms:
                for policy in ("unrestricted", "chronological"):
                    texts = {operator: text_of(left, operator, right), form: text_of(left, form, right)}
                    alone = compare(texts, policy, rows[:3_000])
                    works = {name: begin(text, policy, rows) for name, text in texts.items()}
                    inner, outer = measure(works, turns, same=False).values()
                    pairs = len(run(etalis.compile(texts[operator]), policy, rows[:3_000]))
                    cells = f"{pairs:,}", f"{alone:,}", report.at_most(outer / inner, ASKED)
                    table.add_row(form, policy, *cells)
        report.show(table)


if __name__ == "__main__":
    sys.exit(run_report(main))
