"""Expressions of queries over solutions: bindings by name, the interval of the group, errors."""

from __future__ import annotations

import pytest

from etalis.data.values import real
from etalis.epsparql.expressions import ExpressionError, evaluate, holds, with_ends
from etalis.language.syntax import Compound, Const, Term, Var
from etalis.logic.knowledge.cell_values import XSD

X, Y = Var("X"), Var("Y")


def call(name: str, *args: Term | int | float | str) -> Compound:
    return Compound(name, tuple(arg if isinstance(arg, Var | Compound) else Const(arg) for arg in args))


def test_bindings_are_found_by_name_and_those_left_out_are_unbound() -> None:
    assert evaluate(call("-", Y, X), {"X": 10, "Y": 16}) == 6
    assert holds(call(">", Y, call("*", X, 1.5)), {"X": 10, "Y": 16})
    for given in ({"X": 1}, {"X": 1, "Y": None}, {"X": 1, "Y": "null"}):
        assert not holds(call("bound", Y), given)
        assert holds(call("!", call("bound", Y)), given)
        with pytest.raises(ExpressionError):
            evaluate(call("+", X, Y), given)


def test_values_are_terms_in_the_exact_naming() -> None:
    assert evaluate(call("=", X, 1), {"X": real(1.0)}) == f'"true"^^<{XSD}boolean>'
    assert evaluate(call("*", X, 2), {"X": 0.5}) == real(1.0)
    assert isinstance(evaluate(call("*", X, 2), {"X": 0.5}), type(real(1.0)))
    assert evaluate(X, {"X": "<http://x/a>"}) == "<http://x/a>"
    assert evaluate(call("strlang", X, "EN"), {"X": "a"}) == '"a"@en'


def test_the_interval_of_the_group_is_seen_in_microseconds() -> None:
    times = [
        evaluate(call(name), {}, (1_500_000, 61_500_000)) for name in ("getduration", "getstarttime", "getendtime")
    ]
    assert times == [
        f'"PT1M"^^<{XSD}duration>',
        f'"1970-01-01T00:00:01.5Z"^^<{XSD}dateTime>',
        f'"1970-01-01T00:01:01.5Z"^^<{XSD}dateTime>',
    ]
    assert holds(call("<", call("getduration"), "PT4S"), {}, (1_000_000, 4_000_000))
    assert not holds(call("<", call("getduration"), "PT3S"), {}, (1_000_000, 4_000_000))
    assert holds(call("<=", call("getduration"), 3), {}, (1_000_000, 4_000_000))
    assert evaluate(call("<=", call("getendtime"), 4), {}, (1_000_000, 4_000_000)) == f'"true"^^<{XSD}boolean>'
    assert evaluate(call(f"<{XSD}double>", call("getduration")), {}, (0, 1)) == 1e-6


def test_without_an_interval_its_functions_are_errors() -> None:
    assert not holds(call("=", call("getduration"), call("getduration")), {})
    with pytest.raises(ExpressionError):
        evaluate(call("getstarttime"), {}, None)
    assert holds(call("||", call("=", call("getduration"), 1), call("=", X, 1)), {"X": 1})


def test_ends_are_put_into_functions_of_time_alone() -> None:
    inner = call("getduration")
    expression = call("&&", call("<", inner, 5), call("strlen", X))
    ends = Var("S"), Var("E")
    assert with_ends(expression, *ends) == call("&&", call("<", call("getduration", *ends), 5), call("strlen", X))
    assert with_ends(X, *ends) == X
