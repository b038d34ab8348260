"""Where the effects of an engine with an outbox wait for its next commit."""

from __future__ import annotations

from dataclasses import replace

from etalis.errors import OptionError, Problem
from etalis.language.syntax import Tree
from etalis.reactive.effects.check import refuse_unknown
from etalis.reactive.effects.direct import DirectSink
from etalis.reactive.effects.registry import EffectRegistry
from etalis.reactive.effects.sink import EffectSink
from etalis.reactive.effects.transaction import Transaction
from etalis.reactive.outbox.commit_log import Commit
from etalis.reactive.outbox.outbox import Outbox


class OutboxSink:
    """Collects what the next commit writes; effects are made by who delivers them, later."""

    def __init__(self) -> None:
        self._made: list[tuple[Transaction, str | None]] = []
        self._undone: dict[str, None] = {}
        self._ended: dict[str, str] = {}

    def perform(self, transaction: Transaction) -> Transaction:
        """Have effects delivered after the commit; those of an undo after what is undone was compensated."""
        if transaction.rows:
            self._made.append((transaction, self._undoes(transaction)))
        return transaction

    def undo(self, transaction: Transaction) -> Transaction:
        """Have what was delivered compensated after the commit."""
        self._undone[transaction.id] = None
        return replace(transaction, state="undone")

    def end(self, transaction: Transaction) -> None:
        """Note what a transaction came to otherwise: it is stuck, or a person has settled it."""
        self._ended[transaction.id] = transaction.state

    def pending(self) -> Commit:
        """Return what the next commit writes."""
        return Commit(tuple(self._made), tuple(self._undone), dict(self._ended))

    def clear(self) -> None:
        """Forget what was written."""
        self._made.clear()
        self._undone.clear()
        self._ended.clear()

    def _undoes(self, transaction: Transaction) -> str | None:
        """Return which of the transactions that are to be undone an undo belongs to."""
        if transaction.cause.branch != "undo":
            return None
        ids = (replace(transaction.cause, branch=branch).id for branch in ("do", "else"))
        return next((each for each in ids if each in self._undone), None)


def sink_of(
    tree: Tree, registry: EffectRegistry, effects: EffectSink | None, outbox: Outbox | None
) -> EffectSink:  # fmt: skip
    """Return what takes the effects of an engine: what is given, its outbox, or the functions of the program."""
    if effects is not None:
        if outbox is not None:
            raise OptionError(Problem("E809", "effects go to an outbox, or somewhere else", hint="give one of the two"))
        return effects
    refuse_unknown(tree, registry)
    return DirectSink(registry) if outbox is None else OutboxSink()
