"""CSV in blocks of columns: what the reader of single records makes of it, many cells at a time.

Law: every value is that of `formats.comma_separated`. Blocks without quotes are taken apart here; cells whose form is
certain are read by Arrow, all others by the same functions as single cells, each different text once. What has a quote
in it, and every record that something is wrong with, goes to the reader of records.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from etalis.data.values import to_value
from etalis.errors import InputError
from etalis.formats.comma_separated import CELLS, read_records_from
from etalis.formats.row import Bad, Place, read_row
from etalis.formats.table import Attribute, Table
from etalis.tables.read.blocks import SIZE, Block, Values, blocks_of, without
from etalis.temporal.time_columns import read_times

_FOREIGN = re.compile("[\udc80-\udcff]")
_INTEGER = r"^(0|-?[1-9][0-9]{0,17})?$"
_FLOAT = r"^(-?(0|[1-9][0-9]{0,14})(\.[0-9]{1,17})?([eE][+-]?[0-9]{1,2})?)?$"
_POINTED = r"[.eE]|^$"
_NUMERIC = r"^[-0-9]"
_NUMBER = r"^\s*[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?\s*$"


def csv_blocks(
    lines: IO[str], source: str, table: Table, delimiter: str, first: int, bad: list[Bad]
) -> Iterator[Block]:
    """Yield the records behind the header of a file; the first stands in line `first`."""
    while some := list(islice(lines, SIZE)):
        text = "".join(some)
        if '"' in text or _FOREIGN.search(text) or "\r" in text.replace("\r\n", ""):
            rest = read_records_from(chain(some, lines), source, table, delimiter, first)
            yield from blocks_of(rest, bad)
            return
        yield from _Records(some, source, table, delimiter, first, bad).blocks()
        first += len(some)


@dataclass(slots=True)
class _Records:
    """Lines that are one record each."""

    lines: Sequence[str]
    source: str
    table: Table
    delimiter: str
    first: int
    bad: list[Bad]

    def blocks(self) -> Iterator[Block]:
        """Yield the block of all records that can be read; one after the other where that cannot be told otherwise."""
        records = list(csv.reader(self.lines, delimiter=self.delimiter, strict=True))
        width = len(self.table.columns)
        rows = [row for row, cells in enumerate(records) if len(cells) == width]
        for row, cells in enumerate(records):
            if cells and len(cells) != width:
                self._read(row, cells)
        if not rows:
            return
        columns = [pa.array(column, pa.string()) for column in zip(*(records[row] for row in rows), strict=True)]
        yield self._block(columns, rows, records)

    def _block(self, columns: Sequence[Any], rows: Sequence[int], records: Sequence[list[str]]) -> Block:
        table, count = self.table, len(rows)
        times = [read_times(columns[i], table.reading.unit) for i in table.time_columns]
        start, end = times[0].micros, times[-1].micros
        wrong = start > end
        for each in times:
            wrong = wrong if each.bad is None else wrong | each.bad
        self._note_times(columns, ~wrong)
        unread = np.zeros(count, bool)
        parts: dict[Any, tuple[Any, list[Values]]] = {}
        for name, mine in self._by_event(columns, count):
            layout = self._layout(name)
            if layout is None or not layout.declared:
                (wrong if layout is None else unread)[mine] = True
                if layout is not None:
                    table.reading.seen.unread[name or "", None] += len(mine)
                continue
            values = []
            for attribute in layout.attributes:
                cells, failed = _read(columns[attribute.column].take(pa.array(mine)), attribute)
                values.append(cells)
                wrong[mine[failed]] = True
                if attribute.type in (None, "any"):
                    self._note(name, attribute, cells)
            parts[name, len(values)] = mine, values
        for row in np.flatnonzero(wrong & ~unread).tolist():
            self._read(rows[row], records[rows[row]])
        left_out = wrong | unread
        return without(Block(start, end, parts), left_out) if left_out.any() else Block(start, end, parts)

    def _layout(self, name: str | None) -> Any:
        """Return the columns of an event's attributes, which are not declared if no rule reads it; None if refused."""
        if not name:
            return None
        if name not in self.table.layouts:
            try:
                self.table.layouts[name] = self.table.layout(name, Place(self.source, self.first))
            except InputError:
                return None
        return self.table.layouts[name]

    def _by_event(self, columns: Sequence[Any], count: int) -> Iterator[tuple[str | None, Any]]:
        column = self.table.event_column
        if column is None:
            yield self.table.reading.event, np.arange(count)
            return
        coded = columns[column].dictionary_encode()
        codes = coded.indices.to_numpy()
        for code, name in enumerate(coded.dictionary.to_pylist()):
            yield name, np.flatnonzero(codes == code)

    def _note_times(self, columns: Sequence[Any], known: Any) -> None:
        seen = self.table.reading.seen
        for column in self.table.time_columns:
            cells = columns[column].filter(pa.array(known))
            seen.stamps |= not pc.all(pc.match_substring_regex(cells, _NUMBER), min_count=0).as_py()
            seen.fractions |= bool(pc.any(pc.match_substring_regex(cells, r"[.eE]"), min_count=0).as_py())

    def _note(self, name: str | None, attribute: Attribute, cells: Values) -> None:
        seen = self.table.reading.seen
        sample = cells if isinstance(cells, list) else [to_value(x) for x in cells.drop_null()[:1].to_pylist()]
        for value in sample:
            seen.note_value(name or "", attribute.name, value)

    def _read(self, row: int, cells: list[str]) -> None:
        """Note what is wrong with a record."""
        place = Place(self.source, self.first + row, self.lines[row].rstrip("\r\n"), self.delimiter)
        if len(cells) != len(self.table.columns):
            (found,) = read_records_from([self.lines[row]], self.source, self.table, self.delimiter, self.first + row)
        else:
            found = read_row(self.table.event, cells, place=place)
        assert isinstance(found, Bad)
        self.bad.append(found)


