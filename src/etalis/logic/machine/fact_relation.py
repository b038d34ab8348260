"""Facts as an indexed relation: rows of atoms and numbers, found by whichever arguments are bound.

An index belongs to a set of bound positions and is built the first time such a set is asked for, then kept up to date.
A row that was erased stays for the goals that were already looking at it (the logical view): it died at a generation.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, TypeVar

from etalis.data.values import Real
from etalis.logic.terms.unify import Term

T = TypeVar("T")
Row = tuple[Term, ...]
FOREVER = 1 << 62
ATOMIC = frozenset((str, int, float, Real))  # classes of the terms in rows
_CLEAN_AT = 16


class Numbers(list[int]):
    """The rows under one key, in order: those that live, and some that died since the list was last cleaned.

    `past` holds the lists that were cleaned, each with the generation before which it tells what there was.
    """

    __slots__ = ("dead", "past")

    def __init__(self, numbers: Iterable[int]) -> None:
        super().__init__(numbers)
        self.dead = 0
        self.past: deque[tuple[int, Numbers]] | None = None

    def cleaned(self, died: Mapping[int, int], generation: int, oldest: int | None) -> Numbers:
        """Return the list without the dead; the old one is kept for views from the oldest generation on, if any."""
        fresh = Numbers(number for number in self if number not in died)
        if oldest is not None:
            fresh.past, self.past = self.past or deque(), None
            fresh.past.append((generation, self))
            while fresh.past[0][0] <= oldest:
                fresh.past.popleft()
        return fresh

    def at(self, generation: int) -> Numbers:
        """Return the list that has all rows there were at a generation, perhaps among others."""
        if self.past is None:
            return self
        place = bisect_right(self.past, generation, key=itemgetter(0))
        return self.past[place][1] if place < len(self.past) else self


Index = dict[Any, int | Numbers]  # a key's only row stands bare: a list for each would double an index's memory


@dataclass(frozen=True, slots=True, eq=False)
class RowHandle:
    """Points at one row, also after its relation was compacted or turned into clauses."""

    relation: FactRelation
    number: int


class FactRelation:
    """Rows in their written order, as a bag."""

    __slots__ = ("_births", "_counts", "_indexes", "_is_shared", "_made", "arity", "died", "moved", "rows")

    def __init__(self, arity: int) -> None:
        self.arity = arity
        self.rows: list[Row] = []
        self.died: dict[int, int] = {}
        self.moved: Mapping[int, Any] | None = None
        self._indexes: dict[tuple[int, ...], Index] = {}
        self._made: dict[Hashable, Any] = {}  # of the rows as they are
        self._is_shared = False
        self._births: list[int] = []  # generations at which rows came, noted only where old versions are kept,
        self._counts: list[int] = []  # and how many rows there were before

    def __len__(self) -> int:
        return len(self.rows) - len(self.died)

    def add(self, row: Row) -> None:
        """Append a row."""
        if self._made or self._is_shared:
            self._change()
        number = len(self.rows)
        self.rows.append(row)
        width = self.arity
        for positions, index in self._indexes.items():
            key = row if len(positions) == width > 1 else _key(row, positions)
            held = index.get(key)
            if held is None:
                index[key] = number
            elif isinstance(held, Numbers):
                held.append(number)
            else:
                index[key] = Numbers((held, number))

    def shared(self) -> FactRelation:
        """Return a relation of the same rows, which has their indexes with this one until it changes; this must not."""
        other = FactRelation(self.arity)
        other.rows, other._indexes, other._made, other._is_shared = self.rows, self._indexes, self._made, True
        return other

    def _change(self) -> None:
        """Forget what was made of the rows, which are to change; what others have stays theirs."""
        if self._is_shared:
            self.rows, self._indexes, self._made, self._is_shared = list(self.rows), {}, {}, False
        elif self._made:
            self._made = {}

    def remembered(self, what: Hashable, make: Callable[[], T]) -> T:
        """Return what was made of the rows, made anew once they have changed."""
        made = self._made
        if what not in made:
            made[what] = make()
        found: T = made[what]
        return found

    def find(self, positions: tuple[int, ...], key: Any) -> Sequence[int]:
        """Return the numbers of the rows that have `key` at `positions`: a bare term for one position, else a tuple."""
        if not positions:
            return range(len(self.rows))
        index = self._indexes.get(positions)
        if index is None:
            index = self.index(positions)
        found = index.get(key, ())
        return (found,) if found.__class__ is int else found  # type: ignore[return-value]

    def index(self, positions: tuple[int, ...]) -> Index:
        """Return the index on some positions, built if it is not there yet."""
        if positions in self._indexes:
            return self._indexes[positions]
        index: Index = {}
        for number, key in enumerate(map(itemgetter(*positions), self.rows)):
            if key in index:
                _file(index, key, number)
            else:
                index[key] = number
        self._indexes[positions] = index
        return index

    def erase(self, number: int, generation: int, oldest: int | None = None) -> bool:
        """Let a row die; False if it was dead already. `oldest` is the first generation that can be asked for later."""
        if number in self.died:
            return False
        if self._made or self._is_shared:
            self._change()
        self.died[number] = generation
        row = self.rows[number]
        for positions, index in self._indexes.items():
            key = row[positions[0]] if len(positions) == 1 else _key(row, positions)
            held = index[key]
            if isinstance(held, Numbers):
                held.dead += 1
                if held.dead > max(_CLEAN_AT, len(held) // 2):
                    index[key] = held.cleaned(self.died, generation, oldest)
                elif oldest is None and held.dead == len(held):
                    del index[key]
            elif oldest is None:
                del index[key]  # who has found the row has its number
        return True

    def narrow(self, positions: tuple[int, ...]) -> tuple[int, ...]:
        """Return the one of some positions that an index is there for which gives a row or two, else all of them."""
        if positions not in self._indexes:
            for position in positions:
                index = self._indexes.get((position,))
                if index is not None and 2 * len(index) >= len(self):
                    return (position,)
        return positions

    def find_at(self, positions: tuple[int, ...], key: Any, generation: int) -> tuple[Sequence[int], int]:
        """Return what `find` returns of an old generation, with how many of them had come by then."""
        numbers = self.find(positions, key)
        if isinstance(numbers, Numbers):
            numbers = numbers.at(generation)
        return numbers, bisect_left(numbers, self._born(generation))

    def live(self, number: int, generation: int) -> bool:
        """Tell whether a row is seen by a goal that began at a generation."""
        return self.died.get(number, FOREVER) > generation

    def note_birth(self, generation: int, oldest: int) -> None:
        """Note that rows come at a generation; what was there at the oldest one is not told apart any more."""
        births = self._births
        if births and births[-1] == generation:
            return
        births.append(generation)
        self._counts.append(len(self.rows))
        half = len(births) // 2
        if births[half] <= oldest:
            del births[: half + 1], self._counts[: half + 1]

    def _born(self, generation: int) -> int:
        """Return how many rows had come by a generation: the first ones."""
        later = bisect_right(self._births, generation)
        return self._counts[later] if later < len(self._counts) else len(self.rows)

    def compacted(self) -> FactRelation:
        """Return the relation without its dead rows."""
        fresh = FactRelation(self.arity)
        live = [number for number in range(len(self.rows)) if number not in self.died]
        fresh.rows = [self.rows[number] for number in live]
        self.moved = _Moved(fresh, live)
        return fresh


class _Moved(Mapping[int, RowHandle]):
    """Where the rows of a relation are that was compacted: those that lived, by their numbers then."""

    def __init__(self, fresh: FactRelation, live: Sequence[int]) -> None:
        self.fresh = fresh
        self.live = live

    def __getitem__(self, number: int) -> RowHandle:
        place = bisect_left(self.live, number)
        if place == len(self.live) or self.live[place] != number:
            raise KeyError(number)
        return RowHandle(self.fresh, place)

    def __iter__(self) -> Iterator[int]:
        return iter(self.live)

    def __len__(self) -> int:
        return len(self.live)


def _file(index: Index, key: Any, number: int) -> None:
    """Put a new last row under its key."""
    held = index.get(key)
    if held is None:
        index[key] = number
    elif isinstance(held, Numbers):
        held.append(number)
    else:
        index[key] = Numbers((held, number))


def _key(row: Row, positions: tuple[int, ...]) -> Any:
    if len(positions) == 1:
        return row[positions[0]]
    return row if len(positions) == len(row) else tuple([row[i] for i in positions])
