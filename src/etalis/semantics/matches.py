"""What the meaning computes with: terms against values, matches of patterns, and what all rules share.

Bindings hold ground values only; a variable that is not in them is unbound. Law: `join` is defined exactly where both
sides agree on all that both bind, and is then commutative.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, NamedTuple, Protocol, TypeAlias, assert_never

from etalis.data.values import Struct, Value, real
from etalis.errors import ConditionError, EtalisError, Problem
from etalis.language import syntax as s
from etalis.language.steps import Step
from etalis.logic.builtins.time import no_clock
from etalis.logic.solver import Solver
from etalis.temporal.calendar import calendar_time
from etalis.temporal.event import Event
from etalis.temporal.interval import to_microseconds, to_seconds
from etalis.temporal.policy import Policy
from etalis.temporal.relation import Relation

Bindings: TypeAlias = dict[str, Value]
Names: TypeAlias = frozenset[str]
Numbers: TypeAlias = frozenset[int]
Told: TypeAlias = Callable[[int | None], Numbers]
Solve: TypeAlias = Callable[[s.Term, Bindings, Mapping[tuple[str, int], Value]], Iterable[Bindings]]


def match(term: s.Term, value: Value, bindings: Bindings) -> Bindings | None:
    """Unify a term with a value; anonymous variables are no variables."""
    match term:
        case s.Var(name):
            if name.startswith("_#"):
                return bindings
            if name in bindings:
                return bindings if bindings[name] == value else None
            return bindings | {name: value}
        case s.Const(constant):
            return bindings if constant == value else None
        case s.Compound(name, args):
            fits = isinstance(value, Struct) and value.name == name and len(value.args) == len(args)
            return match_all(args, value.args, bindings) if fits else None
        case s.ListTerm(items, tail):
            if not items:
                return match(s.Const(()) if tail is None else tail, value, bindings)
            is_pair = isinstance(value, Struct) and value.name == "[|]" and len(value.args) == 2
            if not is_pair and not (isinstance(value, tuple) and value):
                return None
            parts = value.args if is_pair else (value[0], value[1:])
            return match_all((items[0], s.ListTerm(items[1:], tail)), parts, bindings)
        case _:
            assert_never(term)


def match_all(terms: Sequence[s.Term], values: Sequence[Value], bindings: Bindings) -> Bindings | None:
    """Unify terms with values, from left to right."""
    found: Bindings | None = bindings
    for term, value in zip(terms, values, strict=True):
        found = None if found is None else match(term, value, found)
    return found


def ground(term: s.Term, bindings: Bindings) -> Value:
    """Return a term's value; an unbound variable is null."""
    match term:
        case s.Var(name):
            return bindings.get(name, "null")
        case s.Const(value):
            return value
        case s.Compound(name, args):
            return Struct(name, [ground(a, bindings) for a in args])
        case s.ListTerm(items, tail):
            front = tuple(ground(i, bindings) for i in items)
            rest = () if tail is None else ground(tail, bindings)
            if isinstance(rest, tuple):
                return front + rest
            return reduce(lambda t, h: Struct("[|]", (h, t)), reversed(front), rest)
        case _:
            assert_never(term)


def join(a: Bindings, b: Bindings) -> Bindings | None:
    """Return both bindings together, if they agree on what both bind."""
    return None if any(a[v] != b[v] for v in a.keys() & b.keys()) else a | b


def agree(a: Bindings, b: Bindings) -> bool:
    """Tell whether two bindings can be joined."""
    return join(a, b) is not None


def solutions(solve: Solve, kind: str, goal: s.Term, bindings: Bindings, start: int, end: int) -> list[Bindings]:
    """Return what the different solutions of a condition bind, or the first alone; only `check` knows t1 and t2."""
    times = {("t1", 1): _to_value(start), ("t2", 1): _to_value(end)} if kind == "check" else {}
    found: list[Bindings] = []
    for solution in solve(goal, bindings, times):
        bound = bindings | {v: value for v, value in solution.items() if not v.startswith("_#")}
        if bound not in found:
            found.append(bound)
        if kind != "event_multiply":
            break
    return found


