"""Windows that slide, and hold what they are taken over.

A `SlidingWindow` takes items that start in the order in which they come, so that the oldest leave first; one that began
before another which came earlier makes it a `MixedWindow`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

from etalis.data.values import Value
from etalis.runtime.operators.fold_log import FoldLog
from etalis.runtime.operators.two_stacks import Item
from etalis.runtime.operators.window_totals import slide_of
from etalis.temporal.aggregate import AggregateFunction
from etalis.temporal.rope import Rope


class SlidingWindow:
    """Items that start in the order in which they came; generated code slides it in line.

    `log` is what contributes, which items have after their value, where that is kept.
    """

    __slots__ = ("items", "log", "row", "total")

    def __init__(self, row: AggregateFunction, log: FoldLog | None = None) -> None:
        self.row = row
        self.log = log
        self.items: deque[Item] = deque()
        self.total = slide_of(row)

    def __iter__(self) -> Iterator[Item]:
        return iter(self.items)

    def counted(self, last: int | None) -> Iterable[Item]:
        """Return the items that the value is taken over."""
        del last
        return self.items

    def size(self, last: int | None) -> int:
        """Return how many items the value is taken over."""
        del last
        return len(self.items)

    def rope(self, last: int | None) -> Rope:
        """Return what contributes to the value."""
        del last
        assert self.log is not None
        return self.log.tell(None, len(self.items))

    def tell(self, told: int) -> None:
        """Keep what contributes, of the items that are there, too."""
        self.log = FoldLog(told, [item[2] for item in self.items])

    @property
    def latest(self) -> int:
        """The latest start."""
        return int(self.items[-1][0]) if self.items else -1 << 63

    def slide(self, item: Item, limit: int | None, last: int | None) -> tuple[Value, int]:
        """Take an item in, let the old go; return the value and the earliest start, no value if nothing is left."""
        items, total = self.items, self.total
        items.append(item)
        total.push(item)
        while items and ((limit is not None and items[0][0] < limit) or (last is not None and len(items) > last)):
            total.pop(items.popleft(), items)
        if self.log is not None:
            self.log.add(item[2], len(items))
        return (total.value(items), items[0][0]) if items else (None, 0)
