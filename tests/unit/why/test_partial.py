"""What is missing now: rows of `engine.partial`, by operator, policy and level."""

from __future__ import annotations

from typing import Any

import pytest

import etalis
from etalis.why.partial import PartialMatch, PartialMatches

Stream = list[tuple[str, tuple[Any, ...], float]]


def waiting(
    text: str, stream: Stream, until: float | None = None, parts: bool = False, **options: Any
) -> PartialMatches:
    engine = etalis.compile(text).engine(parts=parts, **options)
    for name, args, at in stream:
        engine.push(name, *args, at=at)
    if until is not None:
        engine.advance(to=until)
    return engine.partial()


def only(found: PartialMatches) -> PartialMatch:
    (row,) = found
    return row


CHAIN = "f(C) <- (w(C, A) seq x(C) seq y(C, B)) within 600 where A < B."


@pytest.mark.parametrize("parts", [False, True])
def test_a_derivation_appears_once_where_it_has_come_furthest(parts: bool) -> None:
    found = waiting(CHAIN, [("w", ("c1", 5), 1), ("x", ("c1",), 2), ("w", ("c2", 5), 3)], parts=parts)
    first, second = found
    assert (first.present, first.awaited) == (("w(c1, 5)", "x(c1)"), ("y(c1, B)",))
    assert (first.share, first.since, first.until, first.open) == (0.6667, 2, 601, ("where 5 < B",))
    assert first.bindings == {"C": "c1", "A": 5}
    assert (second.present, second.awaited, second.share) == (("w(c2, 5)",), ("x(c2)", "y(c2, B)"), 0.3333)
    assert [row.parts for row in found] == ([(1, 2), (3,)] if parts else [(), ()])


def test_what_is_too_late_is_not_awaited() -> None:
    assert len(waiting(CHAIN, [("w", ("c1", 5), 1), ("x", ("c1",), 2)], until=602)) == 0


def test_rows_of_a_key_and_a_rule() -> None:
    engine = etalis.compile(CHAIN + "\ng(C) <- w(C, _) seq z(C).").engine()
    for card in ("c1", "c2", "c3"):
        engine.push("w", card, 5, at=1)
    assert engine.partial().counts == {"1": 3, "2": 3}
    assert [row.bindings["C"] for row in engine.partial("2", {"C": "c2"})] == ["c2"]
    assert (len(engine.partial(limit=2).rows), len(engine.partial(limit=2))) == (2, 6)


def test_a_deadline_is_awaited_until_it_is_blocked_or_has_passed() -> None:
    rule = "c <- a seq (not b within 5)."
    row = only(waiting(rule, [("a", (), 1)], until=4))
    assert (row.share, row.awaited, row.until, row.open) == (1, (), 6, ("not b within 5",))
    assert len(waiting(rule, [("a", (), 1), ("b", (), 3)])) == 0
    assert len(waiting(rule, [("a", (), 1)], until=6)) == 0


@pytest.mark.parametrize("policy", ["unrestricted", "recent", "chronological"])
def test_a_repetition_counts_what_there_is(policy: str) -> None:
    stream: Stream = [("a", (1,), 1), ("b", (1,), 2), ("b", (1,), 3)]
    row = only(waiting("c(X) <- a(X) seq b(X) ntimes 4.", stream, policy=policy))
    assert (row.present, row.awaited, row.share) == (("a(1)",), ("b(1) (50 %)",), 0.75)


@pytest.mark.parametrize("policy", ["unrestricted", "recent"])
def test_a_repetition_that_stands_alone(policy: str) -> None:
    found = waiting("c <- b ntimes 3 seq d.", [("b", (), 1), ("b", (), 2)], policy=policy)
    best = found.rows[0]
    assert (best.present, best.awaited, best.share) == ((), ("b (67 %)", "d"), 0.3333)


def test_alternatives_count_as_the_branch_that_has_begun() -> None:
    rule = "c(X) <- (a(X) seq b) or (d(X) seq e(X) seq f)."
    found = waiting(rule, [("a", (1,), 1), ("d", (1,), 2), ("e", (1,), 3)])
    assert [(row.present, row.awaited, row.share) for row in found] == [
        (("d(1)", "e(1)"), ("f",), 0.6667),
        (("a(1)",), ("b",), 0.5),
    ]


def test_alternatives_of_one_event_are_one_part() -> None:
    row = only(waiting("c(X) <- a(X) and (b(X) or d(X)) and e.", [("a", (1,), 1), ("d", (1,), 2)]))
    assert (row.present, row.awaited) == (("a(1)", "b(1) or d(1)"), ("e",))


def test_an_alarm_is_awaited_until_it_rings() -> None:
    row = only(waiting("exceptionAlarm(late(X), 5) <- a(X).", [("a", (7,), 1)], until=4))
    assert (row.present, row.until, row.share, row.bindings) == (("a(7)",), 6, 1, {"X": 7})


def test_rules_that_share_an_operator_have_rows_of_their_own() -> None:
    rules = "c(K) <- a(K) seq b(K).\nd(J) <- a(J) seq b(J) seq e(J)."
    found = waiting(rules, [("a", (7,), 3)])
    assert {(row.rule, *row.bindings) for row in found} == {("1", "K"), ("2", "J")}


def test_asking_changes_nothing() -> None:
    program = etalis.compile(CHAIN)
    plain, asked = program.engine(), program.engine(parts=True)
    for at, (name, args) in enumerate(
        [("w", ("c", 1)), ("x", ("c",)), ("w", ("c", 2)), ("x", ("c",)), ("y", ("c", 9))]
    ):
        assert plain.push(name, *args, at=at) == asked.push(name, *args, at=at)
        asked.partial()
    assert plain.waiting() == asked.waiting()
