"""Why an event occurred: the event is found, and its derivation told."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any

from etalis.errors import EventError, Problem
from etalis.language.named_attributes import place_in_rule
from etalis.language.read.parser import parse_event_pattern
from etalis.language.syntax import EventPattern, Rule
from etalis.runtime.state import Raw
from etalis.semantics.matches import match_all
from etalis.temporal.event import Event, Retraction
from etalis.why.build import JustificationBuilder
from etalis.why.justification import Justification
from etalis.why.rule_texts import program_digest

if TYPE_CHECKING:
    from etalis.runtime.core import Core


def justify_raw(core: Core, raw: Raw) -> Justification:
    """Return why an event occurred, as it was made."""
    taken_back = core.record is not None and core.record.taken_back(raw) is not None
    builder = JustificationBuilder(core, taken_back=taken_back)
    root = builder.event(raw)
    return Justification(root, program_digest(core), core.level, builder.complete, tuple(builder.notes))


def justify(core: Core, question: Event | str, at: int | None, interval: tuple[int, int] | None) -> Justification:
    """Return why an event occurred: the one given, or the latest that a pattern asks for."""
    if core.level == "off":
        hint = 'make the engine with justification="full", or write `:- set_flag(etalis_justification, on).`'
        raise EventError(Problem("E340", "nothing is kept for explanations", hint=hint))
    if isinstance(question, Event):
        return justify_raw(core, _raw_of(core, question))
    pattern = read_question(core, question)
    found = max(occurrences(core, pattern, at, interval), key=lambda raw: raw[:2], default=None)
    if found is None:
        found = max(taken_back(core, pattern, at, interval), key=lambda raw: raw[:2], default=None)
    if found is None:
        raise _did_not_occur(question)
    return justify_raw(core, found)


def read_question(core: Core, text: str) -> EventPattern:
    """Read the pattern of an event that is asked for; attributes that have names find their places."""
    asked = place_in_rule(
        core.program.tree, Rule(EventPattern("question", ()), parse_event_pattern(text, "<question>"))
    ).pattern
    assert isinstance(asked, EventPattern)
    return asked


def occurrences(core: Core, pattern: EventPattern, at: int | None, interval: tuple[int, int] | None) -> Iterator[Raw]:
    """Yield the events that rules made, or goals raised, that stand and that a pattern asks for; the latest first."""
    record = core.record
    if record is None:
        hint = 'ask for an event that was returned, or make the engine with justification="full"'
        raise EventError(Problem("E340", "events are not kept at level ids", hint=hint))
    made = record.made_of((pattern.name, len(pattern.args)))
    raised = [raw for _, raw in record.raised if (raw[2].name, raw[2].arity) == (pattern.name, len(pattern.args))]
    standing = (raw for raw in made if record.taken_back(raw) is None)
    yield from (raw for raw in chain(standing, reversed(raised)) if _is_asked(raw, pattern, at, interval))


def taken_back(core: Core, pattern: EventPattern, at: int | None, interval: tuple[int, int] | None) -> Iterator[Raw]:
    """Yield the events that rules had made, that a pattern asks for, and that a correction took away."""
    kind = (pattern.name, len(pattern.args))
    for back in () if core.record is None else core.record.corrected.values():
        if (back.raw[2].name, back.raw[2].arity) == kind and _is_asked(back.raw, pattern, at, interval):
            yield back.raw


def _is_asked(raw: Raw, pattern: EventPattern, at: int | None, interval: tuple[int, int] | None) -> bool:
    if at is not None and raw[0] != at:
        return False
    if interval is not None and (raw[1], raw[0]) != interval:
        return False
    return match_all(pattern.args, raw[3 : 3 + raw[2].arity], {}) is not None


def _raw_of(core: Core, event: Event) -> Any:
    raw = tuple.__getitem__(event, slice(None))
    if event.sign < 0:
        event = event.reported if isinstance(event, Retraction) else event
    if len(raw) > 3 + event.kind.arity and event.kind.rule is not None:
        return raw
    for kept in () if core.record is None else core.record.made_of((event.name, len(event.args))):
        if (kept[0], kept[1]) == (event.end_time, event.start_time) and kept[3 : 3 + kept[2].arity] == event.args:
            return kept
    raise _did_not_occur(repr(event))


def _did_not_occur(what: str) -> EventError:
    hint = f"ask why not: engine.why_not({what!r})"
    return EventError(Problem("E341", f"{what} did not occur", hint=hint))
