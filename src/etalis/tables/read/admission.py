"""Batches of a table as they come in: their times, without the rows that cannot be taken, which become dead letters.

Reading goes on in a thread of its own, so dead letters wait here until whoever takes the batches hands them on.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from etalis.errors import InputError, Problem
from etalis.logic.knowledge.arrow_columns import in_one, table_without_views, to_list
from etalis.runtime.lateness.future_events import find_ahead
from etalis.runtime.state import BEGINNING
from etalis.tables.read.rejected_rows import RefusedRows, screen
from etalis.temporal.time_columns import read_times

if TYPE_CHECKING:
    from etalis.runtime.engine import RuntimeEngine
    from etalis.runtime.lateness.watermark import DeadLetters
    from etalis.tables.schema import Frame

_FEW = 64  # rows that may tell that all are of one event
_LEAST = int(np.iinfo(np.int64).min)


@dataclass(frozen=True, slots=True)
class Arrived:
    """Rows that can be taken: the table they stand in, and their end points in microseconds."""

    table: Any
    start: Any
    end: Any

    def cut(self, low: int, high: int | None) -> Arrived:
        """Return a stretch of the rows."""
        part = slice(low, high)
        table = None if self.table is None else self.table.slice(low, None if high is None else high - low)
        return Arrived(table, self.start[part], self.end[part])

    def above(self, rows: Arrived) -> Arrived:
        """Return the rows with others below them."""
        start, end = (np.concatenate(pair) for pair in ((self.start, rows.start), (self.end, rows.end)))
        return Arrived(pa.concat_tables([self.table, rows.table]), start, end)


@dataclass(frozen=True, slots=True)
class Letter:
    """A row that cannot be taken."""

    name: str
    args: tuple[Any, ...]
    start: int | None
    end: int | None
    reason: str
    cause: str


class TableAdmission:
    """Lets rows in, batch by batch; `ahead` is how far a row may lie in the future of those before it."""

    def __init__(
        self, frame: Frame, unit: str, made: Sequence[str], ahead: int | None = None, latest: int = BEGINNING
    ) -> None:
        self.frame = frame
        self.unit = unit
        self.made = made
        self.ahead = ahead
        self.latest = latest
        self.parts = [layout.part for layout in frame.layouts]
        self.letters: deque[Letter] = deque()

    def arriving(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Arrived]:
        """Yield the rows that can be taken."""
        for batch in batches:
            if not batch.num_rows:
                continue
            came = self._coded(table_without_views(pa.Table.from_batches([batch])))
            found = screen(came, self.frame.times, self.unit, self.parts, self.frame.event, self.made)
            if found.refused:
                self.refuse(came, found.refused)
            rows = self._within(Arrived(found.table, found.start, found.end))
            if len(rows.end):
                yield rows

    def _coded(self, table: pa.Table) -> pa.Table:
        """Return a table whose names of events are coded by a dictionary, as all that read them want it."""
        name = self.frame.event
        if name is None or not pa.types.is_string(table.schema.field(name).type):
            return table
        return table.set_column(table.schema.get_field_index(name), name, _coded(in_one(table[name])))

    def hand_on(self, dead: DeadLetters) -> None:
        """Make dead letters of what was refused since the last time."""
        while self.letters:
            letter = self.letters.popleft()
            dead.add(letter.name, letter.args, letter.start, letter.end, letter.reason, letter.cause)

    def _within(self, rows: Arrived) -> Arrived:
        """Leave out what lies too far ahead of the rows before it."""
        if self.ahead is None or not len(rows.end):
            return rows
        before = np.maximum.accumulate(np.append(max(self.latest, _LEAST + self.ahead), rows.end[:-1]))
        first = self.latest == BEGINNING
        if (rows.end[first:] - before[first:] <= self.ahead).all():
            self.latest = max(self.latest, int(rows.end.max()))
            return rows
        found = list(find_ahead(rows.end.tolist(), self.latest, self.ahead))
        refused = RefusedRows(np.array([row for row, _ in found]), tuple(reason for _, reason in found))
        self.refuse(rows.table, refused, "ahead")
        keep = np.ones(len(rows.end), bool)
        keep[[row for row, _ in found]] = False
        kept = Arrived(rows.table.filter(pa.array(keep)), rows.start[keep], rows.end[keep])
        self.latest = max(self.latest, int(kept.end.max())) if len(kept.end) else self.latest
        return kept

    def refuse(self, table: Any, refused: RefusedRows, cause: str = "unreadable") -> None:
        """Note rows that cannot be taken, as far as they can be told."""
        rows = table.take(pa.array(refused.rows))
        moments = [self._moments(rows, name) for name in (self.frame.times[0], self.frame.times[-1])]
        tags = None if self.frame.event is None else to_list(rows[self.frame.event])
        by_tag = {part.tag: part for part in self.parts}
        cells = {name: in_one(rows[name]) for part in self.parts for name in part.columns}
        for row, reason in enumerate(refused.reasons):
            part = self.parts[0] if tags is None else by_tag.get(tags[row] or "")
            name = part.kind[0] if part is not None else (tags[row] or "") if tags is not None else ""
            args = tuple(_shown(cells[column], row) for column in part.columns) if part is not None else ()
            self.letters.append(Letter(name, args, moments[0][row], moments[1][row], reason, cause))

    def _moments(self, rows: Any, name: str) -> list[int | None]:
        times = read_times(rows[name], self.unit)
        bad = [False] * rows.num_rows if times.bad is None else times.bad.tolist()
        return [None if wrong else time for time, wrong in zip(times.micros.tolist(), bad, strict=True)]


def _coded(names: Any) -> Any:
    """Return names coded by a dictionary; that all are one name is seen sooner."""
    some = (names.slice(0, _FEW), names)
    if not names.null_count and all(pc.all(pc.equal(part, names[0])).as_py() for part in some):
        return pa.DictionaryArray.from_arrays(pa.array(np.zeros(len(names), np.int32)), names.slice(0, 1))
    return names.dictionary_encode()


def _shown(column: Any, row: int) -> Any:
    """Return a cell as a Python object, as text if Python has none for it."""
    try:
        return column[row].as_py()
    except (ValueError, OverflowError):
        return str(column[row])


def latest_of(engine: RuntimeEngine) -> int:
    """Return the latest time that an engine has seen."""
    return engine.core.state.now if engine.core.horizon is None else engine.core.horizon.latest()


def in_time(rows: Arrived) -> Arrived:
    """Return a batch in order of (end, start, row)."""
    start, end = rows.start, rows.end
    lasts = start is not end and (start != end).any()
    if not lasts and (end[1:] >= end[:-1]).all():
        return rows
    order = np.lexsort((start, end))
    moments = end[order]
    return Arrived(rows.table.take(pa.array(order)), moments if start is end else start[order], moments)


def in_order(batches: Iterable[Arrived]) -> Iterator[Arrived]:
    """Yield batches in order of (end, start, row); rows that belong before an earlier batch are refused.

    Rows with a duration that end last in a batch wait for the next one, which may have some that end with them.
    """
    latest: int | None = None
    held: Arrived | None = None
    for rows in map(in_time, batches):
        if latest is not None and rows.end[0] < latest:
            hint = "sort the rows by time, or read them as one batch: batch=..."
            raise InputError(Problem("E404", "rows of a later batch end before those of an earlier one", hint=hint))
        latest = int(rows.end[-1])
        if held is None and rows.start is rows.end:
            yield rows
            continue
        whole = rows if held is None else in_time(held.above(rows))
        last = int(np.searchsorted(whole.end, latest))
        if last:
            yield whole.cut(0, last)
        held = whole.cut(last, None)
    if held is not None:
        yield held
