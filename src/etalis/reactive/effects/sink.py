"""Where the effects of reactions go: one protocol for all modes."""

from __future__ import annotations

from typing import Protocol

from etalis.reactive.effects.transaction import Transaction


class EffectSink(Protocol):
    """Takes the effects of a path, in its order, before the facts of the path are committed."""

    def perform(self, transaction: Transaction) -> Transaction:
        """Make the effects of a transaction, or see to it that they are made; return what has become of them.

        One that has `failed` was not made as a whole: what was made of it is compensated, or it is stuck.
        """

    def undo(self, transaction: Transaction) -> Transaction:
        """Compensate what was made of a transaction, last first, and drop the rest; it is undone, or it is stuck."""
