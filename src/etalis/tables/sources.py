"""Where tables come from: files and folders through PyArrow, Arrow tables, anything with Arrow's C stream interface."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from queue import Queue
from threading import Event, Thread
from typing import Any, TypeVar

import pyarrow as pa

from etalis.errors import InputError, Problem

T = TypeVar("T")
_AHEAD = 2  # batches that are read before they are asked for
_FORMATS: Mapping[str, str] = {
    ".parquet": "parquet", ".arrow": "feather", ".feather": "feather", ".csv": "csv", ".jsonl": "json",
    ".ndjson": "json", ".json": "json",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Source:
    """A table: its columns, and how some of them are read; where that is cheap, without rows that fail a filter."""

    schema: pa.Schema
    scan: Callable[[list[str], Any], Iterable[pa.RecordBatch]]


def open_source(source: Any, batch: int, threads: int) -> Source:
    """Return a table, wherever it is, that is read some rows at a time."""
    for name, number in (("batch", batch), ("threads", threads)):
        if number < 1:
            raise InputError(Problem("E605", f"{name}={number} cannot be", hint="give a number from 1 on"))
    if isinstance(source, str | Path):
        return _open_file(Path(source), batch, threads > 1)
    if isinstance(source, pa.Table):
        return Source(source.schema, lambda columns, _: _filled(source.select(columns).to_batches(batch), batch))
    if hasattr(source, "__arrow_c_stream__"):
        reader = pa.RecordBatchReader.from_stream(source)
        return Source(reader.schema, lambda columns, _: _filled((part.select(columns) for part in reader), batch))
    hint = "give a path, or a table of Arrow, pandas, Polars or DuckDB"
    raise InputError(Problem("E401", f"{type(source).__name__} is no table", hint=hint))


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


def _open_file(path: Path, batch: int, threads: bool) -> Source:
    from pyarrow import dataset

    if not path.exists():
        raise InputError(Problem("E401", f"{path}: no such file", hint="check the path"))
    form = "parquet" if path.is_dir() else _FORMATS.get(path.suffix.lower())
    if form is None:
        raise InputError(Problem("E407", f"{path}: unknown format", hint=f"one of {', '.join(_FORMATS)}, or a folder"))
    files = sorted(map(str, path.rglob("*.parquet"))) if path.is_dir() else str(path)
    if not files:
        raise InputError(Problem("E401", f"{path}: no Parquet file in this folder", hint="their names end in .parquet"))
    try:
        found = dataset.dataset(files, format=form)
    except _UNREADABLE as error:
        raise _refused(path, error) from None

    def scan(columns: list[str], rows: Any) -> Iterator[pa.RecordBatch]:
        parts = _read(found, columns, rows, batch, threads)
        return _filled(ahead(parts) if threads else parts, batch)

    return Source(found.schema, scan)


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


def ahead(items: Iterable[T]) -> Iterator[T]:
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
