"""Sources of a pipeline to DataFrames of events: read, taken apart, filtered, their columns given their parts."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Any

from etalis.errors import InputError, Problem
from etalis.formats.roles import events_received
from etalis.pipeline.check import Checked, has_intervals, has_kafka_jar
from etalis.pipeline.source_columns import KAFKA_COLUMNS, PAYLOAD, Arranger
from etalis.pipeline.spec import FILES, Pipeline, SourcePart
from etalis.spark.plan.shards import quoted
from etalis.spark.spark_versions import check_sources

_CONNECTOR = "kafka"
_SELECTED = {"_key": "key", "_partition": "partition", "_offset": "offset", "_timestamp": "timestamp"}


def load_events(spark: Any, checked: Checked) -> dict[str | None, Any]:
    """Return one DataFrame per event, those of one event united; None stands for rows that name their event."""
    pipeline, problems = checked.pipeline, list[Problem]()
    received = events_received(checked.program)
    arranger = Arranger(pipeline, received, has_intervals(pipeline))
    frames: dict[str | None, list[Any]] = {}
    for i, source in enumerate(pipeline.sources):
        df = _load(spark, pipeline, i, source, problems)
        arrangement = None if df is None else arranger.arrange(i, dict(df.dtypes), problems)
        if df is not None and arrangement is not None:
            frames.setdefault(arrangement.event, []).append(_rename(df, arrangement.names))
    if problems:
        raise InputError(*problems)
    return {event: reduce(_unite, several) for event, several in frames.items()}


def _unite(a: Any, b: Any) -> Any:
    return a.unionByName(b, allowMissingColumns=True)


def _rename(df: Any, names: tuple[tuple[str, str], ...]) -> Any:
    from pyspark.sql import functions as f

    return df.select(*(f.col(quoted(old)).alias(new) for old, new in names))


def _load(spark: Any, pipeline: Pipeline, number: int, source: SourcePart, problems: list[Problem]) -> Any:
    """Return the rows of a source; what Spark refuses is noted at its place."""
    from pyspark.errors import PySparkException

    try:
        df = read_source(spark, pipeline, source)
        if source.where is not None:
            df = df.where(source.where)
        if source.select:
            df = df.selectExpr(*source.select)
        dict(df.dtypes)  # what cannot be resolved is found here
        return df
    except PySparkException as error:
        message = f"Spark cannot read this source: {first_line(error)}"
        problems.append(pipeline.problem("E709", message, ("source", number)))
        return None


def first_line(error: Exception) -> str:
    """Return what an error of Spark says, without the trace behind it."""
    told = [line.strip() for line in str(error).splitlines() if line.strip()]
    return told[0] if told else type(error).__name__


def read_source(spark: Any, pipeline: Pipeline, source: SourcePart) -> Any:
    """Return the rows of a source as they come."""
    reader = spark.readStream if pipeline.run.is_stream else spark.read
    if source.format == "table":
        return reader.options(**source.options).table(source.table)
    if source.format in FILES:
        return take_apart(_file_reader(spark, reader, source, pipeline.run.is_stream).load(source.path), source)
    if source.format == "kafka":
        return take_apart(_read_kafka(spark, reader, source, has_kafka_jar(pipeline)), source)
    given = {"host": source.host, "port": source.port}
    placed = {name: value for name, value in given.items() if value is not None}
    return take_apart(reader.format(source.format).options(**placed, **source.options).load(), source)


def _file_reader(spark: Any, reader: Any, source: SourcePart, is_stream: bool) -> Any:
    usual: Mapping[str, str] = {}
    if source.format == "csv":
        usual = {"header": "true", **({} if source.schema else {"inferSchema": "true"})}
    reader = reader.format(source.format).options(**{**usual, **source.options})
    if source.schema is not None and source.format != "text":
        return reader.schema(source.schema)
    if is_stream and source.format == "parquet":
        return reader.schema(spark.read.parquet(source.path).schema)
    return reader


def _read_kafka(spark: Any, reader: Any, source: SourcePart, by_connector: bool) -> Any:
    from pyspark.sql import functions as f

    if not by_connector:
        check_sources("Kafka without the connector")
        from etalis.pipeline.connectors.kafka import FORMAT, KafkaSource

        spark.dataSource.register(KafkaSource)
        given = {"servers": source.servers, "topic": source.topic}
        return reader.format(FORMAT).options(**given, **source.options).load()
    given = {"kafka.bootstrap.servers": source.servers, "subscribe": source.topic, "startingOffsets": "earliest"}
    rows = reader.format(_CONNECTOR).options(**{**given, **source.options}).load()
    kept = [f.col(_SELECTED[name]).cast(kind).alias(name) for name, kind in KAFKA_COLUMNS.items()]
    return rows.select(f.col("value").cast("string").alias("value"), *kept)


def take_apart(df: Any, source: SourcePart) -> Any:
    """Make columns of the texts of a source, where a schema says that they are JSON objects."""
    from pyspark.sql import functions as f

    if source.format not in PAYLOAD or source.schema is None:
        return df
    others = [name for name in df.columns if name != "value"]
    opened = df.select(f.from_json("value", source.schema).alias("_object"), *others)
    return opened.select("_object.*", *others)
