"""The chains of repetitions under the policy unrestricted, over columns and in an engine.

Columns keep elements, and find chains anew; an engine keeps for each left side, or first element, which chains of it
end where. Law: what is put back goes on to the same chains, less those that are too long already.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from operator import itemgetter
from typing import Any, TypeAlias

import numpy as np

from etalis.columnar.data.casts import to_column, to_integers
from etalis.columnar.data.columns import Column
from etalis.columnar.data.instances import Instances
from etalis.columnar.operators.join import JoinOperator
from etalis.columnar.repetition.chains import ORIGIN, UNTIL, AnchoredRepetition, ChainRepetition, Chains
from etalis.columnar.repetition.limits import NO_COUNT
from etalis.columnar.state.base import KeptField, Link
from etalis.columnar.state.links import by_end
from etalis.columnar.state.repetition import FollowerStore, shelve
from etalis.runtime.operators.base import Values, rank
from etalis.runtime.operators.repetition.chains import Lengths
from etalis.runtime.operators.repetition.counted import Left, Run
from etalis.runtime.operators.repetition.repeater import Repeater
from etalis.runtime.operators.repetition.runner import Runner

Chain: TypeAlias = tuple[int, int, Lengths]  # start and end of the last element; how many there are, since when
Limits: TypeAlias = tuple[int, int]  # least and most, as columns have them
Owners: TypeAlias = dict[int, Left | Run]


@dataclass(frozen=True, slots=True)
class WaitingMatches:
    """The matches of a repetition that wait for what follows it, here and in the engine."""

    join: JoinOperator
    following: FollowerStore
    types: Mapping[str, str]

    def load(self, origins: Iterable[Left | Run]) -> int:
        """Take what waits, with the numbers of what the engine counted after; return how many numbers there are."""
        numbers = {id(origin.token): number for number, origin in enumerate(origins)}
        found = list(self.following.matches())
        given = {v: [held[v] for _, held, _, _ in found] for v in self.types if v != "$token"}
        given["$token"] = [numbers.setdefault(id(token.origin), len(numbers)) for token, *_ in found]
        columns = {v: to_column(given[v], kind) for v, kind in self.types.items()}
        start, end = to_integers([start for _, _, start, _ in found]), to_integers([end for *_, end in found])
        self.join.waiting[0] = by_end(start, end, columns)
        return len(numbers)

    def save(self, owners: Owners) -> None:
        """Put back what waits; an origin that has expired is one all the same."""
        rows = self.join.waiting[0]
        rows = rows.take(np.lexsort((rows.start, rows.end)))
        tokens = [owners.setdefault(n, Left((), 0, 0, ())).token for n in rows.column("$token").data.tolist()]
        self.following.write(rows, rows.end.tolist(), tokens)

    def content(self) -> list[Any]:
        """Return what waits in the engine."""
        return [(start, end, {**held, "$token": None}) for _, held, start, end in self.following.matches()]


@dataclass(frozen=True, slots=True)
class ChainLink(Link):
    """The elements of a repetition that stands alone; `shares` are the variables of groups, in the engine's order."""

    operator: ChainRepetition
    theirs: Runner
    waiting: WaitingMatches | None
    shares: tuple[str, ...]

    def fields(self) -> Iterator[KeptField]:
        """Yield elements, their number, and the matches that wait."""
        yield from _fields(self.operator.chains, self.waiting)

    def content(self) -> list[Any]:
        """Return elements and matches of the engine."""
        elements = [(key, *each[:2]) for key, several in self.theirs.elements.items() for each in several]
        return elements if self.waiting is None else elements + self.waiting.content()

    def load(self) -> None:
        """Take the elements of the engine, and the matches that wait."""
        found = [
            (start, end, key, run)
            for key, several in self.theirs.elements.items()
            for (start, end, _), run in zip(several, self._begun(key, len(several)), strict=True)
        ]
        found.sort(key=itemgetter(1))
        self.operator.chains.number = len(found)
        self.operator.chains.elements = _elements(self.operator.chains, self.shares, [each[:3] for each in found])
        if self.waiting is not None:
            self.operator.chains.number = self.waiting.load(run for *_, run in found)

    def _begun(self, key: Values, count: int) -> list[Any]:
        """Return what has begun with each element of a group, where the engine tells that apart."""
        begun = self.theirs.firsts.get(key)
        return [None] * count if begun is None else [run for run, _ in begun]

    def save(self) -> None:
        """Let the engine have the elements, and the chains from each of them."""
        theirs, arranged = self.theirs, _Arranged(self.operator.chains, self.shares)
        limits = list(zip(*(each.tolist() for each in self.operator.bounds.read(arranged.rows)), strict=True))
        for table in (theirs.elements, theirs.firsts, theirs.fifo):
            table.clear()
        owners: Owners = {}
        for key, low, high in arranged.groups:
            theirs.elements[key] = [(*arranged.interval(x), key) for x in range(low, high)]
            theirs.firsts[key] = list(arranged.chains_from(low, high, limits[low]))
            for x, (run, _) in enumerate(theirs.firsts[key], low):
                owners[arranged.origin[x]] = run
        if theirs.window is not None:
            ends = [(end, key) for key, several in theirs.elements.items() for _, end, _ in several]
            theirs.fifo.extend(sorted(ends, key=itemgetter(0)))
        if self.waiting is not None:
            self.waiting.save(owners)


