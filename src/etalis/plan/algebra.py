"""The plan: what every back end executes. Nine kinds of node, and the tests that a match must pass.

Each node turns instances of its children into instances of its own: values of `exports` (in that order) on an
interval. Names that begin with `$` are bookkeeping: `$first` (end of the first part of a sequence), `$last` (start of
its last part), `$token` (who may be consumed with it), `$parts` (numbers of the inputs), `$ids` (the part events
themselves), `$one` (the event that it is alone, or those that an `any` has chosen). Law: a node's matches depend only
on the node, never on who else reads them; so equal nodes may be shared. Every `match` over nodes or tests is
exhaustive, so that the type checker names each place that a new kind is missing from; a back end may refuse a kind by
name, none may pass over it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from etalis.language.syntax import Alarm, Compound, EventPattern, Side, Term
from etalis.temporal.policy import Policy
from etalis.temporal.relation import Relation

Kind: TypeAlias = tuple[str, int]  # the name of an event and how many attributes it has


@dataclass(frozen=True, slots=True)
class Window:
    """At most `duration` microseconds long."""

    duration: int


@dataclass(frozen=True, slots=True)
class GoalTest:
    """A condition over background knowledge; kind is `where`, `check` or `event_multiply`.

    `settled`: the numbers of those conjuncts of `goal` that prefilters below have shown wherever they do not raise.
    """

    kind: str
    goal: Term
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    settled: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Prefilter:
    """Conjuncts of a condition above, over what one part binds: a match that refutes them is no candidate there.

    They are pure, and bind nothing outside. A match for which they raise stays, and nothing is reported: the condition
    itself, which stands above as it was written, judges it.
    """

    goal: Term
    inputs: tuple[str, ...]

    @property
    def kind(self) -> str:
        """Its kind as a condition."""
        return "where"

    @property
    def outputs(self) -> tuple[str, ...]:
        """The variables that it binds for others: none."""
        return ()


@dataclass(frozen=True, slots=True)
class Absent:
    """No match of `node` (agreeing on `joined`) where `kind` says: in a sequence's `gap`, `inside`, or `before`.

    `conditions`, over both, tell which of them block; `brought` are the variables of `node` that only these read.
    """

    kind: str
    node: Node
    joined: tuple[str, ...]
    window: int | None = None
    conditions: tuple[GoalTest, ...] = ()
    brought: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Alone:
    """Nothing else of the kinds the program knows in the `gap` or `inside`, but the match's own parts."""

    kind: str


@dataclass(frozen=True, slots=True)
class Action:
    """A goal that runs once per match and never refuses it."""

    goal: Term
    inputs: tuple[str, ...]


Condition: TypeAlias = GoalTest | Prefilter
Test: TypeAlias = Window | GoalTest | Prefilter | Absent | Alone | Action


@dataclass(frozen=True, slots=True)
class Source:
    """Events of one name and arity whose attributes match."""

    name: str
    args: tuple[Term, ...]
    exports: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Tick:
    """The moment `time`; `place` tells two equal numbers of a text apart."""

    time: int
    place: int
    exports: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class KeyPair:
    """What the two sides of a join must have in common, over the variables of each, for its conditions to hold.

    `kind`: of equal `value` (`=`, `==`), equal as `number`, only where all are `integer`, together in a `fact`, or
    equal where both are `bound`. An instance whose `numbers` are not all plain numbers may raise an error in a
    condition before; it meets everything.
    """

    kind: str
    left: Term
    right: Term
    numbers: tuple[str, ...] = ()
    fact: Compound | None = None


@dataclass(frozen=True, slots=True)
class Join:
    """Pairs under a relation, selected and consumed by a policy.

    `alone`: the side whose instances match too where they took part in no match; `tests` is what makes a partner one.
    `keys_on` narrows what must be looked at: a back end may index what waits by it, the tests judge all the same.
    """

    relation: Relation
    policy: Policy
    left: Node
    right: Node
    tests: tuple[Test, ...]
    exports: tuple[str, ...]
    alone: Side | None = None
    keys_on: tuple[KeyPair, ...] = ()
    is_apart: bool = False  # its sides are no pair where they have an event of `$one` in common


