"""The kernels once more, in plain Python: short and slow, to be read and compared with (docs/kernels.md)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, NamedTuple

from etalis.plan.retention import NEVER_STORED, retention
from etalis.temporal.policy import Policy
from etalis.temporal.relation import Relation


class Row(NamedTuple):
    """What a kernel sees of an instance."""

    turn: int
    start: int
    end: int
    key: int

    @property
    def rank(self) -> tuple[int, int]:
        return self.end, self.start


def ranked(rows: Sequence[Any], numbers: Sequence[int]) -> list[int]:
    """Return row numbers in order of (end, start, arrival)."""
    return sorted(numbers, key=lambda x: rows[x].rank)


@dataclass
class Join:
    """A join by one key: everything is looked at on every arrival."""

    relation: Relation
    policy: Policy
    window: int | None
    sides: tuple[Sequence[Row], Sequence[Row]]
    limit: Sequence[int] | None = None
    by_turn: bool = False
    waiting: tuple[list[int], list[int]] = field(default_factory=lambda: ([], []))

    def pairs(self, old: tuple[int, int]) -> Iterator[tuple[int, int, bool]]:
        """Yield pairs, and whether the right one arrived last; the first ones of each side have waited before."""
        for side in (0, 1):
            self.waiting[side].extend(range(old[side]))
        arrivals = [(row.turn, side, x) for side in (0, 1) for x, row in enumerate(self.sides[side]) if x >= old[side]]
        for _, side, x in sorted(arrivals):
            matched = False
            if self.by_turn:
                self._forget_replaced(self.sides[side][x])
            for y in self._candidates(side, x):
                matched = True
                if self.policy.consume:
                    self.waiting[1 - side].remove(y)
                yield (x, y, False) if side == 0 else (y, x, True)
            self._store(side, x, matched)

    def _candidates(self, side: int, x: int) -> list[int]:
        mine, theirs = self.sides[side][x], self.sides[1 - side]
        kept = retention(self.relation, 1 - side, self.window)
        found = [
            y
            for y in ranked(theirs, self.waiting[1 - side])
            if theirs[y].key == mine.key
            and (kept is None or theirs[y].end >= mine.end - kept)
            and self._holds(*((x, y) if side == 0 else (y, x)))
        ]
        return {"earliest": found[:1], "latest": found[-1:]}.get(self.policy.select, found)

    def _holds(self, a: int, b: int) -> bool:
        p, q = ((row.start, row.end) for row in (self.sides[0][a], self.sides[1][b]))
        if not self.relation.holds(p, q) or (self.limit is not None and q[0] > self.limit[a]):
            return False
        low, high = self.relation.interval(p, q)
        return self.window is None or high - low <= self.window

    def _store(self, side: int, x: int, matched: bool) -> None:
        rows, waiting = self.sides[side], self.waiting[side]
        same = [y for y in waiting if rows[y].key == rows[x].key]
        if retention(self.relation, side, self.window) == NEVER_STORED or (self.policy.keep == "unmatched" and matched):
            return
        if self.policy.keep == "newest":
            if any(rows[y].rank > rows[x].rank for y in same):
                return
            for y in () if self.by_turn else same:
                waiting.remove(y)
        waiting.append(x)

    def _forget_replaced(self, arrival: Row) -> None:
        """Of each side, leave what has come this turn, and the newest before it."""
        for rows, waiting in zip(self.sides, self.waiting, strict=True):
            before = [y for y in waiting if rows[y].key == arrival.key and rows[y].turn != arrival.turn]
            for y in ranked(rows, before)[:-1]:
                waiting.remove(y)


def choose(
    select: str, pairs: Sequence[tuple[int, int, bool]], passes: Sequence[bool], alive: set[tuple[int, int]]
) -> list[bool]:
    """Return which pairs a policy that consumes chooses; `alive` holds (side, row) and changes."""
    chosen = [False] * len(pairs)
    arrivals = defaultdict(list)
    for at, (a, b, arrived) in enumerate(pairs):
        arrivals[(1, b) if arrived else (0, a)].append(at)
    for arrival, places in arrivals.items():
        for at in reversed(places) if select == "latest" else places:
            a, b, arrived = pairs[at]
            other = (0, a) if arrived else (1, b)
            if passes[at] and other in alive:
                chosen[at] = True
                alive.discard(other)
                alive.discard(arrival)
                if select != "all":
                    break
    return chosen


@dataclass
class Rule:
    """What a repetition says; the names are those of `kernels.repetition.Repeating`."""

    alone: bool
    select: str
    newest: bool
    counts: bool
    least: int
    most: int | None
    window: int | None
    asks: bool
    followed: bool
    picks: str
    consume: bool
    latest_match: bool
    outer_window: int | None
    asks_followers: bool


@dataclass
class Repetition:
    """Left sides with elements after them, and what follows: all that waits is looked at on every arrival.

    A left side is a dictionary of what it has counted; `may` tells until when counting may have begun, or since when a
    match may have ended, of pairs that pass.
    """

    rule: Rule
    rows: Sequence[Row]
    kinds: Sequence[str]
    limit: Sequence[int]
    may: Mapping[tuple[int, int], int]
    lefts: dict[int, dict[str, Any]] = field(default_factory=dict)
    matches: dict[int, tuple[int, int]] = field(default_factory=dict)  # the end, and since when it waits
    found: list[tuple[int, int, int]] = field(default_factory=list)
    clock: Iterator[int] = field(default_factory=count)

    def run(self) -> list[tuple[int, int, int]]:
        """Return left sides, elements or followers, and where counting began or the match ended."""
        order = {"left": 0, "element": 1, "follower": 2}
        for x in sorted(range(len(self.rows)), key=lambda x: (self.rows[x].turn, order[self.kinds[x]], x)):
            getattr(self, f"_{self.kinds[x]}")(x)
        return self.found

    def _waiting(self, x: int) -> list[int]:
        """Return the left sides of a key in order of rank."""
        same = [y for y in self.lefts if self.rows[y].key == self.rows[x].key]
        return sorted(same, key=lambda y: (self._end(y), self.rows[y].start, self.lefts[y]["listed"]))

    def _end(self, y: int) -> int:
        return int(self.lefts[y]["counted"]) if self.rule.alone else self.rows[y].end

    def _left(self, x: int) -> None:
        last = self._waiting(x)[-1:]
        if self.rule.newest and last:
            if self.rows[last[0]].rank > self.rows[x].rank:
                return
            del self.lefts[last[0]]
        self.lefts[x] = {"number": 0, "begun": 0, "counted": 0, "listed": next(self.clock)}

    def _element(self, x: int) -> None:
        rule, row = self.rule, self.rows[x]
        counted = False
        waiting = self._waiting(x)
        for y in reversed(waiting) if rule.select == "latest" else waiting:
            if rule.window is not None and row.end - self.rows[y].start > rule.window:
                del self.lefts[y]
            elif self._end(y) < row.start and self._count(y, x):
                counted = True
                if rule.select != "all":
                    break
        if rule.alone and not counted and (rule.window is None or row.end - row.start <= rule.window):
            self.lefts[x] = {"number": 0, "begun": 0, "counted": 0, "listed": next(self.clock)}
            self._count(x, x)

    def _count(self, y: int, x: int) -> bool:
        """Count an element after a left side; tell whether it was."""
        rule, row, state = self.rule, self.rows[x], self.lefts[y]
        goes_on = state["number"] > 0 and (rule.most is None or state["counted"] < row.start)
        passes = not rule.asks or (y, x) in self.may
        if passes and rule.asks:
            passes = (state["begun"] if goes_on else row.start) <= self.may[y, x]
        if not passes and not rule.alone:
            return False
        begun, complete = row.start, not rule.counts
        if rule.counts and (state["number"] == 0 or goes_on):
            if state["number"] == 0:
                state["begun"] = row.start
            begun = state["begun"]
            state["number"] += 1
            state["counted"] = row.end
            complete = state["number"] >= rule.least
        over = state["number"] == rule.most
        if over and not rule.alone:
            state["number"] = 0
        if complete and passes:
            self._complete(y, x, begun)
        if rule.alone:
            state["listed"] = next(self.clock)
            if over:
                del self.lefts[y]
        return True

    def _complete(self, y: int, x: int, begun: int) -> None:
        if not self.rule.followed:
            self.found.append((y, x, begun))
        elif y not in self.matches:
            rank = self.rows[x].end, self.rows[y].start
            if self.rule.latest_match:
                same = [z for z in self.matches if self.rows[z].key == self.rows[y].key]
                if any((self.matches[z][0], self.rows[z].start) > rank for z in same):
                    return
                for z in same:
                    del self.matches[z]
            self.matches[y] = self.rows[x].end, next(self.clock)

    def _follower(self, x: int) -> None:
        rule, row = self.rule, self.rows[x]
        same = [y for y in self.matches if self.rows[y].key == row.key]
        ranks = sorted(same, key=lambda y: (self.matches[y][0], self.rows[y].start, self.matches[y][1]))
        for y in reversed(ranks) if rule.picks == "latest" else ranks:
            end = self.matches[y][0]
            if rule.outer_window is not None and row.end - self.rows[y].start > rule.outer_window:
                del self.matches[y]
            elif end < row.start <= self.limit[y] and (not rule.asks_followers or end >= self.may.get((y, x), 1 << 62)):
                self.found.append((y, x, end))
                if rule.consume:
                    del self.matches[y]
                    self.lefts.pop(y, None)
                if rule.picks != "all":
                    break


def chains(
    rows: Sequence[Row], least: int, most: int | None, window: int | None, fresh: Sequence[bool]
) -> set[tuple[int, int]]:
    """Return the last and first elements of all chains: neighbours of one key with no other strictly between them."""

    def neighbours(x: int) -> list[int]:
        before = [y for y in range(len(rows)) if rows[y].key == rows[x].key and rows[y].end < rows[x].start]
        return [y for y in before if not any(rows[z].start > rows[y].end for z in before)]

    found = set()
    for last in (x for x in range(len(rows)) if fresh[x]):
        step, depth = {last}, 1
        while step and (most is None or depth <= most):
            step = {y for y in step if window is None or rows[last].end - rows[y].start <= window}
            found |= {(last, y) for y in step if depth >= least}
            step, depth = {z for y in step for z in neighbours(y)}, depth + 1
    return found


def fold(name: str, values: Sequence[Any]) -> Any:
    """Return an aggregate of some values, which have come in this order."""
    match name:
        case "count":
            return len(values)
        case "sum" | "total":
            return sum(values)
        case "least":
            return min(values)
        case "greatest":
            return max(values)
        case "first":
            return values[0]
        case "last":
            return values[-1]
        case _:
            return len(set(values))


def paths(edges: Sequence[tuple[Any, Any, int]], window: int) -> set[tuple[Any, Any, int, int]]:
    """Return the paths of edges one after the other, from the time of the first to that of the last, no ring longer."""
    found: set[tuple[Any, Any, int, int]] = set()
    for x, y, time in edges:
        longer = {(w, y, start, time) for w, z, start, end in found if z == x and end < time}
        found |= {(x, y, time, time)} | {path for path in longer if time - path[2] <= window and path[0] != y}
    return found
