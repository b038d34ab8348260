"""What rules over columns keep, in the stores of an engine and back: a run over batches begins and ends there.

Every operator that keeps something is tied to the part of the engine's state that its node of the plan has there
(`runtime.network`). Law: an engine whose state was taken over columns and put back goes on as if nothing had happened;
what is put back is what it would hold, less what can be part of no later match.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from etalis.columnar.data.casts import to_column, to_integers
from etalis.columnar.data.columns import Column, Integers, key_rows
from etalis.columnar.data.instances import Instances, nothing
from etalis.columnar.derived_events import DerivedEvents, LatestEvents
from etalis.columnar.kernels.buffers import BlockerIndex, KeyIndex
from etalis.columnar.operators.base import AbsenceTest
from etalis.columnar.operators.deadline import DeadlineOperator
from etalis.columnar.operators.join import LIMIT, NO_LIMIT, JoinOperator
from etalis.columnar.state.base import KeptField, Link
from etalis.runtime.operators.blockers import Blockers, LooseBlockers
from etalis.runtime.operators.gathering import ARRIVAL, next_arrival
from etalis.runtime.operators.store import Newest, put
from etalis.runtime.snapshot.stores import Tokens, row_columns, table_content, table_rows
from etalis.runtime.state import Made, State

Names = Mapping[str, str]  # of variables: in an entry, in the rule that reads it


@dataclass(frozen=True, slots=True)
class Gap:
    """An absence after the left side of a join, and what the engine has noted for it, by variables in its order."""

    absence: AbsenceTest
    blockers: Blockers | LooseBlockers
    joined: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StoredSide:
    """What waits on one side of a join in an engine: by key, and the queue by which it expires.

    Names are those of the rule, in the engine's order; `types` has those of all that columns hold. Where one event
    comes to both sides, the engine `holds` the newest with what it replaced.
    """

    store: dict[Any, Any]
    fifo: deque[tuple[int, Any]] | None
    keys: tuple[str, ...]
    values: tuple[str, ...]
    types: Mapping[str, str]
    holds: bool = False
    make_key: Callable[..., Any] | None = None  # of the values of `inputs`, where the key is computed
    inputs: tuple[str, ...] = ()

    @property
    def content(self) -> dict[Any, Any]:
        """What waits, by key."""
        return {key: held.items[-1] for key, held in self.store.items()} if self.holds else self.store

    def read(self) -> Instances:
        """Return what waits, in the order in which it ended."""
        if not self.store:
            return nothing({name: self.types[name] for name in (*self.keys, *self.values) if name in self.types})
        return self.rows(*table_rows(self.content, "instances"))

    def rows(self, keys: list[Any], instances: Collection[Any]) -> Instances:
        """Return instances of the engine, with the key of each, in the order in which they ended."""
        *columns, start, end = row_columns(instances)
        own = row_columns(keys) if len(self.keys) > 1 else [keys] * len(self.keys)
        named = dict(zip((*self.keys, *self.values), (*own, *columns), strict=True))
        types = self.types
        arrival = to_integers(named.get(ARRIVAL, []))
        kept = {v: some for v, some in named.items() if v in types}
        found = {v: to_column(some if types[v] == "term" else _bound(some), types[v]) for v, some in kept.items()}
        return by_end(to_integers(start), to_integers(end), found, arrival)

    def instances(self, rows: Instances) -> list[tuple[Any, tuple[Any, ...]]]:
        """Return rows as instances of the engine, with the key of each."""
        columns = [rows.column(name).values() for name in self.values]
        instances = zip(*columns, rows.start.tolist(), rows.end.tolist(), strict=True)
        return list(zip(keys_of(rows, self.keys), instances, strict=True))

    def clear(self) -> None:
        """Let nothing wait."""
        self.store.clear()
        if self.fifo is not None:
            self.fifo.clear()

    def write(self, rows: Instances) -> None:
        """Let rows wait instead of what does; they come in the order in which they ended."""
        self.clear()
        if not len(rows):
            return
        if self.make_key is not None:
            self._write_computed(rows, self.make_key)
            return
        if self.fifo is not None:
            self.fifo.extend(zip(rows.end.tolist(), keys_of(rows, self.keys), strict=True))
        rows = rows.take(_grouped(rows, self.keys))
        width = len(self.keys)
        given = [rows.column(name).values() for name in self.keys] or [[0] * len(rows)]
        given += [rows.column(name).values() for name in self.values]
        given += [rows.start.tolist(), rows.end.tolist()]
        note = {"form": "instances", "key": width if width > 1 else 0}
        found = table_content(note, given, Tokens(0))
        self.store.update(((key, Newest(0, instance)) for key, instance in found) if self.holds else found)

    def _write_computed(self, rows: Instances, make_key: Callable[..., Any]) -> None:
        keys = list(map(make_key, *(rows.column(name).values() for name in self.inputs)))
        if self.fifo is not None:
            self.fifo.extend(zip(rows.end.tolist(), keys, strict=True))
        numbers = [next_arrival() for _ in keys]
        columns = [numbers if v == ARRIVAL else rows.column(v).values() for v in self.values]
        instances = list(zip(*columns, rows.start.tolist(), rows.end.tolist(), strict=True))
        for place in np.lexsort((rows.start, rows.end)).tolist():
            put(self.store, keys[place], instances[place])


@dataclass(frozen=True, slots=True)
class JoinSideLink(Link):
    """One side of a join, and what it is in the engine."""

    operator: JoinOperator
    place: int
    stored: StoredSide
    gaps: tuple[Gap, ...]

    @property
    def here(self) -> Hashable:
        """What tells the operator from others."""
        return id(self.operator), self.place

    @property
    def there(self) -> Hashable:
        """What tells the part of the engine's state from others."""
        return id(self.stored.store)

    def fields(self) -> Iterator[KeptField]:
        """Yield what waits."""
        yield KeptField.of_rows(self.operator.waiting, self.place, self.stored.types)

    def content(self) -> Any:
        """Return what waits in the engine, and what is noted for the gaps."""
        return [_noted(gap.blockers) for gap in self.gaps], self.stored.content

    def load(self) -> None:
        """Let wait over columns what waits in the engine."""
        if not self.stored.store:
            self.clear()
            return
        rows = self.operator.passing(self.place, self.stored.read())
        if self.gaps:
            rows = rows.with_columns({LIMIT: Column("int", find_limits(self.gaps, self.stored.types, rows))})
        if self.operator.lone is not None and self.operator.lone.place == self.place:
            rows = self.operator.lone.settled(rows)
        self.operator.waiting[self.place] = rows.only(self.operator.names[self.place])

    def save(self) -> None:
        """Put into the engine what waits over columns."""
        rows = self.operator.waiting[self.place]
        self.stored.write(rows)
        clear_gaps(self.gaps)
        for gap in self.gaps:
            write_limits(gap, rows, rows.column(LIMIT).data)


