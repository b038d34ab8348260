"""Queries over windows, as RSP-QL has them: which queries these are, and what they must not say.

With a STEP the body is evaluated as plain SPARQL at every step, so nothing in it has a time. With a RANGE alone the
window slides with each solution. Aggregates need one of the two.
"""

from __future__ import annotations

from collections.abc import Iterator

from etalis.epsparql import syntax as s
from etalis.errors import Problem
from etalis.language.syntax import Compound, Const, Term
from etalis.language.traversal import subterms

AGGREGATES = frozenset({"count", "sum", "avg", "min", "max", "sample", "group_concat"})
TIMES = frozenset({"getduration", "getstarttime", "getendtime"})
_REGISTER = "REGISTER STREAM the result, and read it in a query of its own"


def is_windowed(query: s.StreamQuery) -> bool:
    """Tell whether a query is evaluated at the steps of its windows."""
    return any(d.kind == "window" or (d.window is not None and d.window.step is not None) for d in query.datasets)


def sliding_range(query: s.StreamQuery) -> int | None:
    """Return the RANGE of a query whose window has no STEP."""
    ranges = [d.window.range for d in query.datasets if d.window is not None]
    return min(ranges, default=None) if not is_windowed(query) else None


def has_aggregates(query: s.StreamQuery) -> bool:
    """Tell whether a query groups its solutions."""
    expressions = [item.expression for item in query.items or () if item.expression is not None]
    return query.groups is not None or bool(query.having) or any(map(_aggregate_in, expressions))


def _aggregate_in(expression: Term) -> bool:
    return any(c.name in AGGREGATES for c in compounds(expression))


def compounds(expression: Term) -> Iterator[Compound]:
    """Yield the compound terms of an expression, from left to right."""
    return (term for term in subterms(expression) if isinstance(term, Compound))


def window_problems(query: s.StreamQuery) -> Iterator[Problem]:
    """Yield what a query says wrongly of windows and aggregates."""
    if is_windowed(query):
        if query.policy is not None:
            yield Problem("E258", "POLICY in a window: its graph has no order", query.span, "leave it out")
        yield from _steps(query)
        yield from _timeless(query)
        return
    word = query.registered[0] if query.registered is not None else ""
    if word in ("istream", "dstream"):
        hint = "give the window steps: FROM STREAM <s> [RANGE PT10M STEP PT1M]; or REGISTER STREAM"
        yield Problem("E258", f"{word.upper()} of a query without steps: each solution comes once", query.span, hint)
    ranges = {d.window.range for d in query.datasets if d.window is not None}
    if len(ranges) > 1:
        hint = "give them one RANGE, or a STEP"
        yield Problem("E258", "windows of different RANGEs that slide together", query.span, hint)
    if has_aggregates(query) and not ranges:
        hint = "give the window: FROM STREAM <s> [RANGE PT10M STEP PT1M]"
        yield Problem("E259", "an aggregate without a window: a stream has no end", query.span, hint)


def _steps(query: s.StreamQuery) -> Iterator[Problem]:
    steps = {d.window.step for d in query.datasets if d.window is not None}
    for dataset in query.datasets:
        is_stream = dataset.kind in ("stream", "window")
        if is_stream and (dataset.window is None or dataset.window.step is None):
            hint = "write [RANGE ... STEP ...]"
            yield Problem("E258", "a stream without STEP beside windows that have one", dataset.span, hint)
    if len(steps - {None}) > 1:
        hint = "windows of a query are looked at together: give them one STEP"
        yield Problem("E258", "windows of different STEPs in one query", query.span, hint)


def _timeless(query: s.StreamQuery) -> Iterator[Problem]:
    named = {d.iri for d in query.datasets if d.kind == "window"}
    todo: list[s.Element] = [query.body]
    expressions = [item.expression for item in query.items or () if item.expression is not None]
    while todo:
        element = todo.pop()
        match element:
            case s.Chain(operators=operators, groups=groups):
                word = operators[0] if operators else "WITHIN"
                yield Problem("E258", f"{word} in a window: its graph has no time", element.span, _REGISTER)
                todo += groups
            case s.Scoped(kind=kind, name=name, group=group):
                if kind != "window":
                    yield Problem("E258", f"{kind.upper()} in a window: its graph is one", element.span, _REGISTER)
                elif not isinstance(name, Const) or name.value not in named:
                    hint = "declare it: FROM NAMED WINDOW ... ON ..."
                    yield Problem("E258", "WINDOW names no window of the query", element.span, hint)
                todo.append(group)
            case s.FilterBy(expression=expression) | s.BindAs(expression=expression):
                expressions.append(expression)
            case s.GroupPattern(elements=parts) | s.Alternatives(groups=parts):
                todo += parts
            case s.Optional(group=group) | s.Minus(group=group) | s.Exists(group=group):
                todo.append(group)
            case s.Folded():
                hint = "write SUM(?x) and its like in SELECT, or leave the STEP out"
                yield Problem("E258", "an aggregate group in a window: its graph has no events", element.span, hint)
            case s.SubSelect(query=inner):
                todo.append(inner.body)
                expressions += [item.expression for item in inner.items or () if item.expression is not None]
    for expression in expressions:
        for found in compounds(expression):
            if found.name in TIMES:
                yield Problem("E258", f"{found.name}() in a window: its graph has no time", found.span, _REGISTER)
