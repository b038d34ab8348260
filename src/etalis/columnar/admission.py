"""How rows reach the rules over columns: in order, what is too late made a dead letter, as the engine would have it.

Without lateness a batch is in order, and what ends before time has come is late. With lateness, rows come in any order;
they are held until the watermark has passed them. Law: rows pass in the order of definition 6.1, the same ones
as if they had been pushed one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from etalis.columnar.data.batches import InputBatch, Kind, ReceivedRows, arrange, below, listed
from etalis.columnar.data.casts import UnfitError, to_column, to_integers
from etalis.columnar.data.columns import Integers
from etalis.columnar.state.base import Undo
from etalis.runtime.lateness.watermark import PLAIN, HeldRow, Watermark
from etalis.runtime.state import NEVER

if TYPE_CHECKING:
    from etalis.plan.types import Types
    from etalis.runtime.engine import RuntimeEngine

_LEAST, _MOST = -(1 << 62), 1 << 62


class OrderedAdmission:
    """Lets pass what is not late."""

    def __init__(self, engine: RuntimeEngine) -> None:
        self.engine = engine

    def load(self, types: Types) -> None:
        """Nothing is held."""

    def take_over(self) -> None:
        """Nothing is held."""

    def save(self) -> None:
        """Nothing is held."""

    def clear(self) -> None:
        """Nothing is held."""

    def mark(self) -> Undo:
        """Return what forgets the late rows that come from now on."""
        return self.engine.core.dead_letters.mark()

    def hold(self, rows: InputBatch) -> int:
        """Hold rows that were not taken after all; return how many cannot be held: all."""
        return len(rows.end)

    def admit(self, batch: InputBatch) -> InputBatch:
        """Return what is not late of a batch: what ends no earlier than all before it."""
        state = self.engine.core.state
        if not len(batch.end):
            return batch
        if state.floor >= NEVER:
            self.engine.core.refuse_closed("a row")
        first = _word(max(state.now, state.floor + 1))
        if batch.end[0] >= first and (batch.end[1:] >= batch.end[:-1]).all():
            return batch
        reached = np.maximum.accumulate(np.concatenate([[_word(max(state.now, state.floor))], batch.end[:-1]]))
        late = (batch.end < reached) | (batch.end <= _word(state.floor))
        if not late.any():
            return batch
        for row, (name, _), values in listed(batch, list(batch.events)):
            if late[row]:
                self.engine.core.bury(name, values, int(batch.start[row]), int(batch.end[row]), int(reached[row]))
        return arrange(batch, np.flatnonzero(~late))

    def release(self) -> InputBatch | None:
        """Nothing is held."""
        return None

    @property
    def settled(self) -> int | None:
        """Nothing says up to when the stream is settled."""
        return None


@dataclass(frozen=True, slots=True)
class _HeldRows:
    """Rows that are held, with the ranks that order those of equal times."""

    rows: InputBatch
    rank: Integers
    first: int = field(init=False)  # the earliest end

    def __post_init__(self) -> None:
        object.__setattr__(self, "first", int(self.rows.end.min()) if len(self.rank) else _MOST)


class LatenessAdmission:
    """Holds rows until they are settled."""

    def __init__(self, engine: RuntimeEngine) -> None:
        disorder = engine.core.disorder
        assert disorder is not None
        assert disorder.watermark is not None
        assert disorder.held is not None
        self.disorder = disorder
        self.watermark: Watermark = disorder.watermark
        self.held = disorder.held
        self.parts: list[_HeldRows] = []

    @property
    def settled(self) -> int | None:
        """Up to when the stream is settled."""
        return self.watermark.reached

    def load(self, types: Types) -> None:
        """Take over what the engine holds."""
        rows = list(self.held)
        if not all(row[3] is None or row[3] is PLAIN for row in rows):
            raise UnfitError("events that wait have ids, ranks or sources")
        self.parts = [_gather(rows, types)] if rows else []

    def take_over(self) -> None:
        """Let the engine hold nothing, since it is held here."""
        self.held.rows.clear()

    def mark(self) -> Undo:
        """Return what goes back to what is held now, and forgets the late rows that come from now on."""
        parts, ranked = list(self.parts), self.disorder.ranked
        undo = self.watermark.mark(), self.disorder.dead.mark()

        def back() -> None:
            self.parts, self.disorder.ranked = list(parts), ranked
            for each in undo:
                each()

        return back

    def hold(self, rows: InputBatch) -> int:
        """Hold rows that were not taken after all, though they are settled; return how many cannot be held: none."""
        self.parts.append(_HeldRows(rows, np.arange(len(rows.end))))  # nothing else ends as early
        return 0

    def save(self) -> None:
        """Let the engine hold what is held."""
        self.held.rows.clear()
        rows: list[HeldRow] = []
        for part in self.parts:
            start, end, rank = (x.tolist() for x in (part.rows.start, part.rows.end, part.rank))
            for row, (name, _), values in listed(part.rows, list(part.rows.events)):
                stamp = PLAIN if start[row] == end[row] else None
                rows.append((end[row], start[row], rank[row], stamp, name, *values))
        rows.sort(key=lambda row: row[:3])
        self.held.rows.extend(rows)

    def clear(self) -> None:
        """Hold nothing here."""
        self.parts = []

    def admit(self, batch: InputBatch) -> InputBatch:
        """Hold a batch, in the order of arrival; return what the watermark has passed, in order."""
        count, first = len(batch.end), self.disorder.ranked
        self.disorder.ranked = first + count
        if count:
            reached = self._reached(batch.end)
            late = batch.end <= reached
            if late.any():
                self._bury(batch, np.flatnonzero(late), reached)
            taken = np.flatnonzero(~late)
            if len(taken):
                self.watermark.see(None, int(batch.end[taken].max()))
            known = np.zeros(count, bool)
            for received in batch.events.values():
                known[received.rows] = True
            taken = np.flatnonzero(~late & known)
            rows = batch if len(taken) == count else arrange(batch, taken)
            self.parts.append(_HeldRows(rows, first + taken))
        return self._pass(_word(self.watermark.reached))

    def _reached(self, end: Integers) -> Integers:
        """Return where the watermark stands when each row comes."""
        mark = self.watermark
        before = _word(mark.reached)
        if mark.bound >= NEVER:
            return np.full(len(end), before)
        latest = mark.latest
        others = [time for source, time in latest.items() if source is not None and source not in mark.idle]
        mine = np.maximum.accumulate(np.concatenate([[_word(latest.get(None, _LEAST))], end[:-1]]))
        slowest = np.minimum(mine, _word(min(others, default=_MOST)))
        return np.maximum(before, slowest - mark.bound - 1)

    def _bury(self, batch: InputBatch, late: Integers, reached: Integers) -> None:
        dead = arrange(batch, late)
        for row, (name, _), values in listed(dead, list(dead.events)):
            start, end, limit = int(dead.start[row]), int(dead.end[row]), int(reached[late[row]])
            self.disorder.bury(name, values, start, end, limit)

    def release(self) -> InputBatch:
        """Return all that is held, in order."""
        return self._pass(_MOST)

    def _pass(self, until: int) -> InputBatch:
        """Hold no more what ends at or before a moment; return it in order."""
        touched = [part for part in self.parts if part.first <= until]
        if not touched:
            return InputBatch(np.zeros(0, np.int64), np.zeros(0, np.int64), {})
        rest = [part for part in self.parts if part.first > until]
        rows = below([part.rows for part in touched])
        rank = np.concatenate([part.rank for part in touched])
        order = np.lexsort((rank, rows.start, rows.end))
        passed = int(np.searchsorted(rows.end[order], until, side="right"))
        stay = np.sort(order[passed:])
        self.parts = rest if not len(stay) else [*rest, _HeldRows(arrange(rows, stay), rank[stay])]
        return arrange(rows, order[:passed])


def _gather(rows: Sequence[HeldRow], types: Types) -> _HeldRows:
    """Return rows that an engine holds as a batch."""
    places: dict[Kind, list[int]] = {}
    for place, row in enumerate(rows):
        places.setdefault((row[4], len(row) - 5), []).append(place)
    events: dict[Kind, ReceivedRows] = {}
    for kind, mine in places.items():
        columns = list(zip(*(rows[place][5:] for place in mine), strict=True))
        typed = types.get(kind, ("term",) * kind[1])
        events[kind] = ReceivedRows(np.array(mine), [to_column(c, t) for c, t in zip(columns, typed, strict=True)])
    end, start, rank = (to_integers([row[i] for row in rows]) for i in range(3))
    return _HeldRows(InputBatch(start, end, events), rank)


def _word(time: int) -> int:
    """Return a time that fits 64 bits, with room around it."""
    return min(max(time, _LEAST), _MOST)


def admission_of(engine: RuntimeEngine) -> OrderedAdmission | LatenessAdmission:
    """Return how rows reach the rules of an engine."""
    return OrderedAdmission(engine) if engine.core.disorder is None else LatenessAdmission(engine)
