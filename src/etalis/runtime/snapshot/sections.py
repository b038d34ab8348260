"""The sections of a snapshot by name, while it is written or read."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from etalis.runtime.snapshot.cells import CellWriter, read_cell
from etalis.runtime.snapshot.file import Columns, Image, Name, write_section
from etalis.runtime.snapshot.pieces import is_piece
from etalis.runtime.snapshot.stores import Tokens, row_columns


class Book:
    """A snapshot in the making, or being read: sections by name, with the tokens they mention.

    Where inputs have names, `numbers` are all integers that were written: those of inputs that ropes hold, and others.
    """

    def __init__(self, count: int, image: Image | None = None, numbers: set[int] | None = None) -> None:
        self.numbers = numbers
        self.tokens = Tokens(count)
        self.image = Image({}) if image is None else image

    def put(self, name: Name, columns: Columns, note: dict[str, Any] | None = None) -> None:
        """Add a section, unless it has no rows."""
        if columns and len(columns[0]):
            if self.numbers is not None:
                self.numbers.update(*map(_integers, columns))
            self.image.sections[name] = write_section(columns, self.tokens.number, note or {})

    def put_rows(self, name: Name, rows: Collection[tuple[Any, ...]]) -> None:
        """Add a section of rows of equal width."""
        self.put(name, row_columns(rows))

    def put_ropes(self) -> None:
        """Add the pieces of ropes that other sections mention."""
        write = CellWriter(self.tokens.number).write

        def encode(content: Any) -> bytes:
            if self.numbers is not None:
                self.numbers.update(_integers(content))
            return write(content)

        self.put_rows(("ropes",), self.tokens.pieces.rows(encode))

    def load_ropes(self) -> None:
        """Make the pieces of ropes, before other sections are read."""
        self.tokens.pieces.load(self.columns(("ropes",)), lambda cell: read_cell(cell, self.tokens.find))

    def columns(self, name: Name) -> list[list[Any]]:
        """Return the columns of a section; none where it is not there."""
        section = self.image.sections.get(name)
        return [] if section is None else section.columns(self.tokens.find)

    def rows(self, name: Name) -> list[tuple[Any, ...]]:
        """Return the rows of a section."""
        return list(zip(*self.columns(name), strict=True))

    def names(self, first: str) -> list[Name]:
        """Return the names of the sections of one kind."""
        return [name for name in self.image.sections if name[0] == first]


def _integers(values: Iterable[Any]) -> set[int]:
    """Return the integers in values, but for those in pieces of ropes, which are written apart."""
    found: set[int] = set()
    waiting = list(values)
    while waiting:
        x = waiting.pop()
        if type(x) is int:
            found.add(x)
        elif type(x) is dict:
            waiting += (*x, *x.values())
        elif type(x) is list or (type(x) is tuple and not is_piece(x)):
            waiting += x
    return found
