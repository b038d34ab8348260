"""The variables of patterns: which are visible outside, which are always bound; and which groups are sequences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from etalis.epsparql import syntax as s
from etalis.language.syntax import Term
from etalis.language.traversal import variables


def is_visible(name: str) -> bool:
    """Tell whether a variable is one of the text, no blank node."""
    return not name.startswith("_:")


def selected(query: s.StreamQuery) -> tuple[str, ...]:
    """Return the names that a SELECT reports: its items, or all visible variables of its body as they appear."""
    if query.items is not None:
        return tuple(dict.fromkeys(item.variable.name for item in query.items))
    elements: tuple[s.Element, ...] = (query.body,) if query.values is None else (query.body, query.values)
    return tuple(name for name in variables_of(elements) if is_visible(name))


def variables_of(elements: Iterable[s.Element]) -> dict[str, None]:
    """Return the variables that elements may bind, in the order in which they appear."""
    found: dict[str, None] = {}
    for element in elements:
        found.update(dict.fromkeys(_bound_by(element)))
    return found


def _bound_by(element: s.Element) -> Iterator[str]:
    match element:
        case s.Triple(subject=subject, predicate=predicate, object=obj):
            yield from term_variables(subject, predicate, obj)
        case s.GroupPattern(elements=elements):
            yield from variables_of(elements)
        case s.Chain(groups=groups) | s.Alternatives(groups=groups):
            yield from variables_of(groups)
        case s.Optional(group=group):
            yield from variables_of((group,))
        case s.Scoped(name=name, group=group):
            yield from (*term_variables(name), *variables_of((group,)))
        case s.BindAs(variable=variable):
            yield variable.name
        case s.Values(variables=variables):
            yield from (v.name for v in variables)
        case s.SubSelect(query=query):
            yield from selected(query)
        case s.Folded(triple=triple, value=value, result=result):
            local = set(term_variables(*(() if value is None else (value,))))
            yield from (name for name in _bound_by(triple) if name not in local)
            yield from term_variables(result)
        case s.AskGoal(goal=goal):
            yield from term_variables(goal)
        case s.Minus() | s.FilterBy() | s.Exists():
            return


def always_bound(elements: Iterable[s.Element]) -> frozenset[str]:
    """Return the variables that every solution of elements in one group binds."""
    found: frozenset[str] = frozenset()
    for element in elements:
        found |= _surely_bound(element)
    return found


def _surely_bound(element: s.Element) -> frozenset[str]:
    match element:
        case s.Triple() | s.Folded() | s.AskGoal():
            return frozenset(_bound_by(element))
        case s.GroupPattern(elements=elements):
            return always_bound(elements)
        case s.Chain(groups=groups, operators=operators):
            found = always_bound((groups[0],))
            for operator, group in zip(operators, groups[1:], strict=True):
                right = always_bound((group,))
                if operator in ("OPTIONALSEQ", "OPTIONALEQUALS"):
                    found = right
                elif operator in ("SEQ", "EQUALS"):
                    found |= right
            return found
        case s.Alternatives(groups=groups):
            return frozenset.intersection(*(always_bound((g,)) for g in groups))
        case s.Scoped(name=name, group=group):
            return frozenset(term_variables(name)) | always_bound((group,))
        case s.Values(variables=variables, rows=rows):
            return frozenset(v.name for i, v in enumerate(variables) if all(row[i] is not None for row in rows))
        case s.SubSelect(query=query):
            body: tuple[s.Element, ...] = (query.body,) if query.values is None else (query.body, query.values)
            names = {item.variable.name for item in query.items or () if item.expression is None}
            return always_bound(body) & (names if query.items is not None else frozenset(selected(query)))
        case s.Optional() | s.Minus() | s.FilterBy() | s.Exists() | s.BindAs():
            return frozenset()


def term_variables(*terms: Term) -> Iterator[str]:
    """Yield the variables of terms, as they are written."""
    return (variable.name for variable in variables(*terms))


def is_sequence(group: s.GroupPattern) -> bool:
    """Tell whether a group is a chain of SEQ alone, with its FILTERs, BINDs and WITHIN; gaps count there (`cnot`)."""
    patterns = [e for e in group.elements if not isinstance(e, s.FilterBy | s.Exists | s.BindAs)]
    match patterns:
        case [s.Chain(groups=(only,))]:
            return is_sequence(only)
        case [s.GroupPattern() as inner]:
            return is_sequence(inner)
        case [s.Chain(operators=operators)]:
            return set(operators) == {"SEQ"}
    return False
