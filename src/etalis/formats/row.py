"""The rows that every source yields, with their place, so that a bad value is refused by file, line and column.

A source turns records (JSON objects, CSV lines, Arrow rows, clauses) into `Row`s, by the declared attributes of each
kind of event: by name where the record has names, else by position. Numbers are seconds unless a unit is given.
Law: a record that cannot be read is an item too, `Bad`, and ends nothing; only a file that cannot be read is an error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from etalis.data.encodings import ENCODING_HINT
from etalis.data.values import Value
from etalis.errors import EtalisError, InputError, Problem, Source, Span
from etalis.formats.roles import Signature, signatures_of
from etalis.formats.seen import Seen
from etalis.language.attributes import Notes
from etalis.logic.rdf.exact_terms import UNBOUND
from etalis.logic.rdf.given_terms import to_name
from etalis.logic.rdf.plain_names import PlainNames
from etalis.temporal.event import Event
from etalis.temporal.interval import UNITS as UNITS
from etalis.temporal.interval import TimeRangeError, to_time

if TYPE_CHECKING:
    from etalis.runtime.compiled import CompiledProgram

Find: TypeAlias = "Callable[[Place, str], tuple[int, int] | None]"
Schema: TypeAlias = Mapping[str, tuple[tuple[str, str], ...]]  # event -> ((attribute, type), ...)

ARRIVAL = -(1 << 100)  # the time of an event that has none until it arrives
parse_time = to_time  # what a source gives as time, in its unit


class Place(NamedTuple):
    """Where a row stands: the source's name, the line (or row) from 1, and the line's text where there is one."""

    source: str
    line: int
    text: str | None = None
    delimiter: str = ""

    def refuse(self, code: str, message: str, hint: str | None, extent: tuple[int, int] | None = None) -> InputError:
        """Return the error for this place; extent is the part of the line to underline."""
        if self.text is None:
            return InputError(Problem(code, f"{self.source}, row {self.line}: {message}", hint=hint))
        start, end = extent or (0, len(self.text))
        return InputError(Problem(code, message, Span(Source(self.source, self.text, self.line), start, end), hint))

    def blame(self, error: EtalisError, extent: tuple[int, int] | None = None) -> InputError:
        """Return the error of a value or an engine as one of this place."""
        first = error.problems[0]
        return self.refuse(first.code, first.message, first.hint, extent)

    def check_text(self) -> None:
        """Refuse text that is not UTF-8: its bytes come as lone surrogates."""
        if self.text is None or self.text.isascii():
            return
        found = _FOREIGN.search(self.text)
        if found is not None:
            message = f"not UTF-8 text: byte 0x{ord(found[0]) - 0xDC00:02x}"
            shown = Place(self.source, self.line, show_bytes(self.text), self.delimiter)
            raise shown.refuse("E402", message, f"{ENCODING_HINT}; or see --format")

    def cell(self, column: int) -> tuple[int, int] | None:
        """Return the part of the line that one of its cells covers."""
        if not self.delimiter or self.text is None:
            return None
        start, quoted, seen = 0, False, 0
        for i, c in enumerate(self.text):
            quoted ^= c == '"'
            if c == self.delimiter and not quoted:
                if seen == column:
                    return start, i
                seen, start = seen + 1, i + 1
        return start, len(self.text)


class Row(NamedTuple):
    """A received event and where it was read; its id, shared by the events of an element, if it may be retracted."""

    event: Event
    place: Place
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Pause:
    """Time without events: nothing more will end at or before `to` (microseconds)."""

    to: int
    place: Place


@dataclass(frozen=True, slots=True)
class Bad:
    """A record that cannot be read: where it stands, and why."""

    place: Place
    problem: Problem


Item: TypeAlias = Row | Pause | Bad


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How to read a source: declared attributes, the event of rows that name none, the column of time, its unit.

    `known` are the kinds of events of a program by their names; without it, whatever an undeclared event has is taken.
    Where rows need no time, those without one have ARRIVAL in its stead. Text is UTF-8, or what its byte order mark
    tells, unless an `encoding` is given. That an event is taken back is a row where the program
    `retracts`. Of streams of RDF `time` and `until` are the properties that tell when a graph begins and ends,
    `stream` is the IRI that triples have as theirs, in the exact naming, and `background` are predicates that none has.
    With `plain_names` terms are those of the original's dialect.
    """

    schema: Schema = field(default_factory=dict)
    event: str | None = None
    time: str | Sequence[str] | None = None
    unit: str = "s"
    known: Mapping[str, tuple[Signature, ...]] = field(default_factory=dict)
    needs_time: bool = True
    encoding: str | None = None
    retracts: bool = False
    until: str | None = None
    stream: str = UNBOUND
    background: frozenset[Value] = frozenset()
    plain_names: PlainNames | None = None
    seen: Seen = field(default_factory=Seen, compare=False)
    notes: Notes = field(default_factory=Notes, compare=False, repr=False)

    def is_by_name(self, event: str) -> bool:
        """Tell whether the attributes of an event have no order, because only names in patterns imply them."""
        return any(signature.by_name for signature in self.known.get(event, ()))

    def note_ignored(self, event: str, fields: Collection[str]) -> None:
        """Say once that fields of rows are ignored; those that no pattern names are nobody's concern."""
        if not self.is_by_name(event):
            self.notes.ignored(event, fields)

    def __post_init__(self) -> None:
        if self.unit not in UNITS:
            raise InputError(Problem("E407", f"unknown unit of time {self.unit!r}", hint=f"one of {', '.join(UNITS)}"))


