"""Blockers of absences: the intervals at which a negated pattern has occurred.

Blockers of a key are kept in order of end with the running maximum of their starts, so that "is there one with lo <
start and end < hi" is one binary search. Law: ends arrive in order.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from typing import Any

from etalis.runtime.operators.store import LOT, Fifo

BEFORE_TIME = -(1 << 200)
LEAST_TRIM = 64
SELDOM = 3  # times as long as a blocker matters, its key is looked at


class Blockers:
    """Occurrences of one negated pattern, by the values it shares with the left side.

    `keep`: how long one can matter (None: for ever). `first_only`: only the earliest end of a key is ever asked for.
    `watched`: a store of left sides with the same key; what arrives while none waits there can block nothing.
    """

    __slots__ = ("fifo", "first_only", "groups", "keep", "watched")

    def __init__(self, keep: int | None, first_only: bool, watched: dict[Any, Any] | None) -> None:
        self.groups: dict[Any, Any] = {}  # of each key a list of (end, latest start so far)
        self.keep = keep
        self.first_only = first_only
        self.watched = watched
        self.fifo = Fifo()

    def expire(self, now: int) -> None:
        """Let go what can block nothing that ends at a moment or later."""
        self._expire(now, len(self.fifo))

    def expire_lot(self, now: int) -> None:
        """Let go some of it, and say when there is more."""
        assert self.keep is not None
        self._expire(now, LOT)
        self.fifo.put_off(now, self.keep)

    def _expire(self, now: int, most: int) -> None:
        if self.keep is None:
            return
        limit = now - self.keep
        for _ in range(min(most, len(self.fifo))):
            end, old = self.fifo[0]
            if end >= limit:
                return
            self.fifo.popleft()
            group = self.groups.get(old)
            if group is not None:
                del group[: bisect_left(group, (limit,))]
                if not group:
                    del self.groups[old]

    def hit(self, key: Any, low: int, high: int) -> bool:
        """Tell whether something occurred with low < start and end < high."""
        group = self.groups.get(key)
        return group is not None and latest_start(group, high) > low

    def noted(self) -> Iterator[tuple[Any, int, int]]:
        """Yield what has occurred, each with its key: start (the latest so far) and end."""
        yield from ((key, start, end) for key, group in self.groups.items() for end, start in group)

    def note(self, key: Any, start: int, end: int) -> None:
        """Note one occurrence."""
        group = self.groups.get(key)
        if group is None:
            self.groups[key] = [(end, start)]
        elif not self.first_only:
            group.append((end, max(start, group[-1][1])))
        if self.keep is not None:
            self.fifo.append((end, key))


class LatestBlockers(Blockers):
    """Blockers of which only when the last began is ever asked, at deadlines: of each key its latest start, no more.

    What began too long ago blocks nothing, however long it took. A key stands in the queue once.
    """

    __slots__ = ()

    def __init__(self, keep: int) -> None:
        super().__init__(keep, False, None)

    def expire(self, now: int) -> None:
        """Let go what can block nothing that ends at a moment or later."""
        assert self.keep is not None
        gone = {key for key, start in self.groups.items() if start < now - self.keep}
        for key in gone:
            del self.groups[key]
        if gone:  # one that comes again is put into the queue anew
            waiting = [pair for pair in self.fifo if pair[1] not in gone]
            self.fifo.clear()
            self.fifo.extend(waiting)

    def expire_lot(self, now: int) -> None:
        """Let go some of it, and say when there is more."""
        assert self.keep is not None
        self._expire_keys(now, now - self.keep)
        self.fifo.put_off(now, SELDOM * self.keep)

    def _expire_keys(self, now: int, limit: int) -> None:
        """Let go keys of which nothing matters any more; look at others again later."""
        fifo, groups = self.fifo, self.groups
        for _ in range(min(LOT, len(fifo))):
            if fifo[0][0] >= limit:
                return
            key = fifo.popleft()[1]
            start = groups.get(key)
            if start is None:
                continue
            if start < limit:
                del groups[key]
            else:
                fifo.append((now, key))

    def hit(self, key: Any, low: int, high: int) -> bool:
        """Tell whether something occurred with low < start, before the deadline that is looked at."""
        del high
        return bool(self.groups.get(key, BEFORE_TIME) > low)

    def noted(self) -> Iterator[tuple[Any, int, int]]:
        """Yield what has occurred last of each key, as instants."""
        yield from ((key, start, start) for key, start in self.groups.items())

    def note(self, key: Any, start: int, end: int) -> None:
        """Note one occurrence."""
        known = self.groups.get(key)
        if known is None:
            self.fifo.append((end, key))
        self.groups[key] = start if known is None or start > known else known


def latest_start(group: list[tuple[int, int]], high: int) -> int:
    """Return when the last of those began that ended before a moment."""
    index = bisect_left(group, (high,))
    return group[index - 1][1] if index else BEFORE_TIME


class LooseBlockers:
    """Blockers whose shared values may be unbound on either side: an unbound one agrees with everything."""

    __slots__ = ("items", "keep", "trim_at")

    def __init__(self, keep: int | None) -> None:
        self.items: list[tuple[tuple[Any, ...], int, int]] = []
        self.keep = keep
        self.trim_at = LEAST_TRIM

    def add(self, key: tuple[Any, ...], start: int, end: int) -> None:
        """Note one occurrence."""
        self.items.append((key, start, end))
        if len(self.items) > self.trim_at:
            self.expire(end)
            self.trim_at = max(LEAST_TRIM, 2 * len(self.items))

    def expire(self, now: int) -> None:
        """Let go what can block nothing that ends at a moment or later."""
        if self.keep is not None:
            self.items[:] = [item for item in self.items if item[2] >= now - self.keep]

    def hit(self, key: tuple[Any, ...], low: int, high: int) -> bool:
        return any(low < start and end < high and agree(key, other) for other, start, end in self.items)


class JudgedBlockers(Blockers):
    """Blockers that conditions over blocker and match tell, each as (end, start, what these read of it).

    They stand by the shared values, and by those that a condition wants to be equal.
    """

    __slots__ = ()

    def __init__(self, keep: int | None) -> None:
        super().__init__(keep, False, None)

    def add(self, key: Any, values: tuple[Any, ...], start: int, end: int) -> None:
        """Note one occurrence."""
        group: list[Any] = self.groups.setdefault(key, [])
        group.append((end, start, values))
        if self.keep is not None:
            self.fifo.append((end, key))
            if end > self.fifo.due:
                self.expire_lot(end)

    def hit_judged(self, key: Any, low: int, high: int, judge: Callable[..., bool], asked: tuple[Any, ...]) -> bool:
        """Tell whether something occurred with low < start and end < high that the conditions hold for."""
        return judge(self.groups.get(key, ()), low, high, *asked)


class LooseJudgedBlockers(LooseBlockers):
    """Blockers that conditions tell, where nothing firm is shared; what these read of one follows its shared values."""

    __slots__ = ()

    def hit_judged(
        self, key: tuple[Any, ...], low: int, high: int, judge: Callable[..., bool], asked: tuple[Any, ...]
    ) -> bool:
        """Tell whether something occurred with low < start and end < high that the conditions hold for."""
        shared = len(key)
        for values, start, end in reversed(self.items):
            if end <= low:
                return False
            if agree(key, values[:shared]) and judge(((end, start, values),), low, high, *asked):
                return True
        return False


def agree(a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
    """Tell whether two tuples of values are equal where both are bound."""
    return all(x is None or y is None or x == y for x, y in zip(a, b, strict=True))


class EventLog:
    """All events of the kinds a program knows, for isolation: (start, end, id); `keep`: how long one can matter."""

    __slots__ = ("items", "keep", "trim_at")

    def __init__(self) -> None:
        self.items: list[tuple[int, int, int]] = []
        self.keep: int | None = None
        self.trim_at = LEAST_TRIM

    def add(self, start: int, end: int, number: int) -> None:
        """Note one event."""
        self.items.append((start, end, number))
        if len(self.items) > self.trim_at:
            self.trim(end)

    def trim(self, now: int) -> None:
        """Let go what can disturb nothing any more, and say when to look again."""
        self.expire(now)
        self.trim_at = max(LEAST_TRIM, 2 * len(self.items))

    def expire(self, now: int) -> None:
        """Let go what can disturb nothing that ends at a moment or later."""
        if self.keep is not None:
            self.items[:] = [item for item in self.items if item[1] >= now - self.keep]

    def latest_start(self, high: int) -> int:
        """Return when the last of those began that ended before a moment."""
        latest = BEFORE_TIME
        for start, end, _ in reversed(self.items):
            if end <= latest:  # and so it began no later
                break
            if end < high and start > latest:
                latest = start
        return latest

    def disturbed(self, ids: frozenset[int], low: int, high: int) -> bool:
        """Tell whether an event that is none of `ids` lies strictly between."""
        for start, end, number in reversed(self.items):
            if end <= low:
                return False
            if low < start and end < high and number not in ids:
                return True
        return False
