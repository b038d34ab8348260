"""Totals of windows by what a row says: it takes values out again, merges two runs of them, or only steps."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from etalis.data.values import Value
from etalis.temporal.aggregate import AggregateFunction

Item = tuple[Any, ...]
Items = Any  # a deque of items, or the values of a dictionary


class UndoSlide:
    """The accumulator of a row that takes values out again."""

    __slots__ = ("accumulator", "row")
    any_order = True

    def __init__(self, row: AggregateFunction) -> None:
        self.row = row
        self.accumulator = row.zero

    def push(self, item: Item) -> None:
        """Fold a value in."""
        self.accumulator = self.row.step(self.accumulator, item[1])

    def pop(self, item: Item, items: Items) -> None:
        """Take a value out."""
        del items
        assert self.row.undo is not None
        self.accumulator = self.row.undo(self.accumulator, item[1])

    def value(self, items: Items) -> Value:
        """Return the value reached."""
        del items
        return self.row.result(self.accumulator)


class TwoStacks:
    """What a row that can only `merge` comes to: `front` has that of the items from each of the older ones on."""

    __slots__ = ("back", "front", "row")
    any_order = False

    def __init__(self, row: AggregateFunction) -> None:
        self.row = row
        self.front: list[Any] = []
        self.back = row.zero

    def push(self, item: Item) -> None:
        """Fold a value in at the back."""
        self.back = self.row.step(self.back, item[1])

    def pop(self, item: Item, items: Items) -> None:
        """Let the oldest item go; if there is none in front, all come there."""
        del item
        if self.front:
            self.front.pop()
            return
        row, reached = self.row, self.row.zero
        assert row.merge is not None
        self.back = row.zero
        for other in reversed(items):
            reached = row.merge(row.step(row.zero, other[1]), reached)
            self.front.append(reached)

    def value(self, items: Items) -> Value:
        """Return the value of both."""
        del items
        row = self.row
        assert row.merge is not None
        return row.result(row.merge(self.front[-1], self.back) if self.front else self.back)


class FoldedAnew:
    """What a row comes to that has nothing but steps."""

    __slots__ = ("row",)
    any_order = False

    def __init__(self, row: AggregateFunction) -> None:
        self.row = row

    def push(self, item: Item) -> None:
        """Keep nothing of an item but what the window has."""

    def pop(self, item: Item, items: Items) -> None:
        """Keep nothing of an item."""

    def value(self, items: Items) -> Value:
        """Fold everything."""
        return fold(self.row, items)


def fold(row: AggregateFunction, items: Iterable[Item]) -> Value:
    """Return what the values of items come to, in order."""
    reached = row.zero
    for item in items:
        reached = row.step(reached, item[1])
    return row.result(reached)
