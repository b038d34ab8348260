"""Patterns and event rules (definition sections 1 and 2); durations and times are integers of microseconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from etalis.errors import Span
from etalis.language.syntax.terms import Const, Term, place

Side: TypeAlias = Literal["left", "right"]


@dataclass(frozen=True, slots=True)
class EventPattern:
    """`name(t1, ..., tn)`: an event of that name and arity whose attributes match.

    `names` are those of `name(a1: t1, ...)`, one for each argument; none are left once they have found their places.
    """

    name: str
    args: tuple[Term, ...]
    span: Span | None = place()
    names: tuple[Const, ...] = ()


@dataclass(frozen=True, slots=True)
class TimePoint:
    """A number as a pattern: one event when time reaches it."""

    time: int
    span: Span | None = place()


@dataclass(frozen=True, slots=True)
class Binary:
    """Two patterns under a temporal relation: a key of `temporal.relation.RELATIONS` (`seq`, `and`, ...).

    `alone` is the side that matches without a partner too: `a seq? b` has it left, `a ?seq b` right. Where it is
    `apart`, its sides are one part each of a sequence, whatever they are; constraints alone say so. Of an `any` it has
    `chosen` so many constituents, all but the last on its left side, none of which is the event that another is.
    """

    operator: str
    left: Pattern
    right: Pattern
    span: Span | None = place()
    alone: Side | None = None
    apart: bool = False
    chosen: int = 0


@dataclass(frozen=True, slots=True)
class Or:
    """Either pattern; `chosen` where it is between conjunctions that an `any` stands for."""

    left: Pattern
    right: Pattern
    span: Span | None = place()
    chosen: bool = False


@dataclass(frozen=True, slots=True)
class Negation:
    """`pattern cnot absent` or `pattern fnot absent`; `NOT(C).[A,B]` reads as cnot over seq.

    `window` is how far back an `fnot` looks at most, whatever the windows around it; constraints alone give it.
    """

    operator: str
    pattern: Pattern
    absent: Pattern
    span: Span | None = place()
    window: int | None = None


@dataclass(frozen=True, slots=True)
class NotWithin:
    """`A seq (not C within d)`: no C until `duration` after the end of `pattern`.

    With `before` no C may lie in so much time before that end either; constraints alone give it.
    """

    pattern: Pattern
    absent: Pattern
    duration: int
    span: Span | None = place()
    before: int | None = None


@dataclass(frozen=True, slots=True)
class Condition:
    """`pattern where|check|event_multiply goal`; `timestamp` reads as check, `prolog(G)` in a sequence as where."""

    kind: str
    pattern: Pattern
    goal: Term
    span: Span | None = place()


@dataclass(frozen=True, slots=True)
class Within:
    """`pattern within d` or `(pattern).d`: at most `duration` long."""

    pattern: Pattern
    duration: int
    span: Span | None = place()


@dataclass(frozen=True, slots=True)
class Last:
    """`aggregate(...) last n`."""

    pattern: Pattern
    count: int
    span: Span | None = place()


@dataclass(frozen=True, slots=True)
class Do:
    """`pattern do action`."""

    pattern: Pattern
    action: Term
    span: Span | None = place()


@dataclass(frozen=True, slots=True)
class Repeat:
    """`pattern ntimes n`, `ntimes (n, m)`, `star_times` (1 to None); a bound is a number or a variable."""

    pattern: Pattern
    least: Term
    most: Term | None
    span: Span | None = place()


@dataclass(frozen=True, slots=True)
class Isolated:
    """`iso(pattern)`: nothing else strictly between its parts."""

    pattern: Pattern
    span: Span | None = place()


@dataclass(frozen=True, slots=True)
class AnyOf:
    """`any(n, [p1, ..., pm])`: n of them, in any order."""

    count: int
    patterns: tuple[Pattern, ...]
    span: Span | None = place()


@dataclass(frozen=True, slots=True)
class Aggregate:
    """`aggregate(kind(value), pattern, result)`; value is None for count."""

    kind: str
    value: Term | None
    pattern: Pattern
    result: Term
    span: Span | None = place()


@dataclass(frozen=True, slots=True)
class SubRule:
    """`(sub <- pattern)` inside a pattern: defines `sub` and stands for it."""

    rule: Rule
    span: Span | None = place()


Modifier: TypeAlias = Negation | Condition | Within | Last | Do | Isolated  # a match is one of its pattern
Pattern: TypeAlias = (
    EventPattern | TimePoint | Binary | Or | NotWithin | Modifier | Repeat | Aggregate | AnyOf | SubRule
)


@dataclass(frozen=True, slots=True)
class Alarm:
    """What makes a head an alarm: `after` a number of seconds, or `at` a point in time."""

    kind: str
    when: Term
    span: Span | None = place()


@dataclass(frozen=True, slots=True)
class Property:
    """`property(name, value)` of a label."""

    name: str
    value: Term
    span: Span | None = place()


@dataclass(frozen=True, slots=True)
class Rule:
    """An event rule; `action` is the one written on the head (`Head do Action <- P`).

    That of a reaction is `hidden`: its matches are told apart by number, and nobody but the reaction sees them.
    """

    head: EventPattern
    pattern: Pattern
    label: str | None = None
    properties: tuple[Property, ...] = ()
    alarm: Alarm | None = None
    action: Term | None = None
    span: Span | None = place()
    hidden: bool = False
