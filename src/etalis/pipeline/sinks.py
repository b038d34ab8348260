"""Complex events of a pipeline to its sinks: once, or batch by batch.

Law: a batch that is run again leaves in a sink of files what it left before. Tables and Kafka beside other sinks may
get rows twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from etalis.pipeline.connectors import CONNECTORS
from etalis.pipeline.parts import Pipeline, SinkPart
from etalis.spark.plan.shards import quoted
from etalis.tables.plan import ResultForm
from etalis.tables.results.output import EVENT, Output
from etalis.tables.schema import refuse


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


def effects_folder(pipeline: Pipeline) -> str | None:
    """Return the folder for the effects of reactions, where a sink reads them."""
    taken = (sink.keys.get("path") for sink in pipeline.sinks if CONNECTORS[sink.format].takes_effects)
    return next(taken, None)


def common_form(sinks: Sequence[SinkPart]) -> ResultForm:
    """Return the form in which results are detected so that all sinks can take theirs."""
    if any(sink.envelope for sink in sinks):
        return ResultForm(envelope=True)
    return ResultForm(select=sinks[0].event) if len(sinks) == 1 else ResultForm()


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


def write_once(df: Any, target: Target, pipeline: Pipeline) -> None:
    """Write all results to a sink."""
    connector = CONNECTORS[target.sink.format]
    assert connector.write is not None, "formats of sinks are those that write"
    connector.write(target.take(df), target.sink, pipeline)


def write_part(df: Any, target: Target, pipeline: Pipeline, batch: int) -> None:
    """Write the results of one of many batches to one of several sinks."""
    write = CONNECTORS[target.sink.format].write_part
    if write is None:
        write_once(df, target, pipeline)
    else:
        write(target.take(df), target.sink, pipeline, batch)


def open_stream(df: Any, target: Target, pipeline: Pipeline) -> Any:
    """Return the writer of a stream to its only sink."""
    connector = CONNECTORS[target.sink.format]
    assert connector.open_stream is not None, "what takes no streams is refused by the check"
    return connector.open_stream(target.take(df), target.sink, pipeline)
