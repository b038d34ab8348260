"""Steps written as Python: the body of a function, or one expression as far as nothing in it may raise."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import TypeAlias

from etalis.logic.inline.steps import (
    AssignStep,
    CheckStep,
    ChoiceStep,
    ForkStep,
    GuardStep,
    LoopStep,
    Step,
    Steps,
    SuccessStep,
    defined_in,
    is_safe,
    names_in,
    texts,
)

Success: TypeAlias = Callable[[Sequence[str]], str]  # the line that follows a solution, given the texts of its values


def return_row(values: Sequence[str]) -> str:
    """Return from a function with the first solution."""
    return f"return {row_of(values)}"


def row_of(values: Sequence[str]) -> str:
    """Write a tuple."""
    return f"({''.join(value + ', ' for value in values)})"


def write_body(steps: Steps, decline: str, depth: int = 0, success: Success = return_row) -> Iterator[str]:
    """Write the lines of a function's body, which falls off its end where there is no solution, or no other."""
    checks: list[str] = []
    for step in steps:
        if isinstance(step, CheckStep):
            checks.append(step.text)
            continue
        if checks:
            yield f"{'    ' * depth}if {' and '.join(checks)}:"
            checks, depth = [], depth + 1
        for line in _write_step(step, decline, success):
            yield f"{'    ' * depth}{line}"
        if isinstance(step, LoopStep | ForkStep | ChoiceStep | SuccessStep):
            return
    last = f"if {' and '.join(checks)}: pass" if checks else "pass"  # a check may raise
    yield f"{'    ' * depth}{last}"


def _write_step(step: Step, decline: str, success: Success) -> Iterator[str]:
    match step:
        case GuardStep(text=text):
            yield from (f"if not ({text}):", f"    {decline}")
        case AssignStep(name=name, text=text):
            yield f"{name} = {text}"
        case LoopStep(name=name, candidates=candidates, steps=inner):
            yield f"for {name} in {candidates}:"
            yield from write_body(inner, decline, 1, success)
        case ForkStep(branches=branches):
            for branch in branches:
                yield from write_body(branch, decline, 0, success)
        case ChoiceStep(test=test, then=then, otherwise=otherwise):
            yield f"if {test}:"
            yield from write_body(then, decline, 1, success)
            yield "else:"
            yield from write_body(otherwise, decline, 1, success)
        case SuccessStep(values=values):
            yield success(values)


@dataclass(frozen=True, slots=True)
class SplitSteps:
    """Steps in two: those that an expression can have, and the rest, if there is one, which needs a function.

    `parameters` are the names that the rest reads and does not give values to.
    """

    first: Steps
    rest: Steps
    parameters: tuple[str, ...]


def split_steps(steps: Steps) -> SplitSteps:
    """Part steps where the first of them stands that an expression cannot have."""
    place = next((i for i, step in enumerate(steps) if not is_safe(step)), len(steps))
    if place < len(steps) and isinstance(steps[place], SuccessStep):
        return SplitSteps(steps, (), ())
    rest = steps[place:]
    own = defined_in(rest)
    return SplitSteps(steps[:place], rest, tuple(name for name in names_in(rest) if name not in own))


def write_expression(steps: Steps, found: str, declined: str) -> str:
    """Write steps as an expression that ends in `found`; where a guard fails it is the value of `declined`."""
    for i, step in enumerate(steps):
        match step:
            case CheckStep(text=text):
                rest = write_expression(steps[i + 1 :], found, declined)
                return text if rest == "True" else f"({text} and {rest})"
            case AssignStep(name=name, text=text):
                rest = write_expression(steps[i + 1 :], found, declined)
                return f"((({name} := {text}) is not None or True) and {rest})"
            case GuardStep(text="False"):
                return declined
            case GuardStep():
                same = list(takewhile(lambda each: isinstance(each, GuardStep), steps[i:]))
                guards = " and ".join(dict.fromkeys(texts(same)))
                return f"({write_expression(steps[i + len(same) :], found, declined)} if {guards} else {declined})"
    return found
