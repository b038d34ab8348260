"""Closures are recognised by their clauses, answered by reachability, and follow every change."""

from __future__ import annotations

import pytest

from etalis.data.values import Value
from etalis.language.lower import load_clauses, to_logic
from etalis.language.read.parser import parse, parse_term
from etalis.logic.errors import LogicError, LogicLimitError
from etalis.logic.machine.machine import GoalLimits
from etalis.logic.solver import Solver

RIGHT = "p(X, Y) :- e(X, Y). p(X, Z) :- e(X, Y), p(Y, Z). "
CYCLE = "e(a, b). e(b, c). e(c, a). e(c, d). "
CLOSURES = {
    "right": RIGHT,
    "left": "p(X, Z) :- p(X, Y), e(Y, Z). p(X, Y) :- e(X, Y).",
    "double": "p(X, Y) :- e(X, Y). p(X, Z) :- p(X, Y), p(Y, Z).",
    "last goal first": "p(X, Y) :- e(X, Y). p(X, Z) :- p(Y, Z), e(X, Y).",
    "both": "p(X, Y) :- e(X, Y). p(X, Z) :- e(X, Y), p(Y, Z). p(X, Z) :- p(X, Y), e(Y, Z).",
    "reflexive": "p(X, X). p(X, Z) :- e(X, Y), p(Y, Z).",
    "backwards": "p(X, Y) :- e(Y, X). p(X, Z) :- e(Y, X), p(Y, Z).",
    "two relations": "p(X, Y) :- e(X, Y). p(X, Y) :- f(X, Y). p(X, Z) :- p(X, Y), p(Y, Z). f(d, a).",
    "a column": "p(X, Y) :- t(X, is, Y). p(X, Z) :- t(X, is, Y), p(Y, Z). t(a, is, b). t(b, is, c). t(c, has, d).",
    "a free column": "p(X, Y) :- t(X, _, Y). p(X, Z) :- t(X, _, Y), p(Y, Z). t(a, is, b). t(b, has, c).",
}
OTHERS = {
    "a cut": "p(X, Y) :- e(X, Y), !. p(X, Z) :- e(X, Y), p(Y, Z).",
    "other steps": "p(X, Y) :- e(X, Y). p(X, Z) :- f(X, Y), p(Y, Z). f(a, b).",
    "fewer steps": "p(X, Y) :- e(X, Y). p(X, Y) :- f(X, Y). p(X, Z) :- e(X, Y), p(Y, Z). f(a, b).",
    "a test": "p(X, Y) :- e(X, Y). p(X, Z) :- e(X, Y), Y \\= c, p(Y, Z).",
    "a constant": "p(X, Y) :- e(X, Y). p(a, Z) :- e(a, Y), p(Y, Z).",
    "a joined column": "p(X, Y) :- t(X, Y, X). p(X, Z) :- t(X, Y, X), p(Y, Z). t(a, b, a). t(b, c, c).",
    "the wrong way": "p(X, Y) :- e(X, Y). p(X, Z) :- e(X, Y), p(Z, Y).",
    "facts only": "p(a, b).",
    "rules below": "p(X, Y) :- r(X, Y). p(X, Z) :- r(X, Y), p(Y, Z). r(X, Y) :- e(X, Y).",
    "a fact with a variable": "p(X, Y) :- r(X, Y). p(X, Z) :- r(X, Y), p(Y, Z). r(a, _).",
}


def solver(text: str, **limits: int) -> Solver:
    return Solver(load_clauses(parse(text)), GoalLimits(**limits))


def holds(kb: Solver, goal: str) -> bool:
    return next(kb.solve(to_logic(parse_term(goal))), None) is not None


def column(kb: Solver, goal: str, name: str = "Y") -> list[Value]:
    return [found[name] for found in kb.solve(to_logic(parse_term(goal)))]


def is_indexed(kb: Solver) -> bool:
    closure = kb.database.predicate("p", 2).find_closure()
    return closure is not None and closure.links.prepare()


@pytest.mark.parametrize("kind", CLOSURES)
def test_forms_of_closure(kind: str) -> None:
    kb = solver(":- dynamic e/2. " + CLOSURES[kind])
    assert is_indexed(kb)
    tabled = solver(":- table p/2. :- dynamic e/2. " + CYCLE + CLOSURES[kind])
    pairs = [(x, y) for x in "abcdz" for y in "abcdz"]
    kb = solver(CYCLE + CLOSURES[kind])
    wanted = {(x, y) for x, y in pairs if y in column(tabled, f"p({x}, Y)") or (kind == "reflexive" and x == y)}
    assert {pair for pair in pairs if holds(kb, "p({}, {})".format(*pair))} == wanted


@pytest.mark.parametrize("kind", OTHERS)
def test_other_predicates(kind: str) -> None:
    kb = solver(":- dynamic e/2. e(a, b). " + OTHERS[kind])
    assert not is_indexed(kb)
    assert holds(kb, "p(a, b)")


