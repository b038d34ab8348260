"""The solver's door: solve, prepare, prepare_all, extra predicates, limits, and chains of a million calls."""

from __future__ import annotations

from typing import Any

import pytest

from etalis.data.values import Struct, real
from etalis.language.lower import load_clauses, to_logic
from etalis.language.read.parser import parse, parse_term
from etalis.logic.errors import LogicError, LogicLimitError
from etalis.logic.machine.database import Database
from etalis.logic.machine.fact_lookup import Goal
from etalis.logic.machine.machine import GoalLimits
from etalis.logic.solver import Solver


def solver(text: str = "", **limits: int) -> Solver:
    return Solver(load_clauses(parse(text)), GoalLimits(**limits))


def goal(text: str) -> Goal:
    return to_logic(parse_term(text))


def test_solutions_hold_the_ground_variables_only() -> None:
    assert list(solver().solve(goal("X = f(1, [a]), Y = g(Z)"), {})) == [{"X": Struct("f", (1, ("a",)))}]


def test_given_bindings_come_back_with_each_solution() -> None:
    kb = solver("kb(1, a). kb(1, b). kb(2, c).")
    assert list(kb.solve(goal("kb(X, Y)"), {"X": 1, "other": 5})) == [{"X": 1, "Y": "a"}, {"X": 1, "Y": "b"}]


def test_values_pass_unchanged_in_and_out() -> None:
    for value in (1, real(1.0), 1.5, "a b", (), (1, ("x",)), Struct("f", (1, (2,))), 10**40):
        assert list(solver().solve(goal("X = Y"), {"X": value})) == [{"X": value, "Y": value}]
        found = solver().prepare(goal("X = Y"), ("X",), ("Y",))(value)
        assert found == (value,)
        assert type(found[0]) is type(value)


def test_prepare_gives_the_first_solution_or_none() -> None:
    kb = solver("kb(1, a). kb(1, b). kb(2, c). big(X) :- X > 10.")
    first = kb.prepare(goal("kb(X, Y)"), ("X",), ("Y",))
    assert (first(1), first(2), first(3)) == (("a",), ("c",), None)
    test = kb.prepare(goal("big(X), Y is X * 2"), ("X",), ("Y", "Z"))
    assert (test(11), test(9)) == ((22, None), None)


def test_prepare_all_gives_every_solution() -> None:
    kb = solver("kb(1, a). kb(1, b). kb(2, c).")
    assert kb.prepare_all(goal("kb(X, Y)"), ("X",), ("Y",))(1) == [("a",), ("b",)]
    assert kb.prepare_all(goal("kb(X, Y)"), ("X",), ("Y",))(9) == []


def test_an_input_of_none_is_unbound() -> None:
    kb = solver("kb(1, a). kb(2, c).")
    assert kb.prepare(goal("kb(X, Y)"), ("X",), ("X", "Y"))(None) == (1, "a")
    assert kb.prepare(goal("X = 5"), ("X",), ("X",))(None) == (5,)


@pytest.mark.parametrize(
    ("text", "inputs", "outputs", "values", "expected"),
    [
        ("kb(X, Y)", ("X",), ("Y",), (1,), ("a",)),
        ("kb(X, Y)", ("X",), ("X", "Y", "W"), (2,), (2, "c", None)),
        ("kb(X, Y)", ("X", "Y"), (), (1, "b"), ()),
        ("kb(X, Y)", ("X", "Y"), (), (2, "b"), None),
        ("kb(X, Y)", (), ("X", "Y"), (), (1, "a")),
        ("kb(2, Y)", (), ("Y",), (), ("c",)),
        ("kb(X, X)", (), ("X",), (), ("same",)),
        ("kb(X, b)", ("X",), (), (1,), ()),
        ("kb(X, Y)", ("X",), ("Y",), ((1, 2),), None),
        ("kb(X, Y)", ("X",), ("Y",), (Struct("f", (1,)),), None),
        ("kb(X, Y)", ("X",), ("Y",), (real(1.0),), None),
        ("kb(f(Z), Y)", (), ("Y",), (), None),
    ],
)
def test_a_look_up_of_facts_agrees_with_the_machine(
    text: str, inputs: tuple[str, ...], outputs: tuple[str, ...], values: tuple[Any, ...], expected: Any
) -> None:
    kb = solver("kb(1, a). kb(1, b). kb(2, c). kb(same, same).")
    assert kb.prepare(goal(text), inputs, outputs)(*values) == expected
    general = kb.prepare(goal(f"({text} ; fail)"), inputs, outputs)
    assert general(*values) == expected


