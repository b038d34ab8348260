"""Columns of Arrow as Python objects: times are rounded to the microseconds that datetimes have."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def to_list(column: Any) -> list[Any]:
    """Return the cells of a column; ValueError if one lies outside of what Python's dates can say."""
    pa = import_module("pyarrow")
    kind = column.type
    if pa.types.is_dictionary(kind):  # each value once, however many cells have it
        values = to_list(column.dictionary)
        return [None if i is None else values[i] for i in column.indices.to_pylist()]
    if pa.types.is_temporal(kind) and getattr(kind, "unit", None) == "ns":
        rounded = [None if n is None else (n + 500) // 1_000 for n in column.cast(pa.int64()).to_pylist()]
        column = pa.array(rounded, pa.int64()).cast(_in_microseconds(kind))
    return column.to_pylist()  # type: ignore[no-any-return]


def _in_microseconds(kind: Any) -> Any:
    pa = import_module("pyarrow")
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", kind.tz)
    return pa.duration("us") if pa.types.is_duration(kind) else pa.time64("us")
