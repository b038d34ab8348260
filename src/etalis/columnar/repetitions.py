"""Repetitions over batches: elements counted after each left side (readings 15-19 and 37-41).

What follows by `seq` and consumes a match takes the left side with it, so both are one operator: `node` is the
repetition, `follower` the join whose left side it is, if there is one. Left sides wait with what they have counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from etalis.columnar import chains
from etalis.columnar import kernels_repetitions as k
from etalis.columnar.columns import Column, Integers, key_rows
from etalis.columnar.instances import Instances, nothing, stack
from etalis.columnar.joins import together
from etalis.columnar.kernels import NEWEST
from etalis.columnar.operators import Absence, Batch, Filtering, Operator, Tests
from etalis.columnar.questions import Answers, Asked, no_answers
from etalis.columnar.tables import Matching, Numbered
from etalis.language.syntax import Const
from etalis.plan import algebra as p
from etalis.plan.bindings import sure
from etalis.plan.retention import shared_names, window_of
from etalis.plan.sharing import count_leaves
from etalis.temporal.relation import RELATIONS

_ROWS, _PAIRS = 1 << 12, 1 << 18  # rows, and about as many pairs, that are asked about at a time
_EARLIEST = -(1 << 62)
_STATE = {
    "$waits": 0, "$number": 0, "$begun": 0, "$counted": 0, "$listed": 0, "$matched": k.NO_MATCH, "$placed": 0,
    "$limit": (1 << 63) - 1,
}  # what a left side carries, as it is when it comes  # fmt: skip


def is_followed(node: p.Node) -> bool:
    """Tell whether a join takes the matches of a repetition as wholes: its left side is one, and tells of which."""
    return (
        isinstance(node, p.Join)
        and isinstance(node.left, p.Repetition)
        and "$token" in node.left.exports
        and node.relation.sequential
    )


def is_chained(node: p.Repetition) -> bool:
    """Tell whether all chains of a repetition are looked for, not only what a left side has counted."""
    return node.policy.name == "unrestricted" and (
        node.left is None
        or read_bounds(node) != chains.ANY
        or chains.asks_beginning(node)
        or not set(node.shared) <= set(node.left.exports)
        or not _are_windows(node.tests)
    )


def find_obstacles(node: p.Repetition, follower: p.Join | None) -> Iterator[str]:
    """Yield what keeps a repetition from columns."""
    if read_bounds(node) is None:
        yield "a repetition is counted by a variable"
    yield from chains.find_obstacles(node) if is_chained(node) else _obstacles(node, follower)


def _obstacles(node: p.Repetition, follower: p.Join | None) -> Iterator[str]:
    base = node.element if node.left is None else node.left
    if node.policy.select == "together" and follower is not None:
        yield "what follows a repetition has no kernel yet under the policy cumulative"
    readers = [count_leaves(part) for part in (*p.children(node), *(() if follower is None else (follower.right,)))]
    if node.policy.keep == "newest" and len(set().union(*readers)) < sum(map(len, readers)):
        yield "one event comes to both sides of an operator that keeps the newest only"
    if not set(node.shared) <= set(base.exports) & sure(base):
        yield "a repetition is grouped by what its left side does not tell"
    goals = [test for test in node.tests if isinstance(test, p.Goal)]
    if node.left is not None and node.policy.select == "together" and any(test.kind != "where" for test in goals):
        yield "check and event_multiply on a repetition have no kernel yet under the policy cumulative"
    if follower is not None and any(set(test.outputs) & set(node.exports) for test in goals):
        yield "a condition binds a variable of a repetition that something follows"
    if any(test.kind == "gap" and not set(test.joined) <= set(base.exports) for test in _absences(node)):
        yield "an absence in a repetition shares what a condition binds"
    if follower is not None and node.left is None and any(test.kind == "gap" for test in _absences(follower)):
        yield "an absence after a repetition that stands alone has no kernel yet"


def asks_elements(node: p.Repetition, follower: p.Join | None) -> bool:
    """Tell whether tests on a repetition decide what is counted, or waits, and not only about its matches."""
    return not _are_windows(node.tests) and (node.left is not None or follower is not None)


def asks_followers(node: p.Repetition, follower: p.Join) -> bool:
    """Tell whether tests on what follows decide what is consumed, and are more than a limit of left sides."""
    tests = [test for test in follower.tests if not isinstance(test, p.Window)]
    return follower.policy.name != "unrestricted" and not (len(tests) <= 1 and all(_is_limit(x, node) for x in tests))


def _are_windows(tests: Sequence[p.Test]) -> bool:
    return all(isinstance(test, p.Window) for test in tests)


def _absences(node: p.Node) -> list[p.Absent]:
    return [test for test in p.tests(node) if isinstance(test, p.Absent)]


def _is_limit(test: p.Test, node: p.Repetition) -> bool:
    """Tell whether what lies after the end of a left side can block what follows the repetition."""
    left = node.left
    return (
        isinstance(test, p.Absent)
        and test.kind == "gap"
        and left is not None
        and "$first" not in left.exports
        and set(test.joined) <= set(left.exports)
    )


def read_bounds(node: p.Repetition) -> chains.Bounds | None:
    """Return how many elements there are; None if that is no matter of the text alone."""
    match node.least, node.most:
        case Const(value=int() as least), None if least >= 1:
            return chains.Bounds(least, -1)
        case Const(value=int() as least), Const(value=int() as most) if 1 <= least <= most:
            return chains.Bounds(least, most)
        case _:
            return None


class Repeater(Operator):
    """Left sides, or first elements, with elements after them; with a follower, once per left side and follower.

    What is found passes the `tests`; the `asked` ones, on elements and on followers, decide what is matched at all.
    """

    def __init__(
        self, node: p.Repetition, follower: p.Join | None, inputs: Sequence[Operator], types: Mapping[str, str],
        gaps: Sequence[Absence], tests: Tests, asked: tuple[Asked | None, Asked | None],
    ) -> None:  # fmt: skip
        bounds = read_bounds(node)
        assert bounds is not None
        self.node = node
        self.follower = follower
        self.inputs = inputs
        self.gaps = gaps
        self.outcome = Filtering((), tests)
        self.asked = asked
        self.least, self.most = bounds.least, bounds.most
        self.window = window_of(node.tests)
        self.outer = None if follower is None else window_of(follower.tests)
        self.matching = Matching.of(RELATIONS["seq"], node.policy, self.window)
        follows = node.policy if follower is None else follower.policy
        self.following = Matching.of(RELATIONS["seq"], follows, self.outer)
        exports = node.shared if node.left is None else (v for v in node.left.exports if v != "$token")
        self.names = (*exports, *_STATE)
        self.waiting = nothing({v: types.get(v, "int") for v in self.names})

    def take(self, batch: Batch) -> Instances:
        """Return the matches that a batch completes."""
        sides = [operator.take(batch) for operator in self.inputs]
        asked = [each for each in self.asked if each is not None]
        for each in asked:
            each.take(batch)
        found: list[Instances] = []
        while not found or any(map(len, sides)):
            now, part, sides = self._cut(sides) if asked else (batch.now, sides, [])
            found.append(self._step(batch, part, now))
        for each in asked:
            each.forget(batch.now)
        return self.outcome.passing(batch, found[0] if len(found) == 1 else stack(found, self._exports))

    @property
    def _exports(self) -> tuple[str, ...]:
        node = self.node if self.follower is None else self.follower
        return tuple(v for v in node.exports if v != "$token")

    def _cut(self, sides: list[Instances]) -> tuple[int, list[Instances], list[Instances]]:
        """Return the time of a cut, what comes before and what after it: as much as is asked about at once."""
        turns = np.sort(np.concatenate([side.turn for side in sides]))
        count = max(1, min(_ROWS, _PAIRS // (len(self.waiting) + 1)))
        if count >= len(turns):
            now = max((int(side.end[-1]) for side in sides if len(side)), default=_EARLIEST)
            return now, sides, [side.take(np.zeros(0, np.int64)) for side in sides]
        places = [int(np.searchsorted(side.turn, turns[count - 1], "right")) for side in sides]
        before = [side.take(np.arange(place)) for side, place in zip(sides, places, strict=True)]
        after = [side.take(np.arange(place, len(side))) for side, place in zip(sides, places, strict=True)]
        return max(int(side.end[-1]) for side in before if len(side)), before, after

    def _step(self, batch: Batch, sides: Sequence[Instances], now: int) -> Instances:
        """Take new instances of all sides."""
        new, *others = sides
        fresh = {name: Column("int", np.full(len(new), value)) for name, value in _STATE.items()}
        left = stack([self.waiting, new.with_columns(fresh)], self.names)
        state = {name: left.column(name).data.copy() for name in _STATE}
        for gap in self.gaps:
            gap.limit(batch, left, state["$limit"])
        found = self._matches(left, others, state)
        self._keep(left, state, now)
        return found

    def _matches(self, left: Instances, others: Sequence[Instances], state: Mapping[str, Integers]) -> Instances:
        """Let the kernel run, and put what it finds together."""
        alone = self.node.left is None
        elements, followers = ([], others) if alone else (others[:1], others[1:])
        lists = _Lists.of([left, *elements], self.node.shared)
        waiting = np.flatnonzero(state["$waits"])
        lists.put(waiting[np.argsort(state["$listed"][waiting])], state["$counted"] if alone else left.end, left.start)
        stores = _Lists.of([left, *followers], () if self.follower is None else shared_names(self.follower))
        held = np.flatnonzero(state["$matched"] != k.NO_MATCH)
        stores.put(held[np.argsort(state["$placed"][held])], state["$matched"], left.start)
        old, count = len(self.waiting), len(left)
        last = np.array([old, count, count]) if alone else np.array([count, count, count])
        last[1:] += sum(map(len, elements))
        last[2:] += sum(map(len, followers))
        sides = _Sides.of([left, *others], (lists, stores), last)
        answers = [self._ask(sides, place) for place in (0, 1)]
        cursor = np.array([old, last[0], last[1], 0])
        found: list[tuple[Any, ...]] = []
        room = int(last[2]) + 1
        while not found or (cursor[: k.FOUND] < last).any():
            found.append(self._run(sides, state, answers, cursor, room))
            room = max(room, int(lists.size.max(initial=0)) + 1, int(stores.size.max(initial=0)))
        return self._found(sides, answers, *map(np.concatenate, zip(*found, strict=True)))

    def _ask(self, sides: _Sides, place: int) -> Answers:
        """Ask which left sides elements, or followers, may be matched with."""
        asked = self.asked[place]
        if asked is None:
            return no_answers()
        is_own = self.node.left is None and not place
        a, b = sides.pairs(place, _number(self.outer if place else self.window), is_own)
        return asked.ask(a, b, self._pairs(sides, a, b, sides.start[b], bool(place)))

    def _run(
        self, sides: _Sides, state: Mapping[str, Integers], answers: Sequence[Answers], cursor: Any, room: int
    ) -> tuple[Any, ...]:
        """Return the next matches: left sides, elements or followers, where counting began or a match ended; pairs."""
        out = [np.empty(room, np.int64) for _ in range(4)]
        cursor[k.FOUND] = 0
        left, right, limit = (np.concatenate([getattr(x, v) for x in answers]) for v in ("left", "right", "limit"))
        mark, pair = np.full(len(sides.parts[0]), -1), np.empty(len(sides.parts[0]), np.int64)
        lists, stores = sides.lists
        k.repeat(
            self.node.left is None, self.matching.select, self.matching.keep == NEWEST,
            self.node.policy.name != "unrestricted", self.least, self.most, _number(self.window),
            self.follower is not None, self.following.select, self.following.consume, self.following.keep == NEWEST,
            _number(self.outer), int(sides.last[0]), int(sides.last[1]), sides.turn, sides.start, sides.end,
            state["$limit"], sides.groups[0], *lists.links, state["$waits"], state["$number"], state["$begun"],
            state["$counted"], state["$listed"], sides.groups[1], *stores.links, state["$matched"], state["$placed"],
            self.asked[0] is not None, self.asked[1] is not None,
            np.searchsorted(right, np.arange(len(sides.turn) + 1)), left, limit, mark, pair, out[0], out[1],
            out[2], out[3], cursor,
        )  # fmt: skip
        return tuple(each[: int(cursor[k.FOUND])] for each in out)

    def _found(
        self, sides: _Sides, answers: Sequence[Answers], a: Integers, b: Integers, first: Integers, which: Integers
    ) -> Instances:
        """Return what was found as instances, those of one element together if the policy says so."""
        is_last = self.follower is not None
        if self.asked[is_last] is None:
            rows = self._pairs(sides, a, b, first, is_last)
        else:
            places, rows = answers[is_last].matches(which - len(answers[0].left) if is_last else which)
            b = b[places]
            if not is_last and self.node.left is not None:
                rows = rows.with_columns({"$last": Column("int", first[places])})
        return together(rows, b) if not is_last and self.node.policy.select == "together" and len(b) else rows

    def _pairs(self, sides: _Sides, a: Integers, b: Integers, first: Integers, are_last: bool) -> Instances:
        """Return left sides with elements, or with what follows, from the start of the one to the end of the other.

        `first` is where counting began, or where a match ended.
        """
        alone = self.node.left is None
        left, *others = sides.parts
        mine, moment = left.take(a), Column("int", first)
        if not are_last:
            element = left.take(b) if alone else others[0].take(b - len(left))
            found = Instances(element.turn, mine.start, element.end, mine.blocks)
            return found if alone else found.with_columns({"$first": self._end_of(mine), "$last": moment})
        assert self.follower is not None
        then = others[-1].take(b - int(sides.last[1]))
        has_last = "$last" in self.follower.right.exports
        last = then.column("$last") if has_last else Column("int", then.start)
        marks = {"$first": moment if alone else self._end_of(mine), "$last": last}
        return Instances(then.turn, mine.start, then.end, (*mine.blocks, *then.blocks)).with_columns(marks)

    def _end_of(self, left: Instances) -> Column:
        """Return where the first part of left sides ended."""
        return left.column("$first") if "$first" in self.names else Column("int", left.end)

    def _keep(self, left: Instances, state: Mapping[str, Integers], now: int) -> None:
        """Keep left sides that wait, or have a match that does."""
        waits, held = state["$waits"] != 0, state["$matched"] != k.NO_MATCH
        if self.window is not None:
            waits &= left.start >= now - self.window
        if self.outer is not None:
            held &= left.start >= now - self.outer
        state["$waits"][:] = waits
        state["$matched"][~held] = k.NO_MATCH
        for name in ("$listed", "$placed"):  # as numbers that come before the rows of any later batch
            order = np.argsort(state[name], kind="stable")
            state[name][order] = np.arange(len(order)) - len(order)
        columns = {name: Column("int", data) for name, data in state.items()}
        self.waiting = left.with_columns(columns).take(np.flatnonzero(waits | held)).only(self.names)


def _number(duration: int | None) -> int:
    return -1 if duration is None else duration


@dataclass(frozen=True, slots=True)
class _Lists:
    """Lists of left sides, one per group: the group of each row, heads and tails, links, and how many there are."""

    group: Integers
    ends: Integers
    after: Integers
    before: Integers
    size: Integers

    @staticmethod
    def of(sides: Sequence[Instances], names: Sequence[str]) -> _Lists:
        """Return empty lists for the left sides, which come first, and others by the values of some variables."""
        rows = key_rows([[side.column(v) for v in names] for side in sides], list(map(len, sides)))
        known = Numbered(np.concatenate(rows))
        count, groups = len(sides[0]), len(known.first)
        none = np.full(2 * groups, -1)
        return _Lists(
            known.group, none, np.empty(count, np.int64), np.empty(count, np.int64), np.zeros(groups, np.int64)
        )

    @property
    def links(self) -> tuple[Integers, Integers, Integers, Integers]:
        return self.ends, self.after, self.before, self.size

    def put(self, rows: Integers, end: Integers, start: Integers) -> None:
        """Put left sides in."""
        k.put_in_order(rows, self.group, end, start, *self.links)


@dataclass(frozen=True, slots=True)
class _Sides:
    """All instances in one set of arrays: left sides, elements up to last[1], followers; with the groups of each."""

    parts: Sequence[Instances]
    turn: Integers
    start: Integers
    end: Integers
    groups: tuple[Integers, Integers]
    lists: tuple[_Lists, _Lists]
    last: Integers

    @staticmethod
    def of(parts: Sequence[Instances], lists: tuple[_Lists, _Lists], last: Integers) -> _Sides:
        """Put instances below each other."""
        turn, start, end = (np.concatenate([getattr(part, n) for part in parts]) for n in ("turn", "start", "end"))
        count, high = len(parts[0]), int(last[1])
        none = np.zeros(len(turn), np.int64)
        group = np.concatenate([lists[0].group, none[high:]])
        other = np.concatenate([lists[1].group[:count], none[count:high], lists[1].group[count:]])
        return _Sides(parts, turn, start, end, (group, other), lists, last)

    def pairs(self, place: int, window: int, is_own: bool) -> tuple[Integers, Integers]:
        """Return all pairs of left sides with elements, or with followers, that may match within a window."""
        group, count = self.groups[place], len(self.parts[0])
        order = np.lexsort((self.end[:count], group[:count]))
        begins = np.searchsorted(group[order], np.arange(len(self.lists[place].size) + 1))
        at, left = np.empty(len(self.turn) + 1, np.int64), np.zeros(0, np.int64)
        for _ in range(2):  # to count them, and to list them
            low, high = int(self.last[place]), int(self.last[place + 1])
            k.list_pairs(is_own, window, low, high, group, begins, order, self.start, self.end, at, left)
            left = np.empty(at[-1], np.int64) if not len(left) else left
        return left, np.repeat(np.arange(len(self.turn)), np.diff(at))
