"""Expressions of SPARQL in generated code: on all pairs of awkward values what the evaluator says."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

import etalis
from etalis.data.values import Struct, real
from etalis.language.lower import new_database, to_logic
from etalis.language.read.parser import parse_term
from etalis.logic.knowledge.cell_values import XSD
from etalis.logic.solver import Solver
from etalis.logic.sparql.errors import ExpressionError
from etalis.logic.sparql.expressions import compile_expression, holds
from etalis.logic.sparql.values import write_value
from etalis.logic.terms.unify import Variable
from helpers.compiled_goals import DECLINED, GoalRun

SOLVER = Solver(new_database())
NUMBERS = (0, 1, -2, 3, real(0.0), real(1.0), 0.5, real(-3.0), 10**400, -(10**31), 10**30, real(1e300), float("inf"))
TEXTS = ("", "a", "abc", "PT1S", "null", "<http://x/a>", "_:b", '"a"@en', '"abc"', '"', "<x")
LITERALS = (
    *(
        f'"{text}"^^<{XSD}{name}>'
        for text, name in (("true", "boolean"), ("1", "boolean"), ("x", "integer"), ("1", "byte"))
    ),
    *(f'"{text}"^^<{XSD}double>' for text in ("NaN", "INF")),
    *(f'"{text}"^^<{XSD}duration>' for text in ("PT1S", "PT1.0S", "P1M")),
    *(f'"1970-01-01T00:00:01{zone}"^^<{XSD}dateTime>' for zone in ("", "Z", "+00:00")),
)
VALUES = (
    *NUMBERS,
    *TEXTS,
    *LITERALS,
    None,
    (),
    (1, 2),
    Struct("+", (1, 2)),
    Struct("f", (1,)),
    Struct("iri", ("http://x/a",)),
)
IRI, DURATION, TAGGED = "'<http://x/a>'", f"""'"PT1S"^^<{XSD}duration>'""", """'"a"@en'"""
TESTS = (
    *(f"'{sign}'(X, Y)" for sign in ("<", ">", "<=", ">=", "=", "!=")),
    *(f"'{sign}'(X, '*'(Y, 1.5))" for sign in ("<", ">=", "=", "!=")),
    *(f"'{sign}'('+'(X, Y), '-'(Y, X))" for sign in ("<=", "=", "!=")),
    *(f"'='(X, {constant})" for constant in (IRI, "abc", "'PT1S'", DURATION, TAGGED, "null", "1", "'\"abc\"'", "1.0")),
    *(
        f"'{sign}'(getduration(X, Y), {c})"
        for sign, c in product(("<", "=", "!="), ("1", "0.5", "'PT1S'", "'P1M'", DURATION, "a"))
    ),
    "'<'(2, getduration(X, Y))",
    "'<'(getduration(X, Y), getduration(Y, X))",
    *(
        "'='('/'(X, Y), 2)",
        "'>'('/'(X, 2), Y)",
        "'>'('/'(X, 0), Y)",
        "'<'('/'(X, '+'(Y, 1)), 1)",
        "'>'(neg(X), pos(Y))",
    ),
    *("bound(X)", "bound(Z)", "'&&'(bound(X), '<'(X, Y))", "'||'('!'(bound(X)), '<'(X, Y))", "X", "strlen(X)"),
    *("'||'('<'(X, Y), '<'(Z, 1))", "'&&'('<'(X, Y), '<'(Z, 1))", "'>'(X, Z)", "'='(Z, a)", "unheard(X)"),
    "'<'('+'('+'('+'('+'(X, 1), '+'(2, 3)), '+'(4, 5)), '+'('+'(6, 7), 8)), Y)",
)
RESULTS = (
    "'+'(X, Y)",
    "'*'('-'(X, 1), 0.5)",
    "'/'(X, Y)",
    "'/'(X, 4)",
    "neg(X)",
    "pos(X)",
    "X",
    "'<'(X, Y)",
    "str(X)",
    "2",
)


def both(text: str, outputs: tuple[str, ...]) -> tuple[GoalRun, Any, list[str]]:
    """Return the generated code of an expression's goal, and the expression compiled by itself."""
    goal = to_logic(parse_term(f"sparql({text}{''.join(f', {name}' for name in outputs)})"))
    names = [name for name in ("X", "Y") if name in goal.variables]
    places: dict[Variable, int] = {goal.variables[name]: place for place, name in enumerate(names)}
    run = GoalRun(SOLVER, goal, dict.fromkeys(names, "term"), outputs)
    return run, compile_expression(goal.term[1], places), names


@pytest.mark.parametrize("text", [*TESTS, *(f"'!'({text})" for text in TESTS)])
def test_generated_code_says_what_the_evaluator_says(text: str) -> None:
    run, evaluator, names = both(text, ())
    for values in product(VALUES, repeat=len(names)):
        assert (run.found(values) is not None) is holds(evaluator, values), values
        assert not run.declined, "no test needs the solver"


@pytest.mark.parametrize("text", RESULTS)
def test_generated_code_gives_the_value_that_the_evaluator_gives(text: str) -> None:
    run, evaluator, names = both(text, ("V",))
    for values in product(VALUES, repeat=len(names)):
        try:
            expected = write_value(evaluator(values))
        except ExpressionError:
            expected = None
        assert run.found(values) == (expected,), values
        assert type(run.found(values)[0]) is type(expected), values


@pytest.mark.parametrize(
    ("goal", "found"),
    [
        ("sparql('/'(X, 0), V), sparql('!'(bound(V)))", (None,)),
        ("sparql('/'(X, 0), V), sparql(coalesce(V, 7), W), sparql('='(W, 7))", (None,)),
        ("sparql('/'(X, 0), V), (sparql('!'(bound(V))) ; fail)", DECLINED),
        ("sparql('/'(X, 0), V), V = 5", DECLINED),
        ("sparql('/'(X, 0), V), sparql('+'(X, 1), V)", DECLINED),
        ("V = 5, sparql('/'(X, 0), V)", DECLINED),
        ("sparql('+'(X, 1), V), V = 2", (2,)),
        ("sparql('/'(X, 0), f(V))", DECLINED),
    ],
)
def test_a_value_that_stays_unbound_is_left_to_the_solver_where_others_than_expressions_read_it(
    goal: str, found: object
) -> None:
    run = GoalRun(SOLVER, to_logic(parse_term(goal)), {"X": "term"}, ("V",))
    assert run.found([1]) == found


def test_numbers_are_compared_without_a_call() -> None:
    rule = "m(C, X, Y) <- (p(C, X) seq p(C, Y)) where sparql('>'(Y, '*'(X, 1.9)))."
    code = etalis.compile(rule).engine().code()
    assert "* 1.9" not in code, "constants are passed in"
    assert " > (" in code
    assert "__class__ in" in code


def test_an_expression_that_is_nested_too_deep_is_reported() -> None:
    deep = "X"
    for _ in range(150):
        deep = f"abs({deep})"
    rule = f"d(X) <- a(X) where (sparql(abs(X), V), sparql('='({deep}, V)))."
    engine = etalis.compile(rule).engine()
    assert [str(match) for match in engine.push("a", -3, at=1)] == ["d(-3) [1, 1]"]
