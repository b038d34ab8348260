"""Choices of events for the leaves of a rule, and what is known of each part by them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

from etalis.data.values import Value
from etalis.temporal.relation import Relation
from etalis.why.search.instances import PartEvent
from etalis.why.search.sightings import Holding


class Lost:
    """A leaf that is chosen to be missing."""


MISSING = Lost()


class Counted:
    """Elements that are counted as one leaf, from the first to the last; `failures` if they do not do."""

    __slots__ = ("bound", "elements", "end", "failures", "start", "value")

    def __init__(
        self, elements: list[Holding], times: tuple[int, int], bound: dict[str, Value], value: Value | None,
        failures: tuple[FailedTest, ...] = (),
    ) -> None:  # fmt: skip
        self.elements, self.bound, self.value, self.failures = elements, bound, value, failures
        self.start, self.end = times

    @property
    def name(self) -> str:
        """That of an element."""
        return self.elements[-1].events[-1].name if self.elements else ""


Taken: TypeAlias = PartEvent | Counted | Lost


class FailedTest(NamedTuple):
    """A test that fails: its kind, what is to be said of it, and by how much, in microseconds."""

    kind: str
    data: Any
    distance: int = 0


class PartExtent(NamedTuple):
    """What is known of a part: whether it is whole, where it is at least, and who begins and ends it.

    `first` and `last` are as for `cnot` (definition 11.2); `sure` tells whether start and end are what they will be
    with the missing parts there; `edges` are the leftmost and the rightmost whole operand of a chain that is not whole.
    """

    whole: bool
    start: int | None = None
    end: int | None = None
    first: int | None = None
    last: int | None = None
    bound: dict[str, Value] = {}  # noqa: RUF012
    sure: tuple[bool, bool] = (False, False)
    begins: Any = None
    ends: Any = None
    edges: tuple[Any, Any] = (None, None)
    number: int = 0
    taken: tuple[Any, ...] = ()

    @property
    def times(self) -> tuple[int, int]:
        """The interval of a part that has one."""
        assert self.start is not None
        assert self.end is not None
        return self.start, self.end

    @property
    def leftmost(self) -> PartExtent | None:
        """The leftmost whole operand."""
        found: PartExtent | None = self if self.whole else self.edges[0]
        return found

    @property
    def rightmost(self) -> PartExtent | None:
        """The rightmost whole operand."""
        found: PartExtent | None = self if self.whole else self.edges[1]
        return found


NOTHING_KNOWN = PartExtent(False)


def of_instance(x: PartEvent, bound: dict[str, Value]) -> PartExtent:
    """Return the extent of a leaf that is there."""
    return PartExtent(True, x.start, x.end, x.end, x.start, bound, (True, True), x, x, number=x.number, taken=(x,))


def of_counted(x: Counted) -> PartExtent:
    """Return the extent of elements that are counted."""
    number = max((event.number for one in x.elements for event in one.events), default=0)
    return PartExtent(True, x.start, x.end, x.end, x.start, x.bound, (True, True), x, x, number=number, taken=(x,))


def pair(row: Relation, a: PartExtent, b: PartExtent, *, apart: bool = False) -> PartExtent:
    """Return what is known of two parts together; `apart`, they are one part each of a sequence."""
    bound = {**a.bound, **b.bound}
    sides = {"a": [a], "b": [b], "hull": [a, b]}[row.occurs_on]
    starting = [x for x in sides if x.start is not None]
    ending = [x for x in sides if x.end is not None]
    begin = min(starting, key=lambda x: x.times[0], default=NOTHING_KNOWN)
    finish = max(ending, key=lambda x: x.times[1], default=NOTHING_KNOWN)
    first, last = (a.first, b.last) if row.sequential else (finish.end, begin.start)
    if apart:
        first, last = a.end, b.start
    edges: tuple[PartExtent | None, PartExtent | None] = (None, None)
    if row.sequential:
        edges = (a.leftmost or b.leftmost, b.rightmost or a.rightmost)
    return PartExtent(
        a.whole and b.whole, begin.start, finish.end, first, last, bound, _sure(row, a, b), begin.begins, finish.ends,
        edges, max(a.number, b.number), a.taken + b.taken,
    )  # fmt: skip


def _sure(row: Relation, a: PartExtent, b: PartExtent) -> tuple[bool, bool]:
    """Tell whether start and end are settled: by the side that a row says begins or ends the pair, else by both."""
    if a.whole and b.whole:
        return True, True
    if row.occurs_on != "hull":
        return a.sure if row.occurs_on == "a" else b.sure
    ordered = any(x == "a2" and y == "b1" for x, _, y in row.comparisons)
    same = [{x, y} for x, op, y in row.comparisons if op == "="]
    start = a.sure[0] if ordered else (a.sure[0] or b.sure[0] if {"a1", "b1"} in same else a.sure[0] and b.sure[0])
    end = b.sure[1] if ordered else (a.sure[1] or b.sure[1] if {"a2", "b2"} in same else a.sure[1] and b.sure[1])
    return start, end


def excess(row: Relation, a: tuple[int, int], b: tuple[int, int]) -> int:
    """Return by how much two intervals fail a row, 0 if they do not; the sum over its comparisons.

    >>> from etalis.temporal.relation import RELATIONS
    >>> excess(RELATIONS["seq"], (6, 6), (4, 4)), excess(RELATIONS["seq"], (1, 1), (1, 1))
    (2, 1)
    """
    points = {"a1": a[0], "a2": a[1], "b1": b[0], "b2": b[1]}
    found = 0
    for x, op, y in row.comparisons:
        left, right = points[x], points[y]
        fails = left >= right if op == "<" else left > right if op == "<=" else left != right
        found += max(1, abs(left - right)) if fails else 0
    return found


class Choice:
    """Leaves that are decided so far, with what they bind, what is known of finished parts, and what fails."""

    __slots__ = ("bound", "cost", "extents", "failures", "place", "rank", "taken")

    def __init__(
        self, taken: tuple[Taken | None, ...], place: int, bound: dict[str, Value], extents: dict[int, PartExtent],
        failures: tuple[FailedTest, ...], cost: tuple[int, int, int],
    ) -> None:  # fmt: skip
        self.taken, self.place, self.bound, self.extents = taken, place, bound, extents
        self.failures, self.cost = failures, cost
        self.rank: tuple[Any, ...] = ()


def events_of(x: PartExtent) -> Iterator[PartEvent]:
    """Yield the events that a part is made of."""
    for taken in x.taken:
        if isinstance(taken, Counted):
            for one in taken.elements:
                yield from one.events
        else:
            yield taken
