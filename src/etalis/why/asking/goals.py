"""The manual's goals over explanations (003, section 5.2 item 10): `justify_event/3` and what writes its answer.

`justify_event(Event, [Start, End], J)` gives the latest such event first, others on backtracking; where there is none,
why it did not occur. Programs reach no files: what is written goes to the output of the host, whatever file is named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from etalis.errors import EtalisError
from etalis.logic.builtins.output import put
from etalis.logic.builtins.time import counted, seconds_since_1970
from etalis.logic.errors import LogicError
from etalis.logic.machine.database import Key, is_callable
from etalis.logic.machine.machine import Frame, Machine
from etalis.logic.terms.arguments import bound
from etalis.logic.terms.iso_errors import domain_error, type_error
from etalis.logic.terms.unify import Term, Variable, deref, make_list, split_list, undo, unify
from etalis.runtime.record.input_log import KeptInput
from etalis.runtime.state import Raw
from etalis.temporal.interval import to_time
from etalis.why.forms.attempt_term import why_not_term
from etalis.why.forms.manual_form import manual_text
from etalis.why.forms.term_form import atom, justification_term, number, term_text
from etalis.why.forms.udraw import udraw_text
from etalis.why.justify import justify_raw, refuse_numbers
from etalis.why.search.ask import why_not

if TYPE_CHECKING:
    from etalis.runtime.core import Core

Args = tuple[Term, ...]
Times = tuple[int | None, int | None]


def _justify(core: Core, machine: Machine, args: Args, cont: Frame, *, positive: bool, negative: bool) -> Frame | None:
    """Give the occurrences of an event, or why there is none."""
    event = bound(args[0])
    if not is_callable(event):
        raise type_error("callable", event)
    _refuse_elsewhere(core, machine, event)
    times = _times(args[1])
    found = _answers(core, machine, event, times)
    first = next(found, None)
    if first is not None:
        if not positive:
            return None
        candidates: Iterator[Term] = _chained(first, found)
    elif negative:
        candidates = _negative(core, event, args[1], times)
    else:
        return None
    return machine.choose(("justified", event, args[1], args[2]), candidates, cont)


def _chained(first: Term, rest: Iterator[Term]) -> Iterator[Term]:
    yield first
    yield from rest


def _refuse_elsewhere(core: Core, machine: Machine, event: Term) -> None:
    """Refuse to explain where nothing is kept for it, or over the knowledge of another time."""
    if machine.tabling is not None:
        machine.tabling.note_passing()
    culprit = ("error", ("permission_error", "explain", "event", event), "goal")
    if machine.view is not None:
        raise LogicError(culprit, "E507", "explanations are those of now", "ask without a time")
    try:
        refuse_numbers(core)
    except EtalisError as error:
        problem = error.problems[0]
        raise LogicError(culprit, problem.code, problem.message, problem.hint) from None


def _times(term: Term) -> Times:
    """Read `[Start, End]`, each a time or free, in microseconds."""
    term = deref(term)
    if isinstance(term, Variable):
        return None, None
    items, tail = split_list(term)
    if tail != () or len(items) != 2:
        raise type_error("interval", term)
    start, end = (_moment(deref(item)) for item in items)
    return start, end


def _moment(term: Term) -> int | None:
    if isinstance(term, Variable):
        return None
    if isinstance(term, int | float | Fraction):
        try:
            return to_time(term)
        except (ValueError, OverflowError):
            raise domain_error("time", term) from None
    return to_time(seconds_since_1970(term)) + counted(term)


def _answers(core: Core, machine: Machine, event: Term, times: Times) -> Iterator[Term]:
    """Yield the justifications of the events that fit, the latest first."""
    for found in sorted(_occurrences(core, machine, event, times), key=_ends, reverse=True):
        if isinstance(found, KeptInput):
            head, start, end = atom(found.name, found.args), found.start, found.end
            told = justify_raw(core, found.number)
        else:
            head, start, end = atom(found[2].name, found[3 : 3 + found[2].arity]), found[1], found[0]
            told = justify_raw(core, found)
        yield ("justified", head, make_list([number(start), number(end)]), justification_term(told.root))


def _ends(found: Raw | KeptInput) -> tuple[int, int]:
    return (found.end, found.start) if isinstance(found, KeptInput) else (found[0], found[1])


def _occurrences(core: Core, machine: Machine, event: Term, times: Times) -> list[Raw | KeptInput]:
    """Return the events that fit: made by rules, raised by goals, or else received."""
    record = core.record
    assert record is not None
    name, arity = (event, 0) if isinstance(event, str) else (event[0], len(event) - 1)
    trail = machine.trail

    def fits(args: tuple[Any, ...], start: int, end: int) -> bool:
        if times[0] not in (None, start) or times[1] not in (None, end):
            return False
        mark = len(trail)
        equal = unify(event, atom(name, args), trail)
        undo(trail, mark)
        return equal

    raised = [raw for _, raw in record.raised if (raw[2].name, raw[2].arity) == (name, arity)]
    made = [*record.made_of((name, arity)), *raised]
    found: list[Raw | KeptInput] = [raw for raw in made if fits(raw[3 : 3 + arity], raw[1], raw[0])]
    if found:
        return found
    inputs = (kept for kept in record.source.items() if (kept.name, len(kept.args)) == (name, arity))
    return [kept for kept in inputs if fits(kept.args, kept.start, kept.end)]


def _negative(core: Core, event: Term, interval: Term, times: Times) -> Iterator[Term]:
    """Yield why an event did not occur; nothing, if it did on another interval than the one that is asked for."""
    start, end = times
    hull = None if start is None or end is None else (start, end)
    at = end if start is None else None
    answer = why_not(core, term_text(event), at=at, interval=hull, limit=1)
    if answer.occurred is None:
        yield ("justified", event, interval, why_not_term(answer))


def _write(machine: Machine, told: Term, text: Callable[[Term], str]) -> None:
    """Write a justification to the output."""
    put(machine, f"{text(bound(told))}\n")


def _written(place: int, text: Callable[[Term], str]) -> Callable[[Any, Machine, Args, Frame], Frame]:
    """Return the code of a goal that writes the justification among its arguments."""

    def run(core: Core, machine: Machine, args: Args, cont: Frame) -> Frame:
        del core
        _write(machine, args[place], text)
        return cont

    return run


def _justifies(*, positive: bool, negative: bool) -> Callable[[Any, Machine, Args, Frame], Frame | None]:
    def run(core: Core, machine: Machine, args: Args, cont: Frame) -> Frame | None:
        return _justify(core, machine, args, cont, positive=positive, negative=negative)

    return run


GOALS: Mapping[Key, Callable[[Any, Machine, Args, Frame], Frame | None]] = MappingProxyType(
    {
        ("justify_event", 3): _justifies(positive=True, negative=True),
        ("justify_event_positive", 3): _justifies(positive=True, negative=False),
        ("justify_event_negative", 3): _justifies(positive=False, negative=True),
        ("write_justification", 1): _written(0, manual_text),
        ("write_justification_udraw", 2): _written(1, udraw_text),
        ("write_justification_udraw", 3): _written(1, udraw_text),
    }
)
