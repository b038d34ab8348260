"""Queries over windows with steps as rules, in alarms alone (definition section 16).

    window_N(B, K, triple(I, S, P, O))   at the first step at which a triple lies in window I; K more steps follow
    ready_N(B, K, 0)                     at that step, after all of these
    part_N(K, B, part(List))             the list of them, then again at each of the steps that follow
    ready_N(0), graph_N(Parts)           at each step, after all parts: the list of these
    solutions_N(Parts, Values...)        a predicate: the query over the graphs of the parts

So a step costs what its parts do, not their triples, but for the query itself. A growing list takes time with the
square of its length, hence the parts B. A query that reports what has come or gone since the step before finds the rows
of that step in a part, as `before(Rows)`. Law: alarms at a stamp come after all inputs that end there, and an alarm set
there is a step of its own; so `ready_N` counts down as many as what its windows are made of can take (`_delays`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import NamedTuple

from etalis.epsparql import syntax as q
from etalis.epsparql.reads import NEVER, Predicates, time_of
from etalis.epsparql.scope import selected
from etalis.epsparql.strata import BACK, looks_of, may_read
from etalis.epsparql.translate.aggregates import fill, fold
from etalis.epsparql.translate.graphs import GraphPaths, GraphTriples, read_clauses
from etalis.epsparql.translate.groups import GroupTranslator
from etalis.epsparql.translate.naming import VariableNames
from etalis.epsparql.translate.queries import Surroundings, hide, make_rule, report, solve
from etalis.epsparql.translate.refusals import refuse
from etalis.epsparql.translate.solutions import NONE, Solutions, Timed, Timeless, conjunction, test_with
from etalis.epsparql.translate.triples import PatternScope
from etalis.epsparql.windows import has_aggregates, is_windowed
from etalis.language.syntax import (
    Aggregate,
    Alarm,
    Binary,
    Clause,
    Compound,
    Condition,
    Const,
    EventPattern,
    ListTerm,
    Pattern,
    Property,
    Rule,
    Term,
    Var,
    Within,
)
from etalis.temporal.interval import MICROSECONDS

WAITING = frozenset(("EQUALSOPTIONAL", "OPTIONALEQUALS", "SEQOPTIONAL"))
# A goal looks at all of a window; all steps up to the next input count as caused by the last.
WINDOW_LIMITS = MappingProxyType({"max_goal_steps": 50_000_000, "max_derivations": 50_000_000})

_B, _X, _K, _J, _N, _T, _L = (Var(name) for name in ("B", "X", "K", "J", "N", "T", "L"))
_ANY = Var("_#1")
_END = Const(0)
_COUNTED = Compound(",", (Compound(">", (_K, _END)), Compound("is", (_J, Compound("-", (_K, Const(1)))))))
_PARTS = 3  # of the triples of a step; a prime, so that regular times are spread over the parts
_STEPS = read_clauses(f"""
window_steps(Start, End, Range, Step, Origin, When, K, B) :-
    First is (round(End * 1000000) - Origin + Step - 1) div Step,
    Last is (round(Start * 1000000) + Range - Origin - 1) div Step,
    First =< Last, K is Last - First, When is (Origin + First * Step) / 1000000,
    B is round(End * 1000000) mod {_PARTS}.
