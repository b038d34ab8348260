"""Event files of the manual (003, chapter 6): `event(a(1)).`, `event(a(1), [T1, T2]).`, `sleep(2).`, `halt.`

The stream has a clock of its own, which begins at 0. An event without a stamp happens at the clock, a millisecond later
where another has happened there, so that such events follow each other; `sleep(n)` moves the clock by n seconds, and
says that nothing more happens before; a stamp sets it; `halt` ends the stream. A variable is `null`, which is noted.
A time is a number of seconds or a moment of the calendar (`etalis.temporal.calendar`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from etalis.data.values import Struct, Value, format_value
from etalis.errors import EventError, InputError, Problem, Source
from etalis.formats.row import Bad, Item, Pause, Place, Reading, Row, interval_of, parse_time
from etalis.formats.terms import to_ground
from etalis.language.attributes import arrange_terms, refuse_order
from etalis.language.ground_terms import variables
from etalis.language.read.parser import read_clauses
from etalis.language.read.units import exact
from etalis.language.syntax import Clause, Compound, Const, ListTerm, Term, Var
from etalis.language.traversal import rewrite_term
from etalis.temporal.calendar import calendar_time
from etalis.temporal.event import Event
from etalis.temporal.interval import to_microseconds

TICK = 1_000  # between two events without stamps, in microseconds
_EXPECTED = "expected event(...), sleep(...) or halt"
_HALT = Const("halt")
_SHAPE = "a clause is event(a(1)). or event(a(1), [Start, End]). or event(a(1), Time). or sleep(Seconds)."


@dataclass(slots=True)
class _Stream:
    """The clock of a stream and the place where it is read."""

    source: Source
    reading: Reading
    clock: int = 0
    is_taken: bool = False  # an event has happened at the clock
    offset: int = 0
    line: int = 1

    def place(self, start: int) -> Place:
        """Return the place of a clause; lines are counted on from the clause before."""
        text = self.source.text
        self.line += text.count("\n", self.offset, start)
        self.offset = start
        end = text.find("\n", start)
        line = text[text.rfind("\n", 0, start) + 1 : len(text) if end < 0 else end]
        return Place(self.source.name, self.line, line.rstrip("\r"))

    def read(self, clause: Clause, place: Place) -> Item:
        """Turn one clause into what it says, or say that it cannot be read."""
        try:
            return self._item(clause.head, place)
        except InputError as error:
            return Bad(place, error.problems[0])

    def _item(self, term: Term, place: Place) -> Item:
        match term:
            case Compound("event", (event,)):
                name, args = self._atom(event)
                self.clock += TICK if self.is_taken else 0
                self.is_taken = True
                return Row(Event.make(name, args, self.clock, self.clock), place)
            case Compound("event", (event, stamp)):
                name, args = self._atom(event)
                start, end = interval_of(*self._stamp(stamp), place)
                self.clock, self.is_taken = max(self.clock, end), self.is_taken or end >= self.clock
                return Row(Event.make(name, args, start, end), place)
            case Compound("sleep", (duration,)):
                pause = _seconds(duration)
                self.clock, self.is_taken = self.clock + pause, self.is_taken and not pause
                return Pause(self.clock if self.is_taken else self.clock - 1, place)
            case _:
                raise InputError(Problem("E408", _EXPECTED, term.span, _SHAPE))

    def _atom(self, term: Term) -> tuple[str, tuple[Value, ...]]:
        """Return name and attributes of an event; attributes may be given by name."""
        free = () if isinstance(term, Var) else variables(term)
        name, args = _atom(rewrite_term(term, _null) if free else term)
        if free:
            self.reading.notes.unbound(name, free)
        signature = self.reading.schema.get(name, ())
        try:
            placed = arrange_terms(name, signature, args)
            if self.reading.is_by_name(name) and placed == args:
                raise refuse_order(name, signature)
        except EventError as error:
            first = error.problems[0]
            raise InputError(Problem(first.code, first.message, term.span, first.hint)) from None
        return name, placed

    def _stamp(self, stamp: Term) -> tuple[int, int]:
        match stamp:
            case ListTerm((start, end), None):
                return self._time(start), self._time(end)
            case ListTerm():
                raise InputError(Problem("E404", "expected [start, end] as the stamp", stamp.span, _SHAPE))
            case _:
                moment = self._time(stamp)
                return moment, moment

    def _time(self, term: Term) -> int:
        value = to_ground(term)
        try:
            if isinstance(value, Struct):
                time = calendar_time(value.name, value.args)
                self.reading.seen.stamps = True
                return time
            time = parse_time(exact(value, term.span) if isinstance(value, float) else value, self.reading.unit)
            self.reading.seen.note_time(value)
            return time
        except (ValueError, OverflowError, TypeError):
            hint = "give seconds (12.5) or datetime(Year, Month, Day, Hour, Minute, Second)"
            message = f"expected a time, found {format_value(value)}"
            raise InputError(Problem("E404", message, term.span, hint)) from None


def read_event_file(lines: Iterable[str], source: str, reading: Reading, *, after: int = -TICK) -> Iterator[Item]:
    """Yield what the clauses of an event file say; its clock goes on `after` a moment, in microseconds."""
    text = Source(source, "".join(lines))
    stream = _Stream(text, reading, after + TICK)
    for clause, problems, end in read_clauses(text):
        if isinstance(clause, Clause) and clause.body is None:
            assert clause.head.span is not None
            if clause.head == _HALT:
                return
            yield stream.read(clause, stream.place(clause.head.span.start))
        else:
            span = clause.span if clause is not None else problems[0].span
            problem = problems[0] if problems else Problem("E408", _EXPECTED, span, _SHAPE)
            yield Bad(stream.place((span or end).start), problem)


def _null(_old: Term, now: Term) -> Term:
    return Const("null", now.span) if isinstance(now, Var) else now


def _atom(term: Term) -> tuple[str, tuple[Value, ...]]:
    match term:
        case Compound(name, args):
            return name, tuple(map(to_ground, args))
        case Const(str(name)):
            return name, ()
        case _:
            raise InputError(Problem("E408", "expected an event, a name with its attributes", term.span, _SHAPE))


def _seconds(term: Term) -> int:
    value = to_ground(term)
    if not isinstance(value, int | float) or value < 0:
        message = f"expected a number of seconds, found {format_value(value)}"
        raise InputError(Problem("E404", message, term.span, _SHAPE))
    return to_microseconds(value)
