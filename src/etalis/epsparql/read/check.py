"""What is wrong with a query that can be read: names that are bound twice, blank nodes in two groups, grouping."""

from __future__ import annotations

from collections.abc import Iterator

from etalis.epsparql import syntax as s
from etalis.epsparql.read.query_text import QueryText
from etalis.epsparql.scope import is_visible, variables_of
from etalis.epsparql.windows import AGGREGATES, has_aggregates
from etalis.errors import Span
from etalis.language.check.spelling import suggest
from etalis.language.syntax import Compound, Term, Var


def check_query(r: QueryText, query: s.StreamQuery) -> None:
    """Report what is wrong with a query and those inside it."""
    labels: dict[str, s.GroupPattern] = {}
    for inner in _queries(query):
        _check_names(r, inner)
        if has_aggregates(inner):
            _check_grouping(r, inner)
        for group in _groups(inner.body):
            _check_group(r, group, labels)


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
        waiting += reversed([inner for element in found.elements for inner in _inner_groups(element)])


def _inner_groups(element: s.Element) -> tuple[s.GroupPattern, ...]:
    match element:
        case s.GroupPattern():
            return (element,)
        case s.Chain(groups=groups) | s.Alternatives(groups=groups):
            return groups
        case s.Optional(group=group) | s.Minus(group=group) | s.Scoped(group=group) | s.Exists(group=group):
            return (group,)
    return ()


def _place(r: QueryText, node: s.Element | s.Item | s.StreamQuery | Var) -> Span:
    return node.span or Span(r.source, 0, 0)


def _check_names(r: QueryText, query: s.StreamQuery) -> None:
    """Report names that are given twice, and variables that nothing binds."""
    known = {**variables_of((query.body,)), **dict.fromkeys(item.variable.name for item in query.groups or ())}
    known |= variables_of(() if query.values is None else (query.values,))
    names: set[str] = set()
    for item in query.items or ():
        name = item.variable.name
        if name in names:
            r.report("E135", f"?{name} is selected twice", _place(r, item.variable))
        elif item.expression is None:
            _check_bound(r, item.variable, known, "it is never bound")
        elif name in known:
            hint = "choose another name behind AS"
            r.report("E135", f"?{name} has a value already", _place(r, item.variable), hint)
        names.add(name)
    known |= dict.fromkeys(names)
    for triple in query.template:
        for term in (triple.subject, triple.predicate, triple.object):
            if isinstance(term, Var) and is_visible(term.name):
                _check_bound(r, term, known, "it is never bound, so that the triple is never made")


def _check_bound(r: QueryText, variable: Var, known: dict[str, None], otherwise: str) -> None:
    if variable.name not in known:
        near = suggest(variable.name, filter(is_visible, known))
        hint = otherwise if near is None else near.replace("mean ", "mean ?")
        r.report("W131", f"?{variable.name} occurs nowhere in the pattern", _place(r, variable), hint)


def _check_grouping(r: QueryText, query: s.StreamQuery) -> None:
    """Report what cannot be grouped, and what is neither grouped nor aggregated."""
    place = _place(r, query.groups[0] if query.groups else query)
    if query.form != "select":
        r.report("E134", "grouping belongs to SELECT", place, "put a SELECT into the braces of the body")
    elif query.items is None:
        r.report("E134", "SELECT * cannot be grouped", place, "name what is selected")
    known = {item.variable.name for item in query.groups or ()}
    for item in query.items or ():
        for variable in _outside_aggregates(item.expression or item.variable):
            if variable.name not in known:
                hint = f"group by it, or aggregate it: (SAMPLE(?{variable.name}) AS ?one)"
                r.report("E134", f"?{variable.name} is neither grouped nor aggregated", _place(r, variable), hint)
        known.add(item.variable.name)


def _outside_aggregates(expression: Term) -> Iterator[Var]:
    """Yield the variables of an expression that stand in no aggregate."""
    waiting = [expression]
    while waiting:
        match waiting.pop():
            case Var() as found:
                yield found
            case Compound(name=name, args=arguments) if name not in AGGREGATES:
                waiting.extend(reversed(arguments))


def _check_group(r: QueryText, group: s.GroupPattern, labels: dict[str, s.GroupPattern]) -> None:
    """Report a BIND of what has a value, and a blank node that stands in another group too."""
    seen: dict[str, None] = {}
    for element in group.elements:
        match element:
            case s.BindAs(variable=variable) if variable.name in seen:
                hint = "choose another name, or compare with FILTER"
                r.report("E135", f"?{variable.name} has a value already", _place(r, variable), hint)
            case s.Triple(subject=subject, object=value):
                for term in (subject, value):
                    _check_label(r, term, group, labels)
        seen |= variables_of((element,))


def _check_label(r: QueryText, term: Term, group: s.GroupPattern, labels: dict[str, s.GroupPattern]) -> None:
    if isinstance(term, Var) and not is_visible(term.name) and labels.setdefault(term.name, group) is not group:
        message = f"the blank node {term.name} stands in two groups"
        r.report("E135", message, _place(r, term), "use a variable, it joins them")
