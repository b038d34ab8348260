"""Goals that would not end, or would take all memory: each ends soon, in a limit error that a program cannot catch."""

from __future__ import annotations

import time

import pytest

from etalis.language.flags import Settings
from etalis.language.goal_limits import goal_limits
from etalis.language.lower import load_clauses, to_logic
from etalis.language.read.parser import parse, parse_term
from etalis.logic.errors import LogicError, LogicLimitError
from etalis.logic.machine.machine import GoalLimits
from etalis.logic.solver import Solver

KNOWLEDGE = parse(
    """
    loop :- loop.
    both :- both, both.
    grow(X) :- grow([a|X]).
    longer(L) :- append(L, [x], M), longer(M).
    doubled(A) :- atom_concat(A, A, B), doubled(B).
    hoard(L) :- numlist(1, 1000, N), hoard([N|L]).
    square(X) :- Y is X * X, square(Y).
    count(0) :- !.
    count(N) :- M is N - 1, count(M).
    len([], 0).
    len([_|T], N) :- len(T, M), N is M + 1.
    nest(0, T, T) :- !.
    nest(N, S, T) :- M is N - 1, nest(M, f(S), T).
    thrower(0) :- throw(deep).
    thrower(N) :- M is N - 1, thrower(M), true.
    """
)
SMALL = GoalLimits(steps=200_000, depth=50_000, size=100_000, memory=300_000)
ENDLESS = [
    ("loop", "steps"),
    ("catch(loop, _, true)", "steps"),
    ("repeat, fail", "steps"),
    ("between(1, inf, X), X < 0", "steps"),
    ("both", "depth"),
    ("grow([])", "steps"),
    ("longer([])", "steps"),
    ("doubled(ab)", "size"),
    ("hoard([])", "steps"),
    ("square(3)", "bits of an integer"),
    ("findall(X, between(1, 1000000000, X), L)", "steps"),
    ("numlist(1, 1000000000, L)", "size"),
    ("length(L, 1000000000)", "size"),
    ("length(L, N), N > 1000000", "memory blocks or steps"),
    ("X is 7 ^ 7 ^ 7 ^ 7", "bits of an integer"),
    ("X is 3 ** 100000000", "bits of an integer"),
    ("X is 1 << 1000000000", "bits of an integer"),
    ("numlist(1, 9000, L), atomic_list_concat(L, A), sub_atom(A, _, _, _, S), fail", "steps"),
    ("numlist(1, 1000, L), permutation(L, P), fail", "steps"),
    ("X = f(X), copy_term(X, Y)", "size"),
    ("X = f(X, X), write(X)", "size of a written term"),
    ("X = [a|X], length(X, N)", "size"),
]


@pytest.mark.parametrize(("goal", "limit"), ENDLESS)
def test_ends_at_its_limit(goal: str, limit: str) -> None:
    solver = Solver(load_clauses(KNOWLEDGE), SMALL)
    began = time.process_time()
    with pytest.raises(LogicLimitError) as caught:
        next(solver.solve(to_logic(parse_term(goal))), None)
    assert caught.value.term[1] in [("resource_error", which) for which in limit.split(" or ")]
    assert time.process_time() - began < 10


UNMETERED_ONCE = [
    "numlist(1, 100000, L), between(1, inf, _), ground(L), fail",
    "numlist(1, 100000, L), between(1, inf, _), is_list(L), fail",
    "numlist(1, 100000, L), between(1, inf, _), acyclic_term(L), fail",
    "numlist(1, 100000, L), between(1, inf, _), term_variables(L, _), fail",
    "numlist(1, 100000, L), between(1, inf, _), must_be(list, L), fail",
    "numlist(1, 50000, L), between(1, inf, _), assertz(kept(L)), fail",
    "numlist(1, 50000, L), atomic_list_concat(L, A), between(1, inf, _), atom_codes(A, _), fail",
    "numlist(1, 50000, L), atomic_list_concat(L, ',', A), between(1, inf, _), atomic_list_concat(_, ',', A), fail",
    "numlist(1, 50000, L), atomic_list_concat(L, ',', A), between(1, inf, _), split_string(A, ',', '', _), fail",
    "numlist(1, 50000, L), atomic_list_concat(L, A), atomic_list_concat(L, B), between(1, inf, _), A == B, fail",
    "numlist(1, 50000, L), atomic_list_concat(L, A), atomic_list_concat(L, B), between(1, inf, _), A = B, fail",
    "X is 7 ** 50000, between(1, inf, Y), Z is X mod Y, fail",
    "X is 7 ** 50000, between(1, inf, Y), call(is, Z, X mod Y), fail",
    "X is 7 ** 50000, between(1, inf, _), number_codes(X, _), fail",
    "findall(X, (between(1, inf, _), X is 7 ** 50000), L)",
    "findall(X, (between(1, inf, _), call(is, X, 7 ** 50000)), L)",
]


