"""The events received within the horizon, so that what followed from them can be worked out again.

Events are kept by partition (plan/keys.py): events of different partitions never meet in a rule, so a correction
concerns one partition alone. Each is linked to the one before it in its partition.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from etalis.plan.keys import Kind, Partitioning
from etalis.runtime.code import Code
from etalis.runtime.replay import Chain, Content
from etalis.runtime.row_log import BLOCK, Row, RowLog
from etalis.runtime.state import Tag

Order = Callable[[tuple[Row, int]], Any]

FIRST = -1
TOGETHER = 0
LEAST_TRIM = 4096


@dataclass(slots=True)
class Part:
    """The partitions of one group of rules: the newest row of each, and the state from before its rows."""

    positions: Mapping[Kind, int] | None
    last: dict[Any, int] = field(default_factory=dict)
    bases: dict[Any, Content] = field(default_factory=dict)
    tags: dict[Any, Tag] = field(default_factory=dict)
    is_plain: bool = False
    swept: int = 0  # how many bases there were when those that nothing is left of went

    def key(self, kind: Kind, args: tuple[Any, ...]) -> Any:
        """Return the partition of an event."""
        return TOGETHER if self.positions is None else args[self.positions[kind]]


Settle = Callable[[Part, Any, Chain, int | None], Content | None]


class History:
    """Rows in order of arrival, by partition; a place counts events from the first ever, so it serves as a rank.

    Old rows go from the front of the columns. Those of a partition that has newer ones are `kept` apart.
    """

    def __init__(self, partitioning: Partitioning, kinds: Iterable[Kind]) -> None:
        self.kinds = list(kinds)
        self.rows = RowLog([arity for _, arity in self.kinds])
        self.kept: dict[int, tuple[Row | None, int, int]] = {}
        self.ids: dict[Hashable, int] = {}
        self.number_of = {kind: number for number, kind in enumerate(self.kinds)}
        self.parts: dict[Kind, Part] = {}
        self.together = Part(None)
        self._place(partitioning)
        self.trim_at = LEAST_TRIM
        self.is_sorted = True

    def _place(self, partitioning: Partitioning) -> None:
        """Give every kind its part; events that cannot be told apart by a key stay together.

        So do groups in which an event may be made that is also made in another one.
        """
        for group in [] if partitioning.obstacles else partitioning.groups:
            if group.keys and not group.keys[0].loose:
                self.parts.update(dict.fromkeys(group.kinds, Part(group.keys[0].positions)))
        for kind in self.kinds:
            self.parts.setdefault(kind, self.together)

    def add(self, kind: Kind, row: Row, name: Hashable | None = None) -> None:
        """Append a row; `name` is the event's id."""
        part = self.parts[kind]
        key = part.key(kind, row[3:])
        place = self.rows.next_place()
        self.rows.add(row, self.number_of[kind], part.last.get(key, FIRST))
        part.last[key] = place
        if name is not None:
            self.ids[name] = place

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
        return next((name for name, where in self.ids.items() if where == place), None)

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

    def chain(self, part: Part, key: Any, order: Order) -> Chain:
        """Return the rows of a partition in order."""
        rows, offset, place = self.rows, self.rows.offset, part.last.get(key, FIRST)
        found: Chain = []
        while place >= offset:
            row, number, place = rows[place]
            if row is not None:
                found.append((row, number))
        if place in self.kept:
            found += [(row, number) for _, row, number in self.walk(place)]
        found.reverse()
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

    def forget(
        self, limit: int, order: Order, is_idle: Callable[[Part, Any], bool], settle: Settle,
        is_spent: Callable[[Content], bool],
    ) -> None:  # fmt: skip
        """Let rows go that ended before `limit`; `settle` says what state they leave behind where a partition has any.

        Called when the columns have doubled since the last time: what it costs per event does not grow.
        """
        cut = self.rows.first_since(limit)
        if cut > self.rows.offset:
            for part in self.all_parts():
                for key in [key for key, last in part.last.items() if last < cut]:
                    base = None if is_idle(part, key) else settle(part, key, self.chain(part, key, order), limit)
                    self._rebase(part, key, base)
                    self._drop(part.last.pop(key))
                    if base is None or not base.timers:
                        part.tags.pop(key, None)
            self._keep_linked(cut)
            self.rows.drop(cut)
            self.ids = {name: place for name, place in self.ids.items() if place >= cut or place in self.kept}
            if len(self.kept) > max(LEAST_TRIM, len(self.rows)):
                self._settle_kept(order, settle)
        for part in self.all_parts():
            if len(part.bases) > max(LEAST_TRIM, 2 * part.swept):
                self._sweep(part, is_spent)
        self.trim_at = max(LEAST_TRIM, 2 * len(self.rows))

    def _sweep(self, part: Part, is_spent: Callable[[Content], bool]) -> None:
        """Let go the bases without rows of which nothing is left in the engine that runs."""
        for key in [key for key, base in part.bases.items() if key not in part.last and is_spent(base)]:
            del part.bases[key]
            part.tags.pop(key, None)
        part.swept = len(part.bases)

    def _rebase(self, part: Part, key: Any, base: Content | None) -> None:
        if base is None:
            part.bases.pop(key, None)
        else:
            part.bases[key] = base

    def _drop(self, place: int) -> None:
        """Let the kept rows of a partition go."""
        if self.kept:
            for old in [old for old, _, _ in self.walk(place) if old < self.rows.offset]:
                del self.kept[old]

    def _keep_linked(self, cut: int) -> None:
        """Keep apart the rows before a place to which rows after it are linked."""
        offset = self.rows.offset
        for place in [link for link in self.rows.links_from(cut) if offset <= link < cut]:
            while place >= offset:
                self.kept[place] = self.row(place)
                place = self.kept[place][2]

    def _settle_kept(self, order: Order, settle: Settle) -> None:
        """Replace rows that are kept apart by the state that they leave behind."""
        for part in self.all_parts():
            for key, last in part.last.items():
                old = [(row, number) for place, row, number in self.walk(last) if place < self.rows.offset]
                if old:
                    old.sort(key=order)
                    self._rebase(part, key, settle(part, key, old, None))
        self.kept.clear()
        self.ids = {name: place for name, place in self.ids.items() if place >= self.rows.offset}

    def all_parts(self) -> list[Part]:
        """Return every part once."""
        return list({id(part): part for part in (*self.parts.values(), self.together)}.values())

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
