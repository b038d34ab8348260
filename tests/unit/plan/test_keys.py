"""Partition analysis: which rules have keys and which, by hand; and every case, run in parts, gives its own result."""

from __future__ import annotations

import pytest

import etalis
from etalis.data.values import Struct
from etalis.plan.keys import Partitioning, find_partitioning
from etalis.plan.rules import plan_rules
from etalis.temporal.event import Event
from helpers.cases import Case, all_cases


def partitioning(program: etalis.Program) -> Partitioning:
    return find_partitioning(plan_rules(program.compiled.rules, program.compiled.settings), program.compiled.tree)


def analyse(text: str) -> Partitioning:
    return partitioning(etalis.compile(text))


def keys(text: str) -> list[list[dict[str, int]]]:
    """Return the keys of each group, positions from 1 by name."""
    return [
        [{name: i + 1 for (name, _), i in sorted(key.positions.items())} for key in group.keys]
        for group in analyse(text).groups
    ]


KEYED = {
    "a join": ("d <- a(X) seq b(X).", [{"a": 1, "b": 1}]),
    "positions differ": ("d <- a(Y, X) seq b(X).", [{"a": 2, "b": 1}]),
    "two keys": ("d(X, Y) <- a(X, Y) seq b(X, Y).", [{"a": 1, "b": 1, "d": 1}, {"a": 2, "b": 2, "d": 2}]),
    "one event alone": ("d <- a(X, Y).", [{"a": 1}, {"a": 2}]),
    "a constant throughout": ("d(Y) <- a(1, X) seq a(1, Y) seq b(1).", [{"a": 1, "b": 1}]),
    "an absence that joins": ("d <- (a(X) seq b(X)) cnot c(X, _).", [{"a": 1, "b": 1, "c": 1}]),
    "an absence ever": ("d <- a(X) fnot c(X).", [{"a": 1, "c": 1}]),
    "an absence by deadline": ("d <- a(X) seq (not c(X) within 5).", [{"a": 1, "c": 1}]),
    "a repetition with one value": ("d(X) <- a(X) ntimes 3.", [{"a": 1, "d": 1}]),
    "a repetition after an event": ("d <- a(X) seq b(X) ntimes 3.", [{"a": 1, "b": 1}]),
    "a sliding aggregate by group": ("d(X, N) <- aggregate(count, a(X, _), N) within 5.", [{"a": 1, "d": 1}]),
    "the last elements by group": ("d(X, N) <- aggregate(sum(Y), a(X, Y), N) last 3.", [{"a": 1, "d": 1}]),
    "an aggregate after an opener": ("d(N) <- a(X) seq aggregate(count, b(X), N).", [{"a": 1, "b": 1}]),
    "an alarm": ("exceptionAlarm(late(X), 5) <- a(X).", [{"a": 1, "late": 1}]),
    "alternatives under one variable": ("d <- (a(X) or b(X)) seq c(X).", [{"a": 1, "b": 1, "c": 1}]),
    "through a head": ("d(Y, X) <- a(X) seq b(X, Y). e <- d(_, X) seq c(X).", [{"a": 1, "b": 1, "c": 1, "d": 2}]),
    "recursion": ("d(X, Y) <- a(X, Y). d(X, Z) <- d(X, Y) seq a(X, Z).", [{"a": 1, "d": 1}]),
    "several rules of one head": ("d(X) <- a(X) seq b(X). d(Y) <- c(Y).", [{"a": 1, "b": 1, "c": 1, "d": 1}]),
}


@pytest.mark.parametrize(("text", "expected"), KEYED.values(), ids=KEYED)
def test_keyed(text: str, expected: list[dict[str, int]]) -> None:
    assert keys(text) == [expected]


TOGETHER = {
    "no attribute": ("d <- a seq b.", "rule 1: a/0 has no attribute that could be a key"),
    "nothing in common": ("d <- a(X) seq b(Y).", "rule 1: b/1 is not joined by X"),
    "one event twice": ("d <- a(X) seq a(Y).", "rule 1: attribute 1 of a/1 is not one variable or constant throughout"),
    "two constants": ("d <- a(1) seq b(1.0).", "rule 1: b/1 is not joined by attribute 1 of a/1"),
    "an absence of all": ("d <- (a(X) seq b(X)) cnot c(_).", "rule 1: c/1 is not joined by X"),
    "a counted variable": ("d <- b(X) ntimes 3.", "rule 1: a repetition counts events of all values of X"),
    "an aggregate of all": ("d(N) <- aggregate(count, a(X), N).", "rule 1: an aggregate is not grouped by X"),
    "an aggregated key": ("d(S) <- aggregate(sum(X), a(X), S).", "rule 1: an aggregate is not grouped by X"),
    "a changing key": (
        "d(X, Y) <- a(X, Y). d(X, Z) <- d(X, Y) seq a(Y, Z).",
        "rule 2: d/2, partitioned by attribute 1, is not joined by Y",
    ),
    "a head that loses the key": (
        "d(Y) <- a(X, Y) seq b(X). e <- d(Y) seq a(_, Y).",
        "rule 1: its head d/1, which other rules read, does not carry X",
    ),
    "two rules, one head without key": (
        "d <- a(X) seq b(X). d <- b(X) seq a(X).",
        "rule 1: its head d/0, which several rules derive, does not carry X",
    ),
}


