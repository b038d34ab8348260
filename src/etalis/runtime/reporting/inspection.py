"""State of an engine by rule and operator: how many instances wait, their size and age."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, assert_never

from etalis.language.operators import spell
from etalis.plan import algebra as p
from etalis.plan.explain.text import Explanation, explain_rules
from etalis.runtime.codegen.heads import Ring
from etalis.runtime.codegen.network import Wired
from etalis.runtime.limits.expiry import sweep
from etalis.runtime.operators.blockers import Blockers, LatestBlockers
from etalis.runtime.operators.partition_state import held_by
from etalis.runtime.operators.store import count_instances
from etalis.temporal.interval import to_seconds

if TYPE_CHECKING:
    from etalis.runtime.lateness.lateness import Disorder
    from etalis.runtime.ruleset import RuleSet

SAMPLE = 1000
_SIDES = {"side0": "left", "side1": "right", "operator": "opened"}


@dataclass(frozen=True, slots=True)
class Waiting:
    """What one part of one operator holds on to.

    `rules` are the labels of all rules that share the operator, none for what belongs to the whole program. `bytes` is
    an estimate from a sample; `oldest` is the end, in seconds, of what has waited longest.
    """

    rules: tuple[str, ...]
    operator: str
    part: str
    instances: int
    bytes: int
    oldest: int | float | None


def inspect(rules: RuleSet, disorder: Disorder | None) -> tuple[Waiting, ...]:
    """Return a row for everything that can hold something, in order of rules."""
    sweep(rules, rules.state.now)
    entries = {entry.key: entry for entry in rules.wiring.entries}
    found = [
        _row(labels_of(entries[key[0]]), _operator(entries[key[0]].node), _part(str(key[1])), held)
        for key, held in ((key, held_by(part, rules.state)) for key, part in rules.memory.items())
        if key != "log" and _holds(key)
    ]
    for ring in rules.heads.rings.values():
        alarms = [(t[4], t[0]) for t in rules.state.timers if t[3] is ring]
        found.append(_row((ring.label,), "alarm", "set", alarms))
    if rules.log is not None:
        found.append(_row((), "iso", "events", [(item, item[1]) for item in rules.log.items]))
    if disorder is not None and disorder.held is not None:
        found.append(_row((), "out_of_order", "held", [(row, row[0]) for row in disorder.held]))
    if disorder is not None and disorder.history is not None:
        rows = [(row, row[0]) for _, row, _ in disorder.history.items()]
        found.append(_row((), "revision" if disorder.retractions is not None else "out_of_order", "history", rows))
    return tuple(sorted(found, key=lambda row: row.rules))


def explain_running(rules: RuleSet) -> Explanation:
    """Return the plans of the rules that an engine has now, in words."""
    planned = [planned for planned, _ in rules.rules]
    shares = all(rule.shares for rule in planned) and len({rule.generation for rule in planned}) < 2
    program = rules.program
    return explain_rules(program.tree, tuple(rule.head for rule in planned), program.is_reported, sharing=shares)


def count_stores(rules: RuleSet) -> dict[tuple[int, str], int]:
    """Return how many instances wait in each place of each node of the plans, by the identity of the node."""
    sweep(rules, rules.state.now)
    nodes = {entry.key: entry.node for entry in rules.wiring.entries}
    places = [key for key in rules.memory if key != "log" and key[0] in nodes]
    return {(id(nodes[key[0]]), str(key[1])): _count(rules.memory[key], rules) for key in places if _holds(key)}


def _holds(key: tuple[Any, str]) -> bool:
    """Tell whether a place of the memory is one in which instances wait."""
    return str(key[1]) in _SIDES or str(key[1]).startswith(("side", "blockers"))


def count(rules: RuleSet, disorder: Disorder | None) -> int:
    """Return how many instances an engine holds on to: as many as all rows of `inspect` have."""
    sweep(rules, rules.state.now)
    found = sum(_count(part, rules) for key, part in rules.memory.items() if key != "log" and _holds(key))
    found += 0 if rules.log is None else len(rules.log.items)
    found += sum(isinstance(timer[3], Ring) for timer in rules.state.timers)
    if disorder is not None:
        found += 0 if disorder.held is None else len(disorder.held)
        found += 0 if disorder.history is None else disorder.history.count()
    return found


def _count(part: Any, rules: RuleSet) -> int:
    match part:
        case dict():
            return count_instances(part)
        case LatestBlockers(groups=groups):
            return len(groups)
        case Blockers(groups=groups):
            return sum(map(len, groups.values()))
        case _:
            return sum(1 for _ in held_by(part, rules.state))


def labels_of_kind(rules: RuleSet, kind: tuple[str, int]) -> tuple[str, ...]:
    """Return the labels of the rules that read a kind of event."""
    sources = [(leaf, leaf.node) for leaf in rules.wiring.leaves if isinstance(leaf.node, p.Source)]
    leaves = [leaf for leaf, node in sources if (node.name, len(node.args)) == kind]
    return tuple(dict.fromkeys(label for leaf in leaves for label in labels_of(leaf)))


def _row(labels: tuple[str, ...], operator: str, part: str, held: Iterable[tuple[Any, int]]) -> Waiting:
    instances = list(held)
    oldest = min((end for _, end in instances), default=None)
    sample = list(islice(instances, SAMPLE))
    weight = sum(map(_weight, (thing for thing, _ in sample)))
    whole = round(weight * len(instances) / len(sample)) if sample else 0
    return Waiting(labels, operator, part, len(instances), whole, None if oldest is None else to_seconds(oldest))


def _weight(thing: Any) -> int:
    """Return what an instance takes up: itself, its values, its place in a table."""
    values = thing if isinstance(thing, tuple) else getattr(thing, "values", ())
    return sys.getsizeof(thing) + sum(sys.getsizeof(value) for value in values if not callable(value)) + 32


def labels_of(entry: Wired) -> tuple[str, ...]:
    """Return the labels of the rules that an operator serves."""
    labels: dict[str, None] = {}
    waiting = [entry]
    while waiting:
        for reader in waiting.pop().readers:
            if reader.kind == "head":
                labels[reader.target.head.label] = None
            else:
                waiting.append(reader.target)
    return tuple(labels)


def _operator(node: p.Node) -> str:
    match node:
        case p.Join(relation=relation, alone=alone):
            return spell(relation.name, alone)
        case p.SomeOf():
            return "any"
        case p.Repetition():
            return "repetition"
        case p.Fold():
            return "aggregate"
        case p.Deadline():
            return "not within"
        case p.Source() | p.Tick() | p.Union() | p.Filter():
            return "absence"
        case _:
            assert_never(node)


def _part(name: str) -> str:
    return f"part {int(name[4:]) + 1}" if name.startswith("side") and name not in _SIDES else _SIDES.get(name, "absent")
