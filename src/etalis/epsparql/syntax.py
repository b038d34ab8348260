"""The syntax tree of EP-SPARQL.

Terms and expressions are terms of the rule language, so that one printer, one snapshot and one evaluator serve both. A
constant is an RDF term in the exact naming (`logic.rdf.exact_terms`): an IRI in its brackets, a number, a text. An
expression is a `Compound` named as SPARQL writes it, functions in small letters: `'+'(X, 1)`, `'&&'(A, B)`,
`bound(X)`, `in(X, A, B)`; a cast is named by its IRI in brackets; `neg` and `pos` are the signs. `getduration`,
`getstarttime` and `getendtime` have no arguments here. A predicate that is a `Compound` is a property path: `/`, `|`,
`^`, `*`, `+`, `?`, `!`; `/`, `|` and `!` hold all their parts. `x NOT IN (..)` is `'!'(in(..))`; `iri` and `isiri`
stand for URI and isURI too. Aggregates are `count()` for COUNT(*), `sum(X)`, `count(distinct(X))`,
`group_concat(X, Separator)`. Durations are microseconds. Spans take no part in equality.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from etalis.errors import Span
from etalis.language.syntax import Compound, Const, Term, Var, place


@dataclass(frozen=True, slots=True)
class Triple:
    """Subject, predicate or path, and object; a blank node of a pattern is a variable that begins with `_:`."""

    subject: Term
    predicate: Term
    object: Term
    span: Span | None = place()


@dataclass(frozen=True, slots=True)
class GroupPattern:
    """`{ ... }`: its elements in the written order."""

    elements: tuple[Element, ...]
    span: Span | None = place()


@dataclass(frozen=True, slots=True)
class Chain:
    """Groups under temporal operators, from the left; `within` is of the whole chain.

    `operators` has one word in capitals less than there are groups: SEQ, EQUALS, OPTIONALSEQ, SEQOPTIONAL,
    OPTIONALEQUALS, EQUALSOPTIONAL. A chain of one group is there for its `within`.
    """

    groups: tuple[GroupPattern, ...]
    operators: tuple[str, ...]
    within: int | None = None
    span: Span | None = place()


@dataclass(frozen=True, slots=True)
class Alternatives:
    """Groups under UNION."""

    groups: tuple[GroupPattern, ...]
    span: Span | None = place()


@dataclass(frozen=True, slots=True)
class Optional:
    """`OPTIONAL { ... }`."""

    group: GroupPattern
    span: Span | None = place()


@dataclass(frozen=True, slots=True)
class Minus:
    """`MINUS { ... }`."""

    group: GroupPattern
    span: Span | None = place()


@dataclass(frozen=True, slots=True)
class Scoped:
    """`GRAPH name { ... }`, or `STREAM` or `WINDOW`; `kind` is the word in small letters."""

    kind: str
    name: Term
    group: GroupPattern
    span: Span | None = place()


@dataclass(frozen=True, slots=True)
class FilterBy:
    """`FILTER (...)`."""

    expression: Term
    span: Span | None = place()


@dataclass(frozen=True, slots=True)
class Exists:
    """`FILTER EXISTS { ... }`, or NOT EXISTS."""

    group: GroupPattern
    negated: bool
    span: Span | None = place()


@dataclass(frozen=True, slots=True)
class BindAs:
    """`BIND (expression AS ?variable)`."""

    expression: Term
    variable: Var
    span: Span | None = place()


@dataclass(frozen=True, slots=True)
class Values:
    """`VALUES (?x ?y) { (1 UNDEF) ... }`; None is UNDEF."""

    variables: tuple[Var, ...]
    rows: tuple[tuple[Const | None, ...], ...]
    span: Span | None = place()


@dataclass(frozen=True, slots=True)
class SubSelect:
    """A query in a group of its own."""

    query: StreamQuery
    span: Span | None = place()


@dataclass(frozen=True, slots=True)
class Folded:
    """`aggregate(sum(?x), rdf(?s, p, ?x), ?sum)` of the original's dialect: a group that is an aggregate."""

    kind: str
    value: Term | None
    triple: Triple
    result: Term
    span: Span | None = place()


@dataclass(frozen=True, slots=True)
class AskGoal:
    """A goal over the knowledge, in a FILTER or DO of the original's dialect."""

    goal: Compound
    span: Span | None = place()


Element: TypeAlias = (
    Triple | GroupPattern | Chain | Alternatives | Optional | Minus | Scoped | FilterBy | Exists | BindAs | Values
    | SubSelect | Folded | AskGoal
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Item:
    """What a SELECT reports: a variable, or an expression under its name."""

    variable: Var
    expression: Term | None = None
    span: Span | None = place()


@dataclass(frozen=True, slots=True)
class StreamWindow:
    """`[RANGE d STEP d]`."""

    range: int
    step: int | None = None
    span: Span | None = place()


@dataclass(frozen=True, slots=True)
class Dataset:
    """`FROM iri` (kind `default`), `FROM NAMED iri` (`named`), `FROM STREAM iri` (`stream`), or a named `window`."""

    kind: str
    iri: str
    window: StreamWindow | None = None
    stream: str | None = None
    span: Span | None = place()


@dataclass(frozen=True, slots=True)
class StreamQuery:
    """A query; `form` is `select`, `construct` or `ask`.

    `items` is None for `*` and where nothing is selected. `registered` is the word behind REGISTER in small letters and
    the name or IRI given. `groups` are the items of GROUP BY, None without it. `values` stand behind the body.
    """

    form: str
    body: GroupPattern
    items: tuple[Item, ...] | None = None
    template: tuple[Triple, ...] = ()
    datasets: tuple[Dataset, ...] = ()
    registered: tuple[str, str] | None = None
    groups: tuple[Item, ...] | None = None
    having: tuple[Term, ...] = ()
    values: Values | None = None
    policy: str | None = None
    span: Span | None = place()


@dataclass(frozen=True, slots=True)
class Unit:
    """The queries of a text; `dialect` is `etalis` where they are the original's, whose names are plain atoms."""

    queries: tuple[StreamQuery, ...]
    dialect: str | None = None
    span: Span | None = place()


def parts_of(element: Element) -> tuple[Element, ...]:
    """Return the elements directly inside an element."""
    match element:
        case GroupPattern(elements=elements):
            return elements
        case Chain(groups=groups) | Alternatives(groups=groups):
            return groups
        case Optional(group=group) | Minus(group=group) | Scoped(group=group) | Exists(group=group):
            return (group,)
        case SubSelect(query=query):
            return (query.body,)
    return ()
