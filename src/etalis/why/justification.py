"""Why an event occurred: the justification as data, shaped as the text of its rules is.

A frozen graph without cycles: what is shared is one object, so all walks are loops over identities (`nodes`), and
nothing here is compared, hashed or printed by content. Times are microseconds. JSON, terms, text and pictures are
prints of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar, dataclass_transform

from etalis.data.values import Value, format_atom, format_value
from etalis.language.syntax import Pattern, Term
from etalis.why.printable import Printable

Bindings: TypeAlias = Mapping[str, Value]
T = TypeVar("T")


@dataclass_transform(frozen_default=True, eq_default=False)
def datum(made: type[T]) -> type[T]:
    """Make a class of frozen data that is neither compared nor printed by content."""
    return dataclass(frozen=True, slots=True, eq=False, repr=False)(made)


@datum
class Occurred:
    """An event that occurred; without `name` one that the history no longer has."""

    name: str | None
    args: tuple[Value, ...]
    start: int
    end: int

    @property
    def atom(self) -> str:
        """Its atom as program text."""
        if self.name is None:
            return "?"
        name = format_atom(self.name)
        return f"{name}({', '.join(map(format_value, self.args))})" if self.args else name


@datum
class Received(Occurred):
    """An input: its number, and where it was read, if that is known."""

    number: int
    source: str | None = None
    offset: int | None = None


@datum
class Raised(Occurred):
    """Made by an action or a reaction of the match `by`; None if a goal of the host raised it."""

    by: Derived | None


@datum
class Derived(Occurred):
    """Made by a rule, shown as it was then; `tests` are those on the whole pattern.

    `arrival` is (rank, round, place) of definition section 6; `note` says what happened to the rule or the event since.
    """

    rule: str
    text: str
    bindings: Bindings
    body: Body
    tests: tuple[Test, ...] = ()
    arrival: tuple[int, int, int] | None = None
    note: str | None = None


# bodies


@datum
class Tested:
    """A part of a pattern with the tests that stand on it."""

    body: Body
    tests: tuple[Test, ...]


@datum
class PairOf:
    """Both sides of a binary operator; one is several under `cumulative`, or nothing where it may be missing."""

    relation: str
    left: PairSide
    right: PairSide


@datum
class ChosenBranch:
    """The alternative of `or` or `any` that matched, counted from 1."""

    which: int
    body: Body


@datum
class RepeatedRun:
    """A repetition: every element that counted, after `left` where there is one."""

    left: Body | None
    elements: tuple[Body, ...]


@datum
class PutTogether:
    """Several matches of a repetition that `cumulative` has made one of, the latest last."""

    bodies: tuple[Body, ...]


@datum
class FoldedValue:
    """An aggregate: every element in the value."""

    kind: str
    opener: Body | None
    elements: tuple[Body, ...]
    value: Value


@datum
class PointReached:
    """A point in time that the rule names."""

    time: int


@datum
class Awaited:
    """`left`, with nothing until the deadline."""

    left: Body
    nothing: Nothing


@datum
class Rung:
    """An alarm that `body` set; it occurs at `due`."""

    body: Body
    due: int


Body: TypeAlias = (
    Received
    | Raised
    | Derived
    | Tested
    | PairOf
    | ChosenBranch
    | RepeatedRun
    | PutTogether
    | FoldedValue
    | PointReached
    | Awaited
    | Rung
)


PairSide: TypeAlias = "Body | tuple[Body, ...] | Nothing"


# tests


@datum
class WithinWindow:
    """At most `allowed` long."""

    allowed: int
    actual: int


@datum
class ConditionHeld:
    """A condition (`where`, `check`, `event_multiply`), the values of its variables, and its proof."""

    kind: str
    goal: Term
    solution: Bindings
    proof: tuple[Proof, ...] = ()
    note: str | None = None


@datum
class Nothing:
    """No match of `pattern` under `bindings`: of a `gap` between the bounds, `inside` them, `before`, or the `same`.

    A match counts if it starts after (`open_low`: strictly) `low` and ends before (`open_high`: strictly) `high`;
    without `low` however long ago.
    """

    pattern: Pattern
    bindings: Bindings
    low: int | None
    high: int
    where: str
    open_low: bool = True
    open_high: bool = True


@datum
class AloneBetween:
    """Nothing else of the kinds that the program knows between the bounds."""

    low: int
    high: int
    where: str


@datum
class TakenUnder:
    """Selected under a policy."""

    policy: str


Test: TypeAlias = WithinWindow | ConditionHeld | Nothing | AloneBetween | TakenUnder


# knowledge


@datum
class KnownFact:
    """A fact, since when it is known, and the event that told it; without time it came with the program."""

    atom: Term
    since: int | None = None
    by: Received | Raised | Derived | None = None


@datum
class ByClause:
    """A clause whose body holds."""

    head: Term
    premises: tuple[Proof, ...]


@datum
class BuiltIn:
    """A built-in predicate, as it was called."""

    goal: Term


@datum
class HostCall:
    """A function of the host; `now` is what it answers today, if that differs."""

    goal: Term
    now: str | None = None


@datum
class DeeperProof:
    """The proof goes on beyond the depth that was asked for."""

    goal: Term


Proof: TypeAlias = KnownFact | ByClause | BuiltIn | HostCall | DeeperProof
Node: TypeAlias = Body | Test | Proof


@datum
class Justification(Printable):
    """Why one event occurred: the first derivation by arrival.

    `level` is ids or full. It is not `complete` where parts are older than the history or beyond the limit.
    """

    root: Derived | Raised | Received
    program: str
    level: str = "full"
    complete: bool = True
    notes: tuple[str, ...] = field(default=())
    dates: bool = False


def below(node: Node) -> tuple[Node, ...]:
    """Return what a node refers to, left to right."""
    match node:
        case Raised(by=by) | KnownFact(by=by):
            return () if by is None else (by,)
        case Derived(body=body, tests=tests) | Tested(body=body, tests=tests):
            return (body, *tests)
        case PairOf(left=left, right=right):
            sides = [side if isinstance(side, tuple) else (side,) for side in (left, right)]
            return (*sides[0], *sides[1])
        case ChosenBranch(body=body) | Rung(body=body):
            return (body,)
        case RepeatedRun(left=first, elements=elements) | FoldedValue(opener=first, elements=elements):
            return (*(() if first is None else (first,)), *elements)
        case PutTogether(bodies=bodies):
            return bodies
        case Awaited(left=left, nothing=nothing):
            return (left, nothing)
        case ConditionHeld(proof=proof) | ByClause(premises=proof):
            return proof
        case _:
            return ()


def nodes(root: Node, through: Callable[[Node], bool] = lambda _node: True) -> Iterator[Node]:
    """Yield every node once, those that it refers to before it; not what is below one that `through` refuses."""
    done: set[int] = set()
    stack: list[tuple[Node, bool]] = [(root, False)]
    while stack:
        node, opened = stack.pop()
        if id(node) in done:
            continue
        if opened or not through(node):
            done.add(id(node))
            yield node
            continue
        stack.append((node, True))
        stack.extend((child, False) for child in reversed(below(node)))
