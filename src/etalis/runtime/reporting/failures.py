"""Errors of conditions and actions: counted by kind, the last ones kept, each passed to callbacks.

Two failures are of one kind if one goal of one rule failed in one way, whatever the values; the first of a kind stands
for it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

from etalis.errors import ConditionError

MOST_KINDS = 100  # more are counted together
_BEGINNING = 40  # characters of a message, which has values behind them


class Failures:
    """What an engine's goals came to grief on."""

    KEPT = 1000

    def __init__(self, hand_on: Callable[[ConditionError], object] | None) -> None:
        self.count = 0
        self.kept: list[ConditionError] = []
        self.kinds: dict[Hashable, tuple[ConditionError, int]] = {}
        self._hand_on = hand_on

    def add(self, error: ConditionError) -> None:
        """Take one in."""
        self.count += 1
        self.kept.append(error)
        if len(self.kept) > self.KEPT:
            del self.kept[0]
        kind = kind_of(error)
        if kind not in self.kinds and len(self.kinds) >= MOST_KINDS:
            kind = None
        first, count = self.kinds.get(kind, (error, 0))
        self.kinds[kind] = first, count + 1
        if self._hand_on is not None:
            self._hand_on(error)

    def mark(self) -> Callable[[], None]:
        """Return what forgets those that come from now on."""
        count, kept, kinds = self.count, list(self.kept), dict(self.kinds)

        def back() -> None:
            self.count, self.kept[:], self.kinds = count, kept, kinds

        return back


def kind_of(error: ConditionError) -> Hashable:
    """Return what a failure has in common with others of its kind."""
    first = error.problems[0]
    return error.kind or (first.code, first.span, first.message[:_BEGINNING])
