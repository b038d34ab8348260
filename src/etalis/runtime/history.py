"""The events received within the horizon, so that what followed from them can be worked out again.

Events are kept by partition (plan/keys.py): events of different partitions never meet in a rule, so a correction
concerns one partition alone. Rows lie in flat columns, each linked to the one before it in its partition: no container
per partition or event that Python's cyclic collector would have to walk.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from etalis.plan.keys import Kind, Partitioning
from etalis.runtime.code import Code
from etalis.runtime.replay import Chain, Content, Row
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

    def key(self, kind: Kind, args: tuple[Any, ...]) -> Any:
        """Return the partition of an event."""
        return TOGETHER if self.positions is None else args[self.positions[kind]]


Settle = Callable[[Part, Any, Chain, bool], Content | None]


class History:
    """Rows in order of arrival, by partition."""

    def __init__(self, partitioning: Partitioning, kinds: Iterable[Kind]) -> None:
        self.rows: list[Row | None] = []
        self.numbers: list[int] = []
        self.links: list[int] = []
        self.ids: dict[Hashable, int] = {}
        self.kinds = list(kinds)
        self.number_of = {kind: number for number, kind in enumerate(self.kinds)}
        self.parts: dict[Kind, Part] = {}
        self.together = Part(None)
        self._place(partitioning)
        self.first_rank = 1
        self.trim_at = LEAST_TRIM

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
        place = len(self.rows)
        self.rows.append(row)
        self.numbers.append(self.number_of[kind])
        self.links.append(part.last.get(key, FIRST))
        part.last[key] = place
        if name is not None:
            self.ids[name] = place

    def write(self, code: Code, kind: Kind, parameters: list[str], time: str, forget: Callable[[], None]) -> None:
        """Write `add` for an instant of a kind into generated code; its rank is its place."""
        part = self.parts[kind]
        key = str(TOGETHER) if part.positions is None else parameters[part.positions[kind]]
        rows, last = code.constant(self.rows), code.constant(part.last)
        flat = "".join(f", {x}" for x in parameters)
        code(f"n = len({rows})")
        with code.block(f"if n >= {code.constant(self)}.trim_at:"):
            code(f"{code.constant(forget)}()")
            code(f"n = len({rows})")
        code(f"{rows}.append(({time}, {time}, {code.constant(self)}.first_rank + n{flat}))")
        code(f"{code.constant(self.numbers)}.append({self.number_of[kind]})")
        code(f"{code.constant(self.links)}.append({last}.get({key}, {FIRST}))")
        code(f"{last}[{key}] = n")

    def chain(self, part: Part, key: Any, order: Order) -> Chain:
        """Return the rows of a partition in order."""
        found: Chain = []
        place = part.last.get(key, FIRST)
        while place != FIRST:
            row = self.rows[place]
            if row is not None:
                found.append((row, self.numbers[place]))
            place = self.links[place]
        found.reverse()
        found.sort(key=order)
        return found

    def find(self, kind: Kind, args: tuple[Any, ...], start: int, end: int) -> int | None:
        """Return where the latest row of an event is."""
        return next((place for place, row in self._like(kind, args) if row[:2] == (end, start)), None)

    def intervals(self, kind: Kind, args: tuple[Any, ...]) -> list[tuple[int, int]]:
        """Return (end, start) of the events with an atom."""
        return [row[:2] for _, row in self._like(kind, args)]

    def _like(self, kind: Kind, args: tuple[Any, ...]) -> Iterator[tuple[int, Row]]:
        """Yield the rows with an atom, the last that came first."""
        part = self.parts.get(kind)
        if part is None:
            return
        number = self.number_of[kind]
        place = part.last.get(part.key(kind, args), FIRST)
        while place != FIRST:
            row = self.rows[place]
            if row is not None and self.numbers[place] == number and row[3:] == args:
                yield place, row
            place = self.links[place]

    def forget(self, limit: int, order: Order, settle: Settle) -> None:
        """Let rows go that ended before `limit`; `settle` says what state they leave behind.

        Costs as much as there are rows, and is called when these have doubled since the last time.
        """
        gone: set[int] = set()
        for part in self.all_parts():
            for key, last in list(part.last.items()):
                places = self._places(last)
                old = [i for i in places if (row := self.rows[i]) is None or row[0] < limit]
                if old:
                    chain = [(row, self.numbers[i]) for i in old if (row := self.rows[i]) is not None]
                    chain.sort(key=order)
                    self._rebase(part, key, settle(part, key, chain, len(old) == len(places)))
                    gone.update(old)
        if gone:
            self._compact(gone)
        self.trim_at = max(LEAST_TRIM, 2 * len(self.rows))

    def _rebase(self, part: Part, key: Any, base: Content | None) -> None:
        if base is None:
            part.bases.pop(key, None)
        else:
            part.bases[key] = base

    def _places(self, place: int) -> list[int]:
        found = []
        while place != FIRST:
            found.append(place)
            place = self.links[place]
        return found

    def _compact(self, gone: set[int]) -> None:
        """Close the gaps, in place: generated code holds on to the columns."""
        moved = {FIRST: FIRST}
        rows: list[Row | None] = []
        numbers, links = [], []
        for place, link in enumerate(self.links):
            if place in gone:
                moved[place] = moved[link]  # what was linked to it is linked past it
            else:
                moved[place] = len(rows)
                rows.append(self.rows[place])
                numbers.append(self.numbers[place])
                links.append(moved[link])
        self.rows[:], self.numbers[:], self.links[:] = rows, numbers, links
        self.first_rank += len(gone)
        self.ids = {name: moved[place] for name, place in self.ids.items() if place not in gone}
        for part in self.all_parts():
            for key, place in list(part.last.items()):
                if moved[place] == FIRST:
                    del part.last[key]
                else:
                    part.last[key] = moved[place]

    def all_parts(self) -> list[Part]:
        """Return every part once."""
        return list({id(part): part for part in (*self.parts.values(), self.together)}.values())

    def next_rank(self) -> int:
        """Return the rank of the next event: how many came before it."""
        return self.first_rank + len(self.rows)
