"""What left sides of a repetition have counted: each one alone, or once per group that it does not tell itself.

A slot counts elements, and has at most one match that waits for what follows. Slots are kept between batches where
they have counted something that may go on, or have such a match; `ORIGIN` is the number of the left side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from etalis.columnar.data.columns import Column, Flags, Integers, concat, key_rows
from etalis.columnar.data.instances import Instances, nothing
from etalis.columnar.kernels import repetition as k
from etalis.columnar.kernels.buffers import KeyIndex
from etalis.columnar.repetition.chains import ORIGIN

COUNTS = {"$number": 0, "$begun": 0, "$counted": 0, "$matched": k.NO_MATCH, "$placed": 0}  # as they are at first
State = Mapping[str, Integers]


@dataclass(frozen=True, slots=True)
class CounterSlots:
    """Slots in use: the left side of each, as `rows` with all that its matches tell, and the slot of each pair.

    Of slots whose matches tell the same, one is the keeper of their match that waits.
    """

    owner: Integers
    keeper: Integers
    rows: Instances
    state: State
    of_pair: Integers

    @staticmethod
    def of_left_sides(left: Instances, state: State) -> CounterSlots:
        """Return a slot for every left side, which tells all groups itself."""
        every = np.arange(len(left))
        return CounterSlots(every, every, left, state, np.zeros(0, np.int64))


class GroupCounters:
    """The slots of left sides that count in groups, by variables that only elements have; matches tell some of them."""

    def __init__(self, names: Sequence[str], told: Sequence[str], types: Mapping[str, str]) -> None:
        self.names = tuple(names)
        self.told = tuple(v for v in names if v in told)
        self.types = {ORIGIN: "int", **{v: types[v] for v in names}, **dict.fromkeys(COUNTS, "int")}
        self.kept = nothing(self.types)

    def open(self, left: Instances, elements: Instances, a: Integers, b: Integers) -> CounterSlots:
        """Return the slots that are kept, and new ones for pairs of left sides and elements."""
        old, origin = self.kept, left.column(ORIGIN)
        given = [origin.take(a), *(elements.column(v).take(b) for v in self.names)]
        keys = key_rows([[old.column(v) for v in (ORIGIN, *self.names)], given], [len(old), len(a)])
        known = KeyIndex(np.concatenate(keys))
        fresh = known.first[len(old) :] - len(old)
        order = np.argsort(origin.data, kind="stable")
        mine = order[np.searchsorted(origin.data[order], old.column(ORIGIN).data)]
        owner = np.concatenate([mine, a[fresh]])
        columns = {v: concat([old.column(v), x.take(fresh)]) for v, x in zip(self.names, given[1:], strict=True)}
        state = {v: np.concatenate([old.column(v).data, np.full(len(fresh), x)]) for v, x in COUNTS.items()}
        rows = left.take(owner).with_columns(columns)
        return CounterSlots(owner, self._keepers(rows, state), rows, state, known.group[len(old) :])

    def _keepers(self, rows: Instances, state: State) -> Integers:
        """Return who keeps the match of each slot: one that has a match already, if there is one."""
        order = np.argsort(state["$matched"] == k.NO_MATCH, kind="stable")
        some = rows.take(order)
        known = KeyIndex(key_rows([[some.column(v) for v in (ORIGIN, *self.told)]], [len(some)])[0])
        found = np.empty(len(order), np.int64)
        found[order] = order[known.first[known.group]]
        return found

    def keep(self, slots: CounterSlots, waits: Flags) -> None:
        """Keep the slots that wait for more, their left sides doing so, or that have a match that waits."""
        state = slots.state
        kept = (waits[slots.owner] & (state["$number"] > 0)) | (state["$matched"] != k.NO_MATCH)
        columns = {v: Column("int", data) for v, data in state.items()}
        self.kept = slots.rows.with_columns(columns).take(np.flatnonzero(kept)).only(self.types)
