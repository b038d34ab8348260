"""What queries mean: their solutions over a finite stream, by naive loops over the table of patterns.

A solution is a partial mapping with an interval, or with none if only the background made it. Stamps are taken in
order, and in each the CONSTRUCTs by components (`strata`), each to its fixpoint over all that ended so far.
Law: a solution that ends at a moment is decided by what has ended by then; so a query that constructs nothing is
evaluated once, over the whole stream. Nothing is shared with the plan but the evaluator of expressions.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from math import inf
from typing import NamedTuple, TypeAlias

from etalis.data.values import Value
from etalis.epsparql import syntax as s
from etalis.epsparql.aggregates import aggregate
from etalis.epsparql.check import refuse
from etalis.epsparql.expressions import ExpressionError, evaluate, holds
from etalis.epsparql.reads import BACKGROUND, NEVER, STREAM, Predicates, known_predicates, path_parts, time_of
from etalis.epsparql.scope import is_sequence, is_visible, selected
from etalis.epsparql.strata import order
from etalis.epsparql.stream_entailment import close, entailed, schema_of
from etalis.epsparql.windows import has_aggregates, is_windowed, sliding_range
from etalis.errors import Problem, ProgramError
from etalis.language.syntax import Compound, Const, Term, Var
from etalis.logic.rdf.exact_terms import kind_of

Interval: TypeAlias = tuple[int, int]
Known: TypeAlias = tuple[Value, Value, Value]


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


class Answer(NamedTuple):
    """A row of a query, which is counted from 1, or a triple that it constructs; None is unbound.

    It is known at `end`: at once, or, if it `waits`, after all that ends then and before anything later.
    """

    query: int
    values: tuple[Value | None, ...]
    start: int
    end: int
    waits: bool = False


class Answers(NamedTuple):
    """What a unit gives, and the elements that no stream may have since their predicates are background."""

    rows: set[Answer]
    constructed: set[Answer]
    dead: list[StreamedTriple]


@dataclass(slots=True)
class _Solution:
    """A mapping on an interval; `gap` is the end of the first and the start of the last part of a sequence."""

    values: dict[str, Value]
    span: Interval | None
    gap: Interval = (0, 0)
    waits: bool = False


@dataclass(frozen=True, slots=True)
class _Around:
    """What is around an element: the shortest window, GRAPH and STREAM, and a mapping that filters see."""

    within: int | None = None
    graph: Term | None = None
    stream: Term | None = None
    streams: frozenset[str] | None = None
    seen: Mapping[str, Value] = field(default_factory=dict)
    triples: Mapping[Known, None] | None = None  # the graph of a window
    windows: Mapping[str, Mapping[Known, None]] = field(default_factory=dict)


def meaning(
    unit: s.Unit,
    elements: Iterable[StreamedTriple],
    background: Iterable[Known] = (),
    *,
    streamed: Iterable[str] = (),
    background_predicates: Iterable[str] = (),
    rdfs: bool = True,
    transitive: Iterable[str] = (),
    origin: int = 0,
) -> Answers:
    """Return what a unit answers over a stream that has ended; `origin` shifts the steps of windows."""
    loaded = list(background)
    closed = close(loaded, rdfs, transitive)
    known = known_predicates(unit, loaded, closed, streamed, background_predicates, rdfs=rdfs)
    refuse(unit, known)
    _refuse_undefined(unit)
    model = _Model(unit, known, dict.fromkeys(closed), origin, schema_of(closed) if rdfs else [])
    dead = [e for e in elements if known.is_background(e.p)]
    coming = [e for e in elements if not known.is_background(e.p)]
    return Answers(*model.run(coming), dead)


def _refuse_undefined(unit: s.Unit) -> None:
    hint = "the engine runs it"
    for query in unit.queries:
        if query.policy not in (None, "unrestricted"):
            raise ProgramError(Problem("E207", f"no meaning under the policy {query.policy}", query.span, hint))
        if has_aggregates(query) and not is_windowed(query):
            raise ProgramError(Problem("E207", "no meaning of a sliding aggregate", query.span, hint))


@dataclass
class _Model:
    """The stream up to a moment, and the moments at which something is due."""

    unit: s.Unit
    known: Predicates
    timeless: dict[Known, None]
    origin: int
    schema: list[Known]
    now: float = inf
    triples: dict[StreamedTriple, None] = field(default_factory=dict)
    due: set[int] = field(default_factory=set)
    constructed: dict[Answer, bool] = field(default_factory=dict)
    fresh: Iterator[int] = field(default_factory=count)

    def run(self, elements: list[StreamedTriple]) -> tuple[set[Answer], set[Answer]]:
        components = order(self.unit, self.known)
        self.now = -inf
        while components and (coming := self._next(elements)) is not None:
            self.now = coming
            for e in elements:
                if e.end == coming:
                    self._stream(e)
            for component in components:
                size = -1
                while size != len(self.triples):
                    size = len(self.triples)
                    for place in component:
                        self._construct(place)
        self.now = inf
        for e in elements:
            self._stream(e)
        rows: dict[Answer, bool] = {}
        for place, query in enumerate(self.unit.queries):
            if query.form != "construct":
                for solution in self.solutions(query):
                    values = tuple(solution.values.get(name) for name in self._names(query))
                    _note(rows, place + 1, values, solution)
        return _answers(rows), _answers(self.constructed)

    def _next(self, elements: list[StreamedTriple]) -> int | None:
        """Return the next moment at which anything can happen."""
        makers = [q for q in self.unit.queries if q.form == "construct" and is_windowed(q)]
        steps = {t for query in makers for t in self._steps(query)}
        return min((t for t in {e.end for e in elements} | self.due | steps if t > self.now), default=None)

    def _stream(self, triple: StreamedTriple) -> None:
        for s_, p, o in entailed((triple.s, triple.p, triple.o), self.schema):
            found = triple._replace(s=s_, p=p, o=o)
            if not triple.waits:
                self.triples.pop(found._replace(waits=True), None)
            if not triple.waits or found._replace(waits=False) not in self.triples:
                self.triples[found] = None

    def _names(self, query: s.StreamQuery) -> tuple[str, ...]:
        return selected(query) if query.form == "select" else ()

    def _construct(self, place: int) -> None:
        query = self.unit.queries[place]
        word, name = query.registered or ("query", None)
        names = selected(replace(query, items=None))
        for solution in self.solutions(query):
            if solution.span is None or solution.span[1] != self.now:
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

    # queries

    def solutions(self, query: s.StreamQuery) -> list[_Solution]:
        """Return the solutions of a query: of its body, or of its windows at all their steps."""
        if not is_windowed(query):
            streams = frozenset(d.iri for d in query.datasets if d.kind == "stream")
            return self.select(query, _Around(within=sliding_range(query), streams=streams or None))
        word = query.registered[0] if query.registered else "rstream"
        found = []
        for t in sorted(t for t in self._steps(query) if t <= self.now):
            here, before = self._window(query, t), self._window(query, t - _step(query))
            shown = {"istream": _without(here, before), "dstream": _without(before, here)}.get(word, here)
            found += [_Solution(solution.values, (t, t), waits=True) for solution in shown]
        return found

    def _steps(self, query: s.StreamQuery) -> set[int]:
        """Return the steps at which a window holds something, and the one after each."""
        step, steps = _step(query), set()
        for d in query.datasets:
            for e in self.triples if d.window is not None else ():
                t = e.end + (self.origin - e.end) % step
                while d.window is not None and e.start > t - d.window.range:
                    steps |= {t, t + step}
                    t += step
        return steps

    def _window(self, query: s.StreamQuery, t: int) -> list[_Solution]:
        """Return the solutions of a query over its windows at one step."""
        windows: dict[str, dict[Known, None]] = {}
        whole: dict[Known, None] = {}
        for d in query.datasets:
            if d.window is not None:
                name = d.stream if d.kind == "window" else d.iri
                inside = [e for e in self.triples if e.stream == name and t - d.window.range < e.start and e.end <= t]
                (windows.setdefault(d.iri, {}) if d.kind == "window" else whole).update((e[:3], None) for e in inside)
        if not whole and not any(windows.values()):
            return []
        graphs = {name: self.timeless | graph for name, graph in windows.items()}
        return self.select(query, _Around(triples=self.timeless | whole, windows=graphs))

    def select(self, query: s.StreamQuery, around: _Around) -> list[_Solution]:
        """Return the solutions of a query's body, with its items; projected if it is a SELECT."""
        found = [f for f in self.group(query.body, around) if _fits(f.span, around.within)]
        if query.values is not None:
            found = self._joined(found, _values(query.values), around)
        if has_aggregates(query):
            rows = aggregate(query, [solution.values for solution in found])
            return [_Solution(row, None) for row in rows]
        for item in query.items or ():
            if item.expression is not None:
                found = [_bind(solution, item.expression, item.variable.name, {}) for solution in found]
        if query.form == "construct":
            return found
        names = set(self._names(query))
        kept = [replace(f, values={n: v for n, v in f.values.items() if n in names}) for f in found]
        return _distinct(kept) if around.triples is None else kept

    # patterns

    def group(self, group: s.GroupPattern, around: _Around) -> list[_Solution]:
        """Return the solutions of a group: its elements in written order, its filters last."""
        return [f for f in self.unfiltered(group, around) if self.passes(group, f, f.values, around)]

    def unfiltered(self, group: s.GroupPattern, around: _Around) -> list[_Solution]:
        """Return the solutions of a group before its filters."""
        found = [_Solution({}, None)]
        for element in group.elements:
            match element:
                case s.FilterBy() | s.Exists():
                    continue
                case s.Optional(group=inner):
                    waits = time_of(inner, self.known, _is_scoped(around)) != NEVER
                    found = self._outer(found, inner, self.unfiltered(inner, around), "and", around, _alone(waits))
                case s.Minus(group=inner):
                    away = self.group(inner, around)
                    found = [a for a in found if not any(_takes_away(b, a) for b in away)]
                case s.BindAs(expression=expression, variable=variable):
                    found = [_bind(solution, expression, variable.name, around.seen) for solution in found]
                case _:
                    found = self._joined(found, self.element(element, around), around)
        return _distinct(found) if around.triples is None else found

    def element(self, element: s.Element, around: _Around) -> list[_Solution]:
        """Return the solutions of what is joined in a group."""
        match element:
            case s.Triple():
                return self.triple(element, around)
            case s.GroupPattern():
                return self.group(element, around)
            case s.Chain():
                return self.chain(element, around)
            case s.Alternatives(groups=groups):
                return [solution for group in groups for solution in self.group(group, around)]
            case s.Scoped(kind="graph", name=name, group=group):
                return self.group(group, replace(around, graph=name))
            case s.Scoped(kind="stream", name=name, group=group):
                return self.group(group, replace(around, stream=name))
            case s.Scoped(name=Const(value=name), group=group):
                return self.group(group, replace(around, triples=around.windows[name]))
            case s.Values():
                return _values(element)
            case s.SubSelect(query=query):
                return self.select(query, replace(around, seen={}))
        raise ProgramError(Problem("E207", f"no meaning of {type(element).__name__}", element.span, "use the engine"))

    def passes(self, group: s.GroupPattern, own: _Solution, values: Mapping[str, Value], around: _Around) -> bool:
        """Tell whether the filters of a group hold of its solution; they see `values`."""
        is_gap = is_sequence(group)
        for element in group.elements:
            match element:
                case s.FilterBy(expression=expression):
                    if not holds(expression, {**around.seen, **values}, own.span):
                        return False
                case s.Exists(group=inner, negated=negated):
                    blockers = self.group(inner, replace(around, within=None, seen={**around.seen, **values}))
                    inside = own.gap if is_gap else own.span
                    if negated == any(_agree(b.values, values) and _is_inside(b.span, inside) for b in blockers):
                        return False
        return True

    def chain(self, chain: s.Chain, around: _Around) -> list[_Solution]:
        """Return the solutions of groups under temporal operators."""
        windows = [w for w in (around.within, chain.within) if w is not None]
        around = replace(around, within=min(windows, default=None))
        if not chain.operators:
            return [f for f in self.group(chain.groups[0], around) if _fits(f.span, around.within)]
        found, left = self._operand(chain.groups[0], around, chain.operators[0].startswith("OPTIONAL")), chain.groups[0]
        for operator, right in zip(chain.operators, chain.groups[1:], strict=True):
            others = self._operand(right, around, operator.endswith("OPTIONAL"))
            relation = "SEQ" if "SEQ" in operator else "EQUALS"
            if operator.startswith("OPTIONAL"):
                found = self._outer(others, left, found, relation, around, _alone(relation == "EQUALS"), is_right=True)
            elif operator == "SEQOPTIONAL":
                found = self._outer(found, right, others, relation, around, self._nothing_after(around))
            elif operator == "EQUALSOPTIONAL":
                found = self._outer(found, right, others, relation, around, _alone(waits=True))
            else:
                found = [j for a in found for b in others if (j := _join(a, b, relation, around.within)) is not None]
            left = _NO_FILTERS
        return _distinct(found)

    def _operand(self, group: s.GroupPattern, around: _Around, may_miss: bool) -> list[_Solution]:
        """Return the solutions of an operand that have a time; the filters of one that may be missing come later."""
        found = [f for f in (self.unfiltered if may_miss else self.group)(group, around) if f.span is not None]
        if not is_sequence(group):
            found = [replace(f, gap=(f.span[1], f.span[0])) for f in found if f.span is not None]
        return [f for f in found if _fits(f.span, around.within)]

    def _outer(
        self, kept: list[_Solution], group: s.GroupPattern, others: list[_Solution], relation: str, around: _Around,
        alone: Callable[[_Solution], list[_Solution]], is_right: bool = False,
    ) -> list[_Solution]:  # fmt: skip
        """Join with a group that may be missing; its filters are part of the condition."""
        found = []
        for a in kept:
            pairs = [(b, _join(b, a, relation, around.within) if is_right else _join(a, b, relation, around.within))
                     for b in others]  # fmt: skip
            joined = [j for b, j in pairs if j is not None and self.passes(group, b, j.values, around)]
            found += joined or alone(a)
        return found

    def _nothing_after(self, around: _Around) -> Callable[[_Solution], list[_Solution]]:
        """Return how SEQOPTIONAL reports a left side alone: when its window has passed."""

        def alone(a: _Solution) -> list[_Solution]:
            assert a.span is not None, "operands have a time"
            assert around.within is not None, "it is checked"
            until = a.span[0] + around.within
            if until > self.now:
                self.due.add(until)
                return []
            return [replace(a, span=(a.span[0], until), waits=True)]

        return alone

    def _joined(self, found: list[_Solution], others: list[_Solution], around: _Around) -> list[_Solution]:
        return [j for a in found for b in others if (j := _join(a, b, "and", around.within)) is not None]

    # triple patterns and paths

    def triple(self, triple: s.Triple, around: _Around) -> list[_Solution]:
        """Return the solutions of a triple pattern, whose predicate may be a path."""
        found = list(self.path(triple.subject, triple.predicate, triple.object, around))
        return found if around.triples is not None else _distinct(found)

    def path(self, a: Term, path: Term, b: Term, around: _Around) -> Iterator[_Solution]:
        """Yield every way from `a` to `b`."""
        match path:
            case Compound(name="^", args=(inner,)):
                yield from self.path(b, inner, a, around)
            case Compound(name="|", args=parts):
                for part in parts:
                    yield from self.path(a, part, b, around)
            case Compound(name="/", args=(first, *rest)):
                yield from self._sequence(a, first, rest, b, around)
            case Compound():
                ends = [end.value for end in (a, b) if isinstance(end, Const)]
                pairs = self._repeated(path, ends, around)
                yield from (_Solution(m, None) for pair in pairs if (m := _match((a, b), pair)) is not None)
            case _:
                yield from self._plain((a, path, b), around)

    def _sequence(self, a: Term, first: Term, rest: list[Term], b: Term, around: _Around) -> Iterator[_Solution]:
        if not rest:
            yield from self.path(a, first, b, around)
            return
        middle = Var(f"_:path{next(self.fresh)}")
        following = list(self._sequence(middle, rest[0], rest[1:], b, around))
        for way in self.path(a, first, middle, around):
            for other in following:
                joined = _join(way, other, "and", around.within)
                if joined is not None:
                    del joined.values[middle.name]
                    yield joined

    def _repeated(self, path: Compound, ends: list[Value], around: _Around) -> Iterable[tuple[Value, Value]]:
        """Return the pairs that a path leads between in the background, or in the graph of a window."""
        graph = self.timeless if around.triples is None else around.triples
        if path.name == "!":
            return _negated(path, graph)
        x, y = Var("_:from"), Var("_:to")
        ways = self.path(x, path.args[0], y, replace(around, triples=graph))
        pairs = {(way.values[x.name], way.values[y.name]) for way in ways if len(way.values) == 2}
        while path.name in "*+":
            more = {(a, d) for a, b in pairs for c, d in pairs if b == c} - pairs
            if not more:
                break
            pairs |= more
        if path.name in "*?":
            pairs |= {(node, node) for t in graph for node in (t[0], t[2])} | {(node, node) for node in ends}
        return pairs

    def _plain(self, terms: tuple[Term, Term, Term], around: _Around) -> Iterator[_Solution]:
        if around.triples is not None:
            yield from (_Solution(m, None) for t in around.triples if (m := _match(terms, t)) is not None)
            return
        reads = STREAM if _is_scoped(around) else self.known.reads(terms[1])
        if reads != STREAM:
            yield from (_Solution(m, None) for t in self.timeless if (m := _match(terms, t)) is not None)
        if reads == BACKGROUND:
            return
        named = [(i, name) for i, name in ((3, around.graph), (4, around.stream)) if name is not None]
        whole = (*terms, *(name for _, name in named))
        for e in self.triples:
            is_read = around.streams is None or around.stream is not None or e.stream in around.streams
            values = _match(whole, (*e[:3], *(e[i] for i, _ in named))) if is_read else None
            if values is not None:
                yield _Solution(values, (e.start, e.end), waits=e.waits)


