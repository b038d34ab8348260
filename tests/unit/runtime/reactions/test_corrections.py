"""Reactions where events are corrected, as hosts meet them (definition 24.50)."""

from __future__ import annotations

import pytest

import etalis
from etalis.testing.recorded_effects import RecordedEffects

REVISION = ":- set_flag(revision_flag, on). :- set_flag(revision_window, 1000).\n"
REMINDERS = (
    REVISION
    + """
:- state reminded/1.
remind rule: on order(I) seq (not reminder(I) within 5) do ins(reminded(I)) seq effect(mail(I)) seq raise(reminder(I))
  undo del(reminded(I)).
"""
)


def signed(events: tuple[etalis.Event, ...]) -> list[str]:
    return [f"{'+' if event.sign > 0 else '-'}{event.name}" for event in events]


@pytest.mark.parametrize("restored", [False, True])
def test_what_is_raised_where_it_did_not_come_does_not_undo_itself(restored: bool) -> None:
    sink = RecordedEffects()
    program = etalis.compile(REMINDERS)
    engine = program.engine(effects=sink)
    engine.push("order", 1, at=0)
    engine.push("order", 2, at=7)
    assert sink.lines == ["mail(1)"]
    if restored:
        engine = program.restore(engine.snapshot(), effects=sink)
    engine.retract("order", 2, at=7)
    assert sink.lines == ["mail(1)"]
    assert engine.query("reminded(I)") == [{"I": 1}]
    engine.retract("order", 1, at=0)
    assert sink.lines == ["mail(1)", "-mail(1)"]
    assert engine.query("reminded(I)") == []
    assert engine.transactions() == ()


def test_equal_matches_are_undone_one_by_one() -> None:
    sink = RecordedEffects()
    program = etalis.compile(
        REVISION
        + ":- state n/1. n(0). r rule: on a do n(X) seq Y is X + 1 seq del(n(X)) seq ins(n(Y)) seq effect(e(Y))"
        " undo n(Now) seq Then is Now - 1 seq del(n(Now)) seq ins(n(Then))."
    )
    engine = program.engine(effects=sink)
    for _ in range(3):
        engine.push("a", at=1)
    assert engine.query("n(X)") == [{"X": 3}]
    engine.retract("a", at=1)
    assert engine.query("n(X)") == [{"X": 2}]
    engine.push("a", at=1)
    assert engine.query("n(X)") == [{"X": 3}]
    assert sink.lines == ["e(1)", "e(2)", "e(3)", "-e(3)", "e(3)"]


def test_what_cannot_be_undone_is_stuck() -> None:
    program = etalis.compile(REVISION + ":- state p/1. r rule: on a(X) do ins(p(X)) undo q(X). q(2).")
    engine = program.engine()
    engine.push("a", 1, at=1)
    engine.push("a", 2, at=2)
    engine.retract("a", 1, at=1)
    engine.retract("a", 2, at=2)
    assert engine.query("p(X)") == [{"X": 1}, {"X": 2}]
    assert [error.code for error in engine.errors] == ["E515"]
    (stuck,) = engine.transactions()
    assert (stuck.label, stuck.cause.bindings, stuck.state) == ("r", (1,), "stuck")
    engine.settle(stuck.id, "undone")
    assert engine.transactions() == ()


def test_a_late_event_is_reacted_to_now() -> None:
    text = ":- set_flag(out_of_order, on). :- set_flag(reporting, on_arrival). :- set_flag(ooo_window, 10).\n"
    program = etalis.compile(text + "print_trigger(_). on a seq b do raise(c) undo skip. d <- b seq c.")
    engine = program.engine()
    assert signed(engine.push("b", at=5)) == []
    found = engine.push("a", at=3)
    assert [(event.name, event.start, event.end) for event in found] == [("c", 5, 5)]
    engine.push("b", at=9)
    found = engine.push("a", at=8)
    assert [(event.name, event.start, event.end) for event in found] == [("c", 9, 9), ("d", 5, 9)]


def test_what_was_done_is_remembered_as_long_as_it_may_be_corrected() -> None:
    program = etalis.compile(
        REVISION.replace("1000", "10") + ":- state p/1. r rule: on a(X) do ins(p(X)) undo del(p(X))."
    )
    engine = program.engine()
    for at in range(9000):
        engine.push("a", at, at=at)
    assert len(engine.core.ledger.all()) < 8000  # it lets go in blocks
    assert len(engine.query("p(X)")) == 9000
