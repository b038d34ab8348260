"""Expressions of queries evaluated over a solution: bindings by name, and the interval of the group."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TypeAlias

from etalis.data.values import Value
from etalis.epsparql.windows import TIMES
from etalis.language.lower import to_logic
from etalis.language.syntax import Compound, Term, Var
from etalis.logic.knowledge.cell_values import seconds
from etalis.logic.sparql import expressions
from etalis.logic.sparql.errors import ExpressionError as ExpressionError
from etalis.logic.sparql.expressions import Evaluator
from etalis.logic.sparql.values import write_value

Bindings: TypeAlias = Mapping[str, Value]  # a variable without a value is left out, or None, or `null`
TimeInterval: TypeAlias = tuple[int, int]  # microseconds

_ENDS = (Var("_#start"), Var("_#end"))
_REMEMBERED = 4_096


def evaluate(expression: Term, bindings: Bindings, interval: TimeInterval | None = None) -> Value:
    """Return the value of an expression as a term in the exact naming; `ExpressionError` if it has none.

    >>> evaluate(Compound("getduration", ()), {}, (1_000_000, 91_000_000))
    '"PT1M30S"^^<http://www.w3.org/2001/XMLSchema#duration>'
    """
    evaluator, names = _compile(expression)
    return write_value(evaluator(_row(names, bindings, interval)))


def holds(expression: Term, bindings: Bindings, interval: TimeInterval | None = None) -> bool:
    """Tell whether the effective boolean value of an expression is true; an error is false."""
    evaluator, names = _compile(expression)
    return expressions.holds(evaluator, _row(names, bindings, interval))


def with_ends(expression: Term, start: Term, end: Term) -> Term:
    """Return an expression whose functions of time have the two ends of their group, in seconds, as arguments."""
    match expression:
        case Compound(name=name, args=()) if name in TIMES:
            return Compound(name, (start, end), expression.span)
        case Compound(name=name, args=args):
            return Compound(name, tuple(with_ends(arg, start, end) for arg in args), expression.span)
        case _:
            return expression


@functools.lru_cache(_REMEMBERED)
def _compile(expression: Term) -> tuple[Evaluator, tuple[str, ...]]:
    goal = to_logic(with_ends(expression, *_ENDS))
    names = tuple(goal.variables)
    places = {goal.variables[name]: place for place, name in enumerate(names)}
    return expressions.compile_expression(goal.term, places), names


def _row(names: tuple[str, ...], bindings: Bindings, interval: TimeInterval | None) -> list[Value | None]:
    ends: Bindings = {}
    if interval is not None:
        ends = {end.name: seconds(time) for end, time in zip(_ENDS, interval, strict=True)}
    return [ends.get(name) if name.startswith("_#") else bindings.get(name) for name in names]