def _to_value(time: int) -> Value:
    seconds = to_seconds(time)
    return real(seconds) if isinstance(seconds, float) else seconds


def alarm_time(kind: str, when: Value, end: int) -> int | None:
    """Return the moment of an alarm, or None if `when` is no delay or no moment (definition 16.2 and 16.3)."""
    if isinstance(when, int | float) and math.isfinite(when):
        moment = to_microseconds(when)
        if kind == "after":
            return end + moment if moment > 0 else None
        return max(end, moment)
    if kind == "at" and isinstance(when, Struct):
        try:
            return max(end, calendar_time(when.name, when.args))
        except (TypeError, ValueError, OverflowError):
            return None
    return None


@dataclass(frozen=True, slots=True, eq=False)
class Instance:
    """A match of a pattern; two of them are never the same, however equal.

    `first` is the end of the first and `last` the start of the last part of a sequence; `single` the number of the
    event that it is alone; `origin` what a repetition counted after (or its run); `holds` what leaves when it is
    consumed; `ones` the events that an `any` has chosen so far. `parts` are its own where `iso` asks, `told` the events
    that contribute to it (definition 23.5 to 23.11): as it stands, or where it has waited for what starts at a moment.
    """

    start: int
    end: int
    bindings: Bindings
    first: int
    last: int
    parts: Numbers
    told: Told
    single: int | None = None
    origin: object = None
    holds: tuple[tuple[list[Any], Any], ...] = ()
    ones: Numbers = frozenset()

    @property
    def one(self) -> Numbers:
        """The event that it is alone, if it is one."""
        return frozenset() if self.single is None else frozenset({self.single})

    @property
    def interval(self) -> tuple[int, int]:
        return self.start, self.end


class Offered(Protocol):
    """A leaf, which is offered every event; a leaf of a rule stands left of those built after it."""

    def offer(self, event: Event, number: int, arrival: Sequence[int] = ()) -> None: ...


Receiver: TypeAlias = Callable[[Instance], None]
Test: TypeAlias = Callable[[Instance], list[Instance]]


def whole(start: int, end: int, bindings: Bindings, parts: Numbers, told: Told, **more: Any) -> Instance:
    """Return an instance that counts as one part of any sequence."""
    return Instance(start, end, bindings, end, start, parts, told, **more)


def settled(numbers: Numbers) -> Told:
    """Return that these contribute, whatever follows."""
    return lambda _before: numbers


def tell(*several: Instance) -> Numbers:
    """Return what contributes to some matches as they stand."""
    return frozenset[int]().union(*(x.told(None) for x in several))


@dataclass(frozen=True, slots=True)
class ModelDeadline:
    """What is due at a moment: an absence `since` the end of its left side, or an alarm, for which that is no end.

    What may have partners that start when it does is judged by its start, after these, by levels (definition 9.29).
    Absences that look back, and what these may block, come after all others, by stages (definition 9.34).
    """

    due: int
    since: tuple[float, int]
    stands: Callable[[], bool]
    fire: Callable[[], None]
    stage: int = 0

    @property
    def turn(self) -> tuple[int, float, int]:
        """Its place among what is due together: the greatest comes first."""
        return (-self.stage, *self.since)


@dataclass(slots=True)
class RunState:
    """Where a run stands, for goals that act on it: the time reached, and the steps that follow the current input."""

    output: Callable[[str], object]
    now: int | None = None
    cause: Callable[[], Numbers] = frozenset  # the inputs of the match whose goal runs
    steps: list[tuple[Step, Numbers]] = field(default_factory=list)
    spied: set[tuple[str, int]] = field(default_factory=set)

    def reached(self) -> int | None:
        return self.now

    def watch(self, event: Event) -> None:
        """Write an event of a kind that is spied upon."""
        if (event.name, len(event.args)) in self.spied:
            self.output(f"{event!r}\n")

    def clock(self) -> float:
        if self.now is None:
            raise no_clock()
        return to_seconds(self.now)

    def follow(self, step: Step) -> None:
        self.steps.append((step, self.cause()))


