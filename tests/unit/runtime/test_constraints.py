"""Constraints in an engine: how long it remembers, what it takes back, what may change while it runs."""

from __future__ import annotations

import random

import pytest

import etalis
from etalis.errors import ProgramError
from etalis.temporal.event import Event, Retraction

pytestmark = pytest.mark.fast

AROUND = "constraint c: a(X) requires b(X) within 10."
ROUNDS = 1500


def late_requirements() -> list[tuple[str, int, int]]:
    """Return rows in which what is required comes as early as it may."""
    rows = [("b", i, i) for i in range(ROUNDS)] + [("a", i, i + 10) for i in range(ROUNDS)]
    return sorted(rows, key=lambda row: row[-1])


@pytest.mark.parametrize("required", ["b(X)", "(b(Y) where Y = X)"])
def test_what_came_before_is_remembered_until_nothing_can_ask_for_it(required: str) -> None:
    engine = etalis.compile(f"constraint c: a(X) requires {required} within 10.").engine()
    assert [*engine.run(late_requirements()), *engine.close()] == []


def test_what_is_over_is_forgotten() -> None:
    engine = etalis.compile(AROUND).engine()
    list(engine.run(late_requirements()))
    small = len(engine.snapshot())
    list(engine.run([(name, value, at + 10 * ROUNDS) for name, value, at in late_requirements()]))
    assert len(engine.snapshot()) < 1.2 * small


def test_next_finds_its_candidates_at_once() -> None:
    program = etalis.compile(":- event(o(x: int)). constraint c: a(X) requires b(X) next.")
    rng, rows = random.Random(1), []
    for i in range(0, 4 * ROUNDS, 2):
        rows += [("a", i, i), (rng.choice("bbo"), i, i + 1)]
    found = [*program.engine().run(rows)]
    wrong = [(i, i + 1) for name, i, _ in rows if name == "o"]
    assert [(event.start, event.end) for event in found] == wrong


def test_a_violation_is_taken_back() -> None:
    flags = {"out_of_order": "on", "ooo_window": 10, "reporting": "on_arrival"}
    engine = etalis.compile("constraint c: a(X) requires b(X) before within 5.", **flags).engine()
    (violation,) = engine.push("a", 1, at=5)
    (change,) = engine.push("b", 1, at=3)
    assert isinstance(violation, Event)
    assert isinstance(change, Retraction)
    assert change.reported == violation
    assert engine.close() == ()


def test_next_is_corrected() -> None:
    flags = {"out_of_order": "on", "ooo_window": 10, "reporting": "on_arrival"}
    engine = etalis.compile("constraint c: a(X) requires b(X) next.", **flags).engine()
    assert list(engine.push("a", 1, at=1)) == []
    assert [str(change) for change in engine.push("a", 2, at=5)] == ["violated(c, 1) [1, 5]"]
    (change,) = engine.push("b", 1, at=3)
    assert isinstance(change, Retraction)


def test_a_constraint_goes_by_its_label() -> None:
    program = etalis.compile("constraint c: a requires b within 5. constraint n: a requires b next. d <- a.")
    engine = program.engine()
    engine.push("a", at=1)
    assert engine.delete_rule("c") == 1
    assert engine.delete_rule("n") == 2
    engine = program.restore(engine.snapshot())
    assert [event.name for event in [*engine.push("a", at=2), *engine.close()]] == ["d"]


def test_a_constraint_is_not_changed() -> None:
    engine = etalis.compile(AROUND).engine()
    for change in (
        lambda: engine.set_property("c", "policy", "recent"),
        lambda: engine.delete_property("c", "policy"),
        lambda: engine.insert_rule("constraint d: never a(X)."),
    ):
        with pytest.raises(ProgramError) as refused:
            change()
        assert refused.value.problems[0].code in ("E292", "E293")
    engine.push("a", 1, at=1)
    assert [str(event) for event in engine.close()] == ["violated(c, 1) [1, 11]"]


def test_a_rule_that_is_inserted_may_close_no_circle() -> None:
    engine = etalis.compile("constraint c: a(X) requires d(X) within 10.").engine()
    with pytest.raises(ProgramError, match="its own violation"):
        engine.insert_rule("d(X) <- violated(c, X) and b(X)")


def test_a_rule_that_is_inserted_waits_for_violations() -> None:
    engine = etalis.compile("constraint c: a requires b within 5.").engine()
    engine.insert_rule("calm <- e seq (not violated(c) within 6)")
    found = [*engine.run([("e", 1), ("a", 2), ("e", 10)]), *engine.close()]
    assert [str(event) for event in found] == ["violated(c) [2, 7]", "calm [10, 16]"]


def test_what_holds_is_not_reported_as_silent() -> None:
    engine = etalis.compile(AROUND + " d <- z.").engine()
    engine.push("b", 1, at=1)
    assert [silent.rules for silent in engine.report().silent] == [("2",)]


def test_a_violation_is_justified_by_its_constraint() -> None:
    engine = etalis.compile(AROUND).engine(justification="full")
    engine.push("b", 2, at=-3)
    engine.push("a", 1, at=0)
    (violation,) = engine.close()
    assert str(engine.justify(violation)).splitlines() == [
        "violated(c, 1) [0, 10]   by rule c: constraint c: a(X) requires b(X) within 10.",
        "├─ a(1) [0, 0]   input 2",
        "└─ no b(1) from -10 on, up to 10",
    ]


def test_what_fulfils_it_is_named() -> None:
    engine = etalis.compile(AROUND).engine(justification="full")
    engine.push("b", 1, at=-3)
    engine.push("a", 1, at=0)
    engine.close()
    answer = str(engine.why_not("violated(c, 1)"))
    assert "constraint c: a(X) requires b(X) within 10." in answer
    assert "b(1)" in answer
