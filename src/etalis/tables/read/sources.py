"""Where tables come from: files, Arrow, pandas, Polars, DuckDB, cursors, rows.

What has columns is read by columns; text and Python objects are read row by row, as everywhere else, and become columns
then (`rows`).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from queue import Queue
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import pyarrow as pa

from etalis.data.files import File, find_files, reading_file
from etalis.data.held_tables import cursor_rows, frame_cells, is_cursor, run_query
from etalis.errors import InputError, Problem
from etalis.formats import STANDARD_INPUT, read
from etalis.formats.arrow_tables import read_batches
from etalis.formats.comma_separated import open_csv, read_records_from
from etalis.formats.json_lines import read_records
from etalis.formats.rdf_tables import TripleTable, has_triples
from etalis.formats.roles import find_times, signatures_of
from etalis.formats.row import Bad, Reading, reading_of
from etalis.logic.knowledge.arrow_columns import schema_without_views, table_without_views
from etalis.tables.read.blocks import Block, blocks_of
from etalis.tables.read.csv_blocks import csv_blocks
from etalis.tables.read.rows import RowTable, open_rows
from etalis.temporal.time_columns import read_times

if TYPE_CHECKING:
    from etalis.runtime.compiled import CompiledProgram
    from etalis.tables.schema import Options

T = TypeVar("T")
Blocks: TypeAlias = "Callable[[Reading, list[Bad]], Iterable[Block]]"
_AHEAD = 2  # batches that are read before they are asked for
_FETCHED = 10_000  # rows of a cursor at a time
_READERS = ("to_arrow_reader", "fetch_record_batch", "fetch_arrow_reader")  # what DuckDB calls it, by version
_DELIMITERS: Mapping[str, str] = {"csv": ",", "tsv": "\t"}
_COLUMNS: Mapping[str, str] = {"parquet": "parquet", "arrow": "feather"}  # formats of files that are read by columns


@dataclass(frozen=True, slots=True)
class TableSource:
    """A table: its columns, and how some of them are read; where that is cheap, without rows that fail a filter.

    One that is read row by row has `rows`, and counts time in microseconds.
    """

    schema: pa.Schema
    scan: Callable[[list[str], Any], Iterable[pa.RecordBatch]]
    rows: RowTable | None = None
    in_memory: pa.Table | None = None
    skips: bool = False  # stretches without a row that passes the filter; then it can be scanned again

    def in_time(self, batch: int, options: Options) -> TableSource:
        """Return the source with its rows in order of time, if it is in memory and they are in none."""
        table = self.in_memory
        names = None if table is None else find_times(table.column_names, options.time)
        if table is None or names is None or not table.num_rows:
            return self
        if table.num_rows <= batch or _is_sorted(table[names[-1]], batch):  # one batch is sorted as every one is
            return self
        ends = read_times(table[names[-1]], options.unit).micros
        return _in_memory(table.take(pa.array(ends.argsort(kind="stable"))), batch)


def open_source(source: Any, batch: int, threads: int, program: CompiledProgram, options: Options) -> TableSource:
    """Return a table, wherever it is, that is read some rows at a time."""
    for name, number in (("batch", batch), ("threads", threads)):
        if number < 1:
            raise InputError(Problem("E605", f"{name}={number} cannot be", hint="give a number from 1 on"))
    found = find_source(source, batch, threads > 1)
    reading = reading_of(program, event=options.event, time=options.time, unit=options.unit, encoding=options.encoding)
    if isinstance(found, TableSource):
        if not has_triples(found.schema.names, reading):
            return found
        found = _open_triples(found)
    received = [s.kind for s in signatures_of(program) if not s.made or s.attributes is not None]
    table = open_rows(found, reading, received)
    return TableSource(table.schema, lambda columns, _: (part.select(columns) for part in table.batches()), table)


def find_source(source: Any, batch: int, threads: bool) -> TableSource | Blocks:
    """Return a source as columns, or what reads its rows."""
    if isinstance(source, str | Path):
        return _open_address(str(source), batch, threads)
    if hasattr(source, "collect") and hasattr(source, "collect_schema"):  # a lazy frame of Polars
        source = source.collect()
    if hasattr(source, "fetchmany") and any(hasattr(source, name) for name in _READERS):
        source = _reader_of(source, batch)
    if isinstance(source, pa.Table | pa.RecordBatch) or hasattr(source, "shape"):
        return _open_frame(source, batch)
    if hasattr(source, "__arrow_c_stream__"):
        reader = pa.RecordBatchReader.from_stream(source)
        parts = (part for came in reader for part in table_without_views(pa.Table.from_batches([came])).to_batches())
        schema = schema_without_views(reader.schema)
        return TableSource(schema, lambda columns, _: _filled((part.select(columns) for part in parts), batch))
    source = run_query(source)
    if is_cursor(source):
        names, blocks = cursor_rows(source, _FETCHED)
        return _open_records(dict(zip(names, row, strict=True)) for block in blocks for row in block)
    if isinstance(source, Iterable) and not isinstance(source, Mapping | bytes) and not hasattr(source, "mapInArrow"):
        return _open_records(source)
    hint = (
        "give a path, rows, a cursor, or a table of Arrow, pandas, Polars or DuckDB; a DataFrame of Spark: .on(spark)"
    )
    raise InputError(Problem("E401", f"{type(source).__name__} is no table", hint=hint))


def _reader_of(cursor: Any, batch: int) -> Any:
    """Return the batches of a relation or cursor of DuckDB, which says that the former would spare a copy."""
    read = next(getattr(cursor, name) for name in _READERS if hasattr(cursor, name))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return read(batch)


def _is_sorted(column: Any, block: int) -> bool:
    """Tell whether the cells of a column certainly ascend; block by block, which stays in the caches."""
    if column.null_count or not (pa.types.is_primitive(column.type) and column.type.bit_width == 64):
        return False
    before = None
    for low in range(0, len(column), block):
        for chunk in filter(len, column.slice(low, block).chunks):
            cells = chunk.to_numpy(zero_copy_only=False)
            if (before is not None and cells[0] < before) or not (cells[1:] >= cells[:-1]).all():
                return False
            before = cells[-1]
    return True


def _open_frame(source: Any, batch: int) -> TableSource | Blocks:
    """Return a table in memory; one of pandas that holds objects of several types is read row by row."""
    try:
        table = source if isinstance(source, pa.Table) else pa.table(source)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError) as error:
        if hasattr(source, "itertuples"):
            names, cells = frame_cells(source)
            return _open_records([dict(zip(names, row, strict=True)) for row in zip(*cells, strict=True)])
        raise _refused("the table", error) from None

    return _in_memory(table_without_views(table), batch)


def _in_memory(table: pa.Table, batch: int) -> TableSource:
    def scan(columns: list[str], _: Any) -> Iterator[pa.RecordBatch]:
        return _filled(table.select(columns).to_batches(batch), batch)

    return TableSource(table.schema, scan, in_memory=table)


def _open_records(rows: Iterable[Any]) -> Blocks:
    return lambda reading, bad: blocks_of(read_records(rows, "the rows", reading), bad)


def _open_address(address: str, batch: int, threads: bool) -> TableSource | Blocks:
    if address == STANDARD_INPUT:
        return lambda reading, bad: blocks_of(read(address, reading), bad)
    files = find_files(address)
    if files[0].format in _COLUMNS and all(file.compression is None for file in files):
        return _open_files(address, files, batch, threads)
    if files[0].format in _DELIMITERS:
        return lambda reading, bad: chain.from_iterable(_csv_file(file, reading, bad) for file in files)
    return lambda reading, bad: blocks_of(read(address, reading), bad)


def _open_triples(table: TableSource) -> Blocks:
    """Return what reads a table of RDF triples, whose cells are terms."""
    names = table.schema.names

    def blocks(reading: Reading, bad: list[Bad]) -> Iterable[Block]:
        return blocks_of(read_batches(names, table.scan(names, None), "the table", reading), bad)

    return blocks


def _csv_file(file: File, reading: Reading, bad: list[Bad]) -> Iterator[Block]:
    delimiter = _DELIMITERS[file.format]

    def blocks() -> Iterator[Block]:
        with file.lines("surrogateescape", reading.encoding) as lines:
            table, line = open_csv(lines, file.address, reading, delimiter)
            if isinstance(table, TripleTable):
                yield from blocks_of(read_records_from(lines, file.address, table, delimiter, line), bad)
            else:
                yield from csv_blocks(lines, file.address, table, delimiter, line, bad)

    return reading_file(file.address, blocks)


def _filled(parts: Iterable[pa.RecordBatch], batch: int) -> Iterator[pa.RecordBatch]:
    """Yield the rows of all parts; small parts are put together, since each batch has a price of its own."""
    some: list[pa.RecordBatch] = []
    rows = 0
    for part in parts:
        if some and (rows + len(part) > batch or part.schema != some[0].schema):
            yield from _together(some)
            some, rows = [], 0
        some.append(part)
        rows += len(part)
    yield from _together(some)


def _together(parts: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    """Return batches as one; those of which there is one already are not copied."""
    return parts if len(parts) < 2 else pa.Table.from_batches(parts).combine_chunks().to_batches()


def _open_files(address: str, files: Sequence[File], batch: int, threads: bool) -> TableSource:
    from pyarrow import dataset

    try:
        paths = [file.path for file in files]
        found = dataset.dataset(paths, format=_COLUMNS[files[0].format], filesystem=files[0].system)
    except _UNREADABLE as error:
        raise _refused(address, error) from None

    def scan(columns: list[str], rows: Any) -> Iterator[pa.RecordBatch]:
        parts = _read(found, columns, rows, batch, threads)
        return _filled(prefetch(parts) if threads else parts, batch)

    return TableSource(found.schema, scan, skips=True)


_UNREADABLE = (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError)


def _refused(path: object, error: Exception) -> InputError:
    hint = "is it whole, of the format that its name says, and with the types of the first file of its folder?"
    return InputError(Problem("E402", f"{path}: {error}", hint=hint))


def _read(found: Any, columns: list[str], rows: Any, batch: int, threads: bool) -> Iterator[pa.RecordBatch]:
    """Read files one after the other; of Parquet no row group in which no row passes the filter.

    Rows of a group that fail it are not taken out: whoever sorts rows by their event leaves them out at no price.
    """
    is_parquet = found.format.default_extname == "parquet"
    for part in found.get_fragments():
        try:
            if is_parquet and part.physical_schema.equals(found.schema):
                yield from _decoded(part if rows is None else part.subset(rows), columns, batch)
            else:  # a few batches ahead: many that wait in memory cost more than they save
                yield from part.to_batches(
                    found.schema, columns, rows, batch, use_threads=threads, batch_readahead=_AHEAD
                )
        except _UNREADABLE as error:
            raise _refused(part.path, error) from None


def _decoded(part: Any, columns: list[str], batch: int) -> Iterator[pa.RecordBatch]:
    """Read a Parquet file bit by bit, texts as they are coded there; a scanner decodes row groups as a whole first."""
    from pyarrow import parquet

    texts = [name for name in columns if pa.types.is_string(part.physical_schema.field(name).type)]
    with part.open() as opened:
        file = parquet.ParquetFile(opened, metadata=part.metadata, read_dictionary=texts, pre_buffer=False)
        for group in part.row_groups:  # texts are coded anew in each
            yield from file.iter_batches(batch, [group.id], columns, use_threads=False)


def prefetch(items: Iterable[T]) -> Iterator[T]:
    """Yield what another thread has made ready meanwhile; what it raises is raised here."""
    ready: Queue[tuple[T | None, BaseException | None]] = Queue(_AHEAD)
    left = Event()

    def work() -> None:
        try:
            for item in items:
                ready.put((item, None))
                if left.is_set():
                    return
            ready.put((None, StopIteration()))
        except BaseException as error:  # noqa: BLE001 - it is raised in the thread that asked
            ready.put((None, error))

    thread = Thread(target=work, name="etalis-reader", daemon=True)
    thread.start()
    try:
        while True:
            item, error = ready.get()
            if isinstance(error, StopIteration):
                return
            if error is not None:
                raise error
            yield item  # type: ignore[misc]
    finally:
        left.set()
        while thread.is_alive():
            if not ready.empty():
                ready.get()
            thread.join(0.01)
