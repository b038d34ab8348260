"""CSV and TSV files: a header line, then one event per line.

A cell of a declared attribute is read by its type, of an undeclared one as integer, float or text, whichever it looks
like. An empty cell is null; empty cells at the end of an undeclared event are attributes it does not have.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from etalis.errors import EtalisError, InputError, Problem
from etalis.formats.row import Place, Reading, Row, parse_time
from etalis.formats.table import Attribute, open_table
from etalis.formats.terms import read_value
from etalis.logic.term import Value, to_value
from etalis.temporal.interval import to_seconds

_TRUTHS = MappingProxyType({"true": True, "false": False, "yes": True, "no": False, "1": True, "0": False})
_NOT_NUMBERS = frozenset(("nan", "inf", "infinity"))


def parse_cell(text: str) -> Value:
    """Read a cell of no declared type.

    >>> [parse_cell(t) for t in ("7", "7.5", "basel", "7e3", "007 James")]
    [7, 7.5, 'basel', 7000.0, '007 James']
    """
    for read in (_parse_int, _parse_float):
        try:
            return to_value(read(text))
        except ValueError:
            continue
    return text


def _parse_int(text: str) -> int:
    if "_" in text:
        raise ValueError(text)
    return int(text)


def _parse_float(text: str) -> float:
    if "_" in text or text.strip().lstrip("+-").lower() in _NOT_NUMBERS:
        raise ValueError(text)
    return float(text)


def _parse_bool(text: str) -> bool:
    return _TRUTHS[text.strip().lower()]


def _parse_moment(text: str) -> int | float:
    return to_seconds(parse_time(text, "s"))


CELLS: Mapping[str | None, tuple[Callable[[str], Any], str]] = MappingProxyType(
    {
        None: (parse_cell, "a value"),
        "int": (_parse_int, "an integer"),
        "float": (_parse_float, "a number"),
        "string": (str, "text"),
        "bool": (_parse_bool, "true or false"),
        "time": (_parse_moment, "a time"),
        "term": (read_value, "a term"),
    }
)


def read_cell(text: object, attribute: Attribute, place: Place) -> Value:
    """Return the value of a cell, or refuse the row."""
    assert isinstance(text, str)
    if text == "":
        return "null"
    read, expected = CELLS[attribute.type]
    try:
        return to_value(read(text))
    except (ValueError, KeyError, OverflowError):
        message = f"{attribute.name}: expected {expected}, found {text!r}"
        hint = f"{attribute.name} is declared {attribute.type}"
        raise place.refuse("E405", message, hint, place.cell(attribute.column)) from None
    except EtalisError as error:
        raise place.blame(error, place.cell(attribute.column)) from None


class _Lines:
    """An iterator over lines that remembers those of the record being read."""

    def __init__(self, lines: Iterable[str], source: str, delimiter: str) -> None:
        self.lines = iter(lines)
        self.source = source
        self.delimiter = delimiter
        self.number = 0
        self.record: list[str] = []

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        line = next(self.lines)
        self.number += 1
        self.record.append(line.rstrip("\r\n"))
        return line

    def place(self) -> Place:
        """Return the place of the record just read and forget its lines."""
        text = self.record[0] if self.record else ""
        place = Place(self.source, self.number - max(0, len(self.record) - 1), text, self.delimiter)
        self.record.clear()
        return place


def read_csv(lines: Iterable[str], source: str, reading: Reading, delimiter: str = ",") -> Iterator[Row]:
    """Yield the rows of a table with a header line."""
    records = _records(_Lines(lines, source, delimiter))
    header = next(records, None)
    if header is None:
        hint = "the first line names the columns: event,at,..."
        raise InputError(Problem("E406", f"{source}: the file is empty", hint=hint))
    table = open_table([column.strip() for column in header[0]], reading, source, read_cell)
    for cells, place in records:
        if len(cells) != len(table.columns):
            message = f"expected {len(table.columns)} cells, found {len(cells)}"
            raise place.refuse("E406", message, f"the columns are {', '.join(table.columns)}")
        yield Row(table.event(cells, place), place)


def _records(lines: _Lines) -> Iterator[tuple[list[str], Place]]:
    """Yield the cells of every record that is not an empty line."""
    reader = csv.reader(lines, delimiter=lines.delimiter, strict=True)
    while True:
        try:
            cells = next(reader, None)
        except csv.Error as error:
            raise lines.place().refuse("E402", f"not CSV: {error}", "check the quotes of this line") from None
        if cells is None:
            return
        place = lines.place()
        if cells:
            yield cells, place
