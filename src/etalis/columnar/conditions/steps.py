"""A goal as steps over columns: each takes rows to its solutions, and tells which rows it leaves in doubt.

A look-up gives each row as often as it has solutions, in the order of the facts; any other step leaves out rows. So
what is left of a row are the solutions of the goal, in the order in which the solver finds them. Law: a row that no
step leaves in doubt has exactly these solutions, and raises nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from etalis.columnar.conditions.arithmetic import InexactError, either
from etalis.columnar.conditions.arrays import truth, values
from etalis.columnar.data.columns import EXACT, Column, Flags, Integers, concat, from_values
from etalis.columnar.data.instances import ColumnBlock, Instances
from etalis.logic.inline import python_source as n
from etalis.temporal.interval import MICROSECONDS

MOST = 1 << 22  # solutions of all rows that are looked at together


class SpreadError(Exception):
    """Rows have more solutions than are looked at together."""


@dataclass(frozen=True, slots=True)
class Found:
    """The row of every solution, None if each has one, what these bind, and which rows are in doubt."""

    kept: Integers | None = None
    bound: ColumnBlock | None = None
    doubt: Flags | None = None


class GoalStep(Protocol):
    """A part of a goal."""

    def find(self, rows: Instances) -> Found:
        """Return the solutions of rows."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """A test over values that are there; where arrays cannot tell, `otherwise` does."""

    node: n.Node
    reads: tuple[str, ...]
    otherwise: GoalStep

    def find(self, rows: Instances) -> Found:
        """Return the rows that pass."""
        try:
            passes, doubt = self.judge(rows)
        except InexactError:
            return self.otherwise.find(rows)
        return Found(None if passes.all() else np.flatnonzero(passes), None, doubt)

    def judge(self, rows: Instances) -> tuple[Flags, Flags | None]:
        """Return which rows pass, and which are in doubt."""
        return truth(self.node, {v: rows.column(v) for v in self.reads}, len(rows))


@dataclass(frozen=True, slots=True)
class Comparisons:
    """Tests one after the other, which rows that pass one come to the next of."""

    parts: tuple[Comparison, ...]

    def find(self, rows: Instances) -> Found:
        """Return the rows that pass."""
        try:
            passes, doubt = self.judge(rows)
        except InexactError:
            found = follow(self.parts, rows, ())
            return Found(found.kept, None, found.doubt)
        return Found(None if passes.all() else np.flatnonzero(passes), None, doubt)

    def judge(self, rows: Instances) -> tuple[Flags, Flags | None]:
        """Return which rows pass, and which are in doubt."""
        passes, doubt = self.parts[0].judge(rows)
        for part in self.parts[1:]:
            more, unsure = part.judge(rows)
            doubt = either(doubt, None if unsure is None else unsure & passes)
            passes = passes & more
        return passes, doubt


@dataclass(frozen=True, slots=True)
class Calculation:
    """A variable that gets its value from others; where arrays cannot tell, `otherwise` does."""

    node: n.Bind
    reads: tuple[str, ...]
    otherwise: GoalStep

    def find(self, rows: Instances) -> Found:
        """Return all rows, and what is bound."""
        try:
            column, doubt = values(self.node.value, {v: rows.column(v) for v in self.reads}, len(rows))
        except InexactError:
            return self.otherwise.find(rows)
        return Found(None, ColumnBlock({self.node.name: column}), doubt)


@dataclass(frozen=True, slots=True)
class Moment:
    """The start (`t1`) or end (`t2`) of matches in seconds: an integer where it is whole, else a float."""

    name: str
    which: str

    def find(self, rows: Instances) -> Found:
        """Return all rows, and what is bound."""
        times = rows.start if self.which == "t1" else rows.end
        seconds = times // MICROSECONDS
        whole = seconds * MICROSECONDS == times
        if whole.all():
            return Found(None, ColumnBlock({self.name: Column("int", seconds)}))
        far = (times > EXACT) | (times < -EXACT)
        data = times / MICROSECONDS
        column = Column("number", data, None, None, whole) if whole.any() else Column("float", data)
        return Found(None, ColumnBlock({self.name: column}), far if far.any() else None)


def places_of(counts: Integers, group: Integers) -> Integers:
    """Return where the solutions of every row are among those of all groups, which have so many each."""
    mine = counts[group]
    ahead = np.cumsum(mine) - np.cumsum(counts)[group]
    return np.arange(mine.sum()) - np.repeat(ahead, mine)


@dataclass(frozen=True, slots=True)
class Solved:
    """The row of every solution, in order, what these bind, and which rows are in doubt: these have none here."""

    kept: Integers
    bound: Mapping[str, Column]
    doubt: Flags | None


def follow(steps: Sequence[GoalStep], rows: Instances, wanted: Sequence[str]) -> Solved:
    """Take rows through all steps; return the solutions with some of what they bind."""
    try:
        return _follow(steps, rows, wanted)
    except SpreadError:
        if len(rows) == 1:  # it is asked
            empty = {name: from_values((), "term") for name in wanted}
            return Solved(np.zeros(0, np.int64), empty, np.ones(1, bool))
        half = len(rows) // 2
        parts = [follow(steps, rows.take(part), wanted) for part in np.split(np.arange(len(rows)), [half])]
        kept = np.concatenate([parts[0].kept, parts[1].kept + half])
        bound = {name: concat([part.bound[name] for part in parts]) for name in wanted}
        if parts[0].doubt is None and parts[1].doubt is None:
            return Solved(kept, bound, None)
        sides = [
            np.zeros(size, bool) if part.doubt is None else part.doubt
            for part, size in zip(parts, (half, len(rows) - half), strict=True)
        ]
        return Solved(kept, bound, np.concatenate(sides))


def _follow(steps: Sequence[GoalStep], rows: Instances, wanted: Sequence[str]) -> Solved:
    origin: Integers | None = None
    doubtful: Flags | None = None
    here = rows
    for step in steps:
        found = step.find(here)
        kept, bound = found.kept, found.bound
        if found.doubt is not None and found.doubt.any():
            doubtful = np.zeros(len(rows), bool) if doubtful is None else doubtful
            doubtful[found.doubt if origin is None else origin[found.doubt]] = True
            sure = np.flatnonzero(~(found.doubt if kept is None else found.doubt[kept]))
            kept = sure if kept is None else kept[sure]
            bound = None if bound is None else bound.take(sure)
        if kept is not None:
            here = here.take(kept)
            origin = kept if origin is None else origin[kept]
        if bound is not None:
            here = here.beside(bound)
    origin = np.arange(len(rows)) if origin is None else origin
    if doubtful is not None:  # of several solutions of a row one may be in doubt
        sure = np.flatnonzero(~doubtful[origin])
        if len(sure) < len(origin):
            here, origin = here.take(sure), origin[sure]
    return Solved(origin, {name: here.column(name) for name in wanted}, doubtful)
