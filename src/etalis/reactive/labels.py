"""Facts and labels of steps: from terms whose variables are bound."""

from __future__ import annotations

from collections.abc import Sequence

from etalis.data.values import Value
from etalis.logic.errors import LogicError
from etalis.logic.machine.database import is_callable
from etalis.logic.terms.iso_errors import domain_error, instantiation_error, type_error
from etalis.logic.terms.unify import Term, Trail, Variable, copy, deref, to_value, undo, unify, variables
from etalis.logic.terms.write import format_term
from etalis.reactive.execution import Label
from etalis.reactive.terms import Written

_ANYTHING = ("_",)


def fact_of(term: Term, loose: Sequence[Variable] = ()) -> tuple[str, tuple[Term, ...]]:
    """Return name and arguments of a fact; only its `loose` variables, which stand for anything, may be unbound."""
    term = deref(term)
    if isinstance(term, Variable):
        raise instantiation_error()
    if not is_callable(term):
        raise type_error("callable", term)
    if term.__class__ is str:
        return term, ()
    row = []
    for part in term[1:]:
        while part.__class__ is Variable and part.ref is not None:
            part = part.ref
        if part.__class__ is Variable or (part.__class__ is tuple and part):
            if any(v not in loose for v in variables(part)):
                raise instantiation_error()
            part = part if loose else copy(part)
        row.append(part)
    return term[0], tuple(row)


def label_of(leaf: Term) -> Label:
    """Return the label of a step; refuse one with a variable that has no value."""
    kind, term, *more = leaf
    fact_of(term, more if kind == "del" else ())
    if kind == "del":
        trail = Trail()
        for variable in more:
            unify(variable, _ANYTHING, trail)
        value = to_value(term)
        undo(trail, 0)
        return Label("del", value)
    return Label(kind, to_value(term), seconds(more[0]) if more else None)


def seconds(term: Term) -> Value:
    """Return after how many seconds an event is raised."""
    value = deref(term)
    if isinstance(value, Variable):
        raise instantiation_error()
    if not isinstance(value, int | float):
        raise type_error("number", value)
    if value <= 0:
        raise domain_error("delay", value)
    return value


def show_leaf(leaf: Term) -> str:
    """Return a test or step, with its values, for a message."""
    match leaf:
        case str():
            return leaf
        case ("choose", test, *_):
            return show_leaf(test)
        case ("test" | "call" | "possible" | "impossible", inner, Written() as written):
            return written.show(inner)
        case (kind, *parts):
            try:
                return str(label_of(leaf))
            except LogicError:
                return format_term((kind, parts[0]))
    raise AssertionError(leaf)
