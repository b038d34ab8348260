"""What equal states have in common, told from the changes since a search began.

As a set of facts a state is the set of those that differ from the beginning: a number with a bit for each. With the
order of its facts it is, of each predicate, which of the first rows live, and what was put behind them; what stands
where it stood before counts as never gone. Law: keys are equal exactly if the states are.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from hashlib import blake2b
from typing import Any

from etalis.logic.state.state_predicate import StatePredicate
from etalis.logic.state.state_relation import is_flat
from etalis.logic.state.state_store import StateStore
from etalis.logic.terms.unify import Term, flatten_key

_LONG = 64  # facts behind the first rows, from which on their digest stands for them


class StateKeys:
    """Keys of the states of one search, compared with the order of facts or without."""

    __slots__ = ("_is_ordered", "_known", "_matters", "_numbers", "_start", "store")

    def __init__(self, store: StateStore, order_matters: Callable[[], bool]) -> None:
        self.store = store
        self._matters = order_matters  # asked for the first key: most searches need none
        self._is_ordered: bool | None = None
        self._start = len(store.trail)
        self._known: list[tuple[int, int]] = [(self._start, 0)]  # lengths of the trail, and the sets there
        self._numbers: dict[Any, int] = {}

    def take_back(self, mark: int) -> None:
        """Take back all changes since a mark."""
        known = self._known
        while known[-1][0] > mark:
            known.pop()
        self.store.take_back(mark)

    def key(self) -> Any:
        """Return the key of the state as it is."""
        if self._is_ordered is None:
            self._is_ordered = self._matters()
        return self._ordered() if self._is_ordered else self._set()

    def _set(self) -> int:
        trail = self.store.trail
        length, found = self._known[-1]
        if length < len(trail):
            for predicate, number in trail[length:]:
                found ^= 1 << self._number(predicate, number)
            self._known.append((len(trail), found))
        return found

    def _number(self, predicate: StatePredicate, number: int) -> int:
        """Return the number of a fact in this search."""
        row = predicate.facts.rows[number if number >= 0 else ~number]
        return self._numbers.setdefault((predicate, _flat(row)), len(self._numbers))

    def _ordered(self) -> tuple[Any, ...]:
        touched: dict[StatePredicate, list[int]] = {}
        for predicate, number in self.store.trail[self._start :]:
            touched.setdefault(predicate, []).append(number)
        found = [(p.name, p.arity, *key) for p, numbers in touched.items() if (key := self._order(p, numbers))]
        return tuple(sorted(found))

    def _order(self, predicate: StatePredicate, changes: list[int]) -> tuple[Any, ...] | None:
        """Return which of the first rows are gone, by their places, and what follows the others; None if nothing is.

        The facts behind that would stand in the same order as the first rows they are equal to, are those rows.
        """
        rows, died = predicate.facts.rows, predicate.facts.died
        first = next((number for number in changes if number >= 0), len(rows))
        gone = {self._number(predicate, number): ~number for number in changes if 0 <= ~number < first}
        behind = [self._number(predicate, n) for n in range(first, len(rows)) if n not in died]
        last, stays = first - 1, 0
        while last in died:
            last -= 1
        while stays < len(behind) and gone.get(behind[stays], -1) > last:
            last = gone.pop(behind[stays])
            stays += 1
        if not gone and stays == len(behind):
            return None
        return tuple(sorted(gone.values())), _short(behind[stays:])


def _short(numbers: list[int]) -> Any:
    if len(numbers) < _LONG:
        return tuple(numbers)
    return blake2b(array("Q", numbers).tobytes(), digest_size=16).digest()


def _flat(row: tuple[Term, ...]) -> Any:
    return row if is_flat(row) else flatten_key(("", *row))
