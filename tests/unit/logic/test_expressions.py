"""The table of expressions: each line of expressions.txt has the value that it says; and what holds of all of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from etalis.data.values import MAX_DEPTH, Struct, format_value, real
from etalis.language.lower import new_database, to_logic
from etalis.language.read.parser import parse_term
from etalis.logic.errors import LogicLimitError
from etalis.logic.knowledge.cell_values import XSD
from etalis.logic.solver import Solver
from etalis.logic.sparql.errors import ExpressionError
from etalis.logic.sparql.expressions import compile_expression, evaluate_term, holds_term
from etalis.logic.sparql.functions import FORMS, FUNCTIONS
from etalis.logic.terms.unify import Variable

TEXT = (Path(__file__).parent / "expressions.txt").read_text().splitlines()
ROWS = [(i, *line.split(" ==> ")) for i, line in enumerate(TEXT, 1) if " ==> " in line]
TRUTH = {word: f'"{word}"^^<{XSD}boolean>' for word in ("true", "false")}


def full(text: str) -> str:
    """Write literals and datatypes of the table as atoms."""
    text = re.sub(r'"([^"]*)"\^\^xsd:(\w+)', rf'"\1"^^<{XSD}\2>', text)
    text = re.sub(r"(?<![\w<'])(xsd:\w+)", lambda found: f"'<{XSD}{found[1][4:]}>'", text)
    text = (
        re.sub(r'"[^"]*"(?:\^\^<[^>]*>|@[\w-]+)?', lambda found: f"'{found[0]}'", text) if "'\"" not in text else text
    )
    return re.sub(r"(?<=[ (])(true|false)(?=[,)])", lambda found: f"'{TRUTH[found[1]]}'", text)


def value_of(text: str) -> str:
    try:
        return format_value(evaluate_term(to_logic(parse_term(full(text))).term))
    except ExpressionError:
        return "error"


@pytest.mark.parametrize(("line", "expression", "expected"), ROWS, ids=[f"{i}: {goal}" for i, goal, _ in ROWS])
def test_expression(line: int, expression: str, expected: str) -> None:
    wanted = f"'{TRUTH[expected]}'" if expected in TRUTH else full(expected)
    assert value_of(expression) == (wanted if wanted == "error" else format_value(read(wanted)))


def read(text: str) -> object:
    (found,) = Solver(new_database()).solve(to_logic(parse_term(f"X = {text}")))
    return found["X"]


def test_every_function_is_in_the_table_with_a_value_and_with_an_error() -> None:
    seen = {full(f" {text}").strip().split("(")[0].strip("'"): set() for _, text, _ in ROWS}
    for _, text, expected in ROWS:
        seen[full(f" {text}").strip().split("(")[0].strip("'")].add(expected == "error")
    assert {name for name in FUNCTIONS if False not in seen[name]} == set()
    assert {name for name in FUNCTIONS if True not in seen[name]} == {"bound"}


def test_values_are_of_the_type_that_their_function_gives() -> None:
    types = {"string": str, "int": int, "float": float, "term": object}
    for _, text, expected in ROWS:
        name = full(f" {text}").strip().split("(")[0].strip("'")
        if expected != "error" and name in FUNCTIONS:
            assert isinstance(evaluate_term(to_logic(parse_term(full(text))).term), types[FUNCTIONS[name].gives]), text


def test_forms_have_no_function_of_their_own() -> None:
    assert {name for name, row in FUNCTIONS.items() if row.compute is None} == set(FORMS)
    assert FUNCTIONS["regex"].takes(2)
    assert not FUNCTIONS["regex"].takes(4)
    assert FUNCTIONS["concat"].takes(0)
    assert evaluate_term(("concat",)) == ""


def test_operators_in_a_row_may_be_many_and_nesting_may_not() -> None:
    term: object = 0
    for _ in range(5_000):
        term = ("+", term, 1)
    assert evaluate_term(term) == 5_000
    term = TRUTH["false"]
    for _ in range(5_000):
        term = ("||", term, ("=", 1, 2))
    assert not holds_term(term)
    assert holds_term(("!", term))
    deep: object = 1
    for _ in range(MAX_DEPTH + 2):
        deep = ("abs", deep)
    with pytest.raises(LogicLimitError, match="nesting of an expression"):
        evaluate_term(deep)


def test_a_value_that_is_a_compound_term_is_an_expression_as_it_is_in_the_goal() -> None:
    x = Variable()
    evaluator = compile_expression(("+", x, 1), {x: 0})
    assert evaluator([Struct("*", (2, 3))]) == 7
    assert evaluate_term(("+", ("*", 2, 3), 1)) == 7
    with pytest.raises(ExpressionError):
        evaluator([Struct("f", (1,))])
    with pytest.raises(ExpressionError):
        evaluator([(1, 2)])


def test_a_result_that_cannot_be_read_again_is_an_error() -> None:
    with pytest.raises(ExpressionError):
        evaluate_term(("*", 10**4_000, 10**4_000))
    assert holds_term((">", ("*", 10**4_000, 10**4_000), 1))
    with pytest.raises(ExpressionError):
        evaluate_term(("concat", *["x" * 100_000] * 11))
    with pytest.raises(ExpressionError):
        evaluate_term(("replace", "x" * 10_000, "x", "y" * 200))
    with pytest.raises(ExpressionError):
        evaluate_term(("replace", "x" * 10_000, "x+", "$0" * 200))
    with pytest.raises(ExpressionError):
        evaluate_term(("regex", "x", "x" * 2_000))
    with pytest.raises(ExpressionError):
        evaluate_term(("md5", "\ud800"))


def test_an_integer_that_no_float_is_near_is_infinite_beside_a_float() -> None:
    assert evaluate_term(("*", 10**400, real(2.0))) == f'"INF"^^<{XSD}double>'
    assert evaluate_term(("/", 10**400, 10)) == f'"INF"^^<{XSD}double>'
    assert holds_term((">", 10**400, real(2.0)))


def test_malformed_terms_are_errors() -> None:
    for text in ('"', '"a"^^', '"a"@', '"\\q"', "<http://x"):
        assert not holds_term(("=", text, text)), text
