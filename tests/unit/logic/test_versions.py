"""Old versions of a database: a goal as of a moment sees what was known after it, through rows, clauses and tables."""

from __future__ import annotations

import gc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from etalis.errors import ConditionError
from etalis.language.lower import load_clauses, to_logic
from etalis.language.read.parser import parse, parse_term
from etalis.logic.knowledge.facts import forget, learn
from etalis.logic.machine.fact_relation import FactRelation
from etalis.logic.solver import Solver
from helpers.examples import by_day

TEXT = """
:- dynamic p/2.
:- table path/2.
path(X, Z) :- path(X, Y), p(Y, Z).
path(X, Y) :- p(X, Y).
"""


class Timed:
    """A solver with a clock that its user turns."""

    def __init__(self, horizon: int, text: str = TEXT) -> None:
        self.now = 0
        self.solver = Solver(load_clauses(parse(text)))
        self.database = self.solver.database
        self.database.keep_versions(horizon, lambda: self.now)

    def all(self, goal: str, time: int | None = None) -> list[dict[str, Any]]:
        asked = to_logic(parse_term(goal))
        if time is None:
            return list(self.solver.solve(asked))
        with self.solver.as_of(time):
            return list(self.solver.solve(asked))

    def do(self, goal: str) -> None:
        assert next(self.solver.solve(to_logic(parse_term(goal))), None) is not None


VALUES = st.integers(0, 3)
CHANGES = st.one_of(
    st.tuples(st.just("learn"), VALUES, VALUES),
    st.tuples(st.just("forget"), VALUES, VALUES),
    st.tuples(st.just("assertz"), VALUES, VALUES),
    st.tuples(st.just("asserta"), VALUES, VALUES),
    st.tuples(st.just("retractall"), VALUES, st.just(0)),
    st.tuples(st.just("replace"), VALUES, VALUES),
)
STEPS = st.lists(st.tuples(st.integers(0, 3), CHANGES), max_size=40)


def change(timed: Timed, known: list[tuple[int, int]], what: str, x: int, y: int) -> list[tuple[int, int]]:
    """Make a change in the database, and return what is known after it."""
    row = (x, y)
    match what:
        case "learn":
            learn(timed.database, "p", row)
            return known if row in known else [*known, row]
        case "forget":
            forget(timed.database, "p", row)
            return [r for r in known if r != row]
        case "assertz" | "asserta":
            timed.do(f"{what}(p({x}, {y}))")
            return [*known, row] if what == "assertz" else [row, *known]
        case "retractall":
            timed.do(f"retractall(p({x}, _))")
            return [r for r in known if r[0] != x]
        case _:
            timed.database.replace_rows("p", 2, [row, (y, x)])
            return [row, (y, x)]


def reachable(rows: list[tuple[int, int]], x: int) -> set[int]:
    found: set[int] = set()
    waiting = [x]
    while waiting:
        step = waiting.pop()
        for target in [b for a, b in rows if a == step and b not in found]:
            found.add(target)
            waiting.append(target)
    return found


@pytest.mark.property
@by_day(2)
@given(STEPS, st.integers(1, 8))
def test_as_of_is_what_was_known_then(steps: list[tuple[int, Any]], horizon: int) -> None:
    timed = Timed(horizon)
    known: list[tuple[int, int]] = []
    versions: dict[int, list[tuple[int, int]]] = {0: known}
    for passed, (what, x, y) in steps:
        for moment in range(timed.now, timed.now + passed + 1):
            versions[moment] = known
        timed.now += passed
        known = versions[timed.now] = change(timed, known, what, x, y)
        assert [(r["X"], r["Y"]) for r in timed.all("p(X, Y)")] == known
    for moment in range(max(0, timed.now - horizon), timed.now + 1):
        rows = versions[moment]
        assert [(r["X"], r["Y"]) for r in timed.all("p(X, Y)", moment)] == rows
        assert [(r["X"], r["Y"]) for r in timed.all("clause(p(X, Y), true)", moment)] == rows
        for x in range(4):
            assert [r["Y"] for r in timed.all(f"p({x}, Y)", moment)] == [b for a, b in rows if a == x]
            assert [r["X"] for r in timed.all(f"p(X, {x})", moment)] == [a for a, b in rows if b == x]
            assert {r["Y"] for r in timed.all(f"path({x}, Y)", moment)} == reachable(rows, x)
    assert {(r["X"], r["Y"]) for r in timed.all("path(X, Y)")} == {
        (a, b) for a in range(4) for b in reachable(known, a)
    }
    if timed.now > horizon:
        with pytest.raises(ConditionError, match="is not kept"):
            timed.all("p(X, Y)", timed.now - horizon - 1)


def test_prepared_goals_follow_the_view() -> None:
    """A prepared goal, the short cut of a single fact included, sees the past inside and the present outside."""
    timed = Timed(100)
    first = timed.solver.prepare(to_logic(parse_term("p(X, Y)")), ("X",), ("Y",))
    every = timed.solver.prepare_all(to_logic(parse_term("p(X, Y)")), ("X",), ("Y",))
    timed.do("assertz(p(1, 10))")
    timed.now = 5
    timed.do("retractall(p(1, _))")
    timed.do("assertz(p(1, 20))")
    with timed.solver.as_of(4):
        assert (first(1), every(1)) == ((10,), [(10,)])
        with timed.solver.as_of(5):
            assert (first(1), every(1)) == ((20,), [(20,)])
        assert first(1) == (10,)
    assert (first(1), every(1)) == ((20,), [(20,)])