def _bound(values: Sequence[Any]) -> Sequence[Any]:
    """Return values with null for what is unbound: only a head asks for that, which makes it null."""
    return ["null" if value is None else value for value in values] if None in values else values


def by_end(start: Any, end: Any, columns: Mapping[str, Column], arrival: Any = ()) -> Instances:
    """Return instances in the order in which they ended, those of one key as they stood; or as they arrived."""
    order = np.lexsort((arrival, start, end)) if len(arrival) else np.argsort(end, kind="stable")
    return Instances.of(np.zeros(len(end), np.int64), start, end, columns).take(order)


def keys_of(rows: Instances, names: Sequence[str]) -> Sequence[Any]:
    """Return join keys as the engine has them."""
    columns = [rows.column(name).values() for name in names]
    if len(columns) == 1:
        return columns[0]
    return list(zip(*columns, strict=True)) or [0] * len(rows)


def _grouped(rows: Instances, names: Sequence[str]) -> Any:
    """Return the order in which rows of one key stand together, by (end, start, arrival)."""
    group = KeyIndex(key_rows([[rows.column(name) for name in names]], [len(rows)])[0]).group
    return np.lexsort((rows.start, rows.end, group))


# absences


def clear_blockers(blockers: Blockers | LooseBlockers) -> None:
    """Note nothing for an absence."""
    if isinstance(blockers, LooseBlockers):
        blockers.items.clear()
    else:
        blockers.groups.clear()
        blockers.fifo.clear()


def _noted(blockers: Blockers | LooseBlockers) -> list[tuple[Any, int, int]]:
    """Return what an engine has noted for an absence: shared values, start, end."""
    if isinstance(blockers, LooseBlockers):
        return [(key[0] if len(key) == 1 else key, start, end) for key, start, end in blockers.items]
    return list(blockers.noted())


def clear_gaps(gaps: Iterable[Gap]) -> None:
    """Note nothing for some gaps."""
    for gap in gaps:
        clear_blockers(gap.blockers)


def find_limits(gaps: Iterable[Gap], types: Mapping[str, str], rows: Instances) -> Integers:
    """Return until when what follows left sides may begin, by what the engine has noted for their gaps."""
    limit = np.full(len(rows), NO_LIMIT)
    for gap in gaps:
        noted = read_blockers(gap.blockers, {v: types[v] for v in gap.joined})
        if len(noted) and len(rows):
            mine, asked = gap.absence.keys(noted, rows)
            BlockerIndex(mine, noted.start, noted.end).lower(limit, asked, rows.end)
    return limit


