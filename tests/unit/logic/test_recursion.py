"""Predicates that call themselves, in generated code: what they find while the knowledge changes, what they decline."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

import etalis
from etalis.language.lower import load_clauses, to_logic
from etalis.language.read.parser import parse, parse_term
from etalis.logic.knowledge.facts import forget, learn
from etalis.logic.machine.machine import GoalLimits
from etalis.logic.solver import Solver
from helpers.compiled_goals import DECLINED, GoalRun

CLAUSES = """
:- dynamic edge/2, cost/3.
above(X, Y) :- edge(X, Y).
above(X, Z) :- edge(X, Y), above(Y, Z).
below(X, Y) :- edge(Y, X).
below(X, Z) :- edge(Y, X), below(Y, Z).
steps(X, X, 0).
steps(X, Z, N) :- edge(X, Y), steps(Y, Z, M), N is M + 1.
even(X, X).
even(X, Z) :- edge(X, Y), odd(Y, Z).
odd(X, Z) :- edge(X, Y), even(Y, Z).
far(X, Y) :- edge(X, Z), above(Z, Y), \\+ edge(X, Y).
total([], 0).
total([X|L], S) :- total(L, T), S is X + T.
"""
GOALS = ("above(A, X)", "below(A, X)", "steps(A, X, Y)", "even(A, X)", "far(A, X)", "above(A, X), X > 5, above(X, Y)")


def asked(solver: Solver, text: str, *, every: bool = True) -> GoalRun:
    goal = to_logic(parse_term(text))
    outputs = [name for name in goal.variables if name != "A"]
    run = GoalRun(solver, goal, {"A": "term"}, outputs, every=every)
    assert run.run is not None
    return run


def solver_of(edges: list[tuple[Any, Any]], **limits: Any) -> Solver:
    solver = Solver(load_clauses(parse(CLAUSES)), GoalLimits(**limits))
    solver.database.add_rows("edge", 2, edges)
    return solver


@pytest.mark.parametrize("text", GOALS)
@pytest.mark.parametrize("every", [False, True])
def test_answers_follow_the_facts(text: str, every: bool) -> None:
    random, solver = Random(1), solver_of([(0, 1)])
    run = asked(solver, text, every=every)
    edges = {(0, 1)}
    for _ in range(150):
        a = random.randrange(8)
        edge = a, random.randrange(a + 1, 9)  # no cycle
        (forget if edge in edges else learn)(solver.database, "edge", edge)
        edges ^= {edge}
        for node in range(9):
            found = run.found((node,))
            assert found == run.expected((node,))
            assert found != DECLINED


def test_rules_of_facts_that_events_change() -> None:
    engine = etalis.compile("""
        :- knowledge in/2 - out/2.
        holds(B, I) <- seen(B) event_multiply inside(I, B).
        inside(I, B) :- in(I, B).
        inside(I, B) :- in(J, B), inside(I, J).
        """).engine(policy="unrestricted")
    rows = [
        ("in", "i", "b"),
        ("in", "b", "p"),
        ("seen", "p"),
        ("in", "j", "b"),
        ("seen", "p"),
        ("out", "b", "p"),
        ("seen", "p"),
    ]
    found = engine.run((*row, at) for at, row in enumerate(rows))
    assert [(match.args, match.end) for match in found] == [
        (("p", "b"), 2), (("p", "i"), 2), (("p", "b"), 4), (("p", "i"), 4), (("p", "j"), 4),
    ]  # fmt: skip


def test_what_goes_round_or_too_deep_is_the_solvers() -> None:
    ring = asked(solver_of([(0, 1), (1, 2), (2, 0), (7, 8)], steps=50_000), "above(A, X)")
    assert ring.found((0,)) == DECLINED == ring.expected((0,))
    assert ring.found((7,)) == [(8,)]
    chain = asked(solver_of([(i, i + 1) for i in range(5_000)]), "above(A, X)")
    assert chain.found((0,)) == DECLINED
    assert chain.found((4_900,)) == chain.expected((4_900,)) == [(i,) for i in range(4_901, 5_001)]


def test_a_call_that_is_always_declined_is_not_tried_for_ever() -> None:
    run = asked(solver_of([(0, 1), (1, 0), (7, 8)]), "above(A, X)")
    for _ in range(100):
        assert run.found((0,)) == DECLINED
    assert run.found((7,)) == DECLINED


@pytest.mark.parametrize("layers", range(3, 12))
def test_the_solver_judges_what_it_would_not_finish(layers: int) -> None:
    """Of a chain of diamonds there are twice as many paths with each; kept answers count as often as they are used."""
    edges = [
        (i, j) for k in range(0, 3 * layers, 3) for i, j in ((k, k + 1), (k, k + 2), (k + 1, k + 3), (k + 2, k + 3))
    ]
    for every in (False, True):
        run = asked(solver_of(edges, steps=10_000), "above(A, X), X > 1000", every=every)
        expected = run.expected((0,))
        assert run.found((0,)) in (DECLINED, expected)
        assert run.found((0,)) == DECLINED or expected != DECLINED


def test_a_clause_that_comes_later_is_seen() -> None:
    solver = solver_of([(0, 1)])
    run = asked(solver, "above(A, X)")
    assert run.found((0,)) == [(1,)]
    solver.database.add(to_logic(parse_term("above(X, none) :- edge(X, _)")).term)
    assert run.found((0,)) == DECLINED
    assert asked(solver, "above(A, X)").found((0,)) == [(1,), ("none",)]


def test_lists_are_walked() -> None:
    run = asked(solver_of([]), "total(A, X)")
    assert run.found(((1, 2, 3.5),)) == run.expected(((1, 2, 3.5),)) == [(6.5,)]
    assert run.found((("a",),)) == DECLINED == run.expected((("a",),))
