"""A why-not answer as a time line: for every attempt a group of lanes, one for each part of the rule.

A part that came is a mark, one that is missing a dashed bar over the time in which it would have counted; below them
what stood in the way: blockers, rivals, the window that was too short. Missing parts that rules derive follow with
their own attempts. What has no time is said in words.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import assert_never

from etalis.data.values import format_value
from etalis.language.printer import print_term
from etalis.pictures.paint.axis import are_dates, write_interval, write_moment
from etalis.pictures.paint.lettering import TITLE, shorten
from etalis.pictures.scene import LaneMark, SceneLink, Timeline
from etalis.temporal.interval import to_seconds
from etalis.why import why_not as w
from etalis.why.bound_terms import bind_term
from etalis.why.forms.repair_text import repair_line
from etalis.why.forms.wording import Wording, rule_text
from etalis.why.justification import Occurred, Received

MOST_LANES = 60
_WITHHELD = {
    "consumed": "was taken by",
    "not_chosen": "came after",
    "replaced": "was replaced by",
    "merged": "was merged in",
}
_LEGEND = {
    "present": "present",
    "missing": "missing: when it would have counted",
    "nearest": "differs in one value",
    "blocker": "stands in the way",
    "rival": "went before, or holds another value",
    "allowed": "allowed",
    "excess": "too much",
}


def draw_why_not(found: w.WhyNot) -> Timeline:
    """Draw how far each rule got; an event that no rule makes has no time line, but a note."""
    return _WhyNotDrawing(found).timeline


class _WhyNotDrawing:
    """A time line while it is made."""

    def __init__(self, found: w.WhyNot) -> None:
        self.timeline = Timeline(shorten(f"why not {found.question}", TITLE))
        self.left_out = 0
        self._settle_dates(found)
        self.timeline.notes += [] if found.unknown is None else [found.unknown]
        self.timeline.notes += [affair.text for affair in found.affairs]
        waiting = deque([(found, "")])
        while waiting:
            answer, because = waiting.popleft()
            for rule in answer.rules:
                waiting.extend(self._add_rule(rule, because))
        if found.repair is not None:
            self.timeline.notes.append(repair_line(found.repair, Wording(self.timeline.dates)))
        if self.left_out:
            self.timeline.notes.append(f"not drawn: {_further(self.left_out)}")
        if not found.complete:
            self.timeline.notes.append(f"not complete: the budget of {found.steps} steps was reached")
        used = {mark.form for mark in self.timeline.marks}
        self.timeline.legend = [(form, text) for form, text in _LEGEND.items() if form in used]

    def _settle_dates(self, found: w.WhyNot) -> None:
        times = [
            part.event.start
            for rule in found.rules
            for attempt in rule.attempts
            for part in attempt.parts
            if part.event is not None
        ]
        self.timeline.dates = bool(times) and are_dates(min(times), max(times), found.dates or None)

    def _add_rule(self, rule: w.RuleAnswer, because: str) -> list[tuple[w.WhyNot, str]]:
        deeper = []
        for place, attempt in enumerate(rule.attempts):
            if place and not any(part.event for part in attempt.parts):
                continue  # that nothing is there says no more than the first attempt does
            if len(self.timeline.lanes) + len(attempt.parts) > MOST_LANES:
                self.left_out += 1
                continue
            title = f"{because}rule {rule.rule}: {rule_text(rule.rule, rule.text)}"
            heading = [title if place == 0 else f"{because}rule {rule.rule}, another attempt"]
            told = {cause.kind for cause in attempt.causes if isinstance(cause, w.Affair)}
            heading += [affair.text for affair in rule.affairs if affair.kind not in told] if place == 0 else []
            self._add_attempt(attempt, heading)
            deeper += [
                (part.because, f"{part.text} did not occur; ") for part in attempt.parts if part.because is not None
            ]
        if rule.more:
            self.timeline.notes.append(f"rule {rule.rule}: {_further(rule.more)}")
        return deeper

    def _add_attempt(self, attempt: w.Attempt, heading: list[str]) -> None:
        heading += [shorten(self._say(cause), 2 * TITLE) for cause in attempt.causes]
        marks: dict[_Key, int] = {}
        for part in attempt.parts:
            label = f"{part.text}, {part.count} times" if part.count else part.text
            lane = self.timeline.add_lane(label, *heading)
            heading = []
            if part.event is None:
                self._add_missing(lane, part)
            else:
                marks[_key(part.event)] = self._mark(lane, part.event, "present")
        for cause in attempt.causes:
            self._add_cause(cause, attempt, marks, heading)

    def _add_missing(self, lane: int, part: w.AttemptPart) -> None:
        low, high = _bounds(part)
        note = f"missing: {part.note}" if part.note else "missing"
        details = (self._say_range(low, high),)
        self.timeline.add(
            LaneMark(
                lane, None if low is None else low.time, None if high is None else high.time, "missing", note, details
            )
        )
        if part.nearest is not None:
            near = part.nearest
            told = f"{near.variable} is {format_value(near.found)}, not {format_value(near.wanted)}"
            self._mark(lane, near.event, "nearest", f"{near.event.atom}: {told}")

    def _add_cause(self, cause: w.Cause, attempt: w.Attempt, marks: dict[_Key, int], heading: list[str]) -> None:
        """Add the lanes of what stood in the way."""
        timeline = self.timeline
        present = [part.event for part in attempt.parts if part.event is not None]
        match cause:
            case w.BlockedBy(by=by):
                self._add_events("blocked by", by, "blocker", heading)
            case w.Withheld(kind=kind, by=by):
                self._add_events(_WITHHELD[kind], by, "rival", heading)
            case w.TooLong(allowed=allowed, actual=actual) if present:
                lane = timeline.add_lane(f"within {to_seconds(allowed)}", *heading)
                first = min(event.start for event in present)
                told = f"{to_seconds(actual)} s, {to_seconds(actual - allowed)} s too long"
                timeline.add(LaneMark(lane, first, first + allowed, "allowed", f"{to_seconds(allowed)} s"))
                timeline.add(LaneMark(lane, first + allowed, first + actual, "excess", told))
            case w.OutOfOrder(left=left, right=right):
                source, target = marks.get(_key(left)), marks.get(_key(right))
                if source is not None and target is not None:
                    timeline.links.append(SceneLink(source, target, "", "absent"))
            case w.WrongValue(found=values) if values:
                lane = timeline.add_lane("had the value", *heading)
                for value, time in values:
                    timeline.add(LaneMark(lane, time, time, "rival", format_value(value)))
            case w.KnownLater(facts=facts) if facts:
                lane = timeline.add_lane("known only later", *heading)
                for fact, time in facts:
                    timeline.add(LaneMark(lane, time, time, "rival", print_term(fact)))
            case w.StillPending(until=until) if present:
                lane = timeline.add_lane("pending", *heading)
                last = max(event.end for event in present)
                told = f"until {write_moment(until, timeline.dates)}"
                timeline.add(LaneMark(lane, last, until, "allowed", told))
            case w.Affair(kind=kind, event=event) if event is not None:
                self._add_events(kind.replace("_", " "), (event,), "rival", heading)

    def _add_events(self, label: str, events: tuple[Occurred, ...], form: str, heading: list[str]) -> None:
        lane = self.timeline.add_lane(label, *heading)
        for event in events:
            self._mark(lane, event, form)

    def _mark(self, lane: int, event: Occurred, form: str, label: str | None = None) -> int:
        number = (f"input {event.number}",) if isinstance(event, Received) else ()
        details = (write_interval(event.start, event.end, self.timeline.dates), *number)
        return self.timeline.add(LaneMark(lane, event.start, event.end, form, label or event.atom, details))

    def _say(self, cause: w.Cause) -> str:
        dates = self.timeline.dates
        match cause:
            case w.MissingPart(part=part):
                return f"{part.text} is missing {self._say_range(*_bounds(part))}".rstrip()
            case w.OutOfOrder(relation=relation, left=left, right=right, by=by):
                return f"not {left.atom} {relation} {right.atom}, by {to_seconds(by)} s"
            case w.TooLong(allowed=allowed, actual=actual):
                return f"takes {to_seconds(actual)} s, allowed are {to_seconds(allowed)}"
            case w.Refuted(failing=failing, bindings=bindings, error=error):
                said = print_term(bind_term(failing, bindings))
                return f"{said} has no proof" if error is None else f"{said}: {error}"
            case w.KnownLater(goal=goal):
                return f"{print_term(goal)} holds by what was known only later"
            case w.WrongValue(wanted=wanted):
                return f"the value was never {wanted}"
            case w.BlockedBy(by=by):
                return f"blocked by {self._list(by)}"
            case w.Withheld(kind=kind, part=part, by=by):
                return f"{part.atom} {_WITHHELD[kind]} {self._list(by)}"
            case w.Affair():
                return cause.text
            case w.StillPending(until=until):
                return f"not decided until {write_moment(until, dates)}"
            case _:
                assert_never(cause)

    def _list(self, events: Iterable[Occurred]) -> str:
        return ", ".join(f"{e.atom} {write_interval(e.start, e.end, self.timeline.dates)}" for e in events)

    def _say_range(self, low: w.TimeBound | None, high: w.TimeBound | None) -> str:
        dates = self.timeline.dates
        told = [] if low is None else [f"{'after' if low.open else 'from'} {write_moment(low.time, dates)}"]
        told += [] if high is None else [f"{'before' if high.open else 'up to'} {write_moment(high.time, dates)}"]
        return ", ".join(told)


_Key = tuple[str, int, int]


def _further(number: int) -> str:
    return f"{number} further attempt{'' if number == 1 else 's'}"


def _key(event: Occurred) -> _Key:
    return event.atom, event.start, event.end


def _bounds(part: w.AttemptPart) -> tuple[w.TimeBound | None, w.TimeBound | None]:
    """Return from when to when a missing part would have counted, as far as it is bounded."""
    ranges = [found for found in (part.start, part.end) if found is not None]
    low = next((found.after for found in ranges if found.after is not None), None)
    high = next((found.before for found in reversed(ranges) if found.before is not None), None)
    return low, high
