"""Events on intervals are taken by a function of their kind, as the general way takes them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import etalis
from etalis.errors import EventError

RULES = """
:- event(outage(site: string)). :- event(repair(site: string)).
covered(S) <- outage(S) during repair(S).
next(S) <- outage(S) meets outage(S).
left(S) <- outage(S) seq (not repair(S) within 10).
"""
ROWS = [
    ("outage", "x", (1, 3)),
    ("outage", "x", [3, 4]),
    ("repair", "x", (0, 5)),
    ("outage", "y", 6),
    ("outage", "y", (6.0, 7.5)),
    ("outage", "z", (8, 8)),
    ("repair", "z", (17, 30)),
]
BASE = datetime(1970, 1, 1, tzinfo=UTC)


def told(events: Any) -> list[tuple[str, str, float, float]]:
    return [(event.name, *event.args, event.start_time, event.end_time) for event in events]


def pushed(engine: etalis.Engine, rows: list[Any]) -> list[Any]:
    return [event for row in rows for event in engine.push(*row[:-1], at=row[-1])]


@pytest.mark.parametrize("policy", ["unrestricted", "chronological", "recent"])
def test_ways_agree(policy: str) -> None:
    program = etalis.compile(RULES)
    slow = program.engine(policy=policy)
    slow._close_entries()
    expected = told([*pushed(slow, ROWS), *slow.close()])
    by_push, by_run = program.engine(policy=policy), program.engine(policy=policy)
    assert told([*pushed(by_push, ROWS), *by_push.close()]) == expected
    assert told([*by_run.run(ROWS), *by_run.close()]) == expected
    assert ("covered", "x", 0, 5_000_000) in expected
    assert "take repair/1 on an interval" in by_run.code()


def test_the_general_way_is_not_taken() -> None:
    engine = etalis.compile(RULES).engine()
    engine.core.take = None  # type: ignore[assignment,method-assign]
    pushed(engine, ROWS)
    list(engine.run([("outage", "x", (30, 40)), ("outage", "x", (40, 41))]))
    assert engine.now == 41


def test_dates_are_shown_as_dates() -> None:
    (found,) = etalis.compile("b(X) <- a(X).").engine().push("a", 1, at=(BASE, BASE + timedelta(seconds=1)))
    assert "1970-01-01" in str(found)


def test_what_is_late_or_no_interval_is_refused_as_ever() -> None:
    engine = etalis.compile(RULES).engine()
    engine.push("outage", "x", at=(1, 5))
    assert engine.push("outage", "x", at=(1, 4)) == ()
    assert [letter.end for letter in engine.dead_letters] == [4]
    for wrong in ((6, 5), (5, 6, 7), (), (None, 6), (6, float("nan"))):
        with pytest.raises(EventError):
            engine.push("outage", "x", at=wrong)
    with pytest.raises(EventError):
        engine.push("outage", 5, at=(5, 6))


def test_rules_may_change_between() -> None:
    engine, found = etalis.compile("b(X) <- a(X).").engine(), []
    for event in engine.run(("a", i, (i, i + 1)) for i in range(4)):
        found.append((event.name, event.args))
        if event.args == (1,) and event.name == "b":
            engine.insert_rule("c(X) <- a(X).")
    assert found == [("b", (0,)), ("b", (1,)), ("b", (2,)), ("c", (2,)), ("b", (3,)), ("c", (3,))]