@dataclass(frozen=True, slots=True)
class AnchoredChainLink(Link):
    """Left sides of a repetition with the elements after them.

    The `exports` of a left side, the variables that it `shares` with elements and those of them by which it is found
    (`keys`) are in the engine's order; `types` are those of the columns of left sides.
    """

    operator: AnchoredRepetition
    theirs: Repeater
    waiting: WaitingMatches | None
    exports: tuple[str, ...]
    shares: tuple[str, ...]
    keys: tuple[str, ...]
    types: Mapping[str, str]

    def fields(self) -> Iterator[KeptField]:
        """Yield left sides, their number, the elements after them, and the matches that wait."""
        yield KeptField(self.operator.origins, "number")
        yield KeptField.of_rows(self.operator.join.waiting, 0, self.types)
        yield from _fields(self.operator.chains, self.waiting)

    def content(self) -> list[Any]:
        """Return left sides and matches of the engine."""
        lefts = [(left.values, left.start, left.end, left.notes.chains) for left in self._lefts()]
        return lefts if self.waiting is None else lefts + self.waiting.content()

    def _lefts(self) -> list[Left]:
        return sorted((x for group in self.theirs.lefts.groups.values() for x in group), key=rank)

    def load(self) -> None:
        """Take the left sides of the engine, the elements after them, and the matches that wait."""
        lefts = self._lefts()
        rows = list(zip(*(left.values for left in lefts), strict=True)) or [()] * len(self.exports)
        columns = {
            v: to_column(some, self.types[v]) for v, some in zip(self.exports, rows, strict=True) if v in self.types
        }
        start, end = to_integers([left.start for left in lefts]), to_integers([left.end for left in lefts])
        columns |= {ORIGIN: Column("int", np.arange(len(lefts))), UNTIL: Column("int", end)}
        self.operator.join.waiting[0] = Instances.of(np.zeros(len(lefts), np.int64), start, end, columns)
        self.operator.origins.number = len(lefts)
        if self.waiting is not None:
            self.operator.origins.number = self.waiting.load(lefts)
        if self.operator.chains is not None:
            # the earliest left side has seen all elements of its group that are after any
            found: dict[Values, Iterable[Chain]] = dict(self.theirs.lines)
            for left in lefts:
                for key, chains in left.notes.chains.items():
                    found.setdefault(key, chains)
            elements = [(start, end, key) for key, chains in found.items() for start, end, _ in chains]
            elements.sort(key=itemgetter(1))
            self.operator.chains.elements = _elements(self.operator.chains, self.shares, elements)

    def save(self) -> None:
        """Let the left sides wait in the engine, with the chains after each."""
        rows = self.operator.join.waiting[0]
        rows = rows.take(np.lexsort((rows.start, rows.end)))
        known = {v: rows.column(v).values() for v in self.exports if v in self.types}
        values = list(zip(*(known.get(v, [None] * len(rows)) for v in self.exports), strict=True)) or [()] * len(rows)
        keys = list(zip(*(known[v] for v in self.keys), strict=True)) or [()] * len(rows)
        given = zip(values, rows.start.tolist(), rows.end.tolist(), strict=True)
        lefts = [Left(*each, ()) for each in given]
        shelf = self.theirs.lefts
        self.theirs.lines.clear()
        waiting = list(zip(keys, lefts, strict=True))
        shelve(shelf.groups, None if shelf.keep is None else shelf.fifo, waiting, "end")
        if self.operator.chains is not None:
            limits = zip(*(each.tolist() for each in self.operator.bounds.read(rows)), strict=True)
            self._save_chains(_Arranged(self.operator.chains, self.shares), zip(lefts, limits, strict=True))
        if self.waiting is not None:
            self.waiting.save(dict(zip(rows.column(ORIGIN).data.tolist(), lefts, strict=True)))

    def _save_chains(self, arranged: _Arranged, lefts: Iterable[tuple[Left, Limits]]) -> None:
        """Give left sides the chains of the groups that agree with them."""
        mine = [(place, self.exports.index(v)) for place, v in enumerate(self.shares) if v in self.exports]
        groups: dict[Values, list[tuple[Values, int, int]]] = {}
        for key, low, high in arranged.groups:
            groups.setdefault(tuple(key[place] for place, _ in mine), []).append((key, low, high))
        for left, limits in lefts:
            for key, low, high in groups.get(tuple(left.values[at] for _, at in mine), ()):
                chains = arranged.chains_after(left.end, low, high, limits)
                if chains and limits[0] != NO_COUNT:
                    left.notes.chains[key] = chains


