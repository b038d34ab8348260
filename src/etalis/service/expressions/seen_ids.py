"""Ids of signals that were seen: the last 100,000, of the last day. What comes with one again is a repetition."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

KEPT = 100_000
MICROSECONDS_KEPT = 24 * 3600 * 1_000_000


class SeenIds:
    """The ids, with when each came first, in microseconds."""

    def __init__(self, kept: int = KEPT) -> None:
        self._kept = kept
        self._seen: OrderedDict[str, int] = OrderedDict()

    def is_new(self, id: str, now: int) -> bool:  # noqa: A002
        """Note an id; tell whether it had not been seen.

        >>> seen = SeenIds(kept=2)
        >>> [seen.is_new(id, 0) for id in ("a", "b", "a", "c", "a")]
        [True, True, False, True, True]
        """
        self._forget(now)
        if id in self._seen:
            return False
        self._seen[id] = now
        if len(self._seen) > self._kept:
            self._seen.popitem(last=False)
        return True

    def _forget(self, now: int) -> None:
        while self._seen and next(iter(self._seen.values())) < now - MICROSECONDS_KEPT:
            self._seen.popitem(last=False)

    def restore(self, seen: Iterable[tuple[str, int]]) -> None:
        """Take the ids of another run, oldest first."""
        for id, at in seen:  # noqa: A001
            self._seen[id] = at
