"""The engine's own affairs: what it did to the events that were asked for, and to those that they are made of.

A rule was not there, no trigger names the event, an input came too late or was refused, a correction took an event
back, a limit shed what waited.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from etalis.language import syntax as s
from etalis.runtime.lateness.watermark import DeadLetter
from etalis.runtime.ruleset import RuleLife
from etalis.runtime.state import BEGINNING, NEVER, Raw, show_time
from etalis.temporal.interval import to_microseconds, to_seconds
from etalis.why.justification import Occurred
from etalis.why.justify import taken_back
from etalis.why.selection import Selection, replay
from etalis.why.why_not import Affair, StillPending

if TYPE_CHECKING:
    from etalis.runtime.core import Core

Range = tuple[int | None, int | None]
REFUSED = {"late": "too_late", "full": "shed"}


def affairs_of(
    core: Core, pattern: s.EventPattern, between: Range = (None, None), selection: Selection | None = None
) -> tuple[Affair, ...]:
    """Return what the engine did to the events of a pattern that end in a range, and to their inputs.

    What concerns one rule alone is told by `affairs_of_rule`.
    """
    selection = replay(core, pattern) if selection is None else selection
    found = [*_taken_back(core, pattern, between), *_letters(core, selection, between[1]), *_shed(core, selection)]
    return tuple(found)


def affairs_of_rule(core: Core, life: RuleLife, between: Range = (None, None)) -> tuple[Affair, ...]:
    """Return that a rule was not there for some of a range: since when, or until when, it was."""
    low, high = between
    begins = min((kept.end for kept in core.record.source.items()), default=NEVER) if core.record else NEVER
    first = begins if low is None else max(begins, low)
    found = []
    if life.since != BEGINNING and life.since >= first:
        found.append(Affair("not_there", f"rule {life.label} is there only since {show_time(life.since)}"))
    if life.until != NEVER and (high is None or life.until < high):
        found.append(Affair("not_there", f"rule {life.label} was there until {show_time(life.until)}"))
    return tuple(found)


def lives_of(core: Core, pattern: s.EventPattern) -> list[RuleLife]:
    """Return the rules that make events of a pattern's kind, those included that are there no more."""
    kind = (pattern.name, len(pattern.args))
    lives = [life for _, life in sorted(core.rules.lives.items())]
    return [life for life in lives if (life.rule.head.name, len(life.rule.head.args)) == kind]


def not_reported(core: Core, raw: Raw) -> Affair | None:
    """Return that no trigger names an event, so that it occurred and nobody was told."""
    kind = raw[2]
    reported = core.program.is_reported(kind.name, kind.arity, core.rules.conditions)
    args = raw[3 : 3 + kind.arity]
    if reported is True or (reported is not False and reported(*args)):
        return None
    event = _occurred(raw)
    return Affair("not_reported", f"{event.atom} occurred, but no trigger names it", event)


def watermark_pending(core: Core, end: int) -> StillPending | None:
    """Return that time is not settled at a moment, where events are held until it is."""
    disorder = core.disorder
    if disorder is None or disorder.watermark is None or end <= disorder.watermark.reached:
        return None
    return StillPending(end) if disorder.held is not None or core.run_loop.settled < NEVER else None


def _taken_back(core: Core, pattern: s.EventPattern, between: Range) -> Iterator[Affair]:
    record = core.record
    assert record is not None
    for raw in sorted(taken_back(core, pattern, None, None), key=lambda raw: raw[:2]):
        back = record.taken_back(raw)
        if back is not None and _is_within(raw[0], between):
            event = _occurred(raw)
            shown = f"{event.atom} [{show_time(event.start)}, {show_time(event.end)}]"
            yield Affair("taken_back", f"{shown} was taken back by {back.correction}", event)


def _letters(core: Core, selection: Selection, until: int | None) -> Iterator[Affair]:
    """Yield what was not taken of the kinds and the partition in question."""
    for letter in core.dead_letters.letters:
        if letter.end is None or letter.start is None:
            if not letter.name or selection.reads(letter.name, letter.args):
                yield Affair("refused", f"{letter.name or 'a row'} was refused: {letter.reason}")
            continue
        start, end = to_microseconds(letter.start), to_microseconds(letter.end)
        if selection.reads(letter.name, letter.args) and (until is None or end <= until):
            event = Occurred(letter.name, letter.args, start, end)
            yield Affair(REFUSED.get(letter.cause, "refused"), _reason(letter, event), event)


def _reason(letter: DeadLetter, event: Occurred) -> str:
    at = f"{event.atom} at {show_time(event.end)}"
    if letter.cause == "late" and letter.late_by is not None and letter.allowed is not None:
        return f"{at} came too late: by {to_seconds(letter.late_by)} s, {to_seconds(letter.allowed)} s are allowed"
    if letter.cause == "full":
        return f"{at} was not taken: {letter.reason}"
    return f"{at} was refused: {letter.reason}"


def _shed(core: Core, selection: Selection) -> Iterator[Affair]:
    """Yield how many instances of the rules in question a limit dropped."""
    guard = core.guard
    if guard is None:
        return
    for label in dict.fromkeys(life.label for life in selection.lives):
        number = guard.shed[label]
        if number:
            several = "1 instance" if number == 1 else f"{number} instances"
            yield Affair("shed", f"at the limit of {guard.hard}, {several} waiting in rule {label} had to go")


def _is_within(time: int, between: Range) -> bool:
    low, high = between
    return (low is None or low <= time) and (high is None or time <= high)


def _occurred(raw: Raw) -> Occurred:
    return Occurred(raw[2].name, raw[3 : 3 + raw[2].arity], raw[1], raw[0])
