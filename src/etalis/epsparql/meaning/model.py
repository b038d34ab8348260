"""Units over a finite stream: stamps in order, and in each the CONSTRUCTs by components, each to its fixpoint.

Law: a solution that ends at a moment is decided by what has ended by then; so a query that constructs nothing is
evaluated once, over the whole stream.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import inf
from typing import NamedTuple

from etalis.data.values import Value
from etalis.epsparql import syntax as s
from etalis.epsparql.check import refuse
from etalis.epsparql.meaning.patterns import PatternContext, StreamPatterns
from etalis.epsparql.meaning.sliding import slide
from etalis.epsparql.meaning.solutions import KnownTriple, Solution, StreamedTriple, name_of
from etalis.epsparql.reads import known_predicates
from etalis.epsparql.scope import is_visible, selected
from etalis.epsparql.strata import order
from etalis.epsparql.stream_entailment import close, entailed, schema_of
from etalis.epsparql.windows import has_aggregates, is_windowed, sliding_range
from etalis.errors import LimitError, Problem, ProgramError
from etalis.language.syntax import Const, Term
from etalis.logic.rdf.exact_terms import kind_of

MAX_TRIPLES = 100_000


class Answer(NamedTuple):
    """A row of a query, which is counted from 1, or a triple that it constructs; None is unbound.

    It is known at `end`: at once, or, if it `waits`, after all that ends then and before anything later.
    """

    query: int
    values: tuple[Value | None, ...]
    start: int
    end: int
    waits: bool = False


class UnitAnswers(NamedTuple):
    """What a unit gives, and the elements that no stream may have since their predicates are background."""

    rows: set[Answer]
    constructed: set[Answer]
    dead: list[StreamedTriple]


def meaning(
    unit: s.Unit,
    elements: Iterable[StreamedTriple],
    background: Iterable[KnownTriple] = (),
    *,
    streamed: Iterable[str] = (),
    background_predicates: Iterable[str] = (),
    rdfs: bool = True,
    transitive: Iterable[str] = (),
    origin: int = 0,
) -> UnitAnswers:
    """Return what a unit answers over a stream that has ended; `origin` shifts the steps of windows."""
    loaded = list(background)
    closed = close(loaded, rdfs, transitive)
    known = known_predicates(unit, loaded, closed, streamed, background_predicates, rdfs=rdfs)
    refuse(unit, known)
    _refuse_undefined(unit)
    patterns = StreamPatterns(known, dict.fromkeys(closed))
    model = _Model(unit, patterns, schema_of(closed) if rdfs else [], origin)
    given = list(elements)
    dead = [e for e in given if known.is_background(e.p)]
    return UnitAnswers(*model.run([e for e in given if not known.is_background(e.p)]), dead)


def _refuse_undefined(unit: s.Unit) -> None:
    hint = "the engine runs it"
    for query in unit.queries:
        if query.policy not in (None, "unrestricted"):
            raise ProgramError(Problem("E207", f"no meaning under the policy {query.policy}", query.span, hint))


@dataclass
class _Model:
    """The stream up to a moment, and the moments at which something is due."""

    unit: s.Unit
    patterns: StreamPatterns
    schema: list[KnownTriple]
    origin: int
    constructed: dict[Answer, bool] = field(default_factory=dict)

    def run(self, elements: list[StreamedTriple]) -> tuple[set[Answer], set[Answer]]:
        components = order(self.unit, self.patterns.known)
        self.patterns.now = -inf
        while components and (coming := self._next(elements)) is not None:
            self.patterns.now = coming
            for e in elements:
                if e.end == coming:
                    self._stream(e)
            for component in components:
                self._close(component)
        self.patterns.now = inf
        for e in elements:
            self._stream(e)
        rows: dict[Answer, bool] = {}
        for place, query in enumerate(self.unit.queries):
            if query.form != "construct":
                for solution in self.solutions(query):
                    values = tuple(solution.values.get(name) for name in self._names(query))
                    _note(rows, place + 1, values, solution)
        return _answers(rows), _answers(self.constructed)

    def _close(self, component: list[int]) -> None:
        """Run some CONSTRUCTs until nothing new comes."""
        before: set[StreamedTriple] | None = None
        while before != set(self.patterns.triples):
            before = set(self.patterns.triples)
            if len(before) > MAX_TRIPLES:
                hint = "construct no new terms from what is constructed at one stamp"
                raise LimitError(Problem("E320", f"more than {MAX_TRIPLES:,} triples come of a stream", hint=hint))
            for place in component:
                self._construct(place)

    def _next(self, elements: list[StreamedTriple]) -> int | None:
        """Return the next moment at which anything can happen."""
        makers = [q for q in self.unit.queries if q.form == "construct" and is_windowed(q)]
        steps = {t for query in makers for t in self._steps(query)}
        return min(
            (t for t in {e.end for e in elements} | self.patterns.due | steps if t > self.patterns.now), default=None
        )

    def _stream(self, triple: StreamedTriple) -> None:
        for s_, p, o in entailed((triple.s, triple.p, triple.o), self.schema):
            found = triple._replace(s=s_, p=p, o=o)
            if not triple.waits:
                self.patterns.triples.pop(found._replace(waits=True), None)
            if not triple.waits or found._replace(waits=False) not in self.patterns.triples:
                self.patterns.triples[found] = None

    def _names(self, query: s.StreamQuery) -> tuple[str, ...]:
        return selected(query) if query.form == "select" else ()

    def _construct(self, place: int) -> None:
        query = self.unit.queries[place]
        word, name = query.registered or ("query", None)
        names = selected(replace(query, items=None))
        for solution in self.solutions(query):
            if solution.span is None or solution.span[1] != self.patterns.now:
                continue
            mapping = [(name, solution.values[name]) for name in sorted(names) if name in solution.values]
            digest = hashlib.sha256(repr((place, mapping, solution.span)).encode()).hexdigest()[:16]
            for template in query.template:
                parts = (template.subject, template.predicate, template.object)
                a, p, b = made = tuple(_fill(part, solution.values, digest) for part in parts)
                if _is_triple(made):
                    stream = None if word == "query" else name
                    self._stream(StreamedTriple(a, p, b, None, stream, *solution.span, solution.waits))
                    _note(self.constructed, place + 1, made, solution)

    def solutions(self, query: s.StreamQuery) -> list[Solution]:
        """Return the solutions of a query: of its body, or of its windows at all their steps."""
        if not is_windowed(query):
            streams = frozenset(d.iri for d in query.datasets if d.kind == "stream")
            length = sliding_range(query)
            around = PatternContext(within=length, streams=streams or None)
            if length is None or not has_aggregates(query):
                return self.patterns.select(query, around)
            body = replace(query, items=None, groups=None, having=())
            return slide(query, self.patterns.select(body, around), length)
        word = query.registered[0] if query.registered else "rstream"
        found = []
        for t in sorted(t for t in self._steps(query) if t <= self.patterns.now):
            here, before = self._window(query, t), self._window(query, t - _step(query))
            shown = {"istream": _without(here, before), "dstream": _without(before, here)}.get(word, here)
            found += [Solution(solution.values, (t, t), waits=True) for solution in shown]
        return found

    def _steps(self, query: s.StreamQuery) -> set[int]:
        """Return the steps at which a window holds something, and the one after each."""
        step, steps = _step(query), set()
        for d in query.datasets:
            for e in self.patterns.triples if d.window is not None else ():
                t = e.end + (self.origin - e.end) % step
                while d.window is not None and e.start > t - d.window.range:
                    steps |= {t, t + step}
                    t += step
        return steps

    def _window(self, query: s.StreamQuery, t: int) -> list[Solution]:
        """Return the solutions of a query over its windows at one step."""
        windows: dict[str, dict[KnownTriple, None]] = {}
        whole: dict[KnownTriple, None] = {}
        for d in query.datasets:
            if d.window is not None:
                name = d.stream if d.kind == "window" else d.iri
                inside = [
                    e for e in self.patterns.triples if e.stream == name and t - d.window.range < e.start and e.end <= t
                ]
                (windows.setdefault(d.iri, {}) if d.kind == "window" else whole).update((e[:3], None) for e in inside)
        if not whole and not any(windows.values()):
            return []
        graphs = {name: self.patterns.timeless | graph for name, graph in windows.items()}
        return self.patterns.select(query, PatternContext(triples=self.patterns.timeless | whole, windows=graphs))


def _fill(term: Term, values: Mapping[str, Value], digest: str) -> Value | None:
    """Return a part of a template; a blank node is new for every solution."""
    if isinstance(term, Const):
        return term.value
    name = name_of(term)
    return values.get(name) if is_visible(name) else f"_:{digest}-{name[2:]}"


def _is_triple(parts: tuple[Value | None, ...]) -> bool:
    kinds = [kind_of(part) for part in parts]
    return kinds[0] in ("iri", "blank") and kinds[1] == "iri" and kinds[2] != "unbound"


def _without(found: list[Solution], others: list[Solution]) -> list[Solution]:
    return [f for f in found if all(f.values != other.values for other in others)]


def _step(query: s.StreamQuery) -> int:
    return next(d.window.step for d in query.datasets if d.window is not None and d.window.step is not None)


def _note(rows: dict[Answer, bool], query: int, values: tuple[Value | None, ...], solution: Solution) -> None:
    if solution.span is not None:
        answer = Answer(query, values, *solution.span)
        rows[answer] = rows.get(answer, True) and solution.waits


def _answers(rows: dict[Answer, bool]) -> set[Answer]:
    return {answer._replace(waits=waits) for answer, waits in rows.items()}
