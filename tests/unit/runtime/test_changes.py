"""Changes of knowledge from outside: at once or at a time to come, whichever way events come in."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

import etalis
from etalis.engine import Engine
from etalis.errors import ConditionError, EventError, InputError

TEXT = "d(X) <- a(X) where p(X). :- dynamic p/1."
ROWS = [("a", 1, t) for t in range(1, 7)]


def start(text: str = TEXT, **options: Any) -> Engine:
    return etalis.compile(text).engine(**options)


def ends(events: Any) -> list[Any]:
    return [event.end for event in events]


def push_each(engine: Engine) -> list[Any]:
    push = engine.push
    return [event for name, x, at in ROWS for event in push(name, x, at=at)]


def push_slowly(engine: Engine) -> list[Any]:
    return [event for name, x, at in ROWS for event in engine.push(name, x, at=(at, at))]


def run_all(engine: Engine) -> list[Any]:
    return list(engine.run(ROWS))


WAYS = [push_each, push_slowly, run_all]


@pytest.mark.parametrize("way", WAYS)
def test_scheduled_changes_are_seen_from_their_time_on(way: Callable[[Engine], list[Any]]) -> None:
    engine = start()
    engine.assert_fact("p", 1, at=2)
    engine.retract_fact("p", 1, at=datetime.fromtimestamp(3.5, UTC))
    engine.reload("p", [(1,), (2,)], at=5)
    assert ends(way(engine)) == [2, 3, 5, 6]
    assert engine.query("p(X)") == [{"X": 1}, {"X": 2}]


def test_ways_in_that_were_bound_before_notice() -> None:
    """A bound `push` and a `run` under way are generated code that knows nothing of changes."""
    engine = start()
    push = engine.push
    assert push("a", 1, at=0) == ()
    engine.assert_fact("p", 1, at=2)
    engine.retract_fact("p", 1, at=4)
    assert ends(push("a", 1, at=1)) == []
    assert ends([*push("a", 1, at=2), *push("a", 1, at=3), *push("a", 1, at=4), *push("a", 1, at=5)]) == [2, 3]
    engine.assert_fact("p", 1)
    running = engine.run([("a", 1, t) for t in range(6, 12)])
    assert next(running).end == 6
    engine.retract_fact("p", 1, at=8)
    engine.assert_fact("p", 1, at=10)
    assert ends(running) == [7, 10, 11]


@pytest.mark.parametrize("way", WAYS)
def test_functions_that_conditions_call_may_change_knowledge(way: Callable[[Engine], list[Any]]) -> None:
    engines: list[Engine] = []

    def see(_: Any) -> bool:
        engine = engines[0]
        if engine.now == 2:
            engine.assert_fact("p", 1, at=4)
            engine.retract_fact("p", 1, at=6)
        return True

    text = "d(X) <- a(X) where (see(X), p(X)). :- dynamic p/1."
    engines.append(etalis.compile(text, register={"see/1": see}).engine())
    assert ends(way(engines[0])) == [4, 5]


@pytest.mark.parametrize("way", WAYS)
def test_whoever_hears_of_errors_may_change_knowledge(way: Callable[[Engine], list[Any]]) -> None:
    seen: list[Any] = []

    def repair(_: Any) -> None:
        seen.append(engine.now)
        if len(seen) == 1:
            engine.assert_fact("p", 1, at=3)

    engine = start("d(X) <- a(X) where (p(X) -> true ; X =:= none). :- dynamic p/1.", on_error=repair)
    assert ends(way(engine)) == [3, 4, 5, 6]
    assert seen == [1, 2]


def test_a_change_without_time_holds_from_now_on() -> None:
    engine = start()
    assert engine.push("a", 1, at=1) == ()
    engine.assert_fact("p", 1)
    assert ends(engine.push("a", 1, at=1)) == [1]
    engine.retract_fact("p", 1, at=1)
    assert engine.push("a", 1, at=1) == ()


def test_facts_are_a_set_and_of_declared_types() -> None:
    engine = start(":- event(p(x: float)). :- knowledge p/1. d(X) <- a(X) where p(X).")
    engine.assert_fact("p", 1)
    engine.assert_fact("p", 1.0)
    assert engine.query("p(X)") == [{"X": 1.0}]
    engine.retract_fact("p", 1)
    assert engine.query("p(X)") == []


def test_closing_makes_what_waits() -> None:
    engine = start()
    engine.assert_fact("p", 1, at=9)
    engine.close()
    assert engine.query("p(X)") == [{"X": 1}]


def test_refusals() -> None:
    text = "d(X) <- a(X) where (p(X), r(X), f(X)). p(1). r(X) :- p(X)."
    engine = etalis.compile(text, register={"f/1": lambda _: True}).engine()
    engine.push("a", 1, at=5)
    with pytest.raises(EventError, match="p cannot change at 4: time has reached 5"):
        engine.assert_fact("p", 2, at=4)
    with pytest.raises(EventError, match="not a moment"):
        engine.assert_fact("p", 2, at=(6, 7))
    with pytest.raises(EventError, match="not a time"):
        engine.reload("p", [(1,)], at="soon")
    with pytest.raises(InputError, match="q/1, which is not part of the program"):
        engine.retract_fact("q", 2)
    with pytest.raises(InputError, match="f/1, which is built in or registered"):
        engine.assert_fact("f", 1, at=9)
    with pytest.raises(InputError, match="r/1, which has clauses other than facts"):
        engine.reload("r", [(1,)], at=9)
    assert ends(engine.push("a", 1, at=10)) == [10]


def test_what_cannot_be_made_any_more_is_reported() -> None:
    engine = start("d(X) <- a(X) where p(X). e <- b do assertz((p(X) :- X = 3)). p(1).")
    engine.reload("p", [(2,)], at=3)
    engine.push("b", at=1)
    assert ends(engine.push("a", 3, at=4)) == [4]
    assert "has clauses other than facts" in str(engine.errors[0])


HISTORY = """
:- set_flag(knowledge_horizon, 10).
:- set_flag(store_fired_events, on).
:- knowledge p/1 - q/1.
d(X) <- a(X) where (p(X), assertz(seen(X))).
e(X) <- b(X) do retract(seen(X)).
:- dynamic seen/1.
"""


@pytest.mark.parametrize("run", [True, False])
@pytest.mark.parametrize("stored", ["on", "off"])
def test_questions_about_the_past(run: bool, stored: str) -> None:
    """What events, conditions, actions and the host changed has its time, by generated code too (definition 15.27)."""
    engine = start(HISTORY.replace("store_fired_events, on", f"store_fired_events, {stored}"))
    engine.assert_fact("p", 9, at=4)
    rows = [("p", 1, 1), ("a", 1, 2), ("a", 2, 3), ("q", 1, 4), ("b", 1, 5), ("x", 1, 6)]
    if run:
        _ = list(engine.run(rows))
    else:
        for name, x, at in rows:
            engine.push(name, x, at=at)
    assert [[r["X"] for r in engine.query("p(X)", at=t)] for t in range(7)] == [[], [1], [1], [1], [9], [9], [9]]
    assert [len(engine.query("seen(X)", at=t)) for t in range(7)] == [0, 0, 1, 1, 1, 0, 0]
    assert engine.query("seen(X)", at=4.999999) == [{"X": 1}]
    if stored == "on":
        assert [len(engine.query("stored_event(E)", at=t)) for t in range(7)] == [0, 0, 1, 1, 1, 2, 2]
    with pytest.raises(EventError, match="time has reached 6"):
        engine.query("p(X)", at=7)
    engine.advance(to=15)
    assert engine.query("p(X)", at=5) == [{"X": 9}]
    with pytest.raises(ConditionError, match="as of 4 is not kept"):
        engine.query("p(X)", at=4)


def test_no_question_about_the_past_without_a_horizon() -> None:
    engine = start()
    engine.push("a", 1, at=3)
    with pytest.raises(ConditionError, match="is not kept"):
        engine.query("p(X)", at=2)
