"""Actions of reactive rules: formulas over steps, executed whole or not at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from etalis.errors import Span
from etalis.language.syntax.patterns import Pattern
from etalis.language.syntax.terms import Term, place


@dataclass(frozen=True, slots=True)
class FactChange:
    """`ins(Fact)`, `del(Fact)` or `set(Fact)`."""

    kind: Literal["ins", "del", "set"]
    fact: Term
    span: Span | None = place()


@dataclass(frozen=True, slots=True)
class Raise:
    """`raise(Event)`, or `raise(Event, after(Seconds))`."""

    event: Term
    after: Term | None = None
    span: Span | None = place()


@dataclass(frozen=True, slots=True)
class Effect:
    """`effect(name(Arguments...))`: something done outside."""

    call: Term
    span: Span | None = place()


@dataclass(frozen=True, slots=True)
class Perform:
    """Any other goal: a call of an action, where a clause defines one of that name and arity, else a test."""

    goal: Term
    span: Span | None = place()


@dataclass(frozen=True, slots=True)
class Composed:
    """Two actions: one after the other (`seq`), interleaved (`par`), or the second where the first cannot be (`or`)."""

    operator: Literal["seq", "par", "or"]
    left: Action
    right: Action
    span: Span | None = place()


@dataclass(frozen=True, slots=True)
class IsoAction:
    """`iso(Action)`: one step."""

    action: Action
    span: Span | None = place()


@dataclass(frozen=True, slots=True)
class Possibility:
    """`possible(Action)`, or `impossible(Action)` where it is not `holds`: a test, without effect."""

    action: Action
    holds: bool = True
    span: Span | None = place()


@dataclass(frozen=True, slots=True)
class IfThenElse:
    """`(Test -> Action ; Otherwise)`: the first solution of a goal or of a `Possibility` decides."""

    test: Perform | Possibility
    action: Action
    otherwise: Action
    span: Span | None = place()


@dataclass(frozen=True, slots=True)
class Skip:
    """`skip`: nothing."""

    span: Span | None = place()


@dataclass(frozen=True, slots=True)
class Abort:
    """`abort`: no execution."""

    span: Span | None = place()


@dataclass(frozen=True, slots=True)
class Await:
    """`await(Pattern within Duration)`: what is before it is done; what follows goes on when the pattern occurs."""

    pattern: Pattern
    duration: int
    span: Span | None = place()


@dataclass(frozen=True, slots=True)
class SubjectTo:
    """`Action subject_to Constraint`: only executions whose steps satisfy it."""

    action: Action
    constraint: Term
    span: Span | None = place()


ActionStep: TypeAlias = FactChange | Raise | Effect | Perform | Skip | Abort
Action: TypeAlias = ActionStep | Composed | IsoAction | Possibility | IfThenElse | Await | SubjectTo
