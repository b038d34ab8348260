"""A program over the batches of its tables: rows in, rows of results out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from etalis.logic.knowledge.arrow_columns import in_one
from etalis.tables.results.row_ids import RowIds

if TYPE_CHECKING:
    from etalis.columnar.run import ColumnRun, InputBatch
    from etalis.tables.feed import TableFeed, TablePlan
    from etalis.tables.plan import ResultForm
    from etalis.tables.read.admission import Arrived
    from etalis.tables.read.batches import EventCodes
    from etalis.tables.read.merging import Pieces
    from etalis.tables.schema import Frame, Part
    from etalis.temporal.event import Event

MOST_TOGETHER = 1 << 20  # rows
MANY_RULES, FOR_A_RULE = 1 << 7, 1 << 10  # from so many rules on, one costs a batch about as much as so many rows


class TableRun:
    """A program over the batches of its sources."""

    def __init__(self, plan: TablePlan, form: ResultForm, run: ColumnRun) -> None:
        from etalis.tables.results import collect as results

        self.readers = [(frame, plan.parts(frame)) for frame in plan.intake.frames]
        self.output = plan.output(form, run.engine)
        self.run = run
        self.events: list[Event] = []  # what rules have made event at a time, before it becomes rows
        self.ids = row_ids_of(run) if form.contributors else None
        output, heads = self.output, run.choice.heads
        key = ("names", id(output.kinds))
        named = plan.program.decided(key, plan.intake.heads, lambda: results.NameCodes(output, heads))
        self.results = results.Results(self.output, named, ids=form.match_id, contributors=self.ids)
        self.unread: Counter[str] = Counter()  # names of events that no rule reads

    def take(self, batch: InputBatch) -> Iterator[pa.RecordBatch]:
        """Yield what a batch of rows causes, also what it has caused when it fails."""
        if not (self.run.at_a_time or self.output.envelope):
            yield from self._take_over_columns(batch)
            return
        self.events.clear()
        try:
            self.events.extend(self.run.process(batch))
        except BaseException:
            yield from self.results.of_events(self.events)
            self.events.clear()
            raise
        yield from self.results.of_events(self.events)
        self.events.clear()

    def _take_over_columns(self, batch: InputBatch) -> list[pa.RecordBatch]:
        with self.run.atomic.whole(batch) if self.run.goes_on else nullcontext():
            found = [part for piece in self.run.admit(batch) for part in self._made(piece)]
            return [*found, *self.results.of_events(self.run.advance())]

    def gathered(self, batches: Iterable[InputBatch]) -> Iterator[InputBatch]:
        """Yield batches; where much waits or rules are many, several together: each goes through all of that."""
        from etalis.columnar.data.batches import below

        parts: list[InputBatch] = []
        rows = 0
        rules = self.run.rules_apart
        for_rules = FOR_A_RULE * rules if rules >= MANY_RULES else 0
        for batch in batches:
            parts.append(batch)
            rows += len(batch.end)
            if rows >= min(max(self.run.waiting, for_rules), MOST_TOGETHER):
                yield below(parts)
                parts, rows = [], 0
        if parts:
            yield below(parts)

    def _made(self, batch: InputBatch, horizon: int | None = None) -> Iterator[pa.RecordBatch]:
        """Yield what rows cause that all rules take over columns; time passes up to a horizon."""
        yield from self.results.of_made(list(self.run.reported_blocks(batch, horizon)))

    def close(self) -> Iterator[pa.RecordBatch]:
        """Yield what the end of the stream settles."""
        if not (self.run.at_a_time or self.output.envelope):
            for piece, horizon in self.run.last_pieces():
                yield from self._made(piece, horizon)
            yield from self.results.of_events(list(self.run.engine.close()))
        else:
            yield from self.results.of_events(list(self.run.close()))

    @property
    def in_any_order(self) -> bool:
        """Whether rows may come in any order, within the bound on lateness."""
        return self.run.in_any_order

    def read(self, rows: Arrived) -> InputBatch:
        """Return rows of the only table as a batch over columns."""
        batch, ids = self._read(rows, 0)
        return batch if self.ids is None else replace(batch, numbers=self.ids.add(ids))

    def _read(self, rows: Arrived, number: int) -> tuple[InputBatch, Any]:
        """Return rows of one of the tables as a batch over columns, and their ids, if these are told."""
        from etalis.tables.read.batches import read_batch
        from etalis.tables.results.encode_columns import received_ids

        frame, parts = self.readers[number]
        codes = _event_codes(rows.table, frame, parts, self.unread)
        batch = read_batch(rows.table, rows.start, rows.end, parts, codes)
        if self.ids is None:
            return batch, None
        return batch, received_ids(batch, None if frame.id is None else _texts(rows.table[frame.id]))

    def note_unread(self, feed: TableFeed, *, again: bool) -> Counter[tuple[str, int | None]]:
        """Tell the engine which events came that no rule reads; `again`: look also at what was skipped."""
        known = {part.tag for _, parts in self.readers for part in parts}
        names = feed.all_names() if again else Counter()
        found: Counter[tuple[str, int | None]] = Counter()
        found.update({(name, None): count for name, count in (self.unread | names).items() if name not in known})
        for table in feed.plan.tables:
            if table.rows is not None:
                found.update(table.rows.reading.seen.unread)
        for (name, arity), count in found.items():
            self.run.engine.core.evidence.unread_names[arity][name] += count
        return found

    def read_pieces(self, pieces: Pieces, order: Any) -> InputBatch:
        """Return rows of all tables as a batch over columns, in some order."""
        from etalis.columnar.data.batches import arrange, below

        found = [self._read(rows, i) for i, rows in enumerate(pieces) if len(rows.end)]
        batch = arrange(below([batch for batch, _ in found]), order)
        if self.ids is None:
            return batch
        return replace(batch, numbers=self.ids.add(pa.concat_arrays([ids for _, ids in found]).take(pa.array(order))))


def _texts(column: Any) -> pa.Array:
    """Return a column of ids as text."""
    whole = in_one(column)
    return (whole.dictionary_decode() if pa.types.is_dictionary(whole.type) else whole).cast(pa.string())


def row_ids_of(run: ColumnRun) -> RowIds:
    """Return what rows of a run are called; an engine that goes on knows those of its tables before."""
    core = run.engine.core
    if core.row_ids is None:
        core.row_ids = RowIds(None if run.components else core.row_numbers)
    found: RowIds = core.row_ids
    return found


def _event_codes(table: pa.Table, frame: Frame, parts: Sequence[Part], unread: Counter[str]) -> EventCodes | None:
    """Return of which part each row is, None if all are one event; count those that are of none."""
    from etalis.tables.read.batches import EventCodes

    if frame.event is None:
        return None
    column = in_one(table[frame.event])
    coded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    tags = {part.tag: number for number, part in enumerate(parts)}
    names = coded.dictionary.to_pylist()
    indices = coded.indices.to_numpy()
    others = [(code, name) for code, name in enumerate(names) if name and name not in tags]
    if others:
        counts = np.bincount(indices, minlength=len(names))
        unread.update({name: int(counts[code]) for code, name in others if counts[code]})
    return EventCodes(indices, np.array([tags.get(name, -1) for name in names], np.int64))
