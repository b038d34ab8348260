"""Clauses of reactive rules: what is done when a pattern occurs, over facts that actions change, and constraints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from etalis.errors import Span
from etalis.language.syntax.actions import Action, Await
from etalis.language.syntax.patterns import Pattern, Property
from etalis.language.syntax.terms import Term, place


@dataclass(frozen=True, slots=True)
class StateDeclaration:
    """`:- state f/n, g/m key k.`: facts that actions change; of a predicate with a key, its first k arguments."""

    predicates: tuple[tuple[str, int, int | None], ...]
    span: Span | None = place()


@dataclass(frozen=True, slots=True)
class ActionClause:
    """`action Head :- Body.`"""

    head: Term
    body: Action
    span: Span | None = place()


@dataclass(frozen=True, slots=True)
class Always:
    """`always Goal.`: it has a solution in every legal state."""

    goal: Term
    span: Span | None = place()


@dataclass(frozen=True, slots=True)
class SagaPart:
    """Of a reaction that goes on where another waits: the event that began the wait, and what is awaited.

    At `is_end` of the wait nothing goes on: what was done is undone.
    """

    mark: str
    awaited: Await
    is_end: bool = False


@dataclass(frozen=True, slots=True)
class Reaction:
    """`on Pattern [if Condition] do Action [else Otherwise] [undo Undo]`.

    No text has one that is a `part`: where an action waits, the compiler makes what goes on (`reactive/sagas`).
    """

    pattern: Pattern
    action: Action
    condition: Term | None = None
    otherwise: Action | None = None
    undo: Action | None = None
    label: str | None = None
    properties: tuple[Property, ...] = ()
    span: Span | None = place()
    part: SagaPart | None = None


@dataclass(frozen=True, slots=True)
class Constraint:
    """`constraint Label: never Pattern`, or `Pattern requires Required ...`: what breaks it is an event.

    `mode` says where the required pattern may lie: within `duration` around the pattern, after it, before it, or next.
    """

    label: str
    pattern: Pattern
    required: Pattern | None = None
    mode: Literal["never", "around", "after", "before", "next"] = "never"
    duration: int | None = None
    span: Span | None = place()


ReactiveItem: TypeAlias = StateDeclaration | ActionClause | Always | Reaction | Constraint
