"""A goal as steps of Python: guards, checks, assignments, loops and forks, ending in success.

Texts hold the names `_v3` of variables and `_k5` of objects, which a writer replaces by its own. Falling off the end of
some steps is failure, so alternatives stand one after the other. Law: a guard that does not hold, and whatever a text
that is not `safe` raises, says nothing about the goal: the solver is asked instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

NAMES = re.compile(r"_[vk]\d+\b")


class DeclineError(Exception):
    """These values, or this goal, are the solver's business."""


@dataclass(frozen=True, slots=True)
class GuardStep:
    """What must hold for the steps to know the answer."""

    text: str
    safe: bool = True


@dataclass(frozen=True, slots=True)
class CheckStep:
    """What must hold for the goal to succeed."""

    text: str
    safe: bool = True


@dataclass(frozen=True, slots=True)
class AssignStep:
    """A name for a value."""

    name: str
    text: str
    safe: bool = True


@dataclass(frozen=True, slots=True)
class LoopStep:
    """The steps for one candidate after the other."""

    name: str
    candidates: str
    steps: Steps


@dataclass(frozen=True, slots=True)
class ForkStep:
    """Alternatives, in order."""

    branches: tuple[Steps, ...]


@dataclass(frozen=True, slots=True)
class ChoiceStep:
    """`then` if the test holds, else `otherwise`."""

    test: str
    then: Steps
    otherwise: Steps
    safe: bool = True


@dataclass(frozen=True, slots=True)
class SuccessStep:
    """A solution, with what was asked for."""

    values: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class SubGoal:
    """A goal within a goal, which becomes a function of the names it reads: its first solution, or None."""

    steps: Steps
    parameters: tuple[str, ...]


Step: TypeAlias = GuardStep | CheckStep | AssignStep | LoopStep | ForkStep | ChoiceStep | SuccessStep
Steps: TypeAlias = Sequence[Step]


def texts(steps: Steps) -> Iterator[str]:
    """Yield all texts of some steps."""
    for step in steps:
        match step:
            case GuardStep(text=text) | CheckStep(text=text) | AssignStep(text=text):
                yield text
            case LoopStep(candidates=text, steps=inner):
                yield text
                yield from texts(inner)
            case ForkStep(branches=branches):
                for branch in branches:
                    yield from texts(branch)
            case ChoiceStep(test=text, then=then, otherwise=otherwise):
                yield text
                yield from texts(then)
                yield from texts(otherwise)
            case SuccessStep(values=values):
                yield from values


def names_in(steps: Steps) -> dict[str, None]:
    """Return the names of variables that some steps mention, in order."""
    return {name: None for text in texts(steps) for name in NAMES.findall(text) if name[1] == "v"}


def defined_in(steps: Steps) -> set[str]:
    """Return the names that some steps give values to."""
    found = {match for text in texts(steps) for match in re.findall(r"(_v\d+) :=", text)}
    for step in steps:
        match step:
            case AssignStep(name=name):
                found.add(name)
            case LoopStep(name=name, steps=inner):
                found |= {name} | defined_in(inner)
            case ForkStep(branches=branches):
                found.update(*map(defined_in, branches))
            case ChoiceStep(then=then, otherwise=otherwise):
                found |= defined_in(then) | defined_in(otherwise)
    return found


@dataclass(frozen=True, slots=True)
class TruthTest:
    """Steps as one expression, true exactly if they succeed where all guards hold, which come first."""

    guards: tuple[str, ...]
    text: str
    safe: bool


def as_truth(steps: Steps) -> TruthTest | None:
    """Return the truth of some steps as an expression; None if they loop, or guard what they compute on the way."""
    guards: list[str] = []
    state: dict[str, Any] = {"safe": True, "assigned": set()}
    text = _truth(steps, guards, state)
    return None if text is None else TruthTest(tuple(guards), text, state["safe"])


def _truth(steps: Steps, guards: list[str], state: dict[str, Any]) -> str | None:
    parts: list[str] = []
    for step in steps:
        match step:
            case GuardStep(text=text, safe=safe):
                if not safe or not state["assigned"].isdisjoint(NAMES.findall(text)):
                    return None
                guards.append(text)
            case CheckStep(text=text, safe=safe):
                parts.append(text)
                state["safe"] &= safe
            case AssignStep(name=name, text=text, safe=safe):
                parts.append(f"(({name} := {text}) is not None or True)")
                state["safe"] &= safe
                state["assigned"].add(name)
            case ForkStep(branches=branches):
                written = [_truth(branch, guards, state) for branch in branches]
                if None in written:
                    return None
                parts.append(f"({' or '.join(map(str, written))})" if written else "False")
            case ChoiceStep(test=test, then=then, otherwise=otherwise, safe=safe):
                state["safe"] &= safe
                a, b = _truth(then, guards, state), _truth(otherwise, guards, state)
                if a is None or b is None:
                    return None
                parts.append(f"({a} if {test} else {b})")
            case LoopStep():
                return None
            case SuccessStep():
                return f"({' and '.join(parts)})" if parts else "True"
    return f"({' and '.join([*parts, 'False'])})" if not _ends(steps) else f"({' and '.join(parts)})"


def _ends(steps: Steps) -> bool:
    return bool(steps) and isinstance(steps[-1], ForkStep | ChoiceStep)


def without_unread(steps: Steps) -> Steps:
    """Return steps without the values that no step after them reads, and that nothing can be raised from.

    >>> [step.text for step in without_unread([AssignStep("_v1", "2"), AssignStep("_v2", "3"), CheckStep("_v2 > 1")])]
    ['3', '_v2 > 1']
    """
    kept: list[Step] = []
    for step in reversed(steps):
        if not (isinstance(step, AssignStep) and step.safe and step.name not in names_in(kept)):
            kept.append(step)
    return kept[::-1]


def is_safe(step: Step) -> bool:
    """Tell whether a step can stand in an expression that nothing may be raised from."""
    return isinstance(step, GuardStep | CheckStep | AssignStep) and step.safe


def declines(steps: Steps) -> bool:
    """Tell whether steps leave a part of the goal to the solver whatever the values."""
    for step in steps:
        match step:
            case GuardStep(text="False"):
                return True
            case LoopStep(steps=inner):
                if declines(inner):
                    return True
            case ForkStep(branches=branches):
                if any(map(declines, branches)):
                    return True
            case ChoiceStep(then=then, otherwise=otherwise):
                if declines(then) or declines(otherwise):
                    return True
            case _:
                pass
    return False
