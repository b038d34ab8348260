"""Tabling: left recursion and cycles end, answers come once, negation over an open table is refused."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from etalis.data.values import Value
from etalis.language.lower import load_clauses, to_logic
from etalis.language.read.parser import parse, parse_term
from etalis.logic.errors import LogicError, LogicLimitError
from etalis.logic.machine.machine import GoalLimits
from etalis.logic.solver import Solver

WORKLOADS = Path(__file__).parents[3] / "bench" / "workloads.py"
RECURSIONS = {
    "left": "path(X, Y) :- path(X, Z), edge(Z, Y). path(X, Y) :- edge(X, Y).",
    "right": "path(X, Y) :- edge(X, Y). path(X, Y) :- edge(X, Z), path(Z, Y).",
    "double": "path(X, Y) :- path(X, Z), path(Z, Y). path(X, Y) :- edge(X, Y).",
    "mutual": "path(X, Y) :- edge(X, Y). path(X, Y) :- via(X, Y). via(X, Y) :- path(X, Z), path(Z, Y).",
    "half tabled": "path(X, Y) :- edge(X, Y). path(X, Y) :- step(X, Y). step(X, Y) :- path(X, Z), edge(Z, Y).",
}
TABLED = ":- table path/2. "
CYCLE = "edge(a, b). edge(b, c). edge(c, a). edge(c, d). "


def solver(text: str, **limits: int) -> Solver:
    return Solver(load_clauses(parse(text)), GoalLimits(**limits))


def solutions(kb: Solver, goal: str) -> list[dict[str, Value]]:
    return list(kb.solve(to_logic(parse_term(goal)), {}))


def column(kb: Solver, goal: str, name: str = "Y") -> list[Value]:
    return [found[name] for found in solutions(kb, goal)]


def reachable(edges: set[tuple[int, int]], start: int) -> set[int]:
    """Breadth first, by hand."""
    seen: set[int] = set()
    front = {start}
    while front:
        front = {y for x, y in edges if x in front} - seen
        seen |= front
    return seen


@pytest.mark.property
@given(
    kind=st.sampled_from(sorted(RECURSIONS)),
    edges=st.sets(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=16),
    start=st.integers(0, 6),
    end=st.integers(0, 6),
)
def test_tabled_reachability_is_that_of_a_breadth_first_search(
    kind: str, edges: set[tuple[int, int]], start: int, end: int
) -> None:
    tables = TABLED + (":- table via/2. " if kind == "mutual" else "")
    pairs = {(x, y) for x in range(7) for y in reachable(edges, x)}
    for goals in (("all", "from", "to", "both", "loop"), ("both", "to", "loop", "from", "all")):
        kb = solver(tables + ":- dynamic edge/2. " + RECURSIONS[kind])
        kb.database.add_rows("edge", 2, sorted(edges))
        for goal in goals:
            match goal:
                case "all":
                    found = [(s["X"], s["Y"]) for s in solutions(kb, "path(X, Y)")]
                    assert sorted(found) == sorted(pairs)
                case "from":
                    assert sorted(column(kb, f"path({start}, Y)")) == sorted(reachable(edges, start))
                case "to":
                    assert sorted(column(kb, f"path(Y, {end})")) == sorted(x for x, y in pairs if y == end)
                case "both":
                    assert bool(solutions(kb, f"path({start}, {end})")) == ((start, end) in pairs)
                case _:
                    assert sorted(column(kb, "path(Y, Y)")) == sorted(x for x, y in pairs if x == y)


@pytest.mark.parametrize("kind", RECURSIONS)
def test_answers_come_once(kind: str) -> None:
    kb = solver(TABLED + "edge(a, b). " + CYCLE + RECURSIONS[kind])
    assert sorted(column(kb, "path(a, Y)")) == ["a", "b", "c", "d"]


def test_the_closure_of_ten_thousand_links() -> None:
    kb = solver(TABLED + RECURSIONS["left"])
    kb.database.add_rows("edge", 2, [(i, i + 1) for i in range(10_000)])
    assert column(kb, "path(0, Y)") == list(range(1, 10_001))
    kb.database.add_rows("edge", 2, [(10_000, 0)])
    assert len(column(kb, "path(0, Y)")) == 10_001


def test_a_supply_chain_of_ten_thousand_links() -> None:
    program, _ = runpy.run_path(str(WORKLOADS))["PROGRAMS"]["W8"]
    kb = solver(":- table inSupChain/2. " + program)
    kb.database.add_rows("linked", 2, [(i, i + 1) for i in range(10_000)])
    assert solutions(kb, "inSupChain(0, 10000)")
    assert solutions(kb, "inSupChain(17, 10000)")
    assert not solutions(kb, "inSupChain(10000, 0)")
    assert not solutions(kb, "inSupChain(0, nowhere)")
    kb.database.add_rows("linked", 2, [(10_000, 0)])
    assert solutions(kb, "inSupChain(10000, 0)")
    assert not solutions(kb, "inSupChain(0, nowhere)")


def test_mutual_recursion_over_two_predicates() -> None:
    text = ":- table even/1. :- table odd/1. even(X) :- odd(Y), next(Y, X). odd(X) :- even(Y), next(Y, X). even(0). "
    kb = solver(text + " ".join(f"next({i}, {(i + 1) % 10})." for i in range(10)))
    assert sorted(column(kb, "even(Y)")) == [0, 2, 4, 6, 8]
    assert sorted(column(kb, "odd(Y)")) == [1, 3, 5, 7, 9]


def test_tables_follow_the_facts() -> None:
    kb = solver(TABLED + ":- dynamic edge/2. edge(a, b). " + RECURSIONS["left"])
    assert column(kb, "path(a, Y)") == ["b"]
    assert column(kb, "assertz(edge(b, c)), path(a, Y)") == ["b", "c"]
    assert column(kb, "retract(edge(a, b)), path(b, Y)") == ["c"]
    assert column(kb, "path(a, Y)") == []


def test_a_cut_over_a_tabled_call_keeps_the_table_whole() -> None:
    kb = solver(TABLED + CYCLE + RECURSIONS["left"] + " first(X, Y) :- path(X, Y), !.")
    assert column(kb, "first(a, Y)") == ["b"]
    assert column(kb, "once(path(a, Y))") == ["b"]
    assert sorted(column(kb, "path(a, Y)")) == ["a", "b", "c", "d"]


def test_answers_with_variables_and_compound_terms() -> None:
    kb = solver(":- table t/2. t(X, f(X, _)). t(X, Y) :- t(X, Y). t(X, [1, Z, Z]) :- t(X, f(_, Z)).")
    assert len(solutions(kb, "t(a, T)")) == 2
    assert solutions(kb, "t(a, f(P, q)), t(a, [1, r, S])") == [{"P": "a", "S": "r"}]


def test_a_long_list_is_a_variant_like_any_other() -> None:
    kb = solver(":- table same/2. same(X, X). same(X, Y) :- same(Y, X).")
    assert solutions(kb, "numlist(1, 200000, L), same(L, M), length(M, N), N =:= 200000, M = [A | _], A == 1")


def test_values_of_one_call_stay_with_that_call() -> None:
    kb = solver(":- table late/1. late(X) :- t2(T), X is T + 1. late(X) :- late(X).")
    late = kb.prepare_all(to_logic(parse_term("late(X)")), (), ("X",), [("t2", 1)])
    assert (late(1), late(5)) == ([(2,)], [(6,)])


def test_negation_over_a_complete_table() -> None:
    kb = solver(":- table win/1. win(X) :- move(X, Y), \\+ win(Y). move(1, 2). move(2, 3). move(3, 4).")
    assert column(kb, "win(Y)") == [1, 3]
    kb = solver(TABLED + CYCLE + RECURSIONS["left"] + " apart(X, Y) :- edge(_, X), edge(_, Y), \\+ path(X, Y).")
    assert set(column(kb, "apart(d, Y)")) == {"a", "b", "c", "d"}


@pytest.mark.parametrize(
    "text",
    [
        ":- table p/1. :- table q/1. p(X) :- \\+ q(X). q(X) :- p(X).",
        ":- table p/1. p(X) :- (p(X) -> fail ; true).",
        ":- table p/1. p(X) :- (p(X) *-> fail ; true).",
        ":- table p/1. p(1). p(X) :- findall(Y, p(Y), L), length(L, X).",
        ":- table p/1. p(X) :- forall(p(Y), Y > X).",
        ":- table p/1. p(1). p(2). p(X) :- p(Y), !, X is Y + 10.",
        ":- table p/1. p(X) :- q(X). q(X) :- \\+ r(X). r(X) :- p(X).",
    ],
)
def test_an_open_table_has_no_negation(text: str) -> None:
    kb = solver(text)
    goal = "p(X)" if "findall" in text or "!" in text else "p(1)"
    with pytest.raises(LogicError, match="tabled and depends on itself"):
        solutions(kb, goal)
    caught = f"catch({goal}, error(stratification_error(_), _), true)"
    assert solutions(kb, f"{caught}, {caught}")


def test_an_error_leaves_no_half_table() -> None:
    kb = solver(":- table p/1. :- table q/1. p(1). p(X) :- q(Y), X is Y / 0. q(X) :- p(X). q(2).")
    for _ in range(2):
        assert column(kb, "catch(p(Y), error(evaluation_error(Y), _), true)") == ["zero_divisor"]
    kb = solver(":- table p/1. :- table q/1. p(1). p(X) :- catch(q(X), _, X = 3). q(X) :- r(X), X > a. r(1). r(2).")
    assert sorted(column(kb, "p(Y)")) == [1, 3]


def test_limits_hold() -> None:
    endless = ":- table n/1. n(0). n(X) :- n(Y), X is Y + 1."
    with pytest.raises(LogicLimitError, match="steps"):
        solutions(solver(endless, steps=100_000), "n(-1)")
    with pytest.raises(LogicLimitError, match="size"):
        solutions(solver(endless, size=1_000), "n(-1)")


def test_a_copy_of_the_database_is_tabled_too() -> None:
    kb = Solver(solver(TABLED + CYCLE + RECURSIONS["left"]).database.copied())
    assert sorted(column(kb, "path(a, Y)")) == ["a", "b", "c", "d"]
