"""Which of many branches of rules an event is offered to: an index by the constants and bounds that they ask for.

Rules that differ in a constant or a threshold, such as `alert1(P) <- tick('S1', P) where P > 17.3`, cost an event a
look-up or a bisection each time, however many they are. Law: an event is offered to branches in their order, and those
that are passed over would do nothing with it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from etalis.runtime.codegen.branches.levels import Level, RuleBranch
from etalis.runtime.codegen.branches.segments import Segments
from etalis.runtime.codegen.branches.shapes import BranchShape, Hit
from etalis.runtime.codegen.network import Wired
from etalis.runtime.reporting.evidence import Evidence, Kind
from etalis.runtime.state import LastMade, Raw


class ConstantIndex:
    """The branches of one kind of event by the constants and bounds that they ask for."""

    def __init__(self, kind: Kind, evidence: Evidence, last: LastMade, several: Iterable[RuleBranch]) -> None:
        self.kind = kind
        self.evidence = evidence
        self.mark = evidence.kind(kind)
        self._last_made = last
        self._branches: dict[int, RuleBranch] = {}
        self._last = 0
        self._shapes: Counter[BranchShape] = Counter()
        self._others = 0  # branches that ask for anything but an interval
        numbers = list(map(self._number, several))
        self._of_leaves = {id(branch.leaf): branch for branch in self._branches.values()}
        self.level = Level(self, numbers)

    def __getitem__(self, number: int) -> RuleBranch:
        return self._branches[number]

    def marker(self, branch: RuleBranch) -> RuleBranch | None:
        """Return what notes that the leaf of a branch matches, if it is the branch that does so else."""
        if branch.marker is None:
            return None
        marker = branch.marker()
        if not marker.number:
            self._number(marker)
        return marker

    @property
    def shape(self) -> BranchShape | None:
        """The shape of all branches, if they have one."""
        return next(iter(self._shapes)) if len(self._shapes) == 1 else None

    @property
    def proven(self) -> Segments[Hit] | None:
        """What finds branches of one shape by intervals that are exactly what they ask, if that is all there is."""
        parts = list(self.level.parts.values())
        if len(parts) != 1 or self.level.open or self._others or self.shape is None:
            return None
        return parts[0] if isinstance(parts[0], Segments) and not parts[0].added else None

    def _number(self, branch: RuleBranch) -> int:
        self._last += 1
        branch.number = self._last
        self._keep(branch)
        return branch.number

    def _keep(self, branch: RuleBranch) -> None:
        self._branches[branch.number] = branch
        self._shapes[branch.shape] += 1
        self._others += not branch.asked.is_interval

    def _drop(self, branch: RuleBranch) -> None:
        del self._branches[branch.number]
        self._shapes[branch.shape] -= 1
        self._others -= not branch.asked.is_interval
        if not self._shapes[branch.shape]:
            del self._shapes[branch.shape]

    def add(self, branch: RuleBranch, *, anew: bool) -> None:
        """Offer events to one more branch, after all others; all are called `anew` where slots have changed."""
        self._number(branch)
        self._of_leaves[id(branch.leaf)] = branch
        self.level.add(branch)
        if anew:
            self.level.build()

    def replace(self, branch: RuleBranch, *, anew: bool) -> None:
        """Offer events to the branch of a leaf that is written anew, at the place that it has."""
        old = self._of_leaves[id(branch.leaf)]
        if not anew:  # else what is there has fewer slots, and all is built anew
            self.level.remove(old)
        self._drop(old)
        branch.number = old.number
        self._keep(branch)
        self._of_leaves[id(branch.leaf)] = branch
        if anew:
            self.level.build()
        else:
            self.level.add(branch)

    def remove(self, leaf: Wired) -> None:
        """Offer events to the branch of a leaf no more."""
        branch = self._of_leaves.pop(id(leaf))
        self.level.remove(branch)
        self._drop(branch)

    def offer(self, raw: Raw) -> None:
        """Offer an event to the branches that ask for no more than it has."""
        self.mark.seen = True
        self._last_made.open(raw[0])
        for hit in self.level.find(raw):
            hit[1](raw, hit)
