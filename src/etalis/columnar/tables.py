"""What kernels need around them: tables that are large enough, arrays that grow, and plain answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from etalis.columnar import kernels as k
from etalis.columnar.columns import Column, Flags, Integers, key_rows, numbers_of
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
_PAIR = (("left", np.int64), ("right", np.int64), ("arrived", bool))


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


@dataclass(slots=True)
class Joining:
    """A join under way: two sides in one set of arrays, `count` of the left side first, and what waits of them."""

    matching: Matching
    count: int
    turn: Integers
    start: Integers
    end: Integers
    limit: Integers
    keys: Any
    alive: Flags
    cursor: Any
    desk: Desk
    table: Any = field(init=False)
    links: tuple[Any, Any, Any] = field(init=False)

    def __post_init__(self) -> None:
        n = len(self.turn)
        self.links = (self.desk.array("lists", 4 * n), self.desk.array("after", n), self.desk.array("before", n))
        self.rebuild()

    @property
    def is_over(self) -> bool:
        return bool(self.cursor[k.LEFT] >= self.count and self.cursor[k.RIGHT] >= len(self.turn)) and not self.is_torn

    @property
    def is_torn(self) -> bool:
        """Whether an arrival has more pairs to come."""
        return bool(self.cursor[k.CANDIDATE] != k.NEXT)

    def rebuild(self) -> None:
        """Put what waits into a table with room for as many keys again."""
        waiting = np.flatnonzero(self.alive)
        size = _SMALL
        while size < 4 * len(waiting):
            size *= 2
        self.table = np.full(2 * size, -1)
        self.cursor[k.USED] = k.rebuild(waiting, self.count, self.start, self.end, self.keys, self.table, *self.links)

    def pairs(self, most: int) -> tuple[Integers, Integers, Flags]:
        """Return the next pairs, those of one arrival complete: left, right, whether the right one came last.

        At least `most` unless it is over; without a bound that is all of them.
        """
        m = self.matching
        room = min(len(self.turn) + 1, most) if m.select else max(1024, min(len(self.turn), most))
        found: list[tuple[Any, Any, Any]] = []
        total = 0
        while not self.is_over and (total < most or self.is_torn):
            left, right, arrived = (self.desk.array(f"{name} {len(found)}", room, t) for name, t in _PAIR)
            self.cursor[k.FOUND] = 0
            k.join(
                m.select, m.consume, m.keep, m.relation, m.occurs_on, m.window, *m.retain, self.count, self.turn,
                self.start, self.end, self.limit, self.keys, self.alive, self.table, *self.links, left, right, arrived,
                self.cursor,
            )  # fmt: skip
            count = int(self.cursor[k.FOUND])
            found.append((left[:count], right[:count], arrived[:count]))
            total += count
            if not self.is_torn and not self.is_over:
                self.rebuild()
        if len(found) == 1:
            return found[0]
        empty = (np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, bool))
        several = zip(empty, *found, strict=True)
        left, right, arrived = (np.concatenate(parts) for parts in several)
        return left, right, arrived


def choose(matching: Matching, pairs: tuple[Any, Any, Any], passes: Flags, alive: Flags) -> Flags:
    """Return which pairs a policy that consumes matches, of all that could be; `alive` tells then what still waits."""
    chosen = np.zeros(len(passes), bool)
    k.choose(matching.select, *pairs, passes, alive, chosen)
    return chosen


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
            return [numbers[0] for numbers in alone]
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


def merge(a: Integers, b: Integers) -> Integers:
    """Return the order that merges two sorted arrays, of equals those of the first one first."""
    order = np.empty(len(a) + len(b), np.int64)
    k.merge(a, b, order)
    return order


def sort_out(numbers: Integers, count: int) -> list[Integers]:
    """Return, for each number below `count`, the places where it stands.

    >>> [places.tolist() for places in sort_out(np.array([1, 0, -1, 1]), 2)]
    [[1], [0, 3]]
    """
    first, order = np.zeros(count + 2, np.int64), np.empty(len(numbers), np.int64)
    k.sort_out(np.ascontiguousarray(numbers, np.int64), first, order)
    return np.split(order[: first[count]], first[1:count])
