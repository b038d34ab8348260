"""What links an operator over columns with its part of an engine's state: both hold the same, one at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

from etalis.columnar.data.instances import nothing

Undo = Callable[[], None]


class KeptField(NamedTuple):
    """Something that is kept over columns: an attribute of its owner, or a place in a list; and what it is if empty."""

    owner: Any
    name: str | int
    empty: Callable[[], Any] | None = None  # None: it stays when all is cleared, as numbers do

    @staticmethod
    def of_rows(owner: Any, name: str | int, types: Mapping[str, str]) -> KeptField:
        """Return a field that holds instances."""
        return KeptField(owner, name, partial(nothing, types))

    def read(self) -> Any:
        """Return what it holds."""
        return self.owner[self.name] if isinstance(self.name, int) else getattr(self.owner, self.name)

    def write(self, value: Any) -> None:
        """Let it hold something else."""
        if isinstance(self.name, int):
            self.owner[self.name] = value
        else:
            setattr(self.owner, self.name, value)


class Link(ABC):
    """An operator over columns, and what is `theirs`: its part of the engine's state."""

    __slots__ = ()
    operator: Any
    theirs: Any

    @property
    def here(self) -> Hashable:
        """What tells the operator from others."""
        return id(self.operator)

    @property
    def there(self) -> Hashable:
        """What tells the part of the engine's state from others."""
        return id(self.theirs)

    @abstractmethod
    def fields(self) -> Iterator[KeptField]:
        """Yield what is kept over columns."""

    @abstractmethod
    def content(self) -> Any:
        """Return what the engine holds, to compare it with that of another link."""

    @abstractmethod
    def load(self) -> None:
        """Take over what the engine holds."""

    @abstractmethod
    def save(self) -> None:
        """Put into the engine what is kept over columns."""

    def mark(self) -> Undo:
        """Return what goes back to what is kept now."""
        kept = [(field, field.read()) for field in self.fields()]

        def back() -> None:
            for field, value in kept:
                field.write(value)

        return back

    def clear(self) -> None:
        """Keep nothing over columns."""
        for field in self.fields():
            if field.empty is not None:
                field.write(field.empty())
