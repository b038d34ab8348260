"""Checks in the order of their cost: what compares values comes before what calls a function, a look-up of facts.

Law: only checks that cannot raise change places, and none comes before a guard that stood before it. So a goal fails
without being asked only where it failed before, and whatever a guard leaves to the solver is asked for as a whole.
"""

from __future__ import annotations

import re
from dataclasses import replace

from etalis.logic.inline.steps import CheckStep, ChoiceStep, ForkStep, LoopStep, Step, Steps, defined_in, is_safe

_CALL = re.compile(r"_k\d+\(")


def order_by_cost(steps: Steps) -> list[Step]:
    """Return the steps with each costly check after the cheap ones that follow it.

    >>> [step.text for step in order_by_cost([CheckStep("_k0(_v0)"), CheckStep("_v1 < _v2")])]
    ['_v1 < _v2', '_k0(_v0)']
    """
    ordered: list[Step] = []
    waiting: list[Step] = []  # costly checks, with what stands behind them and may come to be checked before them
    for step in map(_inside, steps):
        if not is_safe(step):
            ordered += waiting
            waiting = []
            ordered.append(step)
        elif _is_costly(step) or (waiting and not isinstance(step, CheckStep)):
            waiting.append(step)
        elif waiting and isinstance(step, CheckStep):
            costly = [each for each in waiting if _is_costly(each)]
            others = [each for each in waiting if not _is_costly(each)]
            if any(defined_in(costly)) or any(map(_calls, others)):
                ordered += [*waiting, step]
                waiting = []
            else:
                ordered += [*others, step]
                waiting = costly
        else:
            ordered.append(step)
    return ordered + waiting


def _is_costly(step: Step) -> bool:
    return isinstance(step, CheckStep) and _calls(step)


def _calls(step: Step) -> bool:
    return is_safe(step) and _CALL.search(step.text) is not None  # type: ignore[union-attr]


def _inside(step: Step) -> Step:
    match step:
        case LoopStep(steps=inner):
            return replace(step, steps=order_by_cost(inner))
        case ForkStep(branches=branches):
            return replace(step, branches=tuple(order_by_cost(branch) for branch in branches))
        case ChoiceStep(then=then, otherwise=otherwise):
            return replace(step, then=order_by_cost(then), otherwise=order_by_cost(otherwise))
        case _:
            return step
