"""Solutions: partial mappings with an interval, or with none if only the background made them; how they are joined."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

from etalis.data.values import Value
from etalis.epsparql import syntax as s
from etalis.epsparql.expressions import ExpressionError, evaluate
from etalis.language.syntax import Const, Term, Var

Interval: TypeAlias = tuple[int, int]
KnownTriple: TypeAlias = tuple[Value, Value, Value]


class StreamedTriple(NamedTuple):
    """A triple of a stream on its interval in microseconds; `waits` if it is known only after all that ends then."""

    s: Value
    p: Value
    o: Value
    graph: str | None
    stream: str | None
    start: int
    end: int
    waits: bool = False


@dataclass(slots=True)
class Solution:
    """A mapping on an interval; `gap` is the end of the first and the start of the last part of a sequence."""

    values: dict[str, Value]
    span: Interval | None
    gap: Interval = (0, 0)
    waits: bool = False


def join(a: Solution, b: Solution, relation: str, within: int | None) -> Solution | None:
    """Join two solutions that are compatible, in the relation, and together no longer than the window."""
    if not agree(a.values, b.values):
        return None
    span = hull(a.span, b.span)
    if a.span is not None and b.span is not None:
        in_relation = {"SEQ": a.span[1] < b.span[0], "EQUALS": a.span == b.span, "and": True}
        if not in_relation[relation] or not fits(span, within):
            return None
    gap = (a.gap[0], b.gap[1]) if relation == "SEQ" else (b.gap if a.span is None else a.gap)
    waits = any(part.waits and part.span is not None and part.span[1:] == (span or ())[1:] for part in (a, b))
    return Solution({**a.values, **b.values}, span, gap, waits)


def hull(a: Interval | None, b: Interval | None) -> Interval | None:
    if a is None or b is None:
        return b if a is None else a
    return min(a[0], b[0]), max(a[1], b[1])


def agree(a: Mapping[str, Value], b: Mapping[str, Value]) -> bool:
    return all(b[name] == value for name, value in a.items() if name in b)


def takes_away(b: Solution, a: Solution) -> bool:
    return not a.values.keys().isdisjoint(b.values) and agree(a.values, b.values)


def fits(span: Interval | None, within: int | None) -> bool:
    return span is None or within is None or span[1] - span[0] <= within


def is_inside(span: Interval | None, outer: Interval | None) -> bool:
    """Tell whether an interval lies strictly inside another; what has no time lies in all."""
    return span is None or (outer is not None and outer[0] < span[0] and span[1] < outer[1])


def bind(solution: Solution, expression: Term, name: str, seen: Mapping[str, Value]) -> Solution:
    try:
        value = evaluate(expression, {**seen, **solution.values}, solution.span)
    except ExpressionError:
        return solution
    return replace(solution, values={**solution.values, name: value})


def value_rows(values: s.Values) -> list[Solution]:
    names = [v.name for v in values.variables]
    rows = [[(n, c.value) for n, c in zip(names, row, strict=True) if c is not None] for row in values.rows]
    return [Solution(dict(row), None) for row in rows]


def distinct(found: list[Solution]) -> list[Solution]:
    """Return each solution once; it waits if it does in all ways."""
    kept: dict[object, Solution] = {}
    for f in found:
        key = (frozenset(f.values.items()), f.span, f.gap)
        if key not in kept or kept[key].waits:
            kept[key] = f
    return list(kept.values())


def match_terms(terms: Iterable[Term], values: Iterable[Value | None]) -> dict[str, Value] | None:
    """Return what variables are bound to where a pattern matches; None is no value."""
    found: dict[str, Value] = {}
    for term, value in zip(terms, values, strict=True):
        wanted = term.value if isinstance(term, Const) else found.setdefault(name_of(term), value)
        if value is None or wanted != value:
            return None
    return found


def name_of(term: Term) -> str:
    assert isinstance(term, Var), "a part of a pattern is a constant or a variable"
    return term.name
