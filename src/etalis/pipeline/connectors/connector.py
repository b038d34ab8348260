"""A connector: all that a pipeline knows about one kind of source or sink, in one record.

A new one is a record in a file of its own, and its place in the table of `connectors`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from etalis.pipeline.ddl import read_ddl

if TYPE_CHECKING:
    from etalis.errors import Problem
    from etalis.pipeline.parts import Pipeline, SinkPart, SourcePart
    from etalis.pipeline.places import Path as Key
    from etalis.pipeline.values import ValueKind

Columns: TypeAlias = dict[str, str]  # name -> type as Spark writes it, in order
UNKNOWN = "void"  # a column whose type only Spark knows


def schema_columns(source: SourcePart) -> Columns | None:
    """Return the columns that the schema of a source names."""
    return None if source.schema is None else read_ddl(source.schema)


def text_columns(source: SourcePart) -> Columns:
    """Return the columns of a source of texts."""
    return schema_columns(source) or {"value": "string"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Connector:
    """One format of sources, of sinks, or of both: it reads, or it writes, or both.

    A batch run calls `write`. A stream to one sink calls `open_stream`, then `start`; a stream to several calls
    `write_part` for every batch and sink, and must leave the same if a batch is run again, as far as it can.
    """

    name: str
    keys: Mapping[str, ValueKind] = field(default_factory=dict)  # they say where its rows are; all are needed

    read: Callable[[Any, SourcePart, Pipeline], Any] | None = None  # session, source: a DataFrame
    columns: Callable[[SourcePart], Columns | None] = schema_columns  # before Spark starts; None if not known
    is_text: bool = False  # rows are texts, in a column `value`, which a schema makes JSON objects
    is_endless: bool = False  # rows never end, so a run once cannot read them
    check_source: Callable[[Pipeline, SourcePart, Key], Iterable[Problem]] = lambda *_: ()

    write: Callable[[Any, SinkPart, Pipeline], None] | None = None
    write_part: Callable[[Any, SinkPart, Pipeline, int], None] | None = None  # with the number of the batch
    open_stream: Callable[[Any, SinkPart, Pipeline], Any] | None = None  # the writer of a stream
    start: Callable[[Any, SinkPart], Any] = lambda writer, _: writer.start()
    takes_effects: bool = False  # not results, but the effects that shards write into the folder `path`
    target: str | None = None  # the key that no two sinks may share
    check_sink: Callable[[Pipeline, SinkPart, Key], Iterable[Problem]] = lambda *_: ()

    needs: Callable[[Pipeline], tuple[str, str] | None] = lambda _: None  # what is not installed, and a hint


def reader_of(spark: Any, pipeline: Pipeline) -> Any:
    """Return what reads a source: as a stream, or once."""
    return spark.readStream if pipeline.run.is_stream else spark.read
