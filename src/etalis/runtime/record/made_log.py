"""The events that rules made of one kind, flat: the cells of each raw event, one after the other.

A raw event refers to its kind, so Python's cyclic collector would walk each of them for ever; cells it does not. How
many cells an event has depends on how many slots the ropes of its rule have, so each width has a list of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import merge
from typing import Any

from etalis.runtime.state import Raw


class MadeLog:
    """Raw events of one name and so many attributes, in the order in which they were made."""

    def __init__(self) -> None:
        self._by_width: dict[int, list[Any]] = {}

    def cells(self, width: int) -> list[Any]:
        """Return the cells of the events that have so many each; generated code adds to them."""
        return self._by_width.setdefault(width, [])

    def add(self, several: Iterable[Raw]) -> None:
        """Keep events."""
        for raw in several:
            self.cells(len(raw)).extend(raw)

    def latest(self) -> Iterator[Raw]:
        """Yield all events, the last made first."""
        several = [_backwards(cells, width) for width, cells in self._by_width.items()]
        return several[0] if len(several) == 1 else merge(*several, key=lambda raw: -raw[0])

    def trim(self, limit: int) -> None:
        """Let go those at the front that ended before a moment."""
        for width, cells in self._by_width.items():
            gone = 0
            while gone < len(cells) and cells[gone] < limit:
                gone += width
            if 2 * gone > len(cells):
                del cells[:gone]


def _backwards(cells: list[Any], width: int) -> Iterator[Raw]:
    for end in range(len(cells), 0, -width):
        yield tuple(cells[end - width : end])
