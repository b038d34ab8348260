"""Expressions of SPARQL as goals: `sparql(E)` tests one, `sparql(E, V)` computes its value.

An error is no error of the goal: the test fails, and the value stays unbound. A variable without a value, and `null`,
are unbound in the expression. `sparql_blank(Query, Label, [Start, End, name = V, ...], Node)` names a blank node of a
template, for a solution on an interval in seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from etalis.logic.errors import LogicLimitError
from etalis.logic.machine.database import Key
from etalis.logic.machine.machine import Machine, Test
from etalis.logic.sparql.errors import ExpressionError
from etalis.logic.sparql.expressions import evaluate_term, holds_term
from etalis.logic.sparql.new_blanks import name_blank
from etalis.logic.sparql.times import as_seconds
from etalis.logic.terms.unify import MAX_CELLS, Term, Trail, Variable, deref, split_list, unify
from etalis.temporal.interval import MICROSECONDS


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


def _is_blank(machine: Machine, args: tuple[Term, ...]) -> bool:
    query, label, listed, node = map(deref, args)
    items, _ = split_list(listed)
    start, end, *pairs = (deref(item) for item in items)
    said = [(name, value) for _, name, given in pairs if (value := deref(given)).__class__ is not Variable]
    made = name_blank(query, label, said, (_microseconds(start), _microseconds(end)))
    return unify(node, made, machine.trail)


def _microseconds(seconds: Term) -> int:
    return int(as_seconds(seconds) * MICROSECONDS)


SPARQL_TESTS: Mapping[Key, Test] = MappingProxyType(
    {("sparql", 1): _holds, ("sparql", 2): _is_value, ("sparql_blank", 4): _is_blank}
)
