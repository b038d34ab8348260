"""Timers: what is to happen at a moment to come, in the order in which it falls due (definition 6.13, 6.14, 9.29).

What is due so long after it was set, of one stage and level, falls due in the order in which it was set: it stands in
a lane, which generated code appends to. All else is in a heap. Law: a lane is in order of (due, -since, sequence), and
only grows at its end, by what is set at the present moment.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Iterator
from heapq import heappop, heappush
from typing import Any, Protocol, TypeAlias

NEVER = 1 << 200
STAGE = 1 << 59  # more than any two times are apart; a time as many stages back as there may be has 64 bits
LEVELS = 48  # bits of a timer's sequence below its level
MOST_LANES = 8  # a heap finds the first of many sooner
ALARMS = -1  # in the place of a stage: of what is due so long after it was set, and told from nothing else then
PENDING = "pending"


class Owner(Protocol):
    """Who set a timer: it is found again by its place, so that a timer is data."""

    place: Hashable
    level: int  # of what is due together and since one moment, the lower first

    def awaits(self, payload: Any) -> bool:
        """Tell whether what was set may still come to something, as far as is known."""
        ...

    def stands(self, payload: Any) -> bool:
        """Tell whether what was set holds when it falls due: asked once, before it is fired."""
        ...

    def fire(self, payload: Any) -> None:
        """Let it happen."""
        ...


class Pending:
    """Owns what was due under rules that are gone: when it is settled, its partition is run again under them."""

    place: Hashable = PENDING
    level = 0

    def awaits(self, payload: Any) -> bool:
        """Other rules are run again when it is settled."""
        del payload
        return True

    def stands(self, payload: Any) -> bool:
        """Nothing is left to happen in the engine that runs."""
        del payload
        return False

    def fire(self, payload: Any) -> None:
        """Nothing happens by itself."""


class Tag:
    """The partition that a timer belongs to; what is set with it holds while it is alive."""

    __slots__ = ("alive", "key", "part")

    def __init__(self, part: Any, key: Any) -> None:
        self.part = part
        self.key = key
        self.alive = True


Timer: TypeAlias = tuple[int, int, int, Owner, Any, Tag | None]  # due, -since, sequence, owner, payload, partition
Lane: TypeAlias = deque[Timer]


class Timers:
    """All timers of an engine; `due` is when the first falls due."""

    __slots__ = ("_known", "due", "heap", "lanes")

    def __init__(self) -> None:
        self.due = NEVER
        self.heap: list[Timer] = []  # and lanes: generated code knows them
        self.lanes: list[Lane] = []
        self._known: dict[tuple[int, int, int], Lane] = {}

    def __iter__(self) -> Iterator[Timer]:
        """Yield all timers, in no order."""
        yield from self.heap
        for lane in self.lanes:
            yield from lane

    def __len__(self) -> int:
        return len(self.heap) + sum(map(len, self.lanes))

    def in_order(self) -> list[Timer]:
        """Return all timers, the first due first."""
        return sorted(self, key=_place)

    def lane(self, after: int, level: int, stage: int = 0) -> Lane | None:
        """Return the lane of what falls due so long after it is set; None where there are too many lanes already."""
        found = self._known.get((after, level, stage))
        if found is None and len(self.lanes) < MOST_LANES:
            found = self._known[after, level, stage] = deque()
            self.lanes.append(found)
        return found

    def add(self, timer: Timer) -> None:
        """Set a timer that may be due before others."""
        heappush(self.heap, timer)
        if timer[0] < self.due:
            self.due = timer[0]

    def first(self) -> Timer | None:
        """Return what falls due first."""
        found = self.heap[0] if self.heap else None
        for lane in self.lanes:
            if lane and (found is None or lane[0] < found):
                found = lane[0]
        return found

    def pop(self) -> Timer:
        """Take out what falls due first."""
        found = self._pop()
        self._look()
        return found

    def _pop(self) -> Timer:
        heap, source = self.heap, None
        found = heap[0] if heap else None
        for lane in self.lanes:
            if lane and (found is None or lane[0] < found):
                found, source = lane[0], lane
        return heappop(heap) if source is None else source.popleft()

    def pop_step(self) -> list[Timer]:
        """Take out what is due first, of one partition, level, and moment from which on it could be prevented."""
        first = self._pop()
        step = [first]
        due, since, sequence, *_, tag = first
        end = (due, since, (sequence >> LEVELS) + 1 << LEVELS)
        others: list[Timer] = []
        following = self.first()
        while following is not None and following[0] == due and following[:3] < end:
            (step if following[5] is tag else others).append(self._pop())
            following = self.first()
        for timer in others:
            heappush(self.heap, timer)
        self.due = due if others else NEVER if following is None else following[0]
        return step

    def replace(self, timers: Iterable[Timer]) -> None:
        """Let other timers take the place of all."""
        found = sorted(timers, key=_place)
        for lane in self.lanes:
            lane.clear()
        self.heap.clear()
        for timer in found:
            self._home(timer).append(timer)
        self._look()

    def _home(self, timer: Timer) -> Lane | list[Timer]:
        """Return where a timer stands among others that come in order: the lane of such, or the heap."""
        due, back, sequence, *_ = timer
        stage, after = divmod(due + back, STAGE)
        return self._known.get((after, sequence >> LEVELS, stage), self.heap)

    def _look(self) -> None:
        first = self.first()
        self.due = NEVER if first is None else first[0]


def _place(timer: Timer) -> tuple[int, int, int]:
    return timer[:3]
