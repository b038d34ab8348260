"""What contributes to the value of an aggregate: a list that grows by one element at a time.

A match reads a stretch of the list. Old elements that no later match reads are let go many at once, into a list of
its own: matches that were handed on keep the one that they read.
"""

from __future__ import annotations

from typing import Any

from etalis.temporal.rope import FoldRope, MixedFold, Rope

SLACK = 64


class FoldLog:
    """The ropes of elements, oldest first; of one match at most `limit` are told. Beyond `room` the old ones go."""

    __slots__ = ("elements", "limit", "room")

    def __init__(self, limit: int, elements: list[Any] | None = None) -> None:
        self.limit = limit
        self.elements: list[Any] = [] if elements is None else elements
        self.room = 2 * len(self.elements) + SLACK

    def add(self, element: Any, size: int) -> None:
        """Note an element; the last `size` of all are those that the value is taken over."""
        self.elements.append(element)
        if len(self.elements) > self.room:
            self.trim(size)

    def trim(self, size: int) -> None:
        """Let those go that no later match reads, if they are half of all or more."""
        spare = len(self.elements) - min(size, self.limit)
        if 2 * spare >= len(self.elements):
            self.elements = self.elements[spare:]
        self.room = 2 * len(self.elements) + SLACK

    def tell(self, opener: Rope, size: int) -> FoldRope:
        """Return what contributes to the value of the last `size`."""
        elements = self.elements
        count = len(elements)
        told = size if size <= self.limit else self.limit
        first = count - told if told <= count else 0
        return FoldRope(opener, elements, first, count, size - (count - first))

    def tell_mixed(self, span: int, size: int, since: int | None, last: int | None) -> FoldRope:
        """Return what contributes of the last `span`, of which those that start since a moment count, `size` of them.

        Its elements are (start, rope).
        """
        elements = self.elements
        most = self.limit if last is None else min(last, self.limit)
        found = MixedFold(elements, max(len(elements) - span, 0), len(elements), since, most)
        found.cut = max(size - most, 0)
        return found

    def state(self) -> tuple[int, list[Any]]:
        """Return it as plain data, but for the ropes."""
        return self.limit, self.elements
