"""What is wrong with a choice: the tests of a rule that fail on it, each as soon as the leaves it needs are decided."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from etalis.data.values import Value
from etalis.language import syntax as s
from etalis.language.rules import known_events
from etalis.runtime.state import BEGINNING, NEVER, show_time
from etalis.semantics.matches import alarm_time, ground, match_all
from etalis.temporal.relation import Relation, relations
from etalis.why.checking.rule_text import TextModifier
from etalis.why.missing_parts import where_absent, where_before
from etalis.why.search.asked_head import AskedHead
from etalis.why.search.extents import (
    MISSING,
    NOTHING_KNOWN,
    Choice,
    Counted,
    FailedTest,
    Lost,
    PartExtent,
    Taken,
    events_of,
    excess,
    of_counted,
    of_instance,
    pair,
)
from etalis.why.search.goals import GoalAsker
from etalis.why.search.instances import PartEvent, PartEvents, distinct
from etalis.why.search.shape import RuleShape, ShapeNode
from etalis.why.search.sightings import Sightings
from etalis.why.search.withholding import withheld
from etalis.why.selection import replay
from etalis.why.why_not import Affair

if TYPE_CHECKING:
    from etalis.runtime.core import Core

Times = tuple[int | None, int | None]


@dataclass(frozen=True, slots=True)
class AskedTimes:
    """When the event should have occurred: bounds of its end and of its start, both closed.

    `near` are the bounds outside which no event is chosen that fails an order in a rule without a window.
    """

    end: Times = (None, None)
    start: Times = (None, None)
    near: Times = (None, None)

    def holds(self, start: int, end: int) -> bool:
        """Tell whether an event occurred when it should have."""
        return all(
            (low is None or low <= time) and (high is None or time <= high)
            for time, (low, high) in ((start, self.start), (end, self.end))
        )


class NoAttemptError(Exception):
    """A choice that is none: it lies elsewhere than asked for, or fails by more than the window is long."""


class Tester:
    """Tests choices over the events and the knowledge of one run."""

    def __init__(self, core: Core, question: s.EventPattern) -> None:
        assert core.record is not None
        self.now, self._passed = core.state.now, core.state.floor
        self.relations = relations(core.rules.settings.relations)
        self.instances = PartEvents(core)
        self.sightings = Sightings(core, self.instances)
        self.goals = GoalAsker(core)
        self.kinds = frozenset(known_events(core.program.tree))
        self.selection = replay(core, question)

    def is_to_come(self, due: int) -> bool:
        """Tell whether a moment has not passed: its last input may still come."""
        return due > self.now or (due == self.now and due > self._passed)


class Measure:
    """Extends choices for one shape of a rule."""

    def __init__(
        self, tester: Tester, shape: RuleShape, asked: AskedTimes, life: tuple[int, int], head: AskedHead | None
    ) -> None:
        self.tester = tester
        self.shape = shape
        self.asked = asked
        self.life = life
        self.head = head

    def begin(self, bound: dict[str, Value]) -> Choice:
        """Return the choice in which nothing is decided."""
        found = Choice((None,) * len(self.shape.leaves), 0, bound, {}, (), (0, 0, 0))
        found.rank = self._rank(found)
        return found

    def extend(self, choice: Choice, taken: Taken) -> Choice | None:
        """Return a choice with its next leaf decided; None if it is no attempt, or does not agree."""
        leaf = self.shape.leaves[self.shape.order[choice.place]]
        bound = choice.bound
        if isinstance(taken, PartEvent):
            if leaf.event is not None:
                found = match_all(leaf.event.args, taken.args, bound)
                if found is None:
                    return None
                bound = found
        elif isinstance(taken, Counted):
            bound = {**bound, **taken.bound}
        if self.head is not None and not self.head.can_be(bound):
            return None
        several = list(choice.taken)
        several[leaf.number] = taken
        made = Choice(tuple(several), choice.place + 1, dict(bound), dict(choice.extents), choice.failures, choice.cost)
        try:
            self._measure(made)
        except NoAttemptError:
            return None
        return made

    def _measure(self, choice: Choice) -> None:
        """Finish the parts whose leaves are all decided; of others count what is sure to fail."""
        failed = list(choice.failures)
        spans: dict[int, PartExtent] = {}
        extra, distance = 0, 0
        for node in self.shape.nodes:
            if node.number in choice.extents:
                continue
            taken = choice.taken[node.leaves[0] : node.leaves[1]]
            if None not in taken:
                choice.extents[node.number] = self._finish(node, choice, failed)
                continue
            if not any(x is not None for x in taken):
                continue
            span, over = self._estimate(node, choice, spans)
            spans[node.number] = span
            extra += len(over)
            distance += sum(over)
        if self.shape.root.number in choice.extents:
            self._conclude(choice, failed)
        else:
            self._stays_inside(spans.get(self.shape.root.number, NOTHING_KNOWN))
        choice.failures = tuple(failed)
        missing = sum(x is MISSING for x in choice.taken)
        total = sum(failure.distance for failure in failed) + distance
        choice.cost = missing, len(failed) + extra, total
        choice.rank = self._rank(choice)

    def _rank(self, choice: Choice) -> tuple[object, ...]:
        """Return by what choices are compared: what is not decided counts as well as it can."""
        floor = max(choice.cost, (0, 1, 0))
        present = [x for x in choice.taken if isinstance(x, PartEvent | Counted)]
        hull = max(x.end for x in present) - min(x.start for x in present) if present else 0
        presence = tuple(int(x is MISSING) for x in choice.taken)
        return (*floor, hull, presence, tuple(map(_lateness, reversed(choice.taken))))

    # parts that are not finished

    def _estimate(self, node: ShapeNode, choice: Choice, spans: dict[int, PartExtent]) -> tuple[PartExtent, list[int]]:
        """Return where a part is at least, and by how much tests are sure to fail, unless a leaf is missing."""
        sides = [choice.extents.get(x.number) or spans.get(x.number, NOTHING_KNOWN) for x in node.below]
        over: list[int] = []
        window = node.part.window
        taken = choice.taken[node.leaves[0] : node.leaves[1]]
        if len(sides) == 2 and node.operator is not None:
            row = self.tester.relations[node.operator]
            span = pair(row, *sides)._replace(whole=False)
            a, b = sides
            if row.sequential and MISSING not in taken and a.end is not None and b.start is not None:
                by = excess(row, (a.end, a.end), (b.start, b.start))
                over += [by] if by else []
        else:
            span = sides[0]._replace(whole=False) if sides else NOTHING_KNOWN
            if isinstance(node.part.core, s.NotWithin) and span.end is not None:
                span = span._replace(end=span.end + node.part.core.duration)
        if span.start is not None and span.end is not None:
            longer = [
                span.end - span.start - m.pattern.duration
                for m in node.part.modifiers
                if isinstance(m.pattern, s.Within) and span.end - span.start > m.pattern.duration
            ]
            if window is not None and any(by > window for by in longer):
                raise NoAttemptError
            over += longer
        return span, over

    def _stays_inside(self, span: PartExtent) -> None:
        """See that the event can still occur when it is asked for."""
        if self.shape.rule.alarm is not None:
            return
        last, first = self.asked.end[1], self.asked.start[0]
        if (last is not None and span.end is not None and span.end > last) or (
            first is not None and span.start is not None and span.start < first
        ):
            raise NoAttemptError

    # parts that are finished

    def _finish(self, node: ShapeNode, choice: Choice, failed: list[FailedTest]) -> PartExtent:
        before = len(failed)
        found = self._core(node, choice, failed)
        for modifier in node.part.modifiers:
            found = self._modify(node, modifier, found, choice, failed)
        window = node.part.window
        if window is not None and any(
            failure.distance > window for failure in failed[before:] if failure.kind in ("order", "window")
        ):
            raise NoAttemptError
        if found.whole and len(failed) == before and not any(x.is_held for x in events_of(found)):
            held_back = withheld(self.shape, node, choice, self.tester.selection)
            if held_back is not None:
                failed.append(FailedTest("withheld", held_back))
                found = found._replace(whole=False, edges=(None, None))
        return found

    def _core(self, node: ShapeNode, choice: Choice, failed: list[FailedTest]) -> PartExtent:
        core = node.part.core
        if node.leaf is not None:
            return self._leaf(node, choice, failed)
        sides = [choice.extents[x.number] for x in node.below]
        match core:
            case s.Binary(operator=operator, apart=apart):
                a, b = sides
                row = self.tester.relations[operator]
                self._relate(node, row, a, b, failed)
                return pair(row, a, b, apart=apart)
            case s.NotWithin():
                return self._await(node, core, sides[0], failed)
            case _:
                return sides[0]._replace(first=sides[0].end, last=sides[0].start, edges=(None, None))

    def _leaf(self, node: ShapeNode, choice: Choice, failed: list[FailedTest]) -> PartExtent:
        assert node.leaf is not None
        leaf, taken = self.shape.leaves[node.leaf], choice.taken[node.leaf]
        opener = None if leaf.anchor is None else choice.extents[leaf.anchor.number]
        if isinstance(taken, Counted):
            failed += taken.failures
            counted = of_counted(taken)
            return counted if opener is None else pair(self.tester.relations["seq"], opener, counted)
        if isinstance(taken, PartEvent):
            bound = {v: choice.bound[v] for v in leaf.names}
            if isinstance(leaf.pattern, s.TimePoint) and leaf.pattern.time > self.tester.now:
                failed.append(FailedTest("pending", leaf.pattern.time))
            return of_instance(taken, bound)
        return NOTHING_KNOWN if opener is None else pair(self.tester.relations["seq"], opener, NOTHING_KNOWN)

    def _relate(self, node: ShapeNode, row: Relation, a: PartExtent, b: PartExtent, failed: list[FailedTest]) -> None:
        """Test a relation; of a chain with its middle missing, the order of the neighbours."""
        left, right = (a.rightmost, b.leftmost) if row.sequential else (a, b)
        if left is None or right is None or not (left.whole and right.whole):
            return
        by = excess(row, left.times, right.times)
        if by:
            own = {id(x) for x in events_of(left)}
            if any(id(x) in own for x in events_of(right)):  # no event comes before itself
                raise NoAttemptError
            if node.part.window is None and not self._is_near(left.times, right.times):
                raise NoAttemptError
            failed.append(FailedTest("order", (row.name, left.ends, right.begins), by))

    def _is_near(self, *several: tuple[int, int]) -> bool:
        low, high = self.asked.near
        return all((low is None or low <= end) and (high is None or end <= high) for _, end in several)

    def _await(self, node: ShapeNode, absence: s.NotWithin, a: PartExtent, failed: list[FailedTest]) -> PartExtent:
        if a.end is None:
            return a
        low, due, _, open_low, open_high = where_absent(absence, a.end)
        if a.whole:
            assert node.part.absent is not None
            seen = self.tester.sightings.find(node.part.absent, low, due, a.bound, (not open_low, not open_high))
            if seen:
                failed.append(FailedTest("blocked", distinct(x for one in seen for x in one.events)))
            elif self.tester.is_to_come(due):
                failed.append(FailedTest("pending", due))
        return a._replace(end=due, first=due, last=a.start, edges=(None, None))

    def _modify(
        self, node: ShapeNode, modifier: TextModifier, x: PartExtent, choice: Choice, failed: list[FailedTest]
    ) -> PartExtent:
        pattern = modifier.pattern
        if isinstance(pattern, s.Within):
            if x.start is not None and x.end is not None and x.end - x.start > pattern.duration:
                actual = x.end - x.start
                failed.append(FailedTest("window", (pattern.duration, actual), actual - pattern.duration))
            return x
        if not x.whole:
            return x
        match pattern:
            case s.Condition():
                answer = self.tester.goals.ask(pattern, x.bound, choice.bound, x.times, x.number)
                if answer.solution is None:
                    failed.append(FailedTest("condition", answer.cause, answer.distance))
                else:
                    choice.bound.update(answer.solution)
                    return x._replace(bound={**x.bound, **answer.solution})
            case s.Negation() | s.Isolated():
                blockers = distinct(self._blockers(node, modifier, x))
                if blockers:
                    failed.append(FailedTest("blocked", blockers))
        return x

    def _blockers(self, node: ShapeNode, modifier: TextModifier, x: PartExtent) -> Iterator[PartEvent]:
        """Yield the events that an absence or `iso` sees."""
        assert x.end is not None
        pattern, operator = modifier.pattern, node.operator
        if isinstance(pattern, s.Negation) and pattern.operator == "fnot":
            low, high, _, open_low, open_high = where_before(pattern, modifier.window, x.end)
            closed = (not open_low, not open_high)
        else:
            is_gap = operator is not None and self.tester.relations[operator].sequential
            low, high = (x.first, x.last) if is_gap else (x.start, x.end)  # type: ignore[assignment]
            closed = (False, False)
        if isinstance(pattern, s.Negation):
            assert modifier.absent is not None
            for seen in self.tester.sightings.find(modifier.absent, low, high, x.bound, closed):
                yield from seen.events
            return
        own = {id(event) for event in events_of(x)}
        for kind in sorted(self.tester.kinds):
            for event in self.tester.instances.between(kind, low, high, closed=closed):
                if id(event) not in own:
                    yield event

    # the whole

    def _conclude(self, choice: Choice, failed: list[FailedTest]) -> None:
        """See that the event would occur when it is asked for; test the alarm, and that the rule was there."""
        whole = choice.extents[self.shape.root.number]
        if self.head is not None and not self.head.can_be(choice.bound):
            raise NoAttemptError
        held = [x.end for x in events_of(whole) if x.is_held]
        if held:
            failed.append(FailedTest("pending", max(held)))
        start, end, sure = whole.start, whole.end, whole.sure
        alarm = self.shape.rule.alarm
        if alarm is not None and end is not None:
            due = alarm_time(alarm.kind, ground(alarm.when, choice.bound), end) if whole.whole else None
            if due is not None and self.tester.is_to_come(due):
                failed.append(FailedTest("pending", due))
            start = end = due
            sure = (due is not None, due is not None)
        (first, latest_start), (soonest, last) = self.asked.start, self.asked.end
        if start is not None and (
            (first is not None and start < first) or (sure[0] and latest_start is not None and start > latest_start)
        ):
            raise NoAttemptError
        if end is not None and (
            (last is not None and end > last) or (sure[1] and soonest is not None and end < soonest)
        ):
            raise NoAttemptError
        if whole.whole and not failed:
            self._was_there(choice, failed)

    def _was_there(self, choice: Choice, failed: list[FailedTest]) -> None:
        since, until = self.life
        ends = [x.end for x in choice.taken if not isinstance(x, Lost) and x is not None]
        if not ends:
            return
        if since != BEGINNING and min(ends) < since:
            failed.append(FailedTest("affair", Affair("not_there", f"the rule is there since {show_time(since)}")))
        elif until != NEVER and max(ends) >= until:
            failed.append(FailedTest("affair", Affair("not_there", f"the rule was there until {show_time(until)}")))


def _lateness(taken: Taken | None) -> float:
    if taken is None:
        return float("-inf")
    return 0 if isinstance(taken, Lost) else -taken.end
