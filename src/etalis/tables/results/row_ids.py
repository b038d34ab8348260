"""What the rows that matches are made of are called: ids by the numbers of rows, and lists of them for results.

A row has the id that a column gives it, else the one that a match of its atom and times would have (`Event.id`). The
ids of all rows that were taken stay in memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from etalis.temporal.event import Event

LIST = pa.list_(pa.string())
_LONG = 1 << 30
_MANY = 64


class TellsIds(Protocol):
    """Knows what the inputs of an engine are called."""

    def of_events(self, events: Sequence[Event]) -> pa.Array:
        """Return the ids of what events are made of, a list for each."""


class RowIds:
    """The ids of rows that are numbered from 1 on; an engine with numbers of its own says which rows these are.

    Rows are read in one thread, results written in another.
    """

    def __init__(self, numbers: Mapping[int, int] | None = None) -> None:
        self._numbers = numbers
        self._arrays: list[pa.Array] = []
        self._lock = Lock()

    def add(self, ids: pa.Array) -> Any:
        """Take the ids of some more rows; return their numbers."""
        with self._lock:
            first = 1 + sum(map(len, self._arrays))
            self._arrays.append(ids)
            if len(self._arrays) > _MANY:
                self._arrays = _fewer(self._arrays)
        return np.arange(first, first + len(ids))

    def texts(self, numbers: Any) -> pa.Array:
        """Return the ids of rows."""
        with self._lock:
            arrays = list(self._arrays)
        if len(arrays) == 1:
            return _taken(arrays[0], numbers - 1)
        first = np.cumsum([1, *map(len, arrays)])
        where = np.searchsorted(first, numbers, "right") - 1
        order = np.argsort(where, kind="stable")
        bounds = np.searchsorted(where[order], np.arange(len(arrays) + 1))
        parts = [
            _taken(array, numbers[order[low:high]] - begin)
            for array, begin, low, high in zip(arrays, first, bounds, bounds[1:], strict=False)
        ]
        places = np.empty(len(order), np.int64)
        places[order] = np.arange(len(order))
        return _taken(pa.concat_arrays(parts) if parts else pa.nulls(0, pa.string()), places)

    def of_events(self, events: Sequence[Event]) -> pa.Array:
        """Return the ids of what events are made of; inputs of an engine that were no rows have their numbers."""
        several = [event.parts for event in events]
        first = np.cumsum([0, *map(len, several)])
        inputs = [number for parts in several for number in parts]
        rows = inputs if self._numbers is None else [self._numbers.get(number, 0) for number in inputs]
        known = np.array(rows, np.int64)
        told = np.flatnonzero(known)
        texts = np.array(list(map(str, inputs)), object)
        texts[told] = self.texts(known[told]).to_pylist()
        return pa.ListArray.from_arrays(pa.array(first, pa.int32()), pa.array(texts, pa.string()))

    def of_made(self, numbers: Sequence[Any], count: int) -> pa.Array:
        """Return the ids of the rows that so many events are made of, given as columns of numbers."""
        rows, first = row_sets(numbers, count)
        return pa.ListArray.from_arrays(pa.array(first, pa.int32()), self.texts(rows))


def _taken(ids: pa.Array, places: Any) -> pa.Array:
    return ids.take(pa.array(places)).cast(pa.string())


def _below(*arrays: pa.Array) -> pa.Array:
    """Return arrays of texts as one; of a long one, places do not fit 32 bits."""
    if sum(array.nbytes for array in arrays) < _LONG:
        return pa.concat_arrays(arrays)
    return pa.concat_arrays([array.cast(pa.large_string()) for array in arrays])


def _fewer(arrays: Sequence[pa.Array]) -> list[pa.Array]:
    """Put arrays together until each is at least twice as long as the next, so that no row is copied often."""
    found: list[pa.Array] = []
    for array in arrays:
        found.append(array)
        while len(found) > 1 and len(found[-2]) < 2 * len(found[-1]):
            found[-2:] = [_below(*found[-2:])]
    return found


def row_sets(numbers: Sequence[Any], count: int) -> tuple[Any, Any]:
    """Return the rows of every match, sorted, each once, one below the other, and where those of each begin.

    >>> rows, first = row_sets([np.array([5, 2]), np.array([1, 2]), np.array([0, 9])], 2)
    >>> rows.tolist(), first.tolist()
    ([1, 5, 2, 9], [0, 2, 4])
    """
    if not numbers:
        return np.zeros(0, np.int64), np.zeros(count + 1, np.int64)
    table = np.sort(np.stack(numbers, axis=1), axis=1)
    told = table > 0
    told[:, 1:] &= table[:, 1:] != table[:, :-1]
    return table[told], np.concatenate([[0], np.cumsum(told.sum(axis=1))])
