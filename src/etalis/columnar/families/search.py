"""Which members of a family an event is for: those whose constants it has, or between whose thresholds it lies.

Every search puts the members in an order of its own, such that those for one event lie together. Law: each member that
an event may be for is found, once; the tests of the rule judge it all the same, but for keys that leaves compare.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import takewhile
from typing import Protocol

import numpy as np

from etalis.columnar.conditions.lookups import FactIndex
from etalis.columnar.data.columns import EXACT, Column, Flags, Integers
from etalis.columnar.data.instances import Instances
from etalis.data.values import Value
from etalis.language.check.goals import conjuncts
from etalis.language.syntax import Compound, Term, Var
from etalis.plan import algebra as p

TOGETHER = 1 << 20  # pairs of an event and a member that are looked at together
MOST_SHARES = 64  # members that one key may stand for in a leaf whose events are joined
_MOST_CELLS = 1 << 23
_MIRRORED = {"<": ">", ">": "<", "=<": ">=", ">=": "=<"}


class MemberSearch(Protocol):
    """How the members that events are for are found."""

    def find(self, rows: Instances) -> tuple[Integers, Integers, Integers]:
        """Return an order of members, and for each event where in it those begin and end that it may be for."""
        ...


def pieces(search: MemberSearch, rows: Instances) -> Iterator[tuple[Integers, Integers]]:
    """Yield events and the members that they may be for, some of them together, events in order."""
    order, low, high = search.find(rows)
    counts = high - low
    until = np.cumsum(counts)
    begin = 0
    while begin < len(counts):
        before = until[begin - 1] if begin else 0
        end = max(begin + 1, int(np.searchsorted(until, before + TOGETHER, side="right")))
        some = counts[begin:end]
        starts = np.cumsum(some) - some
        places = np.arange(int(some.sum())) + np.repeat(low[begin:end] - starts, some)
        yield np.repeat(np.arange(begin, end), some), order[places]
        begin = end


@dataclass(frozen=True)
class Threshold:
    """What members compare a variable with, from one side: `operator` is one of > and >=, or of < and =<."""

    operator: str
    values: tuple[int | float, ...]

    @property
    def is_lower(self) -> bool:
        """Whether the variable is to be more."""
        return self.operator[0] == ">"

    @property
    def is_strict(self) -> bool:
        """Whether the variable may not be equal."""
        return self.operator in "<>"

    @cached_property
    def array(self) -> Integers:
        """The values as numbers of the type that they have."""
        return np.array(self.values)


@dataclass(frozen=True)
class EqualKeys:
    """Members by the values that they have at some variables; of those, perhaps by a threshold."""

    names: tuple[str, ...]
    values: tuple[tuple[Value, ...], ...]
    within: tuple[str, Threshold] | None = None

    @cached_property
    def index(self) -> FactIndex:
        """The members, arranged by their values."""
        return FactIndex(self.values, tuple(range(len(self.names))))

    @property
    def shares(self) -> int:
        """How many members one key stands for at most."""
        return int(self._counts.max())

    @cached_property
    def _counts(self) -> Integers:
        return np.bincount(self.index.groups.group)

    @cached_property
    def _ends(self) -> Integers:
        return np.concatenate([[0], np.cumsum(self._counts)])

    @cached_property
    def _order(self) -> Integers:
        group = self.index.groups.group
        return np.argsort(group, kind="stable") if self.within is None else np.lexsort((self.within[1].array, group))

    def find(self, rows: Instances) -> tuple[Integers, Integers, Integers]:
        """Return the members in the order of their keys, and which of them each event has the key of."""
        group = self.index.group_of([rows.column(name) for name in self.names], len(rows), {})
        low = self._ends[group]
        high = np.where(group < 0, low, self._ends[group + 1])
        if self.within is None or self.shares == 1:
            return self._order, low, high
        name, threshold = self.within
        column = rows.column(name)
        place = self._place(threshold, column.data, group)
        good = group >= 0 if column.absent is None else (group >= 0) & ~column.absent
        if threshold.is_lower:
            return self._order, low, np.where(good, place, high)
        return self._order, np.where(good, place, low), high

    def _place(self, threshold: Threshold, numbers: Integers, group: Integers) -> Integers:
        """Return where in the order the thresholds of each event's key begin that are not less than its number."""
        different = np.unique(threshold.array)
        is_left = threshold.is_lower == threshold.is_strict
        rank = np.searchsorted(different, numbers, side="left" if is_left else "right")
        mine = np.searchsorted(different, threshold.array[self._order])
        size = len(different) + 1
        return np.searchsorted(self.index.groups.group[self._order] * size + mine, group * size + rank)


