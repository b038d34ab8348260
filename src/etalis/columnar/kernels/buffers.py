"""What kernels need around them: tables that are large enough, arrays that grow, and plain answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from etalis.columnar.data.columns import Column, Flags, Integers, key_rows, numbers_of, own
from etalis.columnar.kernels import following as f
from etalis.columnar.kernels import join as k
from etalis.columnar.kernels import rows as r
from etalis.plan.retention import retention
from etalis.temporal.policy import Policy
from etalis.temporal.relation import Relation

_SELECT = {"all": k.ALL, "together": k.ALL, "earliest": k.EARLIEST, "latest": k.LATEST}
_KEEP = {"always": k.ALWAYS, "unmatched": k.UNMATCHED, "newest": k.NEWEST}
_PAIRS = (("a1", "b1"), ("a1", "b2"), ("a2", "b1"), ("a2", "b2"), ("a1", "a2"), ("b1", "b2"))  # three bits each
_BITS = {"<": 0b001, "<=": 0b011, "=": 0b010}
_SWAPPED = {"<": 0b100, "<=": 0b110, "=": 0b010}
_OCCURS = {"hull": k.HULL, "a": k.ON_A, "b": k.ON_B}
_SMALL = 256
_FEW_CODES = 6  # as many passes of NumPy are faster than the two of a kernel that sorts them out at once
_PAIR = (("left", np.int64), ("right", np.int64), ("arrived", bool))
PLACE = np.int32  # of what waits: two billion do not fit into memory, and half as large is nearer
_NONE = np.zeros(0, np.int64)


class Desk:
    """Arrays that serve one batch after the other: memory that is new costs more than what is done in it."""

    def __init__(self) -> None:
        self.arrays: dict[str, Any] = {}

    def array(self, name: str, count: int, kind: type = np.int64) -> Any:
        """Return an array that nobody needs any more when it is asked for again; what it holds is not defined."""
        found = self.arrays.get(name)
        if found is None or len(found) < count:
            found = self.arrays[name] = np.empty(count + count // 4, kind)
        return found[:count]

    def below(self, name: str, parts: Sequence[Any]) -> Any:
        """Return arrays of integers below each other."""
        return np.concatenate(parts, out=self.array(name, sum(map(len, parts))))


@dataclass(frozen=True, slots=True)
class Matching:
    """How two sides match, in numbers: what the kernel takes of relation, policy and window."""

    select: int
    consume: bool
    keep: int
    relation: int
    occurs_on: int
    window: int
    retain: tuple[int, int]

    @staticmethod
    def of(relation: Relation, policy: Policy, window: int | None) -> Matching:
        """Read the rows."""
        left, right = (retention(relation, place, window) for place in (0, 1))
        return Matching(
            _SELECT[policy.select], policy.consume, _KEEP[policy.keep], _relation(relation),
            _OCCURS[relation.occurs_on], -1 if window is None else window,
            (k.FOR_EVER if left is None else left, k.FOR_EVER if right is None else right),
        )  # fmt: skip

    def of_all_held(self, *, all_of_them: bool) -> Matching:
        """Return the one that keeps what is replaced while the event that did so is under way, and selects the latest.

        Or all of them, where more is asked of candidates.
        """
        select = k.ALL if all_of_them else self.select
        return Matching(select, self.consume, k.HELD, self.relation, self.occurs_on, self.window, self.retain)

    def without_policy(self) -> Matching:
        """Return the one that finds every pair and consumes none."""
        return Matching(k.ALL, False, k.ALWAYS, self.relation, self.occurs_on, self.window, self.retain)


def _relation(relation: Relation) -> int:
    """Return what a relation allows, as bits (`kernels.allows`)."""
    allowed = (1 << 3 * len(_PAIRS)) - 1
    for x, operator, y in relation.comparisons:
        pair, bits = ((x, y), _BITS[operator]) if (x, y) in _PAIRS else ((y, x), _SWAPPED[operator])
        at = 3 * _PAIRS.index(pair)
        allowed &= ~(0b111 << at) | bits << at
    return allowed


@dataclass(frozen=True, slots=True)
class Side:
    """What kernels see of instances."""

    turn: Integers
    start: Integers
    end: Integers
    keys: Integers

    def __len__(self) -> int:
        return len(self.turn)

    @property
    def ends_in_order(self) -> bool:
        """Whether they stand in the order of (end, start)."""
        start, end = self.start, self.end
        later = end[1:] > end[:-1]
        return bool(later.all() or (later | (end[1:] == end[:-1]) & (start[1:] >= start[:-1])).all())


class Search(ABC):
    """A join under way, and what is `alive` of both sides, the left one first.

    It `is_over` when all pairs are found, and `is_torn` while an arrival has more pairs to come.
    """

    matching: Matching
    limit: Integers
    alive: Flags
    desk: Desk
    cursor: Any
    is_over = False
    is_torn = False

    @abstractmethod
    def rebuild(self) -> None:
        """Leave what is not alive any more out of the table, which has room for as much again."""

    @abstractmethod
    def _search(self, pairs: tuple[Any, Any, Any], enough: int) -> int:
        """Find pairs until there are enough, or no room; return how many."""

    def pairs(self, most: int) -> tuple[Integers, Integers, Flags]:
        """Return the next pairs, those of one arrival complete: left, right, whether the right one came last.

        At least `most` unless it is over; without a bound that is all of them.
        """
        arrivals = len(self.alive)
        room = min(arrivals + 1, 2 * most) if self.matching.select else max(1024, min(arrivals, 2 * most))
        found: list[tuple[Any, Any, Any]] = []
        total = 0
        while not self.is_over and (total < most or self.is_torn):
            left, right, arrived = (self.desk.array(f"{name} {len(found)}", room, t) for name, t in _PAIR)
            count = self._search((left, right, arrived), max(most - total, 1))
            found.append((left[:count], right[:count], arrived[:count]))
            total += count
        if len(found) == 1 and self.is_over:  # else the desk's arrays will be used again before these are done with
            return found[0]
        several = zip((_NONE, _NONE, np.zeros(0, bool)), *found, strict=True)
        left, right, arrived = (np.concatenate(parts) for parts in several)
        return left, right, arrived


class Meeting(Search):
    """A join in which either side may wait for the other: both in one set of arrays, `count` of the left side first.

    The first ones of either side, as many as `old` tells, have waited before.
    """

    def __init__(
        self, matching: Matching, both: Side, count: int, old: tuple[int, int], limit: Integers, desk: Desk
    ) -> None:
        self.matching, self.both, self.count, self.limit, self.desk = matching, both, count, limit, desk
        n = len(both)
        self.alive = desk.array("alive", n, bool)
        self.alive[:] = False
        self.alive[: old[0]] = True
        self.alive[count : count + old[1]] = True
        self.links = desk.array("lists", 4 * n, PLACE), desk.array("after", n, PLACE), desk.array("before", n, PLACE)
        self.cursor = np.array([old[0], count + old[1], 0, k.NEXT, 0, 0, 0])
        self.rebuild()

    def rebuild(self) -> None:
        """Put what waits into a table with room for as many keys again."""
        waiting = np.flatnonzero(self.alive)
        size = _SMALL
        while size < 4 * len(waiting):
            size *= 2
        self.table = np.full(2 * size, -1)
        both = self.both
        self.cursor[k.USED] = k.rebuild(waiting, self.count, both.start, both.end, both.keys, self.table, *self.links)

    def _search(self, pairs: tuple[Any, Any, Any], enough: int) -> int:
        """Find pairs until there are enough, or no room; return how many."""
        m, both = self.matching, self.both
        self.cursor[k.FOUND] = 0
        k.join(
            m.select, m.consume, m.keep, m.relation, m.occurs_on, m.window, *m.retain, self.count, both.turn,
            both.start, both.end, self.limit, both.keys, self.alive, self.table, *self.links, *pairs, enough,
            self.cursor,
        )  # fmt: skip
        left, right, _, candidate, used, found, _ = self.cursor.tolist()
        self.is_torn = candidate != k.NEXT
        self.is_over = left >= self.count and right >= len(both) and not self.is_torn
        if self.is_over and m.keep == k.HELD:
            waiting = np.flatnonzero(self.alive)
            self.alive[waiting[self.links[1][waiting] >= 0]] = False
        if not self.is_torn and not self.is_over and 2 * used >= len(self.table) // 2:
            self.rebuild()
        return int(found)


class Following(Search):
    """A join whose right sides never wait; both sides end in order, `old` of the left ones have waited before.

    With `ebbs` left sides go when their limits are over.
    """

    def __init__(
        self, matching: Matching, left: Side, right: Side, old: int, limit: Integers, desk: Desk, *, ebbs: bool = False
    ) -> None:
        self.matching, self.left, self.right, self.limit, self.desk = matching, left, right, limit, desk
        self.ebbs = ebbs
        n = len(left)
        left.turn[:old] = -1
        self.alive = desk.array("alive", n + len(right), bool)
        self.alive[:n] = True
        self.alive[n:] = False
        self.waiting = desk.array("waiting", n, PLACE)
        self.waiting[:old] = np.arange(old)
        self.cursor = np.array([old, 0, f.FRESH, 0, old])
        self._make_room()

    def rebuild(self) -> None:
        """Leave what is not alive any more out of the table."""
        self.cursor[f.CANDIDATE] = f.FRESH

    def _make_room(self) -> None:
        size = 2 * f.STRETCH
        while size < 2 * self.cursor[f.WAITING]:
            size *= 2
        self.places = self.desk.array("table", 2 * size, PLACE), self.desk.array("lists", f.WIDTH * size, PLACE)

    def _search(self, pairs: tuple[Any, Any, Any], enough: int) -> int:
        """Find pairs until there are enough, or no room; return how many."""
        m, a, b = self.matching, self.left, self.right
        self.cursor[f.FOUND] = 0
        f.follow(
            m.select, m.consume, m.keep, m.relation, m.occurs_on, m.window, m.retain[0], self.ebbs, a.turn, a.start,
            a.end, self.limit, a.keys, b.turn, b.start, b.end, b.keys, self.alive, self.waiting, *self.places,
            *pairs[:2], enough, self.cursor,
        )  # fmt: skip
        left, right, candidate, found, _ = self.cursor.tolist()
        self.is_torn = candidate >= 0
        self.is_over = left >= len(a) and right >= len(b) and candidate == f.NEXT
        if candidate == f.FRESH:
            self._make_room()
        pairs[2][:found] = True
        return int(found)


def choose(matching: Matching, count: int, pairs: tuple[Any, Any, Any], passes: Flags, alive: Flags) -> Flags:
    """Return which pairs a policy that consumes matches, of all that could be; `alive` tells then what still waits.

    `count` are of the left side, which comes first there.
    """
    chosen = np.zeros(len(passes), bool)
    k.choose(matching.select, count, *pairs, passes, alive, chosen)
    return chosen


def occur(matching: Matching, sides: Sequence[Any], a: Integers, b: Integers, arrived: Flags) -> list[Integers]:
    """Return turns, starts and ends of pairs."""
    times = [np.empty(len(a), np.int64) for _ in range(3)]
    given = (getattr(side, name) for side in sides for name in ("turn", "start", "end"))
    r.occur(matching.occurs_on, a, b, arrived, *given, *times)
    return times


@dataclass(slots=True)
class Numbered:
    """The distinct rows of keys by number."""

    keys: Any
    owner: Any = field(init=False)
    number: Any = field(init=False)
    first: Integers = field(init=False)
    group: Integers = field(init=False)

    def __post_init__(self) -> None:
        count = len(self.keys)
        size = _SMALL
        while size < 2 * count:
            size *= 2
        self.owner, self.number = np.full(size, -1), np.empty(size, np.int64)
        first, self.group = np.empty(count, np.int64), np.empty(count, np.int64)
        self.first = first[: k.number_keys(self.keys, self.owner, self.number, first, self.group)]

    def find(self, keys: Any) -> Integers:
        """Return the numbers of other rows of keys, -1 for those that are not among these."""
        group = np.empty(len(keys), np.int64)
        k.find_keys(keys, self.keys, self.owner, self.number, group)
        return group


def code_keys(sides: Sequence[Sequence[Column]], counts: Sequence[int]) -> list[Integers]:
    """Return, per side, a number per row; numbers are equal exactly where the sides' columns are, place by place."""
    if all(len(columns) == 1 for columns in sides):
        alone = numbers_of([columns[0] for columns in sides])
        if len(alone[0]) == 1:
            return [own(numbers[0]) for numbers in alone]
    rows = key_rows(sides, counts)
    if not rows[0].shape[1]:
        return [np.zeros(count, np.int64) for count in counts]
    group = Numbered(np.concatenate(rows)).group
    return np.split(group, np.cumsum(counts)[:-1])


