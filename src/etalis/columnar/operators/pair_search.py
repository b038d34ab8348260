"""The pairs of a join, found by one of two kernels, as many as are asked for at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from etalis.columnar.data.columns import Flags, Integers
from etalis.columnar.kernels import following as f
from etalis.columnar.kernels import join as k
from etalis.columnar.kernels import rows as r
from etalis.columnar.kernels.buffers import SMALL, Buffers
from etalis.columnar.kernels.join import ArrivingRows, Pairs
from etalis.columnar.kernels.lists import Lists
from etalis.columnar.kernels.matching import NEWEST_BY_TURN, Matching

_PAIR = (("left", np.int64), ("right", np.int64), ("arrived", bool))
_PLACE = np.int32  # of what waits: two billion do not fit into memory, and half as large is nearer
_NONE = np.zeros(0, np.int64)
_REBUILDS = 8  # of a table whose rows go as fast as others come, at most, or not many more
_BEGINNING = -(1 << 62)
_NEAR = 4  # as many times as there are rows, numbers may be apart of which each is a place


def end_in_order(rows: ArrivingRows) -> bool:
    """Tell whether rows stand in the order of (end, start)."""
    start, end = rows.start, rows.end
    later = end[1:] > end[:-1]
    return bool(later.all() or (later | (end[1:] == end[:-1]) & (start[1:] >= start[:-1])).all())


def are_near(*several: Integers) -> bool:
    """Tell whether keys are near each other, as codes are, and numbers that count up."""
    filled = [keys for keys in several if len(keys)]
    if not filled:
        return False
    span = max(int(keys.max()) for keys in filled) - min(int(keys.min()) for keys in filled)
    return span <= _NEAR * sum(map(len, filled))


class PairSearch(ABC):
    """A join under way, and what is `alive` of both sides, the left one first.

    It `is_over` when all pairs are found, and `is_torn` while an arrival has more pairs to come.
    """

    matching: Matching
    limit: Integers
    alive: Flags
    buffers: Buffers
    cursor: Any
    is_over = False
    is_torn = False

    @abstractmethod
    def rebuild(self) -> None:
        """Leave what is not alive any more out of the table, which has room for as much again."""

    @abstractmethod
    def _search(self, pairs: Pairs) -> int:
        """Find pairs until there are enough, or no room; return how many."""

    def pairs(self, most: int) -> Pairs:
        """Return the next pairs, those of one arrival complete: left, right, whether the right one came last.

        At least `most` unless it is over; without a bound that is all of them.
        """
        arrivals = len(self.alive)
        room = min(arrivals + 1, 2 * most) if self.matching.select else max(1024, min(arrivals, 2 * most))
        found: list[Pairs] = []  # of which the last one has room for more
        total = count = 0
        while not self.is_over and (total < most or self.is_torn):
            if not found or count == room:
                found.append(Pairs(*(self.buffers.array(f"{name} {len(found)}", room, t) for name, t in _PAIR)))
                count = 0
            left, right, arrived, _ = found[-1]
            more = self._search(Pairs(left[count:], right[count:], arrived[count:], max(most - total, 1)))
            count, total = count + more, total + more
        if not found:
            return Pairs(_NONE, _NONE, np.zeros(0, bool))
        found[-1] = Pairs(*(each[:count] for each in found[-1][:3]))
        if len(found) == 1 and self.is_over:  # else the buffers will be used again before these are done with
            return found[0]
        left, right, arrived = (np.concatenate([pairs[i] for pairs in found]) for i in range(3))
        return Pairs(left, right, arrived)


class JoinSearch(PairSearch):
    """A join in which either side may wait for the other: both in one set of arrays, `count` of the left side first.

    The first ones of either side, as many as `old` tells, have waited before.
    """

    def __init__(
        self,
        matching: Matching,
        both: ArrivingRows,
        count: int,
        old: tuple[int, int],
        limit: Integers,
        buffers: Buffers,
    ) -> None:
        self.matching, self.both, self.count, self.limit, self.buffers = matching, both, count, limit, buffers
        n = len(both.turn)
        self.alive = buffers.array("alive", n, bool)
        self.alive[:] = False
        self.alive[: old[0]] = True
        self.alive[count : count + old[1]] = True
        self.lists = Lists(*(buffers.array(v, m * n, _PLACE) for v, m in (("lists", 4), ("after", 1), ("before", 1))))
        self.cursor = np.zeros(k.PLACES, np.int64)
        self.cursor[[k.LEFT, k.RIGHT, k.CANDIDATE]] = old[0], count + old[1], k.NEXT
        self.low, self.now = [0, count], _BEGINNING
        self.near = are_near(both.keys)
        self.rebuild()

    def rebuild(self) -> None:
        """Put what waits, and can still match, into a table with room for as many keys again."""
        waiting = np.concatenate([self._waiting(side) for side in (0, 1)])
        size = SMALL
        while size < 4 * len(waiting) or size < len(self.alive) // _REBUILDS:
            size *= 2
        table = self.buffers.array("table of keys", 2 * size)
        table.fill(k.NONE)
        self.store = k.WaitingRows(self.alive, table, self.lists, self.near)
        self.cursor[k.USED] = k.rebuild(waiting, self.count, self.both, self.store)

    def _waiting(self, side: int) -> Integers:
        """Return what waits of a side; what was over at the latest end so far, is passed over from now on."""
        low, high = self.low[side], int(self.cursor[k.LEFT + side])
        rows = low + np.flatnonzero(self.alive[low:high])
        if self.matching.retain[side] >= 0:
            self.now = max(self.now, int(self.both.end[low:high].max(initial=self.now)))
            rows = rows[self.both.end[rows] >= self.now - self.matching.retain[side]]
            self.low[side] = int(rows[0]) if len(rows) else high
        return rows

    def _search(self, pairs: Pairs) -> int:
        """Find pairs until there are enough, or no room; return how many."""
        self.cursor[k.FOUND] = 0
        k.join(self.matching, self.both, self.count, self.limit, self.store, pairs, self.cursor)
        left, right, candidate, used, found = self.cursor[[k.LEFT, k.RIGHT, k.CANDIDATE, k.USED, k.FOUND]].tolist()
        self.is_torn = candidate != k.NEXT
        self.is_over = left >= self.count and right >= len(self.both.turn) and not self.is_torn
        if self.is_over and self.matching.keep == NEWEST_BY_TURN:
            waiting = np.flatnonzero(self.alive)
            self.alive[waiting[self.lists.after[waiting] >= 0]] = False
        if not self.is_torn and not self.is_over and 2 * used >= len(self.store.table) // 2:
            self.rebuild()
        return int(found)


class FollowingSearch(PairSearch):
    """A join whose right sides never wait; both sides end in order, `old` of the left ones have waited before.

    With `ebbs` left sides go when their limits are over.
    """

    def __init__(
        self, matching: Matching, left: ArrivingRows, right: ArrivingRows, old: int, limit: Integers, buffers: Buffers,
        *, ebbs: bool = False,
    ) -> None:  # fmt: skip
        self.matching, self.left, self.right, self.limit, self.buffers = matching, left, right, limit, buffers
        self.ebbs = ebbs
        self.near = are_near(left.keys, right.keys)
        n = len(left.turn)
        left.turn[:old] = -1
        self.alive = buffers.array("alive", n + len(right.turn), bool)
        self.alive[:n] = True
        self.alive[n:] = False
        self.waiting = buffers.array("waiting", n, _PLACE)
        self.waiting[:old] = np.arange(old)
        self.cursor = np.array([old, 0, f.FRESH, 0, old])
        self._make_room()

    def rebuild(self) -> None:
        """Leave what is not alive any more out of the table."""
        self.cursor[f.CANDIDATE] = f.FRESH

    def _make_room(self) -> None:
        size = 2 * f.BLOCK
        while size < 2 * self.cursor[f.WAITING]:
            size *= 2
        table = self.buffers.array("table", 2 * size, _PLACE)
        lists = self.buffers.array("lists", f.WIDTH * size, _PLACE)
        self.store = f.LeftBlock(self.alive, self.waiting, table, lists, self.near)

    def _search(self, pairs: Pairs) -> int:
        """Find pairs until there are enough, or no room; return how many."""
        self.cursor[f.FOUND] = 0
        f.follow(self.matching, self.left, self.right, self.limit, self.ebbs, self.store, pairs, self.cursor)
        left, right, candidate, found, _ = self.cursor.tolist()
        self.is_torn = candidate >= 0
        self.is_over = left >= len(self.left.turn) and right >= len(self.right.turn) and candidate == f.NEXT
        if candidate == f.FRESH:
            self._make_room()
        pairs.arrived[:found] = True
        return int(found)


def choose(matching: Matching, count: int, pairs: Pairs, passes: Flags, alive: Flags) -> Flags:
    """Return which pairs a policy that consumes matches, of all that could be; `alive` tells then what still waits.

    `count` are of the left side, which comes first there.
    """
    chosen = np.zeros(len(passes), bool)
    k.choose(matching.select, count, pairs, passes, alive, chosen)
    return chosen


def occur(matching: Matching, sides: Sequence[Any], pairs: Pairs) -> r.RowTimes:
    """Return turns, starts and ends of pairs."""
    found = r.RowTimes(*(np.empty(len(pairs.left), np.int64) for _ in range(3)))
    a, b = (r.RowTimes(side.turn, side.start, side.end) for side in sides)
    r.occur(matching.occurs_on, pairs, a, b, found)
    return found
