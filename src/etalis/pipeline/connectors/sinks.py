"""Complex events of a pipeline to its sinks: once, or batch by batch.

Law: a batch that is run again leaves in a sink of files what it left before: one sink is written by Spark's own file
sink, several get a folder per batch, which is written whole. Tables and Kafka beside other sinks may get rows twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from etalis.pipeline.spec import FILES, SinkPart
from etalis.spark.plan.shards import quoted
from etalis.spark.spark_versions import check_sources
from etalis.tables.plan import Form
from etalis.tables.results.output import EVENT, Output
from etalis.tables.schema import refuse

_MODES = {"error": "errorifexists", "append": "append", "overwrite": "overwrite"}
_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Target:
    """A sink, and the columns it takes of the results: (column, its name in the sink); empty for all of them.

    Columns that are not among `known` say whether results are taken back, and go to all sinks.
    """

    sink: SinkPart
    event: str | None = None
    columns: tuple[tuple[str, str], ...] = ()
    known: frozenset[str] = frozenset()

    def take(self, df: Any) -> Any:
        """Return the rows and columns of the results that go to this sink."""
        from pyspark.sql import functions as f

        if self.event is not None:
            df = df.where(f.col(EVENT) == self.event)
        if not self.columns:
            return df
        others = [(name, name) for name in df.columns if name not in self.known]
        return df.select(*(f.col(quoted(column)).alias(name) for column, name in (*self.columns, *others)))


def common_form(sinks: Sequence[SinkPart]) -> Form:
    """Return the form in which results are detected so that all sinks can take theirs."""
    if sinks[0].envelope:
        return Form(envelope=True)
    return Form(select=sinks[0].event) if len(sinks) == 1 else Form()


def plan_target(sink: SinkPart, results: Output, alone: Output | None) -> Target:
    """Say what a sink takes of the results; `alone` is how its event would be detected alone."""
    if sink.event is None or alone is None:
        return Target(sink, sink.event.split("/")[0] if sink.event else None)
    ((kind, fields),) = alone.kinds
    if sum(name == kind[0] for (name, _), _ in results.kinds) > 1:
        hint = "rename one of them, or give the sink a pipeline of its own"
        raise refuse("E705", f"{sink.event} has a sink of its own, but there are two events of that name", hint)
    shared = {own.column: column.column for own, column in zip(fields, dict(results.kinds)[kind], strict=True)}
    columns = tuple((shared.get(name, name), name) for name, _ in alone.columns)
    return Target(sink, kind[0], columns, frozenset(name for name, _ in results.columns))


def write_batch(df: Any, sink: SinkPart, *, kafka_jar: bool) -> None:
    """Write all results to a sink, once."""
    if sink.format == "console":
        options = sink.options
        df.show(int(options.get("numRows", _SHOWN)), truncate=options.get("truncate", "false") == "true")
    elif sink.format == "kafka":
        writer = _to_kafka(df).write.format(_kafka_format(df, kafka_jar)).options(**_kafka_options(sink, kafka_jar))
        writer.mode("append").save()
    else:
        writer = df.write.format("parquet" if sink.format == "table" else sink.format)
        writer = writer.options(**_file_options(sink)).mode(_MODES[sink.mode])
        if sink.format == "table":
            writer.saveAsTable(sink.table)
        else:
            writer.save(sink.path)


def write_part(df: Any, sink: SinkPart, batch: int, *, kafka_jar: bool) -> None:
    """Write the results of one of many batches to one of several sinks."""
    if sink.format in FILES:
        writer = df.write.format(sink.format).options(**_file_options(sink)).mode("overwrite")
        writer.save(f"{str(sink.path).rstrip('/')}/batch={batch}")
    elif sink.format == "table":
        df.write.options(**sink.options).mode("append").saveAsTable(sink.table)
    else:
        write_batch(df, sink, kafka_jar=kafka_jar)


def open_stream(df: Any, sink: SinkPart, *, kafka_jar: bool) -> Any:
    """Return the writer of a stream to its only sink."""
    if sink.format == "kafka":
        writer = _to_kafka(df).writeStream.format(_kafka_format(df, kafka_jar))
        return writer.options(**_kafka_options(sink, kafka_jar))
    if sink.format == "console":
        return df.writeStream.format("console").options(**{"truncate": "false", **sink.options})
    if sink.format == "table":
        return df.writeStream.options(**sink.options)
    return df.writeStream.format(sink.format).options(**_file_options(sink)).option("path", sink.path)


def _file_options(sink: SinkPart) -> Mapping[str, str]:
    return {**({"header": "true"} if sink.format == "csv" else {}), **sink.options}


def _to_kafka(df: Any) -> Any:
    """Return rows as messages: JSON objects."""
    from pyspark.sql import functions as f

    return df.select(f.to_json(f.struct("*")).alias("value"))


def _kafka_format(df: Any, jar: bool) -> str:
    if jar:
        return "kafka"
    check_sources("Kafka without the connector")
    from etalis.pipeline.connectors.kafka import FORMAT, KafkaSource

    df.sparkSession.dataSource.register(KafkaSource)
    return FORMAT


def _kafka_options(sink: SinkPart, jar: bool) -> Mapping[str, str]:
    servers = "kafka.bootstrap.servers" if jar else "servers"
    return {servers: str(sink.servers), "topic": str(sink.topic), **sink.options}
