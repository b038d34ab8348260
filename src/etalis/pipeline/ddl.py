"""Columns as they are written for Spark, read without it: `card STRING, amount DECIMAL(10, 2)`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from etalis.language.check.spelling import suggest

_ALIASES = {
    "integer": "int", "long": "bigint", "short": "smallint", "byte": "tinyint", "real": "float", "dec": "decimal",
    "numeric": "decimal", "timestamp_ltz": "timestamp",
}  # fmt: skip
_SIMPLE = (
    "tinyint", "smallint", "int", "bigint", "float", "double", "decimal", "string", "char", "varchar", "boolean",
    "binary", "date", "timestamp", "timestamp_ntz", "array", "map", "struct", "variant",
)  # fmt: skip
_FIELD = re.compile(r"\s*(`(?:[^`]|``)+`|\w+)\s*:?\s*(.+?)(?:\s+not\s+null)?(?:\s+comment\s+'.*')?\s*", re.I | re.S)


class SchemaError(ValueError):
    """A schema that is none."""


def read_ddl(text: str) -> dict[str, str]:
    """Read columns as they are written for Spark.

    >>> read_ddl("card STRING, `a b` long, tags array<struct<x: int, y: int>>")
    {'card': 'string', 'a b': 'bigint', 'tags': 'array<struct<x: int, y: int>>'}
    """
    columns: dict[str, str] = {}
    for part in _parts(text):
        found = _FIELD.fullmatch(part)
        if found is None:
            raise SchemaError(f"{part.strip()!r} is no column: a column is `name type`")
        name = found[1].strip("`").replace("``", "`")
        if name in columns:
            raise SchemaError(f"{name} occurs twice")
        columns[name] = _type(found[2].strip().lower())
    return columns


def _parts(text: str) -> Iterator[str]:
    depth, start, quote = 0, 0, ""
    for place, sign in enumerate(text):
        if quote or sign in "`'":
            quote = "" if sign == quote else quote or sign
            continue
        depth += (sign in "<(") - (sign in ">)")
        if sign == "," and not depth:
            yield text[start:place]
            start = place + 1
    yield text[start:]


def _type(text: str) -> str:
    base, rest = re.fullmatch(r"(\w*)(.*)", text, re.S).groups()  # type: ignore[union-attr]
    base = _ALIASES.get(base, base)
    if base not in _SIMPLE or (rest and rest.lstrip()[0] not in "<("):
        near = suggest(base, [*_SIMPLE, *_ALIASES], "types are those of Spark: string, bigint, double, timestamp, ...")
        raise SchemaError(f"{text!r} is no type of Spark; {near}")
    return base + rest
