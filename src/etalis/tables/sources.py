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
        return Source(source.schema, lambda columns, _: _cut(source.select(columns), batch))
    if hasattr(source, "__arrow_c_stream__"):
        reader = pa.RecordBatchReader.from_stream(source)
        return Source(reader.schema, lambda columns, _: (part.select(columns) for part in reader))
    hint = "give a path, or a table of Arrow, pandas, Polars or DuckDB"
    raise InputError(Problem("E401", f"{type(source).__name__} is no table", hint=hint))


def _cut(table: pa.Table, batch: int) -> Iterator[pa.RecordBatch]:
    """Yield a table a batch at a time; small chunks are put together, since each batch has a price of its own."""
    some: list[pa.RecordBatch] = []
    for part in table.to_batches(max_chunksize=batch):
        if sum(map(len, some)) + len(part) > batch:
            yield from _together(some)
            some = []
        some.append(part)
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
    try:
        found = dataset.dataset(files, format=form)
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(Problem("E402", f"{path}: not {form}: {error}")) from None
    if form == "parquet":
        return Source(found.schema, lambda columns, rows: _scan_parquet(found, files, columns, rows, batch, threads))
    return Source(found.schema, lambda columns, rows: _scan(found, columns, rows, batch, threads))


def _scan(found: Any, columns: list[str], rows: Any, batch: int, threads: bool) -> Iterable[pa.RecordBatch]:
    """Read a file, a few batches ahead: many that wait in memory cost more than they save."""
    return found.to_batches(  # type: ignore[no-any-return]
        columns=columns,
        filter=rows,
        batch_size=batch,
        use_threads=threads,
        batch_readahead=_AHEAD,
        fragment_readahead=1,
    )


def _scan_parquet(
    found: Any, files: str | list[str], columns: list[str], rows: Any, batch: int, threads: bool
) -> Iterable[pa.RecordBatch]:
    """Read Parquet: texts as they are coded in the file, and no row group in which no row passes the filter.

    Rows that fail the filter are not taken out here: whoever sorts rows by their event leaves them out at no price.
    """
    from pyarrow import dataset

    texts = {name for name in columns if pa.types.is_string(found.schema.field(name).type)}
    near = dataset.ParquetFragmentScanOptions(pre_buffer=False)  # read when asked for: it is not far
    form = dataset.ParquetFileFormat(dictionary_columns=texts, default_fragment_scan_options=near)
    schema = pa.schema(
        f.with_type(pa.dictionary(pa.int32(), pa.string())) if f.name in texts else f for f in found.schema
    )
    coded = dataset.dataset(files, format=form, schema=schema)
    if rows is not None:
        groups = [[group.id for group in part.subset(rows).row_groups] for part in found.get_fragments()]
        parts = zip(coded.get_fragments(), groups, strict=True)
        coded = dataset.FileSystemDataset([part.subset(row_group_ids=ids) for part, ids in parts if ids], schema, form)
    return _scan(coded, columns, None, batch, threads)


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
