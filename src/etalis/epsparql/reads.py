"""Where the patterns of a query read: the stream, the background, or both; and whether their solutions have a time.

A predicate is background if the background as loaded has it, but for rdf:type and what a query constructs; the caller
may decide otherwise. A pattern whose predicate is background, with all below it, reads the background alone; one whose
predicate the closed background does not have reads the stream alone, as do GRAPH and STREAM groups; every other reads
both. Whatever reads the background alone has no time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from etalis.data.values import Value
from etalis.epsparql import syntax as s
from etalis.language.syntax import Compound, Const, Term
from etalis.logic.rdf import entailment

STREAM, BACKGROUND, BOTH = "stream", "background", "both"
ALWAYS, NEVER, PERHAPS = "always", "never", "perhaps"  # whether solutions have a time

TYPE = f"<{entailment.TYPE}>"
SUBCLASS, SUBPROPERTY = f"<{entailment.SUBCLASS}>", f"<{entailment.SUBPROPERTY}>"
DOMAIN, RANGE = f"<{entailment.DOMAIN}>", f"<{entailment.RANGE}>"
REPEATED = frozenset("*+?!")  # paths that are read in the background alone

_TIME = {STREAM: ALWAYS, BACKGROUND: NEVER, BOTH: PERHAPS}


@dataclass(frozen=True, slots=True)
class Predicates:
    """The predicates of the background as loaded and as closed, those below each, and what was decided about them.

    `constructed` is None if a query constructs whatever predicate.
    """

    loaded: frozenset[Value] = frozenset()
    closed: frozenset[Value] = frozenset()
    below: Mapping[Value, frozenset[Value]] = field(default_factory=dict)
    typed: frozenset[Value] = frozenset()  # with a domain or a range
    constructed: frozenset[Value] | None = frozenset()
    streamed: frozenset[Value] = frozenset()
    background: frozenset[Value] = frozenset()

    @property
    def has_background(self) -> bool:
        return bool(self.closed or self.background)

    def is_background(self, predicate: Value) -> bool:
        """Tell whether triples of a predicate are knowledge, and none may come in a stream."""
        if predicate in self.background or predicate in self.streamed:
            return predicate in self.background
        is_made = self.constructed is None or predicate in self.constructed
        return predicate in self.loaded and predicate != TYPE and not is_made

    def reads(self, predicate: Term) -> str:
        """Tell where a pattern outside of GRAPH and STREAM groups reads."""
        if not self.has_background:
            return STREAM
        if not isinstance(predicate, Const):
            return BOTH
        name = predicate.value
        if all(self.is_background(p) for p in (name, *self.below.get(name, ()))):
            return BACKGROUND
        return BOTH if name in self.closed else STREAM

    def may_match(self, pattern: s.Triple, made: s.Triple) -> bool:
        """Tell whether what a template makes, or what that entails, may match a pattern of plain predicates."""
        subject, predicate, obj = pattern.subject, pattern.predicate, pattern.object
        if not isinstance(predicate, Const) or not isinstance(made.predicate, Const):
            return _may_equal(subject, made.subject) and _may_equal(obj, made.object)
        name, made_name = predicate.value, made.predicate.value
        if name == TYPE and (self.closed & {SUBCLASS, DOMAIN, RANGE}):
            below = self.below.get(TYPE, frozenset())
            return made_name == TYPE or made_name in below or made_name in self.typed
        fits = made_name == name or made_name in self.below.get(name, ())
        return fits and _may_equal(subject, made.subject) and _may_equal(obj, made.object)


def _may_equal(a: Term, b: Term) -> bool:
    """Tell whether a part of a pattern may be equal to one of a template, whose blank nodes are new."""
    return not (isinstance(a, Const) and isinstance(b, Const)) or a.value == b.value


Triples = Iterable[tuple[Value, Value, Value]]


def known_predicates(
    unit: s.Unit,
    loaded: Triples,
    closed: Triples,
    streamed: Iterable[str] = (),
    background: Iterable[str] = (),
    *,
    rdfs: bool = True,
) -> Predicates:
    """Return what is known of the predicates of a unit's background, in the exact naming; `rdfs` if it entails."""
    closed = list(closed)
    below: dict[Value, set[Value]] = {}
    typed = set()
    for sub, p, o in closed if rdfs else ():
        if p == SUBPROPERTY:
            below.setdefault(o, set()).add(sub)
        elif p in (DOMAIN, RANGE):
            typed.add(sub)
    for name in list(typed):
        typed |= below.get(name, set())
    return Predicates(
        loaded=frozenset(p for _, p, _ in loaded),
        closed=frozenset(p for _, p, _ in closed),
        below={name: frozenset(found) for name, found in below.items()},
        typed=frozenset(typed),
        constructed=constructed_predicates(unit),
        streamed=frozenset(streamed),
        background=frozenset(background),
    )


