"""Alarms that are equal and for one moment wait as one, and nothing is lost by it."""

from __future__ import annotations

import etalis
from etalis import Engine

CLOSING = "exceptionAlarmAbsoluteDatetime(closed(K), Until) <- sale(K, Until)."


def engine_of(text: str = CLOSING) -> Engine:
    return etalis.compile(text).engine()


def waiting(engine: Engine) -> int:
    return sum(row.instances for row in engine.state() if row.operator == "alarm")


def closed(engine: Engine) -> list[tuple[object, object]]:
    return [(event.args, event.end) for event in engine.close()]


def test_equal_alarms_wait_as_one() -> None:
    engine = engine_of()
    for at in range(5):
        engine.push("sale", "north", 10, at=at)
    engine.push("sale", "south", 10, at=5)
    engine.push("sale", "north", 11, at=6)
    assert waiting(engine) == 3
    assert closed(engine) == [(("north",), 10), (("south",), 10), (("north",), 11)]


def test_an_integer_and_a_float_are_two_values() -> None:
    engine = engine_of()
    for key in (1, 1.0, 1):
        engine.push("sale", key, 10, at=1)
    assert waiting(engine) == 2


def test_alarms_of_two_rules_wait_apart() -> None:
    engine = engine_of(CLOSING + " exceptionAlarmAbsoluteDatetime(closed(K), Until) <- back(K, Until).")
    for name in ("back", "sale", "back", "sale"):
        engine.push(name, "north", 10, at=1)
    assert waiting(engine) == 2
    assert closed(engine) == [(("north",), 10)]


def test_one_that_has_rung_is_set_again() -> None:
    engine = engine_of("exceptionAlarm(closed(K), Wait) <- sale(K, Wait).")
    found = [event.end for at in (1, 1, 5, 5) for event in engine.push("sale", "north", 2, at=at)]
    assert [*found, *(event.end for event in engine.close())] == [3, 7]


def test_one_that_was_dropped_is_set_again() -> None:
    engine = engine_of()
    engine.push("sale", "north", 10, at=1)
    engine.reset()
    assert waiting(engine) == 0
    engine.push("sale", "north", 10, at=2)
    assert closed(engine) == [(("north",), 10)]


def test_one_of_a_rule_that_went_is_set_again() -> None:
    engine = engine_of("closing rule: " + CLOSING)
    engine.push("sale", "north", 10, at=1)
    engine.delete_rule("closing")
    engine.insert_rule("closing rule: " + CLOSING)
    engine.push("sale", "north", 10, at=2)
    assert closed(engine) == [(("north",), 10)]


def test_one_that_is_restored_rings_once() -> None:
    engine = engine_of()
    engine.push("sale", "north", 10, at=1)
    restored = etalis.compile(CLOSING).restore(engine.snapshot())
    restored.push("sale", "north", 10, at=2)
    assert closed(restored) == [(("north",), 10)]


def test_one_that_is_taken_back_leaves_its_like() -> None:
    engine = engine_of(":- set_flag(revision_flag, on). :- set_flag(revision_window, 100). " + CLOSING)
    engine.push("sale", "north", 10, at=1)
    engine.push("sale", "north", 10, at=2)
    engine.retract("sale", "north", 10, at=1)
    assert closed(engine) == [(("north",), 10)]
