"""Columns of values of one type.

A flat column holds integers of 64 bits, floats, or texts coded by a dictionary; one of `term` holds any values, as
objects; one of `number` integers and floats, as floats that hold all of them. A variable of any terms may have a column
of each type. Law: equal values of a column have equal codes within that column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute

from etalis.columnar.data.flat import WORD, type_of
from etalis.columnar.kernels import rows as r
from etalis.data.values import Value, format_value, order_key, real
from etalis.errors import EventError, Problem

Integers: TypeAlias = Any  # numpy.ndarray of int64
Flags: TypeAlias = Any  # numpy.ndarray of bool
FLAT = frozenset({"int", "float", "string"})
EXACT = 1 << 53  # floats hold every integer up to here
_WORDS = frozenset({np.dtype(np.int64), np.dtype(np.float64)})
_FEW = 256  # rows for which a kernel is not worth its call
_MOST_UNIFIED = 8  # of texts of different batches that are put together
_NO_TEXTS = {"string": pa.array([], pa.string())}
_EVERYWHERE = np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True)
class Column:
    """Values of one type; `texts` are those that the codes of a column of texts stand for.

    `absent` tells which numbers are null; a text that is null is the text `null`, since both are that atom. `whole`
    tells which of a column of numbers are integers.
    """

    type: str
    data: Any
    texts: Any = None
    absent: Flags | None = None
    whole: Flags | None = None

    def __len__(self) -> int:
        return len(self.data)

    def take(self, rows: Integers) -> Column:
        """Return the values of some rows."""
        absent, whole = (None if marks is None else marks[rows] for marks in (self.absent, self.whole))
        return Column(self.type, at(self.data, rows), self.texts, absent, whole)

    def filled(self) -> Column:
        """Return the column without its mark of nulls, if it has none."""
        return self if self.absent is None or self.absent.any() else Column(self.type, self.data, self.texts)

    def values(self) -> list[Value]:
        """Return the values as the language has them."""
        match self.type:
            case "string":
                texts = self.texts.to_pylist()
                return [texts[code] for code in self.data.tolist()]
            case "term":
                return self.data.tolist()  # type: ignore[no-any-return]
            case "float":
                found = _reals(self.data)
            case "number":
                assert self.whole is not None
                return [int(x) if w else real(x) for x, w in zip(self.data.tolist(), self.whole.tolist(), strict=True)]
            case _:
                found = self.data.tolist()
        if self.absent is None:
            return found
        return ["null" if gone else x for x, gone in zip(found, self.absent.tolist(), strict=True)]

    def equals(self, text: str) -> Flags:
        """Tell where a text stands, in a column of texts."""
        return np.equal(self.data, self.texts.index(text).as_py())

    def shrunk(self) -> Column:
        """Return a column of texts without those that no row has."""
        if self.type != "string" or len(self.texts) <= 2 * len(self) + 16:
            return self
        used, codes = np.unique(self.data, return_inverse=True)
        return Column("string", codes.astype(np.int64), self.texts.take(pa.array(used)))

    def arrow(self) -> pa.Array:
        """Return the values as an Arrow array."""
        if self.type == "string":
            return pa.DictionaryArray.from_arrays(pa.array(self.data, pa.int32()), self.texts)
        return pa.array(self.data, mask=self.absent)


def _reals(data: Any) -> list[Value]:
    """Return floats as the language has them."""
    found: list[Value] = data.tolist()
    for place in np.flatnonzero(np.floor(data) == data).tolist():
        found[place] = real(found[place])
    return found


def at(data: Any, rows: Integers) -> Any:
    """Return what stands at some rows."""
    if len(rows) < _FEW or not (are_words(data) and rows.dtype == np.int64 and rows.flags.carray):
        return data[rows]
    found = np.empty(len(rows), data.dtype)
    r.gather(data.view(np.int64), rows, found.view(np.int64))
    return found


def at_either(above: Any, below: Any, places: Integers | None, rows: Integers) -> Any:
    """Return what stands at some rows of two arrays below each other; of the lower one, what stands at `places`."""
    if not (are_words(above) and are_words(below)):
        return np.concatenate([above, below if places is None else below[places]])[rows]
    found = np.empty(len(rows), below.dtype)
    everywhere = _EVERYWHERE if places is None else places
    r.pick(above.view(np.int64), below.view(np.int64), everywhere, rows, found.view(np.int64))
    return found


def are_words(array: Any) -> bool:
    """Tell whether an array holds numbers of 64 bits, one after the other, as kernels take them."""
    return array.dtype in _WORDS and array.flags.c_contiguous


def from_arrow(array: Any, kind: str) -> Column:
    """Return an Arrow array as a column of a type; dictionaries are taken as they are."""
    if kind == "string":
        coded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
        if coded.dictionary.null_count:
            coded = coded.dictionary_decode().dictionary_encode()
        codes, texts = coded.indices, coded.dictionary
        if codes.null_count:
            null = texts.index("null").as_py()
            if null < 0:
                null, texts = len(texts), pa.concat_arrays([texts, pa.array(["null"], texts.type)])
            codes = (
                codes.fill_null(pa.scalar(null, codes.type)) if null <= 127 else codes.cast(pa.int64()).fill_null(null)
            )
        return Column(kind, codes.to_numpy(zero_copy_only=False).astype(np.int64), texts)
    target = pa.int64() if kind == "int" else pa.float64()
    plain = array.cast(target)
    absent = None
    if plain.null_count:
        absent = plain.is_null().to_numpy(zero_copy_only=False)
        plain = plain.fill_null(0)
    return Column(kind, plain.to_numpy(zero_copy_only=False), None, absent)


def from_values(values: Sequence[Value], kind: str) -> Column:
    """Return values of one type, or null, as a column; of terms where one is too long an integer, or no whole text.

    >>> from_values([1, 1 << 63], "int").type, from_values(["\\ud800"], "string").type
    ('term', 'term')
    """
    if kind == "term":
        data = np.empty(len(values), object)
        data[:] = values
        return Column(kind, data)
    if not len(values):
        return Column(kind, np.zeros(0, np.float64 if kind == "float" else np.int64), _NO_TEXTS.get(kind))
    known = [None if v.__class__ is str and v == "null" else v for v in values]
    try:
        array = pa.array(known, {"int": pa.int64(), "float": pa.float64(), "string": pa.string()}[kind])
    except (OverflowError, UnicodeEncodeError):
        return from_values(values, "term")
    return from_arrow(array, kind)


def floats_hold(numbers: Any) -> bool:
    """Tell whether floats hold every one of some integers."""
    return not numbers.size or bool(numbers.min() >= -EXACT and numbers.max() <= EXACT)


def fit(column: Column, kind: str) -> Column:
    """Return a column of terms in the type that its values have, null aside; one that was declared may be wrong."""
    if column.type != "term" or kind == "term":
        return column
    values = column.values()
    other = next(
        (x for x in values if type_of(x) != kind and x != "null" and not (kind == "int" and type(x) is int)), None
    )
    if other is not None:
        hint = "declare the attribute term, or let the rules that derive the event give it the type"
        raise EventError(Problem("E607", f"{format_value(other)} is not {kind}, as was declared", hint=hint))
    return from_values(values, kind)


def constant(value: Value, count: int) -> Column:
    """Return a column of one value."""
    kind = type_of(value)
    if kind == "string":
        return Column(kind, np.zeros(count, np.int64), pa.array([value], pa.string()))
    if kind == "term":
        return from_values([value] * count, kind)
    return Column(kind, np.full(count, value, np.int64 if kind == "int" else np.float64))


def nulls(kind: str, count: int) -> Column:
    """Return a column of nulls."""
    if kind == "string":
        return constant("null", count)
    if kind == "term":
        return from_values(["null"] * count, kind)
    return Column(kind, np.zeros(count, np.int64 if kind == "int" else np.float64), None, np.ones(count, bool))


def concat(parts: Sequence[Column]) -> Column:
    """Return columns below each other, as terms if they have several types."""
    filled = [part for part in parts if len(part)] or list(parts[:1])
    if len(filled) == 1:
        return filled[0]
    if len({part.type for part in filled}) > 1:
        filled = [from_values(part.values(), "term") for part in filled]
    first = filled[0]
    absent = None
    if any(part.absent is not None for part in filled):
        nothing = [np.zeros(len(part), bool) if part.absent is None else part.absent for part in filled]
        absent = np.concatenate(nothing)
    if first.type != "string":
        whole = np.concatenate([part.whole for part in filled]) if first.type == "number" else None
        return Column(first.type, np.concatenate([part.data for part in filled]), None, absent, whole)
    codes, texts = unify(filled)
    return Column("string", np.concatenate(codes), texts)


def unify(columns: Sequence[Column]) -> tuple[list[Integers], Any]:
    """Return codes for several columns of texts that are equal for equal texts, and the texts they stand for."""
    first = columns[0].texts
    if all(column.texts is first or column.texts.equals(first) for column in columns):
        return [column.data for column in columns], first
    several = {id(column.texts): column.texts for column in columns}
    known = _UNIFIED.get(tuple(several))
    if known is None:
        if len(_UNIFIED) >= _MOST_UNIFIED:
            _UNIFIED.clear()
        known = _UNIFIED[tuple(several)] = _unified(list(several.values()))
    now = dict(zip(several, known.codes, strict=True))
    return [c.data if (codes := now[id(c.texts)]) is None else at(codes, c.data) for c in columns], known.texts


@dataclass(frozen=True, slots=True)
class _Unified:
    """Several arrays of texts, the texts of all, and the new codes of each, None where they stay."""

    several: Sequence[Any]
    texts: Any
    codes: Sequence[Integers | None]


_UNIFIED: dict[tuple[int, ...], _Unified] = {}  # by the identities of the arrays, which are kept with it


def forget_texts() -> None:
    """Let go of texts that were put together."""
    _UNIFIED.clear()


def _unified(several: Sequence[Any]) -> _Unified:
    together = pa.concat_arrays(several).dictionary_encode()
    codes = together.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    bounds = np.cumsum([0, *map(len, several)])
    parts = [codes[low:high] for low, high in pairwise(bounds)]
    changed = [None if (part == np.arange(len(part))).all() else part for part in parts]
    return _Unified(several, together.dictionary, changed)


def key_rows(sides: Sequence[Sequence[Column]], counts: Sequence[int]) -> list[Any]:
    """Return, per side, rows of numbers that are equal exactly where the sides' columns are, place by place."""
    return [_side_by_side(part, count) for part, count in zip(key_columns(sides), counts, strict=True)]


