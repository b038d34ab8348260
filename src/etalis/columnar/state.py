"""What rules over columns keep, in the stores of an engine and back: a run over batches begins and ends there.

Every operator that keeps something is tied to the part of the engine's state that its node of the plan has there
(`runtime.network`). Law: an engine whose state was taken over columns and put back goes on as if nothing had happened;
what is put back is what it would hold, less what can be part of no later match.
"""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from etalis.columnar.build import Once
from etalis.columnar.columns import Column, Instances, key_rows, nothing
from etalis.columnar.execute import Component, Latest, Made
from etalis.columnar.joins import LIMIT, NO_LIMIT, Join
from etalis.columnar.operators import Absence, Filter, Operator, Source, Union
from etalis.columnar.tables import Blockers as ByKey
from etalis.columnar.tables import Numbered
from etalis.columnar.typed import UnfitError, to_column, to_integers
from etalis.plan import algebra as p
from etalis.plan.retention import NEVER_STORED
from etalis.runtime.blockers import Blockers
from etalis.runtime.network import Entry, PlannedRule
from etalis.runtime.ruleset import RuleSet
from etalis.runtime.snapshot_stores import Tokens, table_columns, table_content
from etalis.runtime.state import Made as Noted
from etalis.runtime.state import State

Names = Mapping[str, str]  # of variables: in an entry, in the rule that reads it


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a join: its store by key, and the queue by which that expires; names are those of the operator."""

    join: Join
    place: int
    store: dict[Any, Any]
    fifo: deque[tuple[int, Any]] | None
    keys: tuple[str, ...]
    values: tuple[str, ...]
    types: Mapping[str, str]
    gaps: tuple[tuple[Absence, Blockers], ...]

    def load(self) -> None:
        """Let wait over columns what waits in the engine."""
        if not self.store:
            self.join.waiting[self.place] = nothing(self.types)
            return
        note, columns = table_columns(self.store, "instances")
        width = len(self.keys)
        if note["key"] != (width if width > 1 else 0) or len(columns) != max(width, 1) + len(self.values) + 2:
            raise UnfitError("what waits has compound terms")
        named = dict(zip((*self.keys, *self.values), columns if width else columns[1:], strict=False))
        found = {name: to_column(values, self.types[name]) for name, values in named.items()}
        rows = _by_end(to_integers(columns[-2]), to_integers(columns[-1]), found)
        rows = self.join.passing(self.place, rows)
        if self.gaps:
            rows = rows.with_columns({LIMIT: Column("int", self._limits(rows))})
        self.join.waiting[self.place] = rows.only(self.join.names[self.place])

    def _limits(self, rows: Instances) -> Any:
        limit = np.full(len(rows), NO_LIMIT)
        for absence, blockers in self.gaps:
            noted = read_blockers(absence, blockers)
            if len(noted) and len(rows):
                mine, asked = absence.keys(noted, rows)
                ByKey(mine, noted.start, noted.end).lower(limit, asked, rows.end)
        return limit

    def save(self) -> None:
        """Put into the engine what waits over columns."""
        rows = self.join.waiting[self.place]
        self.store.clear()
        if self.fifo is not None:
            self.fifo.clear()
        for _, blockers in self.gaps:
            _empty(blockers)
        if not len(rows):
            return
        if self.fifo is not None:
            self.fifo.extend(zip(rows.end.tolist(), _keys(rows, self.keys), strict=True))
        rows = rows.take(_grouped(rows, self.keys))
        width = len(self.keys)
        given = [rows.column(name).values() for name in self.keys] or [[0] * len(rows)]
        given += [rows.column(name).values() for name in self.values]
        given += [rows.start.tolist(), rows.end.tolist()]
        note = {"form": "instances", "key": width if width > 1 else 0}
        self.store.update(table_content(note, given, Tokens(0)))
        for absence, blockers in self.gaps:
            self._save_limits(rows, absence, blockers)

    def clear(self) -> None:
        """Let nothing wait over columns."""
        self.join.waiting[self.place] = nothing(self.types)

    def _save_limits(self, rows: Instances, absence: Absence, blockers: Blockers) -> None:
        """Note what has blocked left sides: one that began just after each of them ended, and ended at its limit.

        Of left sides with the same shared values, one that ended later was blocked no earlier, so none of them is
        blocked by what is noted for another one but where it was blocked itself.
        """
        limit = rows.column(LIMIT).data
        blocked = np.flatnonzero(limit < NO_LIMIT)
        order = blocked[np.lexsort((rows.end[blocked], limit[blocked]))]
        noted = Instances(rows.turn[order], rows.end[order] + 1, limit[order], rows.take(order).blocks)
        write_blockers(absence, blockers, noted)


def _by_end(start: Any, end: Any, columns: Mapping[str, Column]) -> Instances:
    """Return instances in the order in which they ended, those of one key as they stood."""
    order = np.argsort(end, kind="stable")
    return Instances.of(np.zeros(len(end), np.int64), start, end, columns).take(order)


def _keys(rows: Instances, names: Sequence[str]) -> Sequence[Any]:
    """Return join keys as the engine has them."""
    columns = [rows.column(name).values() for name in names]
    if len(columns) == 1:
        return columns[0]
    return list(zip(*columns, strict=True)) or [0] * len(rows)


def _grouped(rows: Instances, names: Sequence[str]) -> Any:
    """Return the order in which rows of one key stand together, by (end, start, arrival)."""
    group = Numbered(key_rows([[rows.column(name) for name in names]], [len(rows)])[0]).group
    return np.lexsort((rows.start, rows.end, group))


# absences


def _empty(blockers: Blockers) -> None:
    blockers.groups.clear()
    blockers.fifo.clear()


def read_blockers(absence: Absence, blockers: Blockers) -> Instances:
    """Return what an engine has noted for an absence; a start stands for the latest so far."""
    keys: list[Any] = []
    ends: list[int] = []
    starts: list[int] = []
    for key, group in blockers.groups.items():
        keys += [key] * len(group)
        ends += [end for end, _ in group]
        starts += [start for _, start in group]
    width = len(absence.joined)
    columns = [keys] if width == 1 else list(zip(*keys, strict=True)) if keys else [()] * width
    types = {name: absence.blockers.column(name).type for name in absence.joined}
    found = {name: to_column(values, types[name]) for name, values in zip(absence.joined, columns, strict=True)}
    return _by_end(to_integers(starts), to_integers(ends), found)


def write_blockers(absence: Absence, blockers: Blockers, rows: Instances) -> None:
    """Note in an engine, which has noted nothing, what may block; rows come in the order in which they ended."""
    columns = [rows.column(name).values() for name in absence.joined]
    keys = columns[0] if len(columns) == 1 else list(zip(*columns, strict=True)) or [()] * len(rows)
    groups, watched = blockers.groups, blockers.watched
    for key, start, end in zip(keys, rows.start.tolist(), rows.end.tolist(), strict=True):
        if watched is not None and key not in watched:
            continue
        group = groups.get(key)
        if group is None:
            groups[key] = [(end, start)]
        elif not blockers.first_only:
            group.append((end, max(start, group[-1][1])))
        if blockers.keep is not None:
            blockers.fifo.append((end, key))


@dataclass(frozen=True, slots=True)
class Blocking:
    """What an absence has noted, here and in the engine."""

    absence: Absence
    blockers: Blockers
    types: Mapping[str, str]

    def load(self) -> None:
        """Take what the engine has noted."""
        self.absence.blockers = read_blockers(self.absence, self.blockers)

    def save(self) -> None:
        """Put back what is noted."""
        _empty(self.blockers)
        write_blockers(self.absence, self.blockers, self.absence.blockers)

    def clear(self) -> None:
        """Note nothing over columns."""
        self.absence.blockers = nothing(self.types)


# what was made at this moment


@dataclass(frozen=True, slots=True)
class Making:
    """The events of one kind made at the latest moment, here and in the engine."""

    latest: Latest
    noted: Noted
    arity: int
    state: State

    def load(self) -> None:
        """Take what the engine has made at the present moment."""
        noted, now = self.noted, self.state.now
        self.latest.made = None
        if noted.stamp < now:
            return
        one = (noted.first[1], *noted.first[3 : 3 + self.arity]) if noted.first else ()
        seen = list(noted.seen) if noted.seen_at == noted.stamp else [one]
        start, *columns = zip(*seen, strict=True) if seen else [()] * (1 + self.arity)
        zeros = np.zeros(len(seen), np.int64)
        found = [to_column(values, kind) for values, kind in zip(columns, self.latest.types, strict=True)]
        self.latest.made = Made(zeros, to_integers(start), np.full(len(seen), now), zeros, found) if seen else None

    def save(self) -> None:
        """Tell the engine what was made at the present moment."""
        made = self.latest.made
        if made is not None and int(made.end[-1]) == self.state.now:
            self.noted.stamp = self.noted.seen_at = self.state.now
            values = [column.values() for column in made.columns]
            self.noted.seen = set(zip(made.start.tolist(), *values, strict=True))

    def clear(self) -> None:
        """Remember nothing over columns."""
        self.latest.made = None


Link: TypeAlias = Side | Blocking | Making


@contextmanager
def uncollected() -> Iterator[None]:
    """Keep the cyclic collector from walking millions of instances while they are moved: none is part of a circle."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class Shared:
    """The rules of a component, and how what they keep is tied to an engine."""

    def __init__(self, component: Component, rules: RuleSet) -> None:
        self.component = component
        self.links: list[Link] = []
        for kind, makers, latest in component.steps:
            self.links.append(Making(latest, rules.heads.made[kind], kind[1], rules.state))
            for maker in makers:
                planned = rules.rules[maker.number][0]
                entry, names = root_of(planned, rules)
                self.links.extend(_tie(maker.operator, entry, names, rules))
        self.links.sort(key=lambda link: isinstance(link, Blocking))  # these ask what waits

    def load(self) -> None:
        """Take the state from the engine; refuse what columns cannot hold, and equal parts with different contents."""
        loaded: dict[tuple[int, int], Link] = {}
        for link in self.links:
            first = loaded.setdefault(_here(link), link)
            if first is link:
                link.load()
            elif not _is_alike(first, link):
                raise UnfitError("equal parts of rules hold different instances")

    def save(self, saved: set[int]) -> None:
        """Put the state back into the engine, but for parts that have been `saved`: components may share some."""
        for link in self.links:
            if _there(link) not in saved:
                saved.add(_there(link))
                link.save()

    def clear(self) -> None:
        """Keep nothing over columns."""
        for link in self.links:
            link.clear()


