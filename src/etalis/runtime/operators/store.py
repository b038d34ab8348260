"""Stores of waiting instances: dictionaries from join key to a group.

An instance is a flat tuple (values..., start, end). A group of one is the instance itself, so that a store of a
million keys holds nothing that Python's cyclic collector must walk; more are a list in order of (end, start,
arrival), a long one a deque, whose first is cheap to take.

Law: what is kept beside the values (tokens, inputs' numbers, bounds of a gap) never decides what is equal.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from etalis.temporal.interval import EARLIEST

Instance = tuple[Any, ...]
Group = Any  # Instance | list[Instance] | deque[Instance]
Store = dict[Any, Group]

_END = itemgetter(-1)
_MOMENT = itemgetter(0)
LONG = 64
SLACK = 4  # what has expired goes a part of its time later, so that many go at once
LOT = 64  # at most so many, so that no event waits for long


class Once(NamedTuple):
    """Where an instance that waits once per origin has its token, and how many values it begins with."""

    token: int
    values: int

    @staticmethod
    def among(columns: Sequence[str]) -> Once | None:
        """Return the places in an instance of these columns, variables before marks; None where it has no token."""
        if "$token" not in columns:
            return None
        return Once(columns.index("$token"), sum(not name.startswith("$") for name in columns))


def put(store: Store, key: Any, instance: Instance) -> None:
    """Add an instance to its group, in order of (end, start, arrival)."""
    group = store.get(key)
    if group is None:
        store[key] = instance
        return
    if type(group) is tuple:
        group = store[key] = [group]
    last = group[-1]
    if last[-2] <= instance[-2] or last[-1] != instance[-1]:
        group.append(instance)
        if len(group) == LONG and type(group) is list:
            store[key] = deque(group)
    else:
        _insert(group, instance)


def _insert(group: Any, instance: Instance) -> None:
    """Put an instance before those of its own end that start later."""
    end, start = instance[-1], instance[-2]
    at = len(group)
    while at and group[at - 1][-1] == end and group[at - 1][-2] > start:
        at -= 1
    group.insert(at, instance)


def put_newest(store: Store, key: Any, instance: Instance) -> None:
    """Keep only the newest instance of a key, by (end, start, arrival)."""
    old = store.get(key)
    if old is None or (old[-1], old[-2]) <= (instance[-1], instance[-2]):
        store[key] = instance


class Newest:
    """The newest instance of a key, and those it has replaced while `event` is being offered to the leaves."""

    __slots__ = ("event", "items")

    def __init__(self, event: int, instance: Instance) -> None:
        self.event = event
        self.items = [instance]

    def candidates(self, event: int) -> Sequence[Instance]:
        """Return what an event may still find, the latest first."""
        return self.items[::-1] if event == self.event else self.items[-1:]


def put_newest_for(store: Store, key: Any, instance: Instance, event: int, once: Once | None) -> None:
    """Keep the newest instance of a key; what it replaces stays in sight of the event that brought it.

    With `once`, of one origin and equal values only the first is stored.
    """
    held: Newest | None = store.get(key)
    if held is None:
        store[key] = Newest(event, instance)
        return
    if held.event != event:
        del held.items[:-1]
    if once is not None and waits(held.items, instance, once):
        return
    last = held.items[-1]
    if (last[-1], last[-2]) <= (instance[-1], instance[-2]):
        held.items.append(instance)
        held.event = event


def take(store: Store, key: Any, group: Group, index: int) -> None:
    """Remove one instance of a group of several."""
    del group[index]
    if len(group) == 1:
        store[key] = group[0]


def take_late(store: Store, key: Any, group: Group, instance: Instance) -> None:
    """Remove one instance, one of the last, of a group of several."""
    index = len(group) - 1
    while group[index] is not instance:
        index -= 1
    take(store, key, group, index)


def first_since(group: Sequence[Instance], limit: int) -> int:
    """Return the place of the first of several instances that has not ended before a moment."""
    return 0 if group[0][-1] >= limit else bisect_left(group, limit, key=_END)


def leave(store: Store, key: Any, rest: list[Instance]) -> None:
    """Replace a group by what is left of it."""
    if not rest:
        del store[key]
    elif len(rest) == 1:
        store[key] = rest[0]
    else:
        store[key] = deque(rest) if len(rest) > LONG else rest


def members(group: Group) -> Sequence[Instance]:
    """Return the instances of a group."""
    return (group,) if type(group) is tuple else group


def held_in(group: Group | Newest) -> Sequence[Instance]:
    """Return the instances of a group, and what its newest has replaced while an event is being offered."""
    return group.items if isinstance(group, Newest) else members(group)


class Fifo(deque[tuple[int, Any]]):
    """What waits, as (end, key) in order of storing; after `due` the first of it is looked at."""

    __slots__ = ("due",)

    def __init__(self, items: Iterable[tuple[int, Any]] = ()) -> None:
        super().__init__(items)
        self.due = EARLIEST - 1

    def extend(self, items: Iterable[tuple[int, Any]]) -> None:
        """Add what has waited elsewhere, perhaps older than what is here; nothing of it is past before its end."""
        added = list(items)
        super().extend(added)
        if added:
            self.due = max(self.due, max(added, key=_MOMENT)[0])

    def put_off(self, now: int, keep: int) -> None:
        """Look at it again when there are many that have waited so long."""
        self.due = (self[0][0] if self else now) + keep + keep // SLACK


def expire_lot(store: Store, fifo: Fifo, now: int, keep: int, as_lists: bool) -> None:
    """Drop a lot of the instances that have waited so long, and say when there are others.

    >>> store, fifo = {"c1": (1, 1), "c2": (9, 9)}, Fifo([(1, "c1"), (9, "c2")])
    >>> expire_lot(store, fifo, 12, 8, False)
    >>> store, fifo.due
    ({'c2': (9, 9)}, 19)
    """
    expire(store, fifo, now - keep, LOT, as_lists)
    fifo.put_off(now, keep)


def expire_past(store: Store, fifo: Fifo, now: int) -> None:
    """Drop the groups of a store whose instances can meet nothing that ends later than they do; all is past now.

    >>> store, fifo = {"c1": (1, 1), "c2": [(1, 1), (2, 2)]}, Fifo([(1, "c1"), (1, "c2"), (2, "c2")])
    >>> expire_past(store, fifo, 2)
    >>> store, fifo.due
    ({'c2': [(1, 1), (2, 2)]}, 2)
    """
    fifo.due = now
    if fifo and fifo[-1][0] < now:
        store.clear()
        fifo.clear()
    while fifo and fifo[0][0] < now:
        key = fifo.popleft()[1]
        group = store.get(key)
        if group is not None and (group if type(group) is tuple else _newest_of(group))[-1] < now:
            del store[key]


def _newest_of(group: Group) -> Instance:
    if type(group) is tuple:
        return group
    found: Instance = (group.items if isinstance(group, Newest) else group)[-1]
    return found


def expire(store: Store, fifo: deque[tuple[int, Any]], limit: int, most: int, as_lists: bool = False) -> None:
    """Drop up to so many instances that ended before `limit`; `fifo` lists (end, key) in order of storing.

    Where nothing is consumed, groups may stay lists when one is left, which more will join.

    >>> store = {"c1": (1, 1), "c2": (9, 9), "c3": [(1, 1), (9, 9)]}
    >>> fifo = deque([(1, "c1"), (1, "c2"), (1, "c3"), (9, "c2"), (9, "c3")])
    >>> expire(store, fifo, 5, 5)
    >>> store, fifo
    ({'c2': (9, 9), 'c3': (9, 9)}, deque([(9, 'c2'), (9, 'c3')]))
    """
    popleft, get, pop = fifo.popleft, store.get, store.pop
    is_single = False  # of the last group, as of most others
    for _ in range(min(most, len(fifo))):
        first = popleft()
        end, key = first
        if end >= limit:
            fifo.appendleft(first)
            return
        group = pop(key, None) if is_single else get(key)
        if group is None:  # used up
            continue
        if type(group) is tuple:
            if not is_single:
                is_single = True
                if group[-1] < limit:
                    del store[key]
            elif group[-1] >= limit:
                store[key] = group
            continue
        if is_single:
            is_single = False
            store[key] = group
        if isinstance(group, Newest):
            if group.items[-1][-1] < limit:
                del store[key]
        elif group[0][-1] < limit:
            del group[0]
            if not group:
                del store[key]
            elif len(group) == 1 and not as_lists:
                store[key] = group[0]


def count_instances(store: Store) -> int:
    """Return how many instances wait in a store."""
    several = len(store) - list(map(type, store.values())).count(tuple)
    if not several:
        return len(store)
    return sum(1 if type(g) is tuple or isinstance(g, Newest) else len(g) for g in store.values())


class Token:
    """Says whether what a repetition counted after may still be used; consumed, it takes parents along.

    `of` is the token of what it comes from, None where that is its own. `number` is what snapshots call it, 0 before
    the first one.
    """

    __slots__ = ("alive", "number", "of", "parents")

    def __init__(self, of: Token | None, parents: tuple[Token, ...] = ()) -> None:
        self.alive = True
        self.number = 0
        self.of = of
        self.parents = parents

    @property
    def origin(self) -> Token:
        """The token of what it comes from."""
        return self if self.of is None else self.of

    def kill(self) -> None:
        """Consume the whole."""
        if not self.parents:
            self.alive = False
            return
        stack = [self]
        while stack:
            token = stack.pop()
            if token.alive:
                token.alive = False
                stack.extend(token.parents)


def put_once(store: Store, key: Any, instance: Instance, once: Once) -> bool:
    """Add an instance unless one of the same origin and equal values waits already; tell whether it is added."""
    if waits(members(store.get(key, [])), instance, once):
        return False
    put(store, key, instance)
    return True


def put_newest_once(store: Store, key: Any, instance: Instance, once: Once) -> None:
    """Keep the newest instance of a key, but the first of those with one origin and equal values."""
    old = store.get(key)
    if old is None or not waits([old], instance, once):
        put_newest(store, key, instance)


def waits(instances: Sequence[Instance], instance: Instance, once: Once) -> bool:
    """Tell whether an instance of the same origin with equal values is among some."""
    place, count = once
    token = instance[place]
    if token is None:
        return False
    values, origin = instance[:count], token.origin
    return any(
        other[place] is not None and other[place].origin is origin and other[:count] == values for other in instances
    )


class Doubles:
    """The bindings under which one event has matched the alternatives of an `or` so far."""

    __slots__ = ("current", "seen")

    def __init__(self) -> None:
        self.current = -1
        self.seen: set[tuple[Any, ...]] = set()

    def new(self, current: int, values: tuple[Any, ...]) -> bool:
        if current != self.current:
            self.current = current
            self.seen = {values}
            return True
        if values in self.seen:
            return False
        self.seen.add(values)
        return True
