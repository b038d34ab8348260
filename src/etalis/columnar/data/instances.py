"""The instances of a plan's nodes as rows over columns.

An instance keeps its turn (the place of the event that completed it in the order of arrival) and its end points; its
payload stays in the columns it came from until somebody asks for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np

from etalis.columnar.data.columns import Column, Integers, at, at_either, concat, from_values, unify


class SomeRows:
    """Some rows of what refers to rows of others: the rows of those, found once for all that refers to the same."""

    __slots__ = ("known", "rows")

    def __init__(self, rows: Integers) -> None:
        self.rows = rows
        self.known: dict[int, tuple[Integers, Integers]] = {}

    def of(self, before: Integers | None) -> Integers:
        """Return the rows of others, of which there were some before; None: all, in order."""
        if before is None:
            return self.rows
        if id(before) not in self.known:
            self.known[id(before)] = before, at(before, self.rows)
        return self.known[id(before)][1]


@dataclass(frozen=True, slots=True)
class ColumnBlock:
    """Columns that have always gone together, and the rows of them that instances refer to; None: all, in order."""

    columns: Mapping[str, Column]
    rows: Integers | None = None

    def take(self, rows: Integers | SomeRows) -> ColumnBlock:
        """Return the block for some of the instances."""
        some = rows if isinstance(rows, SomeRows) else SomeRows(rows)
        return ColumnBlock(self.columns, some.of(self.rows))

    def without(self, names: Iterable[str]) -> ColumnBlock:
        """Return the block without some of its columns."""
        gone = set(names)
        return ColumnBlock({name: column for name, column in self.columns.items() if name not in gone}, self.rows)

    def column(self, name: str) -> Column:
        """Return a column, row by row of the instances."""
        column = self.columns[name]
        return column if self.rows is None else column.take(self.rows)


class Picked(Sequence[Column]):
    """Some rows of whole columns; a column is gathered when it is asked for."""

    def __init__(self, whole: Sequence[Column], rows: Integers) -> None:
        self.whole = whole
        self.rows = rows

    def __len__(self) -> int:
        return len(self.whole)

    @overload
    def __getitem__(self, place: int) -> Column: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Column]: ...
    def __getitem__(self, place: int | slice) -> Column | Sequence[Column]:
        """Return a column, or several, for these rows."""
        if isinstance(place, slice):
            return [column.take(self.rows).filled() for column in self.whole[place]]
        return self.whole[place].take(self.rows).filled()


@dataclass(frozen=True, slots=True)
class Stacked:
    """Two blocks below each other, which stay where they are, and the rows of both that instances refer to."""

    above: ColumnBlock
    below: ColumnBlock
    rows: Integers | None = None

    @property
    def columns(self) -> Mapping[str, Column]:
        """The columns of the lower block; those of the upper one have the same names."""
        return self.below.columns

    def take(self, rows: Integers | SomeRows) -> Stacked:
        """Return the block for some of the instances."""
        some = rows if isinstance(rows, SomeRows) else SomeRows(rows)
        return Stacked(self.above, self.below, some.of(self.rows))

    def without(self, names: Iterable[str]) -> Stacked:
        """Return the block without some of its columns."""
        return Stacked(self.above, self.below.without(names), self.rows)

    def column(self, name: str) -> Column:
        """Return a column, row by row of the instances."""
        above, below = self.above.columns[name], self.below.columns[name]
        marked = any(marks is not None for each in (above, below) for marks in (each.absent, each.whole))
        apart = above.type != below.type or marked
        if self.rows is None or apart or not len(below):
            whole = concat([above, self.below.column(name)])
            return whole if self.rows is None else whole.take(self.rows)
        texts, (high, low) = None, (above.data, below.data)
        if above.type == "string":
            (high, low), texts = unify([above, below])
        return Column(above.type, at_either(high, low, self.below.rows, self.rows), texts)


class Deferred:
    """Numbers that stand at some rows of others, gathered when they are asked for."""

    __slots__ = ("data", "rows")

    def __init__(self, data: Integers, rows: Integers | None = None) -> None:
        self.data = data
        self.rows = rows

    def __len__(self) -> int:
        return len(self.data if self.rows is None else self.rows)

    def get(self) -> Integers:
        """Return the numbers, which are kept."""
        if self.rows is not None:
            self.data, self.rows = at(self.data, self.rows), None
        return self.data

    def take(self, some: SomeRows) -> Deferred:
        """Return some of the numbers."""
        return Deferred(self.data, some.of(self.rows))


class Instances:
    """Matches of a node, in order of arrival; times and columns are gathered when they are asked for, and kept."""

    __slots__ = ("_end", "_start", "_turn", "blocks", "gathered")

    def __init__(
        self, turn: Integers | Deferred, start: Integers | Deferred, end: Integers | Deferred,
        blocks: tuple[ColumnBlock | Stacked, ...] = (), gathered: dict[str, Column] | None = None,
    ) -> None:  # fmt: skip
        self._turn = turn if isinstance(turn, Deferred) else Deferred(turn)
        self._start = start if isinstance(start, Deferred) else Deferred(start)
        self._end = self._start if end is start else end if isinstance(end, Deferred) else Deferred(end)
        self.blocks = blocks
        self.gathered: dict[str, Column] = {} if gathered is None else gathered

    @staticmethod
    def of(turn: Integers, start: Integers, end: Integers, columns: Mapping[str, Column]) -> Instances:
        """Return instances over columns of their own."""
        return Instances(turn, start, end, (ColumnBlock(columns),))

    @property
    def turn(self) -> Integers:
        """The turns at which they are complete."""
        return self._turn.get()

    @property
    def start(self) -> Integers:
        """When they start."""
        return self._start.get()

    @property
    def end(self) -> Integers:
        """When they end; the array of starts itself, where all are known to be instants."""
        return self._end.get()

    def __len__(self) -> int:
        return len(self._turn)

    def column(self, name: str) -> Column:
        """Return the values of a variable."""
        if name not in self.gathered:
            self.gathered[name] = next(block for block in self.blocks if name in block.columns).column(name)
        return self.gathered[name]

    def take(self, rows: Integers | SomeRows) -> Instances:
        """Return some of the instances."""
        some = rows if isinstance(rows, SomeRows) else SomeRows(rows)
        start = self._start.take(some)
        end = start if self._end is self._start else self._end.take(some)
        return Instances(self._turn.take(some), start, end, tuple(block.take(some) for block in self.blocks))

    def paired(self, a: Integers, right: Instances, b: Integers) -> Instances:
        """Return pairs with instances that come later, from the start of these to the end of those."""
        mine, theirs = SomeRows(a), SomeRows(b)
        blocks = (*(block.take(mine) for block in self.blocks), *(block.take(theirs) for block in right.blocks))
        return Instances(right._turn.take(theirs), self._start.take(mine), right._end.take(theirs), blocks)

    def beside(self, block: ColumnBlock) -> Instances:
        """Return the instances with more columns, none of which they have."""
        return Instances(self._turn, self._start, self._end, (*self.blocks, block), self.gathered)

    def without(self, names: Iterable[str]) -> Instances:
        """Return the instances without some of their columns; what is gathered for these is not for others."""
        gone = set(names)
        blocks = tuple(block.without(gone) for block in self.blocks) if gone else self.blocks
        known = {name: column for name, column in self.gathered.items() if name not in gone}
        return Instances(self._turn, self._start, self._end, blocks, known)

    def with_columns(self, columns: Mapping[str, Column]) -> Instances:
        """Return the instances with more columns, which hide those of the same names."""
        kept = (block.without(columns) for block in self.blocks)
        return Instances(self._turn, self._start, self._end, (*kept, ColumnBlock(columns)))

    def at_turns(self, turn: Integers) -> Instances:
        """Return the instances with other turns."""
        return Instances(turn, self._start, self._end, self.blocks, self.gathered)

    def only(self, names: Iterable[str]) -> Instances:
        """Return the instances with some of their columns, each gathered for itself: what is kept for later."""
        columns = {name: self.column(name).shrunk() for name in names}
        return Instances(self.turn, self.start, self.end, (ColumnBlock(columns),))


def nothing(types: Mapping[str, str]) -> Instances:
    """Return no instances, of variables of some types."""
    none = np.zeros(0, np.int64)
    return Instances(none, none, none, (ColumnBlock({name: from_values((), kind) for name, kind in types.items()}),))


def stack_blocks(old: Instances, new: Instances, names: Sequence[str]) -> tuple[ColumnBlock | Stacked, ...]:
    """Return the columns of old instances and new ones below each other, without moving them."""
    if not len(old):
        return new.blocks
    if not len(new):
        return old.blocks
    blocks: list[ColumnBlock | Stacked] = []
    left = dict.fromkeys(names)
    for block in new.blocks:
        mine = [name for name in left if name in block.columns]
        for name in mine:
            del left[name]
        if isinstance(block, ColumnBlock):
            below = ColumnBlock({name: block.columns[name] for name in mine}, block.rows)
        else:
            below = ColumnBlock({name: new.column(name) for name in mine})
        rows = _rows_of(below, old)
        if rows is not None:
            blocks.append(ColumnBlock(below.columns, np.concatenate([rows, below.rows])))
        else:
            blocks.append(Stacked(ColumnBlock({name: old.column(name) for name in mine}), below))
    return tuple(blocks)


def _rows_of(block: ColumnBlock, instances: Instances) -> Integers | None:
    """Return the rows of the very columns of a block that other instances refer to, if they do."""
    for other in instances.blocks if block.rows is not None else ():
        if isinstance(other, ColumnBlock) and all(
            other.columns.get(v) is column for v, column in block.columns.items()
        ):
            return other.rows
    return None


def stack(parts: Sequence[Instances], names: Sequence[str]) -> Instances:
    """Return several instances below each other, with some of their columns."""
    filled = [part for part in parts if len(part)] or list(parts[-1:])
    if len(filled) == 1:
        return filled[0]
    columns = {name: concat([part.column(name) for part in filled]) for name in names}
    turn, start, end = (np.concatenate([getattr(part, name) for part in filled]) for name in ("turn", "start", "end"))
    return Instances(turn, start, end, (ColumnBlock(columns),))
