"""Arrow types by the names that Spark has for them, which is how types of columns are spoken of everywhere."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from etalis.tables.column_types import own_type

_NAMES: Mapping[str, str] = {
    "int8": "tinyint", "int16": "smallint", "int32": "int", "int64": "bigint", "uint8": "smallint", "uint16": "int",
    "uint32": "bigint", "uint64": "decimal(20,0)", "halffloat": "float", "float": "float", "double": "double",
    "bool": "boolean", "string": "string", "large_string": "string", "string_view": "string", "date32[day]": "date",
    "date64[ms]": "date", "null": "void",
}  # fmt: skip


def type_name(kind: pa.DataType) -> str:
    """Return the name of a type as Spark has it.

    >>> type_name(pa.map_(pa.string(), pa.large_list(pa.int32()))), type_name(pa.dictionary(pa.int8(), pa.utf8()))
    ('map<string,array<int>>', 'string')
    """
    if pa.types.is_dictionary(kind):
        return type_name(kind.value_type)
    if pa.types.is_timestamp(kind):
        return "timestamp" if kind.tz else "timestamp_ntz"
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    if pa.types.is_struct(kind):
        return f"struct<{','.join(f'{field.name}:{type_name(field.type)}' for field in kind)}>"
    if pa.types.is_map(kind):
        return f"map<{type_name(kind.key_type)},{type_name(kind.item_type)}>"
    if pa.types.is_nested(kind) and not pa.types.is_union(kind):
        return f"array<{type_name(kind.value_type)}>"
    return _NAMES.get(str(kind), str(kind))


def nested_types(*schemas: pa.Schema) -> tuple[tuple[str, pa.DataType], ...]:
    """Return the types of columns that come back as they came, each with its name."""
    names = ((own_type(type_name(field.type)), field.type) for schema in schemas for field in schema)
    return tuple({name: kind for name, kind in names if name is not None}.items())
