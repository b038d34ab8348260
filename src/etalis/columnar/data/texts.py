"""Texts of tables as they come: coded by a dictionary only if somebody compares them, or looks for them by their bytes.

Most texts of events are passed on as they are, and the texts of facts are looked for once; both need no codes.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from etalis.columnar.data.columns import Column, Flags, Integers, at, from_arrow
from etalis.columnar.kernels import texts as t

_SMALL = 256  # places of a table at least
_FEW_TEXTS = 8  # that texts are compared with as they are; with more, coded ones are faster, their coding counted


class TextIndex:
    """Different texts, each of which is found by its bytes."""

    def __init__(self, texts: pa.Array) -> None:
        self.offsets, self.data = bytes_of(texts)
        self.count = len(texts)
        size = _SMALL
        while size < 2 * self.count:
            size *= 2
        self.table = np.full(2 * size, -1, np.int32)
        t.index_texts(self.offsets, self.data, self.table)

    def find(self, texts: pa.Array) -> Integers:
        """Return the number of each text; how many there are for those that are none of them."""
        found, begin = np.empty((2, len(texts)), np.int64)
        t.find_texts(self.table, self.offsets, self.data, *bytes_of(texts), self.count, found, begin)
        if texts.null_count:
            found[texts.is_null().to_numpy(zero_copy_only=False)] = self.find(pa.array(["null"]))[0]
        return found


class _Source:
    """Texts as a table has them, and as they are coded once somebody asks for that."""

    def __init__(self, texts: pa.Array) -> None:
        self.texts = texts
        self.compared = 0  # how many times as they are

    @cached_property
    def coded(self) -> Column:
        return from_arrow(self.texts, "string")

    @property
    def is_coded(self) -> bool:
        return "coded" in self.__dict__


class PlainTexts(Column):
    """Texts of a table, or some rows of them; their codes are made when they are asked for."""

    __slots__ = ("_codes", "rows", "source")
    source: _Source
    rows: Integers | None
    _codes: Integers | None

    def __init__(self, source: _Source, rows: Integers | None = None) -> None:
        object.__setattr__(self, "source", source)
        object.__setattr__(self, "rows", rows)
        object.__setattr__(self, "_codes", None)
        object.__setattr__(self, "type", "string")
        object.__setattr__(self, "absent", None)
        object.__setattr__(self, "whole", None)

    @staticmethod
    def of(texts: pa.Array) -> PlainTexts:
        """Return texts, of which some may be null, as a column."""
        return PlainTexts(_Source(texts))

    @property
    def data(self) -> Integers:
        """The codes."""
        if self.rows is None:
            return self.source.coded.data
        if self._codes is None:
            object.__setattr__(self, "_codes", at(self.source.coded.data, self.rows))
        return self._codes

    @property
    def texts(self) -> Any:
        """What the codes stand for."""
        return self.source.coded.texts

    @property
    def plain(self) -> pa.Array | None:
        """The texts themselves, where null is null; None if they are coded."""
        if self.source.is_coded:
            return None
        texts = self.source.texts
        return texts if self.rows is None else texts.take(pa.array(self.rows))

    def __len__(self) -> int:
        return len(self.source.texts) if self.rows is None else len(self.rows)

    def take(self, rows: Integers) -> Column:
        """Return the texts of some rows."""
        return PlainTexts(self.source, rows if self.rows is None else at(self.rows, rows))

    def equals(self, text: str) -> Flags:
        """Tell where a text stands."""
        plain = self.plain if self.source.compared < _FEW_TEXTS else None
        if plain is None:
            return super().equals(text)
        self.source.compared += 1
        return pc.equal(plain, text).fill_null(text == "null").to_numpy(zero_copy_only=False)

    def shrunk(self) -> Column:
        """Return the texts without those that no row has."""
        plain = self.plain
        return super().shrunk() if plain is None else self if self.rows is None else PlainTexts.of(plain)

    def values(self) -> list[Any]:
        """Return the texts as the language has them."""
        plain = self.plain
        return super().values() if plain is None else ["null" if x is None else x for x in plain.to_pylist()]


def bytes_of(texts: pa.Array) -> tuple[Any, Any]:
    """Return where texts begin, and their bytes."""
    width = np.int64 if pa.types.is_large_string(texts.type) else np.int32
    _, offsets, data = texts.buffers()
    begin: Any = np.zeros(1, np.int64)
    if offsets is not None and len(texts):
        begin = np.frombuffer(offsets, width)[texts.offset : texts.offset + len(texts) + 1]
    found = np.frombuffer(b"" if data is None else data, np.uint8)
    found.flags.writeable = False
    return begin.astype(np.int64), found
