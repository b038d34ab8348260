"""How a program is run, as text: a tree per rule, the policies they follow, its events with their types, and by what
events can be parted. The pictures of `pictures/scenes/plan.py` show the same steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from etalis.language.check.wording import kind as kind_text
from etalis.language.rules import declarations
from etalis.language.syntax import Tree
from etalis.plan import algebra as p
from etalis.plan.explain.describe import DescribedRule, PlanInput, PlanStep, describe
from etalis.plan.explain.reactions import describe_actions, describe_state, with_actions
from etalis.plan.explain.wording import policy_afterwards, policy_matches
from etalis.plan.keys import Group, Kind, Partitioning, find_partitioning
from etalis.plan.types import Types, infer_types
from etalis.temporal.policy import Policy

_REPORTED = {True: "reported", False: "not reported"}


@dataclass(frozen=True, slots=True)
class Explanation:
    """All that is told of a program: its planned rules in words, its events, and how they can be parted."""

    heads: tuple[p.Head, ...]
    rules: tuple[DescribedRule, ...]
    attributes: Mapping[Kind, tuple[str, ...]]
    types: Types
    reported: Mapping[Kind, str]
    partitioning: Partitioning
    state: tuple[tuple[str, ...], ...] = ()
    actions: tuple[tuple[str, ...], ...] = ()


def explain_rules(
    tree: Tree, heads: tuple[p.Head, ...], is_reported: Callable[[str, int], object], *, sharing: bool
) -> Explanation:
    """Gather what there is to tell of the plans of a program's rules."""
    declared = declarations(tree)
    types = {kind: tuple(type_ for _, type_ in d.attributes) for kind, d in declared.items()}
    made = dict.fromkeys(head.kind for head in heads if not head.hidden)
    return Explanation(
        heads=heads,
        rules=tuple(with_actions(describe(heads, sharing=sharing), tree)),
        attributes={kind: tuple(name for name, _ in d.attributes) for kind, d in declared.items()},
        types=infer_types(heads, {}, types),
        reported={kind: _report(is_reported(*kind)) for kind in made},
        partitioning=find_partitioning(heads, tree),
        state=tuple(describe_state(tree)),
        actions=tuple(describe_actions(tree)),
    )


def _report(answer: object) -> str:
    return _REPORTED[answer] if isinstance(answer, bool) else "reported where a trigger matches"


def write_text(explanation: Explanation) -> str:
    """Write an explanation as text."""
    blocks = ["\n".join(_rule(rule, explanation)) for rule in explanation.rules]
    sections = {
        "policies": _policies(explanation.heads),
        "events": _events(explanation),
        "state": _columns(explanation.state),
        "actions": _columns(explanation.actions),
        "partition": _partition(explanation.partitioning),
    }
    blocks += ["\n".join([title, *(f"  {line}" for line in lines)]) for title, lines in sections.items() if lines]
    return "\n\n".join(blocks) or "no rules"


def _rule(rule: DescribedRule, explanation: Explanation) -> Iterator[str]:
    if rule.hidden:
        name = rule.label if rule.label.startswith("reaction ") else f"reaction {rule.label}"
        yield f"{name}: given {rule.title}, event at a time"
    else:
        yield f"rule {rule.label}: {rule.title}, {explanation.reported[rule.made]}"
    yield from (f"   {detail}" for detail in rule.details)
    yield from draw_tree(rule.body)


def draw_tree(step: PlanStep) -> Iterator[str]:
    """Draw a step and all below it, with lines from parents to children."""
    waiting = [(PlanInput("", step), "", True)]
    while waiting:
        part, before, last = waiting.pop()
        inner = before + ("   " if last else "│  ")
        role = f"{part.role}: " if part.role else ""
        mark = "" if part.step.shared is None else f"[{part.step.shared}] "
        yield f"{before}{'└─ ' if last else '├─ '}{role}{mark}{part.step.title}"
        stem = "│  " if part.step.inputs else "   "
        notes = (*(() if part.kept is None else (f"kept: {part.kept}",)), *part.step.details)
        yield from (f"{inner}{stem}{note}" for note in notes)
        count = len(part.step.inputs)
        waiting.extend((part.step.inputs[i], inner, i == count - 1) for i in reversed(range(count)))


def _policies(heads: Iterable[p.Head]) -> list[str]:
    nodes = [node for head in heads for node in p.walk(head.body)]
    found: dict[str, Policy] = {
        n.policy.name: n.policy for n in nodes if isinstance(n, p.Join | p.Repetition | p.SomeOf)
    }
    rows = [(name, f"{policy_matches(policy)}; {policy_afterwards(policy)}") for name, policy in found.items()]
    return _columns(rows)


def _events(explanation: Explanation) -> list[str]:
    makers: dict[Kind, list[str]] = {}
    for rule in (rule for rule in explanation.rules if not rule.hidden):
        makers.setdefault(rule.made, []).append(rule.label)
    read = [n for head in explanation.heads for n in p.walk(head.body) if isinstance(n, p.Source)]
    kinds = dict.fromkeys([*((n.name, len(n.args)) for n in read), *makers])
    return _columns(
        [(kind_text(*kind), _origin(makers.get(kind, ())), attributes_text(explanation, kind)) for kind in kinds]
    )


def _origin(labels: Iterable[str]) -> str:
    several = list(dict.fromkeys(labels))
    if not several:
        return "received"
    shown = ", ".join(several[:6]) + (f" and {len(several) - 6} more" if len(several) > 6 else "")
    return f"derived by rule{'s' if len(several) > 1 else ''} {shown}"


def attributes_text(explanation: Explanation, kind: Kind) -> str:
    """Write the attributes of a kind with their types; by position where they have no names."""
    types = explanation.types.get(kind, ())
    declared = explanation.attributes.get(kind)
    if declared is None:
        return ", ".join(types)
    return ", ".join(f"{name}: {type_}" for name, type_ in zip(declared, types, strict=True))


def _partition(partitioning: Partitioning) -> list[str]:
    lines = [f"one place for all events: {reason}" for reason in partitioning.obstacles]
    for group in partitioning.groups:
        labels = _origin(group.rules).removeprefix("derived by ")
        lines += [f"{labels}: {text}" for text in _ways(group)]
    return lines


def _ways(group: Group) -> Iterator[str]:
    """Yield how the events of a group can be parted, or why not."""
    for key in group.keys:
        places = [f"attribute {place + 1} of {kind_text(*kind)}" for kind, place in key.positions.items()]
        yield f"by {', '.join(places[:8])}" + (f" and {len(places) - 8} more" if len(places) > 8 else "")
    for reason in group.reasons:
        yield f"one place, because {reason}"


def _columns(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Write rows with their cells under each other."""
    if not rows:
        return []
    widths = [min(40, max(len(row[i]) for row in rows)) for i in range(len(rows[0]))]
    return ["  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
