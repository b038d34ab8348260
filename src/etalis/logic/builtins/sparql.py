"""Expressions of SPARQL as goals: `sparql(E)` tests one, `sparql(E, V)` computes its value.

An error is no error of the goal: the test fails, and the value stays unbound. A variable without a value, and `null`,
are unbound in the expression.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from etalis.logic.errors import LogicLimitError
from etalis.logic.machine.database import Key
from etalis.logic.machine.machine import Machine, Test
from etalis.logic.sparql.errors import ExpressionError
from etalis.logic.sparql.expressions import evaluate_term, holds_term
from etalis.logic.terms.unify import MAX_CELLS, Term, Trail, deref, unify


def _charge(term: Term, trail: Trail) -> None:
    """Charge for all parts of an expression."""
    todo, cells = [term], 0
    while todo:
        x = deref(todo.pop())
        if x.__class__ is tuple:
            cells += 1
            if cells > MAX_CELLS:
                raise LogicLimitError("size", MAX_CELLS)
            todo.extend(x[1:])
    trail.charge(cells)


def _holds(machine: Machine, args: tuple[Term, ...]) -> bool:
    _charge(args[0], machine.trail)
    return holds_term(args[0])


def _is_value(machine: Machine, args: tuple[Term, ...]) -> bool:
    _charge(args[0], machine.trail)
    try:
        value = evaluate_term(args[0])
    except ExpressionError:
        return True
    return unify(args[1], value, machine.trail)


SPARQL_TESTS: Mapping[Key, Test] = MappingProxyType({("sparql", 1): _holds, ("sparql", 2): _is_value})
