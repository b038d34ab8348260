"""Cells of Arrow columns as Python objects, and what is said of rows that name an event nobody may send."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from etalis.errors import InputError
from etalis.logic.term import real
from etalis.tables.sorting import refuse_row
from etalis.temporal.interval import MICROSECONDS


def in_one(column: Any) -> Any:
    """Return a column as one array, which is copied only where it is in several."""
    if isinstance(column, pa.ChunkedArray):
        return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    return column


def to_list(column: Any) -> list[Any]:
    """Return a column as Python objects; a time stamp as seconds, whole ones as integers."""
    kind = column.type
    if pa.types.is_timestamp(kind):
        return [None if t is None else _seconds(t) for t in column.cast(pa.int64()).to_pylist()]
    if pa.types.is_string(kind):
        return column.to_numpy(zero_copy_only=False).tolist()  # type: ignore[no-any-return]
    return column.to_pylist()  # type: ignore[no-any-return]


def _seconds(time: int) -> Any:
    return time // MICROSECONDS if not time % MICROSECONDS else real(time / MICROSECONDS)


def undeclared(tag: str) -> InputError:
    """Return the refusal of rows of an event that only rules make."""
    hint = f"rules make {tag}; to receive it as well, declare it: `:- event({tag}(attribute: type, ...)).`"
    return refuse_row(f"rows name the event {tag}, which is not declared", hint)
