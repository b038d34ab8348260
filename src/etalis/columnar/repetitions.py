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
from etalis.columnar.tables import Matching, Numbered
from etalis.language.syntax import Const
from etalis.plan import algebra as p
from etalis.plan.bindings import sure
from etalis.plan.retention import shared_names, window_of
from etalis.plan.sharing import count_leaves
from etalis.temporal.relation import RELATIONS

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
    if not _are_windows(node.tests) and not _is_tested_last(node, follower):
        yield "a test on a repetition has no kernel yet"
    if follower is not None and follower.policy.name != "unrestricted" and not _has_one_limit(node, follower):
        yield "a test on what follows a repetition has no kernel yet"


def _are_windows(tests: Sequence[p.Test]) -> bool:
    return all(isinstance(test, p.Window) for test in tests)


def _is_tested_last(node: p.Repetition, follower: p.Join | None) -> bool:
    """Tell whether the tests on a repetition decide about its matches only, not about what is counted."""
    return follower is None and node.policy.select != "together" and node.left is None


def _has_one_limit(node: p.Repetition, follower: p.Join) -> bool:
    """Tell whether of the tests on what follows one at most is more than a window, and limits left sides."""
    tests = [test for test in follower.tests if not isinstance(test, p.Window)]
    return not tests or (len(tests) == 1 and _is_limit(tests[0], node))


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
    """Left sides, or first elements, with elements after them; with a follower, once per left side and follower."""

    def __init__(
        self, node: p.Repetition, follower: p.Join | None, inputs: Sequence[Operator], types: Mapping[str, str],
        gaps: Sequence[Absence], tests: Tests,
    ) -> None:  # fmt: skip
        bounds = read_bounds(node)
        assert bounds is not None
        self.node = node
        self.follower = follower
        self.inputs = inputs
        self.gaps = gaps
        self.outcome = Filtering((), tests)
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
        new, *others = (operator.take(batch) for operator in self.inputs)
        fresh = {name: Column("int", np.full(len(new), value)) for name, value in _STATE.items()}
        left = stack([self.waiting, new.with_columns(fresh)], self.names)
        state = {name: left.column(name).data.copy() for name in _STATE}
        for gap in self.gaps:
            gap.limit(batch, left, state["$limit"])
        found = self._matches(left, others, state)
        self._keep(left, state, batch.now)
        return self.outcome.passing(batch, found)

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
        cursor = np.array([old, last[0], last[1], 0])
        found: list[tuple[Any, Any, Any]] = []
        room = int(last[2]) + 1
        while not found or (cursor[: k.FOUND] < last).any():
            found.append(self._run([left, *others], state, (lists, stores), last, cursor, room))
            room = max(room, int(lists.size.max(initial=0)) + 1, int(stores.size.max(initial=0)))
        return self._instances(left, others, *map(np.concatenate, zip(*found, strict=True)))

    def _run(
        self, sides: Sequence[Instances], state: Mapping[str, Integers], lists: tuple[_Lists, _Lists], last: Integers,
        cursor: Any, room: int,
    ) -> tuple[Any, Any, Any]:  # fmt: skip
        """Return the next matches: left sides, elements or followers, and where counting began or a match ended."""
        turn, start, end = (np.concatenate([getattr(s, n) for s in sides]) for n in ("turn", "start", "end"))
        count, high = len(sides[0]), int(last[1])
        none = np.zeros(len(turn), np.int64)
        group = np.concatenate([lists[0].group, none[high:]])
        other = np.concatenate([lists[1].group[:count], none[count:high], lists[1].group[count:]])
        out = (np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int64))
        cursor[k.FOUND] = 0
        k.repeat(
            self.node.left is None, self.matching.select, self.matching.keep == NEWEST,
            self.node.policy.name != "unrestricted", self.least, self.most, _number(self.window),
            self.follower is not None, self.following.select, self.following.consume, self.following.keep == NEWEST,
            _number(self.outer), int(last[0]), high, turn, start, end, state["$limit"], group, *lists[0].links,
            state["$waits"], state["$number"], state["$begun"], state["$counted"], state["$listed"], other,
            *lists[1].links, state["$matched"], state["$placed"], *out, cursor,
        )  # fmt: skip
        found = int(cursor[k.FOUND])
        return out[0][:found], out[1][:found], out[2][:found]

    def _instances(self, left: Instances, others: Sequence[Instances], a: Any, b: Any, first: Any) -> Instances:
        """Return what was found as instances: from the start of a left side to the end of what came last."""
        alone = self.node.left is None
        mine, moment = left.take(a), Column("int", first)
        if self.follower is None:
            element = left.take(b) if alone else others[0].take(b - len(left))
            found = Instances(element.turn, mine.start, element.end, mine.blocks)
            if not alone:
                found = found.with_columns({"$first": self._end_of(mine), "$last": moment})
            return together(found, b) if self.node.policy.select == "together" and len(b) else found
        then = others[-1].take(b - len(left) - sum(map(len, others[:-1])))
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
