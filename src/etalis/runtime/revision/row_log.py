"""Events in order of arrival, each found by its place, in flat columns: no container per event.

Columns lie in blocks: the last one is open, those before it are closed into tuples of plain values and arrays, which
Python's cyclic collector does not walk. An event is an instant whose rank is its place, unless noted otherwise.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any

from etalis.runtime.state import BEGINNING

Row = tuple[Any, ...]  # (end, start, rank, *attributes)

GONE = -1  # the number of what is not there, or no more
_SHIFT = 10
BLOCK = 1 << _SHIFT


class RowLog:
    """Rows from the place `offset` on, each with the number of its kind and a link to an earlier place.

    `first` is the place of the first row of the open block, which lies in `cells` (the end and the attributes of a row,
    `width` cells each), `numbers` and `links`. Whoever adds to these closes the block first if it is full.
    """

    def __init__(self, arities: Sequence[int]) -> None:
        self._arities = arities
        self.width = 1 + max(arities, default=0)
        self.cells: list[Any] = []
        self.numbers: list[int] = []
        self.links: list[int] = []
        self._closed: list[tuple[tuple[Any, ...], array[int], array[int]]] = []
        self._apart: dict[int, tuple[int, int]] = {}  # start and rank, where they do not follow
        self.begin(1)

    def widen(self, arities: Sequence[int]) -> None:
        """Take rows of more kinds; those there are laid out anew if the others have more attributes."""
        old, self._arities = self.width, arities
        self.width = max(old, 1 + max(arities, default=0))
        if self.width > old:
            self.cells[:] = self._padded(self.cells, old)
            self._closed = [(tuple(self._padded(cells, old)), numbers, links) for cells, numbers, links in self._closed]

    def _padded(self, cells: Sequence[Any], old: int) -> list[Any]:
        more = [None] * (self.width - old)
        return [cell for at in range(0, len(cells), old) for cell in (*cells[at : at + old], *more)]

    def begin(self, place: int) -> None:
        """Let the first row, yet to come, have a place."""
        self._base = self.first = self.offset = place

    def next_place(self) -> int:
        """Return the place of the next row."""
        return self.first + len(self.numbers)

    def __len__(self) -> int:
        return self.next_place() - self.offset

    def add(self, row: Row, number: int, link: int) -> None:
        """Append a row."""
        end, start, rank, *attributes = row
        place = self.next_place()
        if start != end or rank != place:
            self._apart[place] = (start, rank)
        self._append((end, *attributes, *(None,) * (self.width - 1 - len(attributes))), number, link)

    def skip(self, link: int) -> None:
        """Append nothing, but count it."""
        self._append((BEGINNING, *(None,) * (self.width - 1)), GONE, link)

    def _append(self, cells: tuple[Any, ...], number: int, link: int) -> None:
        if len(self.numbers) >= BLOCK:
            self.close_block()
        self.cells.extend(cells)
        self.numbers.append(number)
        self.links.append(link)

    def close_block(self) -> None:
        """Begin a new block; the open one is full."""
        assert len(self.numbers) == BLOCK
        self._closed.append((tuple(self.cells), array("q", self.numbers), array("q", self.links)))
        self.first += BLOCK
        for column in (self.cells, self.numbers, self.links):
            column.clear()

    def __getitem__(self, place: int) -> tuple[Row | None, int, int]:
        """Return a row, None if it is gone, with the number of its kind and its link."""
        i = place - self.first
        cells: Sequence[Any]
        numbers: Sequence[int]
        links: Sequence[int]
        if i >= 0:
            cells, numbers, links = self.cells, self.numbers, self.links
        else:
            i = place - self._base
            cells, numbers, links = self._closed[i >> _SHIFT]
            i &= BLOCK - 1
        number = numbers[i]
        if number == GONE:
            return None, GONE, links[i]
        at = i * self.width
        end = cells[at]
        start, rank = self._apart.get(place, (end, place)) if self._apart else (end, place)
        return (end, start, rank, *cells[at + 1 : at + 1 + self._arities[number]]), number, links[i]

    def has_apart(self) -> bool:
        """Tell whether the rank of a row may be another than its place."""
        return bool(self._apart)

    def first_since(self, limit: int) -> int:
        """Return the place of the first row that does not end before a moment."""
        place = self._base
        for cells in [*(closed[0] for closed in self._closed), self.cells]:
            ends = cells[:: self.width]
            if ends and max(ends) >= limit:
                found = place + next(i for i, end in enumerate(ends) if end >= limit)
                return max(found, self.offset)
            place += len(ends)
        return place

    def links_from(self, place: int) -> list[int]:
        """Return the links of all rows from a place on."""
        found = [link for _, _, links in self._closed for link in links]
        found += self.links
        return found[place - self._base :]

    def link(self, place: int, link: int) -> None:
        """Link a row to another."""
        i = place - self.first
        if i >= 0:
            self.links[i] = link
        else:
            i = place - self._base
            self._closed[i >> _SHIFT][2][i & BLOCK - 1] = link

    def count(self) -> int:
        """Return how many rows there are."""
        several = [*(numbers for _, numbers, _ in self._closed), array("q", self.numbers)]
        before = self.offset - self._base  # rows that went, in a block that is there
        gone = several[0][:before].count(GONE)
        return len(self) + gone - sum(numbers.count(GONE) for numbers in several)

    def take_out(self, place: int) -> None:
        """Let a row be as if it had never been."""
        i = place - self.first
        if i >= 0:
            self.numbers[i] = GONE
        else:
            i = place - self._base
            self._closed[i >> _SHIFT][1][i & BLOCK - 1] = GONE

    def drop(self, cut: int) -> None:
        """Let the rows before a place go."""
        whole = min((cut - self._base) >> _SHIFT, len(self._closed))
        del self._closed[:whole]
        self._base += whole * BLOCK
        self.offset = cut
        if self._apart:
            self._apart = {place: known for place, known in self._apart.items() if place >= cut}
