"""What aggregates have reached, over columns and in an engine: elements in windows, totals, and those of openers.

Both keep the elements that a value is taken over; of an unbounded aggregate an engine keeps what a group has come to,
columns rows that stand for it. Law: what is put back folds to the same value at every later element.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from etalis.columnar.data.casts import to_column, to_integers
from etalis.columnar.data.columns import Column
from etalis.columnar.data.instances import Instances
from etalis.columnar.operators.aggregate import OPENER, OpenedAggregate, SlidingAggregate
from etalis.columnar.operators.running_total import RunningTotal
from etalis.columnar.operators.totals import VALUE, WEIGHT, ColumnAggregate
from etalis.columnar.state.base import KeptField, Link
from etalis.columnar.state.links import by_end
from etalis.data.values import Value
from etalis.runtime.operators.aggregate import Folder, Opener, Slider
from etalis.runtime.operators.base import rank
from etalis.runtime.operators.mixed_window import window_of
from etalis.runtime.operators.running import Running
from etalis.runtime.state import State
from etalis.temporal.exact_sum import ExactSum


@dataclass(frozen=True, slots=True)
class ElementLink(Link):
    """The elements of an aggregate without opener; `groups` are in the order of the engine, `types` of what is kept."""

    operator: SlidingAggregate
    theirs: Slider
    state: State
    groups: tuple[str, ...]
    types: Mapping[str, str]

    def fields(self) -> Iterator[KeptField]:
        """Yield the elements."""
        yield KeptField.of_rows(self.operator.total, "elements", self.types)

    def content(self) -> Any:
        """Return what the engine holds."""
        found = self.theirs.groups.items()
        return {key: group.state() if isinstance(group, Running) else list(group) for key, group in found}

    def load(self) -> None:
        """Take the elements that the engine keeps, or those that come to the same."""
        found = [row for key, group in self.theirs.groups.items() for row in self._apart(key, group)]
        keys, starts, values, weights = zip(*found, strict=True) if found else ((), (), (), ())
        columns = dict(zip(self.groups, zip(*keys, strict=True) if keys else [()] * len(self.groups), strict=True))
        given: dict[str, Sequence[Any]] = {**columns, WEIGHT: weights, VALUE: values}
        typed = {name: to_column(given[name], kind) for name, kind in self.types.items()}
        end = np.full(len(found), max(self.state.now, -(1 << 62)))  # when each ended is not known, nor asked again
        self.operator.total.elements = by_end(to_integers(starts), end, typed)

    def _apart(self, key: Any, group: Any) -> Iterator[tuple[Any, int, Value, int]]:
        """Yield the elements of a group: its key, their start, value and weight."""
        own = (key,) if len(self.groups) == 1 else key if self.groups else ()
        if isinstance(group, Running):
            for value, weight in rows_of(self.operator.total.aggregate, group):
                yield own, group.start, value, weight
        else:
            yield from ((own, start, value, 1) for start, value, *_ in group)

    def save(self) -> None:
        """Let the engine keep the elements, or what they come to."""
        total, theirs = self.operator.total, self.theirs
        rows, row = total.elements, total.aggregate.row
        theirs.groups.clear()
        theirs.fifo.clear()
        values = rows.column(VALUE).values() if total.aggregate.type is not None else [0] * len(rows)
        known = [rows.column(v).values() for v in self.groups]
        keys: Sequence[Any] = known[0] if len(known) == 1 else list(zip(*known, strict=True)) or [0] * len(rows)
        held: dict[Any, list[tuple[int, Value]]] = {}
        for key, start, value in zip(keys, rows.start.tolist(), values, strict=True):
            held.setdefault(key, []).append((start, value))
        if isinstance(total, RunningTotal):
            counts: Counter[Any] = Counter()
            for key, weight in zip(keys, rows.column(WEIGHT).data.tolist(), strict=True):
                counts[key] += weight
            for key, some in held.items():
                least = min(start for start, _ in some)
                theirs.groups[key] = running_of(total.aggregate, least, counts[key], [value for _, value in some])
            return
        theirs.groups.update({key: window_of(row, some) for key, some in held.items()})
        if theirs.within is not None:
            latest = dict(sorted(zip(keys, rows.end.tolist(), strict=True), key=lambda pair: pair[1]))
            theirs.fifo.extend(sorted(((end, key) for key, end in latest.items()), key=lambda pair: pair[0]))


@dataclass(frozen=True, slots=True)
class Exchange:
    """How the total of an engine's group and the values of a kernel's rows become each other.

    `values` that come to the state of a total, of a column that holds objects or one that does not; the `state` of
    values.
    """

    values: Callable[[Any, bool], Sequence[Any]] = lambda state, _: [state]
    state: Callable[[Sequence[Any]], Any] = lambda values: values[0]


def _sum_values(state: Any, as_objects: bool) -> Sequence[Any]:
    """Return a sum as numbers that come to it, the nearest first."""
    total = ExactSum(*state)
    if as_objects:
        return [total]
    return (list(total.parts()) or [0.0]) if total.floats else [total.whole]


def _sum_state(values: Sequence[Any]) -> Any:
    total = ExactSum()
    for x in values:
        total = total.merge(x) if isinstance(x, ExactSum) else total.add(x)
    return tuple(total)


_SUM = Exchange(_sum_values, _sum_state)
EXCHANGES: Mapping[str, Exchange] = MappingProxyType(
    {
        "count": Exchange(lambda *_: [0], lambda _: None),
        "sum": _SUM,
        "mean": _SUM,
        "least": Exchange(),
        "greatest": Exchange(),
        "first": Exchange(lambda state, _: state, tuple),
        "last": Exchange(),
        "distinct": Exchange(lambda state, _: state, tuple),
        "list": Exchange(),
    }
)


def rows_of(aggregate: ColumnAggregate, running: Running) -> Iterator[tuple[Any, int]]:
    """Yield the values of rows that come to a total, each with its weight: the first has that of all elements."""
    exchange = EXCHANGES[aggregate.row.kernel or ""]
    values = exchange.values(running.total.state(), aggregate.is_of_objects)
    yield from ((value, 0 if place else running.count) for place, value in enumerate(values))


def running_of(aggregate: ColumnAggregate, start: int, count: int, values: Sequence[Any]) -> Running:
    """Return the total that the values of rows come to."""
    return Running.of(aggregate.row, start, count, EXCHANGES[aggregate.row.kernel or ""].state(values))


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
        return {key: [(o.values, o.start, o.end, _states(o)) for o in group] for key, group in groups}

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
        for key, total in opener.totals.items():
            known = {**dict(zip(self.groups, key, strict=True)), OPENER: number}
            for value, weight in rows_of(running.aggregate, total):
                own = () if running.aggregate.type is None else (value,)
                yield (total.start, *(known[v] for v in running.keys), weight, *own)

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
        rows = running.elements
        own = [v for v in running.keys if v != OPENER]
        keys = list(zip(*(rows.column(v).values() for v in own), strict=True)) or [()] * len(rows)
        values = rows.column(VALUE).values() if running.aggregate.type is not None else [0] * len(rows)
        weights, numbers = rows.column(WEIGHT).data.tolist(), rows.column(OPENER).data.tolist()
        reached: dict[tuple[int, Any], list[tuple[int, int, Any]]] = {}
        for number, key, *row in zip(numbers, keys, rows.start.tolist(), weights, values, strict=True):
            known = {**dict(zip(self.exports, openers[number].values, strict=True)), **dict(zip(own, key, strict=True))}
            reached.setdefault((number, tuple(known[v] for v in self.groups)), []).append((row[0], row[1], row[2]))
        for (number, place), several in reached.items():
            starts, counts, some = zip(*several, strict=True)
            openers[number].totals[place] = running_of(running.aggregate, min(starts), sum(counts), some)


def _states(opener: Opener) -> Any:
    return {key: total.state() for key, total in opener.totals.items()}
