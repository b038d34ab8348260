"""Values of any kind as JSON, for columns that hold several: written and read back, they are the same."""

from __future__ import annotations

import json
from typing import Any

from etalis.data.values import Struct, Value
from etalis.temporal.json_values import to_plain

_LONG = 10_000  # bits from which Python refuses to write an integer in decimal
_WHOLE = "$int"  # the name of a term that stands for such an integer


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
