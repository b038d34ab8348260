"""A plan as a diagram: events flow from patterns through operators to the heads.

A part that rules share is one box with several arrows out. A head whose events other rules read has an arrow to their
patterns, over a box of its own where several rules derive and several read them. Of an engine it says also how many
instances wait in each place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from etalis.language.check.wording import kind as kind_text
from etalis.pictures.scene import Box, Diagram, SceneLink
from etalis.plan.explain.describe import DescribedRule, PlanInput, PlanStep
from etalis.plan.explain.text import Explanation, attributes_text
from etalis.plan.keys import Kind

_ABSENT = frozenset({"cnot", "fnot", "not"})
Counts = Mapping[tuple[int, str], int]  # of what waits, by the identity of a node and the name of the place


def draw_plan(explanation: Explanation, counts: Counts | None = None, title: str = "plan") -> Diagram:
    """Turn an explanation into boxes and links; with `counts`, places say how many instances wait there."""
    diagram = Diagram(title)
    shared: dict[int, int] = {}
    makers: dict[Kind, list[int]] = {}
    readers: dict[Kind, list[int]] = {}
    for rule in explanation.rules:
        head = diagram.add(_head(rule, explanation))
        makers.setdefault(rule.made, []).append(head)
        for number, kind in _add_steps(diagram, rule, head, shared, counts):
            readers.setdefault(kind, []).append(number)
    for kind in makers:
        if kind in readers:
            _connect(diagram, explanation, kind, makers[kind], readers[kind])
    return diagram


def _head(rule: DescribedRule, explanation: Explanation) -> Box:
    if rule.hidden:
        title = f"reaction {rule.label}".replace("reaction reaction", "reaction")
        return Box("head", title, rule.details, rule=rule.label)
    types = attributes_text(explanation, rule.made)
    lines = (f"rule {rule.label}, {explanation.reported[rule.made]}", *((types,) if types else ()), *rule.details)
    return Box("head", rule.title, lines, rule=rule.label)


def _add_steps(
    diagram: Diagram, rule: DescribedRule, head: int, shared: dict[int, int], counts: Counts | None
) -> Iterator[tuple[int, Kind]]:
    """Add the boxes of a rule's steps; yield those that read a kind of event."""
    waiting = [(PlanInput("", rule.body), head)]
    while waiting:
        part, target = waiting.pop()
        step = part.step
        known = None if step.shared is None else shared.get(step.shared)
        number = diagram.add(_box(step, rule.label, counts)) if known is None else known
        form = "absent" if part.role in _ABSENT else "match"
        diagram.links.append(SceneLink(number, target, part.role, form))
        if known is not None:
            continue
        if step.shared is not None:
            shared[step.shared] = number
        if step.reads is not None:
            yield number, step.reads
        waiting.extend((inner, number) for inner in reversed(step.inputs))


def _box(step: PlanStep, label: str, counts: Counts | None) -> Box:
    kept = [f"keeps of {part.role}: {part.kept}" for part in step.inputs if part.kept is not None]
    if counts is None:
        return Box(step.form, step.title, (*step.details, *kept), rule=label)
    places = [(part.role, part.store) for part in step.inputs if part.store and not _keeps_nothing(part)]
    found = [(role, counts.get((id(node), name))) for role, (node, name) in places]
    waiting = [
        f"{number} of {role} {'waits' if number == 1 else 'wait'}" for role, number in found if number is not None
    ]
    total = sum(number for _, number in found if number is not None) if places else None
    return Box(step.form, step.title, (*waiting, *step.details), tuple(kept), label, total)


def _keeps_nothing(part: PlanInput) -> bool:
    return part.kept is not None and part.kept.startswith("nothing")


def _connect(diagram: Diagram, explanation: Explanation, kind: Kind, makers: list[int], readers: list[int]) -> None:
    if len(makers) > 1 and len(readers) > 1:
        between = diagram.add(Box("kind", kind_text(*kind), (attributes_text(explanation, kind),)))
        diagram.links += [SceneLink(maker, between, "", "event") for maker in makers]
        makers = [between]
    diagram.links += [SceneLink(maker, reader, "", "event") for maker in makers for reader in readers]
