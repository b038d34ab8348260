"""Cells of Arrow columns as Python objects, and columns in the few types that all else is written for.

Other tools write the same text as `large_string`, `string_view` or a dictionary; here all of them are `string`, or a
dictionary of it.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from etalis.errors import InputError
from etalis.logic.cells import seconds
from etalis.tables.sorting import refuse_row
from etalis.temporal.columns import is_text, to_micros

_TEXTS = pa.dictionary(pa.int32(), pa.string())


def in_one(column: Any) -> Any:
    """Return a column as one array of a plain type, copied only where it is in several or of another type."""
    if isinstance(column, pa.ChunkedArray):
        if column.num_chunks == 1:
            return plain(column.chunk(0))
        parts = [plain(chunk) for chunk in column.chunks] or [plain(pa.array([], column.type))]
        return pa.chunked_array(parts).combine_chunks() if len({part.type for part in parts}) == 1 else parts[0]
    return plain(column)


def plain(array: Any) -> Any:
    """Return an array in the type in which its values are held here.

    >>> plain(pa.array(["a"], pa.large_string())).type, plain(pa.nulls(1)).type
    (DataType(string), DataType(string))
    """
    kind = array.type
    if pa.types.is_run_end_encoded(kind):
        return plain(pc.run_end_decode(array))
    if pa.types.is_dictionary(kind):
        return _plain_dictionary(array)
    if pa.types.is_null(kind) or (is_text(kind) and not pa.types.is_string(kind)):
        return array.cast(pa.string())
    return array


def _plain_dictionary(array: Any) -> Any:
    if not is_text(array.type.value_type):
        return plain(array.dictionary_decode())
    if array.type.equals(_TEXTS):
        return array
    texts = plain(array.dictionary)
    return pa.DictionaryArray.from_arrays(array.indices.cast(pa.int32()), texts)


def to_list(column: Any) -> list[Any]:
    """Return a column as Python objects; a time stamp as seconds, whole ones as integers."""
    array = in_one(column)
    kind = array.type
    if pa.types.is_dictionary(kind):
        values = array.dictionary.to_pylist()
        return [None if code is None else values[code] for code in array.indices.to_pylist()]
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        known = iter(map(seconds, to_micros(array.drop_null(), "s").tolist()))
        return [next(known) if valid else None for valid in array.is_valid().to_pylist()]
    if pa.types.is_string(kind):
        return array.to_numpy(zero_copy_only=False).tolist()  # type: ignore[no-any-return]
    return array.to_pylist()  # type: ignore[no-any-return]


def undeclared(tag: str) -> InputError:
    """Return the refusal of rows of an event that only rules make."""
    return refuse_row(*reason_undeclared(tag))


def reason_undeclared(tag: str) -> tuple[str, str]:
    """Say that rows name an event that only rules make, and what to do."""
    hint = f"rules make {tag}; to receive it as well, declare it: `:- event({tag}(attribute: type, ...)).`"
    return f"rows name the event {tag}, which is not declared", hint
