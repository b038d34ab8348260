"""What Spark brings besides files: its tables, its console, lines from a socket, rows that it makes to try streams."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from etalis.pipeline.connectors.connector import Connector, reader_of, text_columns
from etalis.pipeline.connectors.files import SAVE_MODES
from etalis.pipeline.values import PORT, TEXT

if TYPE_CHECKING:
    from etalis.pipeline.parts import Pipeline, SinkPart, SourcePart

_SHOWN = 20  # rows


def _read(spark: Any, source: SourcePart, pipeline: Pipeline) -> Any:
    return reader_of(spark, pipeline).format(source.format).options(**source.keys, **source.options).load()


def _show(df: Any, sink: SinkPart, _: Pipeline) -> None:
    options = sink.options
    df.show(int(options.get("numRows", _SHOWN)), truncate=options.get("truncate", "false") == "true")


def _show_stream(df: Any, sink: SinkPart, _: Pipeline) -> Any:
    return df.writeStream.format("console").options(**{"truncate": "false", **sink.options})


def _read_table(spark: Any, source: SourcePart, pipeline: Pipeline) -> Any:
    return reader_of(spark, pipeline).options(**source.options).table(source.keys["table"])


def _write_table(df: Any, sink: SinkPart, _: Pipeline) -> None:
    writer = df.write.format("parquet").options(**sink.options).mode(SAVE_MODES[sink.mode])
    writer.saveAsTable(sink.keys["table"])


def _append_to_table(df: Any, sink: SinkPart, _: Pipeline, _batch: int) -> None:
    df.write.options(**sink.options).mode("append").saveAsTable(sink.keys["table"])


SPARK_FORMATS = (
    Connector(
        name="rate", read=_read, columns=lambda _: {"timestamp": "timestamp", "value": "bigint"}, is_endless=True
    ),
    Connector(
        name="socket", keys={"host": TEXT, "port": PORT}, read=_read, columns=text_columns, is_text=True,
        is_endless=True,
    ),
    Connector(name="console", write=_show, open_stream=_show_stream),
    Connector(
        name="table", keys={"table": TEXT}, read=_read_table, write=_write_table, write_part=_append_to_table,
        open_stream=lambda df, sink, _: df.writeStream.options(**sink.options),
        start=lambda writer, sink: writer.toTable(sink.keys["table"]), target="table",
    ),
)  # fmt: skip
