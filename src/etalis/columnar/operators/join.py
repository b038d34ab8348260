"""The join over batches: pairs by key and turn, tested, selected and consumed as the policy says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

import numpy as np

from etalis.columnar.conditions.judge import Judge
from etalis.columnar.data.columns import Column, Flags, Integers
from etalis.columnar.data.instances import Instances, nothing, stack, stack_blocks
from etalis.columnar.kernels.buffers import Buffers, code_keys
from etalis.columnar.kernels.join import ArrivingRows, Pairs
from etalis.columnar.kernels.matching import NEVER, NEWEST, Matching
from etalis.columnar.operators.base import AbsenceTest, AgreementTest, Batch, ColumnOperator, TestSequence
from etalis.columnar.operators.join_keys import ComputedKeys, follows_from
from etalis.columnar.operators.lone_side import LoneSide
from etalis.columnar.operators.pair_search import (
    FollowingSearch,
    JoinSearch,
    PairSearch,
    choose,
    end_in_order,
    occur,
)
from etalis.plan import algebra as p
from etalis.plan.retention import equal_times, shared_names, waits_as_instant, window_of
from etalis.plan.sharing import meet

PAIRS = 1 << 16  # pairs that are judged at a time
PORTION = 16  # of them, the fewest that are put together at a time
LIMIT = "$limit"  # of a left side that waits: the start after which nothing matches it any more
NO_LIMIT = (1 << 63) - 1
_NONE: Mapping[str, str] = MappingProxyType({})
_Begun: TypeAlias = tuple[list[Instances], PairSearch]


class JoinOperator(ColumnOperator):
    """Pairs under a relation, selected and consumed by a policy.

    A condition on one side alone is tested before the join, an absence after the left side as a limit to what the left
    side can match; all other `tests` are on pairs. Variables that both sides have are the key, but for those that are
    `vague`: either side may leave them unbound; `computed` keys narrow it.
    """

    def __init__(
        self, node: p.Join, inputs: tuple[ColumnOperator, ColumnOperator], types: Mapping[str, str],
        sides: tuple[list[Judge], list[Judge]], gaps: Sequence[AbsenceTest], tests: TestSequence,
        vague: Mapping[str, str] = _NONE, computed: ComputedKeys | None = None, lone: LoneSide | None = None,
    ) -> None:  # fmt: skip
        self.node = node
        self.lone = lone  # the side that matches alone, too
        self.inputs = inputs
        self.computed = computed
        self.sides = sides
        self.gaps = gaps
        self.agreement = AgreementTest(vague) if vague else None
        self.tests = tests if self.agreement is None else TestSequence((self.agreement, *tests.tests))
        self.asked = self.tests  # what pairs are still asked where keys show a part of it
        self.matching = Matching.of(node.relation, node.policy, window_of(node.tests))
        self.meets_itself = meets_itself(node)
        self.key = tuple(v for v in shared_names(node) if v not in vague)
        gaps_asked = any(isinstance(test, AbsenceTest) and test.test.kind == "gap" for test in tests.tests)
        asked = {*node.exports, *(("$first", "$last") if gaps_asked else ())}
        self._begins_where_left_ends = waits_as_instant(node.relation, 1)
        times = equal_times(node.relation) if node.policy.keep != "newest" else ((), ())  # these choose among a key's
        self._equal_times = (times[0], times[0], times[1], times[1])
        self.marks = node.relation.sequential and bool(asked & {"$first", "$last"})
        marked = (LIMIT,) if gaps else ()
        names = [(*node.left.exports, *marked), node.right.exports]
        if lone is not None:
            names[lone.place] = (*names[lone.place], *lone.marks)
        self.names = (names[0], names[1])
        self.buffers = Buffers()
        self.comes_at_once = False  # whether right sides have no duration, so that none starts before now
        self.waiting = [nothing({v: types.get(v, "int") for v in names}) for names in self.names]

    def process(self, batch: Batch) -> Instances:
        """Return the pairs that a batch completes."""
        left, right = (self.passing(place, operator.process(batch)) for place, operator in enumerate(self.inputs))
        self.tests.process(batch)
        if self.gaps:
            left = left.with_columns({LIMIT: Column("int", np.full(len(left), NO_LIMIT))})
        if self.lone is not None:
            left, right = ((self.lone.fresh(left), right), (left, self.lone.fresh(right)))[self.lone.place]
        found = self._joined(batch, left, right)
        for test in self.tests.tests:
            if isinstance(test, AbsenceTest):
                test.forget(batch.now)
        return found

    def passing(self, place: int, rows: Instances) -> Instances:
        """Leave out instances that the conditions on this side alone refuse; one that cannot tell judges pairs."""
        for judge in tuple(self.sides[place]):
            passes = judge.decided(rows)
            if passes is None:
                self.sides[place].remove(judge)
                self.tests = TestSequence((judge, *self.tests.tests))
            elif not passes.all():
                rows = rows.take(np.flatnonzero(passes))
        return rows

    def _joined(self, batch: Batch, *fresh: Instances) -> Instances:
        """Join what waits and what is new, and keep what waits then."""
        parts = [part for pair in zip(self.waiting, fresh, strict=True) for part in pair]
        columns = [[part.column(v) for v in self.key] for part in parts]
        self.asked = self.tests
        if self.computed is not None:
            more, shown = self.computed.columns((parts[:2], parts[2:]))
            columns = [[*shared, *others] for shared, others in zip(columns, more, strict=True)]
            self.asked = TestSequence(
                test for test in self.tests.tests if not (isinstance(test, Judge) and follows_from(test.test, shown))
            )
        times = [[getattr(part, name) for name in names] for part, names in zip(parts, self._equal_times, strict=True)]
        keys = code_keys(columns, list(map(len, parts)), times)
        follows = self._follows(parts[2], parts[3]) and not self.meets_itself
        sides, search = (follows and self._following(batch, parts, keys)) or self._meeting(batch, parts, keys)
        if self.lone is not None:
            self.lone.begin(len(sides[self.lone.place]))
        found = self._pairs(sides, search)
        if self.gaps:
            sides[0] = sides[0].with_columns({LIMIT: Column("int", search.limit)})
        if self.lone is not None:
            place = self.lone.place
            sides[place] = self.lone.judge(batch, sides[place], len(self.waiting[place]))
        self._keep(sides, search.alive, batch.now)
        return found

    def _follows(self, old: Instances, new: Instances) -> bool:
        """Tell whether right sides need not wait: what they match has come before them.

        One that begins where the other ends waits only if it has no duration.
        """
        if self.matching.retain[1] == NEVER or not self._begins_where_left_ends:
            return self.matching.retain[1] == NEVER
        return not len(old) and new.start is not new.end and bool((new.start < new.end).all())

    def _following(self, batch: Batch, parts: Sequence[Instances], keys: Sequence[Integers]) -> _Begun | None:
        """Begin a join whose right sides do not wait; None if the sides are not in order."""
        old, fresh, _, new = parts
        left, right = self._laid(parts[:2], keys[:2]), ArrivingRows(new.turn, new.start, new.end, keys[3])
        if not end_in_order(left) or not end_in_order(right):
            return None
        side = Instances(left.turn, left.start, left.end, stack_blocks(old, fresh, self.names[0]))
        limit = self._limits(batch, side)
        return [side, new], FollowingSearch(
            self._searching, left, right, len(old), limit, self.buffers, ebbs=self._ebbs
        )

    def _meeting(self, batch: Batch, parts: Sequence[Instances], keys: Sequence[Integers]) -> _Begun:
        """Begin a join in which either side may wait."""
        both = self._laid(parts, keys)
        count = len(parts[0]) + len(parts[1])
        sides = [
            Instances(both.turn[part], both.start[part], both.end[part], stack_blocks(old, new, names))
            for part, old, new, names in zip(
                (slice(count), slice(count, None)), parts[::2], parts[1::2], self.names, strict=True
            )
        ]
        waiting, limit = (len(parts[0]), len(parts[2])), self._limits(batch, sides[0])
        return sides, JoinSearch(self._searching, both, count, waiting, limit, self.buffers)

    def _laid(self, parts: Sequence[Instances], keys: Sequence[Integers]) -> ArrivingRows:
        """Return instances below each other."""
        turn, end = (self.buffers.below(name, [getattr(part, name) for part in parts]) for name in ("turn", "end"))
        lasts = any(part.start is not part.end for part in parts)
        start = self.buffers.below("start", [part.start for part in parts]) if lasts else end
        return ArrivingRows(turn, start, end, self.buffers.below("keys", keys))

    def _limits(self, batch: Batch, left: Instances) -> Integers:
        """Return up to where each left side can match: what blocks it has ended before anything that starts later."""
        if not self.gaps:
            return np.zeros(0, np.int64)
        limit = left.column(LIMIT).data.copy()
        for gap in self.gaps:
            gap.limit(batch, left, limit)
        return limit

    @property
    def _is_late(self) -> bool:
        """Whether the policy chooses among pairs only after they are tested."""
        return bool(self.asked) and self.matching.consume

    @property
    def _ebbs(self) -> bool:
        """Whether left sides go when their limits are over."""
        return bool(self.gaps) and self.comes_at_once and self.matching.keep != NEWEST

    @property
    def _searching(self) -> Matching:
        if self.meets_itself:
            return self.matching.by_turn(all_of_them=bool(self.asked))
        return self.matching.without_policy() if self._is_late else self.matching

    def _pairs(self, sides: Sequence[Instances], search: PairSearch) -> Instances:
        """Return the pairs that pass the tests."""
        found: list[Instances] = []
        while not search.is_over or not found:
            pairs = search.pairs(PAIRS if self.asked else 1 << 62)
            found.append(self._judged(sides, pairs, search.alive if self._is_late else None))
            if self._is_late and not search.is_over:
                search.rebuild()
        return found[0] if len(found) == 1 else stack(found, self.node.exports)

    def _judged(self, sides: Sequence[Instances], pairs: Pairs, alive: Flags | None) -> Instances:
        """Return the pairs that pass the tests and, where `alive` is given, that the policy then chooses."""
        a, b, arrived, _ = pairs
        matches = self._matches(sides, pairs)
        if self.agreement is not None:
            matches = self.agreement.beside(matches, sides[1].take(b))
        are_put_together = self.node.policy.select == "together"
        if not self.asked and not are_put_together:
            self._meet(pairs, np.arange(len(a)))
            return matches
        candidates = matches
        passing, matches = self.asked.passing(candidates)
        if alive is not None:
            passes = np.zeros(len(a), bool)
            passes[passing] = True
            if are_put_together and self._asks_again:
                return self._combined(candidates, len(sides[0]), pairs, passes, alive)
            chosen = np.flatnonzero(choose(self.matching, len(sides[0]), pairs, passes, alive)[passing])
            if len(chosen) < len(passing):
                passing, matches = passing[chosen], matches.take(chosen)
        if self.meets_itself and len(matches):
            latest = _latest(np.where(arrived, b, -1 - a)[passing], passing)
            passing, matches = passing[latest], matches.take(latest)
        if are_put_together:
            arrival = np.where(arrived, b, -1 - a)[passing]
            self._meet(pairs, passing, passing[_runs(arrival)[1]] if len(passing) else passing)
            return together(matches, arrival)
        self._meet(pairs, passing)
        return matches

    def _meet(self, pairs: Pairs, partners: Integers, matches: Integers | None = None) -> None:
        """Note pairs whose sides are partners, and of which pair each match is, where one may have none."""
        if self.lone is not None:
            self.lone.meet(pairs, partners, partners if matches is None else matches)

    @property
    def _asks_again(self) -> bool:
        """Whether conditions see more of a combined match than of its latest candidate."""
        return any(isinstance(test, Judge) and test.test.kind != "where" for test in self.asked.tests)

    def _combined(self, candidates: Instances, count: int, pairs: Pairs, passes: Flags, alive: Flags) -> Instances:
        """Return the matches that arrivals make with all their candidates, if the conditions hold for these too.

        Where one does not stand, nothing is consumed, and what comes later chooses anew (definition 12.18).
        """
        again = TestSequence(test for test in self.asked.tests if not isinstance(test, AbsenceTest))
        a, b, arrived, _ = pairs
        if not len(a):
            return again.passing(candidates)[1]
        arrival = np.where(arrived, b, -1 - a)
        ends = _runs(arrival)[1] + 1
        found: list[Instances] = []
        low, portion = 0, PORTION
        while low < len(a):
            high = int(ends[np.searchsorted(ends, min(low + portion, len(a)))])
            before = alive.copy()
            part = Pairs(a[low:high], b[low:high], arrived[low:high])
            chosen = low + np.flatnonzero(choose(self.matching, count, part, passes[low:high], alive))
            kept, matches = again.passing(together(candidates.take(chosen), arrival[chosen]))
            first = _runs(arrival[chosen])[0] if len(chosen) else chosen
            fails = np.flatnonzero(~np.isin(np.arange(len(first)), kept))
            if not len(fails):
                self._meet(pairs, chosen, chosen[first[kept]])
                found.append(matches)
                low, portion = high, 2 * portion
                continue
            stands = np.flatnonzero(kept < fails[0])
            self._meet(pairs, chosen[: first[fails[0]]], chosen[first[kept[stands]]])
            found.append(matches.take(stands))
            refused = low + np.flatnonzero(arrival[low:high] == arrival[chosen[first[fails[0]]]])
            alive[:] = before
            part = Pairs(a[low : refused[0]], b[low : refused[0]], arrived[low : refused[0]])
            choose(self.matching, count, part, passes[low : refused[0]], alive)
            low, portion = int(refused[-1]) + 1, max(PORTION, portion // 4)
        return stack(found, self.node.exports)

    def _matches(self, sides: Sequence[Instances], pairs: Pairs) -> Instances:
        """Return pairs of rows as instances."""
        a, b = pairs.left, pairs.right
        found = sides[0].paired(a, sides[1], b)
        if self.matching.retain[1] == NEVER and self.node.relation.sequential and not self.marks:
            return found
        found = Instances(*occur(self.matching, sides, pairs), found.blocks)
        if not self.marks:
            return found
        left, right = sides[0].take(a), sides[1].take(b)
        first = left.column("$first") if "$first" in self.names[0] else Column("int", left.end)
        last = right.column("$last") if "$last" in self.names[1] else Column("int", right.start)
        return found.with_columns({"$first": first, "$last": last})

    def _keep(self, sides: Sequence[Instances], alive: Flags, now: int) -> None:
        """Keep what waits and can still be used."""
        low = 0
        for place, side in enumerate(sides):
            rows = np.flatnonzero(alive[low : low + len(side)])
            low += len(side)
            if self.matching.retain[place] >= 0:
                rows = rows[side.end[rows] >= now - self.matching.retain[place]]
            if not place and self._ebbs:
                rows = rows[side.column(LIMIT).data[rows] >= now]
            self.waiting[place] = side.take(rows).only(self.names[place])


def meets_itself(node: p.Join) -> bool:
    """Tell whether one event may come to both sides of a join where the newest alone waits."""
    return node.policy.keep == "newest" and meet(node.left, node.right)


def _latest(arrival: Integers, pair: Integers) -> Integers:
    """Return which matches are of the last pair of their arrival: one, or several where a condition multiplies.

    >>> _latest(np.array([4, 4, 4, 7]), np.array([0, 1, 1, 2])).tolist()
    [1, 2, 3]
    """
    first, last = _runs(arrival)
    return np.flatnonzero(pair == np.repeat(pair[last], last + 1 - first))


def _runs(arrival: Integers) -> tuple[Integers, Integers]:
    """Return the first and the last places of each arrival."""
    first = np.flatnonzero(np.concatenate([[True], arrival[1:] != arrival[:-1]]))
    return first, np.append(first[1:], len(arrival)) - 1


def together(matches: Instances, arrival: Integers) -> Instances:
    """Return one match per arrival: the latest of its matches, from the earliest start on."""
    if not len(matches):
        return matches
    first, last = _runs(arrival)
    latest = matches.take(last)
    return Instances(latest.turn, np.minimum.reduceat(matches.start, first), latest.end, latest.blocks)
