"""Walking syntax trees without recursion, so that a pattern of ten thousand parts meets no limit.

`PARTS` is the one table of which patterns and terms stand directly under a node; walks, folds and rewrites follow from
it. A sub-rule is a leaf here: it is a rule of its own (see `rules.lift`), known outside by its head alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar, assert_never

from etalis.language.syntax import (
    Aggregate,
    AnyOf,
    Binary,
    Compound,
    Condition,
    Const,
    Do,
    EventPattern,
    Isolated,
    Last,
    ListTerm,
    Negation,
    NotWithin,
    Or,
    Pattern,
    Repeat,
    Rule,
    SubRule,
    Term,
    TimePoint,
    Var,
    Within,
)

T = TypeVar("T")


class Parts(NamedTuple):
    """The fields of a node that hold patterns, and those that hold terms, in their written order."""

    patterns: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()


PARTS: Mapping[type[Pattern], Parts] = MappingProxyType(
    {
        EventPattern: Parts(terms=("args",)),
        TimePoint: Parts(),
        SubRule: Parts(),
        Binary: Parts(("left", "right")),
        Or: Parts(("left", "right")),
        Negation: Parts(("pattern", "absent")),
        NotWithin: Parts(("pattern", "absent")),
        AnyOf: Parts(("patterns",)),
        Condition: Parts(("pattern",), ("goal",)),
        Within: Parts(("pattern",)),
        Last: Parts(("pattern",)),
        Do: Parts(("pattern",), ("action",)),
        Isolated: Parts(("pattern",)),
        Repeat: Parts(("pattern",), ("least", "most")),
        Aggregate: Parts(("pattern",), ("value", "result")),
    }
)


def _held(pattern: Pattern, fields: tuple[str, ...]) -> Iterator[Any]:
    for field in fields:
        found = getattr(pattern, field)
        if isinstance(found, tuple):
            yield from found
        elif found is not None:
            yield found


def children(pattern: Pattern) -> tuple[Pattern, ...]:
    """Return the patterns directly under a pattern, from left to right."""
    return tuple(_held(pattern, PARTS[type(pattern)].patterns))


def with_children(pattern: Pattern, parts: tuple[Pattern, ...]) -> Pattern:
    """Return the pattern with other patterns directly under it."""
    if isinstance(pattern, AnyOf):
        return replace(pattern, patterns=parts)
    changes: dict[str, Any] = dict(zip(PARTS[type(pattern)].patterns, parts, strict=True))
    return replace(pattern, **changes)


def postorder(pattern: Pattern) -> list[Pattern]:
    """Return every pattern in a pattern, parts before wholes, left before right."""
    found: list[Pattern] = []
    waiting: list[Pattern] = [pattern]
    while waiting:
        node = waiting.pop()
        found.append(node)
        waiting.extend(children(node))
    found.reverse()
    return found


def fold(pattern: Pattern, combine: Callable[[Pattern, tuple[T, ...]], T]) -> dict[int, T]:
    """Combine results bottom-up; the answer maps the id of every node to its result."""
    results: dict[int, T] = {}
    for node in postorder(pattern):
        results[id(node)] = combine(node, tuple(results[id(part)] for part in children(node)))
    return results


def rewrite(pattern: Pattern, change: Callable[[Pattern], Pattern]) -> Pattern:
    """Apply `change` to every node, parts first, and return the new pattern."""

    def combine(node: Pattern, parts: tuple[Pattern, ...]) -> Pattern:
        old = children(node)
        same = all(a is b for a, b in zip(old, parts, strict=True))
        return change(node if same else with_children(node, parts))

    return fold(pattern, combine)[id(pattern)]


def terms(pattern: Pattern) -> tuple[Term, ...]:
    """Return the terms written in one node itself, in their written order."""
    node = pattern.rule.head if isinstance(pattern, SubRule) else pattern
    return tuple(_held(node, PARTS[type(node)].terms))


def subterms(term: Term) -> Iterator[Term]:
    """Yield a term and every term inside it, from left to right."""
    waiting = [term]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(arguments(node)))


def arguments(term: Term) -> tuple[Term, ...]:
    """Return the terms directly inside a term."""
    match term:
        case Var() | Const():
            return ()
        case Compound(args=args):
            return args
        case ListTerm(items=items, tail=tail):
            return items if tail is None else (*items, tail)
        case _:
            assert_never(term)


def variables(*several: Term) -> Iterator[Var]:
    """Yield every occurrence of a variable, from left to right."""
    for term in several:
        for part in subterms(term):
            if isinstance(part, Var):
                yield part


def names(found: Iterable[Var]) -> frozenset[str]:
    """Return the names of some variables."""
    return frozenset(v.name for v in found)


def pattern_variables(pattern: Pattern) -> Iterator[Var]:
    """Yield every occurrence of a variable in a pattern, goals and actions included."""
    for node in postorder(pattern):
        yield from variables(*terms(node))


def rule_variables(rule: Rule) -> Iterator[Var]:
    """Yield every occurrence of a variable in a rule."""
    yield from variables(*rule.head.args)
    if rule.alarm is not None:
        yield from variables(rule.alarm.when)
    if rule.action is not None:
        yield from variables(rule.action)
    yield from pattern_variables(rule.pattern)


def rewrite_term(term: Term, change: Callable[[Term, Term], Term]) -> Term:
    """Apply `change(old, old with its parts changed)` to every term inside a term and return the new term."""
    results: dict[int, Term] = {}
    for node in reversed(list(subterms(term))):
        old = arguments(node)
        parts = tuple(results[id(part)] for part in old)
        same = all(a is b for a, b in zip(old, parts, strict=True))
        results[id(node)] = change(node, node if same else _with_arguments(node, parts))
    return results[id(term)]


def _with_arguments(term: Term, parts: tuple[Term, ...]) -> Term:
    match term:
        case Compound():
            return replace(term, args=parts)
        case ListTerm(items=items, tail=tail):
            return replace(term, items=parts[: len(items)], tail=None if tail is None else parts[-1])
        case Var() | Const():
            return term
        case _:
            assert_never(term)