""")
_BEFORE = read_clauses("""
rows_before(Parts, Rows) :- member(part(L), Parts), memberchk(before(Found), L), !, Rows = Found.
rows_before(_, []).
""")


@dataclass(frozen=True, slots=True)
class WindowTranslator:
    """Turns the windowed queries of one unit into rules; steps are counted from `origin`, in microseconds."""

    unit: q.Unit
    around: Surroundings
    origin: int
    paths: dict[Term, str] = field(default_factory=dict)

    def rules(self, query: q.StreamQuery, number: int) -> Iterator[Rule]:
        """Yield the rules of a query, which is counted from 1."""
        _refuse_waiting(self.unit, query, self.around.known)
        step = step_of(query)
        delay = _delays(self.unit, self.around.known)[number - 1]
        for dataset, place in _places(query):
            yield self._enter(query, number, dataset, place)
        yield from self._list(query, number, step, delay)
        yield from self._report(query, number)

    def _enter(self, query: q.StreamQuery, number: int, dataset: q.Dataset, place: int) -> Rule:
        """Return the rule by which triples come into a window, at the first step that has them."""
        around, window = self.around, dataset.window
        assert window is not None
        names = VariableNames()
        triples = around.triples(names)
        s, p, o, k, b = (Var(names.of(name)) for name in ("s", "p", "o", "k", "b"))
        start, end, when = (Var(names.of(name)) for name in ("start", "end", "when"))
        stream = dataset.iri if dataset.stream is None else dataset.stream
        found = triples.read(s, p, o, PatternScope(stream=Const(stream))).timed
        assert found is not None
        around.facts.clauses.update(_STEPS)
        lengths = (Const(window.range), Const(step_of(query)), Const(self.origin))
        steps = Compound("window_steps", (start, end, *lengths, when, k, b))
        goal = conjunction((Compound("t1", (start,)), Compound("t2", (end,)), steps))
        triple = Compound("triple", (Const(place), s, p, o))
        head = _event("window", number, b, k, triple)
        return replace(make_rule(head, Condition("check", found.pattern, goal), query), alarm=Alarm("at", when))

    def _list(self, query: q.StreamQuery, number: int, step: int, delay: WindowDelay) -> Iterator[Rule]:
        """Yield the rules that keep what is in the windows, and list it at every step."""
        window = _event("window", number, _B, _K, _X)
        yield from _wait(query, number, replace(window, args=(_B, _K, _ANY)), delay.parts, _B, _K)
        part = _event("part", number, _K, _B, Compound("part", (_L,)))
        yield _collect(query, part, window, _event("ready", number, _B, _K, _END))
        living = replace(part, args=(_K, _B, _X))
        following = make_rule(replace(part, args=(_J, _B, _X)), Condition("where", living, _COUNTED), query)
        yield replace(following, alarm=Alarm("after", _seconds(step)))
        some = replace(part, args=(Var("_#1"), Var("_#2"), _X))
        yield from _wait(query, number, some, delay.whole)
        yield _collect(query, _event("graph", number, _L), some, _event("ready", number, _END))

    def _report(self, query: q.StreamQuery, number: int) -> Iterator[Rule]:
        """Yield the rules of the heads of a query."""
        names = VariableNames()
        listed = Var(names.fresh("Window"))
        graph = _event("graph", number, listed)
        found = self._solutions(query, number, names, listed)
        word = query.registered[0] if query.registered is not None else "rstream"
        if word in ("istream", "dstream"):
            rows = _event("rows", number, *(Var(names.fresh(name)) for name in ("Rows", "Before")))
            yield from self._remember(query, number, rows, names, graph, found)
            graph, found = rows, self._difference(word, number, rows, names, found)
        pattern: Pattern = test_with(graph, "event_multiply" if found.binds else "where", found.goal)
        yield from report(query, number, Timed(pattern, found.sure, found.maybe), names, self.around)

    def _solutions(self, query: q.StreamQuery, number: int, names: VariableNames, listed: Var) -> Timeless:
        """Return the call of the predicate of a query, which is made here."""
        around = self.around
        places = _places(query)
        graphs = [Var(names.fresh("Graph")) for _ in range(max(place for _, place in places) + 1)]
        named: dict[str | None, Var] = {
            dataset.iri if dataset.kind == "window" else None: graphs[place] for dataset, place in places
        }
        triples = GraphTriples(around.known, around.facts, names, named)
        paths = GraphPaths(triples, around.paths, self.paths)
        reader = GroupTranslator(triples, paths, False, _project)
        found = _solve(reader, query, PatternScope())
        kept = sorted(found.binds)
        if query.form != "construct":
            wanted = selected(query) if query.form == "select" else ()
            kept = sorted(found.binds & frozenset(map(names.of, wanted)))
        head = Compound(f"solutions_{number}", (listed, *map(Var, kept)))
        opened = Compound("sparql_graphs", (listed, ListTerm(tuple(graphs))))
        around.facts.clauses[Clause(head, conjunction((opened, *found.goals)))] = None
        only = frozenset(kept)
        return Timeless((head,), found.sure & only, found.maybe & only)

    def _remember(
        self, query: q.StreamQuery, number: int, rows: EventPattern, names: VariableNames, graph: EventPattern,
        found: Timeless,
    ) -> Iterator[Rule]:  # fmt: skip
        """Yield the rules of the rows of each step, beside those of the step before, which it finds in a part."""
        clauses = self.around.facts.clauses
        clauses.update(_BEFORE)
        (listed,), (here, there) = graph.args, rows.args
        cells = [Var(names.fresh(name)) for name in sorted(found.binds)]
        filled = (fill(Var(name), cell) for name, cell in zip(sorted(found.binds), cells, strict=True))
        some = Var(names.fresh("Found"))
        collected = Compound("findall", (ListTerm(tuple(cells)), conjunction((found.goal, *filled)), some))
        all_rows = Compound(rows.name, (listed, here))
        clauses[Clause(all_rows, conjunction((collected, Compound("sort", (some, here)))))] = None
        goal = conjunction((all_rows, Compound("rows_before", (listed, there))))
        yield make_rule(rows, Condition("where", graph, goal), query)
        before = Compound("part", (ListTerm((Compound("before", (here,)),)),))
        some_rows = Condition("where", rows, Compound("\\==", (here, ListTerm(()))))
        rule = make_rule(_event("part", number, _END, Const(_PARTS), before), some_rows, query)
        yield replace(rule, alarm=Alarm("after", _seconds(step_of(query))))

    def _difference(
        self, word: str, number: int, rows: EventPattern, names: VariableNames, found: Timeless
    ) -> Timeless:  # fmt: skip
        """Return the call of what has come, or gone, since the step before."""
        columns, other = tuple(map(Var, sorted(found.binds))), Var(names.fresh("Other"))
        here, there = rows.args if word == "istream" else reversed(rows.args)
        goals = (Compound("ord_subtract", (here, there, other)), Compound("member", (ListTerm(columns), other)))
        head = Compound(f"{word}_{number}", (*rows.args, *columns))
        self.around.facts.clauses[Clause(head, conjunction(goals))] = None
        return Timeless((head,), NONE, found.binds)


def step_of(query: q.StreamQuery) -> int:
    """Return the STEP of the windows of a query, in microseconds."""
    return next(d.window.step for d in query.datasets if d.window is not None and d.window.step is not None)


def _solve(reader: GroupTranslator, query: q.StreamQuery, scope: PatternScope) -> Timeless:
    """Return the solutions of a query over graphs, with its items or its groups."""
    grouped = has_aggregates(query)
    found = solve(reader, replace(query, items=()) if grouped else query, scope).timeless
    assert found is not None, "graphs have no time"
    return fold(found, query, reader.names) if grouped else found


def _project(reader: GroupTranslator, query: q.StreamQuery, scope: PatternScope) -> Solutions:
    return hide(Solutions(timeless=_solve(reader, query, scope)), query, reader.names)


def _places(query: q.StreamQuery) -> list[tuple[q.Dataset, int]]:
    """Return the windows of a query, with the places of their graphs: those of FROM STREAM have one together."""
    found: dict[str | None, int] = {}
    windows = [dataset for dataset in query.datasets if dataset.window is not None]
    for dataset in windows:
        found.setdefault(dataset.iri if dataset.kind == "window" else None, len(found))
    return [(dataset, found[dataset.iri if dataset.kind == "window" else None]) for dataset in windows]


def _wait(query: q.StreamQuery, number: int, pattern: EventPattern, delay: int, *of: Var) -> Iterator[Rule]:
    """Yield the rules that count down, from the first event of a stamp, until all of them have come."""
    now, some = Compound("t2", (_T,)), _event("some", number, *of)
    yield make_rule(some, pattern, query)
    first = make_rule(_event("ready", number, *of, Const(delay)), Condition("check", some, now), query)
    yield replace(first, alarm=Alarm("at", _T))
    if delay:
        later = Compound("is", (_J, Compound("-", (_N, Const(1)))))
        counting = conjunction((Compound(">", (_N, _END)), later, now))
        rule = make_rule(
            _event("ready", number, *of, _J), Condition("check", _event("ready", number, *of, _N), counting), query
        )
        yield replace(rule, alarm=Alarm("at", _T))


def _collect(query: q.StreamQuery, head: EventPattern, element: EventPattern, ready: EventPattern) -> Rule:
    """Return the rule of the list of all events of a stamp: of the lists that grow, the newest."""
    pattern = Binary("equals", Within(Aggregate("list", _X, element, _L), 0), ready)
    newest = (Property("policy", Const("snoop_recent")),)
    return replace(make_rule(head, pattern, query), label=head.name, properties=newest)


def _event(kind: str, number: int, *args: Term) -> EventPattern:
    return EventPattern(f"{kind}_{number}", args)


def _seconds(microseconds: int) -> Const:
    whole, rest = divmod(microseconds, MICROSECONDS)
    return Const(microseconds / MICROSECONDS if rest else whole)


def _refuse_waiting(unit: q.Unit, query: q.StreamQuery, known: Predicates) -> None:
    """Refuse a window over what is known only after all alarms of its stamp."""
    seen: set[int] = set()
    todo = list(_makers(unit, query, known))
    while todo:
        place = todo.pop()
        maker = unit.queries[place]
        if place in seen or is_windowed(maker):
            continue
        seen.add(place)
        todo += _makers(unit, maker, known)
        for element in _elements(maker.body):
            is_waiting = isinstance(element, q.Chain) and WAITING.intersection(element.operators)
            if is_waiting or (isinstance(element, q.Optional) and time_of(element.group, known) != NEVER):
                message = "a window over what a query constructs when time has passed its stamp"
                hint = "use OPTIONALSEQ or NOT EXISTS there, which are known at once"
                raise refuse(message, element.span, hint)


def _elements(group: q.GroupPattern) -> Iterator[q.Element]:
    todo: list[q.Element] = [group]
    while todo:
        element = todo.pop()
        yield element
        todo += q.parts_of(element)


class WindowDelay(NamedTuple):
    """How many alarm steps at a stamp, besides one, pass until all triples are in the parts, and all parts there."""

    parts: int
    whole: int


def _delays(unit: q.Unit, known: Predicates) -> list[WindowDelay]:
    """Return for each query how long its windows must wait at a stamp.

    If the last triple of a stamp can come in alarm step n, parts that count from step 1 must count to n + 1, and those
    of the last triples are there at 2 n; so the whole that counts from step 1 counts to 2 n + 1, and the last is there
    at 4 n. What a window constructs then is in others one step later.
    """
    last = [0] * len(unit.queries)  # the step at which a query may still make something
    enters = [1] * len(unit.queries)
    for _ in unit.queries:
        for reader, query in enumerate(unit.queries):
            latest = max((last[maker] for maker in _makers(unit, query, known)), default=0)
            enters[reader] = latest + 1
            last[reader] = 4 * enters[reader] if is_windowed(query) else latest
    return [WindowDelay(enter - 1, 2 * enter - 1) for enter in enters]


def _makers(unit: q.Unit, query: q.StreamQuery, known: Predicates) -> Iterator[int]:
    """Yield the CONSTRUCTs whose results a query may read at the stamp at which they come."""
    streams = {d.iri if d.stream is None else d.stream for d in query.datasets if d.window is not None}
    looks = [] if is_windowed(query) else [look for look in looks_of(query, known) if look.at != BACK]
    for place, maker in enumerate(unit.queries):
        if maker.form == "construct" and maker is not query:
            word, name = maker.registered or ("query", None)
            feeds = word != "query" and name in streams
            if feeds or any(may_read(look, maker, known) for look in looks):
                yield place