def test_a_call_without_variables_succeeds_once() -> None:
    kb = solver("e(a, b). e(a, c). e(b, d). e(c, d). " + RIGHT)
    assert column(kb, "findall(x, p(a, d), Y)") == [("x",)]
    assert column(kb, "p(a, Y)") == ["b", "c", "d", "d"]


def test_a_cycle_ends_without_a_table() -> None:
    kb = solver(CYCLE + RIGHT, steps=10_000)
    assert holds(kb, "p(a, a)")
    assert not holds(kb, "p(d, a)")
    with pytest.raises(LogicLimitError):
        column(kb, "p(a, Y)")


def test_facts_come_and_go() -> None:
    kb = solver(":- dynamic e/2. " + RIGHT)
    assert not holds(kb, "p(a, c)")
    assert holds(kb, "assertz(e(a, b)), assertz(e(b, c)), p(a, c)")
    assert holds(kb, "asserta(e(c, d)), p(a, d)")
    assert not holds(kb, "retract(e(b, c)), p(a, d)")
    assert holds(kb, "assertz(e(b, f(x))), p(a, f(x)), p(a, f(_)), \\+ p(a, f(y))")
    assert not holds(kb, "retractall(e(_, _)), p(a, b)")


def test_the_shape_of_facts_may_change() -> None:
    kb = solver(":- dynamic e/2. e(a, b). " + RIGHT)
    assert holds(kb, "p(a, b)")
    assert not holds(kb, "p(a, c)")
    assert holds(kb, "assertz((e(b, X) :- X = c)), p(a, c)")
    assert not is_indexed(kb)
    assert not holds(kb, "retract((e(b, _) :- _)), p(a, c)")
    assert is_indexed(kb)
    assert holds(kb, "assertz(e(b, _)), p(a, z)")


def test_the_clauses_of_a_closure_may_change() -> None:
    kb = solver(":- dynamic p/2. e(a, b). e(b, c). " + RIGHT)
    assert not holds(kb, "p(c, a)")
    assert holds(kb, "assertz((p(c, a) :- true)), p(c, a)")
    assert not is_indexed(kb)
    assert not holds(kb, "retract(p(c, a)), p(c, a)")
    assert is_indexed(kb)
    assert not holds(kb, "retract((p(_, _) :- e(_, _), p(_, _))), p(a, c)")
    assert holds(kb, "p(a, b)")


def test_many_facts_at_once() -> None:
    kb = solver(":- dynamic e/2. " + RIGHT)
    kb.database.add_rows("e", 2, [(i, i + 1) for i in range(5_000)])
    assert holds(kb, "p(0, 5000)")
    kb.database.add_rows("e", 2, [(i, i + 1) for i in range(6_000, 9_000)])
    assert holds(kb, "p(6000, 9000)")
    kb.database.replace_rows("e", 2, [(1, 2)])
    assert holds(kb, "p(1, 2), \\+ p(0, 5000)")


def test_unknown_links_are_an_error_as_ever() -> None:
    kb = solver(RIGHT)
    with pytest.raises(LogicError, match="e/2"):
        holds(kb, "p(a, b)")
    assert holds(kb, "assertz(e(a, b)), p(a, b)")
    assert is_indexed(kb)


def test_integers_and_floats_stay_apart() -> None:
    kb = solver("e(1, 2.0). e(2, 3). " + RIGHT)
    assert holds(kb, "p(1, 2.0), \\+ p(1, 2), \\+ p(1.0, 2.0), \\+ p(1, 3)")


def test_a_copy_of_the_database_has_its_own_index() -> None:
    kb = solver(":- dynamic e/2. e(a, b). " + RIGHT)
    assert holds(kb, "p(a, b)")
    twin = Solver(kb.database.copied())
    assert holds(twin, "assertz(e(b, c)), p(a, c)")
    assert not holds(kb, "p(a, c)")


def test_a_closure_as_of_a_moment() -> None:
    moment = [0]
    kb = solver(":- dynamic e/2. " + RIGHT)
    kb.database.keep_versions(100, lambda: moment[0])
    for moment[0], goal in ((1, "assertz(e(a, b))"), (2, "assertz(e(b, a))"), (3, "retract(e(a, b))")):
        assert holds(kb, goal)
    answers = []
    for time in (0, 1, 2, 3):
        with kb.as_of(time):
            answers.append((holds(kb, "p(a, b)"), holds(kb, "p(a, a)"), holds(kb, "p(b, a)")))
    assert answers == [(False, False, False), (True, False, False), (True, True, True), (False, False, True)]


def test_the_clauses_of_a_closure_as_of_a_moment() -> None:
    moment = [0]
    kb = solver(":- dynamic p/2. e(a, b). e(b, c). p(X, Y) :- e(X, Y). ")
    kb.database.keep_versions(100, lambda: moment[0])
    moment[0] = 1
    assert holds(kb, "assertz((p(X, Z) :- e(X, Y), p(Y, Z))), p(a, c)")
    with kb.as_of(0):
        assert not holds(kb, "p(a, c)")
    with kb.as_of(1):
        assert holds(kb, "p(a, c)")
