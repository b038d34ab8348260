"""Columns of sources before Spark is asked: from a schema that is given, a Parquet file, the header of a CSV file.

And the part each column plays: time, order and the event's name get names that no attribute has, so that sources with
different columns can be detected together. Law: what is not known for certain is None, and is checked when it runs.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from glob import glob
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa
from pyarrow import parquet

from etalis.errors import Problem
from etalis.formats.roles import Roles, find_roles
from etalis.language.check.spelling import suggest
from etalis.pipeline.places import Path as Key
from etalis.pipeline.spec import Pipeline, SourcePart
from etalis.tables.column_types import base_of, has_order

Columns: TypeAlias = Mapping[str, str]  # name -> type as Spark writes it, in order

AT, START, END, ORDER, EVENT = "_at", "_start", "_end", "_order", "_event"
PAYLOAD = ("socket", "text", "kafka")  # sources of texts, which a schema makes JSON objects
KAFKA_COLUMNS: Columns = {"_key": "string", "_partition": "int", "_offset": "bigint", "_timestamp": "timestamp"}
UNKNOWN = "void"  # a column whose type only Spark will tell
_ALIASES = {
    "integer": "int", "long": "bigint", "short": "smallint", "byte": "tinyint", "real": "float", "dec": "decimal",
    "numeric": "decimal", "timestamp_ltz": "timestamp",
}  # fmt: skip
_SIMPLE = (
    "tinyint", "smallint", "int", "bigint", "float", "double", "decimal", "string", "char", "varchar", "boolean",
    "binary", "date", "timestamp", "timestamp_ntz", "array", "map", "struct", "variant",
)  # fmt: skip
_ARROW = {
    pa.int8(): "tinyint", pa.int16(): "smallint", pa.int32(): "int", pa.int64(): "bigint", pa.float32(): "float",
    pa.float64(): "double", pa.string(): "string", pa.large_string(): "string", pa.bool_(): "boolean",
    pa.date32(): "date", pa.binary(): "binary",
}  # fmt: skip
_FIELD = re.compile(r"\s*(`(?:[^`]|``)+`|\w+)\s*:?\s*(.+?)(?:\s+not\s+null)?(?:\s+comment\s+'.*')?\s*", re.I | re.S)


class SchemaError(ValueError):
    """A schema that is none."""


def read_ddl(text: str) -> dict[str, str]:
    """Read columns as they are written for Spark.

    >>> read_ddl("card STRING, `a b` long, tags array<struct<x: int, y: int>>")
    {'card': 'string', 'a b': 'bigint', 'tags': 'array<struct<x: int, y: int>>'}
    """
    columns: dict[str, str] = {}
    for part in _parts(text):
        found = _FIELD.fullmatch(part)
        if found is None:
            raise SchemaError(f"{part.strip()!r} is no column: a column is `name type`")
        name = found[1].strip("`").replace("``", "`")
        if name in columns:
            raise SchemaError(f"{name} stands twice")
        columns[name] = _type(found[2].strip().lower())
    return columns


def _parts(text: str) -> Iterator[str]:
    depth, start, quote = 0, 0, ""
    for place, sign in enumerate(text):
        if quote or sign in "`'":
            quote = "" if sign == quote else quote or sign
            continue
        depth += (sign in "<(") - (sign in ">)")
        if sign == "," and not depth:
            yield text[start:place]
            start = place + 1
    yield text[start:]


def _type(text: str) -> str:
    base, rest = re.fullmatch(r"(\w*)(.*)", text, re.S).groups()  # type: ignore[union-attr]
    base = _ALIASES.get(base, base)
    if base not in _SIMPLE or (rest and rest.lstrip()[0] not in "<("):
        near = suggest(base, [*_SIMPLE, *_ALIASES], "types are those of Spark: string, bigint, double, timestamp, ...")
        raise SchemaError(f"{text!r} is no type of Spark; {near}")
    return base + rest


def known_columns(source: SourcePart) -> dict[str, str] | None:
    """Return the columns of a source as far as they can be told without Spark; None if they cannot."""
    if source.select:
        return None
    if source.format == "rate":
        return {"timestamp": "timestamp", "value": "bigint"}
    if source.schema is not None:
        extra = KAFKA_COLUMNS if source.format == "kafka" else {}
        return {**read_ddl(source.schema), **extra}
    if source.format in PAYLOAD:
        return {"value": "string", **(KAFKA_COLUMNS if source.format == "kafka" else {})}
    if source.path is None or "://" in source.path:
        return None
    return _file_columns(source)


def _file_columns(source: SourcePart) -> dict[str, str] | None:
    assert source.path is not None
    files = sorted(data_files(source.path))
    if files and source.format == "parquet":
        return _parquet_columns(files[0])
    if files and source.format == "csv" and source.options.get("header", "true") == "true":
        with files[0].open(encoding="utf-8-sig", errors="replace", newline="") as file:
            names = next(csv.reader(file, delimiter=source.options.get("sep", ",")), [])
        return dict.fromkeys(names, UNKNOWN)
    return None


def data_files(path: str) -> Iterator[Path]:
    """Yield the files that Spark would read: a file, all of a folder, or what a pattern names."""
    for found in map(Path, glob(path)):
        if found.is_file():
            yield found
        for file in found.rglob("*"):
            parts = file.relative_to(found).parts
            if file.is_file() and not any(part[0] in "_." for part in parts):
                yield file


def _parquet_columns(file: Path) -> dict[str, str] | None:
    try:
        schema = parquet.read_schema(file)
    except (OSError, pa.ArrowException):
        return None
    types = [_arrow_type(field.type) for field in schema]
    return None if None in types else dict(zip(schema.names, map(str, types), strict=True))


def _arrow_type(kind: pa.DataType) -> str | None:
    if pa.types.is_timestamp(kind):
        return "timestamp_ntz" if kind.tz is None else "timestamp"
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    if pa.types.is_dictionary(kind):
        return _arrow_type(kind.value_type)
    if pa.types.is_list(kind):
        inner = _arrow_type(kind.value_type)
        return None if inner is None else f"array<{inner}>"
    return _ARROW.get(kind)


# the part of each column


@dataclass(frozen=True, slots=True)
class Arrangement:
    """How the columns of a source are named for detection, in order; and the event of all its rows, if it is one."""

    names: tuple[tuple[str, str], ...]  # column, new name; attributes keep theirs
    event: str | None


@dataclass(frozen=True, slots=True)
class Arranger:
    """Gives columns their parts, and notes what does not fit, by the names that the file uses."""

    pipeline: Pipeline
    received: Sequence[str]  # the events that the program must be given
    interval: bool  # whether any source has start and end

    def arrange(self, number: int, columns: Columns, problems: list[Problem]) -> Arrangement | None:
        """Return the parts of a source's columns; None if one is missing."""
        source, key = self.pipeline.sources[number], ("source", number)
        tag = source.event_column
        is_named = source.event is not None and tag is None
        roles = find_roles(columns, time=source.time, event=tag, order=source.order, is_named=is_named)
        missing = [*roles.missing, *([("event_column", tag)] if tag and roles.event is None else [])]
        for part, name in missing:
            hint = suggest(name, columns, f"the columns are {', '.join(columns)}")
            problems.append(self.pipeline.problem("E704", f"there is no column {name}", (*key, part), hint))
        if missing or not self._has_time(roles, columns, key, problems):
            return None
        event = (source.event or self._only_event(key, problems)) if roles.event is None else None
        if roles.event is None and event is None:
            return None
        times = roles.times
        ends = [(times[0], START), (times[-1], END)] if self.interval else [(times[0], AT)]
        parts = [*ends, *((name, part) for name, part in ((roles.order, ORDER), (roles.event, EVENT)) if name)]
        return Arrangement((*((name, name) for name in roles.free), *parts), event)

    def _only_event(self, key: Key, problems: list[Problem]) -> str | None:
        if len(self.received) == 1:
            return self.received[0]
        hint = (
            f'say event = "..." or event_column = "..."; the program is given {", ".join(self.received) or "nothing"}'
        )
        problems.append(self.pipeline.problem("E703", "nothing says which event the rows are", key, hint))
        return None

    def _has_time(self, roles: Roles, columns: Columns, key: Key, problems: list[Problem]) -> bool:
        if not roles.times:
            hint = f'say time = "..."; the columns are {", ".join(columns)}'
            problems.append(self.pipeline.problem("E703", "nothing says which column is the time", key, hint))
        wrong = [name for name in roles.times if not (has_order(columns[name]) or columns[name] == UNKNOWN)]
        for name in wrong[:1]:
            message = f"the column {name} of type {base_of(columns[name])} cannot tell the time"
            hint = "convert it with select: to_timestamp(...) as ..., or give numbers"
            problems.append(self.pipeline.problem("E704", message, (*key, "time"), hint))
        return bool(roles.times) and not wrong
