"""Which CONSTRUCT reads what another makes at the same stamp, and in which order they are run there.

OPTIONALSEQ, NOT EXISTS and the left of SEQ look at strictly earlier ends; the other outer forms may look at their own
stamp. Law: without a cycle through a side that may be missing, running the components of this graph in order, each to
its fixpoint, gives the one model of the stamp.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from etalis.data.values import Value
from etalis.epsparql import syntax as s
from etalis.epsparql.reads import NEVER, Predicates, path_time, plain_predicates, time_of
from etalis.epsparql.scope import is_visible, term_variables
from etalis.epsparql.windows import is_windowed
from etalis.errors import Problem
from etalis.language.syntax import Const, Var
from etalis.logic.tabling.components import number_components

BACK, SAME, MISSING = "back", "same", "missing"  # how a pattern looks at the stamp of its solution


class StampLook(NamedTuple):
    """A triple pattern that reads a stream, how it looks at its stamp, and which streams it reads, or all."""

    pattern: s.Triple
    at: str
    streams: frozenset[Value] | None


def order(unit: s.Unit, known: Predicates) -> list[list[int]]:
    """Return the components of a unit's CONSTRUCTs, by their places; each comes after those it reads."""
    edges = {reader: sorted(makers) for reader, makers in _edges(unit, known).items()}
    components: dict[int, list[int]] = {}
    for query, number in number_components(edges).items():
        components.setdefault(number, []).append(query)
    return [sorted(members) for _, members in sorted(components.items())]


def cycles(unit: s.Unit, known: Predicates) -> Iterator[Problem]:
    """Yield a problem for every pattern that asks whether something is missing which depends on the answer.

    A cycle that makes new blank nodes is warned of: it may never end.
    """
    edges = _edges(unit, known)
    component = number_components(edges)
    for reader, makers in edges.items():
        inside = [look for maker, look in makers.items() if component[maker] == component[reader]]
        for look in inside:
            if look.at == MISSING:
                message = "what is constructed at a stamp depends on its being missing there"
                hint = "look strictly back: OPTIONALSEQ, or the left of SEQ"
                yield Problem("E255", message, look.pattern.span, hint)
        new = [t for t in unit.queries[reader].template if _has_blank(t)]
        if inside and new:
            hint = "make it from values, or look strictly back: the left of SEQ"
            yield Problem("W252", "a CONSTRUCT of new blank nodes from its own results may not end", new[0].span, hint)


def _has_blank(triple: s.Triple) -> bool:
    return any(not is_visible(name) for name in term_variables(triple.subject, triple.object))


def _edges(unit: s.Unit, known: Predicates) -> dict[int, dict[int, StampLook]]:
    """Return for each CONSTRUCT those it reads at its own stamp, with a pattern that does; best, one that may miss."""
    makers = [i for i, query in enumerate(unit.queries) if query.form == "construct"]
    edges: dict[int, dict[int, StampLook]] = {}
    for reader in makers:
        looks = [look for look in looks_of(unit.queries[reader], known) if look.at != BACK]
        found = edges.setdefault(reader, {})
        for look in sorted(looks, key=lambda look: look.at):
            for maker in makers:
                if may_read(look, unit.queries[maker], known):
                    found.setdefault(maker, look)
    return edges


def may_read(look: StampLook, maker: s.StreamQuery, known: Predicates) -> bool:
    """Tell whether a pattern may read what a CONSTRUCT makes."""
    word, name = maker.registered or ("query", None)
    if look.streams is not None and (word == "query" or name not in look.streams):
        return False
    pattern = look.pattern
    plain = [s.Triple(pattern.subject, p, pattern.object) for p in plain_predicates(pattern.predicate)]
    if plain[0].predicate is not pattern.predicate:  # the ends of a path are those of none of its steps
        plain = [s.Triple(_ANY, step.predicate, _ANY) for step in plain]
    return any(known.may_match(step, made) for step in plain for made in maker.template)


_ANY = Var("any")


def looks_of(query: s.StreamQuery, known: Predicates) -> Iterator[StampLook]:
    """Yield how the streamed patterns of a query look at the stamp of its solutions; all of a window may be missing."""
    is_window = is_windowed(query)
    names = frozenset(
        d.iri if d.kind == "stream" else d.stream for d in query.datasets if d.kind in ("stream", "window")
    )
    todo: list[tuple[s.Element, str, frozenset[Value] | None, bool]]
    todo = [(query.body, MISSING if is_window else SAME, names or None, is_window)]
    while todo:
        element, at, streams, is_scoped = todo.pop()
        match element:
            case s.Triple(predicate=predicate):
                if is_window or path_time(predicate, known, is_scoped) != NEVER:
                    yield StampLook(element, at, streams)
            case s.Chain(groups=groups, operators=operators):
                for i, group in enumerate(groups):
                    todo.append((group, _at(at, operators, i), streams, is_scoped))
            case s.GroupPattern(elements=parts) | s.Alternatives(groups=parts):
                todo += [(part, at, streams, is_scoped) for part in parts]
            case s.Optional(group=group):
                is_timed = time_of(group, known, is_scoped) != NEVER
                todo.append((group, MISSING if is_timed and at == SAME else at, streams, is_scoped))
            case s.Exists(group=group) | s.Minus(group=group):
                todo.append((group, at if is_window else BACK, streams, is_scoped))
            case s.Scoped(kind=kind, name=name, group=group):
                if kind == "stream":
                    streams = frozenset({name.value}) if isinstance(name, Const) else None
                if kind != "graph":  # what is constructed is in no graph
                    todo.append((group, at, streams, True))
            case s.SubSelect(query=inner):
                todo.append((inner.body, at, streams, is_scoped))
            case s.Folded(triple=triple):
                yield StampLook(triple, at, streams)


def _at(around: str, operators: tuple[str, ...], place: int) -> str:
    """Tell how a group of a chain looks: back, left of SEQ and OPTIONALSEQ; else as what is around, or missing."""
    after = operators[place:]
    if around == BACK or "SEQ" in after or "OPTIONALSEQ" in after:
        return BACK
    may_miss = "OPTIONALEQUALS" in after or (place and operators[place - 1] in ("SEQOPTIONAL", "EQUALSOPTIONAL"))
    return MISSING if may_miss else around
