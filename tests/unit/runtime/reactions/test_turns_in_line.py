"""Reactions whose turn is written where their match is made: each door does what the general way does."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

import etalis
from etalis.runtime.reactions.transaction import ReactionTurn
from etalis.temporal.event import Event

RULES = """:- set_flag(event_consumption_policy, chronological).
:- state done/2 key 1, seen/0, row/3 key 2.
d(Id, X, Y) <- a(Id, X) seq b(Id, Y).
all(Id) <- told(Id).
"""
MATCHES = {"pattern": "a(Id, X) seq b(Id, Y)", "event": "d(Id, X, Y)", "last": "b(Id, Y)"}
ACTIONS = [
    "ins(done(Id, Y))", "ins(seen)", "ins(row(Id, f(Y), Y))", "ins(row(Id, Y, 1.0))",
    "ins(done(Id, Y)) seq raise(told(Id))", "ins(done(Id, Y)) or raise(told(Id))",
    "(done(Id, V) seq V > 1 seq W is V - 1 seq set(done(Id, W))) or (ins(row(Id, 1, 1)) seq raise(told(Id)))",
    "(row(_, _, V) seq V > 1 seq raise(told(V))) or ins(row(Id, Y, Y))",
    "((done(Id, V) seq V > 1) or skip) seq set(done(Id, Y))",
    "((done(Id, 2) seq seen) or row(Id, _, _) or ins(row(Id, 2, Y))) seq (seen or ins(seen)) seq raise(told(Id))",
    "(done(Id, _) -> del(done(Id, _)) ; ins(done(Id, Y))) seq raise(told(Id), after(2))",
]  # fmt: skip


def stream(seed: int) -> list[tuple[Any, ...]]:
    random = Random(seed)
    return [(random.choice("abbx"), random.randrange(4), random.choice([1, 2, 2.0, 0.5]), at) for at in range(80)]


def outcome(text: str, door: str, rows: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    told: list[str] = []
    engine = etalis.compile(text).engine(on_error=lambda error: told.append(str(error)))
    if door == "push":
        found = [event for name, key, value, at in rows for event in engine.push(name, key, value, at=at)]
    else:
        events = [Event.make(name, (key, value), at * 10**6, at * 10**6) for name, key, value, at in rows]
        found = list(engine.run(rows if door == "run" else events))
    found += engine.close()
    facts = [engine.query(goal) for goal in ("done(I, Y)", "seen", "row(I, X, Y)")]
    return [str(event) for event in found], facts, told


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("match", MATCHES)
def test_every_door_does_what_the_general_way_does(match: str, action: str) -> None:
    text = f"{RULES}one rule: on {MATCHES[match]} do {action}.\n"
    for seed in range(3):
        rows = stream(seed)
        general = outcome(text, "events", rows)
        assert general[0]
        assert outcome(text, "run", rows) == general
        assert outcome(text, "push", rows) == general


def test_two_reactions_to_one_match_come_in_their_order() -> None:
    text = f"{RULES}one rule: on d(I, _, Y) do ins(done(I, Y)).\n"
    text += "two rule: on a(I, _) seq b(I, _) do done(I, Z) seq raise(told(Z)).\n"
    rows = stream(7)
    assert outcome(text, "run", rows) == outcome(text, "events", rows) == outcome(text, "push", rows)


def test_the_second_of_two_ways_is_not_searched_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def search(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(ReactionTurn, "act", search)
    program = etalis.compile("""
        :- state free/2 key 1.
        free(c1, 1).
        on book(C) do (free(C, N) seq N > 0 seq M is N - 1 seq set(free(C, M)) seq raise(booked(C))) or raise(full(C)).
        told(X) <- booked(X).
        refused(X) <- full(X).
    """)
    found = program.engine().run([("book", "c1", 1), ("book", "c1", 2), ("book", "c2", 3)])
    assert [str(event) for event in found] == ["told(c1) [1, 1]", "refused(c1) [2, 2]", "refused(c2) [3, 3]"]