@dataclass(frozen=True)
class Between:
    """Members by the bounds between which a variable must lie, or the only one."""

    name: str
    bounds: tuple[Threshold, ...]
    cells: dict[str, tuple[Integers, Integers, Integers]] = field(default_factory=dict, compare=False)

    def find(self, rows: Instances) -> tuple[Integers, Integers, Integers]:
        """Return an order of members, and which of them an event may be for; one without a number, all."""
        column = rows.column(self.name)
        order, low, high = self._both_ways(column) if len(self.bounds) > 1 else self._one_way(column, self.bounds[0])
        if column.absent is None or not column.absent.any():
            return order, low, high
        return _with_all(order, low, high, column.absent, len(self.bounds[0].values))

    def _one_way(self, column: Column, bound: Threshold) -> tuple[Integers, Integers, Integers]:
        order = np.argsort(bound.array, kind="stable")
        thresholds = bound.array[order]
        if bound.is_lower:
            high = np.searchsorted(thresholds, column.data, side="left" if bound.is_strict else "right")
            return order, np.zeros(len(high), np.int64), high
        low = np.searchsorted(thresholds, column.data, side="right" if bound.is_strict else "left")
        return order, low, np.full(len(low), len(order))

    def _both_ways(self, column: Column) -> tuple[Integers, Integers, Integers]:
        """Return the members whose bounds a number lies between, by cells: each bound, and what lies between two."""
        lower = next(bound for bound in self.bounds if bound.is_lower)
        upper = next(bound for bound in self.bounds if not bound.is_lower)
        if "edges" not in self.cells:
            self.cells["edges"] = _cells(lower, upper)
        edges, order, ends = self.cells["edges"]
        if not len(ends):
            return self._one_way(column, lower)
        place = np.searchsorted(edges, column.data, side="left")
        meets = edges[np.minimum(place, len(edges) - 1)] == column.data
        cell = 2 * place + meets
        return order, ends[cell], ends[cell + 1]


def _cells(lower: Threshold, upper: Threshold) -> tuple[Integers, Integers, Integers]:
    """Return all bounds in order, the members cell by cell, and where those of each begin; nothing if too many."""
    edges = np.unique(np.concatenate([lower.array, upper.array]))
    begin = 2 * np.searchsorted(edges, lower.array) + (2 if lower.is_strict else 1)
    end = 2 * np.searchsorted(edges, upper.array) + (1 if upper.is_strict else 2)
    counts = np.maximum(end - begin, 0)
    none = np.zeros(0, np.int64)
    if counts.sum() > _MOST_CELLS:
        return edges, none, none
    starts = np.cumsum(counts) - counts
    cells = np.arange(int(counts.sum())) + np.repeat(begin - starts, counts)
    order = np.argsort(cells, kind="stable")
    members = np.repeat(np.arange(len(counts)), counts)[order]
    return edges, members, np.concatenate([[0], np.cumsum(np.bincount(cells, minlength=2 * len(edges) + 1))])


def _with_all(
    order: Integers, low: Integers, high: Integers, whole: Flags, count: int
) -> tuple[Integers, Integers, Integers]:
    """Let some events be for all members, in their order."""
    begin = len(order)
    every = np.concatenate([order, np.arange(count)])
    return every, np.where(whole, begin, low), np.where(whole, begin + count, high)


def find_search(
    keys: Mapping[str, str], known: Mapping[str, str], tests: Sequence[p.Test], vectors: Mapping[str, Sequence[Value]]
) -> MemberSearch | None:
    """Return how the members of a leaf's events are found; None if that takes all of them.

    `keys` are the constants among its attributes, `known` the types of its variables. Of the tests on it, what is first
    asked decides, so that nothing is left out for which a test before would raise an error.
    """
    asked = next((test for test in tests if isinstance(test, p.Condition)), None)
    several = [] if asked is None else conjuncts(asked.goal)
    leading = list(takewhile(lambda goal: equality(goal, vectors) is not None, several))
    rest = [_comparison(goal, known, vectors) for goal in several[len(leading) :][:2]]
    equal = dict(zip(keys, keys, strict=True)) or dict(filter(None, (equality(goal, vectors) for goal in leading)))
    return _equal(equal, known, vectors, rest[0] if rest else None) if equal else _between(rest)


def _equal(
    names: Mapping[str, str], types: Mapping[str, str], vectors: Mapping[str, Sequence[Value]],
    within: tuple[str, Threshold] | None,
) -> MemberSearch | None:  # fmt: skip
    """Return the search by values of variables, each with the constant that it must be equal to."""
    kinds = {"string": str, "int": int}
    if not all(isinstance(vectors[v][0], kinds.get(types.get(name, ""), ())) for name, v in names.items()):
        return None
    return EqualKeys(tuple(names), tuple(zip(*(vectors[v] for v in names.values()), strict=True)), within)


def equality(goal: Term, vectors: Mapping[str, Sequence[Value]]) -> tuple[str, str] | None:
    """Return a variable and the constant that it must be equal to."""
    match goal:
        case Compound(name="=" | "==", args=(Var(name=a), Var(name=b))) if (a in vectors) != (b in vectors):
            return (b, a) if a in vectors else (a, b)
        case _:
            return None


def _comparison(
    goal: Term, known: Mapping[str, str], vectors: Mapping[str, Sequence[Value]]
) -> tuple[str, Threshold] | None:
    """Return a variable and its bounds, if numbers of both can be compared as they are."""
    match goal:
        case Compound(name=operator, args=(Var(name=a), Var(name=b))) if operator in _MIRRORED:
            if a in vectors:
                a, b, operator = b, a, _MIRRORED[operator]
            if b not in vectors or a in vectors or not _are_comparable(known.get(a), vectors[b]):
                return None
            return a, Threshold(operator, tuple(x for x in vectors[b] if isinstance(x, int | float)))
        case _:
            return None


def _are_comparable(kind: str | None, values: Sequence[Value]) -> bool:
    if kind == "int":
        return all(isinstance(value, int) for value in values)
    return kind == "float" and all(
        isinstance(value, float) or (isinstance(value, int) and abs(value) <= EXACT) for value in values
    )


def _between(found: Sequence[tuple[str, Threshold] | None]) -> MemberSearch | None:
    """Return the search by the bounds that the first goals set, of one variable."""
    if not found or found[0] is None:
        return None
    name, first = found[0]
    if len(found) > 1 and found[1] is not None and found[1][0] == name and found[1][1].is_lower != first.is_lower:
        return Between(name, (first, found[1][1]))
    return Between(name, (first,))
