"""Why an event occurred: the event is found, and its derivation told."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from etalis.data.scalars import show
from etalis.errors import EventError, Problem, ProgramError
from etalis.language.named_attributes import place_in_rule
from etalis.language.operators import ARROWS, PATTERN_OPERATORS
from etalis.language.printer import seconds
from etalis.language.read.parser import parse_event_pattern
from etalis.language.rules import known_events
from etalis.language.syntax import Const, EventPattern, Rule
from etalis.runtime.record.input_log import KeptInput
from etalis.runtime.state import Raw
from etalis.semantics.matches import match_all
from etalis.temporal.event import Event, Retraction
from etalis.why.asking.derivations import derivations
from etalis.why.asking.options import refuse_below, refuse_times
from etalis.why.build import JustificationBuilder
from etalis.why.justification import Justification
from etalis.why.rule_texts import program_digest

if TYPE_CHECKING:
    from etalis.runtime.core import Core
    from etalis.runtime.record.kept_past import KeptPast


OPERATORS = frozenset({*PATTERN_OPERATORS, ",", ";", "not", "-", "+", *ARROWS})  # of patterns and of goals


def justify_raw(core: Core, raw: Raw | int) -> Justification:
    """Return why an event occurred, as it was made; of an input, by its number, that it was received."""
    back = None if core.record is None or isinstance(raw, int) else core.record.taken_back(raw)
    builder = JustificationBuilder(core, taken_back=back is not None)
    root = builder.event(raw)
    dates = core.evidence.shown.dates
    return Justification(root, program_digest(core), core.level, builder.complete, tuple(builder.notes), dates)


def justify(core: Core, question: Event | str, at: int | None, interval: tuple[int, int] | None) -> Justification:
    """Return why an event occurred: the one given, or the latest that a pattern asks for."""
    return justify_raw(core, find_asked(core, question, at, interval))


def justify_all(
    core: Core, question: Event | str, at: int | None, interval: tuple[int, int] | None, limit: int
) -> Iterator[Justification]:
    """Yield all derivations of the event that `justify` explains, the first by arrival first."""
    refuse_below(1, limit=limit)
    found = find_asked(core, question, at, interval)
    refuse_numbers(core)
    return derivations(core, found, limit)


def find_asked(core: Core, question: Event | str, at: int | None, interval: tuple[int, int] | None) -> Raw | int:
    """Return the event that is asked for, the latest if it may be several; the number of one that was received."""
    refuse_off(core)
    refuse_times(at=at, interval=interval)
    if isinstance(question, Event):
        given: Raw = _raw_of(core, question)
        return given
    pattern = read_question(core, question)
    found = _latest(core, pattern, at, interval)
    if found is None:
        found = max(taken_back(core, pattern, at, interval), key=lambda raw: raw[:2], default=None)
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


def _latest(core: Core, pattern: EventPattern, at: int | None, interval: tuple[int, int] | None) -> Raw | None:
    """Return the latest event that a pattern asks for; without corrections events are made in the order of ends."""
    best: Raw | None = None
    for raw in occurrences(core, pattern, at, interval):
        if best is None or raw[:2] > best[:2]:
            best = raw
        elif raw[0] < best[0] and core.disorder is None and core.record is not None and not core.record.raised:
            break
    return best


def read_question(core: Core, text: str) -> EventPattern:
    """Read the pattern of an event that is asked for; attributes that have names find their places."""
    if not isinstance(text, str):
        raise TypeError(f"a question is a text such as 'fraud(c1, _)', not {show(text)}")
    pattern = parse_event_pattern(text, "<question>")
    if pattern.name in OPERATORS and (pattern.name, len(pattern.args)) not in known_events(core.program.tree):
        hint = "ask for the event of a rule's head, such as fraud(c1, _); of a pattern ask for its parts"
        message = f"a question is one event, not a pattern with `{pattern.name}`"
        raise ProgramError(Problem("E113", message, pattern.span, hint))
    asked = place_in_rule(core.program.tree, Rule(EventPattern("question", ()), pattern)).pattern
    assert isinstance(asked, EventPattern)
    return asked


def occurrences(core: Core, pattern: EventPattern, at: int | None, interval: tuple[int, int] | None) -> Iterator[Raw]:
    """Yield the events that rules made, or goals raised, that stand and that a pattern asks for; the latest first."""
    refuse_numbers(core)
    record = core.record
    assert record is not None
    for raw in _kept(record, (pattern.name, len(pattern.args)), _wanted(pattern, at, interval)):
        if match_all(pattern.args, raw[3 : 3 + raw[2].arity], {}) is not None and record.taken_back(raw) is None:
            yield raw


def taken_back(core: Core, pattern: EventPattern, at: int | None, interval: tuple[int, int] | None) -> Iterator[Raw]:
    """Yield the events that rules had made, that a pattern asks for, and that a correction took away."""
    kind, wanted = (pattern.name, len(pattern.args)), _wanted(pattern, at, interval)
    for back in () if core.record is None else core.record.corrected.values():
        raw = back.raw
        alike = (raw[2].name, raw[2].arity) == kind and all(raw[cell] == value for cell, value in wanted)
        if alike and match_all(pattern.args, raw[3 : 3 + raw[2].arity], {}) is not None:
            yield raw


def _wanted(pattern: EventPattern, at: int | None, interval: tuple[int, int] | None) -> list[tuple[int, Any]]:
    """Return what is asked for, as values of cells."""
    wanted: list[tuple[int, Any]] = [] if at is None else [(0, at)]
    wanted += [] if interval is None else [(0, interval[1]), (1, interval[0])]
    return wanted + [(place, arg.value) for place, arg in enumerate(pattern.args, 3) if isinstance(arg, Const)]


def _kept(record: KeptPast, kind: tuple[str, int], wanted: Sequence[tuple[int, Any]]) -> Iterator[Raw]:
    """Yield the events of a kind that rules made or goals raised, of those that have some values in some cells."""
    alike = (raw for _, raw in reversed(record.raised) if (raw[2].name, raw[2].arity) == kind)
    raised = (raw for raw in alike if all(raw[cell] == value for cell, value in wanted))
    return chain(record.made_of(kind, wanted), raised)


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
    is_own = event.kind.shown is core.evidence.shown or core.record is None
    if is_own and len(raw) > 3 + event.kind.arity:
        return raw
    wanted = [(0, event.end_time), (1, event.start_time), *enumerate(event.args, 3)]
    if core.record is not None:
        for kept in _kept(core.record, (event.name, len(event.args)), wanted):
            return kept
    interval = f", interval=({seconds(event.start_time)}, {seconds(event.end_time)})"
    raise _did_not_occur(event.atom, interval, f"in this engine {event!r}")


def _did_not_occur(question: str, times: str = "", what: str | None = None) -> EventError:
    hint = f"ask why not: engine.why_not({question!r}{times})"
    return EventError(Problem("E341", f"{what or question} did not occur", hint=hint))
