"""N-Quads and TriG as streams: a named graph is an element, each of its triples an event; its time is told in the
default graph, by a property.

The end of an element is told by another property, next to its time or before it. Triples whose graph has no time yet
are held. Law: a bad line of N-Quads, an element whose time is none, and one without a time at the end are bad by
themselves; TriG that is not TriG ends the stream where it is broken, since nobody can tell where the graph ends.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from io import BufferedIOBase
from itertools import islice
from typing import Any, TypeAlias, TypeVar

from etalis.data.values import Value
from etalis.errors import InputError, Problem
from etalis.formats.row import Bad, Item, Place, Reading, Row, time_of
from etalis.logic.knowledge.cell_values import XSD
from etalis.logic.rdf.blank_nodes import BlankNodes
from etalis.logic.rdf.exact_terms import PROV, in_brackets, read_term, unescape
from etalis.logic.rdf.oxigraph import MOST_NESTED, NestingGuard, import_pyoxigraph
from etalis.logic.rdf.plain_names import PlainNames
from etalis.temporal.event import Event, EventKind, new_event
from etalis.temporal.interval import to_time

T = TypeVar("T")
new_tuple: Callable[..., Any] = tuple.__new__  # past the constructors, which cost twice as much
Interval: TypeAlias = tuple[int, int]
Parse: TypeAlias = Callable[[Any], Iterable[Any]]

TIME, UNTIL = PROV + "generatedAtTime", PROV + "invalidatedAtTime"
EVENT = "rdf"
BLOCK = 256  # lines of a file that are read together
REMEMBERED = 1 << 19  # elements, twice as many at most
_POSITION = re.compile(r"Parser error (at|between) line \d+ .*?: ")
_COMMENT = ord("#")
_STAMP = f'"^^<{XSD}dateTime>'
_BAD: Interval = (1, 0)  # of an element that is not taken


class _Lines:
    """Hands lines to the parser, no more than it asks for, and knows which was the last."""

    __slots__ = ("_lines", "_nesting", "_rest", "has_passed", "last", "number")

    def __init__(self, lines: Iterable[Any]) -> None:
        self._lines = iter(lines)
        self._rest = b""
        self._nesting = NestingGuard()
        self.has_passed = False  # a quad since depth was last measured
        self.number = 0
        self.last = b""

    def read(self, size: int) -> bytes:
        """Return the next line, or what of it fits."""
        piece = self._rest
        if not piece:
            line = next(self._lines, None)
            if line is None:
                return b""
            self.number += 1
            piece = self.last = to_bytes(line, self.number)
            if b"<<" in piece:
                self._nesting.depth = 0 if self.has_passed else self._nesting.depth
                self.has_passed = False
                self._nesting.feed(piece)
        if len(piece) <= size:
            self._rest = b""
            return piece
        self._rest = piece[size:]
        return piece[:size]

    def __iter__(self) -> Iterator[bytes]:
        for line in self._lines:
            self.number += 1
            self.last = to_bytes(line, self.number)
            yield self.last

    def block(self) -> list[bytes]:
        """Return the next lines, some at a time."""
        some = list(islice(self._lines, BLOCK))
        if some and not self.number:
            some[0] = to_bytes(some[0], 1) or b"\n"
        self.number += len(some)
        return some

    def passing(self, items: Iterable[T], lines: Iterable[tuple[int, bytes]]) -> Iterator[T]:
        """Yield items, each while the line that it comes from is the last one."""
        last = self.number
        for item, (self.number, self.last) in zip(items, lines, strict=True):
            yield item
        self.number = last

    def place(self, source: str) -> Place:
        """Return the place of the last line."""
        return Place(source, self.number, show_line(self.last))


def read_nquads(lines: Iterable[Any], source: str, reading: Reading) -> Iterator[Item]:
    """Yield the events of a stream of N-Quads; a line that is none is bad by itself."""
    return _as_named(_read_nquads(lines, source, reading), reading.plain_names)


def read_trig(lines: Iterable[Any], source: str, reading: Reading) -> Iterator[Item]:
    """Yield the events of a stream of TriG."""
    return _as_named(_read_trig(lines, source, reading), reading.plain_names)


def _as_named(items: Iterator[Item], names: PlainNames | None) -> Iterator[Item]:
    """Return items with the names of the original's dialect, where the program has these."""
    return items if names is None else (_rename(item, names) for item in items)


def _rename(item: Item, names: PlainNames) -> Item:
    if not isinstance(item, Row):
        return item
    event, place, name = item
    try:
        args = tuple(map(names.name, event.args))
    except InputError as error:
        return Bad(place, place.blame(error).problems[0])
    return Row(Event.make(EVENT, args, event.start_time, event.end_time), place, name)


def _read_nquads(lines: Iterable[Any], source: str, reading: Reading) -> Iterator[Item]:
    oxigraph = import_pyoxigraph()
    handed = _Lines(lines)
    elements = _Elements(source, reading, handed)
    parse = partial(oxigraph.parse, format=oxigraph.RdfFormat.N_QUADS)
    if isinstance(lines, BufferedIOBase):
        while some := handed.block():
            yield from _read_block(some, elements, parse)
    else:
        yield from _read_lines(handed, elements, parse)
    yield from elements.end()


