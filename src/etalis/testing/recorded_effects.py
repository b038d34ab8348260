"""Effects of a case: written down in order, those refused that the case says, and what was made before them undone."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from etalis.data.values import format_value
from etalis.reactive.effects.transaction import EffectRow, Transaction


class RecordedEffects:
    """A sink that makes nothing: `lines` are the effects it was given, behind a sign those that were compensated.

    `engine` is the one that has it now, `failures` are those of the engines before.
    """

    engine: Any = None

    def __init__(self, refused: Collection[str] = ()) -> None:
        self.lines: list[str] = []
        self.failures: list[str] = []
        self._refused = refused

    def perform(self, transaction: Transaction) -> Transaction:
        """Write effects down until one is refused."""
        rows = list(transaction.rows)
        for place, row in enumerate(rows):
            if row.name in self._refused:
                rows[place] = replace(row, state="failed")
                rows[:place] = self._compensate(rows[:place])
                return replace(transaction, rows=tuple(rows), state="failed", failed=row.key)
            self.lines.append(format_value(row.call))
            rows[place] = replace(row, state="made")
        return replace(transaction, rows=tuple(rows), state="done")

    def undo(self, transaction: Transaction) -> Transaction:
        """Write down that what was made is compensated."""
        return replace(transaction, rows=tuple(self._compensate(transaction.rows)), state="undone")

    def _compensate(self, rows: Collection[EffectRow]) -> list[EffectRow]:
        for row in reversed(list(rows)):
            if row.state == "made":
                self.lines.append(f"-{format_value(row.call)}")
        return [replace(row, state="compensated" if row.state == "made" else "dropped") for row in rows]
