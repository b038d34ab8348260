"""The text of a rule as attempts are made along it: leaves from left to right, and what stands above them.

Of each `or` a shape has one branch, so a rule has as many shapes as there are choices of branches. A repetition and an
aggregate are one leaf, with its elements below it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from etalis.language import syntax as s
from etalis.language.flags import Settings, rule_settings
from etalis.language.rules import expand_any, with_checks
from etalis.language.traversal import children, rewrite
from etalis.why.checking.rule_text import TextPart, arrange, named

Path = tuple[int, ...]


@dataclass(slots=True, eq=False)
class ShapeNode:
    """A part of the text: `leaves` are the numbers of the first leaf below it and of the one behind its last.

    `written` is its pattern without modifiers, `path` leads there from the root of the rule's pattern by the numbers
    of children, modifiers counted.
    """

    number: int
    part: TextPart
    written: s.Pattern
    path: tuple[int, ...]
    leaves: tuple[int, int] = (0, 0)
    below: list[ShapeNode] = field(default_factory=list)
    leaf: int | None = None

    @property
    def operator(self) -> str | None:
        """The relation of a binary operator whose sides stand below it."""
        return self.part.core.operator if isinstance(self.part.core, s.Binary) else None


@dataclass(slots=True, eq=False)
class ShapeLeaf:
    """A positive leaf: an event, a point in time, or elements that are counted, perhaps after a left side."""

    number: int
    node: ShapeNode
    pattern: s.Pattern
    event: s.EventPattern | None = None
    counted: s.Repeat | s.Aggregate | None = None
    element: TextPart | None = None
    anchor: ShapeNode | None = None
    names: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        self.names = frozenset() if self.event is None else named(self.event.args)


@dataclass(slots=True, eq=False)
class RuleShape:
    """One choice of branches of a rule; `nodes` from the leaves up, `order` in which leaves are chosen."""

    rule: s.Rule
    label: str
    policy: str
    root: ShapeNode
    nodes: list[ShapeNode]
    leaves: list[ShapeLeaf]
    order: list[int]


def rule_part(rule: s.Rule, found: Settings) -> tuple[TextPart, str]:
    """Return the text of a rule with the windows that it has by properties and flags, and its policy."""
    policy, window = rule_settings(found, rule)
    pattern = with_checks(rule).pattern
    for duration in (window, found.garbage_window):
        pattern = pattern if duration is None else s.Within(pattern, duration)
    head = named(rule.head.args if rule.alarm is None else (*rule.head.args, rule.alarm.when))
    outer = head if rule.action is None else head | named([rule.action])
    return arrange(pattern, outer, head), policy


def shapes(rule: s.Rule, label: str, found: Settings) -> Iterator[RuleShape]:
    """Yield the shapes of a rule, first branches first."""
    part, policy = rule_part(rule, found)
    choices: list[tuple[int, int]] | None = []
    while choices is not None:
        shape, choices = _build(rule, label, policy, part, [chosen for chosen, _ in choices])
        yield shape
        while choices and choices[-1][0] + 1 == choices[-1][1]:
            choices.pop()
        if not choices:
            return
        choices[-1] = (choices[-1][0] + 1, choices[-1][1])


def _build(
    rule: s.Rule, label: str, policy: str, part: TextPart, given: list[int]
) -> tuple[RuleShape, list[tuple[int, int]]]:
    """Return the shape for the branches given, the first ones of all further `or`, and all choices that were made."""
    root = ShapeNode(0, part, *_strip(rewrite(rule.pattern, expand_any), ()))
    made, choices = [root], list[tuple[int, int]]()
    waiting = [root]
    while waiting:
        node = waiting.pop()
        below = _below(node.part)
        if isinstance(node.part.core, s.Or):
            which = given[len(choices)] if len(choices) < len(given) else 0
            choices.append((which, len(below)))
            below = below[which : which + 1]
        for inner in below:
            place = node.part.below.index(inner)
            child = ShapeNode(len(made), inner, *_child(node, place))
            made.append(child)
            node.below.append(child)
        waiting += reversed(node.below)
    return _numbered(rule, label, policy, root), choices


def _strip(pattern: s.Pattern, path: Path) -> tuple[s.Pattern, Path]:
    while isinstance(pattern, s.Modifier):
        pattern, path = pattern.pattern, (*path, 0)
    return pattern, path


def _child(node: ShapeNode, place: int) -> tuple[s.Pattern, Path]:
    """Return the pattern of a child and where it stands; of directly nested `or` the alternatives are the children."""
    if not isinstance(node.written, s.Or):
        return _strip(children(node.written)[place], (*node.path, place))
    waiting: list[tuple[s.Pattern, Path]] = [(node.written, node.path)]
    while True:
        pattern, path = waiting.pop()
        if isinstance(pattern, s.Or):
            waiting += [(pattern.right, (*path, 1)), (pattern.left, (*path, 0))]
        elif place:
            place -= 1
        else:
            return _strip(pattern, path)


def _below(part: TextPart) -> list[TextPart]:
    """Return what stands below a part as parts of attempts: not the elements that are counted."""
    match part.core:
        case s.Repeat() | s.Aggregate():
            return []
        case s.Binary(operator="seq", right=s.Repeat() | s.Aggregate()):
            return part.below[:1]
        case _:
            return part.below


def _numbered(rule: s.Rule, label: str, policy: str, root: ShapeNode) -> RuleShape:
    nodes: list[ShapeNode] = []
    waiting = [(root, False)]
    leaves: list[ShapeLeaf] = []
    order: list[int] = []
    while waiting:
        node, opened = waiting.pop()
        if not opened:
            node.leaves = (len(leaves), 0)
            waiting.append((node, True))
            waiting += [(child, False) for child in reversed(node.below)]
            continue
        leaf = _leaf(node, len(leaves))
        if leaf is not None:
            node.leaf = leaf.number
            leaves.append(leaf)
        node.leaves = (node.leaves[0], len(leaves))
        nodes.append(node)
    counted = {leaf.number for leaf in leaves if leaf.counted is not None}
    order = [n for n in reversed(range(len(leaves))) if n not in counted] + sorted(counted)
    return RuleShape(rule, label, policy, root, nodes, leaves, order)


def _leaf(node: ShapeNode, number: int) -> ShapeLeaf | None:
    core = node.part.core
    match core:
        case s.EventPattern():
            return ShapeLeaf(number, node, core, event=core)
        case s.SubRule(rule=inner):
            return ShapeLeaf(number, node, inner.head, event=inner.head)
        case s.TimePoint():
            return ShapeLeaf(number, node, core)
        case s.Repeat() | s.Aggregate():
            return ShapeLeaf(number, node, core, counted=core, element=node.part.below[-1])
        case s.Binary(operator="seq", right=s.Repeat() | s.Aggregate() as counted):
            return ShapeLeaf(number, node, counted, counted=counted, element=node.part.below[-1], anchor=node.below[0])
        case _:
            return None