def test_a_goal_under_way_keeps_its_view() -> None:
    timed = Timed(100)
    timed.do("(assertz(p(1, 1)), assertz(p(1, 2)), assertz(p(1, 3)))")
    timed.now = 5
    with timed.solver.as_of(5):
        running = timed.solver.solve(to_logic(parse_term("p(1, Y)")))
        assert next(running)["Y"] == 1
    timed.now = 6
    timed.do("retractall(p(_, _))")
    assert [r["Y"] for r in running] == [2, 3]


def test_tables_of_the_present_are_neither_read_nor_written() -> None:
    timed = Timed(100)
    timed.do("assertz(p(1, 2))")
    timed.now = 1
    timed.do("assertz(p(2, 3))")
    assert len(timed.all("path(1, Y)")) == 2
    before = dict(timed.database.tables.answers)
    assert [r["Y"] for r in timed.all("path(1, Y)", 0)] == [2]
    assert timed.database.tables.answers == before
    assert len(timed.all("path(1, Y)")) == 2


def test_the_past_cannot_be_changed() -> None:
    timed = Timed(100)
    goals = ("assertz(p(1, 2))", "retract(p(_, _))", "retractall(p(_, _))", "dynamic(q/1)", "incCounter(c)")
    for goal in (*goals, "counter(c, _)", "nb_setval(v, 1)"):
        with pytest.raises(ConditionError, match=r"no permission to .* past"):
            timed.all(goal, 0)
    assert timed.all("p(_, _)") == []


def test_library_and_built_in_predicates_have_no_past() -> None:
    timed = Timed(100)
    assert [r["X"] for r in timed.all("(member(X, [1, 2]), X > 1)", 0)] == [2]
    assert [r["L"] for r in timed.all("append([1], [2], L)", 0)] == [(1, 2)]


def test_nothing_is_kept_without_a_horizon() -> None:
    timed = Timed(0)
    with pytest.raises(ConditionError, match="is not kept"):
        timed.all("p(_, _)", 0)
    for i in range(1000):
        timed.database.replace_rows("p", 2, [(i, i)])
    assert not timed.database.predicate("p", 2).past


@pytest.mark.parametrize("horizon", [0, 10])
def test_old_versions_go(horizon: int) -> None:
    """What is kept is what the horizon holds, whatever has passed before."""
    timed = Timed(horizon)
    for i in range(20_000):
        timed.now = i
        learn(timed.database, "p", (i, i))
        forget(timed.database, "p", (i - 5, i - 5))
        if i % 1000 == 0:
            timed.database.replace_rows("p", 2, [(j, j) for j in range(i - 4, i + 1)])
    predicate = timed.database.predicate("p", 2)
    gc.collect()
    mine = [predicate.relation, *(old.relation for _, old in predicate.past)]
    assert all(isinstance(relation, FactRelation) for relation in mine)
    assert sum(len(relation.rows) + len(relation._births) for relation in mine if relation is not None) < 200
    assert [r["X"] for r in timed.all("p(X, _)")] == list(range(19_995, 20_000))


def test_an_index_serves_the_past() -> None:
    """Asking a large old version by a bound argument costs the rows found, not the rows there are."""
    timed = Timed(100)
    timed.database.add_rows("p", 2, [(i, i) for i in range(200_000)])
    timed.now = 5
    timed.database.replace_rows("p", 2, [(0, 1)])
    goal = timed.solver.prepare(to_logic(parse_term("p(X, Y)")), ("X",), ("Y",))
    with timed.solver.as_of(4):
        assert goal(7) == (7,)
        before = timed.database.predicate("p", 2).past[0][1].relation
        assert before is not None
        assert before._indexes.keys() == {(0,)}
    assert goal(7) is None


@pytest.mark.parametrize("horizon", [0, 20, 10_000])
def test_a_fact_that_comes_and_goes_stays_quick_to_find(horizon: int) -> None:
    """A large relation is seldom compacted, so a busy key's own list is cleaned, and its old lists serve the past."""
    timed = Timed(horizon)
    timed.database.add_rows("p", 2, [(i, i) for i in range(2_000)])
    first = timed.solver.prepare(to_logic(parse_term("p(X, Y)")), ("X",), ("Y",))
    known: dict[int, int] = {}
    for step in range(1, 500):
        timed.now = step
        forget(timed.database, "p", (7, step - 1 if step > 1 else 7))
        learn(timed.database, "p", (7, step))
        known[step] = step
        assert first(7) == (step,)
    relation = timed.database.predicate("p", 2).relation
    assert relation is not None
    assert len(relation.find((0,), 7)) < 50
    for moment in range(max(1, timed.now - horizon), timed.now + 1) if horizon else ():
        with timed.solver.as_of(moment):
            assert first(7) == (known[moment],)
            assert first(8) == (8,)


def test_a_goal_under_way_outlives_the_cleaning_of_its_list() -> None:
    timed = Timed(0)
    timed.database.add_rows("p", 2, [(i, i) for i in range(1_000)])
    timed.database.add_rows("p", 2, [(-1, i) for i in range(100)])
    running = timed.solver.solve(to_logic(parse_term("p(-1, Y)")))
    assert next(running)["Y"] == 0
    timed.do("forall(between(0, 98, Y), retract(p(-1, Y)))")
    timed.do("assertz(p(-1, 100))")
    assert [r["Y"] for r in running] == list(range(1, 100))
    assert [r["Y"] for r in timed.all("p(-1, Y)")] == [99, 100]
