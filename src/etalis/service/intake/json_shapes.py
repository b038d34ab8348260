"""Declared events in JSON, decoded by their types: a chunk of lines becomes rows in one step.

For each declared event there is a struct: its name, its attributes, its time, as one writes them usually. Law: what
does not fit exactly, be it a name that comes twice, is none of these, and left to the reader that says what is wrong.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any, Union

import msgspec

from etalis.formats.row import Reading

_TYPES: Mapping[str, Any] = MappingProxyType({"string": str, "int": int, "float": float, "any": str | int | float})
_ROLES = frozenset({"event", "type", "at", "time", "ts", "start", "end", "args", "rule", "sign", "s", "p", "o"})
_KEY_ENDS = b'":'


class EventShapes:
    """The usual shapes of declared events."""

    def __init__(self, reading: Reading, left_out: Collection[str], *, needs_time: bool) -> None:
        at: Any = int | float | str
        self._names: dict[type, str] = {}
        self._sizes: dict[type, int] = {}
        for name, declared in reading.schema.items():
            if name in left_out or any(kind not in _TYPES or attribute in _ROLES for attribute, kind in declared):
                continue
            fields = [(f"a{i}", _TYPES[kind]) for i, (_, kind) in enumerate(declared)]
            names = {f"a{i}": attribute for i, (attribute, _) in enumerate(declared)}
            time = [("at", at)] if needs_time else []
            shape = msgspec.defstruct(
                "Shape",
                [*fields, *time],
                rename=names,
                tag_field="event",
                tag=name,
                forbid_unknown_fields=True,
                gc=False,
            )
            self._names[shape] = name
            self._sizes[shape] = len(declared) + 1 + needs_time
        self._needs_time = needs_time
        shapes = tuple(self._names)
        self._decode = msgspec.json.Decoder(Union[shapes]).decode_lines if shapes else None  # noqa: UP007

    def read(self, lines: bytes) -> list[tuple[Any, ...]] | None:
        """Return the events of lines as rows; None if one of them has another shape."""
        if self._decode is None:
            return None
        try:
            found = self._decode(lines)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError):
            return None
        names, sizes = self._names, self._sizes
        if lines.count(_KEY_ENDS) != sum([sizes[each.__class__] for each in found]):
            return None  # a name may stand twice
        as_tuple = msgspec.structs.astuple
        if self._needs_time:
            return [(names[each.__class__], *as_tuple(each)) for each in found]
        return [(names[each.__class__], *as_tuple(each), 0) for each in found]
