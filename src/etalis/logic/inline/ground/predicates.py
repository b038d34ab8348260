"""Built-in predicates over values: which arguments must be known, and the Python function that gives the others.

A row is a mode: a function of the values at `inputs` that gives the value at `result`, None where the predicate fails,
or the truth where there is no result. Law: on values it does not decline (`DeclineError`) it is the predicate of the
solver; what would be an error, reach a limit or take long is declined. Tests compare every row with the solver.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from etalis.data.values import Struct, Value
from etalis.logic.inline.ground.lists import LIST_MODES, standard_key
from etalis.logic.inline.ground.modes import Mode, test
from etalis.logic.inline.ground.text import TEXT_MODES
from etalis.logic.inline.knowledge.facts import Budget
from etalis.logic.inline.steps import DeclineError
from etalis.logic.machine.database import Key


def elements(budget: Budget, several: Value) -> Sequence[Value]:
    """Return the elements of a list, one after the other as `member/2` gives them; none of what is no list."""
    if several.__class__ is tuple:
        budget.admit(len(several))
        return several
    if several.__class__ is Struct:
        raise DeclineError
    return ()


def span(budget: Budget, low: Value, high: Value) -> range:
    """Return the integers that `between/3` gives."""
    if low.__class__ is not int or high.__class__ is not int:
        raise DeclineError
    budget.admit(max(high - low, 0))
    return range(low, high + 1)


def _is_between(low: Value, high: Value, x: Value) -> bool:
    if low.__class__ is not int or high.__class__ is not int or x.__class__ is not int:
        raise DeclineError
    return bool(low <= x <= high)


def _successor(number: Value) -> Value:
    if number.__class__ is not int or number < 0:
        raise DeclineError
    return number + 1


def _order(holds: Callable[[Any, Any], bool]) -> tuple[Mode, ...]:
    def compare(x: Value, y: Value) -> bool:
        if x.__class__ is str and y.__class__ is str:
            return holds(x, y)
        return holds(standard_key(x), standard_key(y))

    return (test(2, compare),)


def _sign(x: Value, y: Value) -> str:
    a, b = standard_key(x), standard_key(y)
    return "<" if a < b else ">" if a > b else "="


def _is_compound(x: Value) -> bool:
    return x.__class__ is Struct or (x.__class__ is tuple and bool(x))


_TYPES: Mapping[str, Callable[[Value], bool]] = {
    "atom": lambda x: x.__class__ is str or x == (),
    "atomic": lambda x: not _is_compound(x),
    "compound": _is_compound,
    "callable": lambda x: x.__class__ is str or _is_compound(x),
    "string": lambda x: x.__class__ is str,
    "is_list": lambda x: x.__class__ is tuple,
    "ground": lambda _: True,
    "nonvar": lambda _: True,
    "var": lambda _: False,
}

PREDICATES: Mapping[Key, tuple[Mode, ...]] = MappingProxyType(
    {
        **{(name, 1): (test(1, holds),) for name, holds in _TYPES.items()},
        ("@<", 2): _order(lambda a, b: a < b),
        ("@>", 2): _order(lambda a, b: a > b),
        ("@=<", 2): _order(lambda a, b: a <= b),
        ("@>=", 2): _order(lambda a, b: a >= b),
        ("compare", 3): (Mode(_sign, (1, 2), 0, "string", takes="variable"),),
        ("between", 3): (test(3, _is_between),),
        ("succ", 2): (Mode(_successor, (0,), 1, "int", takes="variable"),),
        **LIST_MODES,
        **TEXT_MODES,
    }
)
