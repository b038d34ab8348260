"""Negations that forbid every match: a part of the pattern is itself what must not occur (definition 11.1 to 11.7).

`cnot` looks strictly between the first and the last part of a sequence, and strictly inside any other match; `fnot`
looks at all that ends before. A part that always lies there, and that the negated pattern matches whatever it is,
blocks always. Law: what is called blocked has no match on any stream, under any policy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import assert_never

from etalis.language import syntax as s
from etalis.language.check.goals import Names
from etalis.language.traversal import fold
from etalis.temporal.relation import Relation


def core_of(pattern: s.Pattern) -> s.Pattern:
    """Return what stands below the modifiers of a pattern."""
    while isinstance(pattern, s.Modifier):
        pattern = pattern.pattern
    return pattern


@dataclass(frozen=True, slots=True)
class _Reach:
    """Which part of every match of a pattern is a blocker: any part, one strictly inside, one that ends earlier.

    As a sequence: one in the first part, in the last, or `between` them; `several` tells whether it has more than one.
    """

    some: s.EventPattern | None = None
    inside: s.EventPattern | None = None
    earlier: s.EventPattern | None = None
    first: s.EventPattern | None = None
    last: s.EventPattern | None = None
    between: s.EventPattern | None = None
    several: bool = False


_NONE = _Reach()


def _whole(some: s.EventPattern | None, inside: s.EventPattern | None, earlier: s.EventPattern | None) -> _Reach:
    """Return what is one part of any sequence."""
    return _Reach(some, inside, earlier, some, some)


def blocking_part(node: s.Negation, joined: Names, table: Mapping[str, Relation]) -> s.EventPattern | None:
    """Return the part of a pattern that always is what must not occur; None if there need be none."""
    absent = _alternatives(node.absent)
    if not absent:
        return None

    def combine(part: s.Pattern, reaches: tuple[_Reach, ...]) -> _Reach:
        if isinstance(part, s.EventPattern):
            return _whole(part, None, None) if any(subsumes(c, part, joined) for c in absent) else _NONE
        return _combine(part, reaches, table)

    reach = fold(node.pattern, combine)[id(node.pattern)]
    if node.operator == "fnot":
        return reach.earlier if node.window is None else None  # else it may have been earlier than that
    core = core_of(node.pattern)
    sequential = isinstance(core, s.Binary) and core.alone is None and table[core.operator].sequential
    return reach.between if sequential else reach.inside


def _alternatives(absent: s.Pattern) -> list[s.EventPattern]:
    """Return the events of which a single one is enough to block."""
    found: list[s.EventPattern] = []
    waiting = [absent]
    while waiting:
        node = waiting.pop()
        if isinstance(node, s.EventPattern):
            found.append(node)
        elif isinstance(node, s.Or):
            waiting += (node.right, node.left)
    return found


def _combine(node: s.Pattern, parts: tuple[_Reach, ...], table: Mapping[str, Relation]) -> _Reach:
    if isinstance(node, s.Modifier):
        return parts[0]
    match node:
        case s.EventPattern() | s.SubRule() | s.TimePoint() | s.Aggregate() | s.AnyOf():
            return _NONE
        case s.Binary(right=s.Aggregate()):
            return _whole(parts[0].some, None, parts[0].earlier)  # a count occurs at its opener too
        case s.Binary(alone=None, operator=operator):
            a, b = parts
            return _follow(a, b) if table[operator].sequential else _join(a, b, table[operator])
        case s.Binary(alone=alone):
            part = parts[0 if alone == "left" else 1]
            return _whole(part.some, part.inside, part.earlier)
        case s.Or():
            a, b = parts
            return _whole(_both(a.some, b.some), _both(a.inside, b.inside), _both(a.earlier, b.earlier))
        case s.NotWithin():
            return _whole(parts[0].some, parts[0].inside, parts[0].some)
        case s.Repeat(least=least):
            some, count = (
                parts[0].some,
                least.value if isinstance(least, s.Const) and isinstance(least.value, int) else 1,
            )
            return _whole(some, some if count > 2 else parts[0].inside, some if count > 1 else parts[0].earlier)
        case _:
            assert_never(node)


def _both(a: s.EventPattern | None, b: s.EventPattern | None) -> s.EventPattern | None:
    return a if b is not None else None


def _follow(a: _Reach, b: _Reach) -> _Reach:
    """Return what one sequence comes to with another after it."""
    between = a.between or b.between or (a.last if a.several else None) or (b.first if b.several else None)
    inside = between or a.inside or b.inside
    return _Reach(a.some or b.some, inside, a.some or b.earlier, a.first, b.last, between, several=True)


def _join(a: _Reach, b: _Reach, row: Relation) -> _Reach:
    inside, earlier = a.inside or b.inside, a.earlier or b.earlier
    if row.occurs_on == "b" and ("a2", "<", "b2") in row.comparisons:
        earlier = earlier or a.some
        inside = inside or (a.some if ("b1", "<", "a1") in row.comparisons else None)
    return _whole(a.some or b.some, inside, earlier)


def subsumes(absent: s.EventPattern, part: s.EventPattern, joined: Names) -> bool:
    """Tell whether an event that matches a part always matches the negated one too, with what is joined.

    >>> a = s.EventPattern("a", (s.Var("X"), s.Const(1)))
    >>> [subsumes(s.EventPattern("a", (s.Var(v), s.Var("_#1"))), a, frozenset("XY")) for v in "XYZ"]
    [True, False, True]
    """
    if (absent.name, len(absent.args)) != (part.name, len(part.args)):
        return False
    local: dict[str, s.Term] = {}
    return all(_covers(c, term, joined, local) for c, term in zip(absent.args, part.args, strict=True))


def _covers(c: s.Term, term: s.Term, joined: Names, local: dict[str, s.Term]) -> bool:
    match c, term:
        case s.Var(name=name), _ if name.startswith("_#"):
            return True
        case s.Var(name=name), s.Var(name=other) if name in joined:
            return name == other
        case s.Var(name=name), s.Var() | s.Const() if name not in joined:
            return name not in local and local.setdefault(name, term) is term
        case s.Const(value=x), s.Const(value=y):
            return type(x) is type(y) and bool(x == y)
        case _:
            return False
