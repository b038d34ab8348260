"""Repetitions under the policy unrestricted over batches: every chain of elements, after each left side or alone.

Nothing is consumed, so chains depend on a group's elements alone (definition 13.7, 13.13, 13.21): after a left side, a
chain counts whose first element starts later. What a repetition was counted after, the first element or the left side,
is the origin of its matches; of those that have one origin and equal values, what follows by `seq` takes the first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from etalis.columnar.data.columns import Column, Integers, key_rows
from etalis.columnar.data.instances import Instances, nothing, stack
from etalis.columnar.kernels import chains as k
from etalis.columnar.kernels.buffers import KeyIndex
from etalis.columnar.kernels.matching import NO_WINDOW
from etalis.columnar.operators.base import Batch, ColumnOperator, OutputTests, TestSequence
from etalis.columnar.operators.join import JoinOperator
from etalis.columnar.repetition.limits import NO_COUNT, Bounds, find_bounds, is_any_number
from etalis.plan import algebra as p
from etalis.plan.bindings import sure
from etalis.plan.retention import window_of
from etalis.temporal.policy import POLICIES
from etalis.temporal.relation import RELATIONS

ORIGIN, UNTIL = "$origin", "$until"
_ELEMENT = "$element"
_ROOM = 1 << 16  # chains that are found at a time


def find_obstacles(node: p.Repetition) -> Iterator[str]:
    """Yield what keeps the chains of a repetition from columns."""
    shared = set(node.shared)
    joined = set() if node.left is None else shared & set(node.left.exports)
    if not shared <= sure(node.element) or (node.left is not None and not joined <= sure(node.left)):
        yield "a repetition is grouped by what may be unbound"


def asks_beginning(node: p.Repetition) -> bool:
    """Tell whether somebody asks where the first element of a chain starts."""
    gaps = any(isinstance(test, p.Absent) and test.kind == "gap" for test in node.tests)
    return gaps or "$last" in node.exports


class Chains:
    """The elements of a repetition, in order of arrival, by group; each is numbered as an origin."""

    def __init__(self, node: p.Repetition, types: Mapping[str, str]) -> None:
        self.names = node.shared
        self.window = window_of(node.tests)
        self.types = {**{v: types[v] for v in self.names}, ORIGIN: "int"}
        self.number = self.old = 0
        self.elements = nothing(self.types)

    def add(self, rows: Instances) -> Instances:
        """Add elements, which are new; return all."""
        numbers = Column("int", self.number + np.arange(len(rows)))
        self.number += len(rows)
        self.old = len(self.elements)
        self.elements = stack([self.elements, rows.with_columns({ORIGIN: numbers})], list(self.types))
        return self.elements

    def find(self, least: int, most: int) -> tuple[Integers, Integers]:
        """Return the last and the first elements of all chains of so many that end at new ones.

        Chains come by the arrival of their last elements, then by the rank of their first ones.
        """
        every = self.elements
        order, base = self._order()
        last, first = self._find(least, most, base, every.start[order], every.end[order], order >= self.old)
        by_arrival = np.lexsort((first, order[last]))
        return order[last[by_arrival]], order[first[by_arrival]]

    def arranged(self) -> tuple[Instances, Integers, Integers, Integers]:
        """Return the elements by group and rank, where the group of each begins, and their neighbours before."""
        order, base = self._order()
        rows = self.elements.take(order)
        return rows, base, *_neighbours(base, rows.start, rows.end)

    def _order(self) -> tuple[Integers, Integers]:
        """Return the order by group and rank, and where the group of each begins."""
        rows, count = self.elements, len(self.elements)
        group = KeyIndex(key_rows([[rows.column(v) for v in self.names]], [count])[0]).group
        order = np.lexsort((rows.start, rows.end, group))
        group = group[order]
        begins = np.r_[True, group[1:] != group[:-1]][:count]
        return order, np.maximum.accumulate(np.where(begins, np.arange(count), 0))

    def _find(
        self, least: int, most: int, base: Integers, start: Integers, end: Integers, fresh: Any
    ) -> tuple[Integers, Integers]:
        count = len(base)
        counts = k.ChainLength(least, most, NO_WINDOW if self.window is None else self.window)
        elements = k.ChainElements(base, start, end, *_neighbours(base, start, end), fresh)
        marks = k.ChainMarks(*(np.full(count, -1) for _ in range(4)))
        cursor = np.zeros(3, np.int64)
        found = [(np.zeros(0, np.int64), np.zeros(0, np.int64))]
        while cursor[k.PLACE] < count:
            ends, beginnings = np.empty(_ROOM + count, np.int64), np.empty(_ROOM + count, np.int64)
            cursor[k.FOUND] = 0
            k.find_chains(counts, elements, marks, ends, beginnings, cursor)
            found.append((ends[: cursor[k.FOUND]], beginnings[: cursor[k.FOUND]]))
        last, first = zip(*found, strict=True)
        return np.concatenate(last), np.concatenate(first)

    def keep(self, now: int, after: int | None = None) -> None:
        """Keep the elements that a chain can still have: in the window, and starting after a moment."""
        since = self.elements.start.min(initial=now) if after is None else after + 1
        if self.window is not None:
            since = max(since, now - self.window)
        self.elements = self.elements.take(np.flatnonzero(self.elements.start >= since)).only(self.types)


def _neighbours(base: Integers, start: Integers, end: Integers) -> tuple[Integers, Integers]:
    peak, low, high = (np.empty(len(base), np.int64) for _ in range(3))
    k.find_neighbours(base, start, end, peak, low, high)
    return low, high


class ChainRepetition(ColumnOperator):
    """A repetition that stands alone: one match per first and last element of a chain."""

    def __init__(
        self,
        node: p.Repetition,
        element: ColumnOperator,
        types: Mapping[str, str],
        tests: TestSequence,
        fail: Callable[[str], None],
    ) -> None:
        self.node = node
        self.inputs = [element]
        self.chains = Chains(node, types)
        self.bounds = Bounds(node, fail)
        self.outcome = OutputTests((), tests)

    def process(self, batch: Batch) -> Instances:
        """Return the matches that a batch completes."""
        every = self.chains.add(self.inputs[0].process(batch))
        last, first = self._found(every)
        token = Column("int", every.column(ORIGIN).data[first])
        found = Instances(every.turn[last], every.start[first], every.end[last], every.take(last).blocks)
        self.chains.keep(batch.now)
        return self.outcome.passing(batch, found.with_columns({"$token": token}))

    def _found(self, every: Instances) -> tuple[Integers, Integers]:
        """Return the chains of as many as each group tells; an element that tells no number is reported."""
        if self.bounds.fixed is not None:
            return self.chains.find(*self.bounds.fixed)
        parts = [(np.zeros(0, np.int64), np.zeros(0, np.int64))]
        given = self.bounds.read(every)
        for least, most, rows in find_bounds(*given):
            last, first = self.chains.find(least, most)
            mine = np.isin(last, rows)
            parts.append((last[mine], first[mine]))
        bad = (given[0] == NO_COUNT) & (np.arange(len(every)) >= self.chains.old)
        self.bounds.report(every, bad.astype(np.int64))
        last, first = (np.concatenate(each) for each in zip(*parts, strict=True))
        order = np.argsort(last, kind="stable")
        return last[order], first[order]


class OriginOperator(ColumnOperator):
    """Left sides of a repetition, each numbered as an origin, with its end."""

    def __init__(self, operator: ColumnOperator) -> None:
        self.operator = operator
        self.number = 0

    def process(self, batch: Batch) -> Instances:
        """Return the left sides of a batch."""
        rows = self.operator.process(batch)
        numbers = self.number + np.arange(len(rows))
        self.number += len(rows)
        return rows.with_columns({ORIGIN: Column("int", numbers), UNTIL: Column("int", rows.end)})


class ChainEndOperator(ColumnOperator):
    """The elements at which chains end; the start of each is the latest start of a chain.

    Where all are asked for, or left sides tell how many, also those where none ends.
    """

    def __init__(self, operator: ColumnOperator, chains: Chains | None, bounds: Bounds, all_are_asked: bool) -> None:
        self.operator = operator
        self.chains = chains
        self.bounds = bounds
        self.all_are_asked = all_are_asked or bounds.fixed is None
        self.known: dict[tuple[int, int], tuple[Integers, Integers]] = {}  # for the latest elements

    def process(self, batch: Batch) -> Instances:
        """Return the elements of a batch."""
        rows = self.operator.process(batch)
        if self.chains is None:
            return rows
        every = self.chains.add(rows)
        self.known.clear()
        found = every.take(np.arange(self.chains.old, len(every))).only(self.chains.names)
        found = found.with_columns({_ELEMENT: Column("int", np.arange(len(found)))})
        if self.all_are_asked:
            return found
        assert self.bounds.fixed is not None
        low, starts = self._starts(*self.bounds.fixed)
        ends = np.flatnonzero(low[1:] > low[:-1])
        found = found.take(ends)
        return Instances(found.turn, starts[low[1:][ends] - 1], found.end, found.blocks)

    def _starts(self, least: int, most: int) -> tuple[Integers, Integers]:
        """Return where the chains start that end at each new element, in order, and where those of each begin."""
        assert self.chains is not None
        if (least, most) not in self.known:
            every = self.chains.elements
            last, first = self.chains.find(least, most)
            order = np.lexsort((every.start[first], last))
            low = np.searchsorted(last[order], np.arange(self.chains.old, len(every) + 1))
            self.known[least, most] = low, every.start[first][order]
        return self.known[least, most]

    def beginnings(self, pairs: Instances) -> Integers:
        """Return where the chains after left sides begin at the earliest; before them where there is none."""
        until, element = pairs.column(UNTIL).data, pairs.column(_ELEMENT).data
        begun = until.copy()
        for least, most, rows in find_bounds(*self.bounds.read(pairs)):
            found = until[rows]
            k.find_beginnings(element[rows], until[rows], *self._starts(least, most), found)
            begun[rows] = found
        return begun


class AnchoredRepetition(ColumnOperator):
    """A repetition after each left side: one match per left side and last element of a chain after it."""

    def __init__(
        self, node: p.Repetition, inputs: Sequence[ColumnOperator], types: Mapping[str, str], tests: TestSequence,
        fail: Callable[[str], None],
    ) -> None:  # fmt: skip
        assert node.left is not None
        self.node = node
        self.inputs = inputs
        counts = not is_any_number(node) or asks_beginning(node)
        self.chains = Chains(node, types) if counts else None
        self.bounds = Bounds(node, fail)
        self.origins = OriginOperator(inputs[0])
        self.ends = ChainEndOperator(
            inputs[1], self.chains, self.bounds, any(isinstance(test, p.GoalTest) for test in node.tests)
        )
        self.join = _pairing(node, (self.origins, self.ends), counts, types)
        self.outcome = OutputTests((), tests)

    def process(self, batch: Batch) -> Instances:
        """Return the matches that a batch completes."""
        pairs = self.join.process(batch)
        if self.bounds.fixed is None:
            bad = self.bounds.read(pairs)[0] == NO_COUNT
            self.bounds.report(pairs, bad.astype(np.int64))
            pairs = pairs.take(np.flatnonzero(~bad))
        rows = pairs.with_columns({"$token": pairs.column(ORIGIN)})
        if self.chains is None:
            return self.outcome.passing(batch, rows)
        begun = self.ends.beginnings(pairs)
        stands = begun > pairs.column(UNTIL).data
        last = np.where(stands, begun, pairs.column("$last").data)
        found = self.outcome.passing(
            batch, rows.with_columns({"$last": Column("int", last), "$stands": _flags(stands)})
        )
        self.chains.keep(batch.now, int(self.join.waiting[0].end.min(initial=batch.now)))
        return found.take(np.flatnonzero(found.column("$stands").data))


def _flags(given: Any) -> Column:
    return Column("int", given.astype(np.int64))


def _pairing(
    node: p.Repetition, inputs: tuple[ColumnOperator, ColumnOperator], counts: bool, types: Mapping[str, str]
) -> JoinOperator:
    """Return the join of left sides and elements: by what they share, within the window, nothing consumed."""
    assert node.left is not None
    left = replace(node.left, exports=(*(v for v in node.left.exports if v != "$token"), ORIGIN, UNTIL))
    right = replace(node.element, exports=(*node.shared, *((_ELEMENT,) if counts else ())))
    windows = tuple(test for test in node.tests if isinstance(test, p.Window))
    exports = tuple(dict.fromkeys((*left.exports, *right.exports, "$first", "$last")))
    pair = p.Join(RELATIONS["seq"], POLICIES["unrestricted"], left, right, windows, exports)
    return JoinOperator(pair, inputs, types, ([], []), [], TestSequence(()))


class FirstMatchOperator(ColumnOperator):
    """Matches of a repetition, of those with one origin and equal values the first: those that wait come before."""

    def __init__(self, operator: ColumnOperator, names: Sequence[str]) -> None:
        self.operator = operator
        self.names = names
        self.join: JoinOperator | None = None

    def process(self, batch: Batch) -> Instances:
        """Return those that are to wait."""
        rows = self.operator.process(batch)
        assert self.join is not None
        waiting = self.join.waiting[0]
        sides = [[side.column(v) for v in self.names] for side in (waiting, rows)]
        known = KeyIndex(np.concatenate(key_rows(sides, [len(waiting), len(rows)]))).first
        return rows.take(known[known >= len(waiting)] - len(waiting))


class FollowedRepetition(ColumnOperator):
    """A repetition with what follows it by `seq`: once per origin and follower."""

    def __init__(
        self, node: p.Join, inputs: tuple[ColumnOperator, ColumnOperator], types: Mapping[str, str], tests: TestSequence
    ) -> None:
        self.inputs = inputs
        self.tests = tests
        self.fresh = FirstMatchOperator(inputs[0], node.left.exports)
        self.join = self.fresh.join = JoinOperator(node, (self.fresh, inputs[1]), types, ([], []), [], tests)

    def process(self, batch: Batch) -> Instances:
        """Return the matches that a batch completes."""
        return self.join.process(batch)
