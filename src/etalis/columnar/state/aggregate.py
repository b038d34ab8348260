"""What aggregates have reached, over columns and in an engine: elements in windows, totals, and those of openers.

An engine keeps the elements that a value is taken over, or what each opener has reached; columns keep for an unbounded
aggregate one row per group that stands for all. Law: what is put back folds to the same value at every later element.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from etalis.columnar.data.casts import to_column, to_integers
from etalis.columnar.data.columns import Column
from etalis.columnar.data.instances import Instances
from etalis.columnar.operators.aggregate import OPENER, OpenedAggregate, SlidingAggregate
from etalis.columnar.operators.totals import VALUE, WEIGHT, ColumnAggregate, RunningTotal
from etalis.columnar.state.base import KeptField, Link
from etalis.columnar.state.links import by_end
from etalis.data.values import Value, real
from etalis.runtime.operators.aggregate import Folder, Opener, Slider
from etalis.runtime.operators.base import rank
from etalis.runtime.state import State

_NOTHING = real(0.0)  # added to a float, it leaves it as it is


@dataclass(frozen=True, slots=True)
class ElementLink(Link):
    """The elements of an aggregate without opener.

    `value` is the variable that is aggregated, if it is one; `groups`, and the `exports` of an element, are in the
    engine's order; `types` are those of the columns that are kept.
    """

    operator: SlidingAggregate
    theirs: Slider
    state: State
    value: str | None
    groups: tuple[str, ...]
    exports: tuple[str, ...]
    types: Mapping[str, str]

    def fields(self) -> Iterator[KeptField]:
        """Yield the elements."""
        yield KeptField.of_rows(self.operator.total, "elements", self.types)

    def content(self) -> Any:
        """Return the elements of the engine."""
        return self.theirs.groups

    def load(self) -> None:
        """Take the elements that the engine keeps, each with the weight of one."""
        found = [(key, start, value) for key, several in self.theirs.groups.items() for start, value, _ in several]
        keys, starts, values = zip(*found, strict=True) if found else ((), (), ())
        columns = dict(zip(self.groups, zip(*keys, strict=True) if keys else [()] * len(self.groups), strict=True))
        folded = self.operator.total.aggregate.elements(values)
        given: dict[str, Sequence[Any]] = {**columns, WEIGHT: [1] * len(found), VALUE: folded}
        typed = {name: to_column(given[name], kind) for name, kind in self.types.items()}
        end = np.full(len(found), max(self.state.now, -(1 << 62)))  # when each ended is not known, nor asked again
        self.operator.total.elements = by_end(to_integers(starts), end, typed)

    def save(self) -> None:
        """Let the engine keep what stands for all elements."""
        total = self.operator.total
        rows = total.elements
        self.theirs.groups.clear()
        self.theirs.fifo.clear()
        values = rows.column(VALUE).values() if total.aggregate.type is not None else [0] * len(rows)
        known: dict[str, Sequence[Value]] = {v: rows.column(v).values() for v in self.groups}
        keys = list(zip(*known.values(), strict=True)) or [()] * len(rows)
        if self.value is not None:
            known.setdefault(self.value, values)
        nobody_asks = [None] * len(rows)
        elements = list(zip(*(known.get(v, nobody_asks) for v in self.exports), strict=True)) or [()] * len(rows)
        weights = rows.column(WEIGHT).data.tolist() if isinstance(total, RunningTotal) else [1] * len(rows)
        spread, groups = _exchange(total.aggregate).elements, self.theirs.groups
        starts = rows.start.tolist()
        for key, start, value, element, weight in zip(keys, starts, values, elements, weights, strict=True):
            group = groups.get(key)
            if group is None:
                group = groups[key] = []
            group += [(start, item, element) for item in spread(value, weight)]
        if self.theirs.within is not None:
            order = np.argsort(rows.end, kind="stable").tolist()
            ends = rows.end.tolist()
            self.theirs.fifo.extend((ends[i], keys[i]) for i in order)


def _one(value: Value, _: int) -> list[Value]:
    return [value]


def _padded(value: Value, weight: int) -> list[Value]:
    """Return so many values that come to one.

    >>> _padded(6, 2), _padded(6, 1)
    ([6, 0], [6])
    """
    return [value] + [_NOTHING if isinstance(value, float) else 0] * (weight - 1)


@dataclass(frozen=True, slots=True)
class Exchange:
    """How the state of an engine's aggregate and rows of a kernel, each a value and its weight, become each other.

    `rows` of a state; the `state` of a row after those before, None at first; `elements` that come to the same.
    """

    rows: Callable[[Any], Sequence[tuple[Any, int]]] = lambda state: [(state, 1)]
    state: Callable[[Any, Any, int], Any] = lambda _, value, __: value
    elements: Callable[[Any, int], Sequence[Value]] = _one


EXCHANGES: Mapping[str, Exchange] = MappingProxyType(
    {
        "count": Exchange(lambda state: [(0, state)], lambda _, __, weight: weight, _padded),
        "sum": Exchange(),
        "mean": Exchange(lambda state: [state], lambda _, value, weight: (value, weight), _padded),
        "least": Exchange(),
        "greatest": Exchange(),
        "first": Exchange(lambda state: [(state[0], 1)], lambda _, value, __: (value,)),
        "last": Exchange(),
        "distinct": Exchange(
            lambda state: [(value, 1) for value in state], lambda before, value, _: (before or frozenset()) | {value}
        ),
        "list": Exchange(elements=lambda value, _: value),
    }
)


def _exchange(aggregate: ColumnAggregate) -> Exchange:
    return EXCHANGES[aggregate.row.kernel or ""]


@dataclass(frozen=True, slots=True)
class OpenerLink(Link):
    """Openers that wait, with what each has reached.

    The `exports` of an opener, the `groups` and those of them that openers are found by (`firm`) are in the engine's
    order; `types` are those of the columns of openers, and `totals` those of what is reached.
    """

    operator: OpenedAggregate
    theirs: Folder
    exports: tuple[str, ...]
    groups: tuple[str, ...]
    firm: tuple[str, ...]
    types: Mapping[str, str]
    totals: Mapping[str, str]

    def fields(self) -> Iterator[KeptField]:
        """Yield openers, their number, and what they have reached."""
        yield KeptField.of_rows(self.operator.join.waiting, 0, self.types)
        yield KeptField(self.operator.openers, "number")
        yield KeptField.of_rows(self.operator.running, "elements", self.totals)

    def content(self) -> Any:
        """Return the openers of the engine, and what they have reached."""
        groups = self.theirs.openers.groups.items()
        return {key: [(o.values, o.start, o.end, o.totals) for o in group] for key, group in groups}

    def load(self) -> None:
        """Take the openers that wait in the engine, and what they have reached."""
        openers = sorted((o for group in self.theirs.openers.groups.values() for o in group), key=lambda o: o.end)
        values = list(zip(*(o.values for o in openers), strict=True)) if openers else [()] * len(self.exports)
        opened = {v: to_column(some, self.types[v]) for v, some in zip(self.exports, values, strict=True)}
        opened[OPENER] = Column("int", np.arange(len(openers)))
        start, end = to_integers([o.start for o in openers]), to_integers([o.end for o in openers])
        self.operator.openers.number = len(openers)
        self.operator.join.waiting[0] = Instances.of(np.zeros(len(openers), np.int64), start, end, opened)
        found = [row for number, opener in enumerate(openers) for row in self._apart(number, opener)]
        several = list(zip(*found, strict=True)) if found else [()] * (1 + len(self.totals))
        typed = {
            name: to_column(some, kind) for (name, kind), some in zip(self.totals.items(), several[1:], strict=True)
        }
        starts = to_integers(several[0])
        self.operator.running.elements = Instances.of(np.zeros(len(found), np.int64), starts, starts, typed)

    def _apart(self, number: int, opener: Opener) -> Iterator[tuple[Any, ...]]:
        """Yield what an opener has reached: since when, and the columns of the total."""
        running = self.operator.running
        rows = _exchange(running.aggregate).rows
        for key, (state, start, _) in opener.totals.items():
            known = {**dict(zip(self.groups, key, strict=True)), OPENER: number}
            for value, weight in rows(state):
                own = () if running.aggregate.type is None else (value,)
                yield (start, *(known[v] for v in running.keys), weight, *own)

    def save(self) -> None:
        """Let the openers wait in the engine."""
        shelf = self.theirs.openers
        shelf.groups.clear()
        shelf.fifo.clear()
        rows = self.operator.join.waiting[0]
        rows = rows.take(np.argsort(rows.end, kind="stable"))
        values = list(zip(*(rows.column(v).values() for v in self.exports), strict=True)) or [()] * len(rows)
        keys = list(zip(*(rows.column(v).values() for v in self.firm), strict=True)) or [()] * len(rows)
        starts, ends = rows.start.tolist(), rows.end.tolist()
        openers = [Opener(*given) for given in zip(values, starts, ends, strict=True)]
        for key, opener in zip(keys, openers, strict=True):
            shelf.groups.setdefault(key, []).append(opener)
        for group in shelf.groups.values():
            group.sort(key=rank)
        if shelf.keep is not None:
            shelf.fifo.extend(zip(ends, keys, strict=True))
        self._together(dict(zip(rows.column(OPENER).data.tolist(), openers, strict=True)))

    def _together(self, openers: Mapping[int, Opener]) -> None:
        """Give openers what they have reached."""
        running = self.operator.running
        rows, state = running.elements, _exchange(running.aggregate).state
        own = [v for v in running.keys if v != OPENER]
        keys = list(zip(*(rows.column(v).values() for v in own), strict=True)) or [()] * len(rows)
        values = rows.column(VALUE).values() if running.aggregate.type is not None else [0] * len(rows)
        weights, numbers = rows.column(WEIGHT).data.tolist(), rows.column(OPENER).data.tolist()
        for number, key, start, value, weight in zip(numbers, keys, rows.start.tolist(), values, weights, strict=True):
            opener = openers[number]
            known = {**dict(zip(self.exports, opener.values, strict=True)), **dict(zip(own, key, strict=True))}
            place = tuple(known[v] for v in self.groups)
            before, least, _ = opener.totals.get(place, (None, start, ()))
            opener.totals[place] = [state(before, value, weight), min(least, start), []]