def _read(cells: Any, attribute: Attribute) -> tuple[Values, Any]:
    """Return the values of cells, and the places of those that have none of the type."""
    nothing = np.zeros(0, np.int64)
    fast = _ARROW.get(attribute.type or "any")
    found = None if fast is None else fast(cells)
    if found is not None:
        return found, nothing
    read = CELLS[attribute.type][0]
    known: dict[str, Any] = {"": "null"}
    wrong: set[str] = set()
    for text in cells.unique().to_pylist():
        if text:
            try:
                known[text] = to_value(read(text))
            except (ValueError, KeyError, OverflowError, InputError):
                known[text] = "null"
                wrong.add(text)
    texts = cells.to_pylist()
    failed = np.array([row for row, text in enumerate(texts) if text in wrong], np.int64) if wrong else nothing
    return [known[text] for text in texts], failed


def _matches(cells: Any, pattern: str) -> bool:
    return bool(pc.all(pc.match_substring_regex(cells, pattern), min_count=0).as_py())


def _cast(cells: Any, kind: pa.DataType) -> Any:
    return pc.if_else(pc.equal(cells, ""), pa.scalar(None, pa.string()), cells).cast(kind)


def _integers(cells: Any) -> Any:
    return _cast(cells, pa.int64()) if _matches(cells, _INTEGER) else None


def _floats(cells: Any) -> Any:
    return pc.add(_cast(cells, pa.float64()), 0.0) if _matches(cells, _FLOAT) else None


def _texts(cells: Any) -> Any:
    return pc.if_else(pc.equal(cells, ""), pa.scalar(None, pa.string()), cells)


def _values(cells: Any) -> Any:
    """Read cells of no declared type, if all of them have one."""
    if not pc.any(pc.match_substring_regex(cells, _NUMERIC), min_count=0).as_py():
        return _texts(cells)
    if _matches(cells, _INTEGER):
        return _integers(cells)
    return _floats(cells) if _matches(cells, _POINTED) else None


_ARROW: dict[str, Callable[[Any], Any]] = {"int": _integers, "float": _floats, "string": _texts, "any": _values}
