"""What waits at the operators of a rule, read from the stores of an engine: values, moments, which leaves are there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, assert_never

from etalis.data.values import Value
from etalis.language import syntax as s
from etalis.plan import algebra as p
from etalis.plan.retention import window_of
from etalis.runtime.codegen.network import PlannedRule, Wired
from etalis.runtime.codegen.ropes import node_shape, slot_names
from etalis.runtime.operators.partition_state import held_by
from etalis.runtime.operators.repetition.counted import is_usable
from etalis.runtime.operators.repetition.lines import ElementLine, longest_after
from etalis.runtime.operators.repetition.repeater import Repeater
from etalis.runtime.operators.repetition.runner import Runner
from etalis.runtime.operators.store import Newest, members
from etalis.runtime.ruleset import RuleSet
from etalis.temporal.rope import SeveralRopes, flatten, rope_of, ropes_in

Renames: TypeAlias = Mapping[str, str]
OpenTest: TypeAlias = p.GoalTest | p.Absent | p.Alone | p.Deadline
Leaf: TypeAlias = tuple[p.Source | p.Tick, ...]  # an event or a point in time, or one of several


@dataclass(frozen=True, slots=True)
class PlaceInRule:
    """A node of a rule, and what is wired for it, perhaps for several rules.

    `renames` tells how the rule calls its variables; `open` are the tests above it, which are still to be judged;
    `branches` says which alternative of each `or` above it is meant; its leaves begin with number `first`.
    """

    node: p.Node
    entry: Wired
    renames: Renames
    open: tuple[OpenTest, ...]
    branches: Mapping[int, int]
    first: int


@dataclass(frozen=True, slots=True)
class WaitingInstance:
    """An instance that waits; `counted` is how much there is of the leaf that comes next."""

    place: PlaceInRule
    leaves: range
    bindings: Mapping[str, Value]
    start: int
    end: int
    until: int | None
    parts: tuple[int, ...]
    counted: float = 0

    def share(self, whole: int) -> float:
        """Return how much of so many leaves is there."""
        return (len(self.leaves) + self.counted) / max(whole, 1)


# the leaves of a rule


def leaves_of(node: p.Node, branches: Mapping[int, int]) -> list[Leaf]:
    """Return the positive leaves of a node, of an `or` those of one branch, else of the fullest.

    Alternatives of one leaf each are one leaf together.
    """
    done: dict[int, list[Leaf]] = {}
    for each in reversed(list(_positive(node))):
        below = [done[id(child)] for child in p.children(each)]
        match each:
            case p.Source() | p.Tick():
                done[id(each)] = [(each,)]
            case p.Union() if id(each) in branches:
                done[id(each)] = below[branches[id(each)]]
            case p.Union() if all(len(leaves) == 1 for leaves in below):
                done[id(each)] = [tuple(leaf for leaves in below for leaf in leaves[0])]
            case p.Union():
                done[id(each)] = max(below, key=len)
            case _:
                done[id(each)] = [leaf for leaves in below for leaf in leaves]
    return done[id(node)]


def _positive(node: p.Node) -> Iterator[p.Node]:
    stack = [node]
    while stack:
        top = stack.pop()
        yield top
        stack.extend(p.children(top))


# what waits


def waiting_of(rules: RuleSet, planned: PlannedRule) -> Iterator[WaitingInstance]:
    """Yield every instance that waits at an operator of a rule, and the alarms that it has set."""
    body = planned.head.body
    stack = [PlaceInRule(body, *found, _still_open(body), {}, 0) for found in _bodies(rules, planned)]
    yield from _alarms(rules, planned, stack)
    while stack:
        place = stack.pop()
        yield from _waiting_at(rules, place)
        stack.extend(_inner(place))


def _bodies(rules: RuleSet, planned: PlannedRule) -> Iterator[tuple[Wired, Renames]]:
    for entry in rules.wiring.entries:
        for reader in entry.readers:
            if reader.kind == "head" and reader.target is planned:
                yield entry, reader.renames


def _still_open(node: p.Node) -> tuple[OpenTest, ...]:
    own = (node,) if isinstance(node, p.Deadline) else ()
    return (*own, *(test for test in p.tests(node) if isinstance(test, p.GoalTest | p.Absent | p.Alone)))


def _inner(place: PlaceInRule) -> Iterator[PlaceInRule]:
    """Yield the inputs of a node."""
    node, first = place.node, place.first
    for i, (part, child) in enumerate(zip(p.children(node), place.entry.inputs, strict=True)):
        reader = next(r for r in child.readers if r.kind == "input" and r.target is place.entry and r.place == i)
        branches = {**place.branches, id(node): i} if isinstance(node, p.Union) else place.branches
        own = {**place.renames, **{name: place.renames.get(to, to) for name, to in reader.renames.items()}}
        yield PlaceInRule(part, child, own, (*_still_open(part), *place.open), branches, first)
        first += 0 if isinstance(node, p.Union) else len(leaves_of(part, branches))


def _waiting_at(rules: RuleSet, place: PlaceInRule) -> Iterator[WaitingInstance]:
    node, key, memory = place.entry.node, place.entry.key, rules.memory
    operator = memory.get((key, "operator"), {})
    inner = list(_inner(place))
    window = window_of(p.tests(node))
    match node:
        case p.Join():
            for i, below in enumerate(inner):
                names = rules.compiler.stores.keys(place.entry), rules.compiler.stores.columns(place.entry, i)
                for values, start, end in _stored(memory.get((key, f"side{i}"), {}), *names):
                    yield _instance(place, below, values, start, end, None if window is None else start + window)
        case p.Repetition():
            for values, start, end, counted in _counting(operator, node):
                until = None if window is None else start + window
                if node.left is not None:
                    yield _instance(place, inner[0], values, start, end, until, counted)
                elif counted < 1:
                    none = range(place.first, place.first)
                    yield WaitingInstance(place, none, _named(values, place.renames), start, end, until, (), counted)
        case p.Fold(opener=opener) if opener is not None:
            for item, _ in held_by(operator, rules.state):
                until = None if window is None else item.start + window
                values = dict(zip(opener.exports, item.values, strict=True))
                yield _instance(place, inner[0], values, item.start, item.end, until, float(bool(item.totals)))
        case p.Deadline(left=left, duration=duration):
            for payload, end in held_by(operator, rules.state):
                if operator.stands(payload):
                    values = dict(zip(left.exports, payload, strict=False))
                    yield _instance(place, inner[0], values, payload[-2], end, end + duration)
        case p.SomeOf():
            for i, below in enumerate(inner):
                exports = node.constituents[i].exports
                for group in memory.get((key, f"side{i}"), {}).values():
                    *values, _, start, end = group.items[-1]
                    until = None if window is None else start + window
                    yield _instance(place, below, dict(zip(exports, values, strict=True)), start, end, until)
        case p.Source() | p.Tick() | p.Union() | p.Filter() | p.Fold():
            return
        case _:
            assert_never(node)


def _instance(
    place: PlaceInRule,
    below: PlaceInRule,
    values: Mapping[str, Any],
    start: int,
    end: int,
    until: int | None,
    counted: float = 0,
) -> WaitingInstance:  # fmt: skip
    """Return an instance of an input of a node, which waits at the node; a leaf that is counted to its end is there."""
    size = len(leaves_of(below.node, below.branches))
    leaves = range(below.first, below.first + size + (counted >= 1))
    parts = _parts(values, below.node)
    return WaitingInstance(
        place, leaves, _named(values, place.renames), start, end, until, parts, 0 if counted >= 1 else counted
    )


def _parts(values: Mapping[str, Any], node: p.Node) -> tuple[int, ...]:
    """Return the numbers of the inputs that an instance of a node is made of, whose rope may lie in several slots."""
    slots = slot_names(shape := node_shape(node))
    if slots[-1] not in values:  # held as one, or not at all
        return flatten(values.get("$parts"))
    return flatten(SeveralRopes(ropes_in(shape, [values[name] for name in slots])))


def _named(values: Mapping[str, Any], renames: Renames) -> Mapping[str, Value]:
    """Return what is bound, by the names of the rule."""
    bound = ((name, value) for name, value in values.items() if name[0] != "$" and value is not None)
    return {renames.get(name, name): value for name, value in bound if not name.startswith("_#")}


def _stored(store: Mapping[Any, Any], keys: list[str], columns: list[str]) -> Iterator[tuple[dict[str, Any], int, int]]:
    """Yield the instances of one side of a join: values by name, start and end."""
    for key, group in store.items():
        shared = {} if not keys else {keys[0]: key} if len(keys) == 1 else dict(zip(keys, key, strict=True))
        for instance in group.items[-1:] if isinstance(group, Newest) else members(group):
            values = shared | dict(zip(columns, instance, strict=False))
            token = values.get("$token")
            if token is None or token.alive:
                yield values, instance[-2], instance[-1]


def _counting(operator: Any, node: p.Repetition) -> Iterator[tuple[dict[str, Any], int, int, float]]:
    """Yield what a repetition counts after, or its runs: values by name, start, end, how much of the least is there."""
    match operator:
        case Repeater(lefts=shelf):
            assert node.left is not None
            for place, left in ((place, left) for place, group in shelf.groups.items() for left in group):
                if is_usable(left) and left.replaced_by is None:
                    counts = {key: count[0] for key, count in (left.counts if left.counted else {}).items()}
                    chains = {} if left.noted is None else left.noted.chains
                    counts |= {key: max(map(max, (c[2] for c in chain))) for key, chain in chains.items() if chain}
                    lines = [(key, line) for key, line in operator.lines.items() if operator.line_key(key) == place]
                    counts |= {key: longest_after(line, left.end) for key, line in lines}
                    shares = [_share(operator.limits((*key, *left.values)), n) for key, n in counts.items()]
                    values = dict(zip(node.left.exports, left.values, strict=True))
                    yield values, left.start, left.end, max(shares, default=0)
        case Runner(runs=runs):
            for key, group in runs.items():
                for run in (run for run in group if is_usable(run)):
                    yield _by_name(node, key), run.start, run.end, _share(operator.limits(key), run.number)
            for key, group in operator.elements.items():
                elements = list(group)
                for (start, *_), (number, last) in zip(elements, ElementLine(elements).reach(), strict=True):
                    yield _by_name(node, key), start, elements[last][1], _share(operator.limits(key), number)


def _share(limits: tuple[int, int | None] | None, number: int) -> float:
    return 0 if limits is None else min(number, limits[0]) / limits[0]


def _by_name(node: p.Repetition, key: tuple[Any, ...]) -> dict[str, Any]:
    return dict(zip(node.shared, key, strict=True))


def _alarms(rules: RuleSet, planned: PlannedRule, bodies: list[PlaceInRule]) -> Iterator[WaitingInstance]:
    """Yield the alarms that a rule has set; of its variables those of the head are known."""
    ring = rules.heads.rings.get(planned.number)
    args = planned.head.event.args
    for due, _, _, owner, payload, _ in rules.state.timers if ring is not None else ():
        if owner is ring:
            bound = {arg.name: value for arg, value in zip(args, payload, strict=False) if isinstance(arg, s.Var)}
            for body in bodies:
                place = replace(body, open=())
                leaves = range(len(leaves_of(body.node, {})))
                parts = flatten(rope_of((due, due, owner.kind, *payload[:-1]))) if rules.traced else ()
                yield WaitingInstance(place, leaves, bound, due, due, due, parts)
