"""What equal states have in common, told from the changes since a search began.

As a set of facts a state is the set of those that differ from the beginning: a number with a bit for each. With the
order of its facts it is, of each predicate, which of the first rows live, and what was put behind them; what stands
where it stood before counts as never gone. Law: keys are equal exactly if the states are.
"""

from __future__ import annotations

from array import array
from hashlib import blake2b
from typing import Any

from etalis.logic.state.state_predicate import StatePredicate
from etalis.logic.state.state_relation import is_flat
from etalis.logic.state.state_store import StateStore
from etalis.logic.terms.unify import Term, flatten_key

_LONG = 64  # facts behind the first rows, from which on their digest stands for them


class StateKeys:
    """Keys of the states of one search, compared with the order of facts or without."""

    __slots__ = ("_known", "_numbers", "_start", "first", "is_ordered", "store")

    def __init__(self, store: StateStore, *, is_ordered: bool) -> None:
        self.store = store
        self.is_ordered = is_ordered
        self._start = len(store.trail)
        self._known: list[tuple[int, int]] = [(self._start, 0)]  # lengths of the trail, and the sets there
        self._numbers: dict[Any, int] = {}
        self.first = {p: len(p.facts.rows) for p in store.predicates.values()} if is_ordered else {}

    def take_back(self, mark: int) -> None:
        """Take back all changes since a mark."""
        known = self._known
        while known[-1][0] > mark:
            known.pop()
        self.store.take_back(mark)

    def key(self) -> Any:
        """Return the key of the state as it is."""
        return self._ordered() if self.is_ordered else self._set()

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
        touched: dict[StatePredicate, dict[int, int]] = {}
        for predicate, number in self.store.trail[self._start :]:
            gone = touched.setdefault(predicate, {})
            if ~number in range(self.first[predicate]):
                gone[self._number(predicate, number)] = ~number
        found = [(p.name, p.arity, *key) for p, gone in touched.items() if (key := self._order(p, gone)) is not None]
        return tuple(sorted(found))

    def _order(self, predicate: StatePredicate, gone: dict[int, int]) -> tuple[Any, ...] | None:
        """Return which of the first rows are gone, by their places, and what follows the others; None if nothing is.

        The facts behind that would stand in the same order as the first rows they are equal to, are those rows.
        """
        rows, died, first = predicate.facts.rows, predicate.facts.died, self.first[predicate]
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