_NO_FILTERS = s.GroupPattern(())


def _join(a: _Solution, b: _Solution, relation: str, within: int | None) -> _Solution | None:
    """Join two solutions that are compatible, in the relation, and together no longer than the window."""
    if not _agree(a.values, b.values):
        return None
    span = _hull(a.span, b.span)
    if a.span is not None and b.span is not None:
        in_relation = {"SEQ": a.span[1] < b.span[0], "EQUALS": a.span == b.span, "and": True}
        if not in_relation[relation] or not _fits(span, within):
            return None
    gap = (a.gap[0], b.gap[1]) if relation == "SEQ" else (b.gap if not a.values and a.span is None else a.gap)
    waits = any(part.waits and part.span is not None and part.span[1:] == (span or ())[1:] for part in (a, b))
    return _Solution({**a.values, **b.values}, span, gap, waits)


def _hull(a: Interval | None, b: Interval | None) -> Interval | None:
    if a is None or b is None:
        return b if a is None else a
    return min(a[0], b[0]), max(a[1], b[1])


def _agree(a: Mapping[str, Value], b: Mapping[str, Value]) -> bool:
    return all(b[name] == value for name, value in a.items() if name in b)


def _takes_away(b: _Solution, a: _Solution) -> bool:
    return not a.values.keys().isdisjoint(b.values) and _agree(a.values, b.values)


