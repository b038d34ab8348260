"""What is wrong with a query that can be read: names bound twice, blank nodes in two groups, grouping, windows."""

from __future__ import annotations

from collections.abc import Iterator

from etalis.epsparql import syntax as s
from etalis.epsparql.read.query_text import QueryText
from etalis.epsparql.scope import bound_by, bound_in, has_aggregate, inner_groups, variables_of
from etalis.errors import Span
from etalis.language.check.spelling import suggest
from etalis.language.syntax import Const, Var

_RANGE = "say of which part of the stream: FROM STREAM <iri> [RANGE PT10M STEP PT1M]"
_KEY = "group by it, or aggregate it: SAMPLE({name})"


def check_query(r: QueryText, query: s.StreamQuery) -> None:
    """Report what is wrong with a query and those inside it."""
    windows = {d.iri for d in query.datasets if d.kind == "window"}
    ranged = any(d.window is not None for d in query.datasets)
    labels: dict[str, s.GroupPattern] = {}
    for inner in _queries(query):
        _check_items(r, inner)
        _check_grouping(r, inner, ranged)
        for group in _groups(inner.body):
            _check_group(r, group, labels, windows)


def _queries(query: s.StreamQuery) -> Iterator[s.StreamQuery]:
    """Yield a query and those inside it."""
    waiting = [query]
    while waiting:
        found = waiting.pop()
        yield found
        elements = (element for group in _groups(found.body) for element in group.elements)
        waiting += [element.query for element in elements if isinstance(element, s.SubSelect)]


def _groups(group: s.GroupPattern) -> Iterator[s.GroupPattern]:
    """Yield a group and those inside it, but for those of other queries."""
    waiting = [group]
    while waiting:
        found = waiting.pop()
        yield found
        waiting += reversed([inner for element in found.elements for inner in inner_groups(element)])


def _place(r: QueryText, node: s.Element | s.Item | s.StreamQuery | Var) -> Span:
    return node.span or Span(r.source, 0, 0)


def _check_items(r: QueryText, query: s.StreamQuery) -> None:
    """Report names that are given twice, and variables that nothing binds."""
    known = bound_by(query)
    for item in query.items or ():
        name = item.variable.name
        if item.expression is not None:
            if name in known:
                r.report(
                    "E135", f"?{name} has a value already", _place(r, item.variable), "choose another name behind AS"
                )
            known.add(name)
        elif name not in known:
            hint = suggest(name, known, "it is never bound")
            r.report("W131", f"?{name} occurs nowhere in the pattern", _place(r, item), hint)
    for triple in query.template:
        for variable in (v for term in (triple.subject, triple.predicate, triple.object) for v in variables_of(term)):
            if variable.name not in known and not variable.name.startswith("_:"):
                hint = suggest(variable.name, known, "it is never bound, so that the triple is left out")
                r.report("W131", f"?{variable.name} occurs nowhere in the pattern", _place(r, variable), hint)


def _check_grouping(r: QueryText, query: s.StreamQuery, ranged: bool) -> None:
    """Report aggregates without a window, and what is neither grouped nor aggregated."""
    items = query.items or ()
    aggregated = [item for item in items if item.expression is not None and has_aggregate(item.expression)]
    if query.groups is None and not query.having and not aggregated:
        return
    place = _place(r, (query.groups or aggregated or (query,))[0])
    if query.form != "select":
        r.report("E134", "grouping belongs to SELECT", place, "put a SELECT into the braces of the body")
    elif query.items is None:
        r.report("E134", "SELECT * cannot be grouped", place, "name the variables")
    if not ranged:
        r.report("E134", "an aggregate or GROUP BY needs a window", place, _RANGE)
    known = {item.variable.name for item in query.groups or ()}
    for item in items:
        asked = [item.variable] if item.expression is None else variables_of(item.expression, aggregated=False)
        for variable in asked:
            if variable.name not in known:
                message = f"?{variable.name} is neither grouped nor aggregated"
                r.report("E134", message, _place(r, variable), _KEY.format(name=f"?{variable.name}"))
        known.add(item.variable.name)


def _check_group(r: QueryText, group: s.GroupPattern, labels: dict[str, s.GroupPattern], windows: set[str]) -> None:
    seen: set[str] = set()
    for element in group.elements:
        match element:
            case s.BindAs(variable=variable) if variable.name in seen:
                hint = "choose another name, or compare with FILTER"
                r.report("E135", f"?{variable.name} has a value already", _place(r, variable), hint)
            case s.Triple():
                _check_labels(r, element, group, labels)
            case s.Scoped(kind="window", name=Const(value=name)) if name not in windows:
                hint = suggest(
                    name, windows, f"declare it: FROM NAMED WINDOW {name} ON <stream> [RANGE PT10M STEP PT1M]"
                )
                r.report("E131", f"there is no window {name}", _place(r, element), hint)
        seen |= bound_in(element)


def _check_labels(r: QueryText, triple: s.Triple, group: s.GroupPattern, labels: dict[str, s.GroupPattern]) -> None:
    """Report a blank node that two groups name: SPARQL has none that is one node in both."""
    for term in (triple.subject, triple.object):
        if isinstance(term, Var) and term.name.startswith("_:") and labels.setdefault(term.name, group) is not group:
            message = f"the blank node {term.name} stands in two groups"
            r.report("E135", message, _place(r, term), "use a variable, it joins them")
