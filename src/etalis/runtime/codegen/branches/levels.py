"""The levels of an index over branches: tables by constants, intervals by bounds, one below the other.

A level indexes its branches by what tells most of them apart, those of one value by the next, if they are many. Law:
what is found for an event are branches of the level in their order, and those left out would do nothing with it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from math import inf, isqrt
from typing import Any, Literal, Protocol

from etalis.data.values import Value
from etalis.runtime.codegen.branches.asked_values import NUMBERS, SIDES, AskedValues, Side
from etalis.runtime.codegen.branches.segments import Interval, Segments
from etalis.runtime.codegen.branches.shapes import BranchShape, Hit
from etalis.runtime.codegen.network import Wired
from etalis.runtime.reporting.evidence import Evidence, Mark
from etalis.runtime.state import Raw

FEW = 8  # branches that are asked one after the other

Key = tuple[Literal["pattern", "equal", "bounds"], int]  # what is indexed, at which place


@dataclass(slots=True, eq=False)
class RuleBranch:
    """What is done with an event by a leaf, or by one of its readers, and what it asks for."""

    leaf: Wired
    asked: AskedValues
    shape: BranchShape
    objects: list[Any]
    number: int = 0
    marker: Callable[[], RuleBranch] | None = None  # what notes that the leaf matches, where this is not reached

    mark: Mark | None = None  # that its pattern has matched, if one constant is all that this asks for

    def hit(self) -> Hit:
        """Return what is called."""
        return self.number, self.shape.take, *self.shape.slots(self.objects)

    def value(self, key: Key) -> Any:
        """Return what it asks for under a key, None if that is nothing."""
        kind, place = key
        match kind:
            case "pattern":
                return self.asked.pattern.get(place)
            case "equal":
                return self.asked.equal.get(place)
            case "bounds":
                return self.interval(place) if place in self.asked.bounded else None

    def numbers(self, key: Key) -> Collection[int]:
        """Return the places that must hold numbers for a key to be what it asks for."""
        return self.asked.before[key[1]] if key[0] == "equal" else self.asked.numbers

    def interval(self, place: int) -> Interval[Hit]:
        """Return the bounds of an attribute."""
        return Interval(self.asked.start(place), self.asked.end(place), self.hit())


class Branches(Protocol):
    """The branches of an index by their numbers."""

    @property
    def evidence(self) -> Evidence:
        """The evidence that their patterns have matched."""

    def __getitem__(self, number: int) -> RuleBranch: ...

    def marker(self, branch: RuleBranch) -> RuleBranch | None:
        """Return what notes that the leaf of a branch matches, if it is the branch that does so else."""


class ValueTable:
    """What is found by the value of an attribute; those of one value may have a level of their own.

    `unmet` has the values of which no event is known to have told that patterns match them, `_met` those of which this
    is not noted yet: what notes it is in no cache. Law: an event beyond the `limit` does nothing but tell that.
    """

    __slots__ = ("_branches", "_met", "_others", "_room", "_untold", "levels", "limit", "place", "unmet", "values")

    def __init__(self, place: int, values: dict[Value, tuple[Hit, ...] | Level], branches: Branches) -> None:
        self.place = place
        self.values = values
        self.unmet: set[Value] = set(values)
        self._room = len(values)
        self._met: list[Value] = []
        self.limit: Limit | None = None
        self._branches = branches
        self.levels = 0  # values of which the branches have a level of their own
        self._untold = self._others = 0  # values with a branch of another pattern, or of one that not all events match
        for hits in values.values():
            self._count(hits, 1)

    def _count(self, hits: tuple[Hit, ...] | Level, more: int) -> None:
        if isinstance(hits, Level):
            self.levels += more
            return
        several = [self._branches[hit[0]] for hit in hits]
        self._untold += 0 if all(branch.mark for branch in several) else more
        self._others += 0 if all(branch.asked.is_plain for branch in several) else more

    def put(self, value: Value, hits: tuple[Hit, ...] | Level) -> None:
        """Have other branches found by a value."""
        if value in self.values:
            self.note_met()
            self._count(self.values[value], -1)
        self.values[value] = hits
        self._count(hits, 1)
        self.unmet.add(value)

    def drop(self, value: Value) -> None:
        """Have nothing found by a value."""
        self.note_met()
        self._count(self.values.pop(value), -1)
        self.unmet.discard(value)

    @property
    def is_told(self) -> bool:
        """Whether all that is found are branches of which the patterns match the value."""
        return not (self.levels or self._untold)

    @property
    def is_plain(self) -> bool:
        """Whether the patterns of all that is found match every event."""
        return not (self.levels or self._others)

    def meet(self, value: Value) -> None:
        """Keep a value that has come for the first time: the patterns match that it finds."""
        if not self._met:
            self._branches.evidence.settle_later(self.note_met)
        self._met.append(value)
        self.unmet.discard(value)
        if 2 * len(self.unmet) < self._room:  # a set of few that were many is as slow as that of many
            left = list(self.unmet)
            self.unmet.clear()
            self.unmet.update(left)
            self._room = len(left)

    def note_met(self) -> None:
        """Note that patterns match which are found by values that have come."""
        for value in self._met:
            hits = self.values[value]
            assert not isinstance(hits, Level)
            for hit in hits:
                mark = self._branches[hit[0]].mark
                if mark is not None and mark.seen is None:
                    mark.seen = True
        self._met.clear()


class Limit:
    """A number that an attribute must reach, or not exceed, for any branch of a table to do anything with an event.

    An event is beyond it only if it has numbers at the places of `numbers`.
    """

    __slots__ = ("bound", "numbers", "place", "side")

    def __init__(self, place: int, side: Side, bound: float) -> None:
        self.place = place
        self.side = side
        self.bound = bound
        self.numbers: set[int] = set()

    @classmethod
    def of(cls, branches: Sequence[RuleBranch]) -> Limit | None:
        """Return the limit of branches, if they all have one at some place.

        With `P > 900` and `P > 950` that is 900 for P.
        """
        for side in SIDES:
            for place in branches[0].asked.side(side):
                limit = cls(place, side, branches[0].asked.side(side)[place])
                if all(place in branch.asked.side(side) for branch in branches):
                    for branch in branches:
                        limit.widen(branch)
                    return limit
        return None

    def widen(self, branch: RuleBranch) -> None:
        """Let events pass that one more branch asks for."""
        self.numbers |= branch.asked.numbers
        known = branch.asked.side(self.side).get(self.place)
        if self.side == "above":
            self.bound = min(self.bound, -inf if known is None else known)
        else:
            self.bound = max(self.bound, inf if known is None else known)


class Level:
    """Some branches with their index; the rest is `open` to all events.

    An event with something at one of the places of `numbers` that is no number comes to all.
    """

    __slots__ = ("_all", "_branches", "_markers", "_used", "numbers", "open", "parts")

    def __init__(self, branches: Branches, several: Iterable[int], used: frozenset[Key] = frozenset()) -> None:
        self._branches = branches
        self._used = used
        self._all = dict.fromkeys(several)
        self.parts: dict[Key, ValueTable | Segments[Hit]] = {}
        self.build()

    def build(self) -> None:
        """Index all branches anew."""
        for part in self.parts.values():
            if isinstance(part, ValueTable):
                part.note_met()
        self.parts = {}
        self.numbers: tuple[int, ...] = ()
        self._markers: dict[int, list[int]] = {}
        left = list(map(self._branches.__getitem__, self._all))
        while (key := _best_key(left, self._used.union(self.parts), FEW)) is not None:
            covered = [branch for branch in left if branch.value(key) is not None]
            left = [branch for branch in left if branch.value(key) is None]
            self._index(key, covered)
            left += self._mark(key, covered)
        self.open = tuple(sorted(branch.hit() for branch in left))

    def _index(self, key: Key, covered: Sequence[RuleBranch]) -> None:
        kind, place = key
        if kind == "bounds":
            self.parts[key] = Segments([branch.interval(place) for branch in covered])
            return
        groups: dict[Value, list[RuleBranch]] = {}
        for branch in covered:
            groups.setdefault(branch.value(key), []).append(branch)
        values = {value: self._group(key, group) for value, group in groups.items()}
        table = self.parts[key] = ValueTable(place, values, self._branches)
        table.limit = Limit.of(covered)

    def _group(self, key: Key, group: Sequence[RuleBranch]) -> tuple[Hit, ...] | Level:
        """Return how the branches of one value are found."""
        if len(group) > FEW:
            level = Level(self._branches, [branch.number for branch in group], self._used | {key})
            if level.parts:
                return level
        return tuple([branch.hit() for branch in group])

    def _mark(self, key: Key, covered: Iterable[RuleBranch]) -> list[RuleBranch]:
        """Return what notes that leaves match whose branches are found by conditions, and see what is a number."""
        if key[0] == "pattern":
            return []
        self.numbers = tuple(sorted({*self.numbers, *(place for each in covered for place in each.numbers(key))}))
        new: list[RuleBranch] = []
        for branch in covered:
            marker = self._branches.marker(branch)
            if marker is not None:
                numbers = self._markers.setdefault(marker.number, [])
                if not numbers:
                    new.append(marker)
                numbers.append(branch.number)
        return new

    # what is found

    @property
    def only(self) -> ValueTable | None:
        """The table that finds everything, if there is no more than that."""
        part = next(iter(self.parts.values()), None)
        return (
            part if len(self.parts) == 1 and isinstance(part, ValueTable) and not (self.numbers or self.open) else None
        )

    def find(self, raw: Raw) -> Sequence[Hit]:
        """Return the branches that an event comes to."""
        for place in self.numbers:
            if type(raw[3 + place]) not in NUMBERS:
                return self.all()
        found: list[Sequence[Hit]] = [self.open] if self.open else []
        for key, part in self.parts.items():
            value = raw[3 + key[1]]
            hits: Any = part.values.get(value, ()) if isinstance(part, ValueTable) else part.at(value)
            if isinstance(hits, Level):
                hits = hits.find(raw)
            if hits:
                found.append(hits)
        if len(found) == 1:
            return found[0]
        return sorted([hit for hits in found for hit in hits])

    def all(self) -> list[Hit]:
        """Return all branches in their order."""
        return [self._branches[number].hit() for number in sorted((*self._all, *self._markers))]

    # branches that come and go

    def add(self, branch: RuleBranch) -> None:
        """Add a branch."""
        self._all[branch.number] = None
        self._put(branch)

    def _put(self, branch: RuleBranch) -> None:
        key = self._key_of(branch)
        if key is None:
            self.open = _with(self.open, branch)
            if len(self.open) > FEW + isqrt(len(self._all)) and _best_key([branch], self._used, 1) is not None:
                self.build()
            return
        part = self.parts[key]
        if isinstance(part, ValueTable):
            self._put_into(part, key, branch)
        else:
            part.add(branch.interval(key[1]))
            if part.added > FEW + isqrt(len(self._all)):
                self.build()
                return
        for marker in self._mark(key, [branch]):
            self._put(marker)

    def _put_into(self, table: ValueTable, key: Key, branch: RuleBranch) -> None:
        value = branch.value(key)
        if table.limit is not None:
            table.limit.widen(branch)
        group = table.values.get(value, ())
        if isinstance(group, Level):
            group.add(branch)
        elif len(group) < 2 * FEW:
            table.put(value, _with(group, branch))
        else:
            table.put(value, self._group(key, [*(self._branches[hit[0]] for hit in group), branch]))

    def remove(self, branch: RuleBranch) -> None:
        """Remove a branch."""
        del self._all[branch.number]
        self._take_out(branch)

    def _take_out(self, branch: RuleBranch) -> None:
        key = self._key_of(branch)
        if key is None:
            self.open = _without(self.open, branch)
            return
        part = self.parts[key]
        if isinstance(part, Segments):
            part.remove(branch.interval(key[1]))
        else:
            value = branch.value(key)
            group = part.values[value]
            if isinstance(group, Level):
                group.remove(branch)
            elif len(group) > 1:
                part.put(value, _without(group, branch))
            else:
                part.drop(value)
        marker = None if key[0] == "pattern" else self._branches.marker(branch)
        if marker is not None:
            numbers = self._markers[marker.number]
            numbers.remove(branch.number)
            if not numbers:
                del self._markers[marker.number]
                self._take_out(marker)

    def _key_of(self, branch: RuleBranch) -> Key | None:
        return next((key for key in self.parts if branch.value(key) is not None), None)


def _with(hits: tuple[Hit, ...], branch: RuleBranch) -> tuple[Hit, ...]:
    return tuple(sorted((*hits, branch.hit())))


def _without(hits: tuple[Hit, ...], branch: RuleBranch) -> tuple[Hit, ...]:
    return tuple([hit for hit in hits if hit[0] != branch.number])


def _best_key(branches: Sequence[RuleBranch], used: Iterable[Key], least: int) -> Key | None:
    """Return what tells branches apart best: by which an event is expected to pass over most of them."""
    asked: dict[Key, list[Any]] = {}
    for branch in branches:
        found = branch.asked
        keys: list[tuple[Key, Any]] = [(("pattern", place), value) for place, value in found.pattern.items()]
        keys += [(("equal", place), value) for place, value in found.equal.items()]
        keys += [(("bounds", place), None) for place in found.bounded]
        for key, value in keys:
            asked.setdefault(key, []).append(value)
    best, most = None, 0.0
    for key in sorted(asked.keys() - set(used), key=lambda key: (key[0] != "pattern", key)):
        number = len(asked[key])
        passed = number / 2 if key[0] == "bounds" else number - number / (1 + len(set(asked[key])))
        if number >= least and passed > most:
            best, most = key, passed
    return best
