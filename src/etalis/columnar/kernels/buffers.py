"""What kernels need around them: arrays that serve again, tables that are large enough, and plain answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from etalis.columnar.data.columns import Column, Flags, Integers, key_columns, own
from etalis.columnar.kernels import blockers as b
from etalis.columnar.kernels import hash_tables as h
from etalis.columnar.kernels import rows as r

_KEPT = (32 << 20) - (64 << 10)  # bytes, a little less than the largest piece that GNU's allocator may keep
SMALL = 256  # places of a hash table at least
_WIDEST = 1 << 62  # as many rows of keys have a word each
_FEW_CODES = 6  # as many passes of NumPy are faster than the two of a kernel that sorts them out at once


@cache
def keep_freed_memory() -> None:
    """Let the system's allocator keep memory that arrays gave back, up to some tens of megabytes.

    That of GNU gives large pieces back to the system at once, whose pages then cost more than what is done in them. It
    keeps pieces up to the largest one that it has seen freed, so one is, of which no page is touched.
    """
    np.empty(_KEPT, np.uint8)


class Buffers:
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
class CodeSpan:
    """Between which values rows of keys lie, column by column, and by which factors they add up to one number each."""

    low: Integers
    high: Integers
    factor: Integers
    size: int  # how many rows could be told apart

    @staticmethod
    def of(columns: Sequence[Sequence[Integers]]) -> CodeSpan | None:
        """Return the span of some columns, each in several parts; None if it is too wide for a word, or of no row."""
        filled = [[part for part in parts if len(part)] for parts in columns]
        if not all(filled):
            return None
        lows = [min(int(part.min()) for part in parts) for parts in filled]
        highs = [max(int(part.max()) for part in parts) for parts in filled]
        factors, size = [], 1
        for low, high in zip(reversed(lows), reversed(highs), strict=True):  # of Python, which do not overflow
            factors.append(size)
            size *= high - low + 1
            if size > _WIDEST:
                return None
        least, most, factor = (np.array(part, np.int64) for part in (lows, highs, factors[::-1]))
        return CodeSpan(least, most, factor, size)

    def number(self, columns: Sequence[Integers]) -> Integers:
        """Return one number for each row."""
        found: Integers = (columns[0] - self.low[0]) * self.factor[0]
        for column, low, factor in zip(columns[1:], self.low[1:], self.factor[1:], strict=True):
            found += (column - low) * factor
        return found


@dataclass(slots=True)
class KeyIndex:
    """The distinct rows of keys by number, in the order in which they come first.

    Where their values lie close together, as codes do, each possible row has a place; else there is a hash table.
    """

    keys: Any
    owner: Any = field(init=False)
    number: Any = field(init=False)
    first: Integers = field(init=False)
    group: Integers = field(init=False)
    span: CodeSpan | None = field(init=False)

    def __post_init__(self) -> None:
        count, width = self.keys.shape
        first, self.group = np.empty(count, np.int64), np.empty(count, np.int64)
        span = CodeSpan.of([[self.keys[:, c]] for c in range(width)]) if width else None
        self.span = span if span is not None and span.size <= max(SMALL, 2 * count) else None
        if self.span is not None:
            self.number = np.full(self.span.size, -1)
            found = h.number_codes(self.keys, self.span.low, self.span.factor, self.number, first, self.group)
        else:
            size = SMALL
            while size < 2 * count:
                size *= 2
            self.owner, self.number = np.full(size, -1), np.empty(size, np.int64)
            found = h.number_keys(self.keys, self.owner, self.number, first, self.group)
        self.first = first[:found]

    def by_group(self) -> tuple[Integers, Integers]:
        """Return the rows of one group after the other, and where every group begins and the last one ends."""
        short = len(self.first) <= 1 << 16  # numbers of 16 bits are sorted digit by digit
        order = np.argsort(self.group.astype(np.uint16) if short else self.group, kind="stable")
        return order, np.concatenate([[0], np.cumsum(np.bincount(self.group, minlength=len(self.first)))])

    def find(self, keys: Any) -> Integers:
        """Return the numbers of other rows of keys, -1 for those that are not among these."""
        group = np.empty(len(keys), np.int64)
        if self.span is not None:
            h.find_codes(keys, self.span.low, self.span.high, self.span.factor, self.number, group)
        else:
            h.find_keys(keys, self.keys, self.owner, self.number, group)
        return group


def code_keys(
    sides: Sequence[Sequence[Column]], counts: Sequence[int], more: Sequence[Sequence[Integers]] = ()
) -> list[Integers]:
    """Return, per side, a number per row; numbers are equal exactly where the sides' columns are, place by place.

    They tell `more` columns of each side apart, too, if a word holds all of them.
    """
    rows = key_columns(sides)
    if more and more[0]:
        wider = [[*numbers, *others] for numbers, others in zip(rows, more, strict=True)]
        span = CodeSpan.of(list(zip(*wider, strict=True)))
        if span is not None:
            return [span.number(numbers) for numbers in wider]
    if not rows[0]:
        return [np.zeros(count, np.int64) for count in counts]
    if len(rows[0]) == 1:
        return [own(numbers[0]) for numbers in rows]
    span = CodeSpan.of(list(zip(*rows, strict=True)))
    if span is not None:
        return [span.number(numbers) for numbers in rows]
    group = KeyIndex(np.concatenate([np.stack(numbers, axis=1) for numbers in rows])).group
    return np.split(group, np.cumsum(counts)[:-1])


class BlockerIndex:
    """Occurrences of a negated pattern, which end in order, by key."""

    def __init__(self, keys: Any, start: Integers, end: Integers) -> None:
        self.known = KeyIndex(keys)
        first = np.zeros(len(self.known.first) + 1, np.int64)
        self.groups = b.BlockerGroups(first, np.empty(len(keys), np.int64), np.empty(len(keys), np.int64))
        b.arrange(self.known.group, start, end, self.groups)

    def hit(self, keys: Any, low: Integers, high: Integers) -> Flags:
        """Tell for each question whether a blocker of its key has low < start and end < high."""
        answers = np.zeros(len(keys), bool)
        b.blocked(self.known.find(keys), low, high, self.groups, self.groups.first.copy(), answers)
        return answers

    def lower(self, limit: Integers, keys: Any, moment: Integers) -> None:
        """Lower each limit to the end of the first blocker of its key that starts after a moment."""
        b.first_after(self.known.find(keys), moment, self.groups, limit)

    def raise_(self, limit: Integers, keys: Any, moment: Integers) -> None:
        """Raise each limit to the latest start of a blocker of its key that ended before a moment."""
        b.latest_before(self.known.find(keys), moment, self.groups, limit)


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