def _here(link: Link) -> tuple[int, int]:
    """Return what tells the operator that keeps something from others."""
    match link:
        case Side(join=join, place=place):
            return id(join), place
        case Blocking(absence=absence):
            return id(absence), 0
        case Making(latest=latest):
            return id(latest), 0


def _there(link: Link) -> int:
    """Return what tells the part of an engine's state from others."""
    match link:
        case Side(store=store):
            return id(store)
        case Blocking(blockers=blockers):
            return id(blockers)
        case Making(noted=noted):
            return id(noted)


def _is_alike(a: Link, b: Link) -> bool:
    match a, b:
        case Side(), Side():
            pairs = zip(a.gaps, b.gaps, strict=True)
            return a.store == b.store and all(x.groups == y.groups for (_, x), (_, y) in pairs)
        case Blocking(), Blocking():
            return a.blockers.groups == b.blockers.groups
        case _:
            return True


def root_of(planned: PlannedRule, rules: RuleSet) -> tuple[Entry, Names]:
    """Return the entry of a rule's whole body, and the names that the rule has for its variables."""
    for entry in rules.wiring.entries:
        for reader in entry.readers:
            if reader.kind == "head" and reader.target is planned:
                return entry, reader.renames
    raise AssertionError("a rule reads its body")


def _tie(operator: Operator, entry: Entry, names: Names, rules: RuleSet) -> Iterator[Link]:
    """Yield the links of an operator and of those below it."""
    match operator:
        case Once(operator=inner):
            yield from _tie(inner, entry, names, rules)
        case Source():
            pass
        case Union(branches=branches):
            for place, branch in enumerate(branches):
                yield from _tie(branch, *_below(entry, "input", place, names), rules)
        case Filter(child=child, tests=tests):
            yield from _tie(child, *_below(entry, "input", 0, names), rules)
            for place, absence in enumerate(t for t in tests.tests if isinstance(t, Absence)):
                yield from _tie_absence(absence, entry, place, names, rules)
        case Join():
            yield from _tie_join(operator, entry, names, rules)
        case _:
            raise AssertionError("refused before")