@dataclass(frozen=True, slots=True)
class SomeOf:
    """So many of several constituents, one instance of each: of an arriving one and the latest of others that agree.

    Of each constituent the newest of its `keys` waits. `any` under a policy that keeps the newest.
    """

    count: int
    constituents: tuple[Node, ...]
    keys: tuple[tuple[str, ...], ...]
    policy: Policy
    tests: tuple[Test, ...]
    exports: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Union:
    """Whatever any branch matches; variables a branch does not bind are None."""

    branches: tuple[Node, ...]
    exports: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Filter:
    """The matches of `child` that pass the tests, with what the tests bind."""

    child: Node
    tests: tuple[Test, ...]
    exports: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Repetition:
    """Runs of `least` to `most` elements, after each `left` where there is one; `shared` have one value per run."""

    left: Node | None
    element: Node
    least: Term
    most: Term | None
    shared: tuple[str, ...]
    policy: Policy
    tests: tuple[Test, ...]
    exports: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Fold:
    """A running aggregate of `element`, per group: since each `opener`, or over the last `within` or `last`.

    `at_opener`: the groups that must be bound for a value at the opener itself.
    """

    opener: Node | None
    element: Node
    kind: str
    value: Term | None
    result: Term
    groups: tuple[str, ...]
    within: int | None
    last: int | None
    at_opener: frozenset[str]
    tests: tuple[Test, ...]
    exports: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Deadline:
    """`left` with no `absent` until `duration` after it: known when that time has passed.

    With `before` none may lie in so much time before the end of `left` either. `conditions` and `brought` are as in
    `Absent`.
    """

    left: Node
    absent: Node
    joined: tuple[str, ...]
    duration: int
    tests: tuple[Test, ...]
    exports: tuple[str, ...]
    conditions: tuple[GoalTest, ...] = ()
    brought: tuple[str, ...] = ()
    before: int | None = None

    @property
    def span(self) -> int:
        """How long an occurrence of `absent` can matter."""
        return self.duration + (self.before or 0)

    def after(self, end: Any) -> Any:
        """Return what blockers of a left side that ended at `end` start after: a moment, or an array of them."""
        return end if self.before is None else end - self.before - 1


Node: TypeAlias = Source | Tick | Join | SomeOf | Union | Filter | Repetition | Fold | Deadline


@dataclass(frozen=True, slots=True)
class Head:
    """A rule's plan: what its matches become.

    Those of a reaction are `hidden`: no rule reads them, nobody is told, and equal ones are told apart by a number, for
    which the last attribute stands.
    """

    event: EventPattern
    label: str
    body: Node
    alarm: Alarm | None
    actions: tuple[Action, ...]
    hidden: bool = False

    @property
    def kind(self) -> Kind:
        """The kind of event that its matches become."""
        return self.event.name, len(self.event.args)


def children(node: Node) -> tuple[Node, ...]:
    """Return the positive inputs of a node, left to right."""
    match node:
        case Source() | Tick():
            return ()
        case Join(left=a, right=b):
            return (a, b)
        case SomeOf(constituents=constituents):
            return constituents
        case Union(branches=branches):
            return branches
        case Filter(child=child):
            return (child,)
        case Repetition(left=left, element=element):
            return (element,) if left is None else (left, element)
        case Fold(opener=opener, element=element):
            return (element,) if opener is None else (opener, element)
        case Deadline(left=left):
            return (left,)


def falls_due(node: Node) -> bool:
    """Tell whether a node makes matches when time passes: an absence, or a join without a partner."""
    if isinstance(node, Join) and node.alone is not None and node.relation.alone is not None:
        return node.relation.alone[0 if node.alone == "left" else 1] != "at once"
    return isinstance(node, Deadline)


