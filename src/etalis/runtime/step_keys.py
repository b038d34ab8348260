"""The position of a step in a run, as bytes: an input, or a timer, with all that it causes (definition 6.5).

Law: of two steps of one run the earlier has the lesser key, whoever took them. Inputs are placed by (end, start, order
column, standard order of the atom, number among equals), what falls due at T after the inputs that end at T: alarms,
then absences whose left side ended last, each followed by the alarms that it sets for T (definition 6.12 to 6.15).
"""

from __future__ import annotations

import struct
from typing import Any

from etalis.data.values import Value

ALARMS = 20  # bits of the number of what falls due that count alarms; those above are the level of absences
_SIGN = 1 << 63
_INPUT, _DUE = b"\0", b"\1"
_NOTHING, _NUMBER, _ATOM, _COMPOUND = b"\0", b"\1", b"\3", b"\4"
_NULL = b"\xff"  # comes last in an order column


def input_key(end: int, start: int, order: Any, name: str, values: tuple[Value, ...], number: int) -> bytes:
    """Return the key of a received event; `number` tells equal ones apart."""
    atom = b"".join((_count(len(values)), _text(name), *map(_value, values)))
    return b"".join((_integer(end), _INPUT, _integer(start), _order(order), atom, _count(number)))


def due_key(time: int, since: int | None, number: int) -> bytes:
    """Return the key of what falls due: absences since a moment (None: before all of them), and alarms after these."""
    level = b"\0" if since is None else b"\1" + _integer(-since)
    return b"".join((_integer(time), _DUE, level, _count(number)))


def read_due(key: bytes) -> tuple[int, int | None, int]:
    """Return what a key of something due was made of.

    >>> read_due(due_key(9, 4, 2)), read_due(due_key(9, None, 1))
    ((9, 4, 2), (9, None, 1))
    """
    since = None if key[9:10] == b"\0" else _SIGN - int(struct.unpack(">Q", key[10:18])[0])
    return time_of(key), since, int(struct.unpack(">I", key[-4:])[0])


def is_due(key: bytes) -> bool:
    """Tell whether a key is that of something that falls due."""
    return key[8:9] == _DUE


def time_of(key: bytes) -> int:
    """Return the moment of a step.

    >>> time_of(due_key(-7, None, 1))
    -7
    """
    return int(struct.unpack(">Q", key[:8])[0]) - _SIGN


def _integer(number: int) -> bytes:
    return struct.pack(">Q", number + _SIGN)


def _count(number: int) -> bytes:
    return struct.pack(">I", number)


def _text(text: str) -> bytes:
    """Return text so that a part comes before the whole, whatever follows."""
    return text.encode("utf-8", "surrogatepass").replace(b"\0", b"\0\1") + b"\0\0"


def _float(number: float) -> bytes:
    (bits,) = struct.unpack(">Q", struct.pack(">d", number + 0.0))
    return struct.pack(">Q", bits ^ ((1 << 64) - 1) if bits & _SIGN else bits | _SIGN)


def _number(number: int | float) -> bytes:
    """Return a number by value, a float before an equal integer."""
    if isinstance(number, float):
        return b"".join((_NUMBER, _float(float(number)), _integer(0), b"\0"))
    near = float(number)
    return b"".join((_NUMBER, _float(near), _integer(number - int(near)), b"\1"))


def _value(value: Value) -> bytes:
    if isinstance(value, str):
        return b"".join((_ATOM, _text(value), b"\1"))
    if isinstance(value, int | float):
        return _number(value)
    if isinstance(value, tuple):
        if not value:
            return b"".join((_ATOM, _text("[]"), b"\0"))
        return b"".join((_COMPOUND, _count(2), _text("[|]"), *map(_value, value), _NOTHING))
    return b"".join((_COMPOUND, _count(len(value.args)), _text(value.name), *map(_value, value.args)))


def _order(order: Any) -> bytes:
    """Return a cell of an order column, which is of one type throughout; null comes last."""
    if order is None:
        return _NULL
    return _text(order) if isinstance(order, str) else _number(order)
