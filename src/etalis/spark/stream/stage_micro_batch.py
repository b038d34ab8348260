"""One micro-batch of one shard of one stage: rows, marks and what earlier stages derived in, what goes on out.

Every stage has marks of its own, straight from the sources, so all stages have the same watermark. What an earlier
stage derives in a batch is settled in that batch: it comes to the later stage together with the rows of its moment.
Law: as `stage`, up to the watermark.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from etalis.runtime.stage_engine import Relay
from etalis.runtime.state import BEGINNING
from etalis.spark.batch import stage_schema as wire
from etalis.spark.batch.shard import BATCH
from etalis.spark.batch.stage import Relayed, Steps, Writer, in_microseconds
from etalis.spark.batch.stage_schema import STEP
from etalis.spark.stream.admission import Shard, Stream, admit, hold
from etalis.spark.stream.dead_letters import Letters
from etalis.tables.sorting import END, ORDER, START, TAG, Sorter


def run_stage_batch(
    shard: Shard, stream: Stream, stage: Relayed, batches: Iterable[Any], letters: list[Letters]
) -> Iterator[Any]:
    """Take what came to one shard of one stage in a micro-batch, and yield results and what goes on."""
    parts: list[Any] = []
    for batch in batches:
        through, rows = wire.split(batch, stage.passing, {forward.tag for forward in stage.incoming})
        if through is not None:
            yield wire.carried(through, stage.job.output) if stage.is_last else through
        parts.append(rows)
    if not parts:
        return
    schema = wire.schema_of(parts[0].schema, stage.job.output)
    received, derived = _divide(pa.Table.from_batches(parts))
    admitted = admit(shard, stream, received, letters)
    if shard.ended:
        return
    sorter = Sorter("us", stage.job.memory)
    for part in (_widened(hold(shard, stream, admitted), parts[0].schema), derived):
        for batch in part.combine_chunks().to_batches():
            for timed in in_microseconds(batch, stage.job.unit):
                sorter.add(timed)
    relay, writer = Relay(shard.engine), Writer(stage, schema)
    for step in Steps(stage, shard.engine.core.program).of(sorter.stretches()):
        writer.add(relay.take(step))
        if len(writer) >= BATCH:
            yield from writer.batches()
    if admitted.ends:
        writer.add(relay.close())
        shard.ended = True
    elif admitted.reached > BEGINNING:
        writer.add(relay.advance(admitted.reached))
    yield from writer.batches()


def _divide(table: Any) -> tuple[Any, Any]:
    """Return the received rows, without the columns of others, and what earlier stages derived."""
    names = [name for name in table.column_names if name in (TAG, START, END, ORDER) or name[0] == "s"]
    if STEP not in table.column_names:
        return table.select(names), table.slice(0, 0)
    is_derived = pc.is_valid(table[STEP])
    return table.filter(pc.invert(is_derived)).select(names), table.filter(is_derived)


def _widened(rows: Any, schema: Any) -> Any:
    """Return received rows with the columns of others, empty."""
    columns = [rows[f.name] if f.name in rows.column_names else pa.nulls(rows.num_rows, f.type) for f in schema]
    return pa.table(columns, names=schema.names)
