"""What occurred in a run, and every occurrence of a pattern in it, found by looking (definition 11.8).

Patterns are matched here without policies, stores or an order of arrival, one set of matches upon the other: as negated
patterns are, and what an aggregate is taken of. The knowledge is asked as it was after so many events.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import product
from typing import Any, NamedTuple

from etalis.data.values import Value, real
from etalis.errors import ConditionError
from etalis.language import syntax as s
from etalis.language.flags import settings
from etalis.language.goal_limits import host_limits
from etalis.language.lower import load_clauses, run_directives, to_logic
from etalis.language.rules import knowledge_changes, known_events
from etalis.logic.host import Host
from etalis.logic.knowledge.as_of import View
from etalis.logic.knowledge.facts import change_facts
from etalis.logic.solver import Solver
from etalis.temporal.aggregate import FOLDS, has_no_value
from etalis.temporal.event import Event
from etalis.temporal.interval import to_seconds
from etalis.temporal.relation import relations
from etalis.why.checking.rule_text import Bound, TextModifier, TextPart, bind, ground, join, limits
from etalis.why.missing_parts import Where, end_alone, where_absent, where_before

_EVER = 1 << 200


class Sighting(NamedTuple):
    """A pattern that holds: when, first and last as for `cnot` (definition 11.2), its events, and how many had come.

    `events` are its own, by their places in the record; `known` is after how many events it was, at least and at most.
    What follows an open repetition starts after the end `until` of its elements, not after `beyond`, that of others.
    """

    start: int
    end: int
    first: int
    last: int
    bound: Bound
    events: frozenset[int]
    known: tuple[int, int]
    until: int | None = None
    beyond: int | None = None

    def is_before(self, start: int) -> bool:
        """Tell whether what starts then may follow."""
        return (self.until is None or self.until < start) and (self.beyond is None or start <= self.beyond)

    @property
    def times(self) -> tuple[int, int]:
        return self.start, self.end


def one(start: int, end: int, bound: Bound, events: frozenset[int], known: tuple[int, int]) -> Sighting:
    """Return a match that is one part of any sequence."""
    return Sighting(start, end, end, start, bound, events, known)


class RunRecord:
    """All events of a run in the order of processing, inputs with their numbers.

    `solver` has the knowledge after each number of events, and `between` which generations of it there were on the way
    to the next number; without one it is what the program and its events tell, and `changes` from outside (time, name,
    known, values).
    """

    def __init__(
        self,
        program: s.Tree,
        events: Iterable[tuple[Event, int | None]],
        solver: Solver | None = None,
        changes: Iterable[tuple[int, str, bool, tuple[Value, ...]]] = (),
        between: Iterable[tuple[int, int]] = (),
    ) -> None:
        self.program = program
        self.between: dict[int, list[int]] = {}
        for count, generation in between:
            self.between.setdefault(count, []).append(generation)
        self.events = list(events)
        self.relations = relations(settings(program).relations)
        self.kinds = frozenset(known_events(program))
        self.changing = knowledge_changes(program)
        self.ends = [event.end_time for event, _ in self.events]
        self.numbered = {number: place for place, (_, number) in enumerate(self.events) if number is not None}
        self.now = 0
        self.closed = False  # whether a goal was refused since it asks for the past
        self.solver = solver or self._learn(list(changes))
        self.solver.host = Host(lambda _text: None, lambda: to_seconds(self.now))
        self._found: dict[int, tuple[TextPart, list[Sighting]]] = {}

    def _learn(self, changes: list[tuple[int, str, bool, tuple[Value, ...]]]) -> Solver:
        """Return the knowledge with all its versions: its time is how many events have been processed."""
        database, count = load_clauses(self.program), 0
        solver = Solver(database, host_limits(settings(self.program)))
        list(run_directives(self.program, solver))
        database.keep_versions(_EVER, lambda: count)
        waiting = sorted(changes, key=lambda change: change[0])
        for event, _ in self.events:
            while waiting and waiting[0][0] <= event.end_time:
                _, name, known, values = waiting.pop(0)
                change_facts(database, ((name, known),), values)
            count += 1
            change_facts(database, self.changing.get((event.name, len(event.args)), ()), event.args)
        for _, name, known, values in waiting:
            change_facts(database, ((name, known),), values)
        return solver

    def at(self, place: int) -> Sighting:
        """Return an event as a match that binds nothing."""
        event, _ = self.events[place]
        return one(event.start_time, event.end_time, {}, frozenset({place}), (place + 1, place + 1))

    def moment(self, time: int) -> tuple[int, int]:
        """Return how many events had come before a moment, and with it."""
        return bisect_left(self.ends, time), bisect_right(self.ends, time)

    # tests

    def solve(self, kind: str, goal: s.Term, x: Sighting) -> Iterator[Sighting]:
        """Yield what solutions of a condition make of a match: the first, or all; one that raises has none."""
        times: Mapping[tuple[str, int], Value] = {}
        if kind == "check":
            times = {(f"t{place}", 1): _seconds(time) for place, time in enumerate(x.times, 1)}
        for count, view in self._views(x):
            self.now = x.end
            try:
                with self._seeing(view):
                    for solution in self.solver.solve(to_logic(goal), x.bound, times):
                        named = {name: value for name, value in solution.items() if not name.startswith("_#")}
                        yield x._replace(bound={**x.bound, **named}, known=(count, x.known[1]))
                        if kind != "event_multiply":
                            break
            except ConditionError as error:
                self.closed = self.closed or any("past" in problem.message for problem in error.problems)

    def _views(self, x: Sighting) -> Iterator[tuple[int, View]]:
        """Yield the versions of the knowledge that a match may have seen, by the number of events."""
        for count in range(x.known[0], x.known[1] + 1):
            for generation in self.between.get(count, ()):
                yield count, View(count, generation)
            yield count, self.solver.database.as_of(count)

    @contextmanager
    def _seeing(self, view: View) -> Iterator[None]:
        self.solver.view = view
        try:
            yield
        finally:
            self.solver.view = None

    def is_closed(self, kind: str, goal: s.Term, x: Sighting) -> bool:
        """Tell whether a goal cannot be asked of the past: it would change it, or read what no versions are kept of."""
        self.closed = False
        return not any(self.solve(kind, goal, x)) and self.closed

    def holds(self, part: TextPart, modifier: TextModifier, x: Sighting) -> list[Sighting]:
        """Return what a modifier leaves of a match: nothing, itself, or one match per solution."""
        match modifier.pattern:
            case s.Within(duration=duration):
                return [x] if x.end - x.start <= duration else []
            case s.Condition(kind=kind, goal=goal):
                return list(self.solve(kind, goal, x))
            case s.Negation():
                assert modifier.absent is not None
                return [] if self.find(modifier.absent, self.where(part, modifier, x), x) else [x]
            case s.Isolated():
                low, high, *_ = self.where(part, modifier, x)
                return [] if any(low < y.start and y.end < high for y in self.others(x.events)) else [x]  # type: ignore[operator]
            case _:
                return [x]

    def where(self, part: TextPart, modifier: TextModifier, x: Sighting) -> Where:
        """Return where an absence or `iso` looks: from, to, its name, and whether the bounds are open."""
        if isinstance(modifier.pattern, s.Negation) and modifier.pattern.operator == "fnot":
            return where_before(modifier.pattern, modifier.window, x.end)
        core = part.core
        if isinstance(core, s.Binary) and core.alone is None and self.relations[core.operator].sequential:
            return x.first, x.last, "gap", True, True
        return x.start, x.end, "inside", True, True

    def find(self, part: TextPart, where: Where, x: Sighting) -> list[Sighting]:
        """Return the matches of a pattern within bounds that agree with a match, also by the conditions over both."""
        low, high, _, open_low, open_high = where
        return [
            c
            for c in self.matches(part)
            if (low is None or low < c.start or (not open_low and low == c.start))
            and (c.end < high or (not open_high and c.end == high))
            and (bound := join(c.bound, x.bound)) is not None
            and self.partners(part, x._replace(bound=bound))
        ]

    def partners(self, part: TextPart, x: Sighting) -> list[Sighting]:
        """Return what the conditions over both sides leave of them."""
        found = [x]
        for modifier in part.partners:
            found = [z for y in found for z in self.holds(part, modifier, y)]
        return found

    def lone(self, part: TextPart, x: Sighting, *, looks: bool) -> list[Sighting]:
        """Return the match of an operand without a partner; it is looked for one where no policy took it."""
        core = part.core
        assert isinstance(core, s.Binary)
        assert core.alone is not None
        row = self.relations[core.operator]
        others = self.matches(part.below[1 if core.alone == "left" else 0]) if looks else ()
        pairs = [(x, other) if core.alone == "left" else (other, x) for other in others]
        if any(self.outer_pair(part, core, a, b) for a, b in pairs):
            return []
        due = end_alone(row, core.alone, part.window, x.start, x.end)
        is_at_once = row.sequential and core.alone == "right"
        return [one(x.start, due, x.bound, x.events, x.known if is_at_once else self.moment(due))]

    def outer_pair(self, part: TextPart, core: s.Binary, a: Sighting, b: Sighting) -> list[Sighting]:
        """Return what two matches make that are partners under an operator of which one part may be missing."""
        fits = [y for y in self.pair(core, a, b) if part.window is None or y.end - y.start <= part.window]
        return [z._replace(first=z.end, last=z.start) for y in fits for z in self.partners(part, y)]

    def others(self, own: frozenset[int]) -> Iterator[Sighting]:
        """Yield the events of kinds that the program names, but for a match's own."""
        for place, (event, _) in enumerate(self.events):
            if place not in own and (event.name, len(event.args)) in self.kinds:
                yield self.at(place)

    # patterns

    def matches(self, part: TextPart) -> list[Sighting]:
        """Return all matches of a pattern under `unrestricted`."""
        waiting = [part]
        for inner in waiting:
            waiting += inner.below if id(inner) not in self._found else ()
        for inner in reversed(waiting):
            if id(inner) not in self._found:
                found = [x for x in self._core(inner) if inner.window is None or x.end - x.start <= inner.window]
                for modifier in inner.modifiers:
                    found = [y for x in found for y in self.holds(inner, modifier, x)]
                self._found[id(inner)] = inner, found
        return self._found[id(part)][1]

    def _core(self, part: TextPart) -> Iterator[Sighting]:
        sides = [self._found[id(inner)][1] for inner in part.below]
        match part.core:
            case s.EventPattern() | s.SubRule():
                yield from (x for place in range(len(self.events)) for x in self.take(part.core, place))
            case s.TimePoint(time=time):
                yield one(time, time, {}, frozenset(), self.moment(time))
            case s.Binary(alone="left" | "right" as alone) as core:
                yield from (y for a, b in product(*sides) for y in self.outer_pair(part, core, a, b))
                yield from (y for x in sides[0 if alone == "left" else 1] for y in self.lone(part, x, looks=True))
            case s.Binary(operator="seq", right=s.Repeat() as repeat):
                yield from (y for a in sides[0] for x in sides[1] for y in self.repeated(part, repeat, a, x))
            case s.Repeat() as repeat:
                yield from (y for x in sides[0] for y in self.repeated(part, repeat, None, x))
            case s.Binary(operator="seq", right=s.Aggregate() as fold):
                yield from (y for a in sides[0] for y in self._totals(part, fold, a))
            case s.Aggregate() as fold:
                yield from self._totals(part, fold, None)
            case s.Binary() as core:
                yield from (y for a, b in product(*sides) for y in self.pair(core, a, b))
            case s.Or():
                yield from (x._replace(first=x.end, last=x.start) for side in sides for x in side)
            case s.NotWithin() as core:
                yield from (y for x in sides[0] for y in self.awaited(part, core, x))
            case _:
                raise AssertionError("no core")

    def take(self, pattern: s.EventPattern | s.SubRule, place: int) -> list[Sighting]:
        """Return the match of an event pattern with an event, if there is one."""
        event, leaf = self.events[place][0], pattern if isinstance(pattern, s.EventPattern) else pattern.rule.head
        fits = event.name == leaf.name and len(event.args) == len(leaf.args)
        bound = bind(leaf.args, event.args, {}) if fits else None
        return [] if bound is None else [self.at(place)._replace(bound=bound)]

    def pair(self, core: s.Binary, a: Sighting, b: Sighting) -> list[Sighting]:
        """Return what two matches make under an operator."""
        row, bound = self.relations[core.operator], join(a.bound, b.bound)
        if bound is None or not row.holds(a.times, b.times) or (row.sequential and not a.is_before(b.start)):
            return []
        known = max(a.known[0], b.known[0]), max(a.known[1], b.known[1])
        pair = one(*row.interval(a.times, b.times), bound, a.events | b.events, known)
        if not row.sequential:
            return [pair]
        return [pair._replace(first=a.end, last=b.start) if core.apart else pair._replace(first=a.first, last=b.last)]

    def awaited(self, part: TextPart, absence: s.NotWithin, x: Sighting) -> list[Sighting]:
        """Return what is left of a match when nothing has come in time."""
        due = x.end + absence.duration
        assert part.absent is not None
        blocked = self.find(part.absent, where_absent(absence, x.end), x)
        return [] if blocked else [one(x.start, due, x.bound, x.events, self.moment(due))]

    def elements(self, part: TextPart, a: Sighting | None, x: Sighting, names: frozenset[str]) -> list[Sighting]:
        """Return what can be counted with an element: after `a`, of equal values, in the order of coming."""
        after = [b for b in self.matches(part.below[-1]) if a is None or a.end < b.start]
        bound = group(a, x, names)
        return sorted((b for b in after if group(a, b, names) == bound), key=lambda b: b.known)

    def repeated(self, part: TextPart, repeat: s.Repeat, a: Sighting | None, x: Sighting) -> list[Sighting]:
        """Return the matches of a repetition whose last element is `x`: one per first, after `a` the earliest."""
        names = part.below[-1].around
        bound = group(a, x, names)
        count = None if bound is None or (a is not None and not a.end < x.start) else limits(repeat, bound)
        if bound is None or count is None:
            return []
        found = [b for b in self.elements(part, a, x, names) if b.known <= x.known]
        firsts = sorted((b for b in found if is_chain(b, x, found, count)), key=lambda b: b.start)
        return [run(a, b, x, bound, found) for b in (firsts if a is None else firsts[:1])]

    def _totals(self, part: TextPart, fold: s.Aggregate, a: Sighting | None) -> Iterator[Sighting]:
        if a is not None:
            yield from self.folded(part, fold, a, [])
        for x in self.matches(part.below[-1]):
            if value_of(fold, x) is not None and (a is None or a.end < x.start):
                yield from self.folded(part, fold, a, self.counted(part, fold, a, x))

    def counted(self, part: TextPart, fold: s.Aggregate, a: Sighting | None, x: Sighting) -> list[Sighting]:
        """Return the elements that an aggregate is taken over at one of them."""
        found = [b for b in self.elements(part, a, x, part.groups) if b.known <= x.known]
        found = [b for b in found if value_of(fold, b) is not None]
        return found if a is not None else slide(part, found)

    def folded(self, part: TextPart, fold: s.Aggregate, a: Sighting | None, elements: list[Sighting]) -> list[Sighting]:
        """Return the match of an aggregate over elements; none if it has no value, or another than is asked for."""
        value = total(fold, elements)
        if a is not None and not elements:
            fits = FOLDS[fold.kind].at_opener and part.groups & part.head <= a.bound.keys()
            bound = bind([fold.result], [value], a.bound) if fits and value is not None else None
            return [] if bound is None else [a._replace(bound=bound, until=None, beyond=None)]
        first = min(b.start for b in elements)
        given = group(a, elements[-1], part.groups)
        bound = None if given is None or value is None else bind([fold.result], [value], given)
        if bound is None or (a is not None and not a.is_before(first)):
            return []
        events = frozenset[int]().union(*(b.events for b in elements))
        if a is None:
            return [one(first, elements[-1].end, bound, events, elements[-1].known)]
        return [Sighting(a.start, elements[-1].end, a.first, first, bound, a.events | events, elements[-1].known)]


