"""Inlined goals answer as the solver does: same truth, same first bindings, same errors."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from etalis.data.values import Struct, real
from etalis.language.lower import new_database, to_logic
from etalis.language.read.parser import parse_term
from etalis.logic.errors import LogicError
from etalis.logic.inline.inline import InlineTest, inline
from etalis.logic.inline.python_source import HELPERS
from etalis.logic.machine.fact_lookup import Goal
from etalis.logic.solver import Solver
from etalis.logic.terms.unify import Variable
from helpers.examples import by_day

SOLVER = Solver(new_database())


def run(test: InlineTest, values: dict[str, Any]) -> dict[str, Any] | None:
    """Evaluate the source of an inlined goal."""
    constants: dict[str, Any] = {}

    def constant(value: Any) -> str:
        name = f"k{len(constants)}"
        constants[name] = value
        return name

    names = {name: f"v_{name}" for name in [*values, *(name for name, _ in test.bindings)]}
    source = test.source(names, constant)
    results = ", ".join(names[name] for name, _ in test.bindings)
    arguments = ", ".join(names[name] for name in values)
    space = {**HELPERS, **constants}
    exec(f"def test({arguments}):\n    return ({results},) if {source} else None".replace("(,)", "()"), space)  # noqa: S102
    found = space["test"](*values.values())
    return None if found is None else dict(zip((name for name, _ in test.bindings), found, strict=True))


def outcome(function: Any) -> Any:
    try:
        return function()
    except LogicError as error:
        return error.term[1]


def solve(goal: Goal, values: dict[str, Any]) -> Any:
    solution = next(SOLVER.solve(goal, values), None)
    return None if solution is None else {name: x for name, x in solution.items() if name not in values}


VALUES = {
    "int": st.integers(-3, 3),
    "float": st.sampled_from([-1.0, 0.0, 0.5, 1.0, 2.0, 1e300]).map(real),
    "term": st.one_of(
        st.integers(-3, 3),
        st.sampled_from([0.5, 1.0, 2.0]).map(real),
        st.sampled_from(["a", "pi", (), (1,), Struct("+", (1, 2)), Struct("f", (1,))]),
    ),
}


@st.composite
def cases(draw: st.DrawFn) -> tuple[Goal, dict[str, str], dict[str, Any]]:
    """Draw a goal over bound variables A to D of random types, and values for them."""
    types = {name: draw(st.sampled_from(sorted(VALUES))) for name in "ABCD"}
    values = {name: draw(VALUES[kind]) for name, kind in types.items()}
    variables = {name: Variable() for name in "ABCDXYZ"}
    bound = st.sampled_from([variables[name] for name in "ABCD"])
    leaf = st.one_of(bound, st.integers(-2, 4), st.sampled_from([0.5, real(2.0), "pi"]))
    maybe = st.one_of(leaf, st.sampled_from([variables[name] for name in "XYZ"]))
    number = st.recursive(
        maybe,
        lambda n: st.one_of(
            st.tuples(st.sampled_from(["+", "-", "*", "/", "//", "mod", "min", "max", "**", "/\\"]), n, n),
            st.tuples(st.sampled_from(["-", "abs", "floor", "float", "\\"]), n),
        ),
        max_leaves=3,
    )
    thing = st.one_of(maybe, st.sampled_from(["a", (), ("[|]", 1, ())]))
    simple = st.one_of(
        st.tuples(st.sampled_from(["<", ">", "=<", ">=", "=:=", "=\\="]), number, number),
        st.tuples(st.sampled_from(["=", "\\=", "==", "\\=="]), thing, thing),
        st.tuples(st.just("is"), maybe, number),
        st.sampled_from(["true", "fail"]),
    )
    goals = st.recursive(
        simple,
        lambda g: st.one_of(
            st.tuples(st.sampled_from([",", ",", ";", "->"]), g, g),
            st.tuples(st.just("\\+"), g),
            st.tuples(st.just(";"), st.tuples(st.just("->"), g, g), g),
        ),
        max_leaves=5,
    )
    return Goal(draw(goals), variables), types, values


@pytest.mark.property
@by_day(2)
@given(cases())
def test_inlined_goals_agree_with_the_solver(case: tuple[Goal, dict[str, str], dict[str, Any]]) -> None:
    goal, types, values = case
    test = inline(goal, types)
    if test is not None:
        expected = outcome(lambda: solve(goal, values))
        found = outcome(lambda: run(test, values))
        assert found == expected
        kinds = {"int": int, "float": float, "number": (int, float)}
        for name, kind in test.bindings:
            if isinstance(found, dict) and kind in kinds:
                assert isinstance(found[name], kinds[kind])


@pytest.mark.parametrize(
    ("text", "types", "source"),
    [
        ("Y < 100", {"Y": "int"}, "(y < k100)"),
        ("Y < 100", {"Y": "term"}, "((y if y.__class__ in logic_numbers else logic_number(y)) < k100)"),
        ("X = Y", {"X": "term", "Y": "term"}, "(x == y)"),
        ("X \\= a", {"X": "string"}, "(x != ka)"),
        ("X =:= Y", {"X": "float", "Y": "float"}, "logic_equal(x, y)"),
        ("X =:= Y", {"X": "int", "Y": "float"}, "logic_equal(x, y)"),
        ("Z is X + Y", {"X": "int", "Y": "int"}, "((z := (x + y)) is not None)"),
        ("(X > 1 ; X < 0), Y > 2", {"X": "int", "Y": "int"}, "(((x > k1) and (y > k2)) or ((x < k0) and (y > k2)))"),
        ("\\+ X = 2, Y > 2", {"X": "int", "Y": "int"}, "((not (x == k2)) and (y > k2))"),
        ("(X > 1 -> Y > 2 ; true)", {"X": "int", "Y": "int"}, "((y > k2) if (x > k1) else True)"),
    ],
)
def test_source(text: str, types: dict[str, str], source: str) -> None:
    test = inline(to_logic(parse_term(text)), types)
    assert test is not None
    assert test.source({"X": "x", "Y": "y", "Z": "z"}, lambda value: f"k{value}") == source


@pytest.mark.parametrize(
    "text",
    [
        "near(X, Y)",
        "Z > 1",
        "X = f(Z)",
        "X = Z, Z = Y ; true",
        "\\+ Z is X + 1",
        "Z == 1",
        "call(X)",
        "X is foo",
        "Z = W",
    ],
)
def test_goals_left_to_the_solver(text: str) -> None:
    assert inline(to_logic(parse_term(text)), {"X": "int", "Y": "int"}) is None


def test_bindings_tell_their_types() -> None:
    test = inline(to_logic(parse_term("A is X * 2, B is X / 2, C = a, (X > 0 -> D is 1.5 ; D = b)")), {"X": "int"})
    assert test is not None
    assert test.bindings == (("A", "int"), ("B", "number"), ("C", "term"), ("D", "term"))
