"""Expressions of SPARQL: the evaluator against pyoxigraph, and generated code against the solver."""

from __future__ import annotations

import math
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from etalis.data.values import Struct, Value, real
from etalis.epsparql.expressions import ExpressionError, evaluate, holds
from etalis.language.lower import new_database, to_logic
from etalis.language.syntax import Compound, Const, Term, Var
from etalis.language.traversal import variables
from etalis.logic.rdf.exact_terms import encode
from etalis.logic.solver import Solver
from etalis.logic.sparql.values import TRUTH
from helpers.compiled_goals import GoalRun
from helpers.sparql_expressions import ask_pyoxigraph, bindings, call, comparisons, expressions, truths


def value_of(expression: Term, values: dict[str, Value]) -> Value | None:
    try:
        return evaluate(expression, values)
    except ExpressionError:
        return None


def agree(mine: Value | None, theirs: Any) -> bool:
    """Tell whether two answers are one: numbers by value, an integer an integer, all else the same term."""
    if mine is None or theirs is None:
        return mine is None and theirs is None
    other = encode(theirs)
    if isinstance(mine, float) and isinstance(other, float):
        return math.isclose(mine, other, rel_tol=1e-9, abs_tol=1e-9)
    return type(mine) is type(other) and mine == other


@given(expressions(), bindings())
def test_the_evaluator_agrees_with_pyoxigraph(expression: Term, values: dict[str, Value]) -> None:
    mine, theirs = value_of(expression, values), ask_pyoxigraph(expression, values)
    assert agree(mine, theirs), f"{mine!r}, pyoxigraph {theirs}"


@given(truths(3), bindings())
def test_a_filter_passes_what_pyoxigraph_passes(expression: Term, values: dict[str, Value]) -> None:
    theirs = ask_pyoxigraph(call("if", expression, Const(TRUTH[True]), Const(TRUTH[False])), values)
    assert holds(expression, values) is (theirs is not None and theirs.value == "true")


SOLVER = Solver(new_database())
ODD = st.sampled_from(
    [None, "null", 10**400, -(10**31), real(1e300), real(2.0), (1, 2), Struct("+", (1, 2)), Struct("f", (1,))]
)
TYPES = st.sampled_from(["term", "term", "number", "int", "float", "string"])


def fits(value: Value, declared: str) -> bool:
    classes = {"number": (int, float), "int": (int,), "float": (float,), "string": (str,), "term": (object,)}
    return isinstance(value, classes[declared]) or value == "null"


LENGTHS = (0, 1, 0.5, -3, "PT1S", "PT0.5S", "P1M", "a", '"PT1M"^^<http://www.w3.org/2001/XMLSchema#duration>')


@st.composite
def lengths(draw: st.DrawFn) -> Term:
    """Draw a comparison of the length of an interval."""
    sides = [call("getduration", Var("X"), Var("Y")), Const(draw(st.sampled_from(LENGTHS)))]
    if draw(st.booleans()):
        sides.reverse()
    return call(draw(st.sampled_from(["<", ">", "<=", ">=", "=", "!="])), *sides)


@given(st.data())
def test_generated_code_agrees_with_the_solver(data: st.DataObject) -> None:
    expression = data.draw(st.one_of(expressions(), comparisons(), lengths()))
    names = sorted({v.name for v in variables(expression)})
    values = data.draw(bindings())
    given_values = [data.draw(st.one_of(st.just(values[n]), st.just(values[n]), ODD)) for n in names]
    types = {n: data.draw(TYPES) for n in names}
    types = {n: t if fits(v, t) else "term" for (n, t), v in zip(types.items(), given_values, strict=True)}
    outputs = data.draw(st.sampled_from([(), ("V",)]))
    goal = to_logic(Compound("sparql", (expression, *map(Var, outputs))))
    run = GoalRun(SOLVER, goal, types, outputs)
    found, expected = run.found(given_values), run.expected(given_values)
    assert found == expected
    assert list(map(type, found or ())) == list(map(type, expected or ()))