def _elements(chains: Chains, names: tuple[str, ...], found: list[tuple[int, int, Values]]) -> Instances:
    """Return elements (start, end, values of their group), numbered, as columns."""
    keys = list(zip(*(key for *_, key in found), strict=True)) or [()] * len(names)
    columns = {v: to_column(some, chains.types[v]) for v, some in zip(names, keys, strict=True)}
    columns[ORIGIN] = Column("int", np.arange(len(found)))
    start, end = to_integers([start for start, _, _ in found]), to_integers([end for _, end, _ in found])
    return Instances.of(np.zeros(len(found), np.int64), start, end, columns)


def _fields(chains: Chains | None, waiting: WaitingMatches | None) -> Iterator[KeptField]:
    """Yield what repetitions keep whose chains are looked for."""
    if chains is not None:
        yield KeptField.of_rows(chains, "elements", chains.types)
        yield KeptField(chains, "number")
    if waiting is not None:
        yield KeptField.of_rows(waiting.join.waiting, 0, waiting.types)


class _Arranged:
    """The elements of a repetition by group, in order of rank, each with its neighbours before."""

    def __init__(self, chains: Chains, names: tuple[str, ...]) -> None:
        rows, base, low, high = chains.arranged()
        self.rows = rows
        self.origin: list[int] = rows.column(ORIGIN).data.tolist()
        self.start, self.end = rows.start.tolist(), rows.end.tolist()
        self.low, self.high = low.tolist(), high.tolist()
        first = np.flatnonzero(base == np.arange(len(base)))
        some = rows.take(first)
        keys = list(zip(*(some.column(v).values() for v in names), strict=True)) or [()] * len(first)
        limits = pairwise([*first.tolist(), len(rows)])
        self.groups = [(key, low, high) for key, (low, high) in zip(keys, limits, strict=True)]

    def interval(self, x: int) -> tuple[int, int]:
        """Return the start and end of an element."""
        return self.start[x], self.end[x]

    def chains_after(self, moment: int, low: int, high: int, limits: Limits) -> list[Chain]:
        """Return the chains of a group whose elements all start after a moment, by their last elements."""
        found: dict[int, Lengths] = {}
        for x in range(low, high):
            if self.start[x] > moment:
                lengths = found[x] = {1: self.start[x]}
                for before in range(self.low[x], self.high[x]):
                    for number, first in found.get(before, {}).items():
                        longer = _longer(number, limits)
                        if longer is not None:
                            lengths[longer] = min(first, lengths.get(longer, first))
        return [(*self.interval(x), lengths) for x, lengths in found.items()]

    def chains_from(self, low: int, high: int, limits: Limits) -> Iterator[tuple[Run, list[Chain]]]:
        """Yield the runs of a group, and the chains from the first element of each."""
        after: dict[int, list[int]] = {}
        for x in range(low, high):
            for before in range(self.low[x], self.high[x]):
                after.setdefault(before, []).append(x)
        for x in range(low, high):
            yield (
                Run(*self.interval(x)),
                [(*self.interval(y), lengths) for y, lengths in self._reach(x, after, limits).items()],
            )

    def _reach(self, first: int, after: Mapping[int, list[int]], limits: Limits) -> dict[int, Lengths]:
        """Return how long the chains are that lead from an element to others."""
        found: dict[int, Lengths] = {first: {1: self.start[first]}}
        front, number = [first], _longer(1, limits)
        while front and number is not None:
            reached = []
            for x in front:
                for y in after.get(x, ()):
                    lengths = found.setdefault(y, {})
                    if number not in lengths:
                        lengths[number] = self.start[first]
                        reached.append(y)
            front, number = reached, _longer(number, limits)
        return found


def _longer(number: int, limits: Limits) -> int | None:
    """Return what a chain of so many counts as when it grows, None if that is too long."""
    least, most = limits
    if most < 0:
        return min(number + 1, least)
    return number + 1 if number < most else None