def constructed_predicates(unit: s.Unit) -> frozenset[Value] | None:
    """Return the predicates that a unit constructs; None if that may be any."""
    predicates = [t.predicate for query in unit.queries for t in query.template]
    names = [p.value for p in predicates if isinstance(p, Const)]
    return frozenset(names) if len(names) == len(predicates) else None


def path_parts(path: Compound) -> tuple[Term, ...]:
    """Return the members of a negated set, or the arguments of any other path."""
    if path.name != "!":
        return path.args
    parts: list[Term] = []
    todo = list(reversed(path.args))
    while todo:
        part = todo.pop()
        if isinstance(part, Compound) and part.name == "|":
            todo.extend(reversed(part.args))
        else:
            parts.append(part)
    return tuple(parts)


def plain_predicates(predicate: Term) -> Iterator[Term]:
    """Yield the predicates of a path, or the predicate that is none."""
    todo = [predicate]
    while todo:
        part = todo.pop()
        if isinstance(part, Compound):
            todo.extend(reversed(part.args))
        else:
            yield part


def path_time(predicate: Term, known: Predicates, is_scoped: bool) -> str:
    """Tell whether the solutions of a triple pattern have a time; its predicate may be a path."""
    if not isinstance(predicate, Compound):
        return ALWAYS if is_scoped else _TIME[known.reads(predicate)]
    if predicate.name in REPEATED:
        return NEVER
    times = [path_time(part, known, is_scoped) for part in predicate.args]
    return either(times) if predicate.name == "|" else together(times)


def together(times: Iterable[str]) -> str:
    """Return the time of what is joined.

    >>> together([NEVER, ALWAYS]), together([NEVER, PERHAPS]), together([])
    ('always', 'perhaps', 'never')
    """
    found = set(times)
    return ALWAYS if ALWAYS in found else PERHAPS if PERHAPS in found else NEVER


def either(times: Iterable[str]) -> str:
    """Return the time of alternatives.

    >>> either([NEVER, ALWAYS]), either([ALWAYS, ALWAYS])
    ('perhaps', 'always')
    """
    found = set(times)
    return found.pop() if len(found) == 1 else PERHAPS


def time_of(element: s.Element, known: Predicates, is_scoped: bool = False) -> str:
    """Tell whether the solutions of an element have a time; `is_scoped` in GRAPH and STREAM groups."""
    match element:
        case s.Triple(predicate=predicate):
            return path_time(predicate, known, is_scoped)
        case s.GroupPattern(elements=elements):
            return together(time_of(e, known, is_scoped) for e in elements)
        case s.Chain(groups=groups):
            return ALWAYS if len(groups) > 1 else time_of(groups[0], known, is_scoped)
        case s.Alternatives(groups=groups):
            return either(time_of(g, known, is_scoped) for g in groups)
        case s.Scoped(kind=kind, group=group):
            return time_of(group, known, is_scoped or kind != "window")
        case s.SubSelect(query=query):
            return time_of(query.body, known, is_scoped)
        case s.Folded():
            return ALWAYS
        case s.Optional() | s.Minus() | s.FilterBy() | s.Exists() | s.BindAs() | s.Values() | s.AskGoal():
            return NEVER
