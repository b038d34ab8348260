"""Totals that only grow: what all elements of a group, or all since an opener, have come to.

Each is told how many elements there are where it needs that. `state` is the total as plain data, which `load` takes
over.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Protocol

from etalis.data.values import Value, order_key
from etalis.runtime.operators.exact_total import PLAIN, SumTotal, kind_of
from etalis.runtime.operators.fold_log import FoldLog
from etalis.temporal.aggregate import AggregateFunction, divide


class GroupTotal(Protocol):
    """What a total can do; `count` is how many elements it has, the new one included."""

    def add(self, x: Value) -> None: ...
    def value(self, count: int) -> Value: ...
    def state(self) -> Any: ...
    def load(self, state: Any) -> None: ...


class CountTotal:
    """How many elements there are."""

    __slots__ = ()

    def __init__(self, row: AggregateFunction) -> None:
        del row

    def add(self, x: Value) -> None:
        """Count an element, which the holder does."""

    def value(self, count: int) -> Value:
        """Return the number of elements."""
        return count

    def state(self) -> Any:
        """Return nothing: the count is the holder's."""

    def load(self, state: Any) -> None:
        """Take nothing over."""


class MeanTotal(SumTotal):
    """A sum, and the mean that it comes to."""

    __slots__ = ()

    def value(self, count: int) -> Value:
        """Return the mean."""
        return divide(super().value(count), count)


class ExtremeTotal:
    """The least or greatest value, of values that are all of one `kind` (None: of several)."""

    __slots__ = ("best", "kind", "row")

    def __init__(self, row: AggregateFunction) -> None:
        self.row = row
        self.kind: type | None = None
        self.best: Value = None

    def add(self, x: Value) -> None:
        """Keep the better one."""
        if self.best is None:
            self.load(x)
        elif self.kind is not None and self.kind is kind_of(x):
            if (x < self.best) if self.row.kernel == "least" else (x > self.best):
                self.best = x
        else:
            self.best, self.kind = self.row.step(self.best, x), None

    def value(self, count: int) -> Value:
        """Return the best."""
        del count
        return self.best

    def state(self) -> Any:
        """Return the best."""
        return self.best

    def load(self, state: Any) -> None:
        """Take over the best."""
        self.best, self.kind = state, kind_of(state) if type(state) in PLAIN else None


class DistinctTotal:
    """The different values."""

    __slots__ = ("values",)

    def __init__(self, row: AggregateFunction) -> None:
        del row
        self.values: set[Value] = set()

    def add(self, x: Value) -> None:
        """Note a value."""
        self.values.add(x)

    def value(self, count: int) -> Value:
        """Return how many there are."""
        del count
        return len(self.values)

    def state(self) -> Any:
        """Return the values, in the standard order."""
        return tuple(sorted(self.values, key=order_key))

    def load(self, state: Any) -> None:
        """Take over values."""
        self.values = set(state)


class ListTotal:
    """All values, in order."""

    __slots__ = ("values",)

    def __init__(self, row: AggregateFunction) -> None:
        del row
        self.values: list[Value] = []

    def add(self, x: Value) -> None:
        """Append a value."""
        self.values.append(x)

    def value(self, count: int) -> Value:
        """Return the list."""
        del count
        return tuple(self.values)

    def state(self) -> Any:
        """Return the list."""
        return tuple(self.values)

    def load(self, state: Any) -> None:
        """Take over a list."""
        self.values = list(state)


class FoldTotal:
    """What the steps of a row come to, whatever they are."""

    __slots__ = ("accumulator", "row")

    def __init__(self, row: AggregateFunction) -> None:
        self.row = row
        self.accumulator = row.zero

    def add(self, x: Value) -> None:
        """Fold one value in."""
        self.accumulator = self.row.step(self.accumulator, x)

    def value(self, count: int) -> Value:
        """Return the value reached."""
        del count
        return self.row.result(self.accumulator)

    def state(self) -> Any:
        """Return the accumulator."""
        return self.accumulator

    def load(self, state: Any) -> None:
        """Take over an accumulator."""
        self.accumulator = state


TOTALS: Mapping[str | None, type[Any]] = MappingProxyType(
    {
        "count": CountTotal,
        "sum": SumTotal,
        "mean": MeanTotal,
        "least": ExtremeTotal,
        "greatest": ExtremeTotal,
        "distinct": DistinctTotal,
        "list": ListTotal,
    }
)


class Running:
    """All elements of a group so far: how many, from where on, their total, and marks where they are asked for.

    `log` is what contributes, an element each, where that is kept.
    """

    __slots__ = ("count", "log", "start", "taken", "total")

    def __init__(self, row: AggregateFunction, start: int, log: FoldLog | None = None) -> None:
        self.total: GroupTotal = TOTALS.get(row.kernel, FoldTotal)(row)
        self.start = start
        self.count = 0
        self.taken: list[Any] = []
        self.log = log

    def add(self, x: Value, start: int) -> Value:
        """Fold one element in; return the value reached."""
        self.count += 1
        if start < self.start:
            self.start = start
        self.total.add(x)
        return self.total.value(self.count)

    def held(self) -> int:
        """Return how many values it holds: one, or all that its total has."""
        return len(self.total.values) if isinstance(self.total, DistinctTotal | ListTotal) else 1

    def __iter__(self) -> Iterator[Running]:
        """Yield itself: of all groups this is the one that holds one thing."""
        yield self

    def state(self) -> tuple[Any, ...]:
        """Return it as plain data."""
        log = None if self.log is None else self.log.state()
        return self.start, self.count, self.total.state(), tuple(self.taken), log

    @staticmethod
    def of(
        row: AggregateFunction, start: int, count: int, state: Any, taken: Any = (), log: Any = None
    ) -> Running:  # fmt: skip
        """Return what `state` told of."""
        found = Running(row, start, None if log is None else FoldLog(*log))
        found.count, found.taken = count, list(taken)
        found.total.load(state)
        return found
