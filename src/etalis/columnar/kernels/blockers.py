"""Kernels of absences: blockers by group, in order of their ends, and what they block."""

from __future__ import annotations

from typing import Any, NamedTuple

from etalis.columnar.kernels.jit import kernel
from etalis.columnar.kernels.search import bisect

_NEAR = 4  # blockers that are looked at one by one before those behind are searched


class BlockerGroups(NamedTuple):
    """Blockers of group g stand from first[g] to first[g + 1]: the `end` of each, and the `latest` start so far."""

    first: Any
    end: Any
    latest: Any


@kernel
def arrange(group: Any, starts: Any, ends: Any, groups: BlockerGroups) -> None:
    """Put blockers, which end in order, into their groups; `groups.first` holds zeros at first."""
    first, end, latest = groups
    for x in range(len(group)):
        first[group[x] + 1] += 1
    for g in range(1, len(first)):
        first[g] += first[g - 1]
    for x in range(len(group) - 1, -1, -1):
        g = group[x] + 1
        first[g] -= 1
        end[first[g]] = ends[x]
        latest[first[g]] = starts[x]
    for g in range(len(first) - 1):
        first[g] = first[g + 1]
    first[len(first) - 1] = len(group)
    for g in range(len(first) - 1):
        for at in range(first[g] + 1, first[g + 1]):
            latest[at] = max(latest[at], latest[at - 1])


@kernel
def blocked(group: Any, low: Any, high: Any, groups: BlockerGroups, reached: Any, answers: Any) -> None:
    """Tell for each question whether its group has a blocker with low < start and end < high.

    Each group goes on from where it was `reached` last, at first its beginning: questions mostly come in order.
    """
    first, end, latest = groups
    for q in range(len(group)):
        g = group[q]
        if g >= 0:
            at = reached[g]
            if at > first[g] and end[at - 1] >= high[q]:
                at = bisect(end, first[g], at, high[q])
            near = min(first[g + 1], at + _NEAR)
            while at < near and end[at] < high[q]:
                at += 1
            if at == near and at < first[g + 1] and end[at] < high[q]:
                at = bisect(end, at, first[g + 1], high[q])
            reached[g] = at
            answers[q] = at > first[g] and latest[at - 1] > low[q]


@kernel
def first_after(group: Any, moment: Any, groups: BlockerGroups, limit: Any) -> None:
    """Lower each limit to the end of the first blocker of its group that starts after a moment."""
    first, end, latest = groups
    for q in range(len(group)):
        g = group[q]
        if g >= 0:
            at = bisect(latest, first[g], first[g + 1], moment[q] + 1)
            if at < first[g + 1] and end[at] < limit[q]:
                limit[q] = end[at]


@kernel
def latest_before(group: Any, moment: Any, groups: BlockerGroups, found: Any) -> None:
    """Raise each number to the latest start of a blocker of its group that ended before a moment."""
    first, end, latest = groups
    for q in range(len(group)):
        g = group[q]
        if g >= 0:
            at = bisect(end, first[g], first[g + 1], moment[q])
            if at > first[g]:
                found[q] = max(found[q], latest[at - 1])
