"""Where and how long the matches of a pattern can be: bounds on their length, start and end, in microseconds.

What two parts under a temporal relation come to is read off the relation's row: its comparisons, the parts' bounds and
the origin of time are differences between five points, and the shortest paths between these say which are possible
(Dechter, Meiri, Pearl 1991). Law: every match lies within the bounds; where there is no extent there is no match.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from math import inf

from etalis.language.check.wording import seconds
from etalis.temporal.relation import Relation

Bounds = tuple[float, float]
ALWAYS: Bounds = (-inf, inf)


@dataclass(frozen=True, slots=True)
class Extent:
    """The least and the greatest length, start and end of what a pattern matches."""

    length: Bounds = (0, inf)
    start: Bounds = ALWAYS
    end: Bounds = ALWAYS

    def narrowed(self) -> Extent | None:
        """Return the extent with what its bounds say about each other; None if they exclude each other."""
        (short, long), (s1, s2), (e1, e2) = self.length, self.start, self.end
        for _ in range(2):
            short, long = max(0, short, e1 - s2), min(long, e2 - s1)
            s1, s2 = max(s1, e1 - long), min(s2, e2 - short)
            e1, e2 = max(e1, s1 + short), min(e2, s2 + long)
        return Extent((short, long), (s1, s2), (e1, e2)) if short <= long and s1 <= s2 and e1 <= e2 else None

    def limited(self, window: float) -> Extent | None:
        """Return the extent of those matches that a window leaves."""
        return Extent((self.length[0], min(self.length[1], window)), self.start, self.end).narrowed()

    def lengthened(self, duration: int) -> Extent:
        """Return the extent of what ends so much later."""
        (short, long), (e1, e2) = self.length, self.end
        return Extent((short + duration, long + duration), self.start, (e1 + duration, e2 + duration))

    def repeated(self, least: int, *, once: bool) -> Extent | None:
        """Return the extent of so many matches or more, one after the other; of just one if it can be only one."""
        if once:
            return self
        shortest = least * self.length[0] + least - 1
        return Extent((shortest, inf), (self.start[0], self.start[1]), self.end).narrowed()


ANYWHERE = Extent()
INSTANT = Extent((0, 0))


def at(time: int) -> Extent:
    """Return the extent of a point in time."""
    return Extent((0, 0), (time, time), (time, time))


def either(several: Iterable[Extent | None]) -> Extent | None:
    """Return the smallest extent around all of some; None if none of them is possible.

    >>> either([at(1), None, at(3)])
    Extent(length=(0, 0), start=(1, 3), end=(1, 3))
    """
    found = [each for each in several if each is not None]
    if len(found) < 2:
        return found[0] if found else None
    return Extent(
        _around(each.length for each in found),
        _around(each.start for each in found),
        _around(each.end for each in found),
    )


def _around(several: Iterable[Bounds]) -> Bounds:
    lows, highs = zip(*several, strict=True)
    return min(lows), max(highs)


def widened(old: Extent, new: Extent) -> Extent:
    """Return an extent around both in which every bound that has moved is given up, so that no bound moves for ever."""
    return Extent(
        (old.length[0] if new.length[0] >= old.length[0] else 0, _kept(old.length, new.length)[1]),
        _kept(old.start, new.start),
        _kept(old.end, new.end),
    )


def _kept(old: Bounds, new: Bounds) -> Bounds:
    return old[0] if new[0] >= old[0] else -inf, old[1] if new[1] <= old[1] else inf


_POINTS = {"a1": 1, "a2": 2, "b1": 3, "b2": 4}


@lru_cache(maxsize=4096)
def relate(relation: Relation, a: Extent, b: Extent) -> Extent | None:
    """Return the extent of two parts under a relation; None if the relation cannot hold between them.

    >>> from etalis.temporal.relation import RELATIONS
    >>> relate(RELATIONS["seq"], at(5), at(3)), relate(RELATIONS["seq"], at(5), at(7)).length
    (None, (2, 2))
    >>> relate(RELATIONS["during"], ANYWHERE, INSTANT) is None
    True
    """
    upper = differences(relation, a, b)
    if upper is None:
        return None
    ends = {"a": ((1, 2),), "b": ((3, 4),)}.get(relation.occurs_on, ((1, 2), (3, 4), (1, 4), (3, 2)))
    starts, stops = {i for i, _ in ends}, {j for _, j in ends}
    length = max(-upper[j][i] for i, j in ends), max(upper[i][j] for i, j in ends)
    start = min(-upper[i][0] for i in starts), min(upper[0][i] for i in starts)
    end = max(-upper[j][0] for j in stops), max(upper[0][j] for j in stops)
    return Extent(length, start, end)


@lru_cache(maxsize=4096)
def differences(relation: Relation, a: Extent, b: Extent) -> tuple[tuple[float, ...], ...] | None:
    """Return the greatest difference from each point to each, of the origin, a1, a2, b1, b2; None if there is none."""
    upper: list[list[float]] = [[0 if i == j else inf for j in range(5)] for i in range(5)]

    def say(i: int, j: int, bounds: Bounds) -> None:
        upper[i][j] = min(upper[i][j], bounds[1])
        upper[j][i] = min(upper[j][i], -bounds[0])

    for first, extent in ((1, a), (3, b)):
        say(first, first + 1, extent.length)
        say(0, first, extent.start)
        say(0, first + 1, extent.end)
    for x, op, y in relation.comparisons:
        i, j = _POINTS[x], _POINTS[y]
        say(i, j, (0, 0) if op == "=" else (1 if op == "<" else 0, inf))
    for k in range(5):
        for i in range(5):
            for j in range(5):
                upper[i][j] = min(upper[i][j], upper[i][k] + upper[k][j])
    return None if any(upper[i][i] < 0 for i in range(5)) else tuple(map(tuple, upper))


def at_least(extent: Extent) -> str:
    """Say how long the shortest match is, without the microseconds that lie between parts.

    >>> at_least(Extent((20_000_000, inf))), at_least(Extent((20_000_001, inf)))
    ('20 seconds or longer', 'longer than 20 seconds')
    """
    least = int(extent.length[0])
    whole = least - least % 1000
    return f"{seconds(least)} or longer" if whole == least else f"longer than {seconds(whole)}"
