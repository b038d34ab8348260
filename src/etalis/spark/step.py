"""One micro-batch of one shard: rows and marks in, what they settle out.

Rows wait as Arrow rows, not as events, until the watermark passes their end; then they are taken in the order of
language.md section 2, as a batch does, so that it never matters in which micro-batch a row came. A mark says how far a
source has come. Law: after every batch the shard has reported what one engine reports on all rows that were not late,
up to the watermark.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from etalis.errors import EventError, InputError, Problem
from etalis.language.attributes import convert
from etalis.logic.columns import to_list
from etalis.logic.term import order_key
from etalis.runtime.engine import Engine
from etalis.runtime.order import Stamp, Watermark
from etalis.runtime.state import BEGINNING
from etalis.spark.held import Layouts, fit_rows
from etalis.spark.shard import Job, run_rows
from etalis.spark.stage import Relayed
from etalis.spark.way import stream_columns
from etalis.tables.sorting import END, NO_EVENT, ORDER, START, TAG, sort_rows
from etalis.temporal.columns import to_micros
from etalis.temporal.event import Event, Retraction
from etalis.temporal.interval import MICROSECONDS, to_seconds

if TYPE_CHECKING:
    from etalis.columnar.run import ColumnRun

Write: TypeAlias = Callable[[Sequence[Event]], Iterable[Any]]  # events as rows of the results

_EARLIEST = int(np.iinfo(np.int64).min)
CLOCK = "clock"  # the mark of a stream that only tells the time
VERSION = f"{NO_EVENT}facts:"  # what the tag of a row begins with that tells a version of facts


@dataclass(frozen=True, slots=True)
class Stream:
    """What a shard of a stream needs to know beside its job: sources, and in microseconds how late and how idle.

    `layouts` says which columns rows of each tag came from, so that rows that wait fit a changed program. With `stage`
    it is one stage of several; `told` are the tags of rows that it counts, and tells if they come too late: the first
    stage to read a row does; None for all.
    """

    job: Job
    layouts: Layouts
    sources: int
    lateness: int
    idle: int | None
    arrives: bool
    told: frozenset[str] | None = None
    stage: Relayed | None = None


@dataclass(slots=True)
class Shard:
    """What one shard knows between batches; `began` is the first moment that any source told."""

    engine: Engine
    watermark: Watermark
    began: int | None = None
    held: Any = None  # rows that are not settled, None before the first ones
    layouts: Layouts = ()
    counts: dict[str, int] = field(default_factory=lambda: {"rows": 0, "late": 0, "made": 0})
    facts: str | None = None  # the version that it sees, where facts are refreshed

    def follow(self, marks: Mapping[str, int], stream: Stream) -> int:
        """Note how far the sources have come; return the watermark."""
        mark = self.watermark
        told = {source: marks[str(source)] for source in range(stream.sources) if str(source) in marks}
        clock = marks.get(CLOCK)
        if clock is not None:  # it speaks for all
            told = {source: max(clock, told.get(source, clock)) for source in range(stream.sources)}
        if told and self.began is None:
            self.began = min(told.values())
        mark.idle -= told.keys()
        for number, end in told.items():
            mark.see(number, end)
        if stream.idle is not None and self.began is not None:
            newest = max(mark.latest.values())
            quiet = [s for s, end in mark.latest.items() if newest - max(end, self.began) > stream.idle]
            for source in quiet:
                mark.rest(source)
        return mark.reached


@dataclass(frozen=True, slots=True)
class Letters:
    """Rows that cannot be taken, and why."""

    rows: Any
    reasons: Sequence[str]


def run_batch(
    shard: Shard, stream: Stream, batches: Iterable[Any], letters: list[Letters], write: Write
) -> Iterator[Any]:
    """Take the rows of one micro-batch, and yield as rows what is settled or, on arrival, what changes."""
    parts = [batch for batch in batches if batch.num_rows]
    if not parts:
        return
    rows, end, reached = admit(shard, stream, pa.Table.from_batches(parts), letters)
    if stream.arrives:
        yield from write(_take_arriving(shard, stream, rows, reached))
        return
    settled = hold(shard, stream, rows, end, reached).to_batches()
    run = stream_columns(stream.job, shard.engine, sum(part.num_rows for part in settled))
    if run is None:
        for events in run_rows(shard.engine, stream.job, settled, partial(_advance, reached)):
            yield from write(events)
        return
    yield from _take_columns(run, stream.job, settled)
    yield from write(list(_advance(reached, shard.engine)))


def _take_columns(run: ColumnRun, job: Job, settled: Iterable[Any]) -> Iterator[Any]:
    """Take rows over columns, from where the engine stands, and let it go on from there."""
    from etalis.spark.columns import ColumnShard

    taken = ColumnShard(job, run)
    for stretch in sort_rows(settled, job.unit, job.memory):
        yield from taken.take(stretch)
    run.save()


def admit(shard: Shard, stream: Stream, table: Any, letters: list[Letters]) -> tuple[Any, Any, int]:
    """Let marks move the watermark and put aside what comes too late; return the other rows, their ends, and it."""
    table = pa.table(table.columns, names=table.column_names)  # columns of Spark say whether they may be null
    rows, marks = split_marks(table, stream.job.unit)
    before = shard.watermark.reached
    reached = shard.follow(marks, stream)
    rows, end = _refuse_rows(rows, stream, before, letters)
    shard.counts["rows"] += rows.num_rows if stream.told is None else _count(rows[TAG], stream.told)
    shard.counts["late"] += sum(len(each.reasons) for each in letters)
    return rows, end, reached


def _count(tags: Any, told: frozenset[str]) -> int:
    """Return how many rows are counted here, and not by an earlier stage."""
    return int(pc.sum(pc.is_in(tags, pa.array(sorted(told), pa.string()))).as_py() or 0)


def split_marks(table: Any, unit: str) -> tuple[Any, dict[str, int]]:
    """Return the rows that are events, and how far each source has come."""
    is_mark = pc.fill_null(pc.starts_with(table[TAG], NO_EVENT), False)
    if not pc.any(is_mark).as_py():
        return table, {}
    found = table.filter(is_mark)
    times = to_micros(found[START], unit).tolist()
    marks: dict[str, int] = {}
    for tag, time in zip(found[TAG].to_pylist(), times, strict=True):
        source = tag[len(NO_EVENT) :]
        marks[source] = max(time, marks.get(source, time))
    return table.filter(pc.invert(is_mark)), marks


def _refuse_rows(rows: Any, stream: Stream, before: int, letters: list[Letters]) -> tuple[Any, Any]:
    """Put aside rows without event or time and those that come too late; return the others and their ends."""
    last = END if END in rows.column_names else START
    known = pc.and_(pc.is_valid(rows[TAG]), pc.and_(_is_time(rows[START]), _is_time(rows[last])))
    if not pc.all(known).as_py():
        unknown = rows.filter(pc.invert(known))
        reasons = ["it names no event" if tag is None else "it has no time" for tag in unknown[TAG].to_pylist()]
        _tell(Letters(unknown, reasons), stream, letters)
        rows = rows.filter(known)
    end = to_micros(rows[last], stream.job.unit)
    late = end <= max(before, _EARLIEST)
    if late.any():
        settled = f"but the stream is settled up to {to_seconds(before)}"
        reasons = [f"it ends at {to_seconds(time)}, {settled}" for time in end[late].tolist()]
        _tell(Letters(rows.filter(pa.array(late)), reasons), stream, letters)
        rows, end = rows.filter(pa.array(~late)), end[~late]
    return rows, end


def _tell(found: Letters, stream: Stream, letters: list[Letters]) -> None:
    """Add rows to the dead letters, but for those that another stage tells."""
    told = [tag is None or stream.told is None or tag in stream.told for tag in found.rows[TAG].to_pylist()]
    if any(told):
        reasons = [reason for reason, mine in zip(found.reasons, told, strict=True) if mine]
        letters.append(Letters(found.rows.filter(pa.array(told)), reasons))


def _is_time(column: Any) -> Any:
    return pc.fill_null(pc.is_finite(column), False) if pa.types.is_floating(column.type) else pc.is_valid(column)


def hold(shard: Shard, stream: Stream, rows: Any, end: Any, reached: int) -> Any:
    """Hold rows until the watermark passes them; return those that it has passed."""
    if shard.held is not None and shard.held.num_rows:
        held = fit_rows(shard.held, shard.layouts, rows.schema, stream.layouts)
        last = END if END in rows.column_names else START
        end = np.concatenate([to_micros(held[last], stream.job.unit), end])
        rows = pa.concat_tables([held, rows])
    settled = end <= max(reached, _EARLIEST)
    shard.held, shard.layouts = rows.filter(pa.array(~settled)).combine_chunks(), stream.layouts
    return rows if settled.all() else rows.filter(pa.array(settled))


def _advance(reached: int, engine: Engine) -> Iterable[Event]:
    """Let time reach the watermark."""
    return () if reached == BEGINNING else engine.advance(to=Fraction(reached, MICROSECONDS))


def _placed(error: EventError, place: str) -> InputError:
    first = error.problems[0]
    return InputError(Problem(first.code, f"{place}: {first.message}", hint=first.hint))


def _take_arriving(shard: Shard, stream: Stream, rows: Any, reached: int) -> list[Event]:
    """Take rows at once; return what the batch as a whole changes."""
    engine = shard.engine
    changes = [*engine.run(_ranked(shard, stream.job, rows))]
    changes += _advance(reached, engine)
    return list(net_changes(changes))


def _ranked(shard: Shard, job: Job, table: Any) -> Iterator[tuple[Any, ...]]:
    """Yield rows in order, each with its rank among all rows of its time, in whatever batch these come."""
    unit, known = job.unit, {rows.tag: rows for rows in job.rows}
    start = to_micros(table[START], unit).tolist()
    end = to_micros(table[END], unit).tolist() if END in table.column_names else start
    order = table[ORDER].to_pylist() if ORDER in table.column_names else [None] * table.num_rows
    cells = {int(name[1:]): to_list(table[name]) for name in table.column_names if name[0] == "s"}
    signatures = shard.engine.program.signatures
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


def describe_letters(letters: Sequence[Letters], stream: Stream) -> list[dict[str, Any]]:
    """Return rows that were not taken as plain data: event, attributes as JSON, times in seconds, and why."""
    known = {rows.tag: rows for rows in stream.job.rows}
    found = []
    for letter in letters:
        table = letter.rows
        cells = {int(name[1:]): to_list(table[name]) for name in table.column_names if name[0] == "s"}
        last = END if END in table.column_names else START
        times = zip(_seconds(table[START], stream.job.unit), _seconds(table[last], stream.job.unit), strict=True)
        for row, (tag, (start, end)) in enumerate(zip(table[TAG].to_pylist(), times, strict=True)):
            slots = known[tag].slots if tag in known else ()
            args = json.dumps([cells[i][row] for i in slots], ensure_ascii=False, default=str)
            name = known[tag].name if tag in known else tag
            found.append({"event": name, "args": args, "start": start, "end": end, "reason": letter.reasons[row]})
    return found


def _seconds(column: Any, unit: str) -> list[float | None]:
    known = _is_time(column)
    times = iter(to_micros(column.filter(known), unit).tolist())
    return [next(times) / MICROSECONDS if there else None for there in known.to_pylist()]
