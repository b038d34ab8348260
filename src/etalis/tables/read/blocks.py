"""Rows of a source in blocks: per kind of event the rows that are of it, and the values of its attributes by place.

Values of one place are a list, or an Arrow array where they have one flat type; `to_arrow` makes arrays of both.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from etalis.columnar.data.flat import type_of
from etalis.data.values import Struct, Value
from etalis.formats.row import Bad, Item, Row
from etalis.plan.keys import Kind
from etalis.tables.schema import JSON
from etalis.temporal.event import Event
from etalis.temporal.json_values import to_plain

SIZE = 1 << 16  # rows
Values: TypeAlias = "list[Value] | pa.Array"

ARROW: Mapping[str, pa.DataType] = {
    "int": pa.int64(), "float": pa.float64(), "string": pa.string(), JSON: pa.string()
}  # fmt: skip
_FLAT = {pa.int64(): "int", pa.float64(): "float", pa.string(): "string"}
_LONG = 10_000  # bits from which Python refuses to write an integer in decimal
_WHOLE = "$int"  # the name of a term that stands for such an integer


@dataclass(frozen=True, slots=True)
class Block:
    """Some rows in order: when they begin and end, in microseconds, and by kind which they are, with their values."""

    start: Any
    end: Any
    parts: Mapping[Kind, tuple[Any, Sequence[Values]]]


def blocks_of(items: Iterable[Item], bad: list[Bad]) -> Iterator[Block]:
    """Put rows together; what cannot be read is added to `bad`."""
    events = _events(items, bad)
    while some := list(islice(events, SIZE)):
        rows: dict[Kind, list[int]] = {}
        for row, event in enumerate(some):
            rows.setdefault((event.name, event.kind.arity), []).append(row)
        parts = {
            kind: (np.array(mine), [list(column) for column in zip(*(some[row].args for row in mine), strict=True)])
            for kind, mine in rows.items()
        }
        start, end = ([getattr(event, name) for event in some] for name in ("start_time", "end_time"))
        yield Block(np.array(start, np.int64), np.array(end, np.int64), parts)


def _events(items: Iterable[Item], bad: list[Bad]) -> Iterator[Event]:
    for item in items:
        match item:
            case Row():
                yield item.event
            case Bad():
                bad.append(item)


def types_of(values: Values) -> set[str]:
    """Return the types of columns that values have, null aside."""
    if isinstance(values, list):
        return {_type(value) for value in values if value != "null"}
    return set() if values.null_count == len(values) else {_FLAT[values.type]}


def _type(value: Value) -> str:
    found = type_of(value)
    return JSON if found == "term" or not _can_be_written(value) else found


def _can_be_written(value: Value) -> bool:
    """Tell whether Arrow can hold a text: not if it has half a character."""
    if not isinstance(value, str):
        return True
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def to_arrow(values: Values, column_type: str) -> pa.Array:
    """Return values as an array of the type of a column."""
    wanted = ARROW[column_type]
    if isinstance(values, list):
        written = (_cell(value, column_type) for value in values)
        return pa.array(list(written), wanted)
    if column_type == JSON:
        return pa.array([None if value is None else dumps(value) for value in values.to_pylist()], wanted)
    return values if values.type == wanted else values.cast(wanted)


def too_large(values: Values, column_type: str) -> list[int]:
    """Return the places of integers that a column cannot hold."""
    if column_type != "int" or not isinstance(values, list):
        return []
    return [place for place, value in enumerate(values) if value != "null" and type_of(value) != "int"]


def _cell(value: Value, column_type: str) -> Any:
    if value == "null":
        return None
    return dumps(value) if column_type == JSON else value


def spread(array: pa.Array, rows: Any, count: int) -> pa.Array:
    """Return an array as a column of so many rows, null where it has none."""
    if len(array) == count:
        return array
    places = np.zeros(count, np.int64)
    places[rows] = np.arange(len(array))
    nothing = np.ones(count, bool)
    nothing[rows] = False
    return array.take(pa.array(places, mask=nothing))


def without(block: Block, wrong: Any) -> Block:
    """Return a block without some of its rows."""
    places = np.cumsum(~wrong) - 1
    parts = {}
    for kind, (rows, values) in block.parts.items():
        kept = ~wrong[rows]
        some = [_some(cells, kept) for cells in values]
        parts[kind] = places[rows[kept]], some
    return Block(block.start[~wrong], block.end[~wrong], parts)


def _some(cells: Values, kept: Any) -> Values:
    if isinstance(cells, list):
        return [cell for cell, keep in zip(cells, kept.tolist(), strict=True) if keep]
    return cells.filter(pa.array(kept))


# values of any kind as JSON: written and read back, they are the same


def dumps(value: Value) -> str:
    """Write a value.

    >>> dumps((1, "a", Struct("f", [2.5])))
    '[1, "a", {"name": "f", "args": [2.5]}]'
    """
    return json.dumps(to_plain(_shortened(value)))


def loads(text: str) -> Any:
    """Read a value, as JSON has it."""
    return json.loads(text, object_hook=_lengthened) if _WHOLE in text else json.loads(text)


def _shortened(value: Value) -> Value:
    """Write integers that are too long in hexadecimal digits."""
    match value:
        case int() if value.bit_length() > _LONG:
            return Struct(_WHOLE, (f"{value:x}",))
        case tuple():
            return tuple(map(_shortened, value))
        case Struct():
            return Struct(value.name, map(_shortened, value.args))
        case _:
            return value


def _lengthened(record: dict[str, Any]) -> Any:
    return int(record["args"][0], 16) if record.get("name") == _WHOLE else record
