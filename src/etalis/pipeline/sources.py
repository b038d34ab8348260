"""Sources of a pipeline to DataFrames of events: read, taken apart, filtered, their columns given their parts."""

from __future__ import annotations

from functools import reduce
from typing import Any

from etalis.errors import InputError, Problem
from etalis.formats.roles import events_received
from etalis.pipeline.arrangement import Arranger
from etalis.pipeline.check import Checked
from etalis.pipeline.connectors import CONNECTORS
from etalis.pipeline.parts import Pipeline, SourcePart
from etalis.spark.plan.shards import quoted


def load_events(spark: Any, checked: Checked) -> dict[str | None, Any]:
    """Return one DataFrame per event, those of one event united; None stands for rows that name their event."""
    pipeline, problems = checked.pipeline, list[Problem]()
    arranger = Arranger(pipeline, events_received(checked.program))
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
    """Return the rows of a source; of texts that a schema says are JSON objects, the columns of these."""
    connector = CONNECTORS[source.format]
    assert connector.read is not None, "formats of sources are those that read"
    df = connector.read(spark, source, pipeline)
    if not connector.is_text or source.schema is None:
        return df
    from pyspark.sql import functions as f

    others = [name for name in df.columns if name != "value"]
    opened = df.select(f.from_json("value", source.schema).alias("_object"), *others)
    return opened.select("_object.*", *others)
