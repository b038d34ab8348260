"""Events that rules over columns have made: each once per atom and interval, with turns of their own (definition 7.2).

Law: what is made has its turn in the round after its cause, in the order of definition 6.7.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from etalis.columnar.clock import PLACE, moved
from etalis.columnar.data.ascending import order_in_runs, place_in_run
from etalis.columnar.data.columns import Column, Flags, Integers, concat, key_columns, key_rows, ranks
from etalis.columnar.kernels.buffers import KeyIndex
from etalis.columnar.operators.base import Turns
from etalis.columnar.row_numbers import padded

Kind: TypeAlias = tuple[str, int]
_FEW = 8  # events that end at one moment


@dataclass(frozen=True, slots=True)
class DerivedEvents:
    """Derived events of one kind, each once, in order: turns, end points, the rule that made each, attributes.

    `numbers` are those of the rows they are made of, where somebody asks.
    """

    turn: Integers
    start: Integers
    end: Integers
    rule: Integers
    columns: Sequence[Column]
    numbers: Sequence[Integers] = ()

    def __len__(self) -> int:
        return len(self.turn)

    def take(self, rows: Integers) -> DerivedEvents:
        """Return some of the events."""
        columns = [column.take(rows) for column in self.columns]
        numbers = [each[rows] for each in self.numbers]
        return DerivedEvents(self.turn[rows], self.start[rows], self.end[rows], self.rule[rows], columns, numbers)

    def moved(self, slots: Integers) -> DerivedEvents:
        """Return the events with the turns that they have where slots have moved."""
        return replace(self, turn=moved(self.turn, slots))


@dataclass(frozen=True, slots=True)
class MadeBlock:
    """Derived events of one kind, or of several kinds of one form, in order: then the first column tells which."""

    kinds: tuple[Kind, ...]
    made: DerivedEvents

    @property
    def is_several(self) -> bool:
        """Whether events may be of several kinds."""
        return len(self.kinds) > 1

    def present(self) -> Iterator[Kind]:
        """Yield the kinds of which there are events."""
        if self.is_several:
            yield from (self.kinds[i] for i in np.flatnonzero(np.bincount(self.made.columns[0].data)).tolist())
        elif len(self.made):
            yield self.kinds[0]

    def by_kind(self) -> Iterator[tuple[Kind, DerivedEvents]]:
        """Yield the events of each kind that there are."""
        if not self.is_several:
            yield self.kinds[0], self.made
            return
        which = self.made.columns[0].data
        order = np.argsort(which, kind="stable")
        cuts = np.flatnonzero(np.diff(which[order])) + 1
        for rows in np.split(order, cuts) if len(order) else ():
            some = self.made.take(rows)
            yield self.kinds[int(which[rows[0]])], replace(some, columns=some.columns[1:])


class LatestEvents:
    """What was made at the latest stamp, of one kind: an event is made once per atom and interval."""

    def __init__(self, types: Sequence[str]) -> None:
        self.types = types
        self.made: DerivedEvents | None = None

    def new(self, several: Sequence[DerivedEvents], turns: Turns) -> DerivedEvents:
        """Return what is new of what rules made in a batch, with turns of its own, in order.

        `turns` has those of other kinds that the same matches became.
        """
        made = _by_cause(several)
        count = 0
        old = self.made
        if old is not None and len(made) and old.end[-1] == made.end[0]:
            count = len(old)
            made = stacked([old, made])
        if not len(made):
            return made
        turn = None if count else _untied(made, turns)
        if turn is None:
            made = _once(made, count)
        if len(made):
            self.made = made.take(np.flatnonzero(made.end == made.end[-1]))
        if turn is not None:
            return replace(made, turn=turn)
        return _placed(made.take(np.arange(count, len(made))) if count else made)


def _by_cause(several: Sequence[DerivedEvents]) -> DerivedEvents:
    """Return what several rules made, by the turn of its cause, of one turn in the order of the rules."""
    if len(several) == 1:
        return several[0]
    together = stacked(several)
    return together.take(np.argsort(together.turn, kind="stable"))


def stacked(several: Sequence[DerivedEvents]) -> DerivedEvents:
    """Return events below each other."""
    turn, start, end, rule = (
        np.concatenate([getattr(made, name) for made in several]) for name in ("turn", "start", "end", "rule")
    )
    columns = [concat(same) for same in zip(*(m.columns for m in several), strict=True)]
    width = max(len(made.numbers) for made in several)
    numbers = zip(*(padded(made.numbers, width, len(made)) for made in several), strict=True)
    return DerivedEvents(turn, start, end, rule, columns, [np.concatenate(same) for same in numbers])


def _untied(made: DerivedEvents, turns: Turns) -> Integers | None:
    """Return the turns of events that were made at a moment each, and none twice; None if there may be others."""
    key = (id(made.turn), id(made.start), id(made.end))
    if key not in turns:
        moment = (made.turn >> PLACE) + 1
        again = (made.end[1:] == made.end[:-1]) & (made.start[1:] <= made.start[:-1])
        is_untied = not again.any() and bool((moment[1:] > moment[:-1]).all())
        turns[key] = (made.turn, made.start, made.end), moment << PLACE if is_untied else None
    return turns[key][1]


def _once(made: DerivedEvents, count: int) -> DerivedEvents:
    """Leave out repeated events; the first `count` are old, and stay."""
    rows = _in_doubt(made.end[1:] == made.end[:-1], made.start[1:] > made.start[:-1])
    if not len(rows):
        return made
    part = made if len(rows) == len(made) else made.take(rows)
    kept = np.ones(len(made), bool)
    kept[rows] = _first_ones(part)
    kept[:count] = True
    return made if kept.all() else made.take(np.flatnonzero(kept))


def _first_ones(made: DerivedEvents) -> Flags:
    """Tell which events come first with their atom and interval, of events by their ends.

    Where few end together, each is compared with those before it; else all are looked up.
    """
    if (made.end[_FEW:] == made.end[:-_FEW]).any():
        sides = [Column("int", made.start), Column("int", made.end), *made.columns]
        found = np.zeros(len(made), bool)
        found[KeyIndex(key_rows([sides], [len(made)])[0]).first] = True
        return found
    found = np.ones(len(made), bool)
    numbers = [made.start, *key_columns([made.columns])[0]]
    for back in range(1, _FEW):
        same = made.end[back:] == made.end[:-back]
        if not same.any():
            break
        for column in numbers:
            same &= column[back:] == column[:-back]
        found[back:] &= ~same
    return found


def _placed(made: DerivedEvents) -> DerivedEvents:
    """Give events their turns: the round after their cause, in the order of (start, standard order of the atom)."""
    moment = (made.turn >> PLACE) + 1
    same = moment[1:] == moment[:-1]
    if not same.any():
        return replace(made, turn=moment << PLACE)
    rows = _in_doubt(same, made.start[1:] > made.start[:-1])
    if len(rows):
        part, order = made.take(rows), np.arange(len(made))
        order[rows] = rows[order_in_runs(moment[rows], [part.start, *map(ranks, part.columns)])]
        made = made.take(order)
    return replace(made, turn=(moment << PLACE) | place_in_run(moment))


def _in_doubt(same: Flags, rises: Flags) -> Integers:
    """Return the rows of runs in which something does not rise; `same` tells of the second row on who goes on a run.

    >>> _in_doubt(np.array([True, False, True, True]), np.array([True, True, False, True])).tolist()
    [2, 3, 4]
    """
    doubtful = np.flatnonzero(same & ~rises)
    if not len(doubtful):
        return doubtful
    run = np.concatenate([[0], np.cumsum(~same)])
    marked = np.zeros(run[-1] + 1, bool)
    marked[run[doubtful]] = True
    return np.flatnonzero(marked[run])
