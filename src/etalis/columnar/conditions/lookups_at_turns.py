"""Look-ups of facts that events change: a join with the facts that are known at the turn of each match."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from etalis.columnar.conditions.steps import MOST, Found, SpreadError
from etalis.columnar.data.columns import Integers, constant
from etalis.columnar.data.instances import ColumnBlock, Instances
from etalis.columnar.learning import Kind

if TYPE_CHECKING:
    from etalis.columnar.conditions.changing_facts import ChangingFacts, FactHistory


@dataclass(frozen=True, slots=True)
class LookupAtTurns:
    """Facts that have the values of variables in some places, and constants in others; `makes`: variables by place."""

    facts: ChangingFacts
    key: Kind
    given: Mapping[int, str]
    constants: tuple[tuple[int, Any], ...]
    makes: Mapping[int, str]

    def find(self, rows: Instances) -> Found:
        """Return the facts that rows meet, in the order in which they came to be known."""
        history = self.facts.history(self.key, (*self.given, *(place for place, _ in self.constants)))
        turn = rows.turn
        if (turn[1:] < turn[:-1]).any():
            return self._sorted(rows)
        columns = [rows.column(name) for name in self.given.values()]
        asked = [*columns, *(constant(value, len(rows)) for _, value in self.constants)]
        turn = np.ascontiguousarray(turn)
        counts, group = history.count(turn, asked)
        if not self.makes:
            return Found(None if counts.all() else np.flatnonzero(counts))
        total = int(counts.sum())
        if total > max(MOST, len(rows)) and len(rows) > 1:
            raise SpreadError
        kept = None if (counts == 1).all() else np.repeat(np.arange(len(rows)), counts)
        return Found(kept, self._bound(history, history.find(turn, group, total)))

    def _sorted(self, rows: Instances) -> Found:
        """Return the same for rows that do not come by their turns."""
        order = np.argsort(rows.turn, kind="stable")
        found = self.find(rows.take(order))
        kept = order if found.kept is None else order[found.kept]
        back = np.argsort(kept, kind="stable")
        return Found(kept[back], None if found.bound is None else found.bound.take(back))

    def _bound(self, history: FactHistory, facts: Integers) -> ColumnBlock:
        return ColumnBlock({name: history.column(place) for place, name in self.makes.items()}, facts)
