"""Instances of the side of a join that matches alone too, while they have no partner (definition 9.21 to 9.32).

Each has a timer; when it falls due, what is still here has taken part in no match. Law: an instance here is the one
that waits in the store of its side, and those of a key are in order of their arrival, so of their ends.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from etalis.runtime.deadlines.timers import LEVELS, Lane, Timers
from etalis.runtime.operators.store import Instance, Store, members

Groups = dict[Any, list[Instance]]


class Unmatched:
    """What has no partner yet of one `side` of a join, by join key.

    `window` is how long a partner may take, None for none after its stamp.
    """

    __slots__ = ("alive", "by_start", "emit", "groups", "level", "place", "schedule", "side", "window")

    def __init__(
        self, *, side: str, window: int | None, by_start: bool, level: int, emit: Callable[..., None],
        schedule: Callable[..., None], place: Hashable,
    ) -> None:  # fmt: skip
        self.groups: Groups = {}
        self.side = side
        self.window = window
        self.by_start = by_start
        self.level = level
        self.emit = emit
        self.schedule = schedule
        self.place = place
        self.alive = True

    def lane(self, timers: Timers) -> Lane | None:
        """Return where the timers of instants stand, which are due in the order in which they arrive."""
        return timers.lane(self.window or 0, self.level)

    def first_number(self) -> int:
        """Return what is added to the sequence of a timer."""
        return self.level << LEVELS

    def wait(self, key: Any, instance: Instance) -> None:
        """Let an instance without a partner wait for one, or for the moment when it is known that there is none."""
        group = self.groups.get(key)
        if group is None:
            self.groups[key] = [instance]
        else:
            group.append(instance)
        start, end = instance[-2:]
        self.schedule(self._due(instance), start if self.by_start else end, self, (key, instance))

    def meet(self, key: Any, met: Sequence[Instance]) -> None:
        """Note that some instances have a partner."""
        group = self.groups.get(key)
        if group is None:
            return
        if len(group) == 1:
            for instance in met:
                if instance is group[0]:
                    del self.groups[key]
                    return
            return
        gone = set(map(id, met))
        rest = [instance for instance in group if id(instance) not in gone]
        if not rest:
            del self.groups[key]
        elif len(rest) < len(group):
            group[:] = rest

    def stands(self, payload: tuple[Any, Instance]) -> bool:
        """Tell whether an instance has no partner, and the rule is still there; it waits no more."""
        key, instance = payload
        group = self.groups.get(key)
        if group is None or not self.alive:
            return False
        end = instance[-1]
        for place, other in enumerate(group):
            if other is instance or other == instance:
                if len(group) == 1:
                    del self.groups[key]
                else:
                    del group[place]
                return True
            if other[-1] > end:
                return False
        return False

    def fire(self, payload: tuple[Any, Instance]) -> None:
        """Report an instance without a partner."""
        key, instance = payload
        self.emit(key, instance, self._due(instance))

    def _due(self, instance: Instance) -> int:
        due: int = instance[-1] if self.window is None else instance[-2] + self.window
        return due


def share_instances(unmatched: Groups, store: Store) -> None:
    """Let what has no partner be the instances that wait in the store of its side, which a snapshot makes anew."""
    for key, group in unmatched.items():
        waiting = list(members(store[key])) if key in store else []
        for place, instance in enumerate(group):
            for found, other in enumerate(waiting):
                if other == instance:
                    group[place] = waiting.pop(found)
                    break
