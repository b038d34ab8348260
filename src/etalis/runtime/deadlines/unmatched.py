"""Instances of the side of a join that matches alone too, while they have no partner (definition 9.21 to 9.32).

Each has a timer; when that falls due, an instance that has met no partner matches alone. What has met one is noted by
identity, which generated code does in line. Law: the instance of a timer is the one that waits in the store of its
side, and what is noted is held, so that no other one gets its identity.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any

from etalis.runtime.deadlines.timers import STAGE, Timers
from etalis.runtime.operators.store import Instance, Store, held_in

LEAST_TRIM = 64

Waiting = tuple[Any, ...]  # a timer's payload: join key and instance


class Unmatched:
    """What has no partner yet of one `side` of a join.

    `window` is how long a partner may take, None for none after its stamp.
    """

    __slots__ = ("alive", "by_start", "emit", "level", "met", "place", "side", "stage", "timers", "trim_at", "window")

    def __init__(
        self, *, side: str, window: int | None, by_start: bool, level: int, emit: Callable[..., None],
        timers: Timers, place: Hashable, stage: int = 0,
    ) -> None:  # fmt: skip
        self.met: dict[int, Instance] = {}
        self.trim_at = LEAST_TRIM
        self.side = side
        self.window = window
        self.by_start = by_start
        self.level = level
        self.stage = stage  # of what is due together, the later is judged later
        self.emit = emit
        self.timers = timers
        self.place = place
        self.alive = True

    def since(self, moment: int) -> int:
        """Return since when an instance waits, as timers tell it: those of later stages come later."""
        return moment - self.stage * STAGE

    def moments(self, payload: Waiting) -> tuple[int, int]:
        """Return when an instant matches alone, and since when it waits."""
        moment = payload[1][-1]
        return moment + (self.window or 0), self.since(moment)

    def awaits(self, payload: Waiting) -> bool:
        """Tell whether an instance has no partner so far."""
        return id(payload[1]) not in self.met

    def waiting(self) -> Iterator[Instance]:
        """Yield what has no partner so far."""
        yield from (timer[4][1] for timer in self.timers if timer[3] is self and self.awaits(timer[4]))

    def trim(self) -> None:
        """Forget what has met a partner and has no timer that would ask."""
        asked = {id(timer[4][1]) for timer in self.timers if timer[3] is self}
        for number in [number for number in self.met if number not in asked]:
            del self.met[number]
        self.trim_at = max(LEAST_TRIM, 2 * len(self.met), len(self.timers))

    def stands(self, payload: Waiting) -> bool:
        """Tell whether an instance has no partner, and the rule is still there."""
        return self.met.pop(id(payload[1]), None) is None and self.alive

    def fire(self, payload: Waiting) -> None:
        """Report an instance without a partner."""
        key, instance = payload
        due = instance[-1] if self.window is None else instance[-2] + self.window
        self.emit(key, instance, due)


def shared_with(store: Store, payloads: Iterable[Waiting]) -> list[Waiting]:
    """Return what waits for a partner by the instances of a store, of which a snapshot makes others."""
    seen: set[Any] = set()
    left: dict[tuple[Any, int, int], list[Instance]] = {}  # of a store, by key and interval
    found: list[Waiting] = []
    for key, instance in payloads:
        if key not in seen:
            seen.add(key)
            for other in held_in(store[key]) if key in store else ():
                left.setdefault((key, *other[-2:]), []).append(other)
        alike = left.get((key, *instance[-2:]), [])
        place = next((i for i, other in enumerate(alike) if other == instance), None)
        found.append((key, instance if place is None else alike.pop(place)))
    return found
