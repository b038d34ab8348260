"""Columns of Arrow in the few types that all else is written for, and their cells as Python objects.

Other tools write the same text as `large_string`, `string_view` or a dictionary; here all of them are `string`, or a
dictionary of it. Moments are numbers of seconds, whole ones integers, durations and times of day rounded to the
microseconds that Python has.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from etalis.logic.knowledge.cell_values import seconds
from etalis.temporal.time_columns import is_text, round_half_even, to_micros

_TEXTS = pa.dictionary(pa.int32(), pa.string())


def in_one(column: Any) -> Any:
    """Return a column as one array of a plain type, copied only where it is in several or of another type."""
    if not isinstance(column, pa.ChunkedArray):
        return plain(column)
    if column.num_chunks == 1:
        return plain(column.chunk(0))
    return plain(pa.concat_arrays(column.unify_dictionaries().chunks)) if column.num_chunks else _none(column.type)


def _none(kind: Any) -> Any:
    return plain(pa.array([], kind))


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
        return _cast(array, pa.string())
    return array


def _cast(array: Any, kind: Any) -> Any:
    """Cast an array, cell by cell where Arrow cannot (before 20 it casts no views)."""
    try:
        return array.cast(kind)
    except pa.ArrowNotImplementedError:
        return pa.array(array.to_pylist(), kind)


def _plain_dictionary(array: Any) -> Any:
    if not is_text(array.type.value_type):
        return plain(array.dictionary_decode())
    if array.type.equals(_TEXTS):
        return array
    return pa.DictionaryArray.from_arrays(array.indices.cast(pa.int32()), plain(array.dictionary))


def without_views(kind: Any) -> Any:
    """Return a type without views of text and lists, of which Arrow can take no rows.

    >>> without_views(pa.struct([("a", pa.list_(pa.string_view()))]))
    StructType(struct<a: list<item: string>>)
    """
    types = pa.types
    if types.is_string_view(kind):
        return pa.string()
    if types.is_struct(kind):
        return pa.struct([field.with_type(without_views(field.type)) for field in kind])
    if types.is_map(kind):
        return pa.map_(without_views(kind.key_type), without_views(kind.item_type))
    for is_one, make in ((types.is_list, pa.list_), (types.is_large_list, pa.large_list)):
        if is_one(kind):
            return make(kind.value_field.with_type(without_views(kind.value_type)))
    return kind


def schema_without_views(schema: Any) -> Any:
    """Return a schema without views of text and lists."""
    return pa.schema([field.with_type(without_views(field.type)) for field in schema])


def table_without_views(table: Any) -> Any:
    """Return a table of types that Arrow can take rows of."""
    plain_schema = schema_without_views(table.schema)
    if plain_schema.equals(table.schema):
        return table
    columns = [
        column
        if column.type == field.type
        else pa.chunked_array([_cast(x, field.type) for x in column.chunks], field.type)
        for column, field in zip(table.columns, plain_schema, strict=True)
    ]
    return pa.table(columns, schema=plain_schema)


def to_objects(column: Any) -> list[Any]:
    """Return the cells of a column as Python objects; moments as those of NumPy, which can be of any unit and year."""
    array = in_one(column)
    if not (pa.types.is_timestamp(array.type) or pa.types.is_date(array.type)):
        return to_list(array)
    if pa.types.is_date64(array.type):
        array = array.cast(pa.timestamp("ms"))
    moments = list(array.to_numpy(zero_copy_only=False))
    return [t if valid else None for t, valid in zip(moments, array.is_valid().to_pylist(), strict=True)]


def to_list(column: Any) -> list[Any]:
    """Return the cells of a column; a refusal if one is a moment outside the years 1 to 9999."""
    array = in_one(column)
    kind = array.type
    if pa.types.is_dictionary(kind):  # each value once, however many cells have it
        values = array.dictionary.to_pylist()
        return [None if code is None else values[code] for code in array.indices.to_pylist()]
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        known = iter(map(seconds, to_micros(array.drop_null(), "s").tolist()))
        return [next(known) if valid else None for valid in array.is_valid().to_pylist()]
    if pa.types.is_string(kind):
        return array.to_numpy(zero_copy_only=False).tolist()  # type: ignore[no-any-return]
    if getattr(kind, "unit", None) == "ns":  # a duration or a time of day, of which Python has microseconds
        numbers = array.cast(pa.int64())
        rounded = round_half_even(numbers.fill_null(0).to_numpy(zero_copy_only=False), 1_000)
        target = pa.duration("us") if pa.types.is_duration(kind) else pa.time64("us")
        array = pa.array(rounded, mask=numbers.is_null().to_numpy(zero_copy_only=False)).cast(target)
    return array.to_pylist()  # type: ignore[no-any-return]


def type_of(kind: Any) -> str | None:
    """Return the type of the language that the cells of a column have as facts; None if nothing is certain."""
    if pa.types.is_dictionary(kind):
        return type_of(kind.value_type)
    for name, is_one in (
        ("bool", pa.types.is_boolean), ("int", pa.types.is_integer), ("float", pa.types.is_floating),
        ("time", pa.types.is_timestamp), ("time", pa.types.is_date), ("string", is_text),
    ):  # fmt: skip
        if is_one(kind):
            return name
    return None