@pytest.mark.parametrize("goal", UNMETERED_ONCE)
def test_what_takes_long_is_worth_many_steps(goal: str) -> None:
    """Conditions end after half a million steps, however much a step does: a second, and some 10 MB."""
    solver = Solver(load_clauses(KNOWLEDGE)).within(goal_limits(Settings()))
    with pytest.raises(LogicLimitError, match="limit of steps: 500000"):
        next(solver.solve(to_logic(parse_term(goal))), None)


def test_memory_is_limited_where_steps_are_not() -> None:
    solver = Solver(load_clauses(KNOWLEDGE), GoalLimits(steps=1 << 40, memory=300_000))
    with pytest.raises(LogicLimitError, match="limit of memory blocks: 300000") as caught:
        next(solver.solve(to_logic(parse_term("grow([])"))), None)
    assert "raise the flag max_goal_memory" in str(caught.value)


@pytest.mark.parametrize("goal", ["loop", "hoard([])"])
def test_time_is_limited_by_the_clock_given(goal: str) -> None:
    clock = iter(range(1_000))
    solver = Solver(load_clauses(KNOWLEDGE), GoalLimits(steps=1 << 40, time=3, clock=lambda: next(clock)))
    with pytest.raises(LogicLimitError, match="limit of seconds: 3") as caught:
        next(solver.solve(to_logic(parse_term(goal))), None)
    assert "raise the flag max_goal_time" in str(caught.value)
    assert next(clock) == 5


def test_a_test_in_place_starts_its_meter_anew() -> None:
    solver = Solver(load_clauses(KNOWLEDGE), GoalLimits(steps=120_000))
    goal = to_logic(parse_term("ground(L)"))
    holds = solver.prepare(goal, ["L"], [])
    assert [holds(tuple(range(100_000))) for _ in range(5)] == [()] * 5


QUICK = [
    ("format('~1000000000|x')", "E504"),
    ("format('~*c', [1000000000, 120])", "E504"),
    ("tab(1000000000000)", "E509"),
    ("functor(T, f, 1000000000)", "E504"),
    ("length(L, L)", "E503"),
]


@pytest.mark.parametrize(("goal", "code"), QUICK)
def test_a_huge_number_is_refused_at_once(goal: str, code: str) -> None:
    solver = Solver(load_clauses(KNOWLEDGE))
    with pytest.raises(LogicError) as caught:
        next(solver.solve(to_logic(parse_term(goal))), None)
    assert caught.value.code == code


DEEP = [
    "T = S, T == S, compare(=, T, S)",
    "copy_term(T, U), U == T, ground(T), term_variables(T, []), acyclic_term(T)",
    "assertz(kept(T)), kept(U), U == T, retract(kept(T))",
    "sort([T, S], [_]), msort([T, S], [_, _]), list_to_set([T, S], [_])",
    "setof(X, member(X, [T, S]), [_]), union([T], [S], [_]), subtract([T], [S], [])",
    "findall(T-X, member(X, [1, 2]), [_, _]), bagof(X, member(X-T, [1-S]), [1])",
    "nb_setval(T, 1), nb_getval(S, 1), T =@= S, subsumes_term(T, S)",
    "catch(throw(T), X, true), X == T",
    "catch(call(T), error(existence_error(_, _), _), true)",
    "catch(_ is T, error(type_error(_, _), _), true)",
    "term_to_atom(T, A), atom_length(A, _), with_output_to(atom(A), writeq(T))",
]


@pytest.mark.parametrize("goal", DEEP)
def test_a_deep_term_is_like_any_other(goal: str) -> None:
    solver = Solver(load_clauses(KNOWLEDGE))
    solver.database.add((":-", "run", to_logic(parse_term(f"nest(20000, x, T), nest(20000, x, S), {goal}")).term))
    assert next(solver.solve(to_logic(parse_term("run"))), None) is not None


@pytest.mark.parametrize("goal", ["count(100000)", "numlist(1, 100000, L), len(L, 100000)"])
def test_long_chains_of_calls(goal: str) -> None:
    solver = Solver(load_clauses(KNOWLEDGE))
    assert next(solver.solve(to_logic(parse_term(f"once(({goal})), X = 1"))), None) is not None


def test_an_error_is_thrown_from_deep_within() -> None:
    solver = Solver(load_clauses(KNOWLEDGE))
    assert next(solver.solve(to_logic(parse_term("catch(thrower(100000), B, true)")))) == {"B": "deep"}
