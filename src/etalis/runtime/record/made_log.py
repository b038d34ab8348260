"""Events that rules made, flat: the cells of each raw event, one after the other.

A raw event refers to its kind, so Python's cyclic collector would walk each of them for ever; cells it does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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

    def latest(self) -> Iterator[Raw]:
        """Yield all events, the last made first."""
        for end in range(len(self.cells), 0, -self.width):
            yield tuple(self.cells[end - self.width : end])

    def trim(self, limit: int) -> None:
        """Let go those at the front that ended before a moment."""
        gone = 0
        while gone < len(self.cells) and self.cells[gone] < limit:
            gone += self.width
        if 2 * gone > len(self.cells):
            del self.cells[:gone]
