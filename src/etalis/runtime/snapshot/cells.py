"""Columns of a snapshot: Python values to Arrow arrays and back.

A column of one plain type (int, float, str) is an Arrow column of that type. Any other is coded cell by cell into a
form of our own, wholes after their parts, and each different cell is written once (a dictionary). Tokens and pieces of
ropes are written by number, the latter below zero. Law: what is read is equal to what was written, type by type: an
integer never comes back as a float.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from struct import Struct as Layout
from struct import error as layout_error
from typing import Any

import pyarrow as pa

from etalis.data.values import Rational, Real, Struct, real
from etalis.errors import Problem, SnapshotError
from etalis.logic.terms.unify import Variable, deref
from etalis.runtime.operators.store import Token
from etalis.runtime.snapshot.pieces import is_piece

_LENGTH = Layout("<I")
_FLOAT = Layout("<d")
_GROUPS: dict[type, bytes] = {tuple: b"t", list: b"l", dict: b"d", frozenset: b"z"}

Number = Callable[[Any], int]
Find = Callable[[int], Any]


def unkept(x: object) -> SnapshotError:
    """Return the refusal of something that cannot be written down."""
    hint = "use numbers, texts, lists and terms for attributes, ids and sources"
    return SnapshotError(Problem("E421", f"a snapshot cannot hold {x!r} of type {type(x).__name__}", hint=hint))


def damaged(what: str) -> SnapshotError:
    """Return the refusal of a snapshot that cannot be read."""
    return SnapshotError(Problem("E420", f"not a whole snapshot: {what}", hint="take it from where it was written"))


class CellWriter:
    """Writes single values; `mutable` tells whether one of them holds something that can change."""

    def __init__(self, number: Number) -> None:
        self._number = number
        self.mutable = False

    def write(self, value: Any) -> bytes:
        """Return a value as bytes: every whole after its parts."""
        chunks: list[bytes] = []
        variables: dict[Variable, int] = {}
        todo = [value]
        while todo:
            chunks.append(self._open(deref(todo.pop()), todo, variables))
        return b"".join(reversed(chunks))

    def _open(self, x: Any, todo: list[Any], variables: dict[Variable, int]) -> bytes:
        """Return what a value itself is; its parts are left to be done."""
        match x:
            case bool():
                return b"1" if x else b"0"
            case None:
                return b"N"
            case int():
                coded = x.to_bytes(x.bit_length() // 8 + 1, "little", signed=True)
                return b"i" + _LENGTH.pack(len(coded)) + coded
            case float():
                return (b"r" if isinstance(x, Real) else b"f") + _FLOAT.pack(x)
            case str():
                return _text(b"s", x.encode("utf-8", "surrogatepass"))
            case bytes():
                return _text(b"y", x)
            case Token():
                return b"T" + _LENGTH.pack(self._number(x))
            case Variable():
                return b"v" + _LENGTH.pack(variables.setdefault(x, len(variables)))
            case Rational():
                todo += (x.numerator, x.denominator)
                return b"q"
            case Struct():
                todo += (x.name, *x.args)
                return b"S" + _LENGTH.pack(len(x.args))
        return self._open_group(x, todo)

    def _open_group(self, x: Any, todo: list[Any]) -> bytes:
        if is_piece(x):
            return b"R" + _LENGTH.pack(-self._number(x))
        tag = _GROUPS.get(type(x))
        if tag is None:
            raise unkept(x)
        if tag == b"d":
            todo.extend(part for item in x.items() for part in item)
        else:
            todo.extend(sorted(x, key=self.write) if tag == b"z" else x)
        self.mutable = self.mutable or tag in b"ld"
        return tag + _LENGTH.pack(len(x))


def _text(tag: bytes, coded: bytes) -> bytes:
    return tag + _LENGTH.pack(len(coded)) + coded


_BARE: dict[bytes, Any] = {b"N": None, b"1": True, b"0": False}


def read_cell(cell: bytes, find: Find) -> Any:
    """Return the value of a cell."""
    stack: list[Any] = []
    variables: dict[int, Variable] = {}
    at = 0
    try:
        while at < len(cell):
            tag = cell[at : at + 1]
            at += 1
            if tag in _BARE:
                stack.append(_BARE[tag])
            elif tag in b"fr":
                (number,) = _FLOAT.unpack_from(cell, at)
                stack.append(Real(number) if tag == b"r" else number)
                at += 8
            elif tag == b"q":
                numerator, denominator = _pop(stack, 2)
                stack.append(Rational(numerator, denominator))
            else:
                (size,) = _LENGTH.unpack_from(cell, at)
                at += 4
                if tag in b"isy":
                    stack.append(_atom(tag, cell[at : at + size]))
                    at += size
                elif tag == b"T":
                    stack.append(find(size))
                elif tag == b"R":
                    stack.append(find(-size))
                elif tag == b"v":
                    stack.append(variables.setdefault(size, Variable()))
                else:
                    stack.append(_group(tag, size, stack))
        (value,) = stack
    except (layout_error, ValueError, IndexError, KeyError) as error:
        raise damaged(f"a value in it cannot be read ({error})") from error
    return value


def _atom(tag: bytes, coded: bytes) -> Any:
    if tag == b"i":
        return int.from_bytes(coded, "little", signed=True)
    return coded.decode("utf-8", "surrogatepass") if tag == b"s" else coded


def _group(tag: bytes, size: int, stack: list[Any]) -> Any:
    """Take the parts of a whole off the stack, and return it."""
    match tag:
        case b"t":
            return tuple(_pop(stack, size))
        case b"l":
            return _pop(stack, size)
        case b"z":
            return frozenset(_pop(stack, size))
        case b"S":
            name, *args = _pop(stack, size + 1)
            return Struct(name, args)
        case b"d":
            parts = _pop(stack, 2 * size)
            return dict(zip(parts[::2], parts[1::2], strict=True))
    raise ValueError(f"no kind of value is called {tag!r}")


def _pop(stack: list[Any], size: int) -> list[Any]:
    """Take the last parts off."""
    if size > len(stack):
        raise ValueError("parts are missing")
    first = len(stack) - size
    parts = stack[first:]
    del stack[first:]
    return parts


def write_column(values: Sequence[Any], number: Number) -> tuple[str, pa.Array]:
    """Return the form of a column, and the column."""
    kinds = set(map(type, values))
    try:
        if kinds == {int}:
            return "int", pa.array(values, pa.int64())
        if kinds == {str}:
            return "text", pa.array(values, pa.large_string())
    except (OverflowError, pa.ArrowInvalid, UnicodeEncodeError):
        return _write_cells(values, number)  # integers beyond 64 bits, texts that are no UTF-8
    if kinds == {Real} or kinds == {float}:
        return "real" if kinds == {Real} else "float", pa.array(values, pa.float64())
    if kinds == {float, Real} and not any(type(x) is float and x.is_integer() for x in values):
        return "number", pa.array(values, pa.float64())
    return _write_cells(values, number)


def _write_cells(values: Sequence[Any], number: Number) -> tuple[str, pa.Array]:
    """Return a column of coded cells, each different one written once."""
    writer = CellWriter(number)
    places: dict[bytes, int] = {}
    known: dict[Any, int] = {}  # plain values that were coded before
    indices = []
    for x in values:
        plain = type(x) is int or type(x) is str or x is None
        place = known.get(x) if plain else None
        if place is None:
            place = places.setdefault(writer.write(x), len(places))
            if plain:
                known[x] = place
        indices.append(place)
    coded = pa.DictionaryArray.from_arrays(pa.array(indices, pa.int32()), pa.array(list(places), pa.large_binary()))
    return "data" if writer.mutable else "term", coded


def read_column(form: str, column: pa.Array, find: Find) -> list[Any]:
    """Return the values of a column."""
    match form:
        case "int" | "float":
            return column.to_numpy(zero_copy_only=False).tolist()  # type: ignore[no-any-return]
        case "text":
            return column.to_numpy(zero_copy_only=False).tolist()  # type: ignore[no-any-return]
        case "real":
            return list(map(Real, column.to_numpy(zero_copy_only=False).tolist()))
        case "number":
            return list(map(real, column.to_numpy(zero_copy_only=False).tolist()))
        case "term" | "data":
            cells = column.dictionary.to_pylist()
            indices = column.indices.to_numpy(zero_copy_only=False).tolist()
            if form == "data":  # what can change belongs to one row
                return [read_cell(cells[i], find) for i in indices]
            values = {i: read_cell(cells[i], find) for i in set(indices)}  # after a delta some cells are unused
            return [values[i] for i in indices]
    raise damaged(f"no form of column is called {form}")
