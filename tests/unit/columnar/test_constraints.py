"""Constraints over columns: what they remember between batches, and in which order they are judged."""

from __future__ import annotations

import random

import pytest

import etalis
from etalis.columnar.data.events import find_types, gather
from etalis.columnar.run import ColumnRun
from etalis.temporal.event import Event
from helpers.agreement import check

pytestmark = pytest.mark.fast

SECOND = 1_000_000
PROGRAMS = (
    "constraint c: a(X) requires b(X) within 3.",
    "constraint c: a(X) requires b(_) within 2. constraint d: b(X) requires a(X) after within 3.",
    "constraint c: (a(X) seq b(X)) requires c(X) within 2. s(X) <- violated(c, X) seq a(X).",
    "constraint c: a(X) requires b(X) before within 3. constraint d: a(X) requires b(X) before.",
    "constraint c: a(X) requires b(X) next. constraint d: b(X) requires c(X) or a(_) next.",
    "constraint c: never a(X) and b(X) within 2. t(X) <- violated(c, X) seq c(X) within 5.",
)


def event(name: str, value: int, end: int, length: int = 0) -> Event:
    return Event.make(name, (value,), (end - length) * SECOND, end * SECOND)


def stream(seed: int) -> list[Event]:
    rng = random.Random(seed)
    found = [
        event(rng.choice("aabc"), rng.randrange(2), rng.randrange(24), rng.choice((0, 0, 0, 1, 3))) for _ in range(40)
    ]
    return sorted(found, key=lambda e: (e.end_time, e.start_time))


@pytest.mark.parametrize("text", PROGRAMS)
def test_equal_to_the_engine(text: str) -> None:
    assert all(check(text, stream(seed), "unrestricted") for seed in (1, 2))


def test_those_that_look_back_come_after_the_others() -> None:
    text = "constraint c: a(X) seq b(X) within 9 requires d(X) within 5. calm(X) <- e(X) seq (not d(X) within 5)."
    rows = [event(*row) for row in (("a", 1, 0), ("b", 1, 3), ("e", 1, 3), ("d", 5, 30))]
    assert check(text, rows)


def test_what_waits_for_a_violation_runs_event_at_a_time() -> None:
    text = "constraint c: a(X) requires b(X) within 5. calm(X) <- e(X) seq (not violated(c, X) within 8)."
    rows = [event(*row) for row in (("e", 1, -3), ("a", 1, 0), ("a", 2, 1), ("e", 2, 1), ("d", 5, 30))]
    assert not check(text, rows)
    explanation = etalis.compile(text).explain([{"event": "a", "x": 1, "time": 1}])
    assert "may depend on the violation of a constraint" in str(explanation)


def test_what_came_before_is_remembered_until_nothing_can_ask_for_it() -> None:
    rows = [event("b", i, i) for i in range(60)] + [event("a", i, i + 10) for i in range(60)]
    rows.sort(key=lambda e: e.end_time)
    types = find_types(rows)
    run = ColumnRun(etalis.compile("constraint c: a(X) requires b(X) within 10.").compiled, types)
    found = [e for low in range(0, len(rows), 7) for e in run.process(gather(rows[low : low + 7], types))]
    assert [*found, *run.close()] == []
