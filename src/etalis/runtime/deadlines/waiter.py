"""Absences that are known at a deadline: `A not within d B`, whatever its operands (definition 11)."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from etalis.runtime.deadlines.timers import STAGE

Payload = tuple[Any, ...]  # a left side: values and interval


class Waiter:
    """Left sides whose deadline is to come: each is a match at its deadline if nothing blocked it.

    Generated code sets them, tells whether one `holds`, and hands it on. Of what is due together, a later `stage` is
    judged later; so it is told from what began earlier.
    """

    level = 0

    def __init__(
        self, *, duration: int, place: Hashable, holds: Callable[[Payload, int], bool],
        emit: Callable[[Payload, int], None], stage: int = 0,
    ) -> None:  # fmt: skip
        self.duration = duration
        self.place = place
        self.holds = holds
        self.emit = emit
        self.stage = stage
        self.alive = True

    def since(self, end: int) -> int:
        """Return since when a left side waits, as timers tell it: those of later stages come later."""
        return end - self.stage * STAGE

    def moments(self, payload: Payload) -> tuple[int, int]:
        """Return when a left side is judged, and since when it waits."""
        return payload[-1] + self.duration, self.since(payload[-1])

    def awaits(self, payload: Payload) -> bool:
        """What has blocked a left side is found when that falls due."""
        del payload
        return True

    def stands(self, payload: Payload) -> bool:
        """Tell whether nothing has blocked a left side, and the rule is still there."""
        return self.alive and self.holds(payload, payload[-1] + self.duration)

    def fire(self, payload: Payload) -> None:
        """Report a left side whose time has passed."""
        self.emit(payload, payload[-1] + self.duration)