def _tie_join(join: Join, entry: Entry, names: Names, rules: RuleSet) -> Iterator[Link]:
    compiler, memory = rules.compiler, rules.memory
    absent = [t for t in p.tests(join.node) if isinstance(t, p.Absent)]
    places = {id(test): place for place, test in enumerate(absent)}
    gaps = tuple((gap, memory[entry.key, f"blockers{places[id(gap.test)]}"]) for gap in join.gaps)
    for place in (0, 1):
        if compiler.retention(entry, place) != NEVER_STORED:
            keys = tuple(names.get(v, v) for v in compiler.keys(entry))
            values = tuple(names.get(v, v) for v in compiler.columns(entry, place))
            types = {v: join.waiting[place].column(v).type for v in join.names[place]}
            store, fifo = memory[entry.key, f"side{place}"], memory.get((entry.key, f"fifo{place}"))
            yield Side(join, place, store, fifo, keys, values, types, () if place else gaps)
        yield from _tie(join.inputs[place], *_below(entry, "input", place, names), rules)
    for absence in join.tests.tests:
        if isinstance(absence, Absence):
            yield from _tie_absence(absence, entry, places[id(absence.test)], names, rules)
    for gap in join.gaps:
        yield from _tie(gap.operator, *_below(entry, "negated", places[id(gap.test)], names), rules)


def _tie_absence(absence: Absence, entry: Entry, place: int, names: Names, rules: RuleSet) -> Iterator[Link]:
    types = {v: absence.blockers.column(v).type for v in absence.joined}
    yield Blocking(absence, rules.memory[entry.key, f"blockers{place}"], types)
    yield from _tie(absence.operator, *_below(entry, "negated", place, names), rules)


def _below(entry: Entry, kind: str, place: int, names: Names) -> tuple[Entry, Names]:
    """Return an input of an entry, and the rule's names for its variables."""
    child = (entry.inputs if kind == "input" else entry.negated)[place]
    for reader in child.readers:
        if reader.kind == kind and reader.target is entry and reader.place == place:
            known = {v: reader.renames.get(v, v) for v in (*child.node.exports, *reader.renames)}
            return child, {v: names.get(n, n) for v, n in known.items()}
    raise AssertionError("an input is read by its parent")
