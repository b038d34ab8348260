"""Batches taken as wholes on an engine that goes on: where something fails, all rules have taken the same rows.

Rules over columns go back to where a batch began. What rules have done event at a time cannot be undone, so they come
last; if they fail, rules over columns take the rows that these have begun, and no more. Law: the rows that count as
taken, and what they caused, are exactly what the engine then holds and what was handed out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from etalis.columnar.clock import MOST_ROUNDS, Clock
from etalis.columnar.data.batches import InputBatch, cut
from etalis.columnar.state.base import Undo
from etalis.temporal.event import Event

if TYPE_CHECKING:
    from etalis.columnar.row_rules import Found
    from etalis.columnar.run import ColumnRun, Placed


@dataclass(frozen=True, slots=True)
class BatchPart:
    """A piece of a batch that rules over columns have taken, and what it caused.

    `handed` is how many rows of the batch were handed out with it and before.
    """

    rows: InputBatch
    clock: Clock
    found: list[Placed]
    handed: int

    def merged(self, other: Sequence[Found]) -> list[Event]:
        """Return what was caused, by these and by the rules beside them, in order."""
        found = list(self.found)
        for number, (row, event) in enumerate(other):
            found.append(((int(self.clock.rows[row]), event.end_time, MOST_ROUNDS, number), event))
        found.sort(key=lambda pair: pair[0])
        return [event for _, event in found]


class AtomicBatches:
    """How batches are taken by a run that has taken over the state of an engine; `rows` have been taken."""

    def __init__(self, run: ColumnRun) -> None:
        self.run = run
        self.rows = 0

    @contextmanager
    def whole(self, batch: InputBatch) -> Iterator[Undo]:
        """Process a batch; if that fails, be where it began. What is yielded brings its rules back there."""
        engine, forget = self.run.engine, self.run.engine.core.failures.mark()
        state, undo, reopen = engine.core.state, self._mark(), self.run.admission.mark()
        now, floor = state.now, state.floor
        try:
            yield undo
        except BaseException:
            undo()
            reopen()
            state.now, state.floor = now, floor
            forget()
            raise
        self.rows += len(batch.end)

    def _mark(self) -> Undo:
        """Return what brings rules over columns back to where they are now."""
        run, now, last = self.run, self.run.now, self.run.derivations.last
        undo = [run.schedule.mark(), *(shared.mark() for shared in run.loaded)]
        if run.facts is not None:
            run.facts.commit()
            undo.append(run.facts.mark())

        def back() -> None:
            run.now, run.derivations.last = now, last
            for each in undo:
                each()

        return back

    def process(self, batch: InputBatch) -> Iterator[Event]:
        """Process a batch by all rules; yield what it causes, in order."""
        run = self.run
        with self.whole(batch) as undo:
            pieces = [*map(run.process_part, run.admit(batch)), *run.advance_columns()]
        for number, piece in enumerate(pieces):
            try:
                found = piece.merged(run.row_rules.process(piece.rows))
            except BaseException:
                undo()
                yield from self._cut_short(pieces[: number + 1])
                raise
            yield from found
        yield from run.advance_row_rules()

    def _cut_short(self, pieces: Sequence[BatchPart]) -> list[Event]:
        """Take over columns what the other rules have begun; return what the last piece of it caused."""
        run, other = self.run, self.run.row_rules
        *earlier, last = pieces
        handed = 0
        for piece in earlier:
            run.process_part(piece.rows)
            handed = piece.handed
        again = run.process_part(cut(last.rows, 0, other.begun))
        if last.handed > handed:  # else it only let time pass
            handed += other.begun
        self.rows -= run.admission.hold(cut(run.admitted, handed, len(run.admitted.end)))
        return again.merged(other.found)
