"""Isolation over columns: the same as in the engine, wherever batches are cut, or left to it where parts disturb."""

from __future__ import annotations

import random

import pytest

import etalis
from etalis.columnar.data.events import find_types
from etalis.columnar.run import ColumnRun, run_on
from etalis.temporal.event import Event
from etalis.temporal.policy import POLICIES
from helpers.agreement import check

pytestmark = pytest.mark.fast

RULES = {
    "joined": "d(X) <- iso(a(X) seq b(X)).",
    "composite": "d <- iso((a(X) and b(X)) seq c).",
    "an event alone": "d(X) <- iso(a(X)). f <- iso(d(_) seq c).",
    "within": "d <- iso(a(X) seq b(X)) within 3.",
    "an alarm beside": "exceptionAlarm(g, 1) <- c. d <- iso(a(_) seq b(_)).",
    "a time point beside": "g <- 3. d <- iso(a(_) seq b(_)).",
    "an absence beside": "g <- c seq (not b(_) within 1). d <- iso(a(_) seq b(_)).",
    "received and made": "b(X) <- a(X) seq c. d <- iso(a(_) seq c).",
    "in a chain": "d <- iso(a(_) seq b(_)). e <- d. f <- iso(d seq c).",
    "in a sequence": "d(X) <- (iso(a(X) seq b(_)) seq c) cnot e. f <- iso(c seq (a(X) or b(X))).",
}


def stream(seed: int) -> list[Event]:
    drawn = random.Random(seed)
    found = []
    for _ in range(12):
        name, end = drawn.choice("aabbc"), drawn.randrange(8)
        args = () if name == "c" else (drawn.randrange(2),)
        found.append(Event.make(name, args, 10**6 * (end - drawn.choice((0, 0, 0, 1, 2))), 10**6 * end))
    return sorted(found, key=lambda event: (event.end_time, event.start_time))


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_equal_to_the_engine(rule: str) -> None:
    over_columns = [check(rule, stream(seed), policy) for policy in POLICIES for seed in range(4)]
    assert all(over_columns)


@pytest.mark.parametrize("pattern", ["a(X) seq b(X) seq c", "a(X) and b(X)", "a(_) star_times seq c"])
def test_parts_that_may_lie_between_others(pattern: str) -> None:
    run = ColumnRun(etalis.compile(f"d <- iso({pattern}). e <- a(_) seq c.").compiled, find_types(stream(1)))
    assert run.choice.describe() == ("event at a time: rules 1, 2\n  iso looks at parts that may lie between others")


def test_a_rule_that_sees_all_events_runs_with_all_others() -> None:
    text = "d <- iso(a(_) seq b(_)). d do true <- c. e <- a(X) seq b(X)."
    run = ColumnRun(etalis.compile(text).compiled, find_types(stream(1)))
    assert run.choice.describe() == (
        "event at a time: rules 1, 2, 3\n  rule 2: it has an action\n"
        "  rule 1: iso looks at what all other rules look at"
    )


def test_an_engine_that_goes_on_sees_for_itself() -> None:
    run = run_on(etalis.compile(RULES["joined"]).engine(), find_types(stream(1)))
    assert "iso looks at all events that an engine has processed" in run.choice.describe()
