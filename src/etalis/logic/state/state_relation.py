"""The rows of a state predicate: a set of ground facts in the order of their insertion, whose changes can be undone.

A row that is deleted keeps its place, and stands there again when its deletion is taken back. Law: each index holds
exactly the rows that live, in order, whatever was changed and taken back since it was built. So a goal that stopped
amid its solutions goes on rightly once the rows are again what they were.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

from etalis.logic.machine.fact_relation import FactRelation, Index, Numbers, Row
from etalis.logic.machine.resolution import bound_positions
from etalis.logic.terms.unify import Term, deref, flatten_key, is_ground

_DEAD = -1  # the generation at which a row died: before all that can be asked for
_COMPACT_AT = 16


class StateRelation(FactRelation):
    """Rows as a set; no two are the same at their first `key` places (0: at all places)."""

    __slots__ = ("compounds", "identity", "key", "key_of", "low", "others", "places")

    def __init__(self, arity: int, key: int) -> None:
        super().__init__(arity)
        self.key = key
        self.places = tuple(range(key or arity))
        self.compounds = 0  # rows that live and hold a compound term
        self.key_of: Callable[[Row], Any] = itemgetter(*self.places) if self.places else tuple
        self.identity: dict[Any, int] = {}
        self._indexes[self.places] = self.identity  # type: ignore[assignment]
        self.low = 0  # all rows before this one are dead
        self.others: list[tuple[tuple[int, ...], Index]] = []  # the other indexes

    def row_key(self, row: Row) -> Any:
        """Return what no other row may have."""
        return self.key_of(row) if is_flat(row) else _key(row, self.places)

    def has(self, number: int, row: Row) -> bool:
        """Tell whether a row whose key is that of `row` is the same."""
        return self.key == 0 or is_same(self.rows[number], row)

    def find_rows(self, args: Row) -> Sequence[int]:
        """Return the numbers of rows that may match, some of them dead if no argument is bound."""
        positions, key = bound_positions(args)
        if positions is None:
            if not self.compounds:
                return ()
            positions = tuple(i for i, arg in enumerate(args) if is_ground(arg))
            key = _key(tuple(map(deref, args)), positions)
        return self.find(positions, key) if positions else range(self.low, len(self.rows))

    def add(self, row: Row) -> None:
        """Append a row whose key is new."""
        self.rows.append(row)
        self._file(row, len(self.rows) - 1)

    def _file(self, row: Row, number: int) -> None:
        """Put a row into all indexes."""
        if is_flat(row):
            self.identity[self.key_of(row)] = number
        else:
            self.compounds += 1
            self.identity[_key(row, self.places)] = number
        for positions, index in self.others:
            _put(index, _key(row, positions), number)

    def take_last(self) -> Row:
        """Take back the last `add` and return its row."""
        number = len(self.rows) - 1
        row = self._leave(number)
        self.rows.pop()
        return row

    def drop(self, number: int) -> Row:
        """Let a row die, and return it."""
        row = self._leave(number)
        self.leave_behind(number)
        return row

    def leave_behind(self, number: int) -> None:
        """Let a row that is in no index die."""
        self.died[number] = _DEAD
        if number == self.low:
            self._raise_low()

    def _raise_low(self) -> None:
        """Pass over the rows at the beginning that are dead."""
        low, died = self.low, self.died
        while low in died:
            low += 1
        self.low = low

    def _leave(self, number: int) -> Row:
        """Take a row out of all indexes."""
        row = self.rows[number]
        if is_flat(row):
            del self.identity[self.key_of(row)]
        else:
            self.compounds -= 1
            del self.identity[_key(row, self.places)]
        for positions, index in self.others:
            _take(index, _key(row, positions), number)
        return row

    def restore(self, number: int) -> Row:
        """Take back that a row died, and return it."""
        del self.died[number]
        self.low = min(self.low, number)
        row = self.rows[number]
        self._file(row, number)
        return row

    def index(self, positions: tuple[int, ...]) -> Index:
        """Return the index on some positions, built if it is not there yet."""
        index = self._indexes.get(positions)
        if index is None:
            index = {}
            for number, row in enumerate(self.rows):
                if number not in self.died:
                    _put(index, _key(row, positions) if self.compounds else itemgetter(*positions)(row), number)
            self._indexes[positions] = index
            self.others.append((positions, index))
        return index

    def is_crowded(self) -> bool:
        """Tell whether most places are those of dead rows."""
        return len(self.died) > max(_COMPACT_AT, len(self.rows) // 2)

    def compacted(self) -> StateRelation:
        """Return the rows that live, in the same order; goals that look at the old ones still do."""
        return StateRelation.of(
            self.arity, self.key, [row for number, row in enumerate(self.rows) if number not in self.died]
        )

    @staticmethod
    def of(arity: int, key: int, rows: list[Row]) -> StateRelation:
        """Return a relation of rows whose keys differ."""
        made = StateRelation(arity, key)
        made.rows = rows
        made.compounds = sum(not is_flat(row) for row in rows)
        keys = map(made.row_key if made.compounds else made.key_of, rows)
        made.identity.update(zip(keys, range(len(rows)), strict=True))
        return made


def is_flat(row: Row) -> bool:
    """Tell whether a row has atoms and numbers alone."""
    for x in row:  # noqa: SIM110 - a generator for each row would take most of the time
        if x.__class__ is tuple and x:
            return False
    return True


def is_same(a: Row, b: Row) -> bool:
    """Tell whether two ground rows are equal, however deep their terms are."""
    return a == b if is_flat(a) and is_flat(b) else flatten_key(("", *a)) == flatten_key(("", *b))


def _key(row: Row, positions: tuple[int, ...]) -> Any:
    """Return the index key of a row that may hold compound terms: bare for one position, else a tuple."""
    if len(positions) == 1:
        return _part(row[positions[0]])
    return tuple([_part(row[i]) for i in positions])


def _part(term: Term) -> Any:
    return flatten_key(term) if term.__class__ is tuple and term else term


def _put(index: Index, key: Any, number: int) -> None:
    """Put a row in its place under its key."""
    held = index.get(key)
    if held is None:
        index[key] = number
    elif isinstance(held, Numbers):
        insort(held, number)
    else:
        index[key] = Numbers(sorted((held, number)))


def _take(index: Index, key: Any, number: int) -> None:
    """Take a row away from under its key; a list stays, since a goal that stopped amid it may look at it again."""
    held = index[key]
    if isinstance(held, Numbers):
        del held[bisect_left(held, number)]
    else:
        del index[key]
