"""Tests that decide what a repetition counts, and what follows it: asked of all pairs before the kernel runs.

Whether a left side passes with an element or a follower depends on both alone, but for where counting began, or where
a run ended, which an absence in a gap asks for: that is a limit to it, and the kernel's to compare.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from etalis.columnar.conditions.steps import places_of
from etalis.columnar.data.columns import Integers
from etalis.columnar.data.instances import Instances
from etalis.columnar.kernels.buffers import BlockerIndex
from etalis.columnar.operators.base import AbsenceTest, Batch, TestSequence

_NO_LIMIT = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class PassingPairs:
    """The pairs that pass, and which `pairs` these are; `rows` from `low` to `high` are what becomes of each."""

    pairs: Integers
    left: Integers
    right: Integers
    limit: Integers
    low: Integers
    high: Integers
    rows: Instances | None

    def matches(self, which: Integers) -> tuple[Integers, Instances]:
        """Return the matches of some pairs, and for each the place of its pair among those."""
        assert self.rows is not None
        counts = (self.high - self.low)[which]
        rows = places_of(self.high - self.low, which)
        return np.repeat(np.arange(len(which)), counts), self.rows.take(rows)


def no_answers() -> PassingPairs:
    """Return what stands where nothing is asked."""
    none = np.zeros(0, np.int64)
    return PassingPairs(none, none, none, none, none, none, None)


class PairTests:
    """The tests on pairs; `gaps` are absences before the first element that counts, or after a run (`are_after`)."""

    def __init__(self, tests: TestSequence, gaps: Sequence[AbsenceTest], *, are_after: bool) -> None:
        self.tests = tests
        self.gaps = gaps
        self.are_after = are_after

    @property
    def absences(self) -> list[AbsenceTest]:
        """All absences among the tests."""
        return [*(test for test in self.tests.tests if isinstance(test, AbsenceTest)), *self.gaps]

    def process(self, batch: Batch) -> None:
        """Let every absence see what may block."""
        for absence in self.absences:
            absence.process(batch)

    def forget(self, now: int) -> None:
        """Let absences drop what can block nothing any more."""
        for absence in self.absences:
            absence.forget(now)

    def ask(self, left: Integers, right: Integers, pairs: Instances) -> PassingPairs:
        """Return what passes of pairs, which come by their right sides."""
        chosen, rows = self.tests.passing(pairs)
        kept = np.unique(chosen)
        limit = np.full(len(kept), -_NO_LIMIT if self.are_after else _NO_LIMIT)
        for gap in self.gaps:
            if len(gap.blockers) and len(kept):
                self._limit(gap, pairs.take(kept), limit)
        low, high = np.searchsorted(chosen, kept), np.searchsorted(chosen, kept, "right")
        return PassingPairs(kept, left[kept], right[kept], limit, low, high, rows)

    def _limit(self, gap: AbsenceTest, pairs: Instances, limit: Integers) -> None:
        """Lower the limit to where counting begins, or raise that to where a match ends, by what may block."""
        mine, asked = gap.keys(gap.blockers, pairs)
        blockers = BlockerIndex(mine, gap.blockers.start, gap.blockers.end)
        if self.are_after:
            blockers.raise_(limit, asked, pairs.column("$last").data)
        else:
            blockers.lower(limit, asked, pairs.column("$first").data)