_UNTESTED = (Source, Tick, Union)


def tests(node: Node) -> tuple[Test, ...]:
    """Return the tests that stand on a node."""
    return () if isinstance(node, _UNTESTED) else node.tests


def negated(node: Node) -> tuple[Node, ...]:
    """Return the patterns whose absence a node itself asks for."""
    absent = tuple(t.node for t in tests(node) if isinstance(t, Absent))
    return (*absent, node.absent) if isinstance(node, Deadline) else absent


def groups(node: Node) -> tuple[str, ...] | None:
    """Return the variables that part what a node counts, folds or waits for; None if it does none of these."""
    match node:
        case Repetition(shared=names) | Fold(groups=names) | Deadline(joined=names):
            return names
        case Source() | Tick() | Join() | SomeOf() | Union() | Filter():
            return None


def reads(test: Test) -> tuple[str, ...]:
    """Return the variables of a match that a test reads."""
    match test:
        case GoalTest(inputs=names) | Prefilter(inputs=names) | Action(inputs=names):
            return names
        case Absent(joined=names):
            return tuple(dict.fromkeys((*names, *asked_of_match(test))))
        case Window() | Alone():
            return ()


def asked_of_match(absence: Absent | Deadline) -> tuple[str, ...]:
    """Return the variables of a match that the conditions of an absence read."""
    names = dict.fromkeys(v for condition in absence.conditions for v in condition.inputs)
    bound = {v for condition in absence.conditions for v in condition.outputs}
    return tuple(v for v in names if v not in absence.brought and v not in bound)


def read_kinds(node: Node) -> tuple[Kind, ...]:
    """Return the kinds of event that a node reads, each once."""
    return tuple(dict.fromkeys((n.name, len(n.args)) for n in walk(node) if isinstance(n, Source)))


def single_kinds(node: Node) -> frozenset[Kind]:
    """Return the kinds of event that a node matches as single events; none for a composite."""
    match node:
        case Source(name=name, args=args):
            return frozenset({(name, len(args))})
        case Filter() | Union():
            return frozenset().union(*map(single_kinds, children(node)))
        case Tick() | Join() | SomeOf() | Repetition() | Fold() | Deadline():
            return frozenset()


def multiplies(node: Node) -> bool:
    """Tell whether a single event may give several matches of a node."""
    if any(isinstance(test, GoalTest) and test.kind == "event_multiply" for test in tests(node)):
        return True
    return isinstance(node, Filter | Union) and any(map(multiplies, children(node)))


def with_parts(node: Node, change: Callable[[Node], Node]) -> Node:
    """Return a node with each of its parts changed, negated ones included."""
    changes: dict[str, Any] = {}
    for name in ("left", "right", "child", "element", "opener", "absent"):
        if getattr(node, name, None) is not None:
            changes[name] = change(getattr(node, name))
    if isinstance(node, Union):
        changes["branches"] = tuple(map(change, node.branches))
    if isinstance(node, SomeOf):
        changes["constituents"] = tuple(map(change, node.constituents))
    if any(isinstance(test, Absent) for test in tests(node)):
        several = tests(node)
        changes["tests"] = tuple(replace(t, node=change(t.node)) if isinstance(t, Absent) else t for t in several)
    return replace(node, **changes) if changes else node


def is_single(node: Node) -> bool:
    """Tell whether a node is events of one kind, perhaps tested: no part of it is told anything by its conditions."""
    return isinstance(node, Filter) and isinstance(node.child, Source) and not negated(node)


def walk(node: Node) -> Iterator[Node]:
    """Yield a node and all below it, negated ones included, parents first."""
    stack = [node]
    while stack:
        top = stack.pop()
        yield top
        if not isinstance(top, Source):
            stack.extend(reversed((*children(top), *negated(top))))
