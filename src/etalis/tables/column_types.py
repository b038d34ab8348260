"""Types of columns by the names that Spark writes: families, the type in which a column travels, what fits where.

A nested type fits where all types in it do, and travels as the same nesting of the types in which these travel. A
decimal with digits behind the point is no value of the language by itself: a declaration says what becomes of it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping

import pyarrow as pa

INTEGERS = ("tinyint", "smallint", "int", "bigint")
FLOATS = ("float", "double")
DECIMALS = ("decimal",)
NUMBERS = (*INTEGERS, *FLOATS, *DECIMALS)
STRINGS = ("string", "char", "varchar")
MOMENTS = ("timestamp", "timestamp_ntz", "date")
NAIVE = "timestamp_ntz"
DECIMAL_TIME = "decimal(38,15)"  # in which times that are decimals travel
NESTED = ("array", "struct", "map")
_SCALARS = (*NUMBERS, *STRINGS, "boolean")
_FAMILIES = ((INTEGERS, "bigint"), (FLOATS, "double"), ((*STRINGS, "void"), "string"), (("date",), "timestamp_ntz"))
_SHOWN: Mapping[str, str] = {"string": "timestamp", DECIMAL_TIME: "double"}
_MOST_DIGITS = 18  # that 64 bits hold
_FITTING: Mapping[str, tuple[str, ...]] = {
    "int": NUMBERS,
    "float": NUMBERS,
    "string": (*STRINGS, *DECIMALS),
    "bool": ("boolean", *STRINGS),
    "time": (*MOMENTS, *NUMBERS, *STRINGS),
    "term": (*_SCALARS, *NESTED),
    "any": (*_SCALARS, *NESTED),
}
_NATURAL = (
    (INTEGERS, "int"), ((*FLOATS, *DECIMALS), "float"), (STRINGS, "string"), (("boolean",), "bool"), (MOMENTS, "time"),
    (NESTED, "term"),
)  # fmt: skip
_WAYS: Mapping[str, str] = {
    "binary": "make it a string: base64(...) or hex(...)",
    "interval": "make it a number of seconds",
    "decimal": "declare what becomes of its digits: float (the nearest one), string, or int (whole ones only)",
    "variant": "take out what the rules need: variant_get(...)",
}

_NAMES: Mapping[str, str] = {
    "int8": "tinyint", "int16": "smallint", "int32": "int", "int64": "bigint", "uint8": "smallint", "uint16": "int",
    "uint32": "bigint", "uint64": "decimal(20,0)", "halffloat": "float", "float": "float", "double": "double",
    "bool": "boolean", "string": "string", "large_string": "string", "string_view": "string", "date32[day]": "date",
    "date64[ms]": "date", "null": "void",
}  # fmt: skip


def base_of(column_type: str) -> str:
    """Return the name of a type without what it is made of.

    >>> [base_of(t) for t in ("decimal(10,2)", "array<int>", "interval day to second")]
    ['decimal', 'array', 'interval']
    """
    return column_type.split("(")[0].split("<")[0].split(" ")[0]


def has_order(column_type: str) -> bool:
    """Tell whether cells of a type can tell the time, or break ties."""
    return base_of(column_type) in (*MOMENTS, *NUMBERS, *STRINGS)


def is_known(column_type: str) -> bool:
    """Tell whether a type, and all types in it, are those that columns of Spark have.

    >>> is_known("map<string,array<int>>"), is_known("array<time64[us]>")
    (True, False)
    """
    base = base_of(column_type)
    inner = [part for _, part in parts_of(column_type)] if base in NESTED else []
    return base in (*_SCALARS, *MOMENTS, *NESTED, "binary") and all(map(is_known, inner))


def own_type(column_type: str) -> str | None:
    """Return the type in which a column comes back that no type of the language is made for: its own.

    >>> own_type("struct<a:int,b:map<char(2),array<float>>>"), own_type("decimal(20,0)"), own_type("int")
    ('struct<`a`:int,`b`:map<string,array<float>>>', 'decimal(20,0)', None)
    """
    if base_of(column_type) in NESTED:
        return _rewritten(column_type, _plain)
    return column_type if is_whole(column_type) and transport(column_type) == column_type else None


def _plain(column_type: str) -> str:
    return "string" if base_of(column_type) in (*STRINGS, "void") else column_type


def _rewritten(column_type: str, flat: Callable[[str], str]) -> str:
    """Return a type with the flat ones in it exchanged."""
    base = base_of(column_type)
    if base not in NESTED:
        return flat(column_type)
    inner = ",".join(
        _rewritten(part, flat) if name is None else f"`{name.replace('`', '``')}`:{_rewritten(part, flat)}"
        for name, part in parts_of(column_type)
    )
    return f"{base}<{inner}>"


def transport(column_type: str) -> str:
    """Return the type in which a column travels.

    >>> [transport(t) for t in ("int", "decimal(10,0)", "decimal(10,2)", "varchar(3)", "date")]
    ['bigint', 'bigint', 'decimal(10,2)', 'string', 'timestamp_ntz']
    >>> transport("struct<a:int,b:map<char(2),array<float>>>")
    'struct<`a`:bigint,`b`:map<string,array<double>>>'
    """
    return _rewritten(column_type, _flat_transport)


def _flat_transport(column_type: str) -> str:
    base = base_of(column_type)
    for family, target in _FAMILIES:
        if base in family:
            return target
    return "bigint" if is_whole(column_type) and digits(column_type)[0] <= _MOST_DIGITS else column_type


def time_transport(types: Collection[str]) -> str:
    """Return the one type in which times of some types travel.

    >>> [
    ...     time_transport(types)
    ...     for types in (["date", "timestamp_ntz"], ["timestamp", "date"], ["int", "float"], ["string"])
    ... ]
    ['timestamp_ntz', 'timestamp', 'double', 'string']
    """
    several = set(types)
    for family, target in ((STRINGS, "string"), (("timestamp",), "timestamp"), (MOMENTS, NAIVE)):
        if several & set(family):
            return target
    if several <= set(INTEGERS):
        return "bigint"
    return DECIMAL_TIME if several <= set(DECIMALS) else "double"


def shown_time(types: Collection[str]) -> str:
    """Return the type in which times of some types come back: text as time stamps, decimals as doubles."""
    found = time_transport(types)
    return _SHOWN.get(found, found)


def digits(column_type: str) -> tuple[int, int]:
    """Return how many digits a decimal has, and how many of them behind the point."""
    precision, _, scale = column_type.partition("(")[2].rstrip(")").partition(",")
    return int(precision or 10), int(scale or 0)


def is_whole(column_type: str) -> bool:
    """Tell whether a type is that of decimals without digits behind the point."""
    return base_of(column_type) in DECIMALS and digits(column_type)[1] <= 0


def misfit(column_type: str, wanted: str) -> str | None:
    """Return the type, of a column or inside it, that cannot be an attribute of a type of the language."""
    base = base_of(column_type)
    if base == "void":
        return None
    if base not in _FITTING[wanted] or (wanted == "term" and base in DECIMALS and not is_whole(column_type)):
        return column_type
    inner = (misfit(part, "term") for _, part in parts_of(column_type)) if base in NESTED else iter(())
    return next((found for found in inner if found is not None), None)


def way_out(column_type: str) -> str:
    """Say what to do with a type that cannot be an attribute."""
    base = base_of(column_type)
    return _WAYS.get(base, "convert it to a string or a number")


def fitting(column_type: str) -> str | None:
    """Return the type of the language that a column can be declared as."""
    return next((wanted for wanted in _FITTING if misfit(column_type, wanted) is None), None)


def declarable(column_type: str) -> str:
    """Return the type that a declaration would give a column.

    >>> [declarable(t) for t in ("int", "decimal(10,2)", "date", "array<int>")]
    ['int', 'float', 'time', 'term']
    """
    base = "bigint" if is_whole(column_type) else base_of(column_type)
    return next((natural for family, natural in _NATURAL if base in family), "any")


def parts_of(column_type: str) -> Iterator[tuple[str | None, str]]:
    """Yield the types that a nested one is made of, each with its name in a struct.

    >>> list(parts_of("struct<a:int,`b c`:map<string,int>>"))
    [('a', 'int'), ('b c', 'map<string,int>')]
    """
    is_struct = column_type.startswith("struct")
    depth = first = 0
    inside = column_type[column_type.index("<") + 1 : -1]
    for place, sign in enumerate(inside + ","):
        depth += (sign in "<(") - (sign in ">)")
        if sign == "," and depth == 0:
            part = inside[first:place]
            if part:
                name, _, rest = part.partition(":") if is_struct else (None, "", part)
                yield name if name is None else name.strip("`").replace("``", "`"), rest
            first = place + 1


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
