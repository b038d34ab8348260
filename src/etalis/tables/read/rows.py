"""Sources that are read row by row (text, Python objects) as tables: every kind of event has columns of its own.

Law: an attribute has the value that it has event at a time, because the same rules read it. Where every attribute is
declared with a flat type, blocks pass by; otherwise all are kept, since a later one may show another type. What is of
several types, or no number or text, is written as JSON.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from etalis.errors import Problem
from etalis.formats.row import Bad, Place, Reading
from etalis.plan.keys import Kind, show
from etalis.tables.read.blocks import ARROW, Block, spread, to_arrow, too_large, types_of, without
from etalis.tables.schema import JSON, Frame, Layout
from etalis.temporal.interval import to_seconds

EVENT, START, END = "event", "start", "end"
_DECLARED = {"int": "int", "float": "float", "string": "string", "bool": "string"}
_SPARK = {"int": "bigint", "float": "double", "string": "string", JSON: JSON}
_LOG = logging.getLogger("etalis.columns")


@dataclass(slots=True)
class RowTable:
    """A source of rows as a table: the parts that its columns play, and its batches, which are read once."""

    reading: Reading
    received: Sequence[Kind]
    blocks: Iterable[Block]
    types: dict[Kind, tuple[str, ...]] = field(default_factory=dict)
    bad: list[Bad] = field(default_factory=list)

    @property
    def schema(self) -> pa.Schema:
        """The columns of the table."""
        columns = [(name, ARROW[t]) for kind in self.received for name, t in self._columns(kind)]
        return pa.schema([(EVENT, pa.string()), (START, pa.int64()), (END, pa.int64()), *columns])

    def _columns(self, kind: Kind) -> Iterator[tuple[str, str]]:
        return zip(_names(kind), self.types[kind], strict=True)

    def frame(self) -> Frame:
        """Return the part of every column."""
        seen = self.reading.seen
        moment = "timestamp" if seen.stamps else "double" if seen.fractions else "bigint"
        return Frame(EVENT, (START, END), (moment, moment), None, None, tuple(map(self._layout, self.received)))

    def _layout(self, kind: Kind) -> Layout:
        types, declared = self.types[kind], _declared(self.reading, kind)
        readings = tuple(t if t == JSON or d is None else d for t, d in zip(types, declared, strict=True))
        return Layout(show(kind), kind, _names(kind), tuple(_SPARK[t] for t in types), tuple(declared), readings)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows of kinds that are received."""
        schema = self.schema
        for block in self.blocks:
            yield self._batch(block, schema)

    def _batch(self, block: Block, schema: pa.Schema) -> pa.RecordBatch:
        block = self._within_64_bits(block)
        count = len(block.end)
        tags = np.full(count, "", object)
        columns: dict[str, Any] = {START: pa.array(block.start), END: pa.array(block.end)}
        for kind, (rows, values) in block.parts.items():
            if kind not in self.types:
                self.reading.seen.unread[kind] += len(rows)
            else:
                tags[rows] = show(kind)
                for (name, column_type), cells in zip(self._columns(kind), values, strict=True):
                    columns[name] = spread(to_arrow(cells, column_type), rows, count)
        columns[EVENT] = pa.array(tags, pa.string())
        arrays = [columns[f.name] if f.name in columns else pa.nulls(count, f.type) for f in schema]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)

    def _within_64_bits(self, block: Block) -> Block:
        """Leave out rows with an integer that its column cannot hold."""
        wrong = np.zeros(len(block.end), bool)
        for kind, (rows, values) in block.parts.items():
            for (_, column_type), cells in zip(self._columns(kind) if kind in self.types else (), values, strict=False):
                wrong[rows[too_large(cells, column_type)]] = True
        for row in np.flatnonzero(wrong).tolist():
            message = f"the row that ends at {to_seconds(int(block.end[row]))} has an integer outside 64 bits"
            self.bad.append(
                Bad(Place("the rows", row + 1), Problem("E607", message, hint="declare the attribute term"))
            )
        return without(block, wrong) if wrong.any() else block


def open_rows(
    read: Callable[[Reading, list[Bad]], Iterable[Block]], reading: Reading, received: Sequence[Kind]
) -> RowTable:
    """Open a source, and read as much of it as must be known before: one block, or all."""
    table = RowTable(reading, received, ())
    blocks = iter(read(reading, table.bad))
    declared = {kind: [_DECLARED.get(t or "") for t in _declared(reading, kind)] for kind in received}
    if all(None not in types for types in declared.values()):
        first = next(blocks, None)
        table.blocks = () if first is None else chain((first,), blocks)
        table.types = {kind: tuple(t or "" for t in types) for kind, types in declared.items()}
        return table
    table.blocks = kept = list(blocks)
    for kind in received:
        found: list[set[str]] = [set() for _ in range(kind[1])]
        for block in kept:
            for types, values in zip(found, block.parts.get(kind, ((), ()))[1], strict=False):
                types |= types_of(values)
        table.types[kind] = tuple(map(_one_type, found))
    for note in reading.seen.notes():
        _LOG.warning("%s", note)
    return table


def _declared(reading: Reading, kind: Kind) -> list[str | None]:
    declared = reading.schema.get(kind[0], ())
    return [None if t == "any" else t for _, t in declared] if len(declared) == kind[1] else [None] * kind[1]


def _names(kind: Kind) -> tuple[str, ...]:
    return tuple(f"{show(kind)}.{place}" for place in range(kind[1]))


def _one_type(types: set[str]) -> str:
    return types.pop() if len(types) == 1 else JSON if types else "string"
