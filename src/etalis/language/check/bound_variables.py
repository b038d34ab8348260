"""Which variables a pattern binds for the rest of its rule (definition 9.17).

`or` binds for sure only what both sides bind; a negated pattern binds nothing outside itself; a repetition binds what
is also used outside it; an aggregate binds its result and what groups it, never the variable it aggregates.
"""

from __future__ import annotations

from collections import Counter
from functools import reduce
from typing import assert_never

from etalis.language import syntax as s
from etalis.language.check.goals import NOTHING, BoundVariables, Names, bound_by
from etalis.language.traversal import children, fold, names, terms, variables


def bindings(pattern: s.Pattern) -> dict[int, BoundVariables]:
    """Return what every node of a pattern binds, by the id of the node."""
    return fold(pattern, bound_by_node)


def bound_by_node(node: s.Pattern, parts: tuple[BoundVariables, ...]) -> BoundVariables:
    """Return what a node binds, from what the patterns directly under it bind."""
    if isinstance(node, s.Modifier):
        return parts[0].also(bound_by(node.goal)) if isinstance(node, s.Condition) else parts[0]
    match node:
        case s.EventPattern() | s.SubRule():
            found = names(variables(*terms(node)))
            return BoundVariables(found, found)
        case s.TimePoint():
            return NOTHING
        case s.Binary(alone=None):
            return parts[0].also(parts[1])
        case s.Binary(alone=alone):
            always = parts[0 if alone == "left" else 1].always
            return BoundVariables(always, parts[0].perhaps | parts[1].perhaps)
        case s.Or():
            return parts[0].either(parts[1])
        case s.AnyOf(count=count):
            return _some_of(parts, count)
        case s.Aggregate(value=value, result=result):
            aggregated = frozenset() if value is None else names(variables(value))
            found = names(variables(result))
            return BoundVariables((parts[0].always - aggregated) | found, (parts[0].perhaps - aggregated) | found)
        case s.NotWithin() | s.Repeat():
            return parts[0]
        case _:
            assert_never(node)


def _some_of(parts: tuple[BoundVariables, ...], count: int) -> BoundVariables:
    """A variable is bound for sure if too few parts leave it out to fill a choice of `count`."""
    times = Counter(name for part in parts for name in part.always)
    sure = frozenset(name for name, n in times.items() if len(parts) - n < count)
    return BoundVariables(sure, reduce(frozenset.union, (part.perhaps for part in parts), frozenset()))


def mentioned(pattern: s.Pattern) -> Names:
    """Return the variables of a pattern that what is around it can share.

    Those of a negated pattern alone, and those that an aggregate is taken of, are local (definition 11.10 and 14.9).
    """

    def combine(node: s.Pattern, parts: tuple[Names, ...]) -> Names:
        own = names(variables(*terms(node)))
        match node:
            case s.Negation() | s.NotWithin():
                return parts[0]
            case s.Aggregate(value=value, result=result):
                aggregated = frozenset() if value is None else names(variables(value))
                return (parts[0] - aggregated) | names(variables(result))
            case _:
                return own.union(*parts)

    return fold(pattern, combine)[id(pattern)]


def left_of(pattern: s.Pattern) -> dict[int, Names]:
    """Return, by the id of each node, the variables that what stands left of it in a sequence may bind."""
    bound = bindings(pattern)
    found: dict[int, Names] = {id(pattern): frozenset()}
    waiting: list[s.Pattern] = [pattern]
    while waiting:
        node = waiting.pop()
        outside = found[id(node)]
        for part in children(node):
            found[id(part)] = outside
            waiting.append(part)
        if isinstance(node, s.Binary):
            found[id(node.right)] = outside | bound[id(node.left)].perhaps
    return found