def test_a_look_up_follows_changes() -> None:
    kb = solver("kb(1, a).")
    first = kb.prepare(goal("kb(1, Y)"), (), ("Y",))
    change = kb.prepare(goal("retract(kb(1, _)), assertz(kb(1, b))"), (), ())
    assert first() == ("a",)
    assert change() == ()
    assert first() == ("b",)
    assert kb.prepare(goal("asserta((kb(1, Z) :- Z = c))"), (), ())() == ()
    assert first() == ("c",)


def test_extra_predicates_have_one_value_per_call() -> None:
    kb = solver("long :- t1(A), t2(B), B - A > 5.")
    keys = (("t1", 1), ("t2", 1))
    check = kb.prepare(goal("t1(A), t2(B), D is B - A, D > X"), ("X",), ("D",), extra=keys)
    assert (check(3, 10, 14), check(3, 10, 13)) == ((4,), None)
    assert kb.prepare(goal("long"), (), (), extra=keys)(0, 9) == ()
    assert list(kb.solve(goal("t1(X)"), {}, extra={("t1", 1): 7})) == [{"X": 7}]
    with pytest.raises(LogicError, match="t1/1 is not defined"):
        kb.prepare(goal("t1(X)"), (), ())()


def test_an_unknown_predicate_names_what_is_near() -> None:
    with pytest.raises(LogicError) as caught:
        list(solver("linked(a, b).").solve(goal("linkd(a, X)"), {}))
    assert caught.value.term[1] == ("existence_error", "procedure", ("/", "linkd", 2))
    assert "did you mean linked/2" in str(caught.value)


def test_the_program_may_replace_library_predicates() -> None:
    kb = solver("member(X, Y) :- X = own(Y). reverse(own, own). min(A, B, own(A, B)).")
    assert next(kb.solve(goal("member(X, 1), reverse(L, L), min(1, 2, M)"), {}))["X"] == Struct("own", (1,))


def test_a_program_cannot_replace_what_is_built_in() -> None:
    with pytest.raises(Exception, match="no permission to modify static procedure atom_length/2"):
        solver("atom_length(X, Y) :- X = Y.")


CHAIN = """
  count(0) :- !.
  count(N) :- M is N - 1, count(M).
  deep(0).
  deep(N) :- N > 0, M is N - 1, deep(M), nothing.
  nothing.
  list(0, []).
  list(N, [N|T]) :- N > 0, M is N - 1, list(M, T).
  total([], 0).
  total([H|T], S) :- total(T, R), S is R + H.
  loop :- loop.
  grow(X) :- grow(f(X, X)).
  push :- push, push.
  many :- true ; many.
"""


@pytest.mark.parametrize("text", ["count(1000000)", "deep(1000000)", "list(100000, L), total(L, S)"])
def test_chains_of_calls_meet_no_recursion_limit(text: str) -> None:
    kb = solver(CHAIN, steps=20_000_000)
    assert kb.prepare(goal(text), (), ())() == ()


def test_a_deep_term_is_walked_without_recursion() -> None:
    kb = solver(CHAIN + "nest(0, a). nest(N, s(T)) :- N > 0, M is N - 1, nest(M, T).")
    text = "nest(50000, T), nest(50000, U), T = U, T == U, copy_term(T, V), ground(V), assertz(kept(T)), kept(W), W = U"
    assert kb.prepare(goal(text), (), ())() == ()
    with pytest.raises(LogicLimitError, match="nesting of a value"):
        kb.prepare(goal("nest(50000, T)"), (), ("T",))()


