"""Explanations of a run that is made anew, and all derivations of one event."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import etalis
from etalis.why import justification as j
from etalis.why.asking.derivations import CHANGED

pytestmark = pytest.mark.filterwarnings("ignore::etalis.errors.ProgramWarning")


def told(text: str, rows: list[Any], question: str, **options: Any) -> list[tuple[str, tuple[int, ...]]]:
    """Return rule and inputs of every derivation."""
    found = etalis.compile(text).justify(rows, question, all=True, **options)
    return [(one.root.rule, inputs(one)) for one in found if isinstance(one.root, j.Derived)]


def inputs(found: j.Justification) -> tuple[int, ...]:
    return tuple(sorted(node.number for node in j.nodes(found.root) if isinstance(node, j.Received)))


def test_a_run_is_made_anew_of_rows_of_columns_and_of_a_file(tmp_path: Path) -> None:
    program = etalis.compile("c <- a seq b.")
    expected = "c [1, 2]   by rule 1: c <- a seq b.\n├─ a [1, 1]   input 1\n└─ b [2, 2]   input 2"
    (tmp_path / "e.jsonl").write_text('{"event": "a", "at": 1}\n{"event": "b", "at": 2}\n')
    for events in ([("a", 1), ("b", 2)], {"event": ["a", "b"], "at": [1, 2]}, tmp_path / "e.jsonl"):
        assert str(program.justify(events, "c")) == expected


def test_an_absence_at_the_end_of_the_rows_is_told() -> None:
    found = etalis.compile("c <- a seq (not b within 5).").justify([("a", 1)], "c", at=6)
    assert (found.root.start, found.root.end) == (1_000_000, 6_000_000)


def test_derivations_come_by_arrival_from_every_rule() -> None:
    rows = [("a", 1), ("a", 1), ("x", 1), ("b", 2), ("b", 2)]
    text = "c <- a seq b. c <- x seq b."
    assert told(text, rows, "c", policy="unrestricted") == [
        ("1", (1, 4)), ("1", (2, 4)), ("2", (3, 4)), ("1", (1, 5)), ("1", (2, 5)), ("2", (3, 5)),
    ]  # fmt: skip
    assert told(text, rows, "c", policy="unrestricted", limit=2) == [("1", (1, 4)), ("1", (2, 4))]
    assert told(text, rows, "c", policy="chronological") == [("1", (1, 4)), ("2", (3, 4)), ("1", (2, 5))]


def test_an_event_that_is_derived_twice_is_one_part() -> None:
    assert told("m <- a. m <- b. c <- m seq d.", [("a", 1), ("b", 1), ("d", 2)], "c") == [("3", (1, 3))]


def test_two_ways_through_a_graph() -> None:
    text = "r(X,Y) <- e(X,Y). r(X,Z) <- r(X,Y) and e(Y,Z)."
    rows = [("e", 1, 2, 1), ("e", 2, 4, 1), ("e", 1, 3, 1), ("e", 3, 4, 1)]
    assert told(text, rows, "r(1, 4)") == [("2", (1, 2)), ("2", (3, 4))]


def test_raised_events_come_as_they_came_and_no_action_runs_again() -> None:
    calls: list[int] = []
    text = "r <- e do (note(1), event(x(1))). y(Z) <- x(Z) seq f. y(Z) <- x(Z) and f."
    program = etalis.compile(text, register={"note/1": lambda n: calls.append(n) or True})
    found = list(program.justify([("e", 1), ("f", 2)], "y(1)", all=True))
    assert [one.root.rule for one in found if isinstance(one.root, j.Derived)] == ["2", "3"]
    assert [inputs(one) for one in found] == [(1, 2), (1, 2)]
    assert calls == [1]


def test_conditions_see_the_knowledge_of_their_time() -> None:
    text = ":- knowledge l/1. c <- a seq b where l(1). c <- a seq b where l(2). c <- a seq b where l(3)."
    rows = [("l", 1, 0), ("a", 1), ("l", 2, 1.5), ("b", 2), ("l", 3, 3)]
    assert [rule for rule, _ in told(text, rows, "c")] == ["1", "2"]


def test_alarms_that_ring_together_are_derivations_of_one_event() -> None:
    rows = [("a", 1), ("b", 2)]
    assert told("exceptionAlarm(late, 5) <- a. exceptionAlarm(late, 4) <- b.", rows, "late") == [
        ("1", (1,)), ("2", (2,)),
    ]  # fmt: skip


def test_late_events() -> None:
    text = ":- set_flag(out_of_order, on). :- set_flag(ooo_window, 10). c <- a seq b. c <- x seq b."
    assert told(text, [("a", 1), ("b", 3), ("x", 1)], "c") == [("1", (1, 2)), ("2", (2, 3))]


def test_where_rules_have_changed_the_first_alone_is_told() -> None:
    engine = etalis.compile("c <- a.").engine(justification="full")
    engine.push("a", at=1)
    engine.insert_rule("c <- a where true.")
    (only,) = engine.justify("c", all=True)
    assert only.notes == (CHANGED,)


def test_asking_for_all_changes_nothing() -> None:
    program = etalis.compile("c <- a seq b.")
    asked, other = program.engine(justification="full"), program.engine()
    for engine in (asked, other):
        engine.push("a", at=1)
        engine.push("b", at=2)
    assert len(list(asked.justify("c", all=True))) == 1
    assert asked.push("b", at=3) == other.push("b", at=3)


@pytest.mark.parametrize("level", ["off", "ids"])
def test_nothing_is_told_where_nothing_is_kept(level: str) -> None:
    engine = etalis.compile("c <- a.").engine(justification=level)
    (event,) = engine.push("a", at=1)
    with pytest.raises(etalis.EventError, match="E340"):
        engine.justify(event, all=True)
