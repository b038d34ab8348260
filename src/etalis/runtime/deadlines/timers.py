"""Timers: what is to happen at a moment to come, in the order in which it falls due (definition 6.13, 6.14, 9.29).

What is due so long after it was set, of one stage and level, falls due in the order in which it was set: it stands in
a lane, which generated code appends to. All else is in a heap. Law: a lane is in order of (due, -since, sequence), and
only grows at its end, by what is set at the present moment. Where few set timers, each has a lane of its own, which
holds what was set and nothing else: when that is due, and since when it waits, is told from it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator
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


class LaneOwner(Owner, Protocol):
    """Who may have a lane of its own: what it has set falls due in the order in which it was set."""

    @property
    def alive(self) -> bool:
        """Whether its rule is still there."""
        ...

    def moments(self, payload: Any) -> tuple[int, int]:
        """Return when what was set falls due, and since when it waits."""
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


class OwnLane(deque[Any]):
    """What one owner has set, the first due first; of no partition, as nothing is corrected where it is used."""

    __slots__ = ("owner",)

    def __init__(self, owner: LaneOwner) -> None:
        super().__init__()
        self.owner = owner

    def timer(self, payload: Any) -> Timer:
        """Return what is set as a timer, which has no number: it is given one where it is to stand among others."""
        due, since = self.owner.moments(payload)
        return due, -since, self.owner.level << LEVELS, self.owner, payload, None


class Timers:
    """All timers of an engine; `due` is when the first falls due."""

    __slots__ = ("_known", "_number", "alarms", "due", "gives_own", "heap", "lanes", "own")

    def __init__(self, number: Callable[[], int]) -> None:
        self._number = number  # of the next timer that is set
        self.due = NEVER
        self.heap: list[Timer] = []  # and lanes: generated code knows them
        self.lanes: list[Lane] = []
        self.own: list[OwnLane] = []
        self.alarms: set[tuple[Any, ...]] = set()  # (owner, *payload) of those in the heap that need not be set again
        self.gives_own = False
        self._known: dict[tuple[int, int, int], Lane] = {}

    def __iter__(self) -> Iterator[Timer]:
        """Yield all timers, in no order."""
        yield from self.heap
        for lane in self.lanes:
            yield from lane
        for own in self.own:
            yield from map(own.timer, own)

    def __len__(self) -> int:
        return len(self.heap) + sum(map(len, self.lanes)) + sum(map(len, self.own))

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

    def give_own(self, whether: bool) -> None:
        """Say whether owners have lanes of their own from now on; what stands in such lanes goes where it belongs."""
        self.gives_own = whether
        if self.own and not whether:
            timers = list(self)
            self.own.clear()
            self.replace(timers)

    def own_lane(self, owner: LaneOwner) -> OwnLane | None:
        """Return the lane of one owner alone; None where there are none, or too many already."""
        if not self.gives_own:
            return None
        found = next((lane for lane in self.own if lane.owner is owner), None)
        if found is None:
            self.own[:] = [lane for lane in self.own if lane or lane.owner.alive]
        if found is None and len(self.own) < MOST_LANES:
            found = OwnLane(owner)
            self.own.append(found)
            if any(timer[3] is owner for timer in self):  # set before, as after a restart
                self.replace(list(self))
        return found

    def add(self, timer: Timer) -> None:
        """Set a timer that may be due before others."""
        heappush(self.heap, timer)
        if timer[0] < self.due:
            self.due = timer[0]

    def take_from_heap(self) -> Timer:
        """Take out what is due first in the heap."""
        timer = heappop(self.heap)
        if self.alarms:
            self.alarms.discard((timer[3], *timer[4]))
        return timer

    def first(self) -> Timer | None:
        """Return what falls due first."""
        return self._first()[0]

    def _first(self) -> tuple[Timer | None, Lane | OwnLane | None]:
        """Return what falls due first, and the lane where it stands, None for the heap."""
        found, source = (self.heap[0] if self.heap else None), None
        for lane in self.lanes:
            if lane and (found is None or lane[0] < found):
                found, source = lane[0], lane
        for own in self.own:
            if own and (found is None or _place(own.timer(own[0])) < _place(found)):
                found, source = own.timer(own[0]), own
        return found, source

    def pop(self) -> Timer:
        """Take out what falls due first."""
        found = self._pop()
        self.find_due()
        return found

    def _pop(self) -> Timer:
        found, source = self._first()
        if found is None or source is None:
            return self.take_from_heap()
        source.popleft()
        return found

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

    def take_step(self, due: int) -> deque[Timer]:
        """Take out what is due first, as a step, by its moment; most often all of it stands in the heap."""
        for lane in self.lanes:
            if lane and lane[0][0] == due:
                return deque(self.pop_step())
        heap, first = self.heap, self.take_from_heap()
        if not (heap and heap[0][0] == due):
            return deque((first,))
        step, end = deque((first,)), (due, first[1], (first[2] >> LEVELS) + 1 << LEVELS)
        while heap and heap[0] < end:
            step.append(self.take_from_heap())
        return step

    def put_back(self, timer: Timer, source: deque[Timer]) -> None:
        """Set what was taken out first again, and what is left of its step where that was taken out of all lanes."""
        if any(source is lane for lane in self.lanes):
            source.appendleft(timer)
        else:
            for each in (timer, *source):
                heappush(self.heap, each)
        self.due = timer[0]

    def replace(self, timers: Iterable[Timer]) -> None:
        """Let other timers take the place of all."""
        found = sorted(timers, key=_place)
        for lane in (*self.lanes, *self.own):
            lane.clear()
        self.heap.clear()
        self.alarms.clear()
        rest = [self._numbered(timer) for timer in found if not self._put_alone(timer)]
        for timer in sorted(rest, key=_place):
            due, back, sequence, *_ = timer
            stage, after = divmod(due + back, STAGE)
            self._known.get((after, sequence >> LEVELS, stage), self.heap).append(timer)
        self.find_due()

    def _put_alone(self, timer: Timer) -> bool:
        """Put a timer, of others that come in order, into the lane of its owner, if there is one; tell whether so."""
        due, back, _, owner, payload, tag = timer
        own = next((lane for lane in self.own if lane.owner is owner), None)
        if own is None or tag is not None or own.timer(payload)[:2] != (due, back):
            return False
        own.append(payload)
        return True

    def _numbered(self, timer: Timer) -> Timer:
        """Return a timer with a number: without one, equal ones would be compared by who set them, and what for."""
        due, back, sequence, owner, payload, tag = timer
        return timer if sequence % (1 << LEVELS) else (due, back, sequence + self._number(), owner, payload, tag)

    def find_due(self) -> None:
        """Find anew when the first falls due."""
        first = self.first()
        self.due = NEVER if first is None else first[0]


def _place(timer: Timer) -> tuple[int, int, int]:
    return timer[:3]
