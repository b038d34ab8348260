"""Expressions of SPARQL: the evaluator against pyoxigraph, and generated code against the solver."""

from __future__ import annotations

import math
from typing import Any

from hypothesis import given

from etalis.data.values import Value
from etalis.epsparql.expressions import ExpressionError, evaluate, holds
from etalis.language.syntax import Term
from etalis.logic.rdf.exact_terms import encode
from helpers.sparql_expressions import ask_pyoxigraph, bindings, expressions


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
    assert holds(expression, values) is (mine is not None and _truth(expression, values))


def _truth(expression: Term, values: dict[str, Value]) -> bool:
    return holds(expression, values)
