"""Built-in predicates on lists, over values: a list is a tuple."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from etalis.data.values import Real, Struct, Value
from etalis.logic.arithmetic.functions import larger, smaller
from etalis.logic.inline.ground.modes import Mode, test
from etalis.logic.inline.scope import normal
from etalis.logic.inline.steps import DeclineError
from etalis.logic.machine.database import Key
from etalis.logic.terms.order import sort_key
from etalis.logic.terms.unify import from_value

_LONGEST = 10_000
_FLOATS = frozenset((float, Real))
_NUMBERS = frozenset((int, float, Real))
_INTEGERS = frozenset((int,))
_TEXTS = frozenset((str,))


def _items(several: Value) -> tuple[Value, ...]:
    if several.__class__ is not tuple or len(several) > _LONGEST:
        raise DeclineError
    return several


def _natural(number: Value) -> int:
    if number.__class__ is not int or number < 0:
        raise DeclineError
    return number


def standard_key(value: Value) -> Any:
    """Return what sorts values in the standard order, lists that have no end included."""
    return sort_key(from_value(value))


def _are_alike(items: Iterable[Value]) -> bool:
    """Tell whether Python orders values as the standard order does."""
    classes = set(map(type, items))
    return classes <= _FLOATS or classes <= _INTEGERS or classes <= _TEXTS


def _sorted(several: Value) -> tuple[Value, ...]:
    items = _items(several)
    return tuple(sorted(items, key=None if _are_alike(items) else standard_key))


def _sorted_once(several: Value) -> tuple[Value, ...]:
    return tuple(dict.fromkeys(_sorted(several)))


def _sorted_by(position: Value, order: Value, several: Value) -> tuple[Value, ...]:
    items, place = _items(several), _natural(position)
    if order not in ("@<", "@>", "@=<", "@>="):
        raise DeclineError
    if not place and "=" in order and _are_alike(items):
        return tuple(sorted(items, reverse=order == "@>="))
    keys = tuple(_argument(item, place) for item in items) if place else items
    numbers = sorted(range(len(items)), key=lambda i: standard_key(keys[i]), reverse=order[1] == ">")
    if "=" not in order:  # of equal keys the first is kept
        numbers = list({keys[i]: i for i in reversed(numbers)}.values())[::-1]
    return tuple([items[i] for i in numbers])


def _argument(item: Value, place: int) -> Value:
    if item.__class__ is not Struct or place > len(item.args):
        raise DeclineError
    return item.args[place - 1]


def _numbers(several: Value) -> tuple[Value, ...]:
    items = _items(several)
    if not set(map(type, items)) <= _NUMBERS:
        raise DeclineError
    return items


def _total(several: Value) -> Value:
    total: Any = 0
    for number in _numbers(several):
        total = total + number
    if not -sys.float_info.max < total < sys.float_info.max:
        raise DeclineError
    return normal(total)


def _extreme(choose: Callable[[Value, Value], Value]) -> Callable[[Value], Value | None]:
    def run(several: Value) -> Value | None:
        best = None
        for number in _numbers(several):
            best = number if best is None else choose(best, number)
        return best

    return run


def _nth(first: int) -> Callable[[Value, Value], Value | None]:
    def run(index: Value, several: Value) -> Value | None:
        items, place = _items(several), _natural(index) - first
        return items[place] if 0 <= place < len(items) else None

    return run


def _numlist(low: Value, high: Value) -> tuple[int, ...] | None:
    if low.__class__ is not int or high.__class__ is not int or high - low > _LONGEST:
        raise DeclineError
    return tuple(range(low, high + 1)) if low <= high else None


def _has(x: Value, several: Value) -> bool:
    if several.__class__ is tuple:
        return x in several
    if several.__class__ is Struct:
        raise DeclineError
    return False


def _length(several: Value) -> int:
    return len(_items(several))


def _has_length(several: Value, size: Value) -> bool:
    if size.__class__ is not int:
        raise DeclineError
    return bool(len(_items(several)) == size)


def _last(several: Value) -> Value | None:
    items = _items(several)
    return items[-1] if items else None


def _end(place: int) -> Callable[[Value], Value | None]:
    """`max_member/2` and `min_member/2`."""

    def run(several: Value) -> Value | None:
        items = _sorted(several)
        return items[place] if items else None

    return run


def _kept(first: Value, second: Value, keep: bool) -> tuple[Value, ...]:
    known = set(_items(second))
    return tuple([item for item in _items(first) if (item in known) == keep])


def _halves(place: int) -> Callable[[Value], tuple[Value, ...]]:
    def run(several: Value) -> tuple[Value, ...]:
        pairs = _items(several)
        if not all(p.__class__ is Struct and p.name == "-" and len(p.args) == 2 for p in pairs):
            raise DeclineError
        return tuple([pair.args[place] for pair in pairs])

    return run


def _gives(function: Callable[..., Any], *inputs: int, result: int, kind: str = "list", may_fail: bool = False) -> Any:
    return (Mode(function, inputs, result, kind, may_fail=may_fail),)


_SUM = _gives(_total, 0, result=1, kind="number")
_INTERSECTION = _gives(lambda a, b: _kept(a, b, True), 0, 1, result=2)
_DIFFERENCE = _gives(lambda a, b: _kept(a, b, False), 0, 1, result=2)
_UNION = _gives(lambda a, b: _kept(a, b, False) + _items(b), 0, 1, result=2)

LIST_MODES: Mapping[Key, tuple[Mode, ...]] = MappingProxyType(
    {
        ("length", 2): (Mode(_length, (0,), 1, "int", takes="variable"), test(2, _has_length)),
        ("member", 2): (test(2, _has),),
        ("memberchk", 2): (test(2, _has),),
        ("msort", 2): _gives(_sorted, 0, result=1),
        ("sort", 2): _gives(_sorted_once, 0, result=1),
        ("sort", 4): _gives(_sorted_by, 0, 1, 2, result=3),
        ("list_to_set", 2): _gives(lambda several: tuple(dict.fromkeys(_items(several))), 0, result=1),
        ("reverse", 2): _gives(lambda several: _items(several)[::-1], 0, result=1),
        ("sum_list", 2): _SUM,
        ("sumlist", 2): _SUM,
        ("max_list", 2): _gives(_extreme(larger), 0, result=1, kind="number", may_fail=True),
        ("min_list", 2): _gives(_extreme(smaller), 0, result=1, kind="number", may_fail=True),
        ("last", 2): _gives(_last, 0, result=1, kind="term", may_fail=True),
        ("nth0", 3): _gives(_nth(0), 0, 1, result=2, kind="term", may_fail=True),
        ("nth1", 3): _gives(_nth(1), 0, 1, result=2, kind="term", may_fail=True),
        ("numlist", 3): _gives(_numlist, 0, 1, result=2, may_fail=True),
        ("append", 3): _gives(lambda a, b: _items(a) + _items(b), 0, 1, result=2),
        ("intersection", 3): _INTERSECTION,
        ("set_intersection", 3): _INTERSECTION,
        ("subtract", 3): _DIFFERENCE,
        ("set_difference", 3): _DIFFERENCE,
        ("union", 3): _UNION,
        ("set_union", 3): _UNION,
        ("delete", 3): _gives(lambda a, x: tuple([y for y in _items(a) if y != x]), 0, 1, result=2),
        ("subset", 2): (test(2, lambda a, b: set(_items(a)) <= set(_items(b))),),
        ("max_member", 2): _gives(_end(-1), 1, result=0, kind="term", may_fail=True),
        ("min_member", 2): _gives(_end(0), 1, result=0, kind="term", may_fail=True),
        ("pairs_keys", 2): _gives(_halves(0), 0, result=1),
        ("pairs_values", 2): _gives(_halves(1), 0, result=1),
    }
)
