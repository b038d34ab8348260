"""The transactions that an engine remembers: those that are open or stuck, and all that may have to be undone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias

from etalis.errors import InputError, Problem
from etalis.reactive.effects.sagas import SAGA, Sagas
from etalis.reactive.effects.transaction import Cause, Transaction

Settled: TypeAlias = Literal["done", "undone"]
UNSETTLED = ("open", "stuck")


class Ledger:
    """Transactions by id, in the order in which they were made; `heard` is how much of the outbox's news is known.

    Those that are over are remembered where `remembers` says so, since they may have to be undone.
    """

    def __init__(self) -> None:
        self.remembers = False
        self.heard = 0
        self.sagas = Sagas()
        self._kept: dict[str, Transaction] = {}
        self._encoded: dict[str, tuple[Transaction, bytes]] = {}

    def put(self, transaction: Transaction) -> None:
        """Remember a transaction and what has become of it, or forget one that is over."""
        if self.remembers or transaction.state in UNSETTLED:
            self._kept[transaction.id] = transaction
        else:
            self._kept.pop(transaction.id, None)

    def find(self, id: str) -> Transaction | None:  # noqa: A002
        """Return the transaction of an id, if it is remembered."""
        return self._kept.get(id)

    def forget_before(self, end: int) -> None:
        """Forget what is over of matches that ended before a moment."""
        for each in list(self._kept.values()):
            if each.cause.interval[1] < end and each.state not in UNSETTLED:
                del self._kept[each.id]

    def all(self) -> tuple[Transaction, ...]:
        return tuple(self._kept.values())

    def unsettled(self) -> tuple[Transaction, ...]:
        """Return the transactions that are open or stuck, and those behind which an action waits."""
        kept = {t.id: t for t in self._kept.values() if t.state in UNSETTLED}
        return (*kept.values(), *(t for t in self.sagas.latest() if t.id not in kept))

    def next_attempt(self, cause: Cause) -> Cause:
        """Return the cause as that of the attempt after those that are remembered."""
        while cause.id in self._kept:
            cause = replace(cause, attempt=cause.attempt + 1)
        return cause

    def settle(self, id: str, how: Settled) -> Transaction:  # noqa: A002
        """Take the word of a person for what became of a stuck transaction."""
        found = self._kept.get(id)
        if how not in ("done", "undone"):
            message = f"{how!r} is no end of a transaction"
            raise InputError(Problem("E808", message, hint="engine.settle(id, 'done' or 'undone')"))
        if found is None or found.state != "stuck":
            hint = "engine.transactions() shows those that are stuck, with their ids"
            raise InputError(Problem("E808", f"there is no stuck transaction {id}", hint=hint))
        settled = replace(found, state=how)
        self.put(settled)
        return settled

    def save(self, encode: Callable[[Any], bytes]) -> list[tuple[Any, ...]]:
        """Return all of it as plain data; nothing, if there is nothing to tell. A transaction is encoded once."""
        sagas = self.sagas.save(encode)
        if not self.heard and not self._kept and not sagas:
            return []
        encoded: dict[str, tuple[Transaction, bytes]] = {}
        for key, transaction in self._kept.items():
            known = self._encoded.get(key)
            if known is None or known[0] is not transaction:
                known = transaction, encode(transaction.to_cells())
            encoded[key] = known
        self._encoded = encoded
        whole = [content for _, content in encoded.values()]
        return [(self.heard,), *((content,) for content in (*whole, *sagas))]

    def load(self, rows: Sequence[tuple[Any, ...]], decode: Callable[[bytes], Any]) -> None:
        """Put back what was saved."""
        for (content,) in rows:
            if isinstance(content, int):
                self.heard = content
                continue
            cells = decode(content)
            if cells[0] == SAGA:
                self.sagas.load(cells)
            else:
                transaction = Transaction.from_cells(cells)
                self._kept[transaction.id] = transaction
