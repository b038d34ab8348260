"""Lists, structs and maps as cells of the Arrow type that they came in.

A list is a list, a map a list of pairs `[Key, Value]`, a struct a list of `Name-Value` in the order of its fields.
Law: a value that was made of a cell of some type is the same cell again.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from functools import cache
from typing import Any, TypeAlias

import pyarrow as pa

from etalis.data.values import Struct, Value
from etalis.tables.column_types import base_of, parts_of

Cell: TypeAlias = Callable[[Value], Any]  # raises TypeError where a value does not fit

_FLAT = {
    "tinyint": pa.int8(), "smallint": pa.int16(), "int": pa.int32(), "bigint": pa.int64(), "float": pa.float32(),
    "double": pa.float64(), "boolean": pa.bool_(), "string": pa.string(), "timestamp": pa.timestamp("us", "UTC"),
}  # fmt: skip


@cache
def arrow_type(column_type: str) -> pa.DataType:
    """Return the Arrow type of a column by its name as Spark writes it.

    >>> arrow_type("map<string,array<int>>").equals(pa.map_(pa.string(), pa.list_(pa.int32())))
    True
    """
    base = base_of(column_type)
    if base == "decimal":
        precision, scale = column_type[8:-1].split(",")
        return pa.decimal128(int(precision), int(scale))
    if base not in ("array", "map", "struct"):
        return _FLAT[base]
    parts = [(name, arrow_type(part)) for name, part in parts_of(column_type)]
    if base == "struct":
        return pa.struct(parts)
    inner = [part for _, part in parts]
    return pa.list_(*inner) if base == "array" else pa.map_(*inner)


@cache
def to_cell(kind: pa.DataType) -> Cell:
    """Return what turns values into cells of a type.

    >>> to_cell(pa.struct([("a", pa.int8()), ("b", pa.bool_())]))((Struct("-", ("a", 1)), Struct("-", ("b", "true"))))
    {'a': 1, 'b': True}
    """
    convert = _convert(kind)
    return lambda value: None if value == "null" else convert(value)


def _convert(kind: pa.DataType) -> Cell:
    if pa.types.is_map(kind):
        return _pairs(to_cell(kind.key_type), to_cell(kind.item_type))
    if pa.types.is_struct(kind):
        return _fields([(field.name, to_cell(field.type)) for field in kind])
    if pa.types.is_nested(kind):
        return _items(to_cell(kind.value_type))
    if pa.types.is_dictionary(kind):
        return _convert(kind.value_type)
    return next((flat for is_one, flat in _KINDS if is_one(kind)), _text)


def _items(item: Cell) -> Cell:
    def convert(value: Value) -> Any:
        return [item(each) for each in _checked(value, tuple)]

    return convert


def _pairs(key: Cell, item: Cell) -> Cell:
    def convert(value: Value) -> Any:
        if any(type(pair) is not tuple or len(pair) != 2 for pair in _checked(value, tuple)):
            raise TypeError(value)
        return [(key(a), item(b)) for a, b in value]

    return convert


def _fields(fields: list[tuple[str, Cell]]) -> Cell:
    names = [name for name, _ in fields]

    def convert(value: Value) -> Any:
        pairs = [_checked(each, Struct).args for each in _checked(value, tuple)]
        if [pair[0] for pair in pairs] != names:
            raise TypeError(value)
        return {name: cell(pair[1]) for (name, cell), pair in zip(fields, pairs, strict=True)}

    return convert


def _checked(value: Value, kind: type) -> Any:
    if not isinstance(value, kind):
        raise TypeError(value)
    return value


def _integer(value: Value) -> int:
    if type(value) is not int:
        raise TypeError(value)
    return value


def _decimal(value: Value) -> Decimal:
    return Decimal(_integer(value))


def _float(value: Value) -> float:
    return float(_checked(value, float))


def _truth(value: Value) -> bool:
    if value not in ("true", "false"):
        raise TypeError(value)
    return bool(value == "true")


def _text(value: Value) -> str:
    return str(_checked(value, str))


_KINDS: tuple[tuple[Callable[[pa.DataType], bool], Cell], ...] = (
    (pa.types.is_integer, _integer), (pa.types.is_floating, _float), (pa.types.is_boolean, _truth),
    (pa.types.is_decimal, _decimal),
)  # fmt: skip
