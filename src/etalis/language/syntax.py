"""The syntax tree of a program.

Frozen nodes with a span each (spans never take part in equality, so `parse(print(tree)) == tree` is a law).
Terms are the reader's tree of Prolog terms; patterns, rules and the other clauses are built from them by the parser.
Durations and times are integers of microseconds; definition sections 1 and 2 have the notation.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from etalis.data.values import Value
from etalis.errors import Span

Side: TypeAlias = Literal["left", "right"]


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

    `alone` is the side that matches without a partner too: `a seq? b` has it left, `a ?seq b` right.
    """

    operator: str
    left: Pattern
    right: Pattern
    span: Span | None = place()
    alone: Side | None = None


@dataclass(frozen=True, slots=True)
class Or:
    """Either pattern."""

    left: Pattern
    right: Pattern
    span: Span | None = place()


@dataclass(frozen=True, slots=True)
class Negation:
    """`pattern cnot absent` or `pattern fnot absent`; `NOT(C).[A,B]` reads as cnot over seq."""

    operator: str
    pattern: Pattern
    absent: Pattern
    span: Span | None = place()


@dataclass(frozen=True, slots=True)
class NotWithin:
    """`A seq (not C within d)`: no C until `duration` after the end of `pattern`."""

    pattern: Pattern
    absent: Pattern
    duration: int
    span: Span | None = place()


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
    """An event rule; `action` is the one written on the head (`Head do Action <- P`)."""

    head: EventPattern
    pattern: Pattern
    label: str | None = None
    properties: tuple[Property, ...] = ()
    alarm: Alarm | None = None
    action: Term | None = None
    span: Span | None = place()


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
