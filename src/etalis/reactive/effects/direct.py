"""Effects made while the reaction waits, by the functions of the host, without an outbox.

Law: of a transaction either all effects are made, or those that were, or may have been, are compensated, last first,
each once. After a crash the inputs since the snapshot make their effects again, with the same keys.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from etalis.reactive.effects.attempts import Tried, try_once
from etalis.reactive.effects.registry import EffectRegistry
from etalis.reactive.effects.transaction import EffectRow, Transaction, TransactionState, give_up


class DirectSink:
    """Makes effects at once."""

    def __init__(self, registry: EffectRegistry) -> None:
        self._registry = registry

    def perform(self, transaction: Transaction) -> Transaction:
        """Make all effects, or compensate those that were made before one failed."""
        rows = list(transaction.rows)
        for place, row in enumerate(rows):
            rows[place] = self._make(row)
            if rows[place].state == "failed":
                found = replace(transaction, rows=tuple(rows), failed=row.key)
                return self._compensate(give_up(found), "failed")
        return replace(transaction, rows=tuple(rows), state="done")

    def undo(self, transaction: Transaction) -> Transaction:
        """Compensate what was made."""
        return self._compensate(give_up(transaction), "undone")

    def _make(self, row: EffectRow) -> EffectRow:
        effect = self._registry.find(row.name, len(row.args))
        assert effect is not None, f"the effects of a program are known when its engine is made, not {row.name}"
        tried, uncertain = _try(effect.function, row, effect.retries)
        if tried.outcome == "made":
            return replace(row, state="made")
        return replace(row, state="failed", uncertain=uncertain, error=tried.error)

    def _compensate(self, transaction: Transaction, end: TransactionState) -> Transaction:
        rows = list(transaction.rows)
        for place in range(len(rows) - 1, -1, -1):
            if rows[place].may_be_made:
                rows[place] = self._take_back(rows[place])
                end = "stuck" if rows[place].state == "stuck" else end
        return replace(transaction, rows=tuple(rows), state=end)

    def _take_back(self, row: EffectRow) -> EffectRow:
        effect = self._registry.find(row.name, len(row.args))
        if effect is None or effect.compensate is None:
            return replace(row, state="stands")
        tried, _ = _try(effect.compensate, row, effect.retries)
        if tried.outcome == "made":
            return replace(row, state="compensated", uncertain=False)
        return replace(row, state="stuck", error=tried.error)


def _try(function: Callable[..., Any], row: EffectRow, retries: int) -> tuple[Tried, bool]:
    """Return how the last of so many tries ended, and whether one of them may have done it unseen."""
    uncertain = False
    for _ in range(retries + 1):
        tried = try_once(function, row.args, row.key)
        uncertain = uncertain or tried.outcome == "unknown"
        if tried.outcome in ("made", "refused"):
            break
    return tried, uncertain