def key_columns(sides: Sequence[Sequence[Column]]) -> list[list[Integers]]:
    """Return, per side, columns of numbers of which those at one row are equal exactly where the sides' columns are."""
    parts: list[list[Integers]] = [[] for _ in sides]
    for columns in zip(*sides, strict=True):
        for numbers, part in zip(numbers_of(columns), parts, strict=True):
            part.extend(numbers)
    return parts


def _side_by_side(numbers: Sequence[Integers], count: int) -> Any:
    if len(numbers) == 1:
        return own(numbers[0]).reshape(-1, 1)
    return np.stack(numbers, axis=1) if numbers else np.zeros((count, 0), np.int64)


def own(numbers: Integers) -> Integers:
    """Return numbers as kernels are compiled for them: not in memory of others, which must not be written."""
    return numbers if numbers.flags.carray else np.require(numbers, requirements=("C", "W"))


_MARKS = {"int": 1, "float": 2, "string": 3}
_NULL = 0


def numbers_of(columns: Sequence[Column]) -> list[list[Integers]]:
    """Return the numbers that stand for values at one place of a key: a value and, where types differ, its type."""
    if any(column.type in ("term", "number") for column in columns):
        return _term_numbers(columns)
    plain = len({column.type for column in columns}) == 1 and all(column.absent is None for column in columns)
    texts = [column for column in columns if column.type == "string"]
    codes, known = unify(texts) if texts else ([], None)
    coded = iter(codes)
    null = -1 if known is None or plain else known.index("null").as_py()
    found = []
    for column in columns:
        match column.type:
            case "string":
                value = next(coded)
                absent = None if null < 0 else value == null
            case "float":
                value, absent = (column.data + 0.0).view(np.int64), column.absent
            case _:
                value, absent = column.data, column.absent
        if plain:
            found.append([value])
            continue
        marks = np.full(len(column), _MARKS[column.type], np.int64)
        if absent is not None:
            value, marks = np.where(absent, 0, value), np.where(absent, _NULL, marks)
        found.append([value, marks])
    return found


def _term_numbers(columns: Sequence[Column]) -> list[list[Integers]]:
    """Return a number for each value, the same for equal ones."""
    known: dict[Value, int] = {}
    return [[np.array([known.setdefault(x, len(known)) for x in column.values()], np.int64)] for column in columns]


def ranks(column: Column) -> Integers:
    """Return numbers in the standard order of a column's values: nulls are texts, which come after numbers."""
    match column.type:
        case "term" | "number":
            keys = [order_key(value) for value in column.values()]
            numbers = {key: number for number, key in enumerate(sorted(set(keys)))}
            return np.array([numbers[key] for key in keys], np.int64)
        case "string":
            order = pa.compute.sort_indices(column.texts.cast(pa.binary())).to_numpy()
            places = np.empty(len(order), np.int64)
            places[order] = np.arange(len(order))
            return places[column.data]
        case "float":
            bits = (column.data + 0.0).view(np.int64)
            found = np.where(bits < 0, bits ^ (WORD - 1), bits)
        case _:
            found = column.data
    if column.absent is None:
        return found
    known, places = np.unique(found, return_inverse=True)
    return np.where(column.absent, len(known), places)
