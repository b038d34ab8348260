"""The solutions of patterns over what has been streamed so far: the table of the meaning, row by row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from math import inf

from etalis.data.values import Value
from etalis.epsparql import syntax as s
from etalis.epsparql.aggregates import aggregate
from etalis.epsparql.expressions import holds
from etalis.epsparql.meaning.solutions import (
    KnownTriple,
    Solution,
    StreamedTriple,
    agree,
    bind,
    distinct,
    fits,
    is_inside,
    join,
    match_terms,
    takes_away,
    value_rows,
)
from etalis.epsparql.reads import BACKGROUND, NEVER, STREAM, Predicates, path_parts, time_of
from etalis.epsparql.scope import is_sequence, selected
from etalis.epsparql.windows import has_aggregates
from etalis.errors import Problem, ProgramError
from etalis.language.syntax import Compound, Const, Term, Var

_NO_FILTERS = s.GroupPattern(())


@dataclass(frozen=True, slots=True)
class PatternContext:
    """What is around an element: the shortest window, GRAPH and STREAM, and a mapping that filters see."""

    within: int | None = None
    graph: Term | None = None
    stream: Term | None = None
    streams: frozenset[str] | None = None
    seen: Mapping[str, Value] = field(default_factory=dict)
    triples: Mapping[KnownTriple, None] | None = None  # the graph of a window
    windows: Mapping[str, Mapping[KnownTriple, None]] = field(default_factory=dict)


@dataclass(slots=True)
class StreamPatterns:
    """The stream up to a moment, the background, and the moments at which rows without partner are due."""

    known: Predicates
    timeless: dict[KnownTriple, None]
    now: float = inf
    triples: dict[StreamedTriple, None] = field(default_factory=dict)
    due: set[int] = field(default_factory=set)
    fresh: Iterator[int] = field(default_factory=count)

    def select(self, query: s.StreamQuery, around: PatternContext) -> list[Solution]:
        """Return the solutions of a query's body, with its items; projected if it is a SELECT."""
        found = [f for f in self.group(query.body, around) if fits(f.span, around.within)]
        if query.values is not None:
            found = self._joined(found, value_rows(query.values), around)
        if has_aggregates(query):
            rows = aggregate(query, [solution.values for solution in found])
            return [Solution(row, None) for row in rows]
        for item in query.items or ():
            if item.expression is not None:
                found = [bind(solution, item.expression, item.variable.name, {}) for solution in found]
        if query.form == "construct":
            return found
        names = set(selected(query) if query.form == "select" else ())
        kept = [replace(f, values={n: v for n, v in f.values.items() if n in names}) for f in found]
        return distinct(kept) if around.triples is None else kept

    def group(self, group: s.GroupPattern, around: PatternContext) -> list[Solution]:
        """Return the solutions of a group: its elements in written order, its filters last."""
        return [f for f in self.unfiltered(group, around) if self.passes(group, f, f.values, around)]

    def unfiltered(self, group: s.GroupPattern, around: PatternContext) -> list[Solution]:
        """Return the solutions of a group before its filters."""
        found = [Solution({}, None)]
        for element in group.elements:
            match element:
                case s.FilterBy() | s.Exists():
                    continue
                case s.Optional(group=inner):
                    waits = time_of(inner, self.known, _is_scoped(around)) != NEVER
                    found = self._outer(found, inner, self.unfiltered(inner, around), "and", around, _alone(waits))
                case s.Minus(group=inner):
                    away = self.group(inner, around)
                    found = [a for a in found if not any(takes_away(b, a) for b in away)]
                case s.BindAs(expression=expression, variable=variable):
                    found = [bind(solution, expression, variable.name, around.seen) for solution in found]
                case _:
                    found = self._joined(found, self.element(element, around), around)
        return distinct(found) if around.triples is None else found

    def element(self, element: s.Element, around: PatternContext) -> list[Solution]:
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
                return value_rows(element)
            case s.SubSelect(query=query):
                return self.select(query, replace(around, seen={}))
        raise ProgramError(Problem("E207", f"no meaning of {type(element).__name__}", element.span, "use the engine"))

    def passes(self, group: s.GroupPattern, own: Solution, values: Mapping[str, Value], around: PatternContext) -> bool:
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
                    if negated == any(agree(b.values, values) and is_inside(b.span, inside) for b in blockers):
                        return False
        return True

    def chain(self, chain: s.Chain, around: PatternContext) -> list[Solution]:
        """Return the solutions of groups under temporal operators."""
        windows = [w for w in (around.within, chain.within) if w is not None]
        around = replace(around, within=min(windows, default=None))
        if not chain.operators:
            return [f for f in self.group(chain.groups[0], around) if fits(f.span, around.within)]
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
                found = [j for a in found for b in others if (j := join(a, b, relation, around.within)) is not None]
            left = _NO_FILTERS
        return distinct(found)

    def _operand(self, group: s.GroupPattern, around: PatternContext, may_miss: bool) -> list[Solution]:
        """Return the solutions of an operand that have a time; the filters of one that may be missing come later."""
        found = [f for f in (self.unfiltered if may_miss else self.group)(group, around) if f.span is not None]
        if not is_sequence(group):
            found = [replace(f, gap=(f.span[1], f.span[0])) for f in found if f.span is not None]
        return [f for f in found if fits(f.span, around.within)]

    def _outer(
        self,
        kept: list[Solution],
        group: s.GroupPattern,
        others: list[Solution],
        relation: str,
        around: PatternContext,
        alone: Callable[[Solution], list[Solution]],
        is_right: bool = False,
    ) -> list[Solution]:
        """Join with a group that may be missing; its filters are part of the condition."""
        found = []
        for a in kept:
            pairs = [(b, join(b, a, relation, around.within) if is_right else join(a, b, relation, around.within))
                     for b in others]  # fmt: skip
            joined = [j for b, j in pairs if j is not None and self.passes(group, b, j.values, around)]
            found += joined or alone(a)
        return found

    def _nothing_after(self, around: PatternContext) -> Callable[[Solution], list[Solution]]:
        """Return how SEQOPTIONAL reports a left side alone: when its window has passed."""

        def alone(a: Solution) -> list[Solution]:
            assert a.span is not None, "operands have a time"
            assert around.within is not None, "it is checked"
            until = a.span[0] + around.within
            if until > self.now:
                self.due.add(until)
                return []
            return [replace(a, span=(a.span[0], until), waits=True)]

        return alone

    def _joined(self, found: list[Solution], others: list[Solution], around: PatternContext) -> list[Solution]:
        return [j for a in found for b in others if (j := join(a, b, "and", around.within)) is not None]

    # triple patterns and paths

    def triple(self, triple: s.Triple, around: PatternContext) -> list[Solution]:
        """Return the solutions of a triple pattern, whose predicate may be a path."""
        found = list(self.path(triple.subject, triple.predicate, triple.object, around))
        return found if around.triples is not None else distinct(found)

    def path(self, a: Term, path: Term, b: Term, around: PatternContext) -> Iterator[Solution]:
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
                yield from (Solution(m, None) for pair in pairs if (m := match_terms((a, b), pair)) is not None)
            case _:
                yield from self._plain((a, path, b), around)

    def _sequence(self, a: Term, first: Term, rest: list[Term], b: Term, around: PatternContext) -> Iterator[Solution]:
        if not rest:
            yield from self.path(a, first, b, around)
            return
        middle = Var(f"_:path{next(self.fresh)}")
        following = list(self._sequence(middle, rest[0], rest[1:], b, around))
        for way in self.path(a, first, middle, around):
            for other in following:
                joined = join(way, other, "and", around.within)
                if joined is not None:
                    del joined.values[middle.name]
                    yield joined

    def _repeated(self, path: Compound, ends: list[Value], around: PatternContext) -> Iterable[tuple[Value, Value]]:
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

    def _plain(self, terms: tuple[Term, Term, Term], around: PatternContext) -> Iterator[Solution]:
        if around.triples is not None:
            yield from (Solution(m, None) for t in around.triples if (m := match_terms(terms, t)) is not None)
            return
        reads = STREAM if _is_scoped(around) else self.known.reads(terms[1])
        if reads != STREAM:
            yield from (Solution(m, None) for t in self.timeless if (m := match_terms(terms, t)) is not None)
        if reads == BACKGROUND:
            return
        named = [(i, name) for i, name in ((3, around.graph), (4, around.stream)) if name is not None]
        whole = (*terms, *(name for _, name in named))
        for e in self.triples:
            is_read = around.streams is None or around.stream is not None or e.stream in around.streams
            values = match_terms(whole, (*e[:3], *(e[i] for i, _ in named))) if is_read else None
            if values is not None:
                yield Solution(values, (e.start, e.end), waits=e.waits)


def _alone(waits: bool) -> Callable[[Solution], list[Solution]]:
    return lambda a: [replace(a, waits=a.waits or waits)]


def _is_scoped(around: PatternContext) -> bool:
    return around.graph is not None or around.stream is not None


def _negated(path: Compound, graph: Iterable[KnownTriple]) -> list[tuple[Value, Value]]:
    """Return a pair for each triple whose predicate is none of a set; `^` members stand for the way back."""
    members = path_parts(path)
    ahead = [m.value for m in members if isinstance(m, Const)]
    back = [p.value for m in members if isinstance(m, Compound) for p in m.args if isinstance(p, Const)]
    pairs = [(a, b) for a, p, b in graph if p not in ahead] if ahead else []
    return pairs + [(b, a) for a, p, b in graph if back and p not in back]
