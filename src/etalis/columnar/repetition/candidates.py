"""Left sides of a repetition in lists, one per group, in order of rank, and which others may be matched with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from etalis.columnar.data.columns import Integers, key_rows
from etalis.columnar.data.instances import Instances
from etalis.columnar.kernels import lists as l
from etalis.columnar.kernels import repetition as k
from etalis.columnar.kernels.buffers import KeyIndex


@dataclass(frozen=True, slots=True)
class GroupLists:
    """Lists of left sides, one per group: the group of each row, the lists, and how many there are in each."""

    group: Integers
    lists: l.Lists
    size: Integers

    @staticmethod
    def of(sides: Sequence[Instances], names: Sequence[str]) -> GroupLists:
        """Return empty lists for the left sides, which come first, and others by the values of some variables."""
        rows = key_rows([[side.column(v) for v in names] for side in sides], list(map(len, sides)))
        known = KeyIndex(np.concatenate(rows))
        count, groups = len(sides[0]), len(known.first)
        lists = l.Lists(np.full(2 * groups, -1), np.empty(count, np.int64), np.empty(count, np.int64))
        return GroupLists(known.group, lists, np.zeros(groups, np.int64))

    def put(self, rows: Integers, end: Integers, start: Integers) -> None:
        """Put left sides in."""
        l.put_in_order(rows, self.group, end, start, self.lists, self.size)

    def pairs(self, left: Instances, others: Instances, own: int, window: int) -> tuple[Integers, Integers]:
        """Return all pairs of left sides with others of their groups that start after them, within a window.

        From `own` on (-1: none) left sides are the others, and pairs with themselves, too.
        """
        count = len(left)
        group = self.group[count:] if own < 0 else self.group[own:]
        order = np.lexsort((left.end, self.group[:count]))
        begins = np.searchsorted(self.group[order], np.arange(len(self.size) + 1))
        lefts = k.ByEnd(begins, order, left.start, left.end)
        at, found = np.empty(len(others) + 1, np.int64), np.zeros(0, np.int64)
        for _ in range(2):  # to count them, and to list them
            k.list_pairs(own, window, group, others.start, others.end, lefts, at, found)
            found = np.empty(at[-1], np.int64) if not len(found) else found
        return found, np.repeat(np.arange(len(others)), np.diff(at))
