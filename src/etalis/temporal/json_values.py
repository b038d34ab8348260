"""Values as plain data that JSON holds, and back.

A compound term is `{"name": "f", "args": [...]}`; an integer that Python does not write is its text. Law: all other
values come back equal, whether they went through JSON or not.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any

from etalis.data.values import Real, Struct, Value, decimal_text, to_value

_WRITABLE = 14_000  # bits of an integer that Python writes
_SURROGATE = re.compile("[\ud800-\udfff]")
_INFINITE = {math.inf: "1e999", -math.inf: "-1e999"}  # JSON has no name for them, but numbers that large


def to_text(plain: Any, default: Callable[[Any], Any] | None = None) -> str:
    """Write plain data as JSON; half of a surrogate pair, which no encoding has, is escaped.

    `default` turns what is not plain into what is.

    >>> print(to_text({"é": 1}), to_text("\\ud800"), to_text([1.0, float("inf")]))
    {"é": 1} "\\ud800" [1.0, 1e999]
    """
    try:
        return _dump(plain, default)
    except ValueError:
        return _write(plain, default)


def _dump(plain: Any, default: Callable[[Any], Any] | None) -> str:
    text = json.dumps(plain, ensure_ascii=False, allow_nan=False, default=default)
    return text if text.isascii() or not _SURROGATE.search(text) else json.dumps(plain, default=default)


def _write(plain: Any, default: Callable[[Any], Any] | None) -> str:
    """Write plain data that has infinite numbers in it, or what is no number, which is null."""
    if isinstance(plain, dict):
        return f"{{{', '.join(f'{to_text(str(key))}: {_write(item, default)}' for key, item in plain.items())}}}"
    if isinstance(plain, list | tuple):
        return f"[{', '.join(_write(item, default) for item in plain)}]"
    if isinstance(plain, float) and not math.isfinite(plain):
        return _INFINITE.get(plain, "null")
    return _dump(plain, default)


def to_plain(value: Value) -> Any:
    """Turn a value into JSON-ready data; a compound becomes {"name": ..., "args": [...]}, a vast integer its text."""
    if isinstance(value, tuple):
        return [to_plain(v) for v in value]
    if isinstance(value, Struct):
        return {"name": value.name, "args": [to_plain(v) for v in value.args]}
    if isinstance(value, int) and value.bit_length() > _WRITABLE:
        return decimal_text(value)
    return float(value) if isinstance(value, Real) else value


def from_plain(x: Any) -> Any:
    """Turn compound terms back into structures, at any depth.

    >>> from_plain([{"name": "f", "args": [1]}, {"x": 1}])
    [f(1), {'x': 1}]
    """
    if isinstance(x, list):
        return [from_plain(item) for item in x]
    if isinstance(x, dict):
        if x.keys() == {"name", "args"} and isinstance(x["name"], str) and isinstance(x["args"], list) and x["args"]:
            return Struct(x["name"], [to_value(from_plain(item)) for item in x["args"]])
        return {key: from_plain(item) for key, item in x.items()}
    return x
