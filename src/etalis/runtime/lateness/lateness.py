"""Late events and corrections, over an engine that processes events in order.

Both mean that history has changed. What is held until it is settled reaches the engine in order and is never taken
back; what was processed already is corrected (`revision`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from etalis.errors import ConditionError
from etalis.runtime.lateness.watermark import DeadLetters, Held, HeldRow, Stamp, Values, Watermark
from etalis.runtime.revision.history import History
from etalis.runtime.revision.retraction import Retractions
from etalis.runtime.revision.revision import Revision
from etalis.runtime.run_loop import RunLoop
from etalis.runtime.state import NEVER, show_time
from etalis.temporal.event import Event, event_of
from etalis.temporal.interval import show_moment

if TYPE_CHECKING:
    from etalis.runtime.ruleset import RuleSet


class Disorder:
    """Takes events in any order within the bounds, and corrections of them."""

    def __init__(
        self,
        run_loop: RunLoop,
        dead: DeadLetters,
        sources: Iterable[Hashable],
        again: Callable[..., RuleSet],
        report: Callable[[ConditionError], None],
    ) -> None:
        settings = run_loop.program.settings
        self.run_loop = run_loop
        self.state = run_loop.state
        self.rules = run_loop.rules
        self.dead = dead
        self.watermark = None if settings.lateness is None else Watermark(settings.lateness, sources)
        self.held = Held() if settings.lateness is not None and settings.reporting == "on_watermark" else None
        self.held_ids: Counter[Hashable] = Counter()  # how many events of an id are held
        self.revision = Revision(run_loop, self.watermark, again, report) if settings.corrects else None
        self.retractions: Retractions | None = None
        if settings.revision and self.revision is not None:
            self.retractions = Retractions(self, self.revision)
        self.ranked = 1

    @property
    def history(self) -> History | None:
        """The events that may still be corrected."""
        return None if self.revision is None else self.revision.history

    def is_quiet(self) -> bool:
        """Tell whether an event in order needs no more than to be remembered."""
        return self.revision is not None and self.held is None and not (self.rules.has_timers or self.rules.reacts)

    def holds_plainly(self) -> bool:
        """Tell whether an event needs no more than to be held, and to be processed when it is settled."""
        bounded = self.watermark is not None and self.watermark.bound < NEVER
        return self.held is not None and self.revision is None and bounded and not self.rules.ticks

    # events

    def take(self, name: str, values: Values, start: int, end: int, stamp: Stamp | None, out: list[Any]) -> None:
        """Take one event, or one correction."""
        if name == "rev" and self.retractions is not None and len(values) == 1:
            self.retractions.take_back_term(values[0], start, end, stamp, out)
            return
        rank = self.next_rank()
        self.ranked = rank + 1
        if stamp is not None and stamp.rank is not None:
            rank = stamp.rank
        if self.watermark is None:
            if end < self.state.now or end <= self.state.floor:
                self.bury(name, values, start, end, max(self.state.now, self.state.floor))
            else:
                self._process(name, values, start, end, rank, stamp, out)
        elif end <= self.watermark.reached:
            self.bury(name, values, start, end, self.watermark.reached)
        else:
            reached = self.watermark.see(None if stamp is None else stamp.source, end)
            self._take_late(name, values, start, end, rank, stamp, out)
            self.settle(reached, out)
        if self.revision is not None and self.revision.history.next_place() < self.ranked:
            self.revision.history.skip()

    def _take_late(
        self, name: str, values: Values, start: int, end: int, rank: int, stamp: Stamp | None, out: list[Any]
    ) -> None:
        """Take an event that may be late: hold it, process it, or put it where it belongs."""
        if self.held is not None:
            self.held.add((end, start, rank, stamp, name, *values))
            if stamp is not None and stamp.id is not None:
                self.held_ids[stamp.id] += 1
            return
        assert self.revision is not None
        if self.revision.is_in_order(name, values, start, end, rank, stamp):
            self.revision.process(name, values, start, end, rank, stamp, out)
        else:
            self.revision.insert((name, len(values)), (end, start, rank, *values), stamp, out)
            self.revision.follow(out)

    def _process(
        self, name: str, values: Values, start: int, end: int, rank: int, stamp: Stamp | None, out: list[Any]
    ) -> None:
        """Process an event in order."""
        if self.revision is None:
            self.run_loop.process((name, len(values)), values, start, end, rank, out)
        else:
            self.revision.process(name, values, start, end, rank, stamp, out)

    def next_rank(self) -> int:
        """Return the rank of the next event; those that the generated way in has taken count, too."""
        if self.revision is None or self.revision.history.next_place() <= self.ranked:
            return self.ranked
        if self.revision.arrives and self.watermark is not None:
            self.watermark.see(None, self.state.now)
        return self.revision.history.next_place()

    def bury(self, name: str, values: Values, start: int, end: int, reached: int) -> None:
        """Refuse an event that comes too late."""
        reason = f"it ends at {show_moment(end)}, but the watermark has reached {show_time(reached)}"
        latest, allowed = reached, 0
        if self.watermark is not None and self.watermark.bound < NEVER:
            latest, allowed = max((reached, *self.watermark.latest.values())), self.watermark.bound
        self.dead.add(name, values, start, end, reason, "late", (latest - end, allowed))

    # time

    def settle(self, until: int, out: list[Any]) -> None:
        """Say that nothing more will end at or before a moment."""
        if self.revision is not None:
            self.revision.pass_time_together()
        if self.held is not None:
            for row in self.held.release(until):
                self._take_released(row, out)
        if self.revision is not None and self.revision.arrives:
            self.revision.settle_in_turn(until, out)
        else:
            self.run_loop.advance(until, out)

    def _take_released(self, row: HeldRow, out: list[Any]) -> None:
        end, start, rank, stamp, name, *values = row
        self.hold_no_more(stamp)
        self._process(name, tuple(values), start, end, rank, stamp, out)

    def hold_no_more(self, stamp: Stamp | None) -> None:
        """Note that an event is held no more."""
        if stamp is not None and stamp.id is not None:
            self.held_ids[stamp.id] -= 1
            if self.held_ids[stamp.id] <= 0:
                del self.held_ids[stamp.id]

    def release(self, row: HeldRow) -> tuple[Event, ...]:
        """Take an event that was held and is settled; return what it causes."""
        out: list[Any] = []
        self._take_released(row, out)
        return tuple(map(event_of, out))

    def reach(self, end: int, stamp: Stamp | None, out: list[Any]) -> None:
        """Let time reach the moment of a correction, or of an event that is not taken, if that is later."""
        if self.watermark is not None:
            self.settle(self.watermark.see(None if stamp is None else stamp.source, end), out)
        elif end > self.state.now:
            if self.revision is not None:
                self.revision.pass_time_together()
            self.run_loop.reach(end, out)

    def first_held(self) -> int:
        """Return when the first event ends that is held."""
        return self.held.rows[0][0] if self.held is not None and self.held.rows else NEVER

    def release_oldest(self, number: int) -> Iterator[tuple[str, Values, int, int]]:
        """Yield so many of the events that are held, the first to come, and hold them no more."""
        for row in () if self.held is None else self.held.release_oldest(number):
            end, start, _, stamp, name, *values = row
            self.hold_no_more(stamp)
            yield name, tuple(values), start, end

    def advance(self, until: int, out: list[Any]) -> None:
        """Move the watermark to a moment."""
        if self.watermark is not None:
            self.ranked = self.next_rank()
            self.watermark.reached = until = max(until, self.watermark.reached)
        self.settle(until, out)
