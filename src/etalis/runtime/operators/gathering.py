"""Instances of several groups of a store, put together in order of (end, start, arrival).

Instances of an `ArrivalStore` are (values..., arrival, start, end). Arrivals are numbered as the process goes on, for
all engines alike, so that state can be moved between them; a snapshot tells their order alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count, product
from operator import itemgetter
from typing import Any

from etalis.runtime.operators.store import Group, Instance, Store, leave, members, take

ARRIVAL = "$arrival"  # the column of that number
next_arrival = count(1).__next__
_in_order = itemgetter(-1, -2, -3)


class ArrivalStore(dict[Any, Any]):
    """A store whose instances carry the number of their arrival."""

    __slots__ = ()


class Gathered(list[Instance]):
    """The instances of several groups, in order, and under which key each one waits."""

    __slots__ = ("keys",)

    def __init__(self, groups: Iterable[tuple[Any, Group]]) -> None:
        found = [(instance, key) for key, group in groups for instance in members(group)]
        found.sort(key=lambda pair: _in_order(pair[0]))
        super().__init__([instance for instance, _ in found])
        self.keys = [key for _, key in found]


def gather(store: Store, key: Any) -> Group | None:
    """Return what an instance of a key meets: the group of its key and that of None, which itself meets all groups."""
    if key is None:
        return gather_all(store)[1]
    groups = [(each, store[each]) for each in (key, None) if each in store]
    return Gathered(groups) if groups else None


def gather_parts(store: Store, key: tuple[Any, ...], shared: int) -> Group | None:
    """Return what an instance meets by a key of parts, of which the first ones are never None."""
    if None not in key:
        choices = [*((part,) for part in key[:shared]), *((part, None) for part in key[shared:])]
        groups = [(each, store[each]) for each in product(*choices) if each in store]
    else:
        groups = [pair for pair in store.items() if all(map(_meet, key, pair[0]))]
    if len(groups) == 1 and groups[0][0] == key:
        return groups[0][1]
    return Gathered(groups) if groups else None


def _meet(x: Any, y: Any) -> bool:
    return x is None or y is None or bool(x == y)


def gather_all(store: Store) -> tuple[None, Group | None]:
    """Return all that waits in a store, under no key."""
    return None, Gathered(store.items()) if store else None


def take_gathered(store: Store, key: Any, group: Group, index: int) -> None:
    """Remove one instance of a group of several, or of several groups."""
    if group.__class__ is Gathered:
        _remove(store, group.keys[index], group[index])
    else:
        take(store, key, group, index)


def leave_gathered(store: Store, key: Any, group: Group, gone: set[int]) -> None:
    """Remove the instances of one or several groups that are among some, by identity."""
    if group.__class__ is Gathered:
        for instance, each in zip(group, group.keys, strict=True):
            if id(instance) in gone:
                _remove(store, each, instance)
    else:
        leave(store, key, [instance for instance in group if id(instance) not in gone])


def _remove(store: Store, key: Any, instance: Instance) -> None:
    group = store[key]
    if group is instance:
        del store[key]
    else:
        take(store, key, group, next(i for i, each in enumerate(group) if each is instance))
