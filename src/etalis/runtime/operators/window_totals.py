"""Totals of windows: what elements come in and the oldest leave, O(1) amortised each.

An item is (start, value, marks...). Sums and counts take back what leaves; the least and greatest are at the head of a
monotonic deque; a row that can only `merge` has two stacks. Law: the value is that of folding what is in the window, in
order.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Protocol

from etalis.data.values import Value
from etalis.runtime.operators.exact_total import PLAIN, SumTotal, kind_of
from etalis.runtime.operators.two_stacks import FoldedAnew, Item, Items, TwoStacks, UndoSlide
from etalis.temporal.aggregate import AggregateFunction, divide
from etalis.temporal.exact_sum import ExactSum


class WindowTotal(Protocol):
    """What the total of a window can do; `items` are what it holds, after the change."""

    any_order: bool  # whether any item may leave, not the oldest alone

    def push(self, item: Item) -> None: ...
    def pop(self, item: Item, items: Items) -> None: ...
    def value(self, items: Items) -> Value: ...


class CountSlide:
    """How many items there are."""

    __slots__ = ()
    any_order = True

    def __init__(self, row: AggregateFunction) -> None:
        del row

    def push(self, item: Item) -> None:
        """Count an item, which the window does."""

    def pop(self, item: Item, items: Items) -> None:
        """Count an item no more."""

    def value(self, items: Items) -> Value:
        """Return the number of items."""
        return len(items)


class SumSlide(SumTotal):
    """A sum that items leave; what two floats cannot hold is summed anew, exactly, until others are in the window."""

    __slots__ = ("gone",)
    any_order = True

    def __init__(self, row: AggregateFunction) -> None:
        super().__init__(row)
        self.gone = 0  # how many items left since the sum is exact

    def push(self, item: Item) -> None:
        """Add the value of an item."""
        if self.exact is not None:
            self.exact = self.exact.add(item[1])
            return
        if self.kind is None:
            self.kind = kind_of(item[1])
            self.high = 0 if self.kind is int else 0.0
        if self.kind is not _UNSUMMED and not self.shift(item[1], 1):
            self.kind = _UNSUMMED

    def pop(self, item: Item, items: Items) -> None:
        """Take the value of an item out."""
        if self.exact is not None:
            self.exact = self.exact.subtract(item[1])
            self.gone += 1
            if self.gone > len(items):
                self.gone = 0
                if self.exact.floats in (0, len(items)):
                    self.load(self.exact)
        elif self.kind is not _UNSUMMED and not self.shift(item[1], -1):
            self.kind = _UNSUMMED

    def value(self, items: Items) -> Value:
        """Return the sum."""
        if self.kind is _UNSUMMED:
            self.exact, self.kind, self.gone = ExactSum(), None, 0
            for item in items:
                self.exact = self.exact.add(item[1])
        return super().value(len(items))

    def resum(self, items: Items) -> Value:
        """Return the value of items where generated code found that two floats cannot hold it."""
        self.kind = _UNSUMMED
        return self.value(items)


class _Unsummed:
    """The type of no value: the items are to be summed when their value is asked."""


_UNSUMMED = _Unsummed


class MeanSlide(SumSlide):
    """A sum that items leave, and the mean that it comes to."""

    __slots__ = ()

    def value(self, items: Items) -> Value:
        """Return the mean."""
        return divide(super().value(items), len(items))


class DistinctSlide:
    """How often each value is there."""

    __slots__ = ("counts",)
    any_order = True

    def __init__(self, row: AggregateFunction) -> None:
        del row
        self.counts: dict[Value, int] = {}

    def push(self, item: Item) -> None:
        """Count a value."""
        self.counts[item[1]] = self.counts.get(item[1], 0) + 1

    def pop(self, item: Item, items: Items) -> None:
        """Count a value no more."""
        del items
        left = self.counts[item[1]] - 1
        if left:
            self.counts[item[1]] = left
        else:
            del self.counts[item[1]]

    def value(self, items: Items) -> Value:
        """Return how many different values there are."""
        del items
        return len(self.counts)


class ExtremeSlide:
    """A monotonic deque: those items that are better than all after them, all of one `kind` (None: of several)."""

    __slots__ = ("best", "kind", "row")
    any_order = False

    def __init__(self, row: AggregateFunction) -> None:
        self.row = row
        self.kind: type | None = None
        self.best: deque[Item] = deque()

    def push(self, item: Item) -> None:
        """Drop what is no better, and take an item in."""
        best, x = self.best, item[1]
        if not best and type(x) in PLAIN:
            self.kind = kind_of(x)
        elif self.kind is not kind_of(x):
            self.kind = None
        if self.kind is not None:
            while best and not (best[-1][1] < x if self.row.kernel == "least" else best[-1][1] > x):
                best.pop()
        else:
            while best and self.row.step(best[-1][1], x) is x:
                best.pop()
        best.append(item)

    def pop(self, item: Item, items: Items) -> None:
        """Let the oldest item go."""
        del items
        if self.best[0] is item:
            self.best.popleft()

    def value(self, items: Items) -> Value:
        """Return the best."""
        del items
        return self.best[0][1]


class FirstSlide(CountSlide):
    """The value of the oldest item."""

    __slots__ = ()
    any_order = False

    def value(self, items: Items) -> Value:
        """Return it."""
        return items[0][1]


class LastSlide(FirstSlide):
    """The value of the newest item."""

    __slots__ = ()

    def value(self, items: Items) -> Value:
        """Return it."""
        return items[-1][1]


class ListSlide(FirstSlide):
    """The values of all items."""

    __slots__ = ()

    def value(self, items: Items) -> Value:
        """Return them."""
        return tuple([item[1] for item in items])


SLIDES: Mapping[str | None, type[Any]] = MappingProxyType(
    {
        "count": CountSlide,
        "sum": SumSlide,
        "mean": MeanSlide,
        "least": ExtremeSlide,
        "greatest": ExtremeSlide,
        "distinct": DistinctSlide,
        "first": FirstSlide,
        "last": LastSlide,
        "list": ListSlide,
    }
)


def slide_of(row: AggregateFunction) -> WindowTotal:
    """Return an empty total of a row that items can leave."""
    general = UndoSlide if row.undo is not None else TwoStacks if row.merge is not None else FoldedAnew
    found: WindowTotal = SLIDES.get(row.kernel, general)(row)
    return found
