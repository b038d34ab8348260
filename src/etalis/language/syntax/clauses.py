"""The clauses of a program that are no rules, and the program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from etalis.errors import Span
from etalis.language.syntax.patterns import Property, Rule
from etalis.language.syntax.terms import Const, Term, place


@dataclass(frozen=True, slots=True)
class LabelProperty:
    """`event_rule_property(label, name, value).`"""

    label: str
    property: Property
    span: Span | None = place()


@dataclass(frozen=True, slots=True)
class Clause:
    """Background knowledge: `head :- body.`; body is None for a fact."""

    head: Term
    body: Term | None = None
    span: Span | None = place()


@dataclass(frozen=True, slots=True)
class Trigger:
    """`print_trigger(P).` / `external_trigger(P) :- Body.`; definition 8.11 says what `pattern` may be.

    `names` are those of a pattern `name(a1: t1, ...)`, as in `EventPattern`; `body` is None if there is none.
    """

    kind: str
    pattern: Term
    span: Span | None = place()
    names: tuple[Const, ...] = ()
    body: Term | None = None


@dataclass(frozen=True, slots=True)
class EventDeclaration:
    """`:- event(name(attribute: type, ...)).`, or `implied` by the names that patterns give to attributes."""

    name: str
    attributes: tuple[tuple[str, str], ...]
    span: Span | None = place()
    implied: bool = False


@dataclass(frozen=True, slots=True)
class Import:
    """`:- import f/n, ... from File.`"""

    names: tuple[tuple[str, int], ...]
    file: str
    span: Span | None = place()


@dataclass(frozen=True, slots=True)
class Export:
    """`:- export f/n, ... .`"""

    names: tuple[tuple[str, int], ...]
    span: Span | None = place()


@dataclass(frozen=True, slots=True)
class SetFlag:
    """`:- set_flag(name, value).`, also `set_etalis_flag`."""

    name: str
    value: Term
    span: Span | None = place()


@dataclass(frozen=True, slots=True)
class Declare:
    """`:- table f/n.` / `:- dynamic f/n.`"""

    kind: str
    names: tuple[tuple[str, int], ...]
    span: Span | None = place()


@dataclass(frozen=True, slots=True)
class KnowledgeDeclaration:
    """`:- knowledge f/n, g/m - h/m.`: events f and g make facts known; an event h takes the fact g away."""

    facts: tuple[tuple[str, int, str | None], ...]
    span: Span | None = place()


@dataclass(frozen=True, slots=True)
class Initially:
    """`:- Goal.`: run once when the program starts; also `op/3`, which the reader has obeyed already."""

    goal: Term
    span: Span | None = place()


Directive: TypeAlias = EventDeclaration | Import | Export | SetFlag | Declare | KnowledgeDeclaration | Initially
Item: TypeAlias = Rule | LabelProperty | Clause | Trigger | Directive


@dataclass(frozen=True, slots=True)
class Tree:
    """A whole program: its clauses in their written order."""

    items: tuple[Item, ...]
    span: Span | None = place()
