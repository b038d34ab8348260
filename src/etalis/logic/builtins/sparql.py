"""Expressions of SPARQL as goals: `sparql(E)` tests one, `sparql(E, V)` computes its value.

An error is no error of the goal: the test fails, and the value stays unbound. A variable without a value, and `null`,
are unbound in the expression. `sparql_blank(Query, Label, [Start, End, name = V, ...], Node)` names a blank node of a
template, for a solution on an interval in seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from etalis.data.values import Real
from etalis.logic.errors import LogicLimitError
from etalis.logic.machine.database import Key
from etalis.logic.machine.machine import Machine, Test
from etalis.logic.sparql.errors import ExpressionError
from etalis.logic.sparql.expressions import evaluate_term, holds_term
from etalis.logic.sparql.new_blanks import name_blank
from etalis.logic.sparql.times import as_seconds
from etalis.logic.terms.iso_errors import type_error
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
    items, tail = split_list(listed)
    given = [deref(item) for item in items]
    ends, pairs = given[:2], given[2:]
    if tail != () or len(ends) < 2 or not all(_is_pair(pair) for pair in pairs):
        raise type_error("solution", listed)
    machine.trail.charge(len(given))
    said = [(name, value) for _, name, part in pairs if (value := deref(part)).__class__ is not Variable]
    return unify(node, name_blank(query, label, said, (_microseconds(ends[0]), _microseconds(ends[1]))), machine.trail)


def _is_pair(term: Term) -> bool:
    return term.__class__ is tuple and len(term) == 3 and term[0] == "=" and term[1].__class__ is str


def _microseconds(seconds: Term) -> int:
    if seconds.__class__ not in (int, float, Real):
        raise type_error("number", seconds)
    return int(as_seconds(seconds) * MICROSECONDS)


SPARQL_TESTS: Mapping[Key, Test] = MappingProxyType(
    {("sparql", 1): _holds, ("sparql", 2): _is_value, ("sparql_blank", 4): _is_blank}
)
