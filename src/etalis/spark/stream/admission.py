"""Which rows of a micro-batch are taken, and when: marks move the watermark, what cannot be taken is a dead letter.

Rows wait as Arrow rows, not as events, until the watermark passes their end. Law: which rows are refused, and why,
depends on the state before the batch, its marks and the row alone; so all shards and stages agree, and a batch that is
run again refuses the same rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from etalis.runtime.engine import RuntimeEngine
from etalis.runtime.lateness.future_events import describe_ahead
from etalis.runtime.lateness.watermark import Watermark
from etalis.runtime.state import BEGINNING
from etalis.spark.batch.job import Job
from etalis.spark.batch.screening import last_column, leave_to_others, refuse_wrong
from etalis.spark.stream.dead_letters import Cause, Letters
from etalis.spark.stream.marks import CLOCK, Ahead, BatchMarks, read_marks, split_marks
from etalis.spark.stream.pending_rows import Layouts, fit_rows
from etalis.tables.sorting import TAG
from etalis.temporal.interval import show_moment
from etalis.temporal.time_columns import read_times

_EARLIEST, _LATEST = int(np.iinfo(np.int64).min), int(np.iinfo(np.int64).max)


@dataclass(frozen=True, slots=True)
class Stream:
    """What a shard of a stream needs to know beside its job: sources, and in microseconds how late and how idle.

    `layouts` says which columns rows of each tag came from, so that rows that wait fit a changed program. `told` are
    the tags of rows that a stage counts, and tells if they cannot be taken: the first to read a row does; None for all.
    """

    job: Job
    layouts: Layouts
    sources: int
    lateness: int
    idle: int | None
    arrives: bool
    told: frozenset[str] | None = None
    ahead: Ahead | None = None


@dataclass(slots=True)
class Shard:
    """What one shard knows between batches; `began` is the first moment that any source told."""

    engine: RuntimeEngine
    watermark: Watermark
    began: int | None = None
    held: Any = None  # rows that are not settled, None before the first ones
    layouts: Layouts = ()
    counts: dict[str, int] = field(default_factory=lambda: {"rows": 0, "late": 0, "made": 0})
    causes: dict[Cause, int] = field(default_factory=dict)  # of the dead letters
    facts: str | None = None  # the version that it sees, where facts are refreshed
    ended: bool = False  # whether all that was owed has been reported
    letters: tuple[int, int] = (0, 0)  # which file of dead letters it writes, and its size
    effects: tuple[int, int] = (0, 0)  # the same of effects
    is_changed: bool = False  # whether another program has left it, so that rows that wait must be looked at again

    @property
    def latest(self) -> int | None:
        """The latest time of any source."""
        return max((end for end in self.watermark.latest.values() if end > BEGINNING), default=None)

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
class Admitted:
    """The rows of a batch that are taken, their ends, the watermark, and whether the stream ends with them."""

    rows: Any
    end: Any
    reached: int
    ends: bool = False


def admit(shard: Shard, stream: Stream, table: Any, letters: list[Letters]) -> Admitted:
    """Let marks move the watermark, and put aside the rows that cannot be taken."""
    table = pa.table(table.columns, names=table.column_names)  # columns of Spark say whether they may be null
    rows, texts = split_marks(table)
    marks = read_marks(texts, stream.ahead, shard.latest)
    before = shard.watermark.reached
    reached = shard.follow(marks.latest, stream)
    if shard.is_changed:
        _refit_held(shard, stream, rows.schema, letters)
    rows = _refuse_wrong(rows, stream, letters)
    rows, end = _refuse_misplaced(rows, stream, before, marks, shard.ended, letters)
    shard.counts["rows"] += rows.num_rows if stream.told is None else _count(rows[TAG], stream.told)
    for letter in letters:
        shard.counts["late"] += len(letter.reasons)
        shard.causes[letter.cause] = shard.causes.get(letter.cause, 0) + len(letter.reasons)
    return Admitted(rows, end, reached, marks.ends and not shard.ended)


def _count(tags: Any, told: frozenset[str]) -> int:
    """Return how many rows are counted here, and not by an earlier stage."""
    return int(pc.sum(pc.is_in(tags, pa.array(sorted(told), pa.string()))).as_py() or 0)


def _refit_held(shard: Shard, stream: Stream, schema: Any, letters: list[Letters]) -> None:
    """Make rows that wait fit a changed program; those that it cannot take are dead letters now."""
    if shard.held is not None and shard.held.num_rows:
        held = fit_rows(shard.held, shard.layouts, schema, stream.layouts)
        shard.held, shard.layouts = _refuse_wrong(held, stream, letters), stream.layouts
    shard.is_changed = False


def _refuse_wrong(rows: Any, stream: Stream, letters: list[Letters]) -> Any:
    """Put aside rows without event or time, or with values of a wrong type; return the others."""
    kept, wrong = refuse_wrong(rows, stream.job, stream.layouts)
    for found in wrong:
        _tell(found, stream, letters)
    return kept


def _refuse_misplaced(
    rows: Any, stream: Stream, before: int, marks: BatchMarks, ended: bool, letters: list[Letters]
) -> tuple[Any, Any]:
    """Put aside rows that come too late or too early; return the others and their ends."""
    end = read_times(rows[last_column(rows)], stream.job.unit).micros
    limit = marks.limit
    ahead = np.zeros(len(end), bool) if limit is None else end > limit
    late = (np.ones(len(end), bool) if ended else end <= max(before, _EARLIEST)) & ~ahead
    if stream.ahead is not None and limit is not None and ahead.any():
        most = stream.ahead.most
        wall = limit - most if stream.ahead.of_clock else None
        reasons = [describe_ahead(time, limit - most, most, wall) for time in end[ahead].tolist()]
        _tell(Letters(rows.filter(pa.array(ahead)), reasons, "ahead"), stream, letters)
    if late.any():
        settled = "the stream has ended" if ended else f"the watermark has reached {show_moment(before)}"
        reasons = [f"it ends at {show_moment(time)}, but {settled}" for time in end[late].tolist()]
        _tell(Letters(rows.filter(pa.array(late)), reasons, "late"), stream, letters)
    taken = ~(ahead | late)
    return (rows, end) if taken.all() else (rows.filter(pa.array(taken)), end[taken])


def _tell(found: Letters, stream: Stream, letters: list[Letters]) -> None:
    """Add rows to the dead letters, but for those that another stage tells."""
    mine = leave_to_others(found, stream.told, stream.layouts)
    letters += [] if mine is None else [mine]


def hold(shard: Shard, stream: Stream, admitted: Admitted) -> Any:
    """Hold rows until the watermark passes them; return those that it has passed, at the end of the stream all."""
    rows, end = admitted.rows, admitted.end
    if shard.held is not None and shard.held.num_rows:
        held = fit_rows(shard.held, shard.layouts, rows.schema, stream.layouts)
        end = np.concatenate([read_times(held[last_column(rows)], stream.job.unit).micros, end])
        rows = pa.concat_tables([held, rows])
    settled = end <= (_LATEST if admitted.ends else max(admitted.reached, _EARLIEST))
    shard.held, shard.layouts = rows.filter(pa.array(~settled)).combine_chunks(), stream.layouts
    return rows if settled.all() else rows.filter(pa.array(settled))
