"""Sagas: actions that wait, with the transactions that they have made so far; what undoes one undoes all of these.

A saga is called by the reaction, its match, and whether it is `do` or `else`. It waits for one event at a time, so of
what goes on and the end of the wait the first that comes finds it waiting, and the other does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from etalis.data.values import Struct, Value
from etalis.reactive.effects.transaction import Branch, Cause, Transaction

SAGA = "saga"  # what the cells of one begin with


@dataclass(frozen=True, slots=True)
class Saga:
    """What one action has done, last the latest transaction, and which event it waits for; none when it is over."""

    name: Value
    mark: str = ""
    transactions: tuple[Transaction, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether it changed facts."""
        return any(each.changed for each in self.transactions)

    @property
    def is_open(self) -> bool:
        """Whether it waits, or has effects that are not delivered yet."""
        return bool(self.mark) or any(each.state == "open" for each in self.transactions)


def saga_name(
    label: str, number: int, branch: Branch, interval: tuple[int, int], match: int, bindings: tuple[Value, ...]
) -> Struct:  # fmt: skip
    """Return what the saga is called that a match begins."""
    return Struct(SAGA, (label, number, branch, *interval, match, bindings))


def action_of(cause: Cause) -> Value:
    """Return what all transactions of one action have in common: the name of the saga that they are, or would be."""
    first = cause.bindings[0] if cause.bindings else None
    if isinstance(first, Struct) and first.name == SAGA and first.args[:1] == (cause.label,):
        return first
    return saga_name(cause.label, cause.number, cause.branch, cause.interval, cause.match, cause.bindings)


class Sagas:
    """The sagas of one engine that are open, by name."""

    def __init__(self) -> None:
        self._open: dict[Value, Saga] = {}
        self._of: dict[str, Value] = {}  # the names, by the ids of transactions
        self._encoded: dict[Value, tuple[Saga, bytes]] = {}

    def waiting(self, name: Value, mark: str) -> Saga | None:
        """Return the saga of a name, if it waits for an event."""
        found = self._open.get(name)
        return found if found is not None and found.mark == mark else None

    def put(self, saga: Saga) -> None:
        """Remember a saga, or forget one that is over."""
        if saga.is_open:
            self._open[saga.name] = saga
            self._of.update((each.id, saga.name) for each in saga.transactions)
        else:
            self.end(saga)

    def end(self, saga: Saga) -> None:
        """Forget a saga."""
        self._open.pop(saga.name, None)
        for each in saga.transactions:
            self._of.pop(each.id, None)

    def of(self, transaction: str) -> Saga | None:
        """Return the saga of a transaction, if it is open."""
        name = self._of.get(transaction)
        return None if name is None else self._open.get(name)

    def delivered(self, transaction: str) -> None:
        """Note that all effects of a transaction were delivered."""
        found = self.of(transaction)
        if found is not None:
            several = (replace(t, state="done") if t.id == transaction else t for t in found.transactions)
            self.put(replace(found, transactions=tuple(several)))

    def latest(self) -> Iterator[Transaction]:
        """Yield the latest transaction of each saga that waits."""
        for saga in self._open.values():
            if saga.mark:
                yield replace(saga.transactions[-1], state="waiting")

    def save(self, encode: Callable[[Any], bytes]) -> list[bytes]:
        """Return all of them as plain data; each is encoded once."""
        encoded: dict[Value, tuple[Saga, bytes]] = {}
        for name, saga in self._open.items():
            known = self._encoded.get(name)
            if known is None or known[0] is not saga:
                several = tuple(each.to_cells() for each in saga.transactions)
                known = saga, encode((SAGA, saga.name, saga.mark, several))
            encoded[name] = known
        self._encoded = encoded
        return [content for _, content in encoded.values()]

    def load(self, cells: Sequence[Any]) -> None:
        """Put back one of those that were saved."""
        _, name, mark, several = cells
        self.put(Saga(name, mark, tuple(map(Transaction.from_cells, several))))
