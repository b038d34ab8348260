"""Topics of Kafka: by Spark's connector where its jar is given, else by a client in Python (`kafka_source`).

Rows are messages: JSON objects. Beside other sinks a topic may get rows twice.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from etalis.pipeline.connectors.connector import Columns, Connector, reader_of, text_columns
from etalis.pipeline.values import TEXT
from etalis.spark.spark_versions import check_sources

if TYPE_CHECKING:
    from etalis.pipeline.parts import Pipeline, SinkPart, SourcePart

KAFKA_COLUMNS: Columns = {"_key": "string", "_partition": "int", "_offset": "bigint", "_timestamp": "timestamp"}
_JAR = "spark-sql-kafka"


def _read(spark: Any, source: SourcePart, pipeline: Pipeline) -> Any:
    from pyspark.sql import functions as f

    reader = reader_of(spark, pipeline)
    if not _has_jar(pipeline):
        return reader.format(_register(spark)).options(**{**source.keys, **source.options}).load()
    given = {"kafka.bootstrap.servers": source.keys["servers"], "subscribe": source.keys["topic"]}
    rows = reader.format("kafka").options(**{**given, "startingOffsets": "earliest", **source.options}).load()
    kept = [f.col(name.removeprefix("_")).cast(kind).alias(name) for name, kind in KAFKA_COLUMNS.items()]
    return rows.select(f.col("value").cast("string").alias("value"), *kept)


def _write(df: Any, sink: SinkPart, pipeline: Pipeline) -> None:
    _options(_messages(df).write, df, sink, pipeline).mode("append").save()


def _open_stream(df: Any, sink: SinkPart, pipeline: Pipeline) -> Any:
    return _options(_messages(df).writeStream, df, sink, pipeline)


def _messages(df: Any) -> Any:
    from pyspark.sql import functions as f

    return df.select(f.to_json(f.struct("*")).alias("value"))


def _options(writer: Any, df: Any, sink: SinkPart, pipeline: Pipeline) -> Any:
    if not _has_jar(pipeline):
        return writer.format(_register(df.sparkSession)).options(**{**sink.keys, **sink.options})
    given = {"kafka.bootstrap.servers": sink.keys["servers"], "topic": sink.keys["topic"]}
    return writer.format("kafka").options(**{**given, **sink.options})


def _register(spark: Any) -> str:
    """Tell Spark of the source in Python; return its name."""
    check_sources("Kafka without the connector")
    from etalis.pipeline.connectors.kafka_source import FORMAT, KafkaSource

    spark.dataSource.register(KafkaSource)
    return FORMAT


def _has_jar(pipeline: Pipeline) -> bool:
    """Tell whether Spark is given its connector for Kafka."""
    named = [*pipeline.spark.jars, pipeline.spark.options.get("spark.jars.packages", "")]
    return any(_JAR in jar for jar in named)


def _needs(pipeline: Pipeline) -> tuple[str, str] | None:
    if _has_jar(pipeline) or find_spec("confluent_kafka") is not None:
        return None
    hint = "pip install 'etalis[kafka]', or name Spark's connector under jars in [spark]"
    return "Kafka needs a client, and none is installed", hint


KAFKA = Connector(
    name="kafka", keys={"servers": TEXT, "topic": TEXT}, read=_read, is_text=True, write=_write,
    columns=lambda source: text_columns(source) | KAFKA_COLUMNS, open_stream=_open_stream, needs=_needs,
)  # fmt: skip
