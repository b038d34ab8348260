"""What repetitions have counted, over columns and in an engine: left sides or runs, and matches that wait.

An engine keeps left sides in one operator and their matches in the store of what follows, tied by tokens; columns keep
one row for both. Law: a match that waits is the only one of its left side, so that a row tells which it is.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, TypeAlias

import numpy as np

from etalis.columnar.data.casts import to_column, to_integers
from etalis.columnar.data.columns import Column
from etalis.columnar.data.instances import Instances
from etalis.columnar.kernels.repetition import NO_MATCH
from etalis.columnar.repetition.chains import ORIGIN
from etalis.columnar.repetition.counted import CountedRepetition
from etalis.columnar.repetition.counters import GroupCounters
from etalis.columnar.state.base import KeptField, Link
from etalis.columnar.state.links import Gap, StoredSide, clear_gaps, find_limits, keys_of, write_limits
from etalis.runtime.operators.base import Values, rank
from etalis.runtime.operators.repetition.counted import Left, Run, is_usable
from etalis.runtime.operators.repetition.repeater import Repeater
from etalis.runtime.operators.repetition.runner import Runner
from etalis.runtime.operators.store import Token, members, put

Counted: TypeAlias = Any  # Left | Run, as the operator has it
_ANYTHING: Mapping[str, Any] = {"int": 0, "float": 0.0, "string": ""}  # where nobody asks again


@dataclass(frozen=True, slots=True)
class FollowerStore:
    """What follows a repetition, in the engine: where matches wait, and what may lie in between."""

    stored: StoredSide
    gaps: tuple[Gap, ...]

    def matches(self) -> Iterator[tuple[Token, dict[str, Any], int, int]]:
        """Yield the matches that wait, those of a key in order: token, what they hold by name, start, end."""
        keys, names = self.stored.keys, self.stored.values
        for key, group in self.stored.store.items():
            known = dict(zip(keys, key if len(keys) > 1 else (key,), strict=False))
            for *values, start, end in members(group):
                held = {**known, **dict(zip(names, values, strict=True))}
                yield held["$token"], held, start, end

    def write(self, rows: Instances, ends: Sequence[int], tokens: Sequence[Token]) -> None:
        """Let matches wait instead of those that do; they come in the order of their ends."""
        self.stored.clear()
        columns = [tokens if v == "$token" else rows.column(v).values() for v in self.stored.values]
        keys = keys_of(rows, self.stored.keys)
        for key, instance in zip(keys, zip(*columns, rows.start.tolist(), ends, strict=True), strict=True):
            put(self.stored.store, key, instance)
        if self.stored.fifo is not None:
            self.stored.fifo.extend(zip(ends, keys, strict=True))


@dataclass(frozen=True, slots=True)
class RepetitionLink(Link):
    """Left sides, or runs, with what they have counted.

    The `exports` of a left side, the variables that it `shares` with elements and those of them by which it is found
    (`keys`) are in the engine's order; `types` are those of the columns.
    """

    operator: CountedRepetition
    theirs: Repeater | Runner
    following: FollowerStore | None
    exports: tuple[str, ...]
    shares: tuple[str, ...]
    keys: tuple[str, ...]
    types: Mapping[str, str]

    def fields(self) -> Iterator[KeptField]:
        """Yield left sides, their number, and what they have counted in groups."""
        yield KeptField.of_rows(self.operator, "waiting", self.types)
        yield KeptField(self.operator, "number")
        if self.operator.groups is not None:
            yield KeptField.of_rows(self.operator.groups, "kept", self.operator.groups.types)

    def content(self) -> list[Any]:
        """Return what the engine counts after, and the matches that wait there."""
        found: list[Any] = [(key, *self._row(key, one), _counts(one)) for key, one in self._waiting()]
        if self.following is not None:
            found += [(start, end, {**held, "$token": None}) for _, held, start, end in self.following.matches()]
        return found

    def _waiting(self) -> list[tuple[Values, Counted]]:
        """Return what the engine counts after, with the keys of its groups, those of a group in order."""
        theirs = self.theirs
        groups: Mapping[Values, list[Any]] = theirs.runs if isinstance(theirs, Runner) else theirs.lefts.groups
        return [(key, one) for key, group in groups.items() for one in sorted(group, key=rank) if is_usable(one)]

    def _row(self, key: Values, one: Counted) -> tuple[Any, ...]:
        """Return start, end, what is exported, how many were counted, since when, and until when."""
        if isinstance(self.theirs, Runner):
            return one.start, one.start, *key, one.number, one.start, one.end  # its first element ended then or later
        count = (0, 0, 0) if self.operator.groups is not None else next(iter(_counts(one).values()), (0, 0, 0))
        return one.start, one.end, *one.values, *count

    def load(self) -> None:
        """Take what the engine counts after, and the matches that wait there."""
        waiting = self._waiting()
        rows = [self._row(key, one) for key, one in waiting]
        places = {id(one.token): place for place, (_, one) in enumerate(waiting)}
        held: list[tuple[int, int, dict[str, Any]]] = []
        for token, match, start, end in () if self.following is None else self.following.matches():
            place = places.setdefault(id(token.origin), len(rows))
            if place == len(rows):  # what it was counted after is gone
                values = (match.get(v, _ANYTHING.get(self.types[v], "null")) for v in self.exports)
                rows.append((start, match.get("$first", start), *values, 0, 0, 0))
            held.append((place, end, match))
        count = len(rows)
        starts, ends, *columns = list(zip(*rows, strict=True)) or [()] * (5 + len(self.exports))
        names = (*self.exports, "$number", "$begun", "$counted")
        found = {v: to_column(some, self.types[v]) for v, some in zip(names, columns, strict=True)}
        matched, placed = np.full(count, NO_MATCH), np.arange(count)
        if self.operator.groups is None:
            at = to_integers([place for place, _, _ in held])
            matched[at] = to_integers([end for _, end, _ in held])
            placed[at] = np.arange(len(held)) - len(held)
        else:
            self._load_slots(self.operator.groups, [one for _, one in waiting], held)
        state = {"$matched": matched, "$placed": placed, "$listed": np.arange(count) - count, ORIGIN: np.arange(count)}
        state["$waits"] = (np.arange(count) < len(waiting)).astype(np.int64)
        found.update({v: Column("int", data) for v, data in state.items()})
        self.operator.number = count
        loaded = Instances.of(np.zeros(count, np.int64), to_integers(starts), to_integers(ends), found)
        limit = find_limits(() if self.following is None else self.following.gaps, self.types, loaded)
        self.operator.waiting = loaded.with_columns({"$limit": Column("int", limit)}).only(self.operator.names)

    def _load_slots(
        self, groups: GroupCounters, lefts: Sequence[Left], held: Sequence[tuple[int, int, dict[str, Any]]]
    ) -> None:
        """Take what left sides have counted in groups, and which matches of these wait."""
        at = [self.shares.index(v) for v in groups.names]
        found: dict[tuple[Any, ...], list[int]] = {}
        for number, left in enumerate(lefts):
            for key, count in _counts(left).items():
                found[number, *(key[place] for place in at)] = [*count, NO_MATCH, 0]
        for place, (number, end, match) in enumerate(held):  # what it does not tell is one for all that wait
            key = (number, *(match.get(v, _ANYTHING.get(groups.types[v], "null")) for v in groups.names))
            found.setdefault(key, [0, 0, 0, NO_MATCH, 0])[3:] = end, place - len(held)
        rows = [(*key, *count) for key, count in found.items()]
        columns = list(zip(*rows, strict=True)) or [()] * len(groups.types)
        typed = {v: to_column(some, kind) for (v, kind), some in zip(groups.types.items(), columns, strict=True)}
        none = np.zeros(len(rows), np.int64)
        groups.kept = Instances.of(none, none, none, typed)

    def save(self) -> None:
        """Let the engine count after what is counted after here."""
        rows = self.operator.waiting
        rows = rows.take(np.argsort(rows.column("$listed").data, kind="stable"))
        owners = self._owners(rows)
        self._save_waiting(rows, owners)
        if self.following is not None:
            clear_gaps(self.following.gaps)
            for gap in self.following.gaps:
                write_limits(gap, rows, rows.column("$limit").data)
        groups = self.operator.groups
        if groups is not None:
            kept = groups.kept
            places = {origin: place for place, origin in enumerate(rows.column(ORIGIN).data.tolist())}
            at = to_integers([places[origin] for origin in kept.column(ORIGIN).data.tolist()])
            rows = rows.take(at).with_columns({v: kept.column(v) for v in groups.types})
            owners = [owners[place] for place in at.tolist()]
            self._save_counts(rows, owners)
        if self.following is not None:
            self._save_matches(self.following, rows, owners)

    def _save_counts(self, rows: Instances, owners: list[Left]) -> None:
        """Let left sides have counted in groups what slots have."""
        keys = zip(*(rows.column(v).values() for v in self.shares), strict=True)
        counts = zip(*(rows.column(v).data.tolist() for v in ("$number", "$begun", "$counted")), strict=True)
        for left, key, count in zip(owners, keys, counts, strict=True):
            if count[0]:
                left.counts[key] = list(count)

    def _owners(self, rows: Instances) -> list[Counted]:
        """Return what is counted after, as the engine has it."""
        number, begun, counted = (rows.column(v).data.tolist() for v in ("$number", "$begun", "$counted"))
        starts, ends = rows.start.tolist(), rows.end.tolist()
        if isinstance(self.theirs, Runner):
            return [_run(*given) for given in zip(starts, counted, number, strict=True)]
        values = [*zip(*(rows.column(v).values() for v in self.exports), strict=True)] or [()] * len(rows)
        lefts = [Left(*given, ()) for given in zip(values, starts, ends, strict=True)]
        for left, *count in zip(lefts, number, begun, counted, strict=True):
            if count[0]:
                key = tuple(left.values[self.exports.index(v)] for v in self.shares)
                left.counts[key] = count
        return lefts

    def _save_waiting(self, rows: Instances, owners: list[Counted]) -> None:
        """Let the engine count after the rows that wait; a run expires by its start, a left side by its end."""
        keys = [*zip(*(rows.column(v).values() for v in self.keys), strict=True)] or [()] * len(rows)
        waiting = [(keys[i], owners[i]) for i in np.flatnonzero(rows.column("$waits").data).tolist()]
        theirs = self.theirs
        if isinstance(theirs, Runner):
            shelve(theirs.runs, None if theirs.window is None else theirs.fifo, waiting, "start")
        else:
            shelf = theirs.lefts
            shelve(shelf.groups, None if shelf.keep is None else shelf.fifo, waiting, "end")

    def _save_matches(self, following: FollowerStore, rows: Instances, owners: list[Counted]) -> None:
        """Let the matches wait that do; those of one end in the order in which they came."""
        matched, placed = rows.column("$matched").data, rows.column("$placed").data
        order = np.lexsort((placed, matched))
        order = order[matched[order] != NO_MATCH]
        marked = rows if "$first" in self.exports else rows.with_columns({"$first": Column("int", rows.end)})
        following.write(marked.take(order), matched[order].tolist(), [owners[i].token for i in order.tolist()])


def shelve(
    groups: dict[Values, list[Any]], fifo: deque[tuple[int, Any]] | None, waiting: Sequence[tuple[Values, Any]],
    since: str,
) -> None:  # fmt: skip
    """Let something wait by key instead of what does, and expire, if it can, a while `since` it started or ended."""
    groups.clear()
    for key, one in waiting:
        groups.setdefault(key, []).append(one)
    for group in groups.values():
        group.sort(key=rank)
    if fifo is not None:
        fifo.clear()
        fifo.extend(sorted(((getattr(one, since), key) for key, one in waiting), key=itemgetter(0)))


def _counts(one: Counted) -> dict[Values, list[int]]:
    return one.counts if isinstance(one, Left) and one.counted else {}


def _run(start: int, end: int, number: int) -> Run:
    run = Run(start, end)
    run.number = number
    return run
