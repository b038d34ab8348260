"""Built-in predicates on lists as sets and on lists of pairs, the manual's `set_intersection/3` and others included.

Elements are compared with `==`, except where a predicate is defined by unification (`contains/2`, `subset/2`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from etalis.logic.builtins.solutions import distinct
from etalis.logic.errors import LogicLimitError
from etalis.logic.machine.clauses import Key
from etalis.logic.machine.machine import Machine, Test
from etalis.logic.terms.arguments import bound, proper_list, text
from etalis.logic.terms.iso_errors import type_error
from etalis.logic.terms.order import compare, sort_key
from etalis.logic.terms.unify import Term, Variable, deref, flatten_key, make_list, split_list, undo, unify, variables

Args = tuple[Term, ...]


def _member(item: Term, items: Iterable[Term], machine: Machine) -> bool:
    """Unify an item with the first of some that it matches."""
    mark = len(machine.trail)
    for other in items:
        machine.trail.charge(1)
        if unify(item, other, machine.trail):
            return True
        undo(machine.trail, mark)
    return False


def _contains(machine: Machine, args: Args) -> bool:
    """`contains(List, Element)`, and `contains(Text, Part)` for texts."""
    whole = bound(args[0])
    if isinstance(whole, tuple):
        return _member(args[1], proper_list(whole, machine), machine)
    return text(args[1], machine) in text(whole, machine)


def _subset(machine: Machine, args: Args) -> bool:
    items = proper_list(args[1], machine)
    return all(_member(item, items, machine) for item in proper_list(args[0], machine))


class _Elements:
    """The elements of a list, found by `==`: ground ones by hash, the others one by one."""

    def __init__(self, items: Iterable[Term]) -> None:
        self.ground: set[Term] = set()
        self.open: list[Term] = []
        for item in items:
            if variables(item):
                self.open.append(item)
            else:
                self.ground.add(flatten_key(item))

    def has(self, item: Term, machine: Machine) -> bool:
        if not variables(item, machine.trail):
            return flatten_key(item, machine.trail) in self.ground
        return any(compare(item, other, machine.trail) == 0 for other in self.open)


def _combine(*, keep: bool, join: bool = False) -> Test:
    """Keep the elements of the first list that the second has, or has not; with `join` the second follows."""

    def run(machine: Machine, args: Args) -> bool:
        first, second = proper_list(args[0], machine), proper_list(args[1], machine)
        known = _Elements(second)
        kept = [item for item in first if known.has(item, machine) == keep]
        return unify(args[2], make_list([*kept, *second] if join else kept), machine.trail)

    return run


def _ordered(machine: Machine, args: Args) -> bool:
    """`list_to_ord_set/2`."""
    return unify(args[1], make_list(distinct(proper_list(args[0], machine))), machine.trail)


def _extreme(choose: Callable[..., Term]) -> Test:
    """`max_member(Max, List)` and `min_member(Min, List)`, by the standard order."""

    def run(machine: Machine, args: Args) -> bool:
        items = proper_list(args[1], machine)
        return bool(items) and unify(args[0], choose(items, key=sort_key), machine.trail)

    return run


def _flatten(machine: Machine, args: Args) -> bool:
    """`flatten/2`: lists inside lists opened; what is no list stands for itself."""
    found: list[Term] = []
    todo = [deref(args[0])]
    while todo:
        item = deref(todo.pop())
        items, tail = split_list(item)
        machine.trail.charge(1 + len(items))
        if len(found) + len(todo) > machine.limits.size:
            raise LogicLimitError("size", machine.limits.size)
        if not items and tail != ():
            found.append(item)
        else:
            todo.extend(([] if tail == () else [tail]) + items[::-1])
    return unify(args[1], make_list(found), machine.trail)


def _pairs(machine: Machine, args: Args) -> bool:
    """`pairs_keys_values/3`, in both directions."""
    pairs, tail = split_list(args[0])
    if tail == ():
        parts = [_pair(item, machine) for item in pairs]
        keys, values = make_list(key for key, _ in parts), make_list(value for _, value in parts)
        return unify(args[1], keys, machine.trail) and unify(args[2], values, machine.trail)
    keys_given, values_given = proper_list(args[1], machine), proper_list(args[2], machine)
    if len(keys_given) != len(values_given):
        return False
    made = make_list(("-", key, value) for key, value in zip(keys_given, values_given, strict=True))
    return unify(args[0], made, machine.trail)


def _pair(item: Term, machine: Machine) -> tuple[Term, Term]:
    pair = deref(item)
    if isinstance(pair, Variable):
        key, value = Variable(), Variable()
        unify(pair, ("-", key, value), machine.trail)
        return key, value
    if not (isinstance(pair, tuple) and len(pair) == 3 and pair[0] == "-"):
        raise type_error("pair", pair)
    return pair[1], pair[2]


def _side(number: int) -> Test:
    """`pairs_keys/2` and `pairs_values/2`."""

    def run(machine: Machine, args: Args) -> bool:
        parts = [_pair(item, machine)[number] for item in proper_list(args[0], machine)]
        return unify(args[1], make_list(parts), machine.trail)

    return run


def _is_set(_machine: Machine, args: Args) -> bool:
    """`is_set/1`: a list whose elements all differ."""
    items, tail = split_list(args[0])
    return bool(tail == ()) and len(distinct(items)) == len(items)


SET_TESTS: Mapping[Key, Test] = MappingProxyType(
    {
        ("contains", 2): _contains,
        ("subset", 2): _subset,
        **{(name, 3): _combine(keep=True) for name in ("set_intersection", "intersection")},
        ("set_difference", 3): _combine(keep=False),
        **{(name, 3): _combine(keep=False, join=True) for name in ("set_union", "union")},
        ("list_to_ord_set", 2): _ordered,
        ("is_set", 1): _is_set,
        ("max_member", 2): _extreme(max),
        ("min_member", 2): _extreme(min),
        ("flatten", 2): _flatten,
        ("pairs_keys_values", 3): _pairs,
        ("pairs_keys", 2): _side(0),
        ("pairs_values", 2): _side(1),
    }
)
