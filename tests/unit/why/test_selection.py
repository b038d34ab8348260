"""Who was taken with whom: what a policy did with the pairs of an operator."""

from __future__ import annotations

from typing import Any

import pytest

import etalis
from etalis.language.read.parser import parse_event_pattern
from etalis.language.syntax import EventPattern
from etalis.temporal.policy import POLICIES
from etalis.why.selection import InstanceKey, Selection, replay
from etalis.why.why_not import Withheld

pytestmark = pytest.mark.filterwarnings("ignore::etalis.ProgramWarning")
Stream = list[tuple[Any, ...]]  # name, attributes, time


def selection(text: str, stream: Stream, policy: str = "unrestricted", question: str | None = None) -> Selection:
    engine = etalis.compile(text).engine(policy=policy, justification="full")
    for name, *args, at in stream:
        engine.push(name, *args, at=at)
    return replay(engine.core, None if question is None else pattern(question))


def pattern(text: str) -> EventPattern:
    found = parse_event_pattern(text, "<question>")
    assert isinstance(found, EventPattern)
    return found


def event(name: str, *rest: Any) -> InstanceKey:
    *args, at = rest
    time = round(at * 1e6)
    return InstanceKey(name, tuple(args), time, time)


def hull(start: float, end: float) -> InstanceKey:
    return InstanceKey(None, (), round(start * 1e6), round(end * 1e6))


def shown(withheld: Withheld | None) -> tuple[str, str, list[tuple[str, float, float]]] | None:
    if withheld is None:
        return None
    by = [(each.atom, each.start / 1e6, each.end / 1e6) for each in withheld.by]
    return withheld.kind, f"{withheld.part.atom}@{withheld.part.end / 1e6:g}", by


SEQ = "c <- p seq q."


def test_chronological_consumes_both_sides() -> None:
    found = selection(SEQ, [("p", 1), ("p", 2), ("q", 3), ("q", 4), ("q", 5)], "chronological")
    assert shown(found.withheld("1", (), event("p", 2), event("q", 5))) == ("consumed", "p@2", [("c", 2, 4)])
    assert shown(found.withheld("1", (), event("p", 1), event("q", 5))) == ("consumed", "p@1", [("c", 1, 3)])
    assert found.withheld("1", (), event("p", 1), event("q", 3)) is None  # it was made


def test_recent_tells_all_that_went_before() -> None:
    found = selection(SEQ, [("p", 1), ("p", 1.5), ("p", 2), ("q", 3)], "recent")
    assert shown(found.withheld("1", (), event("p", 1), event("q", 3))) == (
        "not_chosen",
        "p@1",
        [("p", 2, 2), ("p", 1.5, 1.5)],
    )


def test_cumulative_merges_and_snoop_recent_replaces() -> None:
    stream = [("p", 1), ("p", 2), ("q", 3)]
    found = selection(SEQ, stream, "cumulative")
    assert shown(found.withheld("1", (), event("p", 2), event("q", 3))) == ("merged", "p@2", [("c", 1, 3)])
    found = selection(SEQ, stream, "snoop_recent")
    assert shown(found.withheld("1", (), event("p", 1), event("q", 3))) == ("replaced", "p@1", [("p", 2, 2)])
    assert found.withheld("1", (), event("p", 2), event("q", 3)) is None


def test_cumulative_merges_runs() -> None:
    found = selection("m <- a(X) ntimes 2 seq b.", [("a", 1, (0, 1)), ("a", 2, 1), ("a", 3, 2), ("b", 3)], "cumulative")
    withheld = found.withheld("1", (0,), event("a", 2, 1), event("a", 3, 2))
    assert shown(withheld) == ("merged", "?@2", [("?", 0, 2)])


def test_a_run_that_lost_inner_elements_is_the_one_meant() -> None:
    """The run from a(1) to a(4) holds a(3) too under `unrestricted`; under `recent` another run had that."""
    text = "m <- a(X) star_times seq b."
    engine = etalis.compile(text).engine(policy="recent", justification="full")
    for name, *args, at in [("a", 1, (-1, 1)), ("a", 2, (0, 1)), ("a", 3, 2), ("a", 4, 2), ("b", 3)]:
        engine.push(name, *args, at=at)
    parts = (InstanceKey("a", (1,), -1_000_000, 1_000_000), event("a", 3, 2), event("a", 4, 2))
    run = InstanceKey(None, (), -1_000_000, 2_000_000, parts)
    withheld = replay(engine.core).withheld("1", (), run, event("b", 3))
    assert shown(withheld) == ("not_chosen", "?@1", [("?", 0, 1)])


