"""The meaning once more, declaratively: the least model under `unrestricted` (definition 8.6 and 9.1).

A naive fixpoint over sets, straight from the table of relations: no stores, no arrival, no policy. It knows event
patterns, all binary operators, `or`, conditions, windows, negation, `not within`, time points and alarms, and refuses
the rest by name. Law: negation looks at ends before the current moment, or at starts after the left side ended; so
taking moments in order, and in each the absences by the end of their left side, latest first, every program is
stratified.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from etalis.data.values import Value
from etalis.errors import ConditionError, Problem, ProgramError
from etalis.language import syntax as s
from etalis.language.flags import rule_settings, settings
from etalis.language.rules import expand_any, labelled_rules, with_checks
from etalis.language.traversal import postorder
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
    model = _Model(rules, dict(relations(found.relations)), solve, list(stream))
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
    now: int = 0
    derived: set[Event] = field(default_factory=set)
    judged: set[tuple[int, Match]] = field(default_factory=set)
    absences: dict[int, set[Match]] = field(default_factory=dict)

    def next_moment(self, now: int | None) -> int | None:
        """Return the first moment after `now` at which anything can happen."""
        points = [p.time for _, whole in self.rules for p in postorder(whole) if isinstance(p, s.TimePoint)]
        coming = [e.end_time for e in self.inputs] + points
        if now is not None:
            coming += [due for due, _ in self._alarms()] + [m.end + p.duration for p, m in self._awaited()]
        return min((t for t in coming if now is None or t > now), default=None)

    def reach(self, now: int) -> None:
        """Close the model under the rules at one moment: first without what is due, then with it."""
        self.now = now
        self._close()
        while True:
            alarms = {event for due, event in self._alarms() if due == now} - self.derived
            awaited = [(p, m) for p, m in self._awaited() if m.end + p.duration == now]
            if alarms:
                self.derived |= alarms
            elif awaited:
                latest = max(m.end for _, m in awaited)
                self._judge([(p, m) for p, m in awaited if m.end == latest])
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

    def _awaited(self) -> list[tuple[s.NotWithin, Match]]:
        """Return the left sides of `not within` that are not judged yet."""
        nodes = [p for _, whole in self.rules for p in postorder(whole) if isinstance(p, s.NotWithin)]
        pairs = [(p, m) for p in nodes for m in self.matches(p.pattern, None)]
        return [(p, m) for p, m in pairs if (id(p), m) not in self.judged]

    def _judge(self, awaited: list[tuple[s.NotWithin, Match]]) -> None:
        standing = [(p, m) for p, m in awaited if not self._is_answered(p, m)]
        self.judged |= {(id(p), m) for p, m in awaited}
        for p, m in standing:
            self.absences.setdefault(id(p), set()).add(_part(m.start, m.end + p.duration, dict(m.bindings)))

    def _is_answered(self, p: s.NotWithin, m: Match) -> bool:
        absent = self.matches(p.absent, None)
        return any(m.end < c.start and c.end <= m.end + p.duration and _agree(c, m) for c in absent)

    def matches(self, pattern: s.Pattern, window: int | None) -> set[Match]:
        """Return all matches of a pattern among the facts so far; `window` is the smallest one around it."""
        match expand_any(pattern):
            case s.EventPattern(name=name, args=args):
                return self._events(name, args)
            case s.TimePoint(time=time):
                return {_part(time, time, {})} if time <= self.now else set()
            case s.Binary(operator=operator, left=left, right=right):
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
                cs, is_gap = self.matches(absent, None), self._is_sequence(inner)
                return {m for m in self.matches(inner, window) if not any(_between(c, m, is_gap) for c in cs)}
            case s.Negation(pattern=inner, absent=absent):
                cs = self.matches(absent, None)
                return {m for m in self.matches(inner, window) if not any(_before(c, m, window) for c in cs)}
            case s.NotWithin() as absence:
                return self.absences.get(id(absence), set())
            case s.Do(pattern=inner):
                return self.matches(inner, window)
            case other:
                message = f"the least model is not defined here for {type(other).__name__}"
                raise ProgramError(Problem("E207", message, other.span, "use semantics.run"))

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
        return isinstance(pattern, s.Binary) and self.relations[pattern.operator].sequential


def _part(start: int, end: int, bindings: Bindings) -> Match:
    return Match(start, end, end, start, frozenset(bindings.items()))


def _pair(relation: Relation, a: Match, b: Match) -> list[Match]:
    bindings = join(dict(a.bindings), dict(b.bindings))
    if bindings is None or not relation.holds(a[:2], b[:2]):
        return []
    m = _part(*relation.interval(a[:2], b[:2]), bindings)
    return [m._replace(first=a.first, last=b.last) if relation.sequential else m]


def _agree(c: Match, m: Match) -> bool:
    return join(dict(c.bindings), dict(m.bindings)) is not None


def _between(c: Match, m: Match, is_gap: bool) -> bool:
    after, before = (m.first, m.last) if is_gap else (m.start, m.end)
    return after < c.start and c.end < before and _agree(c, m)


def _before(c: Match, m: Match, window: int | None) -> bool:
    return c.end < m.end and (window is None or m.end - window <= c.start) and _agree(c, m)
