"""Names of rules and plan nodes that outlive a process and a change of the rules around them.

A rule is named by what its plan says, up to the names of variables, never by its number; a shared part by its own
shape; any other part by its place in the rule or shared part that it belongs to. How the values of waiting instances
are laid out goes into the name too: equal names mean that the state of one can be taken by the other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import fields, is_dataclass
from hashlib import blake2b
from typing import Any

from etalis.data.values import decimal_text, format_atom
from etalis.plan import algebra as p
from etalis.plan.bindings import NodeShape
from etalis.plan.sharing import count_leaves
from etalis.runtime.codegen.network import PlannedRule, Wired, Wiring
from etalis.runtime.ruleset import RuleSet


def spell(x: Any) -> str:
    """Return a text that is equal for equal data, in every process.

    >>> spell(("a", frozenset({2, 1})))
    "('a' {1 2})"
    """
    match x:
        case tuple() | list():
            return f"({' '.join(map(spell, x))})"
        case frozenset():
            return f"{{{' '.join(sorted(map(spell, x)))}}}"
        case _ if is_dataclass(x):
            parts = [spell(getattr(x, f.name)) for f in fields(x) if f.compare]
            return f"{type(x).__name__}({' '.join(parts)})"
    return decimal_text(x) if type(x) is int else repr(x)


def digest(x: Any) -> str:
    """Return a short name for data."""
    return blake2b(spell(x).encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


class _Shape(NodeShape):
    """A signature that says of a time point which of its rule it is, not where it stands in the text."""

    def __init__(self) -> None:
        super().__init__()
        self.places: dict[int, int] = {}

    def _own(self, node: p.Node) -> Hashable:
        if isinstance(node, p.Tick):
            return node.time, self.places.setdefault(node.place, len(self.places))
        return super()._own(node)


def _layout(node: p.Node, signature: NodeShape) -> Hashable:
    """Return in which order the variables of a node stand wherever it or a part of it keeps values."""

    def numbers(names: Iterable[str]) -> tuple[int | str, ...]:
        return tuple(map(signature.number, names))

    orders: list[Hashable] = []
    for part in p.walk(node):
        orders.append(numbers(part.exports))
        orders += [] if (names := p.groups(part)) is None else [numbers(names)]
        absences = [t for t in p.tests(part) if isinstance(t, p.Absent)] + (
            [part] if isinstance(part, p.Deadline) else []
        )
        orders += [numbers(t.joined) for t in absences if isinstance(t, p.Absent)]
        orders += [numbers(t.brought) for t in absences if t.brought]
    return tuple(orders), numbers(sorted(signature.numbers))


def name_node(node: p.Node) -> str:
    """Return the name of a part by itself."""
    signature = _Shape()
    return digest((signature.node(node), _layout(node, signature)))


def name_rule(rule: PlannedRule) -> str:
    """Return the name of a rule, equal rules of a generation having equal names."""
    head, signature = rule.head, _Shape()
    body = signature.node(head.body)
    event = (head.event.name, *map(signature.term, head.event.args))
    alarm = None if head.alarm is None else (head.alarm.kind, signature.term(head.alarm.when))
    actions = tuple(map(signature.test, head.actions))
    return digest((rule.generation, body, event, alarm, actions, _layout(head.body, signature)))


def name_rules(rules: RuleSet) -> dict[int, str]:
    """Return the names of the program's rules, deleted ones included, and of those added, by number."""
    added = [planned for planned, _ in rules.rules if planned.generation > 0]
    seen: Counter[str] = Counter()
    names = {}
    for rule in (*rules.originals, *added):
        name = name_rule(rule)
        names[rule.number] = f"{name}.{seen[name]}"
        seen[name] += 1
    return names


def name_entries(wiring: Wiring, rules: dict[int, str]) -> dict[Hashable, str]:
    """Return the names of all wired nodes, by the keys of their state."""
    names: dict[Hashable, str] = {}
    for entry in wiring.entries:  # parents come first
        if entry.key not in names:
            names[entry.key] = _own_name(entry) or _root_name(entry, rules)
        name = names[entry.key]
        for place, child in (*enumerate(entry.inputs), *((-1 - i, c) for i, c in enumerate(entry.negated))):
            names.setdefault(child.key, _own_name(child) or f"{name}/{place}")
    return names


class Names:
    """The names of all that a rule set keeps."""

    def __init__(self, rules: RuleSet) -> None:
        self.rules = name_rules(rules)
        self.entries = name_entries(rules.wiring, self.rules)
        self.parts = {self._part(key): part for key, part in rules.memory.items()}
        self.owners = rules.timer_owners()
        assert len(self.parts) == len(rules.memory), "every part of the state has a name of its own"

    def _part(self, key: Any) -> tuple[str, str]:
        return ("", key) if isinstance(key, str) else (self.entries[key[0]], key[1])

    def owner(self, place: Hashable) -> str:
        """Return the name of who sets timers."""
        if isinstance(place, str):
            return place
        return f"ring.{self.rules[place]}" if isinstance(place, int) else self.entries[place]


def _own_name(entry: Wired) -> str | None:
    match entry.key:
        case ("shared", int(generation), _):
            return f"shared.{generation}.{name_node(entry.node)}"
    return None


def _root_name(entry: Wired, rules: dict[int, str]) -> str:
    """Return the name of a rule's whole body."""
    rule = next(r.target for r in entry.readers if r.kind == "head")
    return f"rule.{rules[rule.number]}"


def describe_entries(wiring: Wiring) -> dict[Hashable, str]:
    """Return how nodes are called in a report: what they are, of which events, and the rules that read them."""
    return {entry.key: f"{_title(entry.node)} of rule {', '.join(sorted(_readers(entry)))}" for entry in wiring.entries}


def _title(node: p.Node) -> str:
    what = node.relation.name if isinstance(node, p.Join) else type(node).__name__.lower()
    kinds = [f"{format_atom(name)}/{arity}" for name, arity in count_leaves(node)]
    return f"{what}({', '.join(kinds)})"


def _readers(entry: Wired) -> set[str]:
    """Return the labels of the rules that an entry serves."""
    found: set[str] = set()
    seen: set[int] = set()
    waiting = [entry]
    while waiting:
        one = waiting.pop()
        if id(one) not in seen:
            seen.add(id(one))
            found |= {r.target.head.label for r in one.readers if r.kind == "head"}
            waiting += [r.target for r in one.readers if r.kind != "head"]
    return found
