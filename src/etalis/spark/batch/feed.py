"""The rows of a shard as the engine takes them: tuples straight from columns, in the order of definition 6.1.

Law: rows are taken by (end, start, order column), and where these are equal in the standard order of the atoms.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from operator import length_hint
from typing import Any

import numpy as np
import pyarrow as pa

from etalis.data.values import Value, order_key
from etalis.language.attributes import Signature, convert
from etalis.logic.knowledge.arrow_columns import in_one
from etalis.runtime.step_keys import input_key
from etalis.spark.batch.input_names import InputNames
from etalis.tables.read.rejected_rows import cells_of, undeclared
from etalis.tables.results.row_ids import RowIds
from etalis.tables.schema import Part
from etalis.tables.sorting import ID, ORDER, TAG, Stretch
from etalis.temporal.event import Event, EventKind, event_of
from etalis.temporal.interval import MICROSECONDS

CHUNK = 10_000
Input = tuple[str, tuple[Any, ...], int, int]  # name, values, start, end


@dataclass(frozen=True, slots=True)
class Rows:
    """How rows of one tag become events: the event's name, and the slots and types of its attributes."""

    tag: str
    name: str
    slots: tuple[int, ...]
    types: tuple[str, ...]
    background: frozenset[Value] = frozenset()  # predicates that no row of triples has

    @property
    def kind(self) -> tuple[str, int]:
        """The name of its events and the number of their attributes."""
        return self.name, len(self.slots)

    @property
    def part(self) -> Part:
        """How they become events over columns."""
        columns = tuple(f"s{i}" for i in self.slots)
        return Part(self.tag, self.kind, columns, self.types, background=self.background)


class Feed:
    """Stretches of sorted rows, iterated as rows for `Engine.run`; knows where it is, for messages."""

    def __init__(
        self, stretches: Iterable[Stretch], rows: Sequence[Rows], signatures: Mapping[str, Signature],
        ids: RowIds | InputNames | None = None,
    ) -> None:  # fmt: skip
        self.stretches = stretches
        self.rows = {each.tag: each for each in rows}
        self.signatures = signatures
        self.ids = ids  # those of the rows that are taken go there
        self.kinds = {each.tag: EventKind(*each.kind) for each in rows}
        self.ranks = _rank_kinds(self.kinds)
        self._list: list[Any] = []
        self._iterator: Iterator[Any] = iter(())
        self._sorting: str | None = None

    def __iter__(self) -> Iterator[Any]:
        return chain.from_iterable(self._lists())

    def _lists(self) -> Iterator[Iterator[Any]]:
        for chunk in self.chunks():
            self._list = chunk.rows
            self._iterator = iter(chunk.rows)
            if self.ids is not None:
                self.ids.add(pa.array(self.name(chunk), pa.string()))
            yield self._iterator

    def name(self, chunk: Chunk) -> list[str]:
        """Return the ids of rows: those given, else what tells events apart."""
        given: list[str | None] = [None] * len(chunk.rows)
        if ID in chunk.table.column_names:
            given = chunk.table[ID].take(pa.array(chunk.places)).to_pylist()
        return [self._make_id(row) if known is None else known for row, known in zip(chunk.rows, given, strict=True)]

    def _make_id(self, row: Any) -> str:
        return Event.make(*self.read(row)).id

    def chunks(self) -> Iterator[Chunk]:
        """Yield the rows piece by piece; rows that tie are in one piece."""
        for stretch in self.stretches:
            pieces = _Pieces(stretch, self)
            low = 0
            while low < len(stretch):
                high = min(low + CHUNK, len(stretch))
                while high < len(stretch) and stretch.ties[high]:
                    high += 1
                yield pieces.chunk(low, high)
                low = high

    def events(self, chunk: Chunk) -> Iterator[Input]:
        """Yield the rows of a piece with values of their declared types."""
        self._list = chunk.rows
        self._iterator = iter(chunk.rows)
        for row in self._iterator:
            yield self.read(row)

    def read(self, row: Any) -> Input:
        """Return a row as name, values, start and end."""
        if isinstance(row, Event):
            name, args, start, end = row.name, row.args, row.start_time, row.end_time
        else:
            name, args, start = row[0], row[1:-1], row[-1] * MICROSECONDS
            end = start
        return name, convert(name, self.signatures.get(name, ()), args), start, end

    def place(self) -> str:
        """Say which row was taken last."""
        if self._sorting is not None:
            return self._sorting
        number = len(self._list) - length_hint(self._iterator) - 1
        if number < 0:
            return "a row"
        row = self._list[number]
        return f"{row.name} at {row.end} s" if isinstance(row, Event) else f"{row[0]} at {row[-1]} s"

    def of(self, tag: str) -> Rows:
        """Return how rows of a tag become events, or refuse them."""
        rows = self.rows.get(tag)
        if rows is None:
            raise undeclared(tag)
        return rows

    def sort_ties(self, tags: Sequence[str], values: Sequence[tuple[Any, ...]]) -> list[int]:
        """Sort rows of equal times; a column has one type, so plain comparison is the standard order but for nulls."""
        ranks = self.ranks
        run = range(len(tags))
        if ranks is not None:
            try:
                return sorted(run, key=lambda i: (ranks[tags[i]], values[i]))
            except TypeError:
                pass
        return sorted(run, key=lambda i: self._atom(tags[i], values[i]))

    def _atom(self, tag: str, values: tuple[Any, ...]) -> tuple[Any, ...]:
        name, arity = self.rows[tag].name, len(self.rows[tag].slots)
        self._sorting = tag
        known = convert(name, self.signatures.get(name, ()), values[:arity])
        self._sorting = None
        return (len(known), name, tuple(map(order_key, known)), values[arity:])


