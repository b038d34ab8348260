"""What waits in a repetition, as generated code asks for it where there is more than the usual: left sides and runs."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Sequence
from operator import attrgetter
from typing import Any

from etalis.runtime.operators.base import Values, rank
from etalis.runtime.operators.repetition.counted import Left, Run, is_usable
from etalis.runtime.operators.repetition.runner import keep_started
from etalis.runtime.operators.store import LONG, Once, Token

END = attrgetter("end")
MANY = 1024  # groups, before it is looked at which of them are still needed
Lefts = dict[Values, Any]  # a list of left sides in order of rank, a long one a deque


def shelve(groups: Lefts, key: Values, group: Any, left: Left, newest: bool) -> None:
    """Let a left side wait among others of its key, or in their place if they are older."""
    if newest:
        if not any(is_usable(other) and rank(other) > rank(left) for other in group):
            groups[key] = [left]
        return
    if rank(group[-1]) > rank(left):
        group = groups[key] = sorted([*group, left], key=rank)
    else:
        group.append(left)
    if len(group) >= LONG and type(group) is list:
        groups[key] = deque(group)


def is_repeated(group: Any, values: Values, once: Once) -> bool:
    """Tell whether a left side of the same origin with equal values waits already."""
    token, count = values[once.token], once.values
    if token is None:
        return False
    origin, plain = token.origin, values[:count]
    for left in group:
        other = left.values[once.token]
        if other is not None and other.origin is origin and left.values[:count] == plain and is_usable(left):
            return True
    return False


def sweep(groups: dict[Values, Any]) -> int:
    """Drop the groups of which all has been consumed; return when to look again: when there are twice as many."""
    for key in [key for key, group in groups.items() if not any(map(is_usable, group))]:
        del groups[key]
    return 2 * len(groups) + MANY


def _is_held(left: Left, limit: int | None) -> bool:
    return is_usable(left) and (limit is None or left.start >= limit)


def let_go(groups: Lefts, key: Values, limit: int | None) -> None:
    """Drop the left sides of a key that can no longer be used."""
    group = groups[key]
    count = len(group)
    while group and not _is_held(group[0], limit):
        del group[0]
    while group and not _is_held(group[-1], limit):
        del group[-1]
    if len(group) == count:
        rest = [left for left in group if _is_held(left, limit)]
        groups[key] = deque(rest) if len(rest) >= LONG else rest
    elif not group:
        del groups[key]


def count_ended(group: Any, moment: int) -> int:
    """Return how many left sides of a group ended before a moment."""
    return bisect_left(group, moment, key=END)


def drop_ended(groups: Lefts, key: Values, limit: int) -> Any:
    """Drop the left sides of a key that ended before a moment; return the others, if there are any."""
    group = groups[key]
    while group and group[0].end < limit:
        del group[0]
    if group:
        return group
    del groups[key]
    return None


def find_earliest(groups: Lefts, key: Values, limit: int | None) -> Left | None:
    """Return the first left side of a key that can be used; drop those before it."""
    group = groups[key]
    while group and not _is_held(group[0], limit):
        del group[0]
    if group:
        found: Left = group[0]
        return found
    del groups[key]
    return None


def find_latest(groups: Lefts, key: Values, before: int, limit: int | None) -> Left | None:
    """Return the last left side of a key that can be used and ended before a moment; drop those that cannot."""
    group = groups[key]
    while group and not _is_held(group[-1], limit):
        del group[-1]
    if not group:
        del groups[key]
        return None
    found: Left
    for found in reversed(group):
        if found.end < before and _is_held(found, limit):
            return found
    return None


def next_run(runs: dict[Values, list[Run]], key: Values, latest: bool, before: int, limit: int | None) -> Run | None:
    """Return the run of a key that goes on, which becomes the last of them; drop those that cannot be used."""
    group = [run for run in runs[key] if is_usable(run) and (limit is None or run.start >= limit)]
    candidates = sorted([run for run in group if run.end < before], key=rank)
    found = None
    if candidates:
        found = candidates[-1 if latest else 0]
        group.append(group.pop(next(i for i, run in enumerate(group) if run is found)))
    if group:
        runs[key] = group
    else:
        del runs[key]
    return found


def next_runs(runs: dict[Values, list[Run]], key: Values, before: int, limit: int | None) -> list[Run]:
    """Return the runs of a key that go on, in order of rank, which become the last; drop those that cannot be used."""
    group = [run for run in runs[key] if is_usable(run) and (limit is None or run.start >= limit)]
    found = sorted([run for run in group if run.end < before], key=rank)
    group = [*(run for run in group if run.end >= before), *found]
    if group:
        runs[key] = group
    else:
        del runs[key]
    return found


def drop_complete(runs: dict[Values, list[Run]], key: Values, number: int) -> None:
    """Drop the runs of a key that have so many elements."""
    group = [run for run in runs[key] if run.number != number]
    if group:
        runs[key] = group
    else:
        del runs[key]


def unite(several: Sequence[Left | Run]) -> Token:
    """Return the token of a match of several left sides, or runs."""
    return Token(several[-1].token.origin, tuple([one.token for one in several]))


def expire_runs(runs: dict[Values, list[Run]], fifo: deque[tuple[int, Values]], limit: int) -> None:
    """Drop the runs that began before a moment; `fifo` has (end, key) of what opened them."""
    while fifo and fifo[0][0] < limit:
        key = fifo.popleft()[1]
        group = runs.get(key, ())
        if len(group) == 1:
            if group[0].start < limit:
                del runs[key]
        elif group:
            keep_started(runs, key, limit, lambda run: run.start)
