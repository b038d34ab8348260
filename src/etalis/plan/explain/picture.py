"""An explanation as a graph of boxes and arrows: events flow from patterns through operators to the heads.

A part that rules share is one box with several arrows out. A head whose events other rules read has an arrow to their
patterns, over a box of its own where several rules derive and several read them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from etalis.language.check.wording import kind as kind_text
from etalis.plan.explain.describe import DescribedRule, PlanInput, PlanStep
from etalis.plan.explain.text import Explanation, attributes_text
from etalis.plan.keys import Kind

_ABSENT = frozenset({"cnot", "fnot", "not"})


@dataclass(frozen=True, slots=True)
class Box:
    """One box; `form` is event, time, operator, head or kind."""

    form: str
    title: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Arrow:
    """From box to box, by number; `form` is match, absent, or event (what a head makes is read by a pattern)."""

    source: int
    target: int
    label: str
    form: str


@dataclass(slots=True)
class Picture:
    """Boxes, numbered by their place, and arrows between them."""

    boxes: list[Box] = field(default_factory=list)
    arrows: list[Arrow] = field(default_factory=list)

    def add(self, box: Box) -> int:
        """Add a box and return its number."""
        self.boxes.append(box)
        return len(self.boxes) - 1


def draw_picture(explanation: Explanation) -> Picture:
    """Turn an explanation into boxes and arrows."""
    picture = Picture()
    shared: dict[int, int] = {}
    makers: dict[Kind, list[int]] = {}
    readers: dict[Kind, list[int]] = {}
    for rule in explanation.rules:
        head = picture.add(_head(rule, explanation))
        makers.setdefault(rule.made, []).append(head)
        for number, kind in _add_steps(picture, rule.body, head, shared):
            readers.setdefault(kind, []).append(number)
    for kind in makers:
        if kind in readers:
            _connect(picture, explanation, kind, makers[kind], readers[kind])
    return picture


def _head(rule: DescribedRule, explanation: Explanation) -> Box:
    types = attributes_text(explanation, rule.made)
    lines = (f"rule {rule.label}, {explanation.reported[rule.made]}", *((types,) if types else ()), *rule.details)
    return Box("head", rule.title, lines)


def _add_steps(picture: Picture, body: PlanStep, head: int, shared: dict[int, int]) -> Iterator[tuple[int, Kind]]:
    """Add the boxes of a rule's steps; yield those that read a kind of event."""
    waiting = [(PlanInput("", body), head)]
    while waiting:
        part, target = waiting.pop()
        step = part.step
        known = None if step.shared is None else shared.get(step.shared)
        number = picture.add(_box(step)) if known is None else known
        picture.arrows.append(Arrow(number, target, part.role, "absent" if part.role in _ABSENT else "match"))
        if known is not None:
            continue
        if step.shared is not None:
            shared[step.shared] = number
        if step.reads is not None:
            yield number, step.reads
        waiting.extend((inner, number) for inner in reversed(step.inputs))


def _box(step: PlanStep) -> Box:
    kept = [f"keeps of {part.role}: {part.kept}" for part in step.inputs if part.kept is not None]
    return Box(step.form, step.title, (*step.details, *kept))


def _connect(picture: Picture, explanation: Explanation, kind: Kind, makers: list[int], readers: list[int]) -> None:
    if len(makers) > 1 and len(readers) > 1:
        between = picture.add(Box("kind", kind_text(*kind), (attributes_text(explanation, kind),)))
        picture.arrows += [Arrow(maker, between, "", "event") for maker in makers]
        makers = [between]
    picture.arrows += [Arrow(maker, reader, "", "event") for maker in makers for reader in readers]
