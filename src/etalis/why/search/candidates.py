"""The events that a leaf may be, nearest first: an endless supply is never looked at whole.

Beside each stands what it costs at least, so that a search can put off drawing it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from etalis.language import syntax as s
from etalis.why.search.counted import countings
from etalis.why.search.extents import MISSING, Choice, Counted, Taken
from etalis.why.search.instances import PartEvent
from etalis.why.search.measure import Measure
from etalis.why.search.shape import ShapeLeaf, ShapeNode

Cost = tuple[int, int, int, int]  # failed tests more than there are, by how much, hull at least, lateness


class Supply:
    """The instances of an event leaf, drawn one by one; `next_cost` is what the next one costs at least."""

    def __init__(self, measure: Measure, choice: Choice, leaf: ShapeLeaf) -> None:
        assert leaf.event is not None
        pattern = leaf.event
        self.leaf = leaf.number
        shelf = measure.tester.instances.of((pattern.name, len(pattern.args)))
        self._found = shelf.fitting(pattern.args, choice.bound)
        present = [x for x in choice.taken if isinstance(x, PartEvent | Counted)]
        self._low = min((x.start for x in present), default=None)
        self._high = max((x.end for x in present), default=None)
        self._before = _must_end_before(measure, choice, leaf)
        if self._before is not None:
            pivot = bisect_left(self._found, self._before, key=_end)
        elif self._high is not None:
            pivot = bisect_right(self._found, self._high, key=_end)
        else:
            pivot = len(self._found)
        self._down, self._up = pivot - 1, pivot
        self._costs = self._cost_down(), self._cost_up()

    def _cost_down(self) -> Cost | None:
        """Return what the next earlier one costs at least: it fails no order, and lies further away."""
        if self._down < 0:
            return None
        end = self._found[self._down].end
        return 0, 0, 0 if self._high is None else max(0, self._high - end), -end

    def _cost_up(self) -> Cost | None:
        """Return what the next later one costs at least: where it should have been before, it fails that order."""
        if self._up >= len(self._found):
            return None
        end = self._found[self._up].end
        hull = 0 if self._low is None else max(0, end - self._low)
        return (0, 0, hull, -end) if self._before is None else (1, max(1, end - self._before), 0, -end)

    @property
    def next_cost(self) -> Cost | None:
        """What the next one costs at least; None if there is none."""
        return min((cost for cost in self._costs if cost is not None), default=None)

    def draw(self) -> PartEvent:
        """Take the next one."""
        down, up = self._costs
        if up is None or (down is not None and down <= up):
            found = self._found[self._down]
            self._down -= 1
            self._costs = self._cost_down(), up
        else:
            found = self._found[self._up]
            self._up += 1
            self._costs = down, self._cost_up()
        return found


def _end(x: PartEvent) -> int:
    return x.end


def _must_end_before(measure: Measure, choice: Choice, leaf: ShapeLeaf) -> int | None:
    """Return when what follows a leaf in a sequence starts, if all of that is there."""
    node = lowest_above(measure.shape.root, leaf.number, leaf.number + 1)
    if node is None or node.operator is None or not measure.tester.relations[node.operator].sequential:
        return None
    right = choice.taken[leaf.number + 1 : node.leaves[1]]
    starts = [x.start for x in right if isinstance(x, PartEvent | Counted)]
    return min(starts) if starts and len(starts) == len(right) else None


def lowest_above(root: ShapeNode, left: int, right: int) -> ShapeNode | None:
    """Return the lowest node above two leaves."""
    if right >= root.leaves[1]:
        return None
    node = root
    while True:
        inner = next((x for x in node.below if x.leaves[0] <= left and right < x.leaves[1]), None)
        if inner is None:
            return node
        node = inner


def others(measure: Measure, choice: Choice, leaf: ShapeLeaf) -> Iterator[Taken]:
    """Yield what a leaf may be that is no supply of events: a point in time, elements that are counted, or missing."""
    match leaf.pattern:
        case s.TimePoint(time=time):
            yield PartEvent("", (), time, time, None, 0)
        case s.Repeat() | s.Aggregate():
            yield from countings(measure, choice, leaf)
            yield MISSING
        case _:
            yield MISSING
