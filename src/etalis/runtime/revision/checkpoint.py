"""Checkpoints within a long history, so that a correction near its end need not replay it from the beginning.

A correction that runs many events again leaves some behind; nobody else pays for them. Law: a checkpoint is the state
that the rows up to its place in order come to, so a change at or before that place takes it away.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from etalis.runtime.revision.replay import EVERY
from etalis.runtime.revision.rule_epochs import Content


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The state after some rows: the last of them in order, how many there are, and the first place of all others."""

    order: Any
    count: int
    since: int
    content: Content


class Checkpoints:
    """The checkpoints of the partitions of one part, by key, in order."""

    def __init__(self) -> None:
        self._by_key: dict[Any, list[Checkpoint]] = {}

    def __bool__(self) -> bool:
        return bool(self._by_key)

    def before(self, key: Any, order: Any | None) -> Checkpoint | None:
        """Return the last one that a change at a place in order leaves; without a place, the last one."""
        found = self._by_key.get(key, ())
        count = len(found) if order is None else bisect_left(found, order, key=attrgetter("order"))
        return found[count - 1] if count else None

    def put(self, key: Any, after: Checkpoint | None, more: Sequence[Checkpoint]) -> None:
        """Put others in the place of all behind one; the farther from the end, the fewer stay."""
        old = self._by_key.get(key, [])
        kept = [] if after is None else old[: old.index(after) + 1]
        kept += more
        if kept:
            self._by_key[key] = _thinned(kept)
        else:
            self._by_key.pop(key, None)

    def forget(self, offset: int) -> None:
        """Let go those that need rows from before a place."""
        for key, found in list(self._by_key.items()):
            self.put(key, None, [one for one in found if one.since >= offset])

    def clear(self) -> None:
        """Let go all."""
        self._by_key.clear()

    def drop(self, key: Any) -> None:
        """Let go those of a partition."""
        self._by_key.pop(key, None)


def _thinned(found: Sequence[Checkpoint]) -> list[Checkpoint]:
    """Leave out what others stand in for: a change finds one at most about twice as far from the end as itself.

    >>> [x.count // EVERY for x in _thinned([Checkpoint(i, i * EVERY, 0, None) for i in range(1, 100)])]
    [1, 36, 68, 84, 92, 96, 98, 99]
    """
    kept = [found[-1]]
    end = found[-1].count + EVERY
    for place in range(len(found) - 2, -1, -1):
        if place == 0 or end - found[place - 1].count > 2 * (end - kept[-1].count):
            kept.append(found[place])
    return kept[::-1]
