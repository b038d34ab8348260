"""Which variables a pattern binds, and which an expression asks for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from etalis.epsparql import syntax as s
from etalis.epsparql.read.functions import AGGREGATES
from etalis.language.syntax import Compound, ListTerm, Term, Var


def variables_of(term: Term, *, aggregated: bool = True) -> Iterator[Var]:
    """Yield the variables of a term or expression; those inside aggregates only if `aggregated`."""
    waiting = [term]
    while waiting:
        match waiting.pop():
            case Var() as found:
                yield found
            case Compound(name=name, args=arguments) if aggregated or name not in AGGREGATES:
                waiting.extend(reversed(arguments))
            case ListTerm(items=items):
                waiting.extend(reversed(items))


def has_aggregate(term: Term) -> bool:
    """Tell whether an expression holds an aggregate."""
    waiting = [term]
    while waiting:
        found = waiting.pop()
        if isinstance(found, Compound):
            if found.name in AGGREGATES:
                return True
            waiting.extend(found.args)
    return False


def bound_in(element: s.Element | s.GroupPattern) -> set[str]:
    """Return the names of the variables that an element may bind for what stands around it."""
    match element:
        case s.Triple(subject=subject, predicate=predicate, object=value):
            return _names(subject, predicate, value)
        case s.GroupPattern(elements=elements):
            return set().union(*map(bound_in, elements))
        case s.Chain(groups=groups) | s.Alternatives(groups=groups):
            return set().union(*map(bound_in, groups))
        case s.Optional(group=group):
            return bound_in(group)
        case s.Scoped(name=name, group=group):
            return _names(name) | bound_in(group)
        case s.BindAs(variable=variable):
            return {variable.name}
        case s.Values(variables=variables):
            return {variable.name for variable in variables}
        case s.SubSelect(query=query):
            return selected(query)
        case s.Folded(triple=triple, result=result):
            return bound_in(triple) | _names(result)
        case s.AskGoal(goal=goal):
            return _names(goal)
        case s.Minus() | s.FilterBy() | s.Exists():
            return set()
    assert_never(element)


def selected(query: s.StreamQuery) -> set[str]:
    """Return the names of the variables that a SELECT reports."""
    if query.items is None:
        return {name for name in bound_by(query) if not name.startswith("_:")}
    return {item.variable.name for item in query.items}


def bound_by(query: s.StreamQuery) -> set[str]:
    """Return the names of the variables that the body of a query, and what stands behind it, may bind."""
    names = bound_in(query.body) | {item.variable.name for item in query.groups or () if item.expression is not None}
    return names | (set() if query.values is None else bound_in(query.values))


def inner_groups(element: s.Element) -> tuple[s.GroupPattern, ...]:
    """Return the groups right inside an element."""
    match element:
        case s.GroupPattern():
            return (element,)
        case s.Chain(groups=groups) | s.Alternatives(groups=groups):
            return groups
        case s.Optional(group=group) | s.Minus(group=group) | s.Scoped(group=group) | s.Exists(group=group):
            return (group,)
    return ()


def _names(*terms: Term) -> set[str]:
    return {variable.name for term in terms for variable in variables_of(term)}
