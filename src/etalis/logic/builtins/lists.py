"""Built-in predicates on lists and sets that are needed for speed; the others are clauses of the library."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType

from etalis.logic.arithmetic.functions import larger, smaller
from etalis.logic.builtins.solutions import distinct, extreme, total
from etalis.logic.errors import LogicLimitError
from etalis.logic.machine.database import Key
from etalis.logic.machine.machine import Code, Frame, Machine, Test
from etalis.logic.terms.arguments import bound, integer, natural, optional_integer, proper_list
from etalis.logic.terms.iso_errors import domain_error, instantiation_error, type_error
from etalis.logic.terms.order import Order, compare, metered_key
from etalis.logic.terms.unify import Term, Variable, deref, flatten_key, make_list, split_list, unify, variables

Args = tuple[Term, ...]


def _length(machine: Machine, args: Args, cont: Frame) -> Frame | None:
    items, tail = split_list(args[0])
    machine.trail.charge(len(items))
    size = optional_integer(args[1])
    if tail == ():
        return cont if unify(args[1], len(items), machine.trail) else None
    if not isinstance(tail, Variable):
        raise type_error("list", args[0])
    if size is not None:
        if size < len(items):
            return None
        return cont if unify(tail, _sized_list(size - len(items), (), machine), machine.trail) else None
    if tail is deref(args[1]):
        raise type_error("list", args[0])
    return _lengthen(machine, (tail, len(items), args[1]), cont)


def _lengthen(machine: Machine, args: tuple[Variable, int, Term], cont: Frame) -> Frame | None:
    """End a list at its open end; on backtracking it goes on by one more element."""
    tail, size, length = args
    machine.choices.append((len(machine.trail), (_add_element, args, cont)))
    return cont if unify(tail, (), machine.trail) and unify(length, size, machine.trail) else None


def _add_element(machine: Machine, args: tuple[Variable, int, Term], cont: Frame) -> Frame | None:
    tail, size, length = args
    if size > machine.limits.size:
        raise LogicLimitError("size", machine.limits.size)
    end = Variable()
    unify(tail, make_list((Variable(),), end), machine.trail)
    return _lengthen(machine, (end, size + 1, length), cont)


def _nth(first: int) -> Code:
    """`nth0/3` and `nth1/3`; a list without an end grows as far as it must."""

    def run(machine: Machine, args: Args, cont: Frame) -> Frame | None:
        items, tail = split_list(args[1])
        machine.trail.charge(len(items))
        if not isinstance(tail, Variable) and tail != ():
            raise type_error("list", args[1])
        if isinstance(deref(args[0]), Variable):
            known = (("-", i, item, tail) for i, item in enumerate(items, first))
            more = _grown(len(items) + first, machine) if isinstance(tail, Variable) else ()
            return machine.choose(("-", args[0], args[2], tail), itertools.chain(known, more), cont)
        index = natural(args[0]) - first
        if 0 <= index < len(items):
            return cont if unify(args[2], items[index], machine.trail) else None
        if index < 0 or not isinstance(tail, Variable):
            return None
        between = _sized_list(index - len(items), make_list((args[2],), Variable()), machine)
        return cont if unify(tail, between, machine.trail) else None

    return run


def _grown(index: int, machine: Machine) -> Iterator[Term]:
    """Yield the element behind the known ones, then the next, each with the tail that holds it."""
    extra = 0
    while True:
        item = Variable()
        yield ("-", index + extra, item, _sized_list(extra, make_list((item,), Variable()), machine))
        extra += 1


def _sized_list(size: int, tail: Term, machine: Machine) -> Term:
    """Return a list of new variables."""
    if size > machine.limits.size:
        raise LogicLimitError("size", machine.limits.size)
    machine.trail.charge(size)
    return make_list((Variable() for _ in range(size)), tail)


def _relate(function: Callable[[list[Term]], Term | None]) -> Test:
    """Make a predicate of a list and what a function computes from it; it fails where that is None."""

    def run(machine: Machine, args: Args) -> bool:
        found = function(proper_list(args[0], machine))
        return found is not None and unify(args[1], found, machine.trail)

    return run


def _ordering(sort: Callable[[list[Term], Order], Term]) -> Test:
    """Make a predicate of a list and the same in some order; comparing is work of the goal."""

    def run(machine: Machine, args: Args) -> bool:
        found = sort(proper_list(args[0], machine), metered_key(machine.trail))
        return unify(args[1], found, machine.trail)

    return run


def _msort(items: list[Term], order: Order) -> Term:
    return make_list(sorted(items, key=order))


def _keysort(items: list[Term], order: Order) -> Term:
    for item in items:
        pair = bound(item)
        if not (isinstance(pair, tuple) and len(pair) == 3 and pair[0] == "-"):
            raise type_error("pair", pair)
    return make_list(sorted(items, key=lambda pair: order(deref(pair)[1])))


def _sort_by(machine: Machine, args: Args) -> bool:
    """`sort(Key, Order, List, Sorted)`."""
    position, order = natural(args[0]), bound(args[1])
    if order not in ("@<", "@>", "@=<", "@>="):
        raise domain_error("order", order)

    def key(item: Term) -> Term:
        item = deref(item)
        if not position:
            return item
        if isinstance(bound(item), tuple) and item and position < len(item):
            return item[position]
        raise type_error("compound", item)

    descending = order.startswith("@>")
    by = metered_key(machine.trail)
    items = sorted(proper_list(args[2], machine), key=lambda item: by(key(item)), reverse=descending)
    if "=" not in order:
        kept: list[Term] = []
        for item in items:
            if not kept or compare(key(kept[-1]), key(item), machine.trail):
                kept.append(item)
        items = kept
    return unify(args[3], make_list(items), machine.trail)


def _numlist(machine: Machine, args: Args) -> bool:
    low, high = integer(args[0]), integer(args[1])
    if high - low > machine.limits.size:
        raise LogicLimitError("size", machine.limits.size)
    machine.trail.charge(max(0, high - low))
    return low <= high and unify(args[2], make_list(range(low, high + 1)), machine.trail)


def _list_to_set(items: list[Term], order: Order) -> Term:
    """Keep the first of equal elements, in place."""
    keys = [order(item) for item in items]
    places = sorted(range(len(items)), key=keys.__getitem__)
    doubles = {j for i, j in itertools.pairwise(places) if not keys[i] < keys[j]}
    return make_list(item for i, item in enumerate(items) if i not in doubles)


def _member_once(machine: Machine, args: Args) -> bool:
    """`memberchk/2` on a list that has an end."""
    items, tail = split_list(args[1])
    machine.trail.charge(len(items))
    mark = len(machine.trail)
    for item in items:
        if unify(args[0], item, machine.trail):
            return True
        while len(machine.trail) > mark:
            machine.trail.pop().ref = None
    if isinstance(tail, Variable):
        return unify(tail, make_list((args[0],), Variable()), machine.trail)
    return False


def _append_lists(machine: Machine, args: Args) -> bool:
    """`append(ListOfLists, List)`."""
    lists = proper_list(args[0], machine)
    if any(isinstance(split_list(part)[1], Variable) for part in lists):
        raise instantiation_error()
    return unify(args[1], make_list(item for part in lists for item in proper_list(part, machine)), machine.trail)


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


def _combine_sets(*, keep: bool, join: bool = False) -> Test:
    """Keep the elements of the first list that the second has, or has not; with `join` the second follows."""

    def run(machine: Machine, args: Args) -> bool:
        first, second = proper_list(args[0], machine), proper_list(args[1], machine)
        known = _Elements(second)
        kept = [item for item in first if known.has(item, machine) == keep]
        return unify(args[2], make_list([*kept, *second] if join else kept), machine.trail)

    return run


LIST_TESTS: Mapping[Key, Test] = MappingProxyType(
    {
        ("msort", 2): _ordering(_msort),
        ("sort", 2): _ordering(lambda items, order: make_list(distinct(items, order))),
        ("sort", 4): _sort_by,
        ("keysort", 2): _ordering(_keysort),
        ("list_to_set", 2): _ordering(_list_to_set),
        ("reverse", 2): _relate(lambda items: make_list(items[::-1])),
        ("sum_list", 2): _relate(total),
        ("sumlist", 2): _relate(total),
        ("max_list", 2): _relate(extreme(larger)),
        ("min_list", 2): _relate(extreme(smaller)),
        ("last", 2): _relate(lambda items: items[-1] if items else None),
        ("numlist", 3): _numlist,
        ("memberchk", 2): _member_once,
        ("append", 2): _append_lists,
        **{(name, 3): _combine_sets(keep=True) for name in ("set_intersection", "intersection")},
        ("set_difference", 3): _combine_sets(keep=False),
        **{(name, 3): _combine_sets(keep=False, join=True) for name in ("set_union", "union")},
    }
)
LIST_CODES: Mapping[Key, Code] = MappingProxyType(
    {
        ("length", 2): _length,
        ("nth0", 3): _nth(0),
        ("nth1", 3): _nth(1),
    }
)
