"""Old versions of a database, kept as far back as a horizon.

Every change has a generation; here stands which generation a moment saw last. Predicates keep their rows and clauses
with the generations of birth and death, and what they replaced as a whole; that is let go once no moment within the
horizon can see it. Law: time never goes back, so generations are ordered like the moments they belong to, and each
entry is put down once and let go once.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Callable
from typing import Any

from etalis.logic.errors import LogicError


class Versions:
    """When the generations began, within the horizon; `oldest` is the first one that can still be asked for."""

    __slots__ = ("_before", "_replaced", "_times", "clock", "horizon", "oldest")

    def __init__(self, horizon: int, clock: Callable[[], int]) -> None:
        self.horizon = horizon
        self.clock = clock
        self.oldest = 0
        self._times: list[int] = []
        self._before: list[int] = []
        self._replaced: deque[tuple[int, deque[Any]]] = deque()

    @property
    def changed(self) -> bool:
        """Tell whether there is more than one version."""
        return bool(self._times)

    def begin(self, generation: int) -> None:
        """Note that a change begins; `generation` is the last one before it."""
        now = self.clock()
        if not self._times or now > self._times[-1]:
            self._times.append(now)
            self._before.append(generation)
            self._let_go(now - self.horizon)

    def _let_go(self, first: int) -> None:
        """Forget what only moments before the first one that is kept could see."""
        gone = bisect_right(self._times, first)
        if gone < len(self._before):
            self.oldest = self._before[gone]
        if gone > len(self._times) // 2:
            del self._times[:gone], self._before[:gone]
        while self._replaced and self._replaced[0][0] <= self.oldest:
            self._replaced.popleft()[1].popleft()

    def replaced(self, generation: int, past: deque[Any]) -> None:
        """Note that the last of a predicate's past versions was replaced as a whole at a generation."""
        self._replaced.append((generation, past))

    def generation(self, time: int, present: int) -> int:
        """Return the generation that a moment saw at last; `present` is that of now."""
        if time < self.clock() - self.horizon:
            raise not_kept(time)
        return self.nearest(time, present)

    def nearest(self, time: int, present: int) -> int:
        """Return the generation that a moment saw at last; before the horizon, the oldest that is kept."""
        later = bisect_right(self._times, time)
        return max(self.oldest, self._before[later] if later < len(self._times) else present)

    def has_lost(self, time: int) -> bool:
        """Tell whether what a moment saw may be gone: it lies before the horizon, and something was let go."""
        return self.oldest > 0 and time < self.clock() - self.horizon


def not_kept(time: int) -> LogicError:
    """Return the refusal of a moment whose knowledge is gone."""
    return LogicError(
        ("error", ("existence_error", "version", time), "goal"),
        "E511",
        f"the knowledge as of {time / 1_000_000:g} is not kept",
        "keep old knowledge for longer: `:- set_flag(knowledge_horizon, Seconds).`",
    )