@pytest.mark.parametrize(
    ("text", "limits", "name"),
    [
        ("loop", {"steps": 1000}, "steps"),
        ("catch(loop, _, true)", {"steps": 1000}, "steps"),
        ("grow(a)", {"steps": 100_000}, "steps"),
        ("push", {"depth": 50_000}, "depth"),
        ("many, fail", {"steps": 1000}, "steps"),
        ("between(1, inf, X), fail", {"steps": 1000}, "steps"),
        ("findall(X, between(1, inf, X), L)", {"size": 1000}, "size"),
        ("length(L, 1000000000)", {}, "size"),
        ("X = f(X), copy_term(X, Y)", {"size": 1000}, "size"),
        ("X = f(X), Y = f(Y), X = Y", {}, "size"),
        ("X is 7 ** (7 ** 12)", {}, "bits of an integer"),
        ("X is 1 << (1 << 60)", {}, "bits of an integer"),
        ("numlist(1, 100000000, L)", {}, "size"),
    ],
)
def test_a_limit_is_named(text: str, limits: dict[str, int], name: str) -> None:
    with pytest.raises(LogicLimitError) as caught:
        solver(CHAIN, **limits).prepare(goal(text), (), ())()
    assert caught.value.term[1] == ("resource_error", name)
    assert name in str(caught.value)


def test_terms_that_share_parts_do_not_explode() -> None:
    doubling = ", ".join(f"X{i} = f(X{i - 1}, X{i - 1})" for i in range(1, 60))
    with pytest.raises(LogicLimitError, match="size"):
        solver(size=10_000).prepare(goal(f"{doubling}, copy_term(X59, Y)"), (), ())()


def test_updates_follow_the_logical_view() -> None:
    facts = "".join(f"q({i}). " for i in range(50))
    kb = solver(facts)
    moved = kb.prepare(goal("findall(X, (retract(q(X)), Y is X + 100, assertz(q(Y))), L), length(L, N)"), (), ("N",))
    assert moved() == (50,)
    assert [x for (x,) in kb.prepare_all(goal("q(X)"), (), ("X",))()] == list(range(100, 150))


def test_a_relation_survives_a_rule_in_the_middle_of_retracting() -> None:
    kb = solver("q(1). q(2). q(3).")
    text = "findall(X, (retract(q(X)), assertz((q(Y) :- Y = 9))), L)"
    assert kb.prepare(goal(text), (), ("L",))() == ((1, 2, 3),)
    assert kb.prepare_all(goal("q(X)"), (), ("X",))() == [(9,)] * 3


def test_solvers_over_copies_change_apart() -> None:
    database = load_clauses(parse("c(0). r(X) :- c(X)."))
    one, two = Solver(database), Solver(database.copied())
    assert one.prepare(goal("assertz(c(1))"), (), ())() == ()
    assert one.prepare_all(goal("r(X)"), (), ("X",))() == [(0,), (1,)]
    assert two.prepare_all(goal("r(X)"), (), ("X",))() == [(0,)]


def test_many_facts_are_indexed_on_whatever_is_bound() -> None:
    database: Database = load_clauses(parse(""))
    database.add_rows("link", 2, ((i, i + 1) for i in range(20_000)))
    kb = Solver(database, GoalLimits(steps=1000))
    assert kb.prepare(goal("link(X, Y), link(Y, Z)"), ("X",), ("Z",))(5) == (7,)
    assert kb.prepare(goal("link(X, Y), link(W, X)"), ("Y",), ("W",))(500) == (498,)


def test_errors_of_the_program_carry_its_term() -> None:
    with pytest.raises(LogicError) as caught:
        solver().prepare(goal("throw(mine(1))"), (), ())()
    assert caught.value.term == ("mine", 1)
    assert "mine(1)" in str(caught.value)
