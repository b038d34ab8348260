"""Repetitions over batches: elements counted after each left side (definition 13.1 to 13.21).

What follows by `seq` and consumes a match takes the left side with it, so both are one operator: `node` is the
repetition, `follower` the join whose left side it is, if there is one. Left sides wait with what they have counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from etalis.columnar.data.columns import Column, Integers, key_rows
from etalis.columnar.data.instances import Instances, nothing, stack
from etalis.columnar.kernels import repetition as k
from etalis.columnar.kernels.buffers import KeyIndex
from etalis.columnar.kernels.matching import NEWEST, Matching
from etalis.columnar.operators.base import AbsenceTest, Batch, ColumnOperator, OutputTests, TestSequence
from etalis.columnar.operators.join import together
from etalis.columnar.repetition import chains
from etalis.columnar.repetition.candidates import GroupLists
from etalis.columnar.repetition.chains import ORIGIN
from etalis.columnar.repetition.counters import COUNTS, CounterSlots, GroupCounters
from etalis.columnar.repetition.limits import Bounds, is_any_number
from etalis.columnar.repetition.pair_tests import PairTests, PassingPairs, no_answers
from etalis.plan import algebra as p
from etalis.plan.bindings import sure
from etalis.plan.retention import shared_names, window_of
from etalis.plan.sharing import meet
from etalis.temporal.relation import RELATIONS

_ROWS, _PAIRS = 1 << 16, 1 << 20  # so many rows, and pairs of them, are asked about at a time at most,
_FEW = 1 << 6  # but for so few rows
_EARLIEST = -(1 << 62)
_NOBODY = np.zeros(0, np.int64)
_PLACES = ("$listed", "$placed")  # numbers of rows, in the state of left sides
_STATE = {**COUNTS, "$waits": 0, "$listed": 0, "$limit": (1 << 63) - 1}  # of a left side when it comes


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
    return not node.policy.restricts and (
        node.left is None
        or not is_any_number(node)
        or chains.asks_beginning(node)
        or not set(node.shared) <= set(node.left.exports)
        or not _are_windows(node.tests)
    )


def find_obstacles(node: p.Repetition, follower: p.Join | None) -> Iterator[str]:
    """Yield what keeps a repetition from columns."""
    yield from chains.find_obstacles(node) if is_chained(node) else _obstacles(node, follower)


def _obstacles(node: p.Repetition, follower: p.Join | None) -> Iterator[str]:
    base = node.element if node.left is None else node.left
    if node.policy.select == "together" and follower is not None:
        yield "what follows a repetition has no kernel yet under the policy cumulative"
    if node.policy.keep == "newest" and node.left is not None and meet(node.left, node.element):
        yield "one event comes to both sides of an operator that keeps the newest only"
    if not set(node.shared) <= sure(node.element) or not set(node.shared) & set(base.exports) <= sure(base):
        yield "a repetition is grouped by what may be unbound"
    goals = [test for test in node.tests if isinstance(test, p.GoalTest)]
    if node.left is not None and node.policy.select == "together" and any(test.kind != "where" for test in goals):
        yield "check and event_multiply on a repetition have no kernel yet under the policy cumulative"
    if follower is not None and any(set(test.outputs) & set(node.exports) for test in goals):
        yield "a condition binds a variable of a repetition that something follows"
    known = {*base.exports, *node.shared}
    gaps = [test for test in _absences(node) if test.kind == "gap"]
    if follower is not None and node.left is None:
        known |= set(follower.right.exports)
        gaps += [test for test in _absences(follower) if test.kind == "gap"]
    if not all(set(test.joined) <= known for test in gaps):
        yield "an absence in a repetition, or after one, shares what a condition binds"


def asks_elements(node: p.Repetition, follower: p.Join | None) -> bool:
    """Tell whether it is asked which elements are counted after which left sides, or in which groups."""
    if node.left is not None and not set(node.shared) <= set(node.left.exports):
        return True
    return not _are_windows(node.tests) and (node.left is not None or follower is not None)


def asks_followers(node: p.Repetition, follower: p.Join) -> bool:
    """Tell whether tests on what follows decide what is consumed, and are more than a limit of left sides."""
    tests = [test for test in follower.tests if not isinstance(test, p.Window)]
    return follower.policy.restricts and not (len(tests) <= 1 and all(_is_limit(x, node) for x in tests))


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


class CountedRepetition(ColumnOperator):
    """Left sides, or first elements, with elements after them; with a follower, once per left side and follower.

    What is found passes the `tests`; the `asked` ones, on elements and on followers, decide what is matched at all.
    """

    def __init__(
        self, node: p.Repetition, follower: p.Join | None, inputs: Sequence[ColumnOperator], types: Mapping[str, str],
        gaps: Sequence[AbsenceTest], tests: TestSequence, asked: tuple[PairTests | None, PairTests | None],
        fail: Callable[[str], None],
    ) -> None:  # fmt: skip
        self.node = node
        self.follower = follower
        self.inputs = inputs
        self.gaps = gaps
        self.outcome = OutputTests((), tests)
        self.asked = asked
        self.bounds = Bounds(node, fail)
        self.window = window_of(node.tests)
        self.outer = None if follower is None else window_of(follower.tests)
        self.matching = Matching.of(RELATIONS["seq"], node.policy, self.window)
        follows = node.policy if follower is None else follower.policy
        self.following = Matching.of(RELATIONS["seq"], follows, self.outer)
        exports = node.shared if node.left is None else (v for v in node.left.exports if v != "$token")
        more = () if node.left is None else tuple(v for v in node.shared if v not in node.left.exports)
        self.joined = tuple(v for v in node.shared if v not in more)
        self.groups = GroupCounters(more, node.exports, types) if more else None
        self.number = 0
        self.portion = _ROWS  # rows that were taken at once
        self.names = (*exports, *((ORIGIN,) if more else ()), *_STATE)
        self.waiting = nothing({v: types.get(v, "int") for v in self.names})

    def process(self, batch: Batch) -> Instances:
        """Return the matches that a batch completes."""
        sides = [operator.process(batch) for operator in self.inputs]
        asked = [each for each in self.asked if each is not None]
        for each in asked:
            each.process(batch)
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
        count = min(len(turns), _ROWS, 2 * self.portion)
        while True:
            until = turns[count - 1] if count else 0
            places = [int(np.searchsorted(side.turn, until, "right")) for side in sides]
            before = [side.take(np.arange(place)) for side, place in zip(sides, places, strict=True)]
            if count <= _FEW or self._count_pairs(before) <= _PAIRS:
                break
            count //= 2
        self.portion = max(count, _FEW)
        after = [side.take(np.arange(place, len(side))) for side, place in zip(sides, places, strict=True)]
        return max((int(side.end[-1]) for side in before if len(side)), default=_EARLIEST), before, after

    def _count_pairs(self, sides: Sequence[Instances]) -> int:
        """Return how many pairs there are at most to ask about."""
        left, *others = sides
        elements, followers = (left, others) if self.node.left is None else (others[0], others[1:])
        names = () if self.follower is None else [v for v in shared_names(self.follower) if v in self.names]
        found = 0
        for asked, some, key in zip(self.asked, ([elements], followers), (self.joined, names), strict=True):
            if asked is not None:
                rows = [self.waiting, left, *some]
                keys = key_rows([[side.column(v) for v in key] for side in rows], list(map(len, rows)))
                group = KeyIndex(np.concatenate(keys)).group
                count = len(self.waiting) + len(left)
                found += int(np.bincount(group[:count], minlength=len(group) + 1)[group[count:]].sum())
        return found

    def _step(self, batch: Batch, sides: Sequence[Instances], now: int) -> Instances:
        """Take new instances of all sides."""
        new, *others = sides
        fresh = {name: Column("int", np.full(len(new), value)) for name, value in _STATE.items()}
        fresh[ORIGIN] = Column("int", self.number + np.arange(len(new)))
        self.number += len(new)
        left = stack([self.waiting, new.with_columns(fresh)], self.names)
        state = {name: left.column(name).data.copy() for name in _STATE}
        for gap in self.gaps:
            gap.limit(batch, left, state["$limit"])
        return self._matches(left, others, state, now)

    def _matches(
        self, left: Instances, others: Sequence[Instances], state: Mapping[str, Integers], now: int
    ) -> Instances:
        """Let the kernel run, and put what it finds together."""
        alone, old, count = self.node.left is None, len(self.waiting), len(left)
        elements, followers = ([], others) if alone else (others[:1], others[1:])
        last = np.array([old if alone else count, count, count])
        last[1:] += sum(map(len, elements))
        last[2:] += sum(map(len, followers))
        lists = GroupLists.of([left, *elements], self.joined)
        waiting = np.flatnonzero(state["$waits"])
        lists.put(waiting[np.argsort(state["$listed"][waiting])], state["$counted"] if alone else left.end, left.start)
        sides = _Sides(left, others, last, lists)
        answers, slots = self._ask_elements(sides, state)
        stores = GroupLists.of([slots.rows, *followers], () if self.follower is None else shared_names(self.follower))
        held = np.flatnonzero(slots.state["$matched"] != k.NO_MATCH)
        stores.put(held[np.argsort(slots.state["$placed"][held])], slots.state["$matched"], slots.rows.start)
        asked = (answers, self._ask_followers(sides, slots, stores))
        found = self._found(sides, slots, asked, *self._run(sides, slots, stores, state, asked))
        self._keep(left, state, slots, now)
        return found

    def _ask_elements(self, sides: _Sides, state: Mapping[str, Integers]) -> tuple[PassingPairs, CounterSlots]:
        """Ask which left sides elements may be counted after; return the slots in which they count, too."""
        alone, asked = self.node.left is None, self.asked[0]
        if asked is None:
            return no_answers(), CounterSlots.of_left_sides(sides.left, state)
        low = int(sides.last[0])
        elements = sides.left.take(np.arange(low, len(sides.left))) if alone else sides.others[0]
        a, b = sides.lists.pairs(sides.left, elements, low if alone else -1, self.matching.window)
        pairs = self._counted(sides, a, b + low, elements.start[b])
        if self.groups is None:
            return asked.ask(a, b + low, pairs), CounterSlots.of_left_sides(sides.left, state)
        slots = self.groups.open(sides.left, elements, a, b)
        answers = asked.ask(a, b + low, pairs)
        return answers, replace(slots, of_pair=slots.of_pair[answers.pairs])

    def _ask_followers(self, sides: _Sides, slots: CounterSlots, stores: GroupLists) -> PassingPairs:
        """Ask which slots may be matched with what follows."""
        asked = self.asked[1]
        if asked is None:
            return no_answers()
        followers, low = sides.others[-1], int(sides.last[1])
        a, b = stores.pairs(slots.rows, followers, -1, self.following.window)
        return asked.ask(a, b + low, self._followed(sides, slots, a, b + low, followers.start[b]))

    def _run(
        self,
        sides: _Sides,
        slots: CounterSlots,
        stores: GroupLists,
        state: Mapping[str, Integers],
        answers: Sequence[PassingPairs],
    ) -> list[Any]:
        """Return what matches: left sides or slots, elements or followers, where counting began or a match ended."""
        left, right, limit = (np.concatenate([getattr(x, v) for x in answers]) for v in ("left", "right", "limit"))
        turn, start, end = sides.arrays()
        counts, last = slots.state, sides.last
        lists = np.concatenate([sides.lists.group, stores.group[len(slots.owner) :]])
        rows = k.RepetitionRows(int(last[0]), int(last[1]), turn, start, end, lists)
        lefts = k.LeftSides(sides.lists.lists, sides.lists.size, *(state[v] for v in ("$waits", "$listed", "$limit")))
        misses = np.zeros(len(slots.owner) if self.bounds.fixed is None else 0, np.int64)
        counters = k.Counters(
            *self.bounds.read(slots.rows), misses, counts["$number"], counts["$begun"], counts["$counted"],
            slots.owner, slots.keeper, slots.of_pair,
        )  # fmt: skip
        homes = stores.group[: len(slots.owner)]
        matches = k.Matches(stores.lists, stores.size, counts["$matched"], counts["$placed"], homes)
        asks = any(each is not None for each in self.asked)
        pairs = np.searchsorted(right, np.arange(len(turn) + 1)) if asks else _NOBODY
        count = max(len(sides.left), len(slots.owner)) if asks else 0
        candidates = k.Candidates(pairs, left, limit, np.full(count, -1), np.empty(count, np.int64))
        cursor = np.array([len(self.waiting), last[0], last[1], 0])
        found: list[Sequence[Any]] = []
        room = int(last[2]) + 1
        while not found or (cursor[: k.FOUND] < last).any():
            out = k.FoundRows(*(np.empty(room, np.int64) for _ in range(4)))
            cursor[k.FOUND] = 0
            k.repeat(self._repeating, rows, lefts, counters, matches, candidates, out, cursor)
            found.append([each[: int(cursor[k.FOUND])] for each in out])
            room = max(room, int(sides.lists.size.max(initial=0)) + 1, int(stores.size.max(initial=0)))
        self.bounds.report(slots.rows, misses)
        return [np.concatenate(each) for each in zip(*found, strict=True)]

    @property
    def _repeating(self) -> k.Repeating:
        """What the rule says, as the kernel takes it."""
        return k.Repeating(
            alone=self.node.left is None,
            select=self.matching.select,
            newest=self.matching.keep == NEWEST,
            counts=self.node.policy.restricts,
            window=self.matching.window,
            asks=self.asked[0] is not None,
            grouped=self.groups is not None,
            followed=self.follower is not None,
            picks=self.following.select,
            consume=self.following.consume,
            latest_match=self.following.keep == NEWEST,
            outer_window=self.following.window,
            asks_followers=self.asked[1] is not None,
        )

    def _found(
        self, sides: _Sides, slots: CounterSlots, answers: Sequence[PassingPairs], a: Integers, b: Integers,
        first: Integers, which: Integers,
    ) -> Instances:  # fmt: skip
        """Return what was found as instances, those of one element together if the policy says so."""
        if self.follower is not None:
            if self.asked[1] is None:
                return self._followed(sides, slots, a, b, first)
            return answers[1].matches(which - len(answers[0].left))[1]
        rows = self._counted(sides, a, b, first)
        if self.asked[0] is not None:
            places, rows = answers[0].matches(which)
            b = b[places]
            rows = rows if self.node.left is None else rows.with_columns({"$last": Column("int", first[places])})
        return together(rows, b) if self.node.policy.select == "together" and len(b) else rows

    def _counted(self, sides: _Sides, a: Integers, b: Integers, begun: Integers) -> Instances:
        """Return left sides with elements, from the start of the one to the end of the other."""
        mine = sides.left.take(a)
        if self.node.left is None:
            element = sides.left.take(b)
            return Instances(element.turn, mine.start, element.end, mine.blocks)
        element = sides.others[0].take(b - len(sides.left))
        more = {} if self.groups is None else {v: element.column(v) for v in self.groups.names}
        more |= {"$first": self._end_of(mine), "$last": Column("int", begun)}
        return Instances(element.turn, mine.start, element.end, mine.blocks).with_columns(more)

    def _followed(self, sides: _Sides, slots: CounterSlots, a: Integers, b: Integers, ended: Integers) -> Instances:
        """Return the matches of slots, which ended at a time, with what follows."""
        assert self.follower is not None
        mine, then = slots.rows.take(a), sides.others[-1].take(b - int(sides.last[1]))
        first = Column("int", ended) if self.node.left is None else self._end_of(mine)
        last = then.column("$last") if "$last" in self.follower.right.exports else Column("int", then.start)
        rows = Instances(then.turn, mine.start, then.end, (*mine.blocks, *then.blocks))
        return rows.with_columns({"$first": first, "$last": last})

    def _end_of(self, left: Instances) -> Column:
        """Return where the first part of left sides ended."""
        return left.column("$first") if "$first" in self.names else Column("int", left.end)

    def _keep(self, left: Instances, state: Mapping[str, Integers], slots: CounterSlots, now: int) -> None:
        """Keep left sides that wait, or have a match that does."""
        counts = slots.state
        waits, held = state["$waits"] != 0, counts["$matched"] != k.NO_MATCH
        if self.window is not None:
            waits &= left.start >= now - self.window
        if self.outer is not None:
            held &= slots.rows.start >= now - self.outer
        state["$waits"][:] = waits
        counts["$matched"][~held] = k.NO_MATCH
        if self.groups is not None:
            counts["$placed"][:] = _before(counts["$placed"])
            self.groups.keep(slots, waits)
        needed = waits.copy()
        needed[slots.owner[held]] = True
        rows = np.flatnonzero(needed)
        columns = {name: Column("int", data[rows]) for name, data in state.items()}
        for name in _PLACES:
            columns[name] = Column("int", _before(columns[name].data))
        self.waiting = left.take(rows).with_columns(columns).only(self.names)


def _before(rows: Integers) -> Integers:
    """Return numbers in the same order that come before the rows of any later batch."""
    found = np.empty_like(rows)
    found[np.argsort(rows, kind="stable")] = np.arange(-len(rows), 0)
    return found


@dataclass(frozen=True, slots=True)
class _Sides:
    """Left sides, elements up to last[1] and followers, one after the other; the lists are those of left sides."""

    left: Instances
    others: Sequence[Instances]
    last: Integers
    lists: GroupLists

    def arrays(self) -> list[Integers]:
        """Return turns, starts and ends, in one array each."""
        parts = [self.left, *self.others]
        turn, end = (np.concatenate([getattr(part, name) for part in parts]) for name in ("turn", "end"))
        lasts = any(part.start is not part.end for part in parts)
        return [turn, np.concatenate([part.start for part in parts]) if lasts else end, end]
