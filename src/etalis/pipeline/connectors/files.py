"""Files that Spark reads and writes: Parquet, ORC, JSON, CSV, and lines of text, which it only reads.

A stream writes by Spark's own file sink if it has one sink. One of several gets a folder per batch, written whole, so
a batch that is run again leaves what it left before.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import parquet

from etalis.pipeline.connectors.connector import UNKNOWN, Columns, Connector, reader_of, schema_columns, text_columns
from etalis.pipeline.values import PLACE
from etalis.tables.column_types import is_known, type_name

if TYPE_CHECKING:
    from etalis.errors import Problem
    from etalis.pipeline.parts import Pipeline, SinkPart, SourcePart
    from etalis.pipeline.places import Path as Key

SAVE_MODES = {"error": "errorifexists", "append": "append", "overwrite": "overwrite"}


def _read(spark: Any, source: SourcePart, pipeline: Pipeline) -> Any:
    path, usual = source.keys["path"], dict[str, str]()
    if source.format == "csv":
        usual = {"header": "true", **({} if source.schema else {"inferSchema": "true"})}
    reader = reader_of(spark, pipeline).format(source.format).options(**{**usual, **source.options})
    if source.schema is not None and source.format != "text":
        reader = reader.schema(source.schema)
    elif pipeline.run.is_stream and source.format == "parquet":
        reader = reader.schema(spark.read.parquet(path).schema)
    return reader.load(path)


def _write(df: Any, sink: SinkPart, _: Pipeline) -> None:
    df.write.format(sink.format).options(**_options(sink)).mode(SAVE_MODES[sink.mode]).save(sink.keys["path"])


def _write_part(df: Any, sink: SinkPart, _: Pipeline, batch: int) -> None:
    writer = df.write.format(sink.format).options(**_options(sink)).mode("overwrite")
    writer.save(f"{sink.keys['path'].rstrip('/')}/batch={batch}")


def _open_stream(df: Any, sink: SinkPart, _: Pipeline) -> Any:
    return df.writeStream.format(sink.format).options(**_options(sink)).option("path", sink.keys["path"])


def _options(sink: SinkPart) -> Mapping[str, str]:
    return {**({"header": "true"} if sink.format == "csv" else {}), **sink.options}


# columns before Spark starts


def _columns(source: SourcePart) -> Columns | None:
    path = _local(source)
    if source.schema is not None or path is None:
        return schema_columns(source)
    files = sorted(data_files(path))
    if files and source.format == "parquet":
        return _parquet_columns(files[0])
    if files and source.format == "csv" and source.options.get("header", "true") == "true":
        with files[0].open(encoding="utf-8-sig", errors="replace", newline="") as file:
            names = next(csv.reader(file, delimiter=source.options.get("sep", ",")), [])
        return dict.fromkeys(names, UNKNOWN)
    return None


def _parquet_columns(file: Path) -> Columns | None:
    try:
        schema = parquet.read_schema(file)
    except (OSError, pa.ArrowException):
        return None
    types = {field.name: type_name(field.type) for field in schema}
    return types if all(map(is_known, types.values())) else None


def data_files(path: str) -> Iterator[Path]:
    """Yield the files that Spark would read: a file, all of a folder, or what a pattern names."""
    for found in map(Path, glob(path)):
        if found.is_file():
            yield found
        for file in found.rglob("*"):
            parts = file.relative_to(found).parts
            if file.is_file() and not any(part[0] in "_." for part in parts):
                yield file


# what can be wrong


def _local(part: SourcePart | SinkPart) -> str | None:
    """Return the path of files that are here."""
    path = part.keys.get("path")
    return None if path is None or "://" in path else str(path)


def _check_source(pipeline: Pipeline, source: SourcePart, key: Key) -> Iterator[Problem]:
    path, is_stream = _local(source), pipeline.run.is_stream
    is_folder = path is not None and Path(path).is_dir()
    is_empty = path is not None and next(data_files(path), None) is None
    if is_stream and source.schema is None and source.format != "parquet":
        hint = 'its columns must stay the same through restarts: schema = "card string, ..."'
        yield pipeline.problem("E703", f"a stream of {source.format} needs a schema", key, hint)
    elif is_stream and source.schema is None and is_folder and is_empty:
        hint = 'say what will come: schema = "card string, ..."'
        yield pipeline.problem("E703", "a stream from an empty folder needs a schema", key, hint)
    if path is not None and is_stream and not any(sign in path for sign in "*?["):
        if not is_folder:
            hint = "a stream of files reads those that come into a folder: make it, or name another"
            yield pipeline.problem("E706", f"there is no folder {path}", (*key, "path"), hint)
    elif is_empty:
        yield pipeline.problem("E706", f"there are no files at {path}", (*key, "path"))


def _check_sink(pipeline: Pipeline, sink: SinkPart, key: Key) -> Iterator[Problem]:
    path = _local(sink)
    if path is not None and not pipeline.run.is_stream and sink.mode == "error" and Path(path).exists():
        hint = 'say mode = "append" or mode = "overwrite", or give another path'
        yield pipeline.problem("E706", f"{path} is there already", (*key, "path"), hint)


FILES = (
    *(
        Connector(
            name=name, keys={"path": PLACE}, read=_read, columns=_columns, check_source=_check_source, write=_write,
            write_part=_write_part, open_stream=_open_stream, target="path", check_sink=_check_sink,
        )
        for name in ("parquet", "orc", "json", "csv")
    ),
    Connector(
        name="text", keys={"path": PLACE}, read=_read, columns=text_columns, is_text=True, check_source=_check_source
    ),
)  # fmt: skip
