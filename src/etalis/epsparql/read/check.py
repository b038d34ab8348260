"""What is wrong with a query that can be read: names that are bound twice, blank nodes in two groups, grouping."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise

from etalis.epsparql import syntax as s
from etalis.epsparql.read.query_text import QueryText
from etalis.epsparql.read.words import KEYWORDS
from etalis.epsparql.scope import is_visible, variables_of
from etalis.epsparql.windows import AGGREGATES, has_aggregates
from etalis.errors import Span
from etalis.language.check.spelling import suggest
from etalis.language.syntax import Compound, Term, Var
from etalis.language.traversal import variables

_NONE: frozenset[str] = frozenset()
_UNBOUND = "it is never bound"
_FIRST_MAY_MISS = (("OPTIONALSEQ",), ("OPTIONALEQUALS",))


def check_query(r: QueryText, query: s.StreamQuery) -> None:
    """Report what is wrong with a query and those inside it."""
    labels: dict[str, s.GroupPattern] = {}
    if r.dialect is not None:
        _check_capitals(r, query)
    for inner in _queries(query):
        _check_names(r, inner)
        _check_seen(r, inner)
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
    waiting: list[s.Element] = [group]
    while waiting:
        found = waiting.pop()
        if isinstance(found, s.GroupPattern):
            yield found
        if not isinstance(found, s.SubSelect):
            waiting += reversed(s.parts_of(found))


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
            r.report("E135", f"?{name} is selected twice", _place(r, item.variable), "name it once")
        elif item.expression is None:
            _check_bound(r, item.variable, known, _UNBOUND)
        elif name in known:
            hint = "choose another name behind AS"
            r.report("E135", f"?{name} has a value already", _place(r, item.variable), hint)
        names.add(name)
    known |= dict.fromkeys(names)
    for item in (*(query.groups or ()), *(query.items or ())):
        for variable in () if item.expression is None else _variables_in(item.expression):
            _check_bound(r, variable, known, _UNBOUND)
    for triple in query.template:
        for term in (triple.subject, triple.predicate, triple.object):
            if isinstance(term, Var) and is_visible(term.name):
                _check_bound(r, term, known, "it is never bound, so that the triple is never made")


def _check_seen(r: QueryText, query: s.StreamQuery) -> None:
    """Report variables of expressions in groups that do not have them, nor see those of others.

    A group that may be missing sees what it is joined with, one of EXISTS all that is around it.
    """
    known = variables_of((query.body,)) | variables_of(() if query.values is None else (query.values,))
    waiting: list[tuple[s.GroupPattern, frozenset[str], frozenset[str]]] = [(query.body, _NONE, _NONE)]
    while waiting:
        group, joined, around = waiting.pop()
        own = frozenset(variables_of(group.elements))
        for element in group.elements:
            if isinstance(element, s.FilterBy | s.BindAs):
                for variable in _variables_in(element.expression):
                    if variable.name not in own | joined | around:
                        _report_unseen(r, variable, known)
            waiting += _seen_inside(element, own, around)


def _seen_inside(
    element: s.Element, own: frozenset[str], around: frozenset[str]
) -> Iterator[tuple[s.GroupPattern, frozenset[str], frozenset[str]]]:
    """Yield the groups of an element with the variables that they see of what they are joined with, and of EXISTS."""
    match element:
        case s.Exists(group=group):
            yield group, _NONE, own | around
        case s.Optional(group=group):
            yield group, own, around
        case s.Chain(groups=groups, operators=operators):
            all_of_chain = frozenset(variables_of(groups))
            for place, (group, before) in enumerate(zip(groups, ("", *operators), strict=True)):
                is_missing = before.endswith("OPTIONAL") or (not place and operators[:1] in _FIRST_MAY_MISS)
                yield group, all_of_chain if is_missing else _NONE, around
        case s.GroupPattern():
            yield element, _NONE, around
        case s.Alternatives() | s.Minus() | s.Scoped():
            yield from ((group, _NONE, around) for group in s.parts_of(element) if isinstance(group, s.GroupPattern))


def _report_unseen(r: QueryText, variable: Var, known: dict[str, None]) -> None:
    if variable.name in known:
        hint = "write the FILTER behind the whole pattern, where all variables are seen"
        r.report("W131", f"?{variable.name} has no value in this group", _place(r, variable), hint)
    else:
        how = _UNBOUND if r.dialect is None else f"{_UNBOUND}; ?{variable.name} is expression gives it a value"
        _check_bound(r, variable, known, how)


def _variables_in(expression: Term) -> Iterable[Var]:
    """Return the variables of an expression, each once, where it first stands."""
    return {variable.name: variable for variable in reversed([*variables(expression)])}.values()


def _check_capitals(r: QueryText, query: s.StreamQuery) -> None:
    """Report names that look like variables as Prolog writes them."""
    place = _place(r, query)
    variables = {token.text[1:].casefold(): token.text for token in r.tokens if token.kind == "var"}
    for token, after in pairwise(r.tokens):
        is_name = token.kind == "word" and token.text[0].isupper() and after.text != "(" and token.text not in KEYWORDS
        if is_name and place.start <= token.start < place.end and token.text.casefold() in variables:
            variable = variables[token.text.casefold()]
            r.report("W133", f"{token.text} is a name, no variable", token, f"write {variable}, or '{token.text}'")


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