def _read_block(some: Sequence[bytes], elements: _Elements, parse: Parse) -> Iterator[Item]:
    """Yield the events of lines of a file, which are read together where every line is a quad, a comment or empty."""
    lines, block = elements.lines, b"".join(some)
    first = lines.number - len(some) + 1
    numbered = [(n, line) for n, line in enumerate(some, first) if line[0] > _COMMENT or _is_statement(line)]
    quads: list[Any] = []
    if block.count(b"<<") < MOST_NESTED:
        with suppress(SyntaxError):
            quads = list(parse(block))
    if len(quads) == len(numbered):
        yield from elements.take(lines.passing(quads, numbered))
    else:
        yield from _read_lines(lines.passing(some, enumerate(some, first)), elements, parse)


def _is_statement(line: bytes) -> bool:
    text = line.strip()
    return bool(text) and not text.startswith(b"#")


def _read_lines(some: Iterable[bytes], elements: _Elements, parse: Parse) -> Iterator[Item]:
    """Yield the events of lines each of which is read by itself."""
    lines = elements.lines
    for line in some:
        try:
            NestingGuard().feed(line)
            quads = list(parse(line))
        except SyntaxError as error:
            place = lines.place(elements.source)
            yield Bad(place, _refuse(error, place, "N-Quads").problems[0])
        except InputError as error:
            place = lines.place(elements.source)
            yield Bad(place, place.blame(error).problems[0])
        else:
            yield from elements.take(quads)


def _read_trig(lines: Iterable[Any], source: str, reading: Reading) -> Iterator[Item]:
    oxigraph = import_pyoxigraph()
    handed = _Lines(lines)
    elements = _Elements(source, reading, handed)
    try:
        yield from elements.take(oxigraph.parse(handed, oxigraph.RdfFormat.TRIG))
    except SyntaxError as error:
        place = handed.place(source)
        if error.lineno not in (None, place.line):
            place = Place(source, error.lineno)
        raise _refuse(error, place, "TriG") from None
    yield from elements.end()


def _refuse(error: SyntaxError, place: Place, title: str) -> InputError:
    at = min(max(0, (error.offset or 1) - 1), max(0, len(place.text or "") - 1))
    message = f"not {title}: {_POSITION.sub('', error.msg)}"
    hint = "write IRIs in full" if "No scheme" in error.msg else "check this line"
    if place.text is None:
        return InputError(Problem("E402", f"{place.source}, line {place.line}: {message}", hint=hint))
    return place.refuse("E402", message, hint, (at, at + 1))


