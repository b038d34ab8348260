"""The history: events received within the horizon, kept for replay.

Events are kept by partition (plan/keys.py): events of different partitions never meet in a rule, so a correction
concerns one partition alone. Each is linked to the one before it in its partition.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import takewhile
from typing import Any

from etalis.plan.keys import Kind, Partitioning
from etalis.runtime.codegen.source import Code
from etalis.runtime.deadlines.timers import Tag
from etalis.runtime.revision.checkpoint import Checkpoint, Checkpoints
from etalis.runtime.revision.replay import Chain, Order
from etalis.runtime.revision.row_log import BLOCK, Row, RowLog
from etalis.runtime.revision.rule_epochs import Content
from etalis.runtime.state import NEVER

FIRST = -1
TOGETHER = 0
LEAST_TRIM = 4096
BEHIND_DUE = "\0behind what fell due"  # the id of events raised when what is due at their end had come


@dataclass(slots=True, eq=False)
class RulePartitions:
    """The partitions of one group of rules: the newest row of each, and the state from before its rows."""

    positions: Mapping[Kind, int] | None
    last: dict[Any, int] = field(default_factory=dict)
    bases: dict[Any, Content] = field(default_factory=dict)
    tags: dict[Any, Tag] = field(default_factory=dict)
    is_plain: bool = False
    checkpoints: Checkpoints = field(default_factory=Checkpoints)

    def key(self, kind: Kind, args: tuple[Any, ...]) -> Any:
        """Return the partition of an event."""
        return TOGETHER if self.positions is None else args[self.positions[kind]]


Settle = Callable[[RulePartitions, Any, Chain, int], Content | None]


class History:
    """Rows in order of arrival, by partition; a place counts events from the first ever, so it serves as a rank.

    Old rows go from the front of the columns. Those of a partition that has newer ones are `kept` apart.
    """

    def __init__(self, partitioning: Partitioning, kinds: Iterable[Kind]) -> None:
        self.kinds = list(kinds)
        self.rows = RowLog([arity for _, arity in self.kinds])
        self.kept: dict[int, tuple[Row | None, int, int]] = {}
        self.ids: dict[Hashable, list[int]] = {}  # of several events where these are one element
        self.number_of = {kind: number for number, kind in enumerate(self.kinds)}
        self.parts: dict[Kind, RulePartitions] = {}
        self.together = RulePartitions(None)
        self._expiring: list[tuple[int, int, RulePartitions, Any]] = []
        self._count = 0
        self.regroup(partitioning, ())
        self.trim_at = LEAST_TRIM
        self.is_sorted = True

    def _place(self, partitioning: Partitioning) -> dict[Kind, tuple[RulePartitions, Mapping[Kind, int]]]:
        """Return the parts of kinds, and by what these are parted; all others stay together.

        So do groups in which an event may be made that is also made in another one, and events that were parted by
        another key, or not at all.
        """
        found: dict[Kind, tuple[RulePartitions, Mapping[Kind, int]]] = {}
        groups = () if partitioning.obstacles else partitioning.groups
        read = {kind for group in groups for kind in group.kinds}
        for group in groups:
            known = _distinct(self.parts[kind] for kind in group.kinds if kind in self.parts)
            own = {kind for kind, part in self.parts.items() if part in known and kind in read}
            part = known[0] if known else RulePartitions({})
            keys = [key.positions for key in group.keys if not key.loose and _agree(part.positions, key.positions, own)]
            if keys and len(known) < 2 and own <= set(group.kinds):
                positions = {**(part.positions or {}), **keys[0]}
                found.update(dict.fromkeys(group.kinds, (part, positions)))
        return found

    def add(self, kind: Kind, row: Row, name: Hashable | None = None) -> None:
        """Append a row; `name` is the event's id."""
        part = self.parts[kind]
        key = part.key(kind, row[3:])
        place = self.rows.next_place()
        self.rows.add(row, self.number_of[kind], part.last.get(key, FIRST))
        part.last[key] = place
        if name is not None:
            self.ids.setdefault(name, []).append(place)

    def write(self, code: Code, kind: Kind, parameters: list[str], time: str, forget: Callable[[], None]) -> None:
        """Write `add` for an instant of a kind into generated code."""
        part = self.parts[kind]
        key = str(TOGETHER) if part.positions is None else parameters[part.positions[kind]]
        rows, last = self.rows, code.constant(part.last)
        cells, numbers, links = map(code.constant, (rows.cells, rows.numbers, rows.links))
        spare = ["None"] * (rows.width - 1 - len(parameters))
        code(f"n = len({numbers})")
        with code.block(f"if n >= {BLOCK}:"):
            code(f"{code.constant(self._close_block)}({code.constant(forget)})")
            code("n = 0")
        code(f"n += {code.constant(rows)}.first")
        code(f"{cells}.extend(({', '.join([time, *parameters, *spare])},))")
        code(f"{numbers}.append({self.number_of[kind]})")
        code(f"{links}.append({last}.get({key}, {FIRST}))")
        code(f"{last}[{key}] = n")

    def row(self, place: int) -> tuple[Row | None, int, int]:
        """Return a row with the number of its kind and the place of the one before it in its partition."""
        return self.rows[place] if place >= self.rows.offset else self.kept[place]

    def name_of(self, place: int) -> Hashable | None:
        """Return the id of the event at a place, if it came with one."""
        return next((name for name, places in self.ids.items() if place in places), None)

    def take_out(self, place: int) -> None:
        """Let a row be as if it had never been."""
        if place < self.rows.offset:
            self.kept[place] = (None, *self.kept[place][1:])
        else:
            self.rows.take_out(place)

    def items(self) -> Iterator[tuple[int, Row, int]]:
        """Yield all rows in order of arrival, with their places and the numbers of their kinds."""
        for place, (row, number, _) in sorted(self.kept.items()):
            if row is not None:
                yield place, row, number
        for place in range(self.rows.offset, self.rows.next_place()):
            row, number, _ = self.rows[place]
            if row is not None:
                yield place, row, number

    def walk(self, place: int) -> Iterator[tuple[int, Row, int]]:
        """Yield the rows of a partition from a place back, with their places and the numbers of their kinds."""
        rows, kept = self.rows, self.kept
        while place >= rows.offset or place in kept:
            row, number, link = rows[place] if place >= rows.offset else kept[place]
            if row is not None:
                yield place, row, number
            place = link

    def chain(self, part: RulePartitions, key: Any, order: Order, after: Checkpoint | None = None) -> Chain:
        """Return the rows of a partition in order, those behind a checkpoint or all."""
        rows, place = self.rows, part.last.get(key, FIRST)
        since = rows.offset if after is None else max(rows.offset, after.since)
        found: Chain = []
        while place >= since:
            row, number, place = rows[place]
            if row is not None:
                found.append((row, number))
        if place in self.kept and (after is None or place >= after.since):
            least = FIRST if after is None else after.since
            found += [(row, n) for _, row, n in takewhile(lambda item: item[0] >= least, self.walk(place))]
        found.reverse()
        if after is not None:
            found = [item for item in found if order(item) > after.order]
        if not self.is_sorted:
            found.sort(key=order)
        return found

    def find(
        self, kind: Kind, args: tuple[Any, ...], start: int, end: int, *, before: bool, since: int
    ) -> int | None:  # fmt: skip
        """Return where the latest row of an event is; if there is none, and `before`, of the latest one before it.

        What ended before the moment `since` is not found.
        """
        part = self.parts.get(kind)
        if part is None:
            return None
        rows, kept, offset = self.rows, self.kept, self.rows.offset
        number, best, found = self.number_of[kind], (), None
        place = part.last.get(part.key(kind, args), FIRST)
        while place >= offset or place in kept:
            row, this, link = rows[place] if place >= offset else kept[place]
            if row is not None and this == number and row[3:] == args and row[0] >= since:
                if row[0] == end and row[1] == start:
                    return place
                if before and row[0] <= end and row[:3] > best:
                    best, found = row[:3], place
            place = link
        return found

    def forget(self, limit: int, order: Order, is_idle: Callable[[RulePartitions, Any], bool], settle: Settle) -> None:
        """Let rows go that ended before `limit`; `settle` says what state they leave behind where a partition has any.

        Called when the columns have doubled since the last time: what it costs per event does not grow.
        """
        cut = self.rows.first_since(limit)
        if cut > self.rows.offset:
            for part in self.all_parts():
                for key in [key for key, last in part.last.items() if last < cut]:
                    base = None if is_idle(part, key) else settle(part, key, self.chain(part, key, order), limit)
                    part.checkpoints.drop(key)
                    self._drop(part.last.pop(key))
                    self.rebase(part, key, base)
            self._keep_linked(cut)
            self.rows.drop(cut)
            self._keep_ids(lambda place: place >= cut or place in self.kept)
            if len(self.kept) > max(LEAST_TRIM, len(self.rows)):
                self.settle_before(limit, order, settle)
        self._expire(limit, settle)
        self.trim_at = max(LEAST_TRIM, 2 * len(self.rows))

    def rebase(self, part: RulePartitions, key: Any, base: Content | None) -> None:
        """Let the history of a partition begin with another state."""
        if base is None:
            part.bases.pop(key, None)
        else:
            part.bases[key] = base
            if base.expires < NEVER:
                self._count += 1
                heappush(self._expiring, (base.expires, self._count, part, key))
        # Time points set timers of events that are kept together whether or not any of these are left.
        if (base is None or not base.timers) and key not in part.last and part is not self.together:
            part.tags.pop(key, None)

    def _expire(self, limit: int, settle: Settle) -> None:
        """Let the states of partitions go that nothing came to any more, when nothing in them can be used."""
        due: list[tuple[RulePartitions, Any]] = []
        while self._expiring and self._expiring[0][0] < limit:
            *_, part, key = heappop(self._expiring)
            due.append((part, key))
        for part, key in due:  # what is left of a state may be looked at again, but not now
            base = part.bases.get(key)
            if base is not None and base.expires < limit and key not in part.last:
                self.rebase(part, key, settle(part, key, [], limit))

    def _drop(self, place: int) -> None:
        """Let the kept rows of a partition go."""
        while self.kept and (place >= self.rows.offset or place in self.kept):
            link = self.row(place)[2]
            self.kept.pop(place, None)
            place = link

    def _keep_linked(self, cut: int) -> None:
        """Keep apart the rows before a place to which rows after it are linked."""
        offset = self.rows.offset
        for place in [link for link in self.rows.links_from(cut) if offset <= link < cut]:
            while place >= offset:
                self.kept[place] = self.row(place)
                place = self.kept[place][2]

    def settle_before(self, limit: int, order: Order, settle: Settle) -> None:
        """Replace all rows that ended before a moment by the states that they leave behind."""
        for part in self.all_parts():
            always = [TOGETHER] if part is self.together else []
            for key in list(dict.fromkeys((*part.last, *part.bases, *always))):
                old = [(place, row) for place, row, _ in self.walk(part.last.get(key, FIRST)) if row[0] < limit]
                chain = [item for item in self.chain(part, key, order) if item[0][0] < limit]
                self.rebase(part, key, settle(part, key, chain, limit))
                part.checkpoints.drop(key)
                for place, _ in old:
                    self.take_out(place)
        self.kept.clear()
        self._keep_ids(lambda place: place >= self.rows.offset)

    def _keep_ids(self, is_kept: Callable[[int], bool]) -> None:
        """Forget the ids of events that are not kept."""
        found = ((name, [place for place in places if is_kept(place)]) for name, places in self.ids.items())
        self.ids = {name: places for name, places in found if places}

    # other rules

    def set_parts(self, parts: Mapping[Kind, RulePartitions]) -> None:
        """Part events as another run did."""
        self.parts = dict(parts)
        self.kinds = list(dict.fromkeys((*self.kinds, *parts)))
        self.number_of = {kind: number for number, kind in enumerate(self.kinds)}

    def parts_anew(self, partitioning: Partitioning) -> bool:
        """Tell whether rules no longer part what is parted."""
        kept = {id(part) for part, _ in self._place(partitioning).values()}
        return any(id(part) not in kept for part in self.all_parts() if part is not self.together)

    def regroup(self, partitioning: Partitioning, kinds: Iterable[Kind]) -> list[RulePartitions]:
        """Take more kinds of event, and keep together what other rules no longer part; return what is parted no more.

        If there is anything such, the states that partitions begin with must all be of one moment.
        """
        for kind in kinds:
            if kind not in self.number_of:
                self.number_of[kind] = len(self.kinds)
                self.kinds.append(kind)
        self.rows.widen([arity for _, arity in self.kinds])
        before, placed = self.parts, self._place(partitioning)
        for part, positions in placed.values():
            part.positions = positions
        kept = {id(part) for part, _ in placed.values()}
        self.parts = {kind: part for kind, part in before.items() if id(part) in kept}
        self.parts |= {kind: part for kind, (part, _) in placed.items()}
        self.parts |= {kind: self.together for kind in self.kinds if kind not in self.parts}
        gone = [part for part in _distinct(before.values()) if id(part) not in kept and part is not self.together]
        for part in gone:
            self._join(part)
        if gone:
            self._link()
        return gone

    def _join(self, part: RulePartitions) -> None:
        """Put the states that the partitions of a part begin with to those of all that is not parted."""
        for base in part.bases.values():
            other = self.together.bases.get(TOGETHER)
            self.rebase(self.together, TOGETHER, base if other is None else other.with_other(base))
        part.bases.clear()

    def _link(self) -> None:
        """Link every row to the one before it in its partition."""
        for part in self.all_parts():
            part.last.clear()
        for place in sorted(self.kept):
            row, number, _ = self.kept[place]
            self.kept[place] = (row, number, self._follow(place, row, number))
        for place in range(self.rows.offset, self.rows.next_place()):
            row, number, _ = self.rows[place]
            self.rows.link(place, self._follow(place, row, number))

    def _follow(self, place: int, row: Row | None, number: int) -> int:
        """Make a row the last of its partition; return which one was."""
        if row is None:
            return FIRST
        kind = self.kinds[number]
        part = self.parts[kind]
        key = part.key(kind, row[3:])
        link = part.last.get(key, FIRST)
        part.last[key] = place
        return link

    def all_parts(self) -> list[RulePartitions]:
        """Return every part once."""
        return _distinct((*self.parts.values(), self.together))

    def count(self) -> int:
        """Return how many rows there are."""
        return self.rows.count() + sum(row is not None for row, _, _ in self.kept.values())

    def next_place(self) -> int:
        """Return the place of the next event: how many came before it, and one."""
        return self.rows.next_place()

    def skip(self) -> None:
        """Count an event that no rule reads, or that waits elsewhere."""
        self.rows.skip(FIRST)

    def is_long(self) -> bool:
        """Tell whether it is time to let go what can change no more."""
        return len(self.rows) >= self.trim_at

    def _close_block(self, forget: Callable[[], None]) -> None:
        self.rows.close_block()
        if self.is_long():
            forget()


def _distinct(parts: Iterable[RulePartitions]) -> list[RulePartitions]:
    """Return every part once."""
    return list({id(part): part for part in parts}.values())


def _agree(old: Mapping[Kind, int] | None, new: Mapping[Kind, int], kinds: Iterable[Kind]) -> bool:
    """Tell whether two keys stand at the same places of some kinds."""
    return old is not None and all(old.get(kind) == new.get(kind) for kind in kinds)
