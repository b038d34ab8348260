"""How many events each input has caused, over columns: more than `max_derivations` are an error, as in the engine.

What falls due counts with the last input before it (definition 8.9). Nothing is counted where it is plain that no input
has caused more than it may.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from etalis.columnar.clock import PLACE, Clock, first_turns, slot_of
from etalis.columnar.data.columns import Integers
from etalis.columnar.derived_events import DerivedEvents, MadeBlock

Kind: TypeAlias = tuple[str, int]
Derived: TypeAlias = Sequence[MadeBlock]


class Derivations:
    """Counts what inputs cause, up to a limit; `last` is what the last of them has caused so far."""

    def __init__(self, limit: int, is_timed: bool) -> None:
        self.limit = limit
        self.is_timed = is_timed  # whether things happen after the last input
        self.last = 0

    def count(self, clock: Clock, derived: Derived) -> tuple[Kind, DerivedEvents, int] | None:
        """Count what was made in a batch; if an input made too much, return the last event of the round it is in."""
        if self._are_few(clock, derived):
            return None
        turn = np.concatenate([np.zeros(0, np.int64), *(block.made.turn for block in derived)])
        cause = np.searchsorted(clock.rows, slot_of(turn), side="right")
        counts = np.bincount(cause, minlength=len(clock.rows) + 1)
        counts[0] += self.last
        before, self.last = self.last, int(counts[-1])
        over = np.flatnonzero(counts > self.limit)
        if not len(over):
            return None
        mine = np.sort(turn[cause == over[0]])
        return _last_of(int(mine[self.limit - (before if over[0] == 0 else 0)]) >> PLACE, derived)

    def _are_few(self, clock: Clock, derived: Derived) -> bool:
        """Tell whether no input can have made too much, without counting for each of them."""
        turns = [block.made.turn for block in derived]
        if not self.is_timed:
            each = self.limit // max(len(turns), 1)
            return all(len(turn) <= each or (each > 0 and _are_apart(turn, each)) for turn in turns)
        total = sum(map(len, turns))
        if self.last + total > self.limit:
            return False
        if len(clock.rows):
            first = first_turns(clock.rows[-1])
            self.last = sum(len(turn) - int(np.searchsorted(turn, first)) for turn in turns)
        else:
            self.last += total
        return True


def _are_apart(turn: Integers, count: int) -> bool:
    """Tell whether no input has more than so many of several turns, which are in order."""
    return bool((slot_of(turn[count:]) > slot_of(turn[:-count])).all())


def _last_of(moment: int, derived: Derived) -> tuple[Kind, DerivedEvents, int]:
    """Return the last event of a round: by start, then by the order of atoms."""
    found: list[tuple[tuple[Any, ...], tuple[Kind, DerivedEvents, int]]] = []
    for kind, made in (pair for block in derived for pair in block.by_kind()):
        rows: Integers = np.flatnonzero(made.turn >> PLACE == moment)
        if len(rows):
            row = int(rows[np.lexsort((made.turn[rows], made.start[rows]))[-1]])
            found.append(((int(made.start[row]), kind[1], kind[0]), (kind, made, row)))
    return max(found, key=lambda pair: pair[0])[1]