@dataclass(slots=True)
class _Elements:
    """Makes events of quads as the times of their graphs become known."""

    source: str
    reading: Reading
    lines: _Lines
    properties: tuple[str, str] = field(init=False)
    blank: Callable[[str], str] = field(init=False)
    event: EventKind = field(init=False)
    known: dict[str, Interval] = field(default_factory=dict)
    before: dict[str, Interval] = field(default_factory=dict)  # what was known before `known` was full
    held: dict[str, list[tuple[str, str, Value, int]]] = field(default_factory=dict)
    told: dict[str, int] = field(default_factory=dict)  # the ends of graphs that have no time yet
    due: tuple[str, int, int, bytes] | None = None  # the graph whose time is told, its start, and the line of it

    def __post_init__(self) -> None:
        self.properties = time_properties(self.reading)
        self.blank = BlankNodes(self.source).name
        self.event = EventKind(EVENT, 5 if reads_graphs(self.reading) else 3)

    def take(self, quads: Iterable[Any]) -> Iterator[Item]:
        """Yield the events of quads, and what cannot be read."""
        lines, blank, source, kind = self.lines, self.blank, self.source, self.event
        is_plain = kind.arity == 3 and not self.reading.retracts
        for quad in quads:
            s, p, rest = str(quad).split(" ", 2)
            cut = rest.find(" ", rest.rfind('"')) if rest[0] == '"' else rest.find(" ")
            lines.has_passed = True
            if s[0] == "_":
                s = blank(s)
            if cut < 0:
                if self.due is not None and self.due[0] != s:
                    yield from self._settle()
                bad = self._tell(s, p, rest)
                if bad is not None:
                    yield bad
                continue
            if self.due is not None:
                yield from self._settle()
            o: Value = rest[:cut]
            if o[0] == "_":
                o = blank(o)
            elif o[0] == '"':
                o = read_term(o)
            elif o == "<<(":
                if rest.endswith(")>>"):
                    self.reading.seen.aside += 1
                else:
                    yield self._bad("E405", f"a triple inside a triple: {rest}", "use a blank node for the statement")
                continue
            g = rest[cut + 1 :]
            if g[0] == "_":
                g = blank(g)
            interval = self.known.get(g) or self.before.get(g)
            if interval is None:
                self.held.setdefault(g, []).append((s, p, o, lines.number))
            elif interval is not _BAD:
                if is_plain:
                    event = new_event(Event, (interval[1], interval[0], kind, s, p, o))
                    yield new_tuple(Row, (event, new_tuple(Place, (source, lines.number, None, "")), None))
                else:
                    yield self._row(interval, g, s, p, o, lines.number)

    def _tell(self, s: str, p: str, o: str) -> Bad | None:
        """Take a triple of the default graph: the time of a graph, its end, or what is no event."""
        if p not in self.properties:
            self.reading.seen.aside += 1
            return None
        try:
            moment = self._moment(s, o)
            if s in self.known or s in self.before:
                self._check_again(s, p, moment)
            elif p == self.properties[1]:
                if self.told.setdefault(s, moment) != moment:
                    raise self._contradiction(f"the graph {s} has two ends")
            elif self.due is None:
                self.due = s, moment, self.lines.number, self.lines.last
            elif self.due[1] != moment:
                raise self._contradiction(f"the graph {s} has two times")
        except InputError as error:
            return self._refuse_element(s, self.lines.place(self.source), error)
        return None

    def _refuse_element(self, g: str, place: Place, error: InputError) -> Bad:
        """Take nothing of a graph, neither what is held nor what is to come."""
        self.due = None
        self._learn(g, _BAD)
        self.held.pop(g, None)
        self.told.pop(g, None)
        return Bad(place, error.problems[0])

    def _moment(self, g: str, o: str) -> int:
        lexical = unescape(o[1 : o.rfind('"')]) if o[0] == '"' else o
        try:
            moment = to_time(lexical, self.reading.unit)
        except ValueError:
            return time_of(lexical, f"the time of {g}", self.reading, self.lines.place(self.source), _nowhere)
        if not (self.reading.seen.stamps and o.endswith(_STAMP)):
            self.reading.seen.note_time(lexical)
        return moment

    def _check_again(self, s: str, p: str, moment: int) -> None:
        """Refuse what contradicts the time that a graph has had so far."""
        interval = self.known.get(s) or self.before[s]
        if interval is not _BAD and interval[self.properties.index(p)] != moment:
            raise self._contradiction(f"the graph {s} has had another time so far")

    def _contradiction(self, message: str) -> InputError:
        hint = "tell one time of a graph, and its end next to it or before"
        return self.lines.place(self.source).refuse("E404", message, hint)

    def _settle(self) -> Sequence[Item]:
        """Return what was held of the graph whose time is known now."""
        assert self.due is not None
        g, start, number, line = self.due
        interval = start, self.told.pop(g, start)
        if interval[1] < start:
            place = Place(self.source, number, show_line(line))
            error = place.refuse("E404", f"the graph {g} ends before it starts", "swap start and end")
            return (self._refuse_element(g, place, error),)
        self.due = None
        self._learn(g, interval)
        return [self._row(interval, g, *each) for each in self.held.pop(g, ())]

    def _row(self, interval: Interval, g: str, s: str, p: str, o: Value, line: int) -> Row:
        args = (s, p, o) if self.event.arity == 3 else (s, p, o, g, self.reading.stream)
        event: Event = new_event(Event, (interval[1], interval[0], self.event, *args))
        return Row(event, Place(self.source, line), g if self.reading.retracts else None)

    def _learn(self, g: str, interval: Interval) -> None:
        if len(self.known) >= REMEMBERED:
            self.before, self.known = self.known, {}
        self.known[g] = interval

    def _bad(self, code: str, message: str, hint: str) -> Bad:
        place = self.lines.place(self.source)
        return Bad(place, place.refuse(code, message, hint).problems[0])

    def end(self) -> Iterator[Item]:
        """Yield what was held of the last graph, and that there are graphs without a time."""
        if self.due is not None:
            yield from self._settle()
        for g, held in self.held.items():
            line = held[0][3]
            number = "1 triple" if len(held) == 1 else f"{len(held)} triples"
            message = f"{self.source}, line {line}: the graph {g} has no time ({number})"
            hint = f'tell it in the default graph: {g} {self.properties[0]} "2026-01-31T12:00:00Z" .'
            yield Bad(Place(self.source, line), Problem("E404", message, hint=hint))
        self.held.clear()


def to_bytes(line: Any, number: int) -> bytes:
    """Return a line as UTF-8, the first without a byte order mark."""
    piece: bytes = line if line.__class__ is bytes else line.encode(errors="surrogateescape")
    return piece.removeprefix(BOM_UTF8) if number == 1 else piece


def show_line(line: bytes) -> str:
    """Return a line as text."""
    return line.decode(errors="backslashreplace").rstrip("\r\n")


def _nowhere(_place: Place, _column: str) -> None:
    return None


def time_properties(reading: Reading) -> tuple[str, str]:
    """Return the properties that tell the time of a graph and its end, in brackets."""
    given = (reading.time,) if isinstance(reading.time, str) else tuple(reading.time or ())
    time, until = (*given, *(None, None))[:2]
    return in_brackets(time or TIME), in_brackets(until or reading.until or UNTIL)


def reads_graphs(reading: Reading) -> bool:
    """Tell whether the program reads triples with graph and stream."""
    return any(signature.kind[1] == 5 for signature in reading.known.get(EVENT, ()))