def write_limits(gap: Gap, rows: Instances, limit: Integers) -> None:
    """Note what has blocked left sides: one that began just after each of them ended, and ended at its limit.

    Of left sides with the same shared values, one that ended later was blocked no earlier, so none of them is blocked
    by what is noted for another one but where it was blocked itself.
    """
    blocked = np.flatnonzero(limit < NO_LIMIT)
    order = blocked[np.lexsort((rows.end[blocked], limit[blocked]))]
    noted = Instances(rows.turn[order], rows.end[order] + 1, limit[order], rows.take(order).blocks)
    write_blockers(gap.blockers, gap.joined, noted)


def read_blockers(blockers: Blockers | LooseBlockers, types: Mapping[str, str]) -> Instances:
    """Return what an engine has noted for an absence, by the variables it shares; a start is the latest so far."""
    keys, starts, ends = list(zip(*_noted(blockers), strict=True)) or ((), (), ())
    columns = [keys] if len(types) == 1 else list(zip(*keys, strict=True)) if keys else [()] * len(types)
    found = {name: to_column(values, types[name]) for name, values in zip(types, columns, strict=True)}
    return by_end(to_integers(starts), to_integers(ends), found)


def write_blockers(blockers: Blockers | LooseBlockers, names: Iterable[str], rows: Instances) -> None:
    """Note in an engine, which has noted nothing, what may block; rows come in the order in which they ended."""
    columns = [rows.column(name).values() for name in names]
    if isinstance(blockers, LooseBlockers):
        values = list(zip(*columns, strict=True)) or [()] * len(rows)
        blockers.items.extend(zip(values, rows.start.tolist(), rows.end.tolist(), strict=True))
        return
    keys = columns[0] if len(columns) == 1 else list(zip(*columns, strict=True)) or [()] * len(rows)
    watched = blockers.watched
    for key, start, end in zip(keys, rows.start.tolist(), rows.end.tolist(), strict=True):
        if watched is None or key in watched:
            blockers.note(key, start, end)


@dataclass(frozen=True, slots=True)
class BlockerLink(Link):
    """What an absence has noted, here and in the engine; `types` are those of the variables it shares."""

    operator: AbsenceTest | DeadlineOperator
    theirs: Blockers | LooseBlockers
    types: Mapping[str, str]

    @property
    def here(self) -> Hashable:
        """What tells the operator from others; one that waits for a deadline has a link for that, too."""
        return id(self.operator), "blockers"

    def fields(self) -> Iterator[KeptField]:
        """Yield what is noted."""
        yield KeptField.of_rows(self.operator, "blockers", self.types)

    def content(self) -> Any:
        """Return what the engine has noted."""
        return _noted(self.theirs)

    def load(self) -> None:
        """Take what the engine has noted."""
        self.operator.blockers = read_blockers(self.theirs, self.types)

    def save(self) -> None:
        """Put back what is noted."""
        clear_blockers(self.theirs)
        write_blockers(self.theirs, self.types, self.operator.blockers)


# what was made at this moment


def read_made(noted: Made, arity: int, now: int) -> list[tuple[Any, ...]]:
    """Return what an engine has made at the present moment, of one kind: start and attributes."""
    return [] if noted.stamp < now else list(noted.identities(arity))


def write_made(noted: Made, now: int, start: Integers, columns: Iterable[Column]) -> None:
    """Tell an engine what was made at the present moment."""
    noted.stamp = noted.seen_at = now
    noted.seen = set(zip(start.tolist(), *(column.values() for column in columns), strict=True))


@dataclass(frozen=True, slots=True)
class LatestLink(Link):
    """The events of one kind made at the latest moment, here and in the engine."""

    operator: LatestEvents
    theirs: Made
    arity: int
    state: State

    def fields(self) -> Iterator[KeptField]:
        """Yield the events that are remembered."""
        yield KeptField(self.operator, "made", lambda: None)

    def content(self) -> Any:
        """There is but one part for each kind of event."""
        return id(self.theirs)

    def load(self) -> None:
        """Take what the engine has made at the present moment."""
        now = self.state.now
        seen = read_made(self.theirs, self.arity, now)
        start, *columns = zip(*seen, strict=True) if seen else [()] * (1 + self.arity)
        zeros = np.zeros(len(seen), np.int64)
        found = [to_column(values, kind) for values, kind in zip(columns, self.operator.types, strict=True)]
        self.operator.made = (
            DerivedEvents(zeros, to_integers(start), np.full(len(seen), now), zeros, found) if seen else None
        )

    def save(self) -> None:
        """Tell the engine what was made at the present moment."""
        made = self.operator.made
        if made is not None and int(made.end[-1]) == self.state.now:
            write_made(self.theirs, self.state.now, made.start, made.columns)
