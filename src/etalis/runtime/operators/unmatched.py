"""Instances of the side of a join that matches alone too, while they have no partner (definition 9.21 to 9.30).

Each has a timer; when it falls due, what is still here has taken part in no match. Law: an instance here is the one
that waits in the store of its side, and of equal ones as many are here as have no partner.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from etalis.runtime.operators.store import Instance


class Unmatched:
    """Who has no partner yet, by join key; `window` is how long one may take, None for none after its stamp.

    An instance begins with so many `values`, by which equal ones are told.
    """

    __slots__ = ("alive", "by_start", "emit", "groups", "level", "place", "schedule", "values", "window")

    def __init__(
        self, *, window: int | None, by_start: bool, values: int, emit: Callable[..., None],
        schedule: Callable[..., None], place: Hashable,
    ) -> None:  # fmt: skip
        self.groups: dict[Any, list[Instance]] = {}
        self.window = window
        self.by_start = by_start
        self.values = values
        self.emit = emit
        self.schedule = schedule
        self.place = place
        self.level = 0
        self.alive = True

    def wait(self, key: Any, instance: Instance) -> None:
        """Let an instance without a partner wait for one, or for the moment when it is known that there is none."""
        self.groups.setdefault(key, []).append(instance)
        start, end = instance[-2:]
        self.schedule(self._due(instance), start if self.by_start else end, self, (key, *instance))

    def meet(self, key: Any, instance: Instance) -> None:
        """Note that an instance has a partner."""
        group = self.groups.get(key)
        if group is not None:
            self._take(key, group, instance)

    def stands(self, payload: tuple[Any, ...]) -> bool:
        """Tell whether an instance has no partner, and the rule is still there."""
        return self.alive and self._find(self.groups.get(payload[0], ()), payload[1:]) is not None

    def fire(self, payload: tuple[Any, ...]) -> None:
        """Report an instance without a partner; of equal ones each is reported once."""
        key, *instance = payload
        group = self.groups.get(key)
        found = None if group is None else self._take(key, group, tuple(instance))
        if found is not None:
            self.emit(key, found, self._due(found))

    def _due(self, instance: Instance) -> int:
        due: int = instance[-1] if self.window is None else instance[-2] + self.window
        return due

    def _take(self, key: Any, group: list[Instance], instance: Instance) -> Instance | None:
        place = self._find(group, instance)
        if place is None:
            return None
        found = group.pop(place)
        if not group:
            del self.groups[key]
        return found

    def _find(self, group: Any, instance: Instance) -> int | None:
        """Return where an instance is, or the first that is equal: a snapshot makes two of one."""
        for place, other in enumerate(group):
            if other is instance:
                return place
        count = self.values
        for place, other in enumerate(group):
            if other[-2:] == instance[-2:] and other[:count] == instance[:count]:
                return place
        return None