def _fits(span: Interval | None, within: int | None) -> bool:
    return span is None or within is None or span[1] - span[0] <= within


def _is_inside(span: Interval | None, outer: Interval | None) -> bool:
    """Tell whether an interval lies strictly inside another; what has no time lies in all."""
    return span is None or (outer is not None and outer[0] < span[0] and span[1] < outer[1])


def _alone(waits: bool) -> Callable[[_Solution], list[_Solution]]:
    return lambda a: [replace(a, waits=a.waits or waits)]


def _is_scoped(around: _Around) -> bool:
    return around.graph is not None or around.stream is not None


def _bind(solution: _Solution, expression: Term, name: str, seen: Mapping[str, Value]) -> _Solution:
    try:
        value = evaluate(expression, {**seen, **solution.values}, solution.span)
    except ExpressionError:
        return solution
    return replace(solution, values={**solution.values, name: value})


def _values(values: s.Values) -> list[_Solution]:
    names = [v.name for v in values.variables]
    rows = [[(n, c.value) for n, c in zip(names, row, strict=True) if c is not None] for row in values.rows]
    return [_Solution(dict(row), None) for row in rows]


def _match(terms: Iterable[Term], values: Iterable[Value | None]) -> dict[str, Value] | None:
    """Return what variables are bound to where a pattern matches; None is no value."""
    found: dict[str, Value] = {}
    for term, value in zip(terms, values, strict=True):
        wanted = term.value if isinstance(term, Const) else found.setdefault(_name(term), value)
        if value is None or wanted != value:
            return None
    return found


