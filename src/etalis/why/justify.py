"""Why an event occurred: the event is found, and its derivation told."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any

from etalis.errors import EventError, Problem
from etalis.language.named_attributes import place_in_rule
from etalis.language.read.parser import parse_event_pattern
from etalis.language.syntax import EventPattern, Rule
from etalis.runtime.record.input_log import KeptInput
from etalis.runtime.state import Raw
from etalis.semantics.matches import match_all
from etalis.temporal.event import Event, Retraction
from etalis.why.build import JustificationBuilder
from etalis.why.derivations import derivations
from etalis.why.justification import Justification
from etalis.why.rule_texts import program_digest

if TYPE_CHECKING:
    from etalis.runtime.core import Core


def justify_raw(core: Core, raw: Raw | int) -> Justification:
    """Return why an event occurred, as it was made; of an input, by its number, that it was received."""
    builder = JustificationBuilder(core)
    root = builder.event(raw)
    return Justification(root, program_digest(core), core.level, builder.complete, tuple(builder.notes))


def justify(core: Core, question: Event | str, at: int | None, interval: tuple[int, int] | None) -> Justification:
    """Return why an event occurred: the one given, or the latest that a pattern asks for."""
    return justify_raw(core, find_asked(core, question, at, interval))


def justify_all(
    core: Core, question: Event | str, at: int | None, interval: tuple[int, int] | None, limit: int
) -> Iterator[Justification]:
    """Yield all derivations of the event that `justify` explains, the first by arrival first."""
    found = find_asked(core, question, at, interval)
    refuse_numbers(core)
    return derivations(core, found, limit)


def find_asked(core: Core, question: Event | str, at: int | None, interval: tuple[int, int] | None) -> Raw | int:
    """Return the event that is asked for, the latest if it may be several; the number of one that was received."""
    refuse_off(core)
    if isinstance(question, Event):
        given: Raw = _raw_of(core, question)
        return given
    pattern = read_question(core, question)
    found = max(occurrences(core, pattern, at, interval), key=lambda raw: raw[:2], default=None)
    if found is not None:
        return found
    received = max(received_events(core, pattern, at, interval), key=lambda kept: (kept.end, kept.start), default=None)
    if received is None:
        raise _did_not_occur(question)
    return received.number


def refuse_off(core: Core) -> None:
    """Refuse to explain where nothing is kept for it."""
    if core.level == "off":
        hint = 'make the engine with justification="full", or write `:- set_flag(etalis_justification, on).`'
        raise EventError(Problem("E340", "nothing is kept for explanations", hint=hint))


def refuse_numbers(core: Core) -> None:
    """Refuse to explain where no more is kept than the numbers of inputs."""
    refuse_off(core)
    if core.record is None:
        hint = 'ask for an event that was returned, or make the engine with justification="full"'
        raise EventError(Problem("E340", "events are not kept at level ids", hint=hint))


def read_question(core: Core, text: str) -> EventPattern:
    """Read the pattern of an event that is asked for; attributes that have names find their places."""
    asked = place_in_rule(
        core.program.tree, Rule(EventPattern("question", ()), parse_event_pattern(text, "<question>"))
    ).pattern
    assert isinstance(asked, EventPattern)
    return asked


def occurrences(core: Core, pattern: EventPattern, at: int | None, interval: tuple[int, int] | None) -> Iterator[Raw]:
    """Yield the events that rules made, or goals raised, and that a pattern asks for; the latest first."""
    refuse_numbers(core)
    record = core.record
    assert record is not None
    made = record.made_of((pattern.name, len(pattern.args)))
    raised = [raw for _, raw in record.raised if (raw[2].name, raw[2].arity) == (pattern.name, len(pattern.args))]
    for raw in chain(made, reversed(raised)):
        if at is not None and raw[0] != at:
            continue
        if interval is not None and (raw[1], raw[0]) != interval:
            continue
        if match_all(pattern.args, raw[3 : 3 + raw[2].arity], {}) is not None:
            yield raw


def received_events(
    core: Core, pattern: EventPattern, at: int | None, interval: tuple[int, int] | None
) -> Iterator[KeptInput]:
    """Yield the inputs that a pattern asks for."""
    assert core.record is not None
    for kept in core.record.source.items():
        asked = (at is None or kept.end == at) and (interval is None or (kept.start, kept.end) == interval)
        alike = (kept.name, len(kept.args)) == (pattern.name, len(pattern.args))
        if asked and alike and match_all(pattern.args, kept.args, {}) is not None:
            yield kept


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
