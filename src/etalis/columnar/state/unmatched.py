"""What has no partner yet of the side of a join that matches alone too, over columns and in an engine.

Over columns it is marked among all that waits on that side. An engine keeps it beside, with a timer for each. Law: what
falls due in one step comes in the order in which it came, which only the timers tell; so that becomes the mark.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from etalis.columnar.data.columns import Column, Integers, key_rows
from etalis.columnar.kernels.buffers import KeyIndex
from etalis.columnar.operators.join import JoinOperator
from etalis.columnar.operators.lone_side import MET, SETTLED, LoneSide
from etalis.columnar.state.base import KeptField, Link
from etalis.columnar.state.links import StoredSide
from etalis.columnar.state.timers import find_timers, set_timers, take_timers
from etalis.runtime.deadlines.unmatched import Unmatched, Waiting, shared_with
from etalis.runtime.state import State


@dataclass(frozen=True, slots=True)
class UnmatchedLink(Link):
    """What waits without a partner; the link of its side of the join comes before this one."""

    operator: JoinOperator
    lone: LoneSide
    theirs: Unmatched
    stored: StoredSide
    state: State

    @property
    def here(self) -> Hashable:
        """What tells the operator from others; what waits there has links for that, too."""
        return id(self.operator), "unmatched"

    def fields(self) -> Iterator[KeptField]:
        """What waits keeps it."""
        return iter(())

    def content(self) -> Any:
        """Return what waits in the engine without a partner, in the order in which it came."""
        return [self._identity(*payload) for payload in self._payloads()]

    def load(self) -> None:
        """Mark what has no partner in the engine."""
        payloads = self._payloads()
        if not payloads:
            return
        place = self.lone.place
        rows = self.operator.waiting[place]
        given = self.stored.rows([key for key, _ in payloads], [instance for _, instance in payloads])
        names = [name for name in self.operator.names[place] if name != MET]
        sides = [
            [*map(side.column, names), Column("int", side.start), Column("int", side.end)] for side in (rows, given)
        ]
        group = KeyIndex(np.concatenate(key_rows(sides, [len(rows), len(given)]))).group
        mine, theirs = _ranked(group[: len(rows)]), _ranked(group[len(rows) :])
        _, at, which = np.intersect1d(mine, theirs, return_indices=True)
        assert len(at) == len(given), "what has no partner waits"
        marks = np.full(len(rows), SETTLED)
        marks[at] = which - len(given)
        self.operator.waiting[place] = rows.with_columns({MET: Column("int", marks)})

    def take_over(self) -> None:
        """Keep the engine from judging what waits."""
        take_timers(self.state, self.theirs)

    def save(self) -> None:
        """Let the engine wait for the partners of what waits over columns."""
        self.take_over()
        self.theirs.met.clear()
        rows = self.lone.unmet(self.operator.waiting[self.lone.place])
        payloads = shared_with(self.stored.store, self.stored.instances(rows))
        since = map(self.theirs.since, (rows.start if self.lone.by_start else rows.end).tolist())
        set_timers(self.state, self.theirs, zip(self.lone.due(rows).tolist(), since, payloads, strict=True))

    def _payloads(self) -> list[Waiting]:
        """Return key and instance of all that has no partner, in the order in which it came; others have had one."""
        timers = find_timers(self.state, self.theirs)
        return [payload for _, _, _, _, payload, _ in timers if self.theirs.awaits(payload)]

    def _identity(self, key: Any, instance: Any) -> tuple[Any, ...]:
        values = sum(not name.startswith("$") for name in self.stored.values)
        return key, tuple(instance[:values]), tuple(instance[-2:])


def _ranked(group: Integers) -> Any:
    """Return the places of rows as pairs: the group of each, and which of that it is, in one number."""
    order = np.argsort(group, kind="stable")
    some = group[order]
    rank = np.empty(len(group), np.int64)
    rank[order] = np.arange(len(group)) - np.searchsorted(some, some)
    return (group << 32) | rank
