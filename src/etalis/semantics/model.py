"""The meaning once more, declaratively: the least model under `unrestricted` (definition 8.6 and 9.1).

A naive fixpoint over sets, straight from the table of relations: no stores, no arrival, no policy. It knows event
patterns, all binary operators with their outer forms, `or`, conditions, windows, negation, `not within`, time points
and alarms, and refuses the rest by name. Law: negation looks at ends before the current moment, or at starts after the
left side ended; so taking moments in order, and in each the absences by the end of their left side, latest first, every
program is stratified. What `equals?` and `and?` look at may start with their own side: of one start they come last, by
levels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import product
from typing import NamedTuple

from etalis.data.values import Value
from etalis.errors import ConditionError, Problem, ProgramError
from etalis.language import syntax as s
from etalis.language.flags import rule_settings, settings
from etalis.language.outer.partner_conditions import part_conditions, part_operands
from etalis.language.outer.strata import Levels, find_levels, find_stages
from etalis.language.rules import events_in, expand_any, labelled_rules, with_checks
from etalis.language.traversal import children, postorder
from etalis.semantics.matches import Bindings, Solve, alarm_time, ground, join, match_all, solutions
from etalis.temporal.event import Event
from etalis.temporal.relation import Relation, relations


class Match(NamedTuple):
    """A pattern holds on [start, end] with some bindings; first and last as for `cnot` (definition 11.2)."""

    start: int
    end: int
    first: int
    last: int
    bindings: frozenset[tuple[str, Value]]


class _Awaited(NamedTuple):
    """What is judged when it is due: of several the latest `since` first, as in `steps`."""

    node: s.NotWithin | s.Binary
    match: Match
    due: int
    since: tuple[int, int, int]
    window: int | None


def least_model(program: s.Tree, stream: Iterable[Event], solve: Callable[[int], Solve]) -> set[Event]:
    """Return the set of events that a program derives from a finite stream under `unrestricted`.

    `solve` gives by the end of a match how its conditions are solved.
    """
    found = settings(program)
    rules = []
    for rule in map(with_checks, labelled_rules(program)):
        _, window = rule_settings(found, rule)
        windows = [w for w in (window, found.garbage_window) if w is not None]
        rules.append((rule, s.Within(rule.pattern, min(windows)) if windows else rule.pattern))
    table = relations(found.relations)
    whole = [replace(rule, pattern=pattern) for rule, pattern in rules]
    levels, stages = find_levels(whole, table)[0], find_stages(whole, table)[0]
    model = _Model(rules, dict(table), solve, list(stream), levels, stages)
    now: int | None = None
    while (now := model.next_moment(now)) is not None:
        model.reach(now)
    return model.derived


@dataclass(slots=True)
class _Model:
    """The model up to a moment: the facts so far, and the absences found to hold."""

    rules: list[tuple[s.Rule, s.Pattern]]
    relations: dict[str, Relation]
    solve: Callable[[int], Solve]
    inputs: list[Event]
    levels: Levels
    stages: Levels
    now: int = 0
    derived: set[Event] = field(default_factory=set)
    judged: set[tuple[int, Match]] = field(default_factory=set)
    absences: dict[int, set[Match]] = field(default_factory=dict)

    def next_moment(self, now: int | None) -> int | None:
        """Return the first moment after `now` at which anything can happen."""
        points = [p.time for _, whole in self.rules for p in postorder(whole) if isinstance(p, s.TimePoint)]
        coming = [e.end_time for e in self.inputs] + points
        if now is not None:
            coming += [due for due, _ in self._alarms()] + [awaited.due for awaited in self._awaited()]
        return min((t for t in coming if now is None or t > now), default=None)

    def reach(self, now: int) -> None:
        """Close the model under the rules at one moment: first without what is due, then with it."""
        self.now = now
        self._close()
        while True:
            alarms = {event for due, event in self._alarms() if due == now} - self.derived
            awaited = [found for found in self._awaited() if found.due == now]
            if alarms:
                self.derived |= alarms
            elif awaited:
                latest = max(found.since for found in awaited)
                self._judge([found for found in awaited if found.since == latest])
            else:
                return
            self._close()

    def _close(self) -> None:
        """Add heads until nothing new holds."""
        size = -1
        while size != len(self.derived):
            size = len(self.derived)
            for rule, pattern in self.rules:
                for m in self.matches(pattern, None) if rule.alarm is None else ():
                    args = tuple(ground(a, dict(m.bindings)) for a in rule.head.args)
                    self.derived.add(Event.make(rule.head.name, args, m.start, m.end))

    def _alarms(self) -> list[tuple[int, Event]]:
        found = []
        for rule, pattern in self.rules:
            for m in self.matches(pattern, None) if rule.alarm is not None else ():
                assert rule.alarm is not None
                due = alarm_time(rule.alarm.kind, ground(rule.alarm.when, dict(m.bindings)), m.end)
                if due is not None:
                    args = tuple(ground(a, dict(m.bindings)) for a in rule.head.args)
                    found.append((due, Event.make(rule.head.name, args, due, due)))
        return found

    def _awaited(self) -> list[_Awaited]:
        """Return what is not judged yet: left sides of `not within`, and those of outer operators known later."""
        found = [each for _, whole in self.rules for each in self._awaited_in(whole)]
        return [each for each in found if (id(each.node), each.match) not in self.judged]

    def _awaited_in(self, whole: s.Pattern) -> Iterator[_Awaited]:
        for node, window in _windowed(whole):
            stage = -self.stages.get(id(node), 0)
            if isinstance(node, s.NotWithin):
                for m in self.matches(node.pattern, window):
                    yield _Awaited(node, m, m.end + node.duration, (stage, m.end, 0), window)
            elif isinstance(node, s.Binary) and node.alone is not None:
                relation, side = self.relations[node.operator], 0 if node.alone == "left" else 1
                assert relation.alone is not None
                for m in self._operands(node, window)[side] if relation.alone[side] != "at once" else ():
                    due = m.end if relation.alone[side] == "after its stamp" else m.start + (window or 0)
                    since = (m.end, 0) if relation.sequential else (m.start, -self.levels[id(node)])
                    yield _Awaited(node, m, due, (stage, *since), window)

    def _judge(self, awaited: list[_Awaited]) -> None:
        standing = [found for found in awaited if not self._is_answered(found)]
        self.judged |= {(id(found.node), found.match) for found in awaited}
        for node, m, due, *_ in standing:
            self.absences.setdefault(id(node), set()).add(_part(m.start, due, dict(m.bindings)))

    def _is_answered(self, awaited: _Awaited) -> bool:
        node, m = awaited.node, awaited.match
        if isinstance(node, s.Binary):
            return self._has_partner(node, m, awaited.window)
        absent, conditions = part_conditions(node.absent, node.pattern)
        low = m.end + 1 if node.before is None else m.end - node.before
        blockers = [c for c in self.matches(absent, None) if low <= c.start and c.end <= awaited.due]
        return self._blocks(m, conditions, blockers)

    def _operands(self, node: s.Binary, window: int | None) -> tuple[set[Match], set[Match]]:
        """Return the matches of both operands, none longer than the window."""
        left, right, _ = part_operands(node)
        a, b = self.matches(left, window), self.matches(right, window)
        fits = [{m for m in side if window is None or m.end - m.start <= window} for side in (a, b)]
        return fits[0], fits[1]

    def _pairs(self, node: s.Binary, window: int | None) -> Iterator[tuple[Match, Match, list[Match]]]:
        """Yield the pairs of an operator with what they match as, by its conditions on partners."""
        *_, conditions = part_operands(node)
        left, right = self._operands(node, window)
        for a, b in product(left, right):
            found = _pair(self.relations[node.operator], a, b)
            found = [m for m in found if window is None or m.end - m.start <= window]
            for condition in conditions:
                found = [n for m in found for n in self._solutions(condition.kind, condition.goal, m)]
            yield a, b, found

    def _has_partner(self, node: s.Binary, m: Match, window: int | None) -> bool:
        side = 0 if node.alone == "left" else 1
        return any(found and (a, b)[side] == m for a, b, found in self._pairs(node, window))

    def _outer(self, node: s.Binary, window: int | None) -> set[Match]:
        """Return the matches of an outer operator: pairs, and what has no partner as far as that is known."""
        relation, side = self.relations[node.operator], 0 if node.alone == "left" else 1
        assert relation.alone is not None
        lone = self.absences.get(id(node), set())
        if relation.alone[side] == "at once":
            lone = {m for m in self._operands(node, window)[side] if not self._has_partner(node, m, window)}
        found = {m for *_, several in self._pairs(node, window) for m in several} | lone
        return {_part(m.start, m.end, dict(m.bindings)) for m in found}

    def _blocks(self, m: Match, conditions: Iterable[s.Condition], blockers: Iterable[Match]) -> bool:
        """Tell whether one of some matches of a negated pattern agrees with a match, and fulfils the conditions."""
        several = [join(dict(c.bindings), dict(m.bindings)) for c in blockers]
        for both in several:
            found = [] if both is None else [m._replace(bindings=frozenset(both.items()))]
            for condition in conditions:
                found = [n for each in found for n in self._solutions(condition.kind, condition.goal, each)]
            if found:
                return True
        return False

    def matches(self, pattern: s.Pattern, window: int | None) -> set[Match]:
        """Return all matches of a pattern among the facts so far; `window` is the smallest one around it."""
        match expand_any(pattern):
            case s.EventPattern(name=name, args=args):
                return self._events(name, args)
            case s.TimePoint(time=time):
                return {_part(time, time, {})} if time <= self.now else set()
            case s.Binary(alone="left" | "right") as outer:
                return self._outer(outer, window)
            case s.Binary(operator=operator, left=left, right=right, chosen=chosen) if not chosen or _are_apart(
                left, right
            ):
                pairs = [(a, b) for a in self.matches(left, window) for b in self.matches(right, window)]
                return {m for a, b in pairs for m in _pair(self.relations[operator], a, b)}
            case s.Or(left=left, right=right):
                return {_part(m.start, m.end, dict(m.bindings)) for p in (left, right) for m in self.matches(p, window)}
            case s.Within(pattern=inner, duration=duration):
                smallest = duration if window is None else min(window, duration)
                return {m for m in self.matches(inner, smallest) if m.end - m.start <= duration}
            case s.Condition(kind=kind, pattern=inner, goal=goal):
                return {found for m in self.matches(inner, window) for found in self._solutions(kind, goal, m)}
            case s.Negation(operator="cnot", pattern=inner, absent=absent):
                is_gap = self._is_sequence(inner)
                return self._unblocked(inner, absent, window, lambda c, m: _between(c, m, is_gap))
            case s.Negation(pattern=inner, absent=absent, window=own):
                back = min((w for w in (own, window) if w is not None), default=None)
                return self._unblocked(inner, absent, window, lambda c, m: _before(c, m, back))
            case s.NotWithin() as absence:
                return self.absences.get(id(absence), set())
            case s.Do(pattern=inner):
                return self.matches(inner, window)
            case other:
                message = f"the least model is not defined here for {type(other).__name__}"
                raise ProgramError(Problem("E207", message, other.span, "use semantics.run"))

    def _unblocked(
        self, inner: s.Pattern, absent: s.Pattern, window: int | None, lies: Callable[[Match, Match], bool]
    ) -> set[Match]:
        rest, conditions = part_conditions(absent, inner)
        blockers = self.matches(rest, None)
        found = self.matches(inner, window)
        return {m for m in found if not self._blocks(m, conditions, [c for c in blockers if lies(c, m)])}

    def _events(self, name: str, args: tuple[s.Term, ...]) -> set[Match]:
        found = set()
        for event in [*(e for e in self.inputs if e.end_time <= self.now), *self.derived]:
            fits = event.name == name and len(event.args) == len(args)
            bindings = match_all(args, event.args, {}) if fits else None
            if bindings is not None:
                found.add(_part(event.start_time, event.end_time, bindings))
        return found

    def _solutions(self, kind: str, goal: s.Term, m: Match) -> list[Match]:
        try:
            found = solutions(self.solve(m.end), kind, goal, dict(m.bindings), m.start, m.end)
        except ConditionError:
            return []
        return [m._replace(bindings=frozenset(bindings.items())) for bindings in found]

    def _is_sequence(self, pattern: s.Pattern) -> bool:
        while isinstance(pattern, s.Within | s.Condition | s.Do | s.Negation):
            pattern = pattern.pattern
        if not isinstance(pattern, s.Binary) or pattern.alone is not None:
            return False
        return self.relations[pattern.operator].sequential


def _part(start: int, end: int, bindings: Bindings) -> Match:
    return Match(start, end, end, start, frozenset(bindings.items()))


def _pair(relation: Relation, a: Match, b: Match) -> list[Match]:
    bindings = join(dict(a.bindings), dict(b.bindings))
    if bindings is None or not relation.holds(a[:2], b[:2]):
        return []
    m = _part(*relation.interval(a[:2], b[:2]), bindings)
    return [m._replace(first=a.first, last=b.last) if relation.sequential else m]


def _windowed(pattern: s.Pattern) -> Iterator[tuple[s.Pattern, int | None]]:
    """Yield all nodes of a pattern with the smallest window around each."""
    waiting: list[tuple[s.Pattern, int | None]] = [(pattern, None)]
    while waiting:
        node, window = waiting.pop()
        yield node, window
        if isinstance(node, s.Within):
            window = node.duration if window is None else min(window, node.duration)
        for place, part in enumerate(children(node)):
            negated = place == 1 and isinstance(node, s.Negation | s.NotWithin)
            waiting.append((part, None if negated else window))


def _are_apart(left: s.Pattern, right: s.Pattern) -> bool:
    """Tell whether no event is read by both of two patterns, so that their matches are different instances."""
    a, b = ({(e.name, len(e.args)) for e in events_in(side)} for side in (left, right))
    return a.isdisjoint(b)


def _between(c: Match, m: Match, is_gap: bool) -> bool:
    after, before = (m.first, m.last) if is_gap else (m.start, m.end)
    return after < c.start and c.end < before


def _before(c: Match, m: Match, window: int | None) -> bool:
    return c.end < m.end and (window is None or m.end - window <= c.start)