@pytest.mark.parametrize(("text", "reason"), TOGETHER.values(), ids=TOGETHER)
def test_not_keyed(text: str, reason: str) -> None:
    found = analyse(text)
    assert not any(group.keys for group in found.groups)
    assert not found.obstacles
    assert reason in map(str, found.reasons)


WHOLE = {
    "isolation": ("d <- iso(a(X) seq b(X)).", "rule 1: iso looks at events of every kind, whatever their attributes"),
    "a time point": ("d <- a(X) seq 7.", "rule 1: a time point happens once, for all events together"),
    "an effect in a condition": ("d <- a(X) where assertz(s(X)).", "assertz/1 in a condition has a side effect"),
    "an effect in an action": ("d <- a(X) do write(X).", "write/1 in an action has a side effect"),
    "an effect in a clause": (
        "d <- a(X) where p(X). p(X) :- \\+ s(X), assertz(s(X)). :- dynamic s/1.",
        "assertz/1 in a clause has a side effect",
    ),
    "a goal known at run time": (
        "d <- a(X) where call(X).",
        "call/1 of a goal that is not written down in a condition",
    ),
    "facts that arrive": (
        ":- knowledge p/1 - q/1. d(X) <- a(X) where p(X).",
        "q/1 changes facts that conditions see",
    ),
    "a goal with added arguments": ("d <- a(X) where maplist(assertz, X).", "maplist/2 of a goal"),
}


@pytest.mark.parametrize(("text", "reason"), WHOLE.values(), ids=WHOLE)
def test_all_together(text: str, reason: str) -> None:
    found = analyse(text)
    assert any(reason in str(obstacle) for obstacle in found.obstacles)


def test_groups_have_their_own_keys() -> None:
    found = analyse("d <- a(X) seq b(X). e <- f seq g. h(Y) <- i(_, Y) seq j(Y).")
    assert [bool(group.keys) for group in found.groups] == [True, False, True]
    assert found.group_of(("f", 0)) == found.groups[1]
    assert found.group_of(("nothing", 0)) is None


def test_alternatives_of_a_rule_are_apart() -> None:
    assert keys("d <- a(X) or b(_, Y) seq c(Y).") == [[{"a": 1}], [{"b": 2, "c": 1}]]


def test_a_head_without_key_is_loose() -> None:
    (group,) = analyse("d <- a(X) seq b(X).").groups
    assert [key.loose for key in group.keys] == [frozenset({("d", 0)})]


def test_many_chained_rules() -> None:
    text = "".join(f"d{i + 1}(X, Y) <- d{i}(X, Y).\n" for i in range(3_000))
    (group,) = analyse(text).groups
    assert len(group.keys) == 2


def is_plain(case: Case) -> bool:
    is_bounded = "set_flag(max_ahead" in case.program  # by the times of all parts, before rows are parted
    return not case.errors and case.is_plain and case.is_closed and not is_bounded


def part_of(found: Partitioning, event: Event) -> tuple[object, ...]:
    """Return the part that an event belongs to; a correction, `rev(Atom)`, to that of its event."""
    atom = event.args[0] if event.name == "rev" else event
    name, args = (atom.name, atom.args) if isinstance(atom, Event | Struct) else (atom, ())
    group = None if found.obstacles else found.group_of((name, len(args)))
    return () if group is None else tuple(args[key.positions[(name, len(args))]] for key in group.keys)


CASES = [case for case in all_cases() if is_plain(case)]


@pytest.mark.parametrize("topic", sorted({case.id.split("/")[0] for case in CASES}))
def test_parts_of_cases(topic: str) -> None:
    """Every value of the key in an engine of its own, equal loose events united, is the whole."""
    for case in CASES:
        if case.id.split("/")[0] == topic:
            check_parts(case)


def check_parts(case: Case) -> None:
    program = etalis.compile(case.program, read=dict(case.files).get, **dict(case.options))
    found = partitioning(program)
    loose = {kind for group in found.groups for key in group.keys for kind in key.loose}
    events = [step for step in case.steps if isinstance(step, Event)]
    parts = dict.fromkeys(part_of(found, event) for event in events)
    for policy in case.policies if len(parts) > 1 else ():
        results: list[Event] = []
        for part in parts:
            engine = program.engine(policy=policy)
            results += engine.run([e for e in events if part_of(found, e) == part])
            results += engine.close()
        merged = {e for e in results if (e.name, len(e.args)) in loose}
        kept = [*merged, *(e for e in results if e not in merged)]
        assert sorted(map(repr, kept)) == sorted(map(repr, case.expect or ())), (case.id, policy, found)


def test_many_cases_have_parts() -> None:
    """The test above is about something."""
    programs = [etalis.compile(c.program, read=dict(c.files).get, **dict(c.options)) for c in CASES[::5]]
    assert sum(any(group.keys for group in partitioning(p).groups) for p in programs) > len(programs) / 8
