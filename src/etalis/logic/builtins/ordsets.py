"""Built-in predicates on ordered sets: lists sorted by the standard order, without doubles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from etalis.logic.builtins.solutions import distinct
from etalis.logic.machine.clauses import Key
from etalis.logic.machine.machine import Machine, Test
from etalis.logic.terms.arguments import bound, proper_list
from etalis.logic.terms.iso_errors import type_error
from etalis.logic.terms.order import compare, sort_key
from etalis.logic.terms.unify import Term, deref, make_list, unify

Args = tuple[Term, ...]


def _merge(a: list[Term], b: list[Term], machine: Machine, keep: tuple[bool, bool, bool]) -> list[Term]:
    """Walk two ordered sets; keep what the first has alone, both have, and the second has alone."""
    found: list[Term] = []
    i = j = 0
    while i < len(a) and j < len(b):
        sign = compare(a[i], b[j], machine.trail)
        machine.trail.charge(1)
        if sign < 0:
            found.extend([a[i]] if keep[0] else [])
            i += 1
        elif sign > 0:
            found.extend([b[j]] if keep[2] else [])
            j += 1
        else:
            found.extend([a[i]] if keep[1] else [])
            i, j = i + 1, j + 1
    return found + (a[i:] if keep[0] else []) + (b[j:] if keep[2] else [])


def _combine(first: bool, both: bool, second: bool) -> Test:
    def run(machine: Machine, args: Args) -> bool:
        a, b = proper_list(args[0], machine), proper_list(args[1], machine)
        return unify(args[2], make_list(_merge(a, b, machine, (first, both, second))), machine.trail)

    return run


def _with_element(combine: Test) -> Test:
    """Make a predicate of a set and one element."""
    return lambda machine, args: combine(machine, (args[0], make_list((args[1],)), args[2]))


def _union_all(machine: Machine, args: Args) -> bool:
    """`ord_union(ListOfSets, Set)`."""
    items = [item for part in proper_list(args[0], machine) for item in proper_list(part, machine)]
    machine.trail.charge(len(items))
    return unify(args[1], make_list(distinct(items)), machine.trail)


def _relates(holds: Callable[[list[Term], list[Term], list[Term]], bool]) -> Test:
    """Make a test of two sets and what they have in common."""

    def run(machine: Machine, args: Args) -> bool:
        a, b = proper_list(args[0], machine), proper_list(args[1], machine)
        return holds(a, b, _merge(a, b, machine, (False, True, False)))

    return run


def _has(machine: Machine, args: Args) -> bool:
    """`ord_memberchk(Element, Set)`."""
    return any(compare(args[0], item, machine.trail) == 0 for item in proper_list(args[1], machine))


def _swapped(machine: Machine, args: Args) -> bool:
    """`transpose_pairs(Pairs, Transposed)`: values and keys exchanged, sorted by the new keys."""
    pairs = []
    for item in proper_list(args[0], machine):
        pair = bound(item)
        if not (isinstance(pair, tuple) and len(pair) == 3 and pair[0] == "-"):
            raise type_error("pair", pair)
        pairs.append(("-", pair[2], pair[1]))
    return unify(args[1], make_list(sorted(pairs, key=lambda pair: sort_key(pair[1]))), machine.trail)


def _clumped(machine: Machine, args: Args) -> bool:
    """`clumped(Items, Pairs)`: neighbours that are the same, with their number."""
    found: list[tuple[str, Term, int]] = []
    for item in proper_list(args[0], machine):
        if found and compare(found[-1][1], item, machine.trail) == 0:
            found[-1] = ("-", deref(found[-1][1]), found[-1][2] + 1)
        else:
            found.append(("-", item, 1))
    return unify(args[1], make_list(found), machine.trail)


ORDERED_TESTS: Mapping[Key, Test] = MappingProxyType(
    {
        ("ord_union", 2): _union_all,
        ("ord_union", 3): _combine(True, True, True),
        ("ord_subtract", 3): _combine(True, False, False),
        ("ord_intersection", 3): _combine(False, True, False),
        ("ord_symdiff", 3): _combine(True, False, True),
        ("ord_add_element", 3): _with_element(_combine(True, True, True)),
        ("ord_insert", 3): _with_element(_combine(True, True, True)),
        ("ord_del_element", 3): _with_element(_combine(True, False, False)),
        ("ord_memberchk", 2): _has,
        ("ord_subset", 2): _relates(lambda a, _, common: len(common) == len(a)),
        ("ord_disjoint", 2): _relates(lambda _a, _b, common: not common),
        ("ord_intersect", 2): _relates(lambda _a, _b, common: bool(common)),
        ("transpose_pairs", 2): _swapped,
        ("clumped", 2): _clumped,
    }
)
