"""Events that rules made, flat: the cells of each raw event, one after the other.

A raw event refers to its kind, so Python's cyclic collector would walk each of them for ever; cells it does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

from etalis.runtime.state import Raw


class MadeLog:
    """Raw events of so many cells each, in the order in which they were made."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.cells: list[Any] = []

    def add(self, several: Iterable[Raw]) -> None:
        """Keep events."""
        self.cells.extend(chain.from_iterable(several))

    def latest(self, wanted: Sequence[tuple[int, Any]] = ()) -> Iterator[Raw]:
        """Yield the events that have some values in some cells, the last made first."""
        for at in self._places(*wanted[0]) if wanted else range(len(self.cells) - self.width, -1, -self.width):
            raw = tuple(self.cells[at : at + self.width])
            if all(raw[cell] == value for cell, value in wanted[1:]):
                yield raw

    def _places(self, cell: int, value: Any) -> Iterator[int]:
        """Yield where events begin that have a value in a cell, the last first."""
        column = self.cells[cell :: self.width][::-1]
        last, place = len(column) - 1, -1
        for _ in range(column.count(value)):
            place = column.index(value, place + 1)
            yield (last - place) * self.width

    def trim(self, limit: int) -> None:
        """Let go those at the front that ended before a moment."""
        gone = 0
        while gone < len(self.cells) and self.cells[gone] < limit:
            gone += self.width
        if 2 * gone > len(self.cells):
            del self.cells[:gone]
