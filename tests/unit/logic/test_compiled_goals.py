"""Goals in generated code find what the solver finds, or leave the goal to it; errors are always the solver's."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from etalis.data.values import Struct, real
from etalis.language.lower import load_clauses, to_logic
from etalis.language.read.parser import parse, parse_term
from etalis.logic.machine.fact_lookup import Goal
from etalis.logic.solver import Solver
from etalis.logic.terms.unify import Variable
from helpers.compiled_goals import DECLINED, GoalRun
from helpers.examples import by_day

CLAUSES = """
near(A, B) :- border(A, B).
near(A, B) :- border(B, A).
border(a, b). border(b, c). border(1, 2). border(2.0, 1).
limit(a, 1, 2.5). limit(a, 2, 0.5). limit(b, 3, 1). limit(1, a, 2.0). limit(2.0, 1, 1).
bound(1). bound(3). bound(2.0).
big(X) :- bound(L), X > L.
sum(X, Y, Z) :- Z is X + Y.
pick(X, Y) :- limit(X, Y, _), \\+ bound(Y).
pick(X, none) :- \\+ limit(X, _, _).
swap(f(X, Y), g(Y, X)).
path(X, Y) :- border(X, Y).
path(X, Z) :- border(X, Y), path(Y, Z).
first([X|_], X).
sign(X, neg) :- X < 0, !.
sign(_, pos).
level(X, L) :- integer(X), !, (X > 1 -> L = high ; L = low).
level(X, none) :- atom(X), \\+ border(X, _), !.
level(f(X, Y), Y) :- bound(X), !, border(Y, _), !.
level(X, L) :- limit(X, L, _).
once_only(X, Y) :- limit(X, Y, _), !, Y \\== a.
"""


SOLVER = Solver(load_clauses(parse(CLAUSES)))
HUGE = (1 << 1030, -(1 << 2000), 10**300)
VALUES = {
    "int": st.one_of(st.integers(-3, 3), st.sampled_from([*HUGE, "null"])),
    "float": st.one_of(
        st.sampled_from([-1.0, -0.0, 0.0, 0.5, 1.0, 2.0, 1e300, 1.7e308, float("inf")]),
        st.sampled_from([1.0, 2.0]).map(real),
        st.just("null"),
    ),
    "number": st.one_of(st.integers(-3, 3), st.sampled_from([0.5, 1.0, -2.0]).map(real), st.just("null")),
    "string": st.sampled_from(["a", "b", "c", "null", "é", "12", ""]),
    "term": st.one_of(
        st.integers(-3, 3),
        st.sampled_from(HUGE),
        st.sampled_from([0.5, 1.0, 2.0, 1.7e308, float("-inf")]).map(real),
        st.sampled_from(["a", "b", "pi", "null", (), (1,), (1, "a", 2), ("b", "a")]),
        st.sampled_from([Struct("+", (1, 2)), Struct("f", (1, "a")), Struct("[|]", (1, "a")), Struct("-", ("a", 2))]),
    ),
}
BINARY = ["+", "-", "*", "/", "//", "mod", "div", "rem", "min", "max", "**", "/\\", ">>", "atan2", "copysign"]
OWN = ["near", "border", "path", "pick", "sign", "swap", "first", "level", "once_only"]
BUILT_IN = ["member", "memberchk", "length", "msort", "atom_length", "sum_list"]
UNARY = ["-", "+", "abs", "floor", "round", "sqrt", "float", "sign", "\\"]


@st.composite
def cases(draw: st.DrawFn) -> tuple[Goal, dict[str, str], list[Any], list[str]]:
    """Draw a goal over inputs A to D of random types, values for them, and which of its other variables it gives."""
    types = {name: draw(st.sampled_from(sorted(VALUES))) for name in "ABCD"}
    values = [draw(VALUES[kind]) for kind in types.values()]
    variables = {name: Variable() for name in "ABCDXYZW"}
    given = st.sampled_from([variables[name] for name in "ABCD"])
    free = st.sampled_from([variables[name] for name in "XYZW"])
    leaf = st.one_of(given, given, st.integers(-2, 4), st.sampled_from([0.5, real(2.0), "pi"]))
    maybe = st.one_of(leaf, leaf, free)
    number = st.recursive(
        maybe,
        lambda n: st.one_of(st.tuples(st.sampled_from(BINARY), n, n), st.tuples(st.sampled_from(UNARY), n)),
        max_leaves=4,
    )
    atom = st.sampled_from(["a", "b", "null", (), "@>=", "@<"])
    thing = st.recursive(
        st.one_of(maybe, atom, free),
        lambda t: st.one_of(
            st.tuples(st.just("f"), t, t), st.tuples(st.just("[|]"), t, t), st.tuples(st.just("[|]"), t, st.just(()))
        ),
        max_leaves=3,
    )
    simple = st.one_of(
        st.tuples(st.sampled_from(["<", ">", "=<", ">=", "=:=", "=\\="]), number, number),
        st.tuples(st.sampled_from(["=", "=", "\\=", "==", "\\==", "@<", *OWN]), thing, thing),
        st.tuples(st.just("is"), maybe, number),
        st.tuples(st.sampled_from(["limit", "sum"]), thing, thing, thing),
        st.tuples(st.sampled_from(BUILT_IN), thing, thing),
        st.tuples(st.sampled_from(["between", "nth0", "atom_concat", "append"]), thing, thing, thing),
        st.tuples(st.sampled_from(["integer", "float", "number", "atom", "is_list", "bound", "big", "var"]), thing),
        st.tuples(st.just("findall"), free, st.tuples(st.just("limit"), given, free, free), free),
        st.sampled_from(["true", "fail", "unknown", "!"]),
    )
    goals = st.recursive(
        simple,
        lambda g: st.one_of(
            st.tuples(st.sampled_from([",", ",", ",", ";", "->"]), g, g),
            st.tuples(st.sampled_from(["\\+", "once", "ignore", "call"]), g),
            st.tuples(st.just(";"), st.tuples(st.just("->"), g, g), g),
            st.tuples(st.just("forall"), g, g),
        ),
        max_leaves=6,
    )
    outputs = draw(st.lists(st.sampled_from("XYZ"), unique=True))
    return Goal(draw(goals), variables), types, values, outputs


@pytest.mark.property
@by_day(2)
@given(cases())
def test_compiled_goals_agree_with_the_solver(case: tuple[Goal, dict[str, str], list[Any], list[str]]) -> None:
    goal, types, values, outputs = case
    run = GoalRun(SOLVER, goal, types, outputs)
    if run.run is not None:
        held = [real(x) if isinstance(x, float) else x for x in values]
        for _ in range(2):  # the second time from what is kept
            found = run.found(values)
            assert found in (DECLINED, run.expected(held))
            if found is not None and found != DECLINED:
                floats = [x for x in found if isinstance(x, float)]
                assert [type(x) for x in floats] == [type(real(x)) for x in floats]


IN_LINE = [
    ("A \\= B", {"A": "string", "B": "string"}, ("a", "b")),
    ("T is A + B, T > 1000.0", {"A": "float", "B": "float"}, (500.0, 600.5)),
    ("T is A + B, T > 1000.0", {"A": "term", "B": "term"}, (500, 600.5)),
    ("abs(A - B) > 2, X is max(A, B) mod 7, X < 7", {"A": "int", "B": "int"}, (5, 1)),
    ("limit(A, X, L), B > L", {"A": "string", "B": "float"}, ("a", 2.0)),
    ("limit(A, X, L), B > L", {"A": "term", "B": "term"}, ("a", 1)),
    ("A \\= B, \\+ near(A, B), T is C + C, T > 10.0", {"A": "string", "B": "string", "C": "float"}, ("a", "c", 6.0)),
    ("near(A, X), X \\= a", {"A": "string"}, ("b",)),
    ("pick(A, X)", {"A": "term"}, ("a",)),
    ("member(A, [a, b, c])", {"A": "string"}, ("b",)),
    ("member(X-Y, A), Y > 1", {"A": "term"}, ((Struct("-", ("a", 1)), Struct("-", ("b", 2))),)),
    ("sort(0, @>=, A, [X, Y|_])", {"A": "term"}, ((1.5, 2.5, 0.5),)),
    ("sub_atom(A, _, _, _, bc)", {"A": "string"}, ("abcd",)),
    ("(A > 5 -> X = high ; A > 2 -> X = mid ; X = low)", {"A": "int"}, (3,)),
    ("(integer(A) -> X is A + 1 ; atom_length(A, X))", {"A": "term"}, ("abc",)),
    ("forall(member(X, A), X > 0)", {"A": "term"}, ((1, 2),)),
    ("between(1, 5, A)", {"A": "int"}, (3,)),
    ("level(A, X), X == high", {"A": "term"}, (3,)),
    ("sign(A, X), X == pos", {"A": "float"}, (3.5,)),
    ("limit(A, X, L), !, L > 2", {"A": "string"}, ("a",)),
    ("big(A)", {"A": "term"}, (2.5,)),
    ("path(A, B)", {"A": "string", "B": "string"}, ("a", "c")),
]


@pytest.mark.parametrize(("text", "types", "values"), IN_LINE)
def test_goals_that_need_no_solver(text: str, types: dict[str, str], values: tuple[Any, ...]) -> None:
    goal = to_logic(parse_term(text))
    outputs = [name for name in goal.variables if name not in types]
    run = GoalRun(SOLVER, goal, types, outputs)
    assert run.run is not None
    found = run.found(values)
    assert found == run.expected([real(x) if isinstance(x, float) else x for x in values])
    assert found != DECLINED
    assert found is not None