def run(a: Sighting | None, first: Sighting, last: Sighting, bound: Bound, elements: list[Sighting]) -> Sighting:
    """Return a match of a repetition; all elements in its interval are its own (definition 17.2)."""
    events = frozenset[int]().union(*(b.events for b in elements if first.start <= b.start))
    if a is None:
        return one(first.start, last.end, bound, events, last.known)
    return Sighting(a.start, last.end, a.first, first.start, bound, a.events | events, last.known)


def value_of(fold: s.Aggregate, x: Sighting) -> Value | None:
    """Return what an element adds to an aggregate; None if it is no number (definition 14.14)."""
    value = 0 if fold.value is None else ground(fold.value, x.bound)
    return value if not FOLDS[fold.kind].numeric or isinstance(value, int | float) else None


def total(fold: s.Aggregate, elements: Iterable[Sighting]) -> Value | None:
    """Return the value of an aggregate over elements; None if there is none."""
    row = FOLDS[fold.kind]
    state: Any = row.zero
    for x in elements:
        state = row.step(state, value_of(fold, x))
    if state == row.zero and not row.at_opener:
        return None
    value = row.result(state)
    return None if has_no_value(row, value) else value


def slide(part: TextPart, elements: list[Sighting]) -> list[Sighting]:
    """Return the elements that an aggregate without opener is taken over at the last of them (definition 14.6)."""
    lengths = [m.pattern.duration for m in part.modifiers if isinstance(m.pattern, s.Within)]
    counts = [m.pattern.count for m in part.modifiers if isinstance(m.pattern, s.Last)]
    found = [b for b in elements if not lengths or elements[-1].end - min(lengths) <= b.start]
    return found[-min(counts) :] if counts else found


def group(a: Sighting | None, b: Sighting, names: frozenset[str]) -> Bound | None:
    """Return the values by which an element is counted: its own of these names, with those of what it comes after."""
    own = {name: value for name, value in b.bound.items() if name in names}
    return own if a is None else join(a.bound, own)


def is_chain(first: Sighting, last: Sighting, elements: list[Sighting], count: tuple[int, int | None]) -> bool:
    """Tell whether a chain of so many elements, none skipped on the way, leads from first to last."""
    least, most = count
    lengths: list[tuple[Sighting, set[int]]] = [(b, {1} if b is first else set()) for b in sorted(elements, key=rank)]
    for b, found in lengths:
        for a, before in lengths:
            if a.end < b.start and not any(a.end < c.start and c.end < b.start for c in elements):
                found |= {min(n + 1, least if most is None else most + 1) for n in before}
    return any(least <= n and (most is None or n <= most) for b, found in lengths if b is last for n in found)


def rank(x: Sighting) -> tuple[int, int]:
    return x.end, x.start


def _seconds(time: int) -> Value:
    seconds = to_seconds(time)
    return real(seconds) if isinstance(seconds, float) else seconds
