"""One micro-batch of one shard of one stage: rows, marks and what earlier stages derived in, what they settle out.

When the watermark has passed their end, rows are taken in the order of definition 6.1, as a batch does, so that
it never matters in which micro-batch a row came. Law: after every batch the shard has reported what one engine reports
on all rows that were taken, up to the watermark; after the last one, which ends the stream, all that it owes. Every
stage has marks of its own, straight from the sources, so all stages have the same watermark, and what an earlier stage
derives in a batch comes to the later one together with the rows of its moment.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import pyarrow as pa

from etalis.data.values import order_key
from etalis.errors import EventError, InputError, Problem
from etalis.language.attributes import convert
from etalis.logic.knowledge.arrow_columns import to_list
from etalis.runtime.lateness.watermark import Stamp
from etalis.spark.batch.input_names import InputNames
from etalis.spark.batch.job import Job
from etalis.spark.batch.row_runner import RowRunner
from etalis.spark.batch.stage_schema import StageSorter, split_derived, split_passing
from etalis.spark.execution_mode import ShardRunner, resume_runner
from etalis.spark.stream.admission import Admitted, Shard, Stream, admit, hold
from etalis.spark.stream.dead_letters import Letters
from etalis.tables.results.output import encode
from etalis.tables.sorting import END, ORDER, START, TAG
from etalis.temporal.attribute_names import distinct
from etalis.temporal.event import Event, Retraction
from etalis.temporal.interval import EARLIEST, MICROSECONDS, to_seconds
from etalis.temporal.time_columns import to_micros


def run_batch(shard: Shard, stream: Stream, batches: Iterable[Any], letters: list[Letters]) -> Iterator[Any]:
    """Take what came to a shard in one micro-batch; yield what is settled or, on arrival, what changes."""
    job = stream.job
    parts: list[Any] = []
    for batch in batches:
        through, rows = split_passing(batch, job)
        yield from through
        parts.append(rows)
    if not parts:
        return
    received, derived = split_derived(pa.Table.from_batches(parts))
    admitted = admit(shard, stream, received, letters)
    if shard.ended:
        return
    if stream.arrives:
        yield from write_results(job, None, _take_arriving(shard, stream, admitted))
    else:
        settled = hold(shard, stream, admitted)
        sorter = StageSorter(job)
        for part in _united(settled, derived).to_batches():
            sorter.add(part)
        write = partial(write_results, job)
        runner = resume_runner(job, shard.engine, settled.num_rows, parts[0].schema, write)
        yield from runner.take(sorter.stretches())
        yield from _pass_time(runner, admitted)
    shard.ended = admitted.ends


def _united(settled: Any, derived: Any) -> Any:
    """Return received rows and what earlier stages derived as one table."""
    if not derived.num_rows:
        return settled
    return pa.concat_tables([settled, derived], promote_options="default").combine_chunks()


def _pass_time(runner: ShardRunner, admitted: Admitted) -> Iterable[Any]:
    """Let time reach the watermark, or the end of the stream."""
    if admitted.ends:
        return runner.close()
    if admitted.reached < EARLIEST:  # nothing yet, or the lateness reaches back behind all times
        return ()
    return runner.advance(admitted.reached)


def op_column(job: Job) -> list[str]:
    """Return the name of the column that says, where reported matches may be retracted, what is done."""
    return distinct(("op",), {name.casefold() for name, _ in job.output.columns}) if job.settings.corrects else []


def write_results(job: Job, names: InputNames | None, events: Sequence[Event]) -> Iterator[Any]:
    """Yield events as rows; where they may be retracted, as rows that say whether they are.

    `names` are what inputs are called, where contributors are told.
    """
    if not job.settings.corrects:
        yield from [encode(events, job.output, names)] if events else []
        return
    alike: dict[tuple[int, int], list[Event]] = {}
    kinds = dict(job.output.kinds)
    for event in events:
        if (event.kind.name, event.kind.arity) in kinds:
            alike.setdefault((event.sign, id(event.kind)), []).append(event)
    for (sign, _), several in alike.items():
        rows = encode(several, job.output)
        signs = pa.repeat(pa.scalar("+" if sign > 0 else "-"), len(several))
        yield pa.RecordBatch.from_arrays([*rows.columns, signs], names=[*rows.schema.names, *op_column(job)])


def _placed(error: EventError, place: str) -> InputError:
    first = error.problems[0]
    return InputError(Problem(first.code, f"{place}: {first.message}", hint=first.hint))


def _take_arriving(shard: Shard, stream: Stream, admitted: Admitted) -> list[Event]:
    """Take rows at once; return what the batch as a whole changes."""
    engine = shard.engine
    changes = [*engine.run(_ranked(shard, stream.job, admitted.rows))]
    changes += _pass_time(RowRunner(stream.job, engine, list), admitted)
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
