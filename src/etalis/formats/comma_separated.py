"""CSV and TSV files: a header line, then one event per line.

A declared type decides, and is applied to the text of the cell. A cell of no declared type is an integer only in its
shortest form (`007` is text), a float as JSON writes it, else text. An empty cell is null.
A quoted cell may go over several lines; where its quotes do not fit, the first line alone is bad.
"""

from __future__ import annotations

import csv
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from etalis.data.values import Value, to_value
from etalis.errors import EtalisError, InputError, Problem
from etalis.formats.rdf_tables import TripleTable
from etalis.formats.row import Bad, Place, Reading, Row, parse_time
from etalis.formats.table import Attribute, Table, open_table, show_columns
from etalis.formats.terms import read_cell_term
from etalis.logic.knowledge.cell_values import parse_cell, parse_digits
from etalis.temporal.interval import to_seconds

_TRUTHS = MappingProxyType({"true": True, "false": False, "yes": True, "no": False, "1": True, "0": False})
MOST_LINES = 100  # of one record
_QUOTES = "check the quotes of this line"
_DIGITS = re.compile(r"[+-]?[0-9]+")
_NOT_NUMBERS = frozenset(("nan", "inf", "infinity"))


def _parse_int(text: str) -> int:
    if _DIGITS.fullmatch(text.strip()):
        return parse_digits(text.strip())
    number = _parse_float(text)
    if not number.is_integer():
        raise ValueError(text)
    return int(number)


def _parse_float(text: str) -> float:
    if "_" in text or text.strip().lstrip("+-").lower() in _NOT_NUMBERS:
        raise ValueError(text)
    return float(text)


def _parse_bool(text: str) -> bool:
    return _TRUTHS[text.strip().lower()]


def _parse_moment(text: str) -> int | float:
    return to_seconds(parse_time(text, "s"))


def _parse_term(text: str) -> Value:
    found = parse_cell(text)
    return read_cell_term(found) if isinstance(found, str) else found


CELLS: Mapping[str | None, tuple[Callable[[str], Any], str]] = MappingProxyType(
    {
        None: (parse_cell, "a value"),
        "any": (parse_cell, "a value"),
        "int": (_parse_int, "an integer"),
        "float": (_parse_float, "a number"),
        "string": (str, "text"),
        "bool": (_parse_bool, "true or false"),
        "time": (_parse_moment, "a time"),
        "term": (_parse_term, "a term"),
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
    """An iterator over the lines of one record at a time, which can give back all of them but the first."""

    def __init__(self, lines: Iterable[str], source: str, delimiter: str, number: int = 0) -> None:
        self.lines = iter(lines)
        self.source = source
        self.delimiter = delimiter
        self.number = number
        self.record: list[str] = []
        self.again: deque[str] = deque()
        self.reader = csv.reader(self, delimiter=delimiter, strict=True)

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        if len(self.record) == MOST_LINES:
            raise StopIteration
        line = self.again.popleft() if self.again else next(self.lines)
        self.record.append(line)
        return line

    def place(self) -> Place:
        """Return the place of the record just read and forget its lines."""
        place = Place(self.source, self.number + 1, "".join(self.record).rstrip("\r\n"), self.delimiter)
        self.number += len(self.record)
        self.record.clear()
        return place

    def give_back(self) -> None:
        """Read the lines behind the first once more."""
        self.again.extendleft(reversed(self.record[1:]))
        del self.record[1:]
        self.reader = csv.reader(self, delimiter=self.delimiter, strict=True)


def read_csv(lines: Iterable[str], source: str, reading: Reading, delimiter: str = ",") -> Iterator[Row | Bad]:
    """Yield the rows of a table with a header line."""
    records = _Lines(lines, source, delimiter)
    yield from _rows(records, read_header(records, source, reading))


def open_csv(lines: Iterable[str], source: str, reading: Reading, delimiter: str) -> tuple[Table | TripleTable, int]:
    """Read the header of a table; return what it says, and the line behind it."""
    records = _Lines(lines, source, delimiter)
    return read_header(records, source, reading), records.number + 1


def read_records_from(
    lines: Iterable[str], source: str, table: Table | TripleTable, delimiter: str, first: int
) -> Iterator[Row | Bad]:
    """Yield the rows of a table whose header is read; the first stands in line `first`."""
    return _rows(_Lines(lines, source, delimiter, first - 1), table)


def read_header(records: _Lines, source: str, reading: Reading) -> Table | TripleTable:
    """Find the part of every column that the first record names."""
    header = _cells(records, None)
    if header is None:
        hint = "the first line names the columns: event,at,..."
        raise InputError(Problem("E406", f"{source}: the file is empty", hint=hint))
    place = records.place()
    place.check_text()
    if isinstance(header, str):
        raise place.refuse("E402", f"not CSV: {header}", _QUOTES)
    return open_table([column.strip() for column in header], reading, source, read_cell)


def _rows(records: _Lines, table: Table | TripleTable) -> Iterator[Row | Bad]:
    width = len(table.columns)
    while (cells := _cells(records, width)) is not None:
        place = records.place()
        if isinstance(cells, str):
            yield Bad(place, place.refuse("E402", f"not CSV: {cells}", _QUOTES).problems[0])
        elif len(cells) != width:
            message = f"expected {width} cells, found {len(cells)}"
            yield Bad(
                place, place.refuse("E406", message, f"the columns are {show_columns(table.columns)}").problems[0]
            )
        else:
            yield table.read(cells, place)


def _cells(lines: _Lines, width: int | None) -> list[str] | str | None:
    """Return the cells of the next record that is not an empty line, or what is wrong with its quotes."""
    while True:
        try:
            cells = next(lines.reader, None)
        except csv.Error as error:
            lines.give_back()
            return str(error)
        if cells is None or cells:
            if cells and width is not None and len(lines.record) > 1 and len(cells) != width:
                lines.give_back()
                return "a quoted cell goes on behind its line, and the cells then do not fit the columns"
            return cells
        lines.place()
