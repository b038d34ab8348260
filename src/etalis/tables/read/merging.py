"""Several tables as one stream: batches that follow each other in time, of rows that stand in the tables they came in.

Law: each table is in order of time, batch after batch; so what ends before the last row that has been read of every
table can be taken, and rows of equal times are taken together: by (end, start, order column, table, row).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from etalis.logic.knowledge.arrow_columns import in_one
from etalis.runtime.lateness.future_events import describe_ahead, last_end
from etalis.runtime.state import BEGINNING
from etalis.tables.read.admission import Arrived, TableAdmission
from etalis.tables.read.rejected_rows import RefusedRows

Pieces: TypeAlias = Sequence[Arrived]  # of each table some rows, perhaps none


def merge(tables: Sequence[Iterable[Arrived]]) -> Iterator[Pieces]:
    """Yield the rows of tables that are in order, piece by piece; rows that end at one time are in one of them."""
    runs = [_Run(iter(batches)) for batches in tables]
    while any(len(run.rows.end) or not run.is_read for run in runs):
        unread = [run for run in runs if not run.is_read]
        bound = min((run.last for run in unread), default=None)
        pieces = [run.take_before(bound) for run in runs]
        if any(len(piece.end) for piece in pieces):
            yield pieces
        for run in unread:
            if run.last == bound:
                run.read_more()


@dataclass(slots=True)
class _Run:
    """The rows of one table that have been read and not been taken."""

    batches: Iterator[Arrived]
    rows: Arrived = None  # type: ignore[assignment]
    last: int = BEGINNING
    is_read: bool = False

    def __post_init__(self) -> None:
        none = np.zeros(0, np.int64)
        self.rows = Arrived(None, none, none)
        self.read_more()

    def read_more(self) -> None:
        """Read one more batch behind the rows that are left."""
        batch = next(self.batches, None)
        if batch is None:
            self.is_read = True
            return
        self.last = int(batch.end[-1])
        self.rows = self.rows.above(batch) if len(self.rows.end) else batch

    def take_before(self, time: int | None) -> Arrived:
        """Return the rows that end before a moment (None: all), and keep the others."""
        count = len(self.rows.end) if time is None else int(np.searchsorted(self.rows.end, time, "left"))
        taken, self.rows = self.rows.cut(0, count), self.rows.cut(count, None)
        return taken


def order_of(pieces: Pieces, order: Sequence[str | None]) -> Any:
    """Return the rows of all pieces, one below the other, in the order in which they are taken."""
    start, end = (np.concatenate([getattr(piece, name) for piece in pieces]) for name in ("start", "end"))
    keys = [start, end]
    if any(name is not None for name in order):
        keys.insert(0, _ranks(pieces, order))
    return np.lexsort(keys)


def _ranks(pieces: Pieces, order: Sequence[str | None]) -> Any:
    """Return numbers in the order of the columns that break ties; a row of a table without one comes last."""
    columns = [
        None if name is None or not len(piece.end) else _decoded(in_one(piece.table[name]))
        for piece, name in zip(pieces, order, strict=True)
    ]
    kind = next((column.type for column in columns if column is not None), pa.null())
    cells = [
        pa.nulls(len(piece.end), kind) if column is None else column.cast(kind)
        for piece, column in zip(pieces, columns, strict=True)
    ]
    ranks = pc.rank(pa.concat_arrays(cells), sort_keys="ascending", tiebreaker="dense")
    return ranks.to_numpy(zero_copy_only=False)


def _decoded(column: Any) -> Any:
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def within(
    merged: Iterable[Pieces], admissions: Sequence[TableAdmission], ahead: int | None, latest: int
) -> Iterator[Pieces]:
    """Leave out what lies too far ahead of all that comes before it; the admissions of the tables note it."""
    for pieces in merged:
        ends = np.sort(np.concatenate([piece.end for piece in pieces]))
        if ahead is None or not len(ends):
            yield pieces
            continue
        latest = max(latest, int(ends[0])) if latest == BEGINNING else latest
        gaps = np.flatnonzero(np.diff(np.append(latest, ends)) > ahead)
        last = int(ends[-1]) if not len(gaps) else int(ends[gaps[0] - 1]) if gaps[0] else latest
        if len(gaps):
            pieces = [
                _within(piece, admission, last, ahead) for piece, admission in zip(pieces, admissions, strict=True)
            ]
        latest = max(latest, last)
        if any(len(piece.end) for piece in pieces):
            yield pieces


def _within(rows: Arrived, admission: TableAdmission, latest: int, ahead: int) -> Arrived:
    count = int(np.searchsorted(rows.end, last_end(latest, ahead), "right"))
    if count < len(rows.end):
        reasons = tuple(describe_ahead(end, latest, ahead) for end in rows.end[count:].tolist())
        admission.refuse(rows.table, RefusedRows(np.arange(count, len(rows.end)), reasons), "ahead")
    return rows.cut(0, count)
