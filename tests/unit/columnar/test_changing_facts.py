"""Facts that events change, over columns: what runs so, and what does not, and why."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any
from unittest.mock import patch

import pytest

pytest.importorskip("numba")

import numpy as np

import etalis
from etalis.columnar.conditions import lookups_at_turns
from etalis.columnar.data.events import find_types, gather
from etalis.columnar.kernels import changing_facts as k
from etalis.columnar.kernels.lists import Lists
from etalis.columnar.run import ColumnRun, run_on
from etalis.temporal.event import Event

Row = tuple[Any, ...]
EVENTS = ":- knowledge k/1 - m/1, j/2 - i/2.\n"


def stream_of(rows: list[Row]) -> list[Event]:
    return [Event.make(row[0], row[1:-1], row[-1] * 1_000_000, row[-1] * 1_000_000) for row in rows]


def random_rows(seed: int, count: int) -> list[Row]:
    rng = random.Random(seed)
    arity = {"k": 1, "m": 1, "j": 2, "i": 2, "a": 1}
    names = rng.choices("kmjia", (1, 1, 4, 2, 6), k=count)
    return [(name, *(rng.randrange(6) for _ in range(arity[name])), at // 3) for at, name in enumerate(names)]


def pushed(text: str, rows: list[Row]) -> list[Event]:
    engine = etalis.compile(text).engine(policy="unrestricted")
    return [event for row in rows for event in engine.push(*row[:-1], at=row[-1])]


def run_of(text: str, rows: list[Row]) -> ColumnRun:
    return ColumnRun(etalis.compile(text).compiled, find_types(stream_of(rows)), policy="unrestricted")


@pytest.mark.parametrize(
    "rules",
    [
        "d(X) <- a(X) where k(X).",
        "d(X, Y) <- a(X) event_multiply j(X, Y).",
        "d(X, Y) <- a(X) event_multiply j(Y, X).",
        "d(X) <- a(X) event_multiply j(_, X).",
        "d(X, Y) <- a(X) event_multiply (j(X, Z), j(Z, Y), Y \\= X).",
        "d(X, L) <- a(X) where findall(Y, j(X, Y), L).",
        "d(X, L) <- a(X) where least(X, L). least(X, L) :- j(X, L), !. least(_, 9).",
        "d(X, Y) <- a(X) event_multiply near(X, Y). near(X, Y) :- (j(X, Y) ; j(Y, X)). near(X, X) :- \\+ k(X).",
        "d(X, Y) <- a(X) where (k(X) -> Y = 1 ; j(X, Y)).",
        "j(1, 1). j(2, 2). d(X) <- a(X) where j(Y, Y). e(X) <- a(X) event_multiply (once(j(X, Y)), Y > 2).",
        "d(X, Y) <- a(X) event_multiply up(X, Y). up(X, Y) :- j(X, Y), X < Y. up(X, Y) :- j(X, Z), X < Z, up(Z, Y).",
        "d(X) <- a(X) where \\+ k(X). e(X) <- (a(X) seq a(Y)) where j(X, Y).",
    ],
)
def test_many_rows(rules: str) -> None:
    rows = random_rows(1, 600)
    run = run_of(EVENTS + rules, rows)
    assert run.components
    assert not run.at_a_time
    found = [
        event
        for part in np.array_split(np.arange(len(rows)), 3)
        for event in run.process(gather(stream_of([rows[i] for i in part]), find_types(stream_of(rows))))
    ]
    assert found == pushed(EVENTS + rules, rows)
    assert found


@pytest.mark.parametrize(
    ("rules", "reason"),
    [
        ("k(X) <- a(X) where k(X).", "rule 1: facts that it asks for, or others with it, depend on what it makes"),
        ("k(X) <- a(X) seq k(X). d(X) <- b(X) where k(X).", "rule 1: it is recursive, and changes facts"),
        ("d(X) <- (a(X) ntimes 2) where k(X).", "rule 1: a repetition asks for facts that events change"),
        (
            "k(X) <- a(X). e(X) <- b(X). d(X) <- e(X) where k(X).",
            "rule 3: rules change facts that it asks for, and make events that it reads",
        ),
        ("k(X) :- j(X, _). d(X) <- a(X) where k(X).", "events change k/1, which has more than plain facts"),
        ("k(1). k(1). d(X) <- a(X) where k(X).", "events change k/1, which has a fact twice"),
        (":- set_flag(knowledge_horizon, 5). d(X) <- a(X) where k(X).", "events change facts, and what was known"),
    ],
)
def test_what_runs_event_at_a_time(rules: str, reason: str) -> None:
    rows = [("a", 1, 0), ("k", 1, 0), ("b", 1, 1), ("j", 1, 2, 1)]
    run = run_of(EVENTS + rules, rows)
    assert not run.components
    assert reason in run.choice.describe()


def test_values_that_are_no_numbers_or_texts_run_event_at_a_time() -> None:
    program = etalis.compile(EVENTS + ":- event(k(x: term)). d(X) <- a(X) where k(X).")
    run = ColumnRun(program.compiled, {("a", 1): ("int",), ("k", 1): ("term",)})
    assert "an attribute of k/1 has no flat type" in run.choice.describe()


def test_a_batch_that_fails_changes_nothing() -> None:
    text = EVENTS + "d(X, Y) <- a(X) event_multiply j(X, Y). e(N) <- a(X) where findall(Y, j(X, Y), N)."
    rows = random_rows(2, 90)
    types = find_types(stream_of(rows))
    engine = etalis.compile(text).engine(policy="unrestricted")
    expected = pushed(text, rows)
    found: list[Event] = []
    for low in (0, 30, 60):
        part = gather(stream_of(rows[low : low + 30]), types)
        for fails in (True, False):
            run = run_on(engine, types)
            run.load()
            if fails:
                with (
                    patch.object(run, "advance_columns", side_effect=KeyboardInterrupt),
                    pytest.raises(KeyboardInterrupt),
                ):
                    list(run.process(part))
            else:
                found += run.process(part)
            run.save()
    assert found == expected


def test_more_solutions_than_are_looked_at_together() -> None:
    text = EVENTS + "d(X, Y, Z) <- a(X) event_multiply (j(X, Y), j(_, Z))."
    rows = random_rows(3, 200)
    with patch.object(lookups_at_turns, "MOST", 5):
        run = run_of(text, rows)
        types = find_types(stream_of(rows))
        found = list(run.process(gather(stream_of(rows), types)))
    assert found == pushed(text, rows)


def test_known_facts() -> None:
    """What the kernels find is what a set tells that remembers the order."""
    for seed in range(200):
        rng = random.Random(seed)
        facts, groups, changes, asked = rng.randrange(1, 6), 3, rng.randrange(12), rng.randrange(8)
        group = np.array([rng.randrange(groups) for _ in range(facts)])
        turns = sorted(rng.randrange(10) for _ in range(changes))
        made = [(t, rng.randrange(facts), rng.random() < 0.6) for t in turns]
        turn = np.array(sorted(rng.randrange(10) for _ in range(asked)), np.int64)
        of = np.array([rng.randrange(-1, groups) for _ in range(asked)], np.int64)
        columns = zip(*made, strict=True) if made else ((), (), ())
        given = k.FactChanges(*(np.array(c, kind) for c, kind in zip(columns, (np.int64, np.int64, bool), strict=True)))

        counts = np.empty(asked, np.int64)
        k.count_known(given, turn, of, *nothing(group, groups), counts)
        expected = [[f for f in known_at(made, t) if group[f] == g] for t, g in zip(turn, of, strict=True)]
        assert counts.tolist() == list(map(len, expected))
        found = np.empty(int(counts.sum()), np.int64)
        k.list_known(given, turn, of, *nothing(group, groups), found)
        assert found.tolist() == [f for several in expected for f in several]
        known, since = np.zeros(facts, bool), np.zeros(facts, np.int64)
        k.settle(given, known, since)
        assert sorted(np.flatnonzero(known), key=lambda f: since[f]) == known_at(made, 10)


def nothing(group: Any, groups: int) -> tuple[k.KnownFacts, Lists]:
    known = k.KnownFacts(np.zeros(len(group), bool), group, np.zeros(groups, np.int64))
    return known, Lists(np.full(2 * groups, -1), np.empty(len(group), np.int64), np.empty(len(group), np.int64))


def known_at(changes: list[tuple[int, int, bool]], turn: int) -> list[int]:
    known: dict[int, None] = {}
    for at, fact, is_known in changes:
        if at <= turn:
            if is_known:
                known.setdefault(fact)
            else:
                known.pop(fact, None)
    return list(known)


def test_matches_are_told_once() -> None:
    text = EVENTS + "d(X) <- a(X) event_multiply j(X, _)."
    rows: list[Row] = [("j", 1, 1, 0), ("j", 1, 2, 0), ("a", 1, 1)]
    found = list(run_of(text, rows).process(gather(stream_of(rows), find_types(stream_of(rows)))))
    assert Counter(map(str, found)) == {"d(1) [1, 1]": 1}