def test_unrestricted_withholds_nothing_and_runs_nothing() -> None:
    found = selection(SEQ, [("p", 1), ("q", 2)])
    assert found.withheld("1", (), event("p", 1), event("q", 2)) is None
    assert found._again is None


def test_a_part_taken_by_a_match_that_became_no_event_names_its_hull() -> None:
    found = selection("c <- a seq b seq d.", [("a", 1), ("b", 2), ("b", 3), ("d", 4)], "chronological")
    assert shown(found.withheld("1", (0,), event("a", 1), event("b", 3))) == ("consumed", "a@1", [("?", 1, 2)])


def test_a_candidate_that_fails_a_test_did_not_go_before() -> None:
    text = "c(X, Y) <- p(X) seq q(Y) where X =\\= 2."
    found = selection(text, [("p", 1, 1), ("p", 2, 2), ("p", 3, 3), ("q", 0, 4)], "recent")
    assert shown(found.withheld("1", (0,), event("p", 1, 1), event("q", 0, 4))) == (
        "not_chosen", "p(1)@1", [("p(3)", 3, 3)],
    )  # fmt: skip
    assert found.withheld("1", (0,), event("p", 2, 2), event("q", 0, 4)) is None  # the condition, not the policy


def test_only_the_partition_of_the_question_runs_again() -> None:
    text = "c(K, X) <- p(K, X) seq q(K)."
    stream = [("p", k, n, n) for n, k in enumerate(("a", "b", "a", "b"), 1)] + [("q", "a", 5), ("q", "b", 6)]
    found = selection(text, stream, "recent", "c(a, X)")
    assert [past.event.args for past in found.past()] == [("a", 1), ("a", 3), ("a",)]
    assert shown(found.withheld("1", (), event("p", "a", 1, 1), event("q", "a", 5))) == (
        "not_chosen", "p(a, 1)@1", [("p(a, 3)", 3, 3)],
    )  # fmt: skip


def test_only_rules_that_matter_run_again() -> None:
    text = "c <- d seq q. d <- p seq p. e <- x seq y."
    found = selection(text, [("p", 1), ("p", 2), ("x", 2), ("q", 3), ("y", 4)], "recent", "c")
    assert [past.event.name for past in found.past()] == ["p", "p", "q"]


@pytest.mark.parametrize("policy", [name for name in POLICIES if name != "unrestricted"])
def test_actions_do_not_run_again_and_raised_events_come_as_they_did(
    policy: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "r(X) <- e(X) do (write(X), event(x(X))). y(A, B) <- x(A) seq x(B)."
    found = selection(text, [("e", 1, 1), ("e", 2, 2), ("e", 3, 3)], policy)
    assert capsys.readouterr().out == "123"
    atoms = [(e.atom, e.start, e.end) for e in found.model if e.name == "y"]
    assert capsys.readouterr().out == ""
    assert ("y(1, 2)", 1_000_000, 2_000_000) in atoms


def test_the_knowledge_of_then_is_asked() -> None:
    text = ":- knowledge far/1. c(X) <- p(X) seq q where far(X)."
    stream = [("p", 1, 1), ("far", 1, 2), ("p", 2, 3), ("q", 4), ("far", 2, 5), ("q", 6)]
    found = selection(text, stream, "recent")
    by = [("c(1)", 1, 4)]
    assert shown(found.withheld("1", (0,), event("p", 1, 1), event("q", 6))) == ("consumed", "p(1)@1", by)
    assert found.withheld("1", (0,), event("p", 2, 3), event("q", 4)) is None  # far(2) was not known then


def test_rules_come_and_go_as_they_did() -> None:
    engine = etalis.compile("d <- p.").engine(policy="recent", justification="full")
    engine.push("p", at=1)
    engine.insert_rule("label: c <- p seq q.")
    for name, at in (("p", 2), ("p", 3), ("q", 4)):
        engine.push(name, at=at)
    engine.delete_rule("label")
    engine.push("q", at=5)
    found = replay(engine.core)
    assert shown(found.withheld("label", (), event("p", 2), event("q", 4))) == ("not_chosen", "p@2", [("p", 3, 3)])
    assert found.withheld("label", (), event("p", 1), event("q", 4)) is None
    assert [(e.start, e.end) for e in found.model if e.name == "c"] == [(3_000_000, 4_000_000)]
