"""Rows of a table as a batch over columns: per kind of event the rows that are of it, and their attributes by column.

Law: an attribute has the value that it has event at a time, and rows of equal times that nothing else orders stand in
the standard order of their atoms (definition 6.4).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from etalis.columnar.data.columns import Column, from_arrow, from_values, ranks
from etalis.columnar.data.instances import Picked
from etalis.columnar.data.texts import PlainTexts
from etalis.columnar.kernels.buffers import sort_out
from etalis.columnar.run import InputBatch, ReceivedRows
from etalis.errors import EventError
from etalis.language.attributes import convert_one
from etalis.logic.knowledge.arrow_columns import in_one
from etalis.plan.keys import Kind
from etalis.tables.read.blocks import loads
from etalis.tables.read.rejected_rows import cells_of
from etalis.tables.schema import JSON, Part
from etalis.tables.sorting import ID, Stretch, refuse_row
from etalis.temporal.json_values import from_plain

_FLAT = frozenset({"int", "float", "string", "bool"})
_NEGATIVE_ZERO = np.iinfo(np.int64).min  # as an integer of as many bits
_DIGITS = 18  # of a decimal, at most, that 64 bits hold
_EXACT = 1 << 53  # floats hold every integer up to here, and every power of ten of so many digits
_TRUTH = pa.array(["true", "false", "null"], pa.string())


@dataclass(frozen=True, slots=True)
class EventCodes:
    """Of which part rows are: a code for each row, and the number of the part that each code stands for, -1 if none."""

    codes: Any
    numbers: Any

    def take(self, rows: Any) -> EventCodes:
        """Return it for some of the rows."""
        return EventCodes(self.codes[rows], self.numbers)


def read_batch(table: Any, start: Any, end: Any, parts: Sequence[Part], coded: EventCodes | None) -> InputBatch:
    """Return sorted rows as a batch; without codes, all are of the first part."""
    whole: dict[tuple[str, str], Column] = {}
    if coded is None:
        return InputBatch(
            start, end, {parts[0].kind: ReceivedRows(np.arange(len(end)), _whole(table, parts[0], whole))}
        )
    events: dict[Kind, ReceivedRows] = {}
    for part, mine in zip(parts, sort_out(coded.codes, coded.numbers, len(parts)), strict=True):
        if _FLAT.issuperset(part.types):
            columns = _whole(table, part, whole)
            events[part.kind] = ReceivedRows(mine, columns if len(mine) == len(end) else Picked(columns, mine))
        else:
            rows = table.select(list(dict.fromkeys(part.columns))).take(pa.array(mine))
            events[part.kind] = ReceivedRows(mine, _whole(rows, part, {}))
    return InputBatch(start, end, events)


def _whole(table: Any, part: Part, known: dict[tuple[str, str], Column]) -> list[Column]:
    """Return the columns of a part, read once for all parts that have them."""
    for name, kind in zip(part.columns, part.types, strict=True):
        if (name, kind) not in known:
            known[name, kind] = to_column(table[name], kind, part.tag)
    return [known[key] for key in zip(part.columns, part.types, strict=True)]


def to_column(column: Any, kind: str, tag: str) -> Column:
    """Return a column of a table as one of a type of the language, or refuse it."""
    try:
        return _TYPED.get(kind, _terms)(in_one(column), kind, tag)
    except (pa.ArrowInvalid, EventError) as error:
        raise refuse_row(f"{tag}: {error}", f"give values of the type {kind}") from None


def _integers(array: Any, kind: str, tag: str) -> Column:
    return _converted(array, kind, tag) if pa.types.is_decimal(array.type) else from_arrow(array, kind)


def _floats(array: Any, kind: str, tag: str) -> Column:
    if pa.types.is_decimal(array.type):  # Arrow may miss the nearest double by one
        nearest = _nearest(array)
        return _converted(array, kind, tag) if nearest is None else from_arrow(nearest, kind)
    found = from_arrow(array.cast(pa.float64(), safe=False), kind)
    if np.isnan(found.data).any():
        raise pa.ArrowInvalid("NaN is not a value")
    if (found.data.view(np.int64) == _NEGATIVE_ZERO).any():  # there is one zero
        return Column(kind, found.data + 0.0, None, found.absent)
    return found


def _nearest(array: Any) -> Any:
    """Return decimals as floats, if a float holds each without its point: division then gives the nearest."""
    scale = array.type.scale
    if scale < 0:
        return None
    try:
        short = array.cast(pa.decimal128(_DIGITS, scale))
    except pa.ArrowInvalid:
        return None
    words = np.frombuffer(short.buffers()[1], np.int64)[2 * short.offset :: 2][: len(short)]  # the lower half of each
    absent = np.asarray(short.is_null())
    if len(words) and np.abs(np.where(absent, 0, words)).max() > _EXACT:
        return None
    return pa.array(words / 10.0**scale, mask=absent)


def _converted(array: Any, kind: str, tag: str) -> Column:
    """Convert cells one by one."""
    return from_values([convert_one(tag, "an attribute", kind, value) for value in array.to_pylist()], kind)


def _texts(array: Any, kind: str, tag: str) -> Column:
    if pa.types.is_decimal(array.type):
        return _converted(array, kind, tag)
    is_plain = pa.types.is_string(array.type) or pa.types.is_large_string(array.type)
    return PlainTexts.of(array) if is_plain else from_arrow(array, kind)


def _truths(array: Any, kind: str, _: str) -> Column:
    found = from_arrow(pc.cast(array, pa.string()), "string")
    if not pc.all(pc.is_in(found.texts, _TRUTH), min_count=0).as_py():
        raise pa.ArrowInvalid(f"a {kind} is true or false")
    return found


def _terms(array: Any, kind: str, tag: str) -> Column:
    wanted = "term" if kind == "any" else kind
    given = cells_of(array, kind)
    return from_values([convert_one(tag, "an attribute", wanted, value) for value in given], "term")


def _values(array: Any, _: str, tag: str) -> Column:
    """Read values written as JSON, each different one once; they have been converted already."""
    coded = array.dictionary_encode()
    known = [convert_one(tag, "an attribute", "term", from_plain(loads(text))) for text in coded.dictionary.to_pylist()]
    return from_values(["null" if code is None else known[code] for code in coded.indices.to_pylist()], "term")


_LARGEST = 1 << 62
_TYPED = {"int": _integers, "float": _floats, "string": _texts, "bool": _truths, JSON: _values}


def order_ties(stretch: Stretch, parts: Sequence[Part], coded: EventCodes | None) -> Any:
    """Return the places of a stretch in order: rows of equal times in the standard order of their atoms, then ids."""
    if not stretch.ties.any():
        return stretch.places
    tied = np.flatnonzero(stretch.ties | np.append(stretch.ties[1:], False))
    places = stretch.places[tied]
    run = np.cumsum(~stretch.ties[tied])
    if ID in stretch.table.column_names:
        ids = in_one(stretch.table[ID]).take(pa.array(places)).fill_null("")
        places = places[np.lexsort((pc.rank(ids, tiebreaker="dense").to_numpy(), run))]
    mine = None if coded is None else coded.take(places)
    batch = read_batch(stretch.table.take(pa.array(places)), run, run, parts, mine)
    order = _nearly_sorted(run, _atom_ranks(batch))
    ordered = stretch.places.copy()
    ordered[tied] = places[order]
    return ordered


def _nearly_sorted(run: Any, ranks: Any) -> Any:
    """Return the order by run, which rises, and by rank: as one number, which is in order but for short stretches."""
    span = int(ranks.max()) + 1
    if int(run[-1] + 1) * span >= _LARGEST:
        return np.lexsort((ranks, run))
    return np.argsort(run * span + ranks, kind="stable")


def _atom_ranks(batch: InputBatch) -> Any:
    """Return numbers from 0 in the standard order of the atoms of a batch; equal atoms follow each other."""
    found = np.empty(len(batch.end), np.int64)
    low = 0
    for kind in sorted(batch.events, key=lambda kind: (kind[1], kind[0])):
        received = batch.events[kind]
        keys = [key for key in map(ranks, reversed(received.columns)) if (key != key[:1]).any()]
        if len(keys) == 1 and int(keys[0].max()) - int(keys[0].min()) < _LARGEST >> 16:  # so has every other kind room
            mine = keys[0] - keys[0].min()
        else:
            order = np.lexsort(keys) if keys else np.arange(len(received.rows))
            mine = np.empty(len(order), np.int64)
            mine[order] = np.arange(len(order))
        found[received.rows] = mine + low
        low += int(mine.max(initial=-1)) + 1
    return found