class RecordedEvent(NamedTuple):
    """An event that was processed: its number if it is an input, and those of the inputs that contribute to it."""

    event: Event
    number: int | None
    contributors: Numbers


@dataclass(slots=True)
class RunNotes:
    """What explanations are checked against: every event in the order of processing, the knowledge, and the rules.

    `solver` keeps all versions; its time is how many events had been processed, and `changes` are such times, each with
    the generation of the knowledge before a change. `rules` are those that goals inserted or changed, by their labels.
    """

    record: list[RecordedEvent] = field(default_factory=list)
    solver: Solver | None = None
    changes: list[tuple[int, int]] = field(default_factory=list)
    rules: list[tuple[str, s.Rule]] = field(default_factory=list)


@dataclass(slots=True)
class World:
    """What the operators of all rules share: the table of relations, knowledge, history and what is still to come."""

    relations: Mapping[str, Relation]
    solve: Solve
    kinds: frozenset[tuple[str, int]]
    errors: list[EtalisError]
    learn: Callable[[Event], None]
    run_state: RunState
    leaves: list[Offered] = field(default_factory=list)
    points: list[tuple[int, Receiver]] = field(default_factory=list)
    record: list[RecordedEvent] = field(default_factory=list)
    deadlines: list[ModelDeadline] = field(default_factory=list)
    leaving: list[tuple[list[Any], Any]] = field(default_factory=list)
    levels: Mapping[Hashable, int] = field(default_factory=dict)  # of outer operators, by the ids of their patterns
    stages: Mapping[Hashable, int] = field(default_factory=dict)  # of absences and outer operators, likewise
    instead: Callable[[s.Pattern, Any], Any] = lambda _pattern, made: made  # what stands for an operator of a pattern

    def inputs_of(self, x: Instance) -> Numbers:
        """Return the numbers of the inputs that contribute to a match."""
        return frozenset[int]().union(*(self.record[place].contributors for place in x.told(None)))

    def let_go(self) -> None:
        """Take out what was replaced by the event that has now been offered to all leaves."""
        for store, gone in self.leaving:
            store[:] = [x for x in store if x is not gone]
        self.leaving = []

    def report(self, message: str, rule: str, hint: str | None = None) -> None:
        """Note an error that fails one match and stops nothing else."""
        self.errors.append(ConditionError(Problem("E501", f"in rule {rule}: {message}", hint=hint)))


@dataclass(slots=True)
class Standing:
    """Whether a rule still stands; of one that does not, nothing falls due."""

    stands: bool = True


@dataclass(frozen=True, slots=True)
class Scope:
    """Where a pattern stands: its rule, the policy, the smallest window around it, the variables used elsewhere."""

    world: World
    rule: str
    policy: Policy
    window: int | None
    outer: Names
    head: Names
    standing: Standing


@dataclass(frozen=True, slots=True)
class Tests:
    """The modifiers on one operator, innermost first; `conditions` are those that cumulative runs once more."""

    modifiers: list[tuple[bool, Test]]
    window: int | None

    def __call__(self, x: Instance) -> list[Instance]:
        """Return the matches that an instance passes the tests as: none, one, or one per solution."""
        found = [x] if self.window is None or x.end - x.start <= self.window else []
        for _, test in self.modifiers:
            found = [z for y in found for z in test(y)]
        return found

    def again(self, x: Instance) -> list[Instance]:
        """Run the conditions alone, on a match of several candidates together (definition 12.17)."""
        found = [x]
        for is_condition, test in self.modifiers:
            found = [z for y in found for z in test(y)] if is_condition else found
        return found


def pass_on(matches: Iterable[Instance], receive: Receiver) -> None:
    """Hand matches to a receiver, in order."""
    for x in matches:
        receive(x)