def _name(term: Term) -> str:
    assert isinstance(term, Var), "a part of a pattern is a constant or a variable"
    return term.name


def _negated(path: Compound, graph: Iterable[Known]) -> set[tuple[Value, Value]]:
    """Return the pairs of triples whose predicate is none of a set; `^` members stand for the way back."""
    members = path_parts(path)
    ahead = [m.value for m in members if isinstance(m, Const)]
    back = [p.value for m in members if isinstance(m, Compound) for p in m.args if isinstance(p, Const)]
    pairs = {(a, b) for a, p, b in graph if p not in ahead} if ahead else set()
    return pairs | {(b, a) for a, p, b in graph if back and p not in back}


def _fill(term: Term, values: Mapping[str, Value], digest: str) -> Value | None:
    """Return a part of a template; a blank node is new for every solution."""
    if isinstance(term, Const):
        return term.value
    name = _name(term)
    return values.get(name) if is_visible(name) else f"_:{digest}-{name[2:]}"


def _is_triple(parts: tuple[Value | None, ...]) -> bool:
    kinds = [kind_of(part) for part in parts]
    return kinds[0] in ("iri", "blank") and kinds[1] == "iri" and kinds[2] != "unbound"


def _distinct(found: list[_Solution]) -> list[_Solution]:
    """Return each solution once; it waits if it does in all ways."""
    kept: dict[object, _Solution] = {}
    for f in found:
        key = (frozenset(f.values.items()), f.span, f.gap)
        if key not in kept or kept[key].waits:
            kept[key] = f
    return list(kept.values())


def _without(found: list[_Solution], others: list[_Solution]) -> list[_Solution]:
    return [f for f in found if all(f.values != other.values for other in others)]


def _step(query: s.StreamQuery) -> int:
    return next(d.window.step for d in query.datasets if d.window is not None and d.window.step is not None)


def _note(rows: dict[Answer, bool], query: int, values: tuple[Value | None, ...], solution: _Solution) -> None:
    if solution.span is not None:
        answer = Answer(query, values, *solution.span)
        rows[answer] = rows.get(answer, True) and solution.waits


def _answers(rows: dict[Answer, bool]) -> set[Answer]:
    return {answer._replace(waits=waits) for answer, waits in rows.items()}
