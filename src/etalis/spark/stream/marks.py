"""Marks: how far every source has come, sent to all shards within the batch, and which times are too far ahead.

A second branch over each source reads the column of time alone and sends one mark per partition to every shard of every
stage, as the text of a tag. Law: all shards of a batch get the same marks, so they come to the same watermark and
refuse the same rows; and a batch that is run again gets the same marks, since the wall clock of a batch is Spark's,
which notes it with the offsets.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from etalis.tables.sorting import NO_EVENT, TAG
from etalis.temporal.time_columns import read_times

CLOCK = "clock"  # the source that only tells the time
VERSION = f"{NO_EVENT}facts:"  # what the tag of a row begins with that tells a version of facts
END = "end"  # the source that says that nothing more will come

Span: TypeAlias = tuple[int, int]  # the first and the last of some times that no gap parts


@dataclass(frozen=True, slots=True)
class Ahead:
    """How far ahead a row may be, in microseconds: of the wall clock of its batch, or of the latest time before it."""

    most: int
    of_clock: bool


@dataclass(frozen=True, slots=True)
class Marking:
    """How the marks of a source are made: for how many shards, from times in which unit, with which bound."""

    source: str
    shards: int
    unit: str = "us"
    ahead: Ahead | None = None


@dataclass(frozen=True, slots=True)
class BatchMarks:
    """What a batch tells: the latest time of each source, after which moment a row is too far ahead, and if it ends."""

    latest: dict[str, int] = field(default_factory=dict)
    limit: int | None = None
    ends: bool = False


def mark_time(marking: Marking, batches: Iterable[Any]) -> Iterator[Any]:
    """Yield the mark of a partition for every shard, by its column of time; with a second one that tells the clock."""
    spans: list[Span] = []
    now: int | None = None
    is_empty = True
    bound = marking.ahead
    for batch in batches:
        if not batch.num_rows:
            continue
        is_empty = False
        read = read_times(batch.column(0), marking.unit)
        times = read.micros if read.bad is None else read.micros[~read.bad]
        if bound is not None and bound.of_clock:
            now = int(read_times(batch.column(1).slice(0, 1), "us").micros[0])
            times = times[times <= now + bound.most]
        spans = join_spans([*spans, *_spans_of(times, _gap(bound))], _gap(bound))
    if not is_empty:
        yield make_mark(marking, spans, now)


def make_mark(marking: Marking, spans: Sequence[Span] = (), now: int | None = None) -> Any:
    """Return a mark as rows, one for each shard."""
    text = json.dumps({"source": marking.source, "spans": spans, "now": now})
    tags = pa.repeat(pa.scalar(NO_EVENT + text), marking.shards)
    return pa.RecordBatch.from_arrays([tags, pa.array(range(marking.shards), pa.int32())], names=["tag", "shard"])


def _gap(ahead: Ahead | None) -> int | None:
    """Return how far apart times must be to count as parted; None if they never do."""
    return None if ahead is None or ahead.of_clock else ahead.most


def _spans_of(times: Any, gap: int | None) -> list[Span]:
    if not len(times):
        return []
    if gap is None:
        return [(int(times.min()), int(times.max()))]
    times = np.unique(times)
    cuts = np.flatnonzero(np.diff(times) > gap)
    lows, highs = times[[0, *(cuts + 1)]], times[[*cuts, -1]]
    return list(zip(lows.tolist(), highs.tolist(), strict=True))


def join_spans(spans: Iterable[Span], gap: int | None) -> list[Span]:
    """Join spans that are not further apart than a gap.

    >>> join_spans([(10, 12), (1, 2), (4, 6)], 3)
    [(1, 6), (10, 12)]
    """
    found: list[Span] = []
    for low, high in sorted(spans):
        if found and (gap is None or low - found[-1][1] <= gap):
            found[-1] = (found[-1][0], max(high, found[-1][1]))
        else:
            found.append((low, high))
    return found


def split_marks(table: Any) -> tuple[Any, list[str]]:
    """Return the rows that are events, and the marks."""
    is_mark = pc.fill_null(pc.starts_with(table[TAG], NO_EVENT), False)
    if not pc.any(is_mark).as_py():
        return table, []
    found = table[TAG].filter(is_mark).to_pylist()
    return table.filter(pc.invert(is_mark)), [tag[len(NO_EVENT) :] for tag in found]


def read_marks(texts: Iterable[str], ahead: Ahead | None, before: int | None) -> BatchMarks:
    """Return what the marks of a batch come to; `before` is the latest time of all batches before it."""
    marks = [json.loads(text) for text in texts]
    spans: dict[str, list[Span]] = {}
    for mark in marks:
        spans.setdefault(mark["source"], []).extend((low, high) for low, high in mark["spans"])
    limit = None
    if ahead is not None and ahead.of_clock:
        clocks = [mark["now"] for mark in marks if mark["now"] is not None]
        limit = max(clocks) + ahead.most if clocks else None
    elif ahead is not None:
        limit = _furthest(spans, ahead.most, before)
    latest = {
        source: max(high for low, high in found if limit is None or low <= limit)
        for source, found in spans.items()
        if any(limit is None or low <= limit for low, _ in found)
    }
    return BatchMarks(latest, limit, spans.keys() <= {END, CLOCK} and END in spans)


def _furthest(spans: dict[str, list[Span]], gap: int, before: int | None) -> int | None:
    """Return the moment after which times lie beyond a gap, from the latest time before; None if there are no times.

    A clock is believed: it says how far time has come.
    """
    known = [high for _, high in spans.get(CLOCK, [])] + ([] if before is None else [before])
    reached = max(known, default=None)
    for low, high in join_spans((span for found in spans.values() for span in found), gap):
        if reached is not None and low > reached + gap:
            break
        reached = high if reached is None else max(reached, high)
    return None if reached is None else reached + gap
