"""What a condition need not tell: values that nobody reads, and that cannot be refused.

What binds a variable to a term may make one without an end, or too large for a value; that is an error of its match,
read or not (definition 15.13). A number is none, nor is what a condition computes with.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from etalis.language.check.goals import conjuncts
from etalis.language.syntax import Compound, Term, Var
from etalis.language.traversal import variables
from etalis.plan import algebra as p

_COMPUTING = frozenset(("is", "<", ">", "=<", ">=", "=:=", "=\\="))
_TIMES = ("t1", "t2")


def told(
    test: p.GoalTest | p.Prefilter, read: Collection[str], overrides: Callable[[str, int], bool]
) -> tuple[str, ...]:
    """Return the outputs that a condition must tell, given those that are read; of several solutions it tells all.

    `overrides` says whether the program has a predicate of its own in the place of one that is built in.
    """
    unread = [v for v in test.outputs if v not in read]
    if not unread or test.kind == "event_multiply":
        return test.outputs
    with_times = test.kind == "check" and not any(overrides(name, 1) for name in _TIMES)
    plain = {name for goal in conjuncts(test.goal) for name in _computed(goal, with_times=with_times)}
    return tuple(v for v in test.outputs if v in read or v not in plain)


def _computed(goal: Term, *, with_times: bool) -> list[str]:
    """Return the variables of which a goal makes sure that they stand for numbers."""
    if not isinstance(goal, Compound):
        return []
    if len(goal.args) == 2 and goal.name in _COMPUTING:
        computed = goal.args if goal.name != "is" or isinstance(goal.args[0], Var) else goal.args[1:]
        return [variable.name for part in computed for variable in variables(part)]
    if with_times and len(goal.args) == 1 and goal.name in _TIMES and isinstance(goal.args[0], Var):
        return [goal.args[0].name]
    return []
