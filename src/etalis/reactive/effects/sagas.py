"""Sagas: actions that wait, with the transactions that they have made so far; what undoes one undoes all of these.

A saga is called by the reaction, its match, and whether it is `do` or `else`. It waits for one event at a time, so of
what goes on and the end of the wait the first that comes finds it waiting, and the other does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from etalis.data.values import Value
from etalis.reactive.effects.transaction import Transaction


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


class Sagas:
    """The sagas of one engine that are open, by name."""

    def __init__(self) -> None:
        self._open: dict[Value, Saga] = {}

    def waiting(self, name: Value, mark: str) -> Saga | None:
        """Return the saga of a name, if it waits for an event."""
        found = self._open.get(name)
        return found if found is not None and found.mark == mark else None

    def put(self, saga: Saga) -> None:
        """Remember a saga, or forget one that is over."""
        if saga.is_open:
            self._open[saga.name] = saga
        else:
            self._open.pop(saga.name, None)

    def end(self, saga: Saga) -> None:
        """Forget a saga."""
        self._open.pop(saga.name, None)

    def of(self, transaction: str) -> Saga | None:
        """Return the saga of a transaction, if it is open."""
        several = (s for s in self._open.values() if any(each.id == transaction for each in s.transactions))
        return next(several, None)

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

    def cells(self) -> list[tuple[Any, ...]]:
        """Return all of them as plain data."""
        return [("saga", s.name, s.mark, tuple(t.to_cells() for t in s.transactions)) for s in self._open.values()]

    def load(self, cells: Sequence[Any]) -> None:
        """Put back one of `cells`."""
        _, name, mark, several = cells
        self._open[name] = Saga(name, mark, tuple(map(Transaction.from_cells, several)))
