"""Absences that are known at a deadline: `A not within d B`, whatever its operands (definition 11)."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from etalis.runtime.deadlines.timers import STAGE
from etalis.runtime.operators.base import Emit, Values
from etalis.runtime.operators.blockers import Blockers, JudgedBlockers, LooseBlockers, LooseJudgedBlockers


class Waiter:
    """Left sides whose deadline is to come: each is a match at its deadline if nothing blocked it.

    What blocks one starts `after` a moment that its end tells. Of what is due together, a later `stage` is judged
    later; so it is told from what began earlier.
    """

    level = 0

    def __init__(
        self, *, duration: int, blockers: Blockers | LooseBlockers, key: Callable[[Values], Any], emit: Emit,
        schedule: Callable[..., None], place: Hashable, judge: Callable[..., bool] | None = None,
        asked: Callable[[Values], Values] = lambda values: values, after: Callable[[int], int] = lambda end: end,
        stage: int = 0,
    ) -> None:  # fmt: skip
        self.judge = judge
        self.asked = asked
        self.after = after
        self.stage = stage
        self.place = place
        self.duration = duration
        self.blockers = blockers
        self.key = key
        self.emit = emit
        self.schedule = schedule
        self.alive = True

    def on_left(self, *instance: Any) -> None:
        """Set the deadline of one left side."""
        end = instance[-1]
        self.schedule(end + self.duration, self.since(end), self, instance)

    def since(self, end: int) -> int:
        """Return since when a left side waits, as timers tell it: those of later stages come later."""
        return end - self.stage * STAGE

    def awaits(self, payload: Values) -> bool:
        """What has blocked a left side is found when that falls due."""
        del payload
        return True

    def stands(self, payload: Values) -> bool:
        """Tell whether nothing has blocked a left side, and the rule is still there."""
        end = payload[-1]
        return self.alive and not self._is_blocked(payload[:-2], self.after(end), end + self.duration + 1)

    def _is_blocked(self, values: Values, low: int, high: int) -> bool:
        if self.judge is not None and isinstance(self.blockers, JudgedBlockers | LooseJudgedBlockers):
            return self.blockers.hit_judged(self.key(values), low, high, self.judge, self.asked(values))
        return self.blockers.hit(self.key(values), low, high)

    def fire(self, payload: Values) -> None:
        """Report a left side whose time has passed."""
        self.emit(*payload[:-2], payload[-2], payload[-1] + self.duration)
