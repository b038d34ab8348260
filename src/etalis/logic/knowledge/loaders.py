"""Tables as facts: rows of terms from files, data frames and queries, converted a column at a time.

A source is a file, a folder, a pattern or an address (`files`), an Arrow table or what gives one, a pandas data frame,
a pair (DB-API connection, query), an executed cursor, or an iterable of tuples or dicts. Cells of text are read by the
rule of all text (`cells.parse_cell`). What a row cannot hold is refused with its file and line.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import chain, islice
from pathlib import Path
from types import MappingProxyType
from typing import Any

from etalis.data.files import File, find_files
from etalis.data.held_tables import cursor_rows, frame_cells, is_cursor, run_query
from etalis.errors import EtalisError, InputError, Problem
from etalis.logic.knowledge.cell_values import parse_cell, to_term
from etalis.logic.terms.unify import Term

BATCH = 50_000
Columns = Sequence[str | int] | None
Block = tuple[Sequence[Sequence[Any]], Sequence[int]]  # columns, and the line of each row
_PLAIN = frozenset((int, str))


@dataclass(frozen=True, slots=True)
class LoadedRows:
    """Facts of one relation, with the name of where they come from, and types of columns that have one there."""

    source: str
    arity: int
    rows: list[tuple[Term, ...]]
    types: tuple[str | None, ...] | None = None


@dataclass(frozen=True, slots=True)
class _Table:
    """Names of the columns (None where there are none) and the cells, block by block."""

    source: str
    unit: str  # what rows are counted in: lines of a file, rows of a table
    names: Sequence[str] | None
    blocks: Iterable[Block]
    types: Sequence[str | None] | None = None

    def refuse(self, code: str, message: str, line: int | None = None, hint: str | None = None) -> InputError:
        """Return the error for a row, or for the table."""
        place = self.source if line is None else f"{self.source}, {self.unit} {line}"
        return InputError(Problem(code, f"{place}: {message}", hint=hint))


def load_rows(source: Any, columns: Columns = None) -> LoadedRows:
    """Read all rows of a source.

    >>> load_rows([{"from": "a", "to": "b"}, {"from": "b", "to": "c"}], ["to", "from"]).rows
    [('b', 'a'), ('c', 'b')]
    """
    try:
        if isinstance(source, str | Path):
            return _together([_convert(_open_file(file, columns), columns) for file in find_files(source)])
        return _convert(_open(source, columns), columns)
    except OSError as error:
        message = f"cannot read {source}: {error.strerror or error}"
        raise InputError(Problem("E401", message, hint="check the file's name")) from None
    except UnicodeDecodeError:
        raise InputError(Problem("E402", f"{source}: not UTF-8 text", hint="convert the file to UTF-8")) from None


def _together(parts: list[LoadedRows]) -> LoadedRows:
    """Return the rows of several files, which have as many columns each."""
    first = parts[0]
    for other in parts[1:]:
        if other.arity != first.arity:
            message = f"{other.source} has {other.arity} columns, {first.source} has {first.arity}"
            raise InputError(Problem("E406", message, hint="name the columns: columns=[...]"))
        first.rows.extend(other.rows)
    types = first.types if all(part.types == first.types for part in parts) else None
    return LoadedRows(first.source, first.arity, first.rows, types)


def _convert(table: _Table, columns: Columns) -> LoadedRows:
    rows: list[tuple[Term, ...]] = []
    chosen: list[int] | None = None
    for cells, lines in table.blocks:
        if chosen is None:
            chosen = _choose(table, columns, len(cells))
        rows.extend(zip(*(_terms(table, cells[i], lines, i) for i in chosen), strict=True))
    if chosen is None:
        known = table.names is not None
        chosen = _choose(table, columns, len(table.names or ())) if known else list(range(len(columns or ())))
    if not chosen:
        raise table.refuse("E406", "no columns, so no facts", hint="name the columns: columns=[...]")
    types = None if table.types is None else tuple(table.types[i] for i in chosen)
    return LoadedRows(table.source, len(chosen), rows, types)


def _choose(table: _Table, columns: Columns, width: int) -> list[int]:
    """Return the positions of the columns wanted."""
    if columns is None:
        return list(range(width))
    names = list(table.names or ())
    found = []
    for column in columns:
        if isinstance(column, int) and 0 <= column < width:
            found.append(column)
        elif column in names:
            found.append(names.index(str(column)))
        else:
            known = ", ".join(names) if names else f"0 to {width - 1}"
            raise table.refuse("E406", f"no column {column!r}", hint=f"the columns are {known}")
    return found


def _terms(table: _Table, cells: Sequence[Any], lines: Sequence[int], column: int) -> Sequence[Term]:
    """Turn a column into terms; one of integers and text is already."""
    if _PLAIN.issuperset(map(type, cells)):
        return cells
    terms = []
    for cell, line in zip(cells, lines, strict=True):
        try:
            terms.append(to_term(cell))
        except EtalisError as error:
            first = error.problems[0]
            name = table.names[column] if table.names else f"column {column}"
            raise table.refuse("E405", f"{name}: {first.message}", line, first.hint) from None
    return terms


def _open(source: Any, columns: Columns) -> _Table:
    """Find out what a source is."""
    source = run_query(source)
    if is_cursor(source):
        return _cursor(source)
    if hasattr(source, "to_batches") or (hasattr(source, "to_pylist") and hasattr(source, "schema")):
        batches = source.to_batches(BATCH) if hasattr(source, "to_batches") else [source]
        return _arrow(source.schema, batches, "the table")
    if hasattr(source, "itertuples") and hasattr(source, "columns"):
        return _frame(source)
    if hasattr(source, "__arrow_c_stream__"):
        return _open(import_module("pyarrow").table(source), columns)
    if isinstance(source, Iterable) and not isinstance(source, Mapping | bytes):
        return _records(source, columns, "the rows", "row")
    hint = "give a file, a table of Arrow or pandas, (connection, query), a cursor, or rows"
    raise InputError(Problem("E407", f"facts cannot be read from {type(source).__name__}", hint=hint))


# files


def _open_file(file: File, columns: Columns) -> _Table:
    read = _FILES.get(file.format)
    if read is None:
        message = f"{file.address}: facts cannot be read from files of {file.format}"
        raise InputError(Problem("E407", message, hint=f"one of {', '.join(_FILES)}"))
    return read(file, columns)


def _csv(file: File, columns: Columns, delimiter: str = ",") -> _Table:
    lines = _csv_lines(file, delimiter)
    if columns is not None and all(isinstance(c, int) for c in columns):
        return _Table(file.address, "line", None, _blocks(lines, file.address))
    header = next(lines, None)
    names = [] if header is None else [name.strip() for name in header[0]]
    return _Table(file.address, "line", names, _blocks(lines, file.address, len(names)))


def _tsv(file: File, columns: Columns) -> _Table:
    return _csv(file, columns, "\t")


def _csv_lines(file: File, delimiter: str) -> Iterator[tuple[list[Any], int]]:
    with file.lines("strict") as lines:
        reader = csv.reader(lines, delimiter=delimiter, strict=True)
        try:
            for cells in reader:
                if cells:
                    yield cells, reader.line_num
        except csv.Error as error:
            message = f"{file.address}, line {reader.line_num}: not CSV: {error}"
            raise InputError(Problem("E402", message, hint="check the quotes of this line")) from None


def _blocks(lines: Iterator[tuple[list[Any], int]], source: str, width: int | None = None) -> Iterator[Block]:
    """Yield the cells of text as columns of values."""
    while block := list(islice(lines, BATCH)):
        width = len(block[0][0]) if width is None else width
        for cells, line in block:
            if len(cells) != width:
                message = f"{source}, line {line}: expected {width} cells, found {len(cells)}"
                raise InputError(Problem("E406", message, hint="quote a cell that holds a separator"))
        yield (
            [list(map(parse_cell, column)) for column in zip(*(c for c, _ in block), strict=True)],
            [n for _, n in block],
        )


def _json_lines(file: File, columns: Columns) -> _Table:
    return _records(_json_records(file), columns, file.address, "line")


def _json_records(file: File) -> Iterator[Any]:
    with file.lines("strict") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                try:
                    yield _Numbered(json.loads(line), number)
                except (ValueError, RecursionError) as error:
                    message = f"{file.address}, line {number}: not JSON: {error}"
                    raise InputError(Problem("E402", message, hint="one object or list per line")) from None


@dataclass(frozen=True, slots=True)
class _Numbered:
    """A record with its line."""

    record: Any
    line: int


def _arrow_file(file: File, _columns: Columns) -> _Table:
    return _arrow(*file.batches(BATCH), file.address)


_FILES: Mapping[str, Callable[[File, Columns], _Table]] = MappingProxyType(
    {"csv": _csv, "tsv": _tsv, "jsonl": _json_lines, "parquet": _arrow_file, "arrow": _arrow_file}
)


# tables in memory


def _arrow(schema: Any, batches: Iterable[Any], source: str) -> _Table:
    """Batches of Arrow."""
    from etalis.logic.knowledge.arrow_columns import type_of  # Arrow is loaded where it is needed

    cells = _numbered([_cells(c, source) for c in batch.columns] for batch in batches)
    return _Table(source, "row", schema.names, cells, [type_of(field.type) for field in schema])


def _cells(column: Any, source: str) -> list[Any]:
    from etalis.logic.knowledge.arrow_columns import to_list  # Arrow is loaded where it is needed

    try:
        return to_list(column)
    except InputError as error:
        raise InputError(
            Problem("E405", f"{source}: {error.problems[0].message}", hint=error.problems[0].hint)
        ) from None
    except (ValueError, OverflowError) as error:
        raise InputError(Problem("E405", f"{source}: {error}", hint="a time must lie in the years 1 to 9999")) from None


_KINDS: Mapping[str, str] = {"b": "bool", "i": "int", "u": "int", "f": "float", "M": "time"}  # of NumPy and pandas


def _frame(frame: Any) -> _Table:
    types = [_KINDS.get(frame.iloc[:, i].dtype.kind) for i in range(len(frame.columns))]
    names, cells = frame_cells(frame)
    return _Table("the data frame", "row", names, _numbered([cells]), types)


def _cursor(cursor: Any) -> _Table:
    names, blocks = cursor_rows(cursor, BATCH)
    return _Table("the query", "row", names, _numbered(list(zip(*block, strict=True)) for block in blocks))


def _numbered(blocks: Iterable[Sequence[Sequence[Any]]]) -> Iterator[Block]:
    """Count the rows of blocks from 1."""
    first = 1
    for cells in blocks:
        count = len(cells[0]) if cells else 0
        yield cells, range(first, first + count)
        first += count


def _records(records: Iterable[Any], columns: Columns, source: str, unit: str) -> _Table:
    """Rows as tuples or lists, or as dicts, whose columns are those of the first one."""
    numbered = (r if isinstance(r, _Numbered) else _Numbered(r, n) for n, r in enumerate(records, 1))
    first = next(numbered, None)
    names: list[str] | None = None
    if first is not None and isinstance(first.record, Mapping):
        names = [str(c) for c in columns] if columns is not None else list(first.record)
    table = _Table(source, unit, names, ())
    whole = chain(() if first is None else (first,), numbered)
    width = 0 if first is None or not isinstance(first.record, Sequence) else len(first.record)
    return _Table(source, unit, names, _record_blocks(table, whole, width))


def _record_blocks(table: _Table, records: Iterator[_Numbered], width: int) -> Iterator[Block]:
    while block := list(islice(records, BATCH)):
        rows = [_row(table, item, width) for item in block]
        yield list(zip(*rows, strict=True)), [item.line for item in block]


def _row(table: _Table, item: _Numbered, width: int) -> Sequence[Any]:
    """Return the cells of a record, or refuse it."""
    record = item.record
    if table.names is not None and isinstance(record, Mapping):
        missing = [name for name in table.names if name not in record]
        if missing:
            raise table.refuse("E406", f"no {missing[0]!r}", item.line, "use null for an unknown value")
        return [record[name] for name in table.names]
    if table.names is None and isinstance(record, list | tuple) and len(record) == width:
        return record
    expected = f"an object with {', '.join(table.names)}" if table.names else f"a list of {width}"
    raise table.refuse("E406", f"expected {expected}, found {str(record)[:40]}", item.line, "all rows have one shape")
