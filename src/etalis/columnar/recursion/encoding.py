"""Values as words of 64 bits, for the machine: integers as they are, floats by their bits, texts by numbers.

Law: two values of one type are equal exactly if their words are, 0.0 and -0.0 aside.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from etalis.columnar.data.columns import Column, Integers
from etalis.columnar.data.flat import type_of
from etalis.columnar.recursion import opcodes as t
from etalis.data.values import Value, real
from etalis.errors import EventError, Problem

TYPES = {"int": t.WHOLE, "float": t.REAL, "string": t.TEXT}
_NOT_A_NUMBER = 0x7FF8000000000000
_NULLS = {"int": t.NULL, "float": _NOT_A_NUMBER}


class Texts:
    """The texts of a run, numbered as they come."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self.known: list[str] = []

    def number(self, text: str) -> int:
        """Return the number of a text."""
        found = self.numbers.setdefault(text, len(self.known))
        if found == len(self.known):
            self.known.append(text)
        return found

    def ranks(self) -> Integers:
        """Return the ranks of all texts in the standard order."""
        order = pa.compute.sort_indices(pa.array(self.known, pa.string()).cast(pa.binary())).to_numpy()
        ranks = np.empty(len(order), np.int64)
        ranks[order] = np.arange(len(order))
        return ranks

    def keep(self, used: Integers) -> Integers:
        """Forget all texts but those of some numbers, in order; return the new numbers by the old ones."""
        moved = np.full(len(self.known), -1)
        moved[used] = np.arange(len(used))
        self.know([self.known[i] for i in used.tolist()])
        return moved

    def know(self, texts: Sequence[str]) -> None:
        """Know these texts alone, numbered in their order."""
        self.known = list(texts)
        self.numbers = {text: i for i, text in enumerate(self.known)}

    def word(self, value: Value, kind: str) -> int | None:
        """Return the word of a value at a place of a type, None if it is of another type."""
        match kind:
            case "string":
                return self.number(value) if isinstance(value, str) else None
            case "float" if isinstance(value, float):
                return _bits(value)
            case "int" if type(value) is int:
                return _whole(value)
            case _:
                return _NULLS[kind] if value == "null" else None

    def value(self, word: int, kind: str) -> Value:
        """Return the value of a word."""
        match kind:
            case "string":
                return self.known[word]
            case "int":
                return "null" if word == t.NULL else word
            case _:
                number = struct.unpack("<d", struct.pack("<q", word))[0]
                return real(number) if number == number else "null"

    def words(self, column: Column) -> Integers:
        """Return a column as words."""
        if column.type == "string":
            column = column.shrunk()
            return np.array([self.number(text) for text in column.texts.to_pylist()], np.int64)[column.data]
        if column.type == "float":
            data = column.data.view(np.int64)
            return data if column.absent is None else np.where(column.absent, _NOT_A_NUMBER, data)
        if column.type == "term":  # integers of which one is too long
            return np.array([_whole(value) for value in column.values()], np.int64)
        if (column.data == t.NULL).any():
            _whole(t.NULL)
        return column.data if column.absent is None else np.where(column.absent, t.NULL, column.data)

    def column(self, words: Integers, kind: str) -> Column:
        """Return words as a column of a type."""
        if kind == "string":
            used, codes = np.unique(words, return_inverse=True)
            texts = pa.array([self.known[i] for i in used.tolist()], pa.string())
            return Column(kind, codes.astype(np.int64), texts)
        absent = words == _NULLS[kind]
        data = np.ascontiguousarray(words).view(np.int64 if kind == "int" else np.float64)
        if not absent.any():
            return Column(kind, data)
        return Column(kind, np.where(absent, 0, data), None, absent)


def _bits(value: float) -> int:
    return int(struct.unpack("<q", struct.pack("<d", value))[0])


def _whole(value: int) -> int:
    if type_of(value) != "int" or value == t.NULL:
        hint = "keep numbers within 64 bits, make them floats, or run the program event at a time"
        raise EventError(Problem("E607", f"{value} is an integer that columns cannot hold", hint=hint))
    return value
