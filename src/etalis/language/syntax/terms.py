"""Terms, as the reader makes them of Prolog notation, and the field for the place of a node."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from etalis.data.values import Value
from etalis.errors import Span


def place() -> Span | None:
    """The span field of every node."""
    return field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Var:
    """A variable; anonymous ones are named `_#1`, `_#2`, ... within their clause."""

    name: str
    span: Span | None = place()


@dataclass(frozen=True, slots=True)
class Const:
    """An atom, a string (the same thing) or a number, as the value it stands for."""

    value: Value
    span: Span | None = place()


@dataclass(frozen=True, slots=True)
class Compound:
    """`name(arg, ...)`, also written with operators; `{X}` is '{}'(X)."""

    name: str
    args: tuple[Term, ...]
    span: Span | None = place()


@dataclass(frozen=True, slots=True)
class ListTerm:
    """`[a, b | T]`; tail is None for a proper list."""

    items: tuple[Term, ...]
    tail: Term | None = None
    span: Span | None = place()


Term: TypeAlias = Var | Const | Compound | ListTerm
