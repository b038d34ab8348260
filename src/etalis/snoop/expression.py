"""Expressions of SNOOP-R as a tree (004, sections 2.2 and 2.3): what all notations read into and are written from.

One node for each `expression` element, as it is written: composite, atomic, opaque or external. The variables that it
declares are those of its `with`; `normal_form` says which of them matter. Frozen; spans take no part in equality.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal as OneOf
from typing import TypeAlias

from etalis.errors import Span

SNOOP = "http://snoop-r.org"
NUMBER = "numberToDetect"
Kind: TypeAlias = OneOf["composite", "atomic", "opaque", "external"]
Mode: TypeAlias = OneOf["use", "bind"]
Path: TypeAlias = tuple[int, ...]  # places of arguments, from 1; () is the root


@dataclass(frozen=True, slots=True)
class ExpressionVariable:
    """A variable as a `with` declares it; one of mode `use` has a value."""

    name: str
    mode: Mode = "bind"
    value: str | None = None
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of an event, bound to a variable or of a given value; its type is a name such as `xsd:integer`."""

    name: str
    variable: str | None = None
    value: str | None = None
    type: str | None = None
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Opaque:
    """What an opaque expression says in its own language: text, or one XML element in its canonical form."""

    text: str
    type: str | None = None
    is_xml: bool = False


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of an operator; its name is free."""

    name: str | None
    expression: Expression


@dataclass(frozen=True, slots=True)
class Expression:
    """One expression, as it is written; `context` and `time` are those of a root."""

    operator: str | None = None
    language: str | None = None
    arguments: tuple[Argument, ...] = ()
    variables: tuple[ExpressionVariable, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    literal: Opaque | None = None
    context: str | None = None
    time: str | None = None
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def kind(self) -> Kind:
        """What it is: opaque without operator, composite if it is of SNOOP-R, else atomic, with arguments external.

        >>> Expression("SEQ").kind, Expression("newCD", "http://shop.example/events").kind
        ('composite', 'atomic')
        """
        if self.operator is None:
            return "opaque"
        if self.is_snoop:
            return "composite"
        return "external" if self.arguments else "atomic"

    @property
    def is_snoop(self) -> bool:
        """Whether its language is SNOOP-R: said, or left out on an operator of it."""
        return self.language == SNOOP or (self.language is None and self.operator in OPERATORS)

    @property
    def is_leaf(self) -> bool:
        """Whether somebody else detects it."""
        return self.kind != "composite"


@dataclass(frozen=True, slots=True)
class Operator:
    """One operator of SNOOP-R: how many arguments it takes, and what parameter it needs."""

    name: str
    least: int
    most: int | None
    parameter: str | None = None
    absent: int | None = None  # which argument must not occur
    gathered: int | None = None  # which argument is all of its occurrences


OPERATORS = {
    row.name: row
    for row in (
        Operator("OR", 2, None),
        Operator("SEQ", 2, None),
        Operator("ANY", 1, None, NUMBER),
        Operator("ALL", 1, None),
        Operator("NOT", 3, 3, absent=2),
        Operator("A", 3, 3, absent=3),
        Operator("ASTAR", 3, 3, gathered=2),
    )
}
CONTEXTS = {
    "recent": "snoop_recent",
    "chronicle": "chronological",
    "continuous": "continuous",
    "cumulative": "cumulative",
    "unrestricted": "unrestricted",
}
TIMES = ("intervals", "points")


def walk(expression: Expression, path: Path = ()) -> Iterator[tuple[Path, Expression]]:
    """Yield every node of SNOOP-R and every leaf with its path, parents first; what is external is not entered."""
    yield path, expression
    if not expression.is_leaf:
        for number, argument in enumerate(expression.arguments, 1):
            yield from walk(argument.expression, (*path, number))


def leaves(expression: Expression) -> Iterator[tuple[Path, Expression]]:
    """Yield the leaves with their paths, from left to right."""
    return ((path, node) for path, node in walk(expression) if node.is_leaf)


def contributing_leaves(expression: Expression, path: Path = ()) -> Iterator[tuple[Path, Expression]]:
    """Yield the leaves that contribute to results: those that are in no part which must not occur."""
    if expression.is_leaf:
        yield path, expression
        return
    absent = OPERATORS[expression.operator or ""].absent
    for number, argument in enumerate(expression.arguments, 1):
        if number != absent:
            yield from contributing_leaves(argument.expression, (*path, number))


def name_path(path: Path) -> str:
    """Write a path.

    >>> name_path((1, 2)), name_path(())
    ('1.2', '0')
    """
    return ".".join(map(str, path)) or "0"


def read_path(text: str) -> Path:
    """Read a path, the opposite of `name_path`."""
    return () if text == "0" else tuple(int(part) for part in text.split("."))