class Blockers:
    """Occurrences of a negated pattern, which end in order, by key."""

    def __init__(self, keys: Any, start: Integers, end: Integers) -> None:
        self.known = Numbered(keys)
        first = np.zeros(len(self.known.first) + 1, np.int64)
        self.groups = (first, np.empty(len(keys), np.int64), np.empty(len(keys), np.int64))
        k.arrange(self.known.group, start, end, *self.groups)

    def hit(self, keys: Any, low: Integers, high: Integers) -> Flags:
        """Tell for each question whether a blocker of its key has low < start and end < high."""
        answers = np.zeros(len(keys), bool)
        k.blocked(self.known.find(keys), low, high, *self.groups, answers)
        return answers

    def lower(self, limit: Integers, keys: Any, moment: Integers) -> None:
        """Lower each limit to the end of the first blocker of its key that starts after a moment."""
        k.first_after(self.known.find(keys), moment, *self.groups, limit)


def merge(a: Integers, b: Integers) -> tuple[Integers, Integers]:
    """Return the order that merges two sorted arrays, of equals those of the first one first, and both merged."""
    order, merged = np.empty(len(a) + len(b), np.int64), np.empty(len(a) + len(b), np.int64)
    r.merge(a, b, order, merged)
    return order, merged


def sort_out(codes: Any, numbers: Integers, count: int) -> list[Integers]:
    """Return, for each number below `count`, the places where a code stands for it.

    >>> [places.tolist() for places in sort_out(np.array([2, 0, 1, 2]), np.array([0, -1, 1]), 2)]
    [[1], [0, 3]]
    """
    if len(numbers) <= _FEW_CODES:
        return [np.flatnonzero(_any_of(codes, np.flatnonzero(numbers == number).tolist())) for number in range(count)]
    first, order = np.zeros(count + 2, np.int64), np.empty(len(codes), np.int64)
    r.sort_out(np.ascontiguousarray(codes, np.int32), numbers, first, order)
    return np.split(order[: first[count]], first[1:count])


def _any_of(codes: Any, several: Sequence[int]) -> Flags:
    """Tell where one of several codes stands."""
    if len(several) == 1:
        return codes == several[0]
    return np.logical_or.reduce([np.zeros(len(codes), bool), *(codes == code for code in several)])