def reading_of(
    program: CompiledProgram, *, event: str | None = None, time: str | Sequence[str] | None = None, unit: str = "s",
    encoding: str | None = None, until: str | None = None, stream: object = None,
) -> Reading:  # fmt: skip
    """Return how to read a source for a program; `stream` is the name of the stream that its triples are of."""
    names = program.plain_names
    known: dict[str, tuple[Signature, ...]] = {}
    for signature in signatures_of(program):
        known[signature.kind[0]] = (*known.get(signature.kind[0], ()), signature)
    return Reading(
        schema=program.signatures, event=event, time=time, unit=unit, known=known, encoding=encoding, until=until,
        stream=to_name(stream, "stream") if names is None else names.read_iri(stream),
        background=program.background, plain_names=names,
    )  # fmt: skip


def read_row(read: Callable[..., Event | Row], *given: object, place: Place) -> Row | Bad:
    """Return the row that a record is, or that it cannot be read."""
    try:
        place.check_text()
        found = read(*given, place)
        return found if isinstance(found, Row) else Row(found, place)
    except InputError as error:
        return Bad(place, error.problems[0])


def show_bytes(text: str) -> str:
    r"""Return text with the bytes that are not UTF-8 written out.

    >>> show_bytes(b"a\xff".decode(errors="surrogateescape"))
    'a\\xff'
    """
    return text.encode(errors="surrogateescape").decode(errors="backslashreplace")


_FOREIGN = re.compile("[\udc80-\udcff]")


def time_of(moment: object, column: str, reading: Reading, place: Place, find: Find) -> int:
    """Return a row's time or refuse the row; `find` tells where in the line it stands."""
    try:
        time = parse_time(moment, reading.unit)
        reading.seen.note_time(moment)
        return time
    except TimeRangeError as error:
        hint = f"say in which unit times are counted: {', '.join(UNITS)}"
        raise place.refuse("E404", f"{column}: {error}", hint, find(place, column)) from None
    except ValueError:
        shown = "nothing" if moment in (None, "") else repr(moment)
        hint = "give seconds (12.5) or a date and time (2026-01-31T12:00:00Z)"
        raise place.refuse("E404", f"{column}: expected a time, found {shown}", hint, find(place, column)) from None


def interval_of(start: int, end: int, place: Place) -> tuple[int, int]:
    """Return the interval, if it is one."""
    if start > end:
        raise place.refuse("E404", "the event ends before it starts", "swap start and end")
    return start, end
