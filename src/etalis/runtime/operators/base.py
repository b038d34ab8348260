"""What stateful operators share: candidates by rank, and waiting instances by key.

An operator takes instances of its inputs as flat arguments (values..., start, end), keeps its own state, and hands its
matches to generated code: `check` tests a match, `emit` tests it and passes it on. How values are put together is told
by small functions made at compile time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar, assert_never

from etalis.runtime.operators.blockers import Blockers, JudgedBlockers, LooseBlockers
from etalis.runtime.operators.store import Instance
from etalis.temporal.policy import Policy

Emit = Callable[..., bool]
Values = tuple[Any, ...]
Key = Callable[[Values], Any]


def rank(x: Any) -> tuple[int, int]:
    """Return the rank of a candidate; a stable sort adds arrival."""
    return x.end, x.start


def select(policy: Policy, candidates: list[Any]) -> list[Any]:
    """Return the candidates that a policy matches, of all in the order of their rank."""
    match policy.select:
        case "earliest":
            return candidates[:1]
        case "latest":
            return candidates[-1:]
        case "all" | "together":
            return candidates
        case _:
            assert_never(policy.select)


W = TypeVar("W")


class Shelf(Generic[W]):
    """What waits, by join key, each group in order of rank; what ended longer than `keep` ago goes."""

    __slots__ = ("fifo", "groups", "keep")

    def __init__(self, keep: int | None) -> None:
        self.groups: dict[Any, list[W]] = {}
        self.keep = keep
        self.fifo: deque[tuple[int, Any]] = deque()

    def group(self, key: Any) -> list[W]:
        """Return what waits under a key."""
        return self.groups.get(key, [])

    def add(self, key: Any, item: W) -> None:
        """Let one more wait."""
        group = self.groups.setdefault(key, [])
        group.append(item)
        if len(group) > 1 and rank(group[-2]) > rank(item):
            group.sort(key=rank)
        if self.keep is not None:
            self.fifo.append((rank(item)[0], key))
            self.expire(rank(item)[0])

    def keep_only(self, key: Any, items: list[W]) -> None:
        """Replace a group by what is left of it."""
        if items:
            self.groups[key] = items
        else:
            self.groups.pop(key, None)

    def expire(self, now: int) -> None:
        """Let go what nothing that ends at a moment or later can use."""
        if self.keep is None:
            return
        limit = now - self.keep
        while self.fifo and self.fifo[0][0] < limit:
            old = self.fifo.popleft()[1]
            self.keep_only(old, [x for x in self.group(old) if rank(x)[0] >= limit])


STAGE = 1 << 59  # more than any two times are apart; a time as many stages back as there may be has 64 bits


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

    def stands(self, payload: Values) -> bool:
        """Tell whether nothing has blocked a left side, and the rule is still there."""
        end = payload[-1]
        return self.alive and not self._is_blocked(payload[:-2], self.after(end), end + self.duration + 1)

    def _is_blocked(self, values: Values, low: int, high: int) -> bool:
        if self.judge is not None and isinstance(self.blockers, JudgedBlockers):
            return self.blockers.hit_judged(self.key(values), low, high, self.judge, self.asked(values))
        return self.blockers.hit(self.key(values), low, high)

    def fire(self, payload: Values) -> None:
        """Report a left side whose time has passed."""
        self.emit(*payload[:-2], payload[-2], payload[-1] + self.duration)


class Unmatched:
    """Instances of the side of a join that matches alone too, while they have no partner, by join key.

    Each has a timer; when it falls due, what is still here has taken part in no match. `window` is how long a partner
    may take, None for none after its stamp. Law: an instance here is the one that waits in the store of its side; of
    equal ones as many are here as have no partner. It begins with so many `values`, by which equal ones are told.
    """

    __slots__ = ("alive", "by_start", "emit", "groups", "level", "place", "schedule", "stage", "values", "window")

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
        self.level = self.stage = 0
        self.alive = True

    def wait(self, key: Any, instance: Instance) -> None:
        """Let an instance without a partner wait for one, or for the moment when it is known that there is none."""
        self.groups.setdefault(key, []).append(instance)
        start, end = instance[-2:]
        since = (start if self.by_start else end) - self.stage * STAGE
        self.schedule(self._due(instance), since, self, (key, *instance))

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
