"""Tables of triples: columns `s`, `p`, `o`, and if need be `g` (graph), `stream`, beside those of time and `until`.

A cell is a term in the N-Triples syntax, or a number, truth value or date of the table's own; in text files it is a
number in the shape of one. In the original's dialect any other text is a name. Law: a table is one of triples where no
column and no caller names its events, and the program reads triples; each row is an event. So is a record with fields
of these names.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from etalis.data.values import Value
from etalis.errors import EtalisError, InputError, Problem
from etalis.formats.rdf_quads import EVENT, reads_graphs
from etalis.formats.roles import find_roles
from etalis.formats.row import ARRIVAL, Bad, Place, Reading, Row, interval_of, read_row, time_of
from etalis.logic.knowledge.cell_values import parse_cell
from etalis.logic.rdf.blank_nodes import BlankNodes
from etalis.logic.rdf.exact_terms import UNBOUND
from etalis.logic.rdf.given_terms import to_part
from etalis.runtime.lateness.watermark import describe_background
from etalis.temporal.event import Event

PARTS = {"s": "subject", "p": "predicate", "o": "object"}
NAMES = {"g": "graph", "stream": "stream"}
UNTIL = "until"
_ALL = {**PARTS, **NAMES}
_TERMS = 1 << 16  # that are read once


def has_triples(columns: Collection[str], reading: Reading) -> bool:
    """Tell whether columns are those of a table of triples, for a program that reads these.

    >>> has_triples(["s", "p", "o", "at"], Reading()), has_triples(["event", "s", "p", "o", "at"], Reading())
    (True, False)
    """
    if reading.event is not None or not set(columns) >= {*PARTS} or find_roles(columns).event is not None:
        return False
    return not reading.known or any(signature.kind[1] in (3, 5) for signature in reading.known.get(EVENT, ()))


@dataclass(slots=True)
class TripleTable:
    """Turns the cells of a row into the event of a triple."""

    columns: tuple[str, ...]
    reading: Reading
    source: str
    times: tuple[int, ...] = ()
    terms: dict[tuple[str, object], Value] = field(default_factory=dict)
    nodes: BlankNodes = field(init=False)

    def __post_init__(self) -> None:
        self.nodes = BlankNodes(self.source)
        found = find_roles(self.columns, time=self.reading.time).times
        self.times = tuple(map(self.columns.index, found))
        if len(found) == 1 and UNTIL in self.columns:
            self.times = (*self.times, self.columns.index(UNTIL))
        if not found and self.reading.needs_time:
            hint = "name a column `at`, `time` or `ts`, or say which it is (--time NAME)"
            message = f"{self.source}: no column of time; columns: {', '.join(self.columns[:20])}"
            raise InputError(Problem("E404", message, hint=hint))
        known = {*PARTS, *NAMES, *(self.columns[i] for i in self.times)}
        surplus = [name for name in self.columns if name not in known]
        if surplus:
            self.reading.notes.ignored(EVENT, surplus)

    def read(self, cells: Sequence[object], place: Place) -> Row | Bad:
        """Return the event of one row, or that it cannot be read."""
        return read_row(self.row, cells, place=place)

    def row(self, cells: Sequence[object], place: Place) -> Row:
        """Return the event of one row; one that cannot be read is refused."""
        found = {name: self._term(cells, i, place) for i, name in enumerate(self.columns) if name in _ALL}
        times = [self._time(cells, i, place) for i in self.times if cells[i] not in (None, "")] or [ARRIVAL]
        if self.times and cells[self.times[0]] in (None, ""):
            raise place.refuse("E404", "the row has no time", f"fill in column {self.columns[self.times[0]]}")
        graph, stream = found.get("g", UNBOUND), found.get("stream", self.reading.stream)
        args = tuple(found[name] for name in PARTS)
        if args[1] in self.reading.background:
            raise place.refuse("E345", describe_background(args[1]), "give compile_sparql(..., streamed=[...])")
        if reads_graphs(self.reading):
            args = (*args, graph, stream)
        event = Event.make(EVENT, args, *interval_of(times[0], times[-1], place))
        return Row(event, place, graph if self.reading.retracts and graph != UNBOUND else None)

    def _read(self, cell: object, name: str, *, is_text: bool) -> Value:
        if is_text and name == "o" and isinstance(cell, str) and not isinstance(number := parse_cell(cell), str):
            return number
        names = self.reading.plain_names
        if names is None:
            return to_part(cell, _ALL[name])
        return names.read_iri(cell) if name in NAMES else names.read(cell)

    def _time(self, cells: Sequence[object], column: int, place: Place) -> int:
        def find(place: Place, _: str) -> tuple[int, int] | None:
            return place.cell(column)

        return time_of(cells[column], self.columns[column], self.reading, place, find)

    def _term(self, cells: Sequence[object], column: int, place: Place) -> Value:
        """Return the term of a cell; those that are texts are read once."""
        name, cell = self.columns[column], cells[column]
        if cell is None or cell == "":
            if name in NAMES:
                return UNBOUND if name == "g" else self.reading.stream
            raise place.refuse("E403", f"{name}: expected a term, found nothing", f"fill in column {name}")
        key = (name, cell) if cell.__class__ is str else None
        found = None if key is None else self.terms.get(key)
        if found is None:
            try:
                found = self._read(cell, name, is_text=bool(place.delimiter))
            except EtalisError as error:
                raise place.blame(error, place.cell(column)) from None
            if isinstance(found, str) and found.startswith("_:"):
                found = self.nodes.name(found)
            if key is not None:
                if len(self.terms) >= _TERMS:
                    self.terms.clear()
                self.terms[key] = found
        return found
