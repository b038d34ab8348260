"""Where the effects of an engine with an outbox wait for its next commit."""

from __future__ import annotations

from dataclasses import replace

from etalis.data.values import Value
from etalis.errors import OptionError, Problem
from etalis.language.syntax import Tree
from etalis.reactive.effects.check import refuse_unknown
from etalis.reactive.effects.direct import DirectSink
from etalis.reactive.effects.registry import EffectRegistry
from etalis.reactive.effects.sagas import action_of
from etalis.reactive.effects.sink import EffectSink
from etalis.reactive.effects.transaction import Branch, Transaction
from etalis.reactive.outbox.commit_log import Commit
from etalis.reactive.outbox.outbox import Outbox


class OutboxSink:
    """Collects what the next commit writes; effects are made by who delivers them, later."""

    def __init__(self) -> None:
        self._made: list[tuple[Transaction, str | None]] = []
        self._undone: dict[str, str | None] = {}  # with the one that is compensated before
        self._latest: dict[Value, str] = {}  # of what one action has done, the last that is undone
        self._ended: dict[str, str] = {}

    def perform(self, transaction: Transaction) -> Transaction:
        """Have effects delivered after the commit; those of an undo after what is undone was compensated."""
        if transaction.rows:
            self._made.append((transaction, self._undoes(transaction)))
        return transaction

    def undo(self, transaction: Transaction) -> Transaction:
        """Have what was delivered compensated after the commit."""
        action = action_of(transaction.cause)
        self._undone.setdefault(transaction.id, self._latest.get(action))
        self._latest[action] = transaction.id
        return replace(transaction, state="undone")

    def end(self, transaction: Transaction) -> None:
        """Note what a transaction came to otherwise: it is stuck, or a person has settled it."""
        self._ended[transaction.id] = transaction.state

    def pending(self) -> Commit:
        """Return what the next commit writes."""
        behind = {each: before for each, before in self._undone.items() if before is not None}
        return Commit(tuple(self._made), tuple(self._undone), dict(self._ended), behind)

    def clear(self) -> None:
        """Forget what was written."""
        self._made.clear()
        self._undone.clear()
        self._latest.clear()
        self._ended.clear()

    def _undoes(self, transaction: Transaction) -> str | None:
        """Return the transaction that is compensated last before an undo, of those that the undo belongs to."""
        cause = transaction.cause
        if cause.branch != "undo":
            return None
        branches: tuple[Branch, ...] = ("do", "else")
        actions = (action_of(replace(cause, branch=branch)) for branch in branches)
        return next((self._latest[action] for action in actions if action in self._latest), None)


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
