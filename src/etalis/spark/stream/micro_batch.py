"""One micro-batch of one shard: rows and marks in, what they settle out.

When the watermark has passed their end, rows are taken in the order of definition 6.1, as a batch does, so that
it never matters in which micro-batch a row came. Law: after every batch the shard has reported what one engine reports
on all rows that were taken, up to the watermark; after the last one, which ends the stream, all that it owes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from etalis.data.values import order_key
from etalis.errors import EventError, InputError, Problem
from etalis.language.attributes import convert
from etalis.logic.knowledge.arrow_columns import to_list
from etalis.runtime.engine import RuntimeEngine
from etalis.runtime.lateness.watermark import Stamp
from etalis.spark.batch.shard import Job, run_rows
from etalis.spark.execution_mode import stream_columns
from etalis.spark.stream.admission import Admitted, Shard, Stream, admit, hold
from etalis.spark.stream.dead_letters import Letters
from etalis.tables.sorting import END, ORDER, START, TAG, sort_rows
from etalis.temporal.event import Event, Retraction
from etalis.temporal.interval import EARLIEST, LATEST, MICROSECONDS, to_seconds
from etalis.temporal.time_columns import to_micros

if TYPE_CHECKING:
    from etalis.columnar.run import ColumnRun

Write: TypeAlias = Callable[[Sequence[Event]], Iterable[Any]]  # events as rows of the results


def run_batch(
    shard: Shard, stream: Stream, batches: Iterable[Any], letters: list[Letters], write: Write
) -> Iterator[Any]:
    """Take the rows of one micro-batch, and yield as rows what is settled or, on arrival, what changes."""
    parts = [batch for batch in batches if batch.num_rows]
    if not parts:
        return
    admitted = admit(shard, stream, pa.Table.from_batches(parts), letters)
    if shard.ended:
        return
    pass_time = partial(_pass_time, admitted)
    if stream.arrives:
        yield from write(_take_arriving(shard, stream, admitted))
    else:
        settled = hold(shard, stream, admitted).to_batches()
        run = stream_columns(stream.job, shard.engine, sum(part.num_rows for part in settled))
        if run is None:
            for events in run_rows(shard.engine, stream.job, settled, pass_time):
                yield from write(events)
        else:
            yield from _take_columns(run, stream.job, settled)
            yield from write(list(pass_time(shard.engine)))
    shard.ended = admitted.ends


def _take_columns(run: ColumnRun, job: Job, settled: Iterable[Any]) -> Iterator[Any]:
    """Take rows over columns, from where the engine stands, and let it go on from there."""
    from etalis.spark.batch.columns import ColumnShard

    taken = ColumnShard(job, run)
    for stretch in sort_rows(settled, job.unit, job.memory):
        yield from taken.take(stretch)
    run.save()


def _pass_time(admitted: Admitted, engine: RuntimeEngine) -> Iterable[Event]:
    """Let time reach the watermark, or the end of the stream."""
    if admitted.ends:
        return engine.close()
    if admitted.reached < EARLIEST:  # nothing yet, or the lateness reaches back behind all times
        return ()
    return engine.advance(to=Fraction(min(admitted.reached, LATEST), MICROSECONDS))


def _placed(error: EventError, place: str) -> InputError:
    first = error.problems[0]
    return InputError(Problem(first.code, f"{place}: {first.message}", hint=first.hint))


def _take_arriving(shard: Shard, stream: Stream, admitted: Admitted) -> list[Event]:
    """Take rows at once; return what the batch as a whole changes."""
    engine = shard.engine
    changes = [*engine.run(_ranked(shard, stream.job, admitted.rows))]
    changes += _pass_time(admitted, engine)
    return list(net_changes(changes))


def _ranked(shard: Shard, job: Job, table: Any) -> Iterator[tuple[Any, ...]]:
    """Yield rows in order, each with its rank among all rows of its time, in whatever batch these come."""
    unit, known = job.unit, {rows.tag: rows for rows in job.rows}
    start = to_micros(table[START], unit).tolist()
    end = to_micros(table[END], unit).tolist() if END in table.column_names else start
    order = table[ORDER].to_pylist() if ORDER in table.column_names else [None] * table.num_rows
    cells = {int(name[1:]): to_list(table[name]) for name in table.column_names if name[0] == "s"}
    signatures = shard.engine.core.program.signatures
    found = []
    for row, tag in enumerate(table[TAG].to_pylist()):
        name = known[tag].name
        try:
            values = convert(name, signatures.get(name, ()), tuple([cells[i][row] for i in known[tag].slots]))
        except EventError as error:
            raise _placed(error, f"{tag} at {to_seconds(end[row])} s") from error
        atom = (len(values), name, tuple(map(order_key, values)))
        found.append((end[row], start[row], (order[row] is None, order[row], *atom), name, values))
    found.sort(key=lambda item: item[:3])
    first = shard.counts["rows"] - len(found)
    for number, (last, begin, rank, name, values) in enumerate(found, first):
        at = (Fraction(begin, MICROSECONDS), Fraction(last, MICROSECONDS))
        yield (name, *values, Stamp(at, rank=(*rank, number)))


def net_changes(changes: Sequence[Event]) -> Iterator[Event]:
    """Yield what a sequence of changes comes to: the last word on each event, if it differs from the first.

    An event is reported and taken back in turns, so the first change tells how it stood before.
    """
    first: dict[Event, int] = {}
    last: dict[Event, Event] = {}
    for change in changes:
        event = change.reported if isinstance(change, Retraction) else change
        first.setdefault(event, change.sign)
        last.pop(event, None)
        last[event] = change
    yield from (change for event, change in last.items() if change.sign == first[event])