def _rank_kinds(kinds: Mapping[str, EventKind]) -> dict[str, int] | None:
    """Return the rank of each tag in the standard order; None where two tags are of one kind, and perhaps two types."""
    if len(set(kinds.values())) < len(kinds):
        return None
    return {tag: i for i, (tag, _) in enumerate(sorted(kinds.items(), key=lambda item: item[1]))}


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some rows in order, as the engine takes them, and where in a table they come from."""

    rows: list[Any]
    table: Any
    places: Any

    def key(self, number: int, feed: Feed) -> bytes:
        """Return the place of a row in the run."""
        equals = 0
        bare = self._key(number, 0, feed)
        while equals < number and self.rows[number - equals - 1] == self.rows[number]:
            if self._key(number - equals - 1, 0, feed) != bare:
                break
            equals += 1
        return self._key(number, equals, feed)

    def _key(self, number: int, equals: int, feed: Feed) -> bytes:
        name, values, start, end = feed.read(self.rows[number])
        order = None
        if ORDER in self.table.column_names:
            cell = self.table[ORDER][int(self.places[number])]
            order = cell.value if pa.types.is_timestamp(cell.type) else cell.as_py()
        return input_key(end, start, order, name, values, equals)


class _Pieces:
    """One stretch, cut into chunks."""

    def __init__(self, stretch: Stretch, feed: Feed) -> None:
        self.stretch = stretch
        self.feed = feed
        encoded = stretch.table[TAG].combine_chunks().dictionary_encode()
        self.codes = encoded.indices.to_numpy()
        self.tags: list[str] = encoded.dictionary.to_pylist()
        known = [feed.of(tag) for tag in self.tags]
        self.names = np.array([rows.name for rows in known], object)
        self.kinds = np.array([feed.kinds[tag] for tag in self.tags], object)
        self.slots = [(rows.slots, rows.types) for rows in known]
        alike = list(dict.fromkeys(self.slots))
        self.layouts = np.array([alike.index(slots) for slots in self.slots], np.int64)
        self.columns = {i: _column(stretch.table[f"s{i}"]) for slots, _ in alike for i in slots}

    def chunk(self, low: int, high: int) -> Chunk:
        """Return the rows of a part that ends no run of equal times in the middle."""
        stretch = self.stretch
        places, start, end = stretch.places[low:high], stretch.start[low:high], stretch.end[low:high]
        ties = stretch.ties[low:high]
        if ties.any():
            places = self._order(places, ties)
        is_plain = (start == end) & (end % MICROSECONDS == 0)
        codes = self.codes[places]
        groups = self.layouts[codes] * 2 + is_plain
        present = np.unique(groups).tolist()
        if len(present) == 1:
            return Chunk(self._alike(present[0], codes, places, start, end), stretch.table, places)
        rows = np.empty(len(places), object)
        for group in present:
            mine = np.flatnonzero(groups == group)
            found = self._alike(group, codes[mine], places[mine], start[mine], end[mine])
            rows[mine] = np.fromiter(found, object, len(found))
        return Chunk(rows.tolist(), stretch.table, places)

    def _alike(self, group: int, codes: Any, places: Any, start: Any, end: Any) -> list[Any]:
        """Return rows that have their attributes in the same slots and are all plain moments, or all not."""
        slots, types = self.slots[int(np.flatnonzero(self.layouts == group // 2)[0])]
        values = [self._values(i, places, t) for i, t in zip(slots, types, strict=True)]
        if group % 2:
            return list(zip(self.names[codes].tolist(), *values, (end // MICROSECONDS).tolist(), strict=True))
        raws = zip(end.tolist(), start.tolist(), self.kinds[codes].tolist(), *values, strict=True)
        return list(map(event_of, raws))

    def _values(self, slot: int, places: Any, kind: str = "any") -> list[Any]:
        column = self.columns[slot]
        if isinstance(column, np.ndarray):
            return column[places].tolist()  # type: ignore[no-any-return]
        return cells_of(column.take(pa.array(places)), kind)

    def _order(self, places: Any, ties: Any) -> Any:
        """Return places in order: rows of equal times in the standard order of their atoms."""
        places = places.copy()
        tied = ties | np.append(ties[1:], False)
        mine = np.flatnonzero(tied)
        run = places[mine]
        tags = [self.tags[code] for code in self.codes[run].tolist()]
        cells = self._cells(tags, run)
        for low, high in pairwise([*np.flatnonzero(~ties[mine]).tolist(), len(mine)]):
            order = self.feed.sort_ties(tags[low:high], cells[low:high])
            places[mine[low:high]] = run[low:high][order]
        return places

    def _cells(self, tags: Sequence[str], places: Any) -> list[tuple[Any, ...]]:
        """Return the attributes of some rows."""
        columns = {i: self._values(i, places) for i in self.columns}
        slots = {tag: self.feed.rows[tag].slots for tag in tags}
        cells = [tuple([columns[i][row] for i in slots[tag]]) for row, tag in enumerate(tags)]
        if ID not in self.stretch.table.column_names:
            return cells
        ids = self.stretch.table[ID].take(pa.array(places)).to_pylist()  # equal rows in the order of their ids
        return [(*cell, known or "") for cell, known in zip(cells, ids, strict=True)]


def _column(column: Any) -> Any:
    """Return a column as an array: of NumPy where that holds every value as it is."""
    whole = in_one(column)
    # The way through NumPy is several times as fast; a null among numbers would become a NaN there.
    if not whole.null_count and (pa.types.is_int64(whole.type) or pa.types.is_float64(whole.type)):
        return whole.to_numpy()
    return whole
