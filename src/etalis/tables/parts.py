"""How some rows of a table become events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

Kind: TypeAlias = tuple[str, int]

JSON = "json"  # how a column is read whose cells are values of any kind


@dataclass(frozen=True, slots=True)
class Part:
    """Rows of one tag: the kind of event they are, and its attributes by column, with their types in the language.

    `names` are those of the attributes, for messages, where columns have other ones.
    """

    tag: str
    kind: Kind
    columns: tuple[str, ...]
    types: tuple[str, ...]
    names: tuple[str, ...] = ()

    def attribute(self, column: str) -> str:
        """Return the name of the attribute that a column holds."""
        return self.names[self.columns.index(column)] if self.names else column
