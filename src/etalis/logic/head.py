"""Head unification, compiled: one closure per argument that is not simply a first variable.

A compound argument is taken apart into registers of its own, breadth first, so that a head of any depth is a flat list
of tests. Where the call brings an unbound variable, the registers are filled with fresh ones and the variable is bound
to the compound.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from etalis.logic.registers import Layout
from etalis.logic.resolution import Match
from etalis.logic.unify import Term, Trail, Variable, deref, is_ground, unify

HeadTest = Callable[[list[Any], Trail], bool]


def compile_head(args: Sequence[Term], layout: Layout) -> list[HeadTest]:
    """Return the tests of a head; its variables become known to the layout."""
    tests: list[HeadTest] = []
    compounds: deque[tuple[int, Term]] = deque()
    for i, arg in enumerate(args):
        _place(i, arg, layout, tests, compounds)
    while compounds:
        slot, term = compounds.popleft()
        _take_apart(slot, term, layout, tests, compounds)
    return tests


def _place(
    slot: int, term: Term, layout: Layout, tests: list[HeadTest], compounds: deque[tuple[int, Term]]
) -> int | None:
    """Decide how one register is tested; return the register it copies when it is written instead of read."""
    term = deref(term)
    if isinstance(term, Variable):
        if term not in layout.slots:
            layout.slots[term] = slot
            layout.known.add(term)
            return None
        tests.append(_same(slot, layout.slots[term]))
        return layout.slots[term]
    if isinstance(term, tuple) and term:
        if is_ground(term):
            tests.append(_ground(slot, term))
        else:
            compounds.append((slot, term))
        return None
    tests.append(_constant(slot, term))
    return layout.constant(term)


def _take_apart(
    slot: int, term: Term, layout: Layout, tests: list[HeadTest], compounds: deque[tuple[int, Term]]
) -> None:
    arity = len(term) - 1
    base = layout.reserve(arity)
    place = len(tests)
    sources = [_place(base + i, arg, layout, tests, compounds) for i, arg in enumerate(term[1:])]
    tests.insert(place, _compound(slot, term[0], base, sources))


def _same(slot: int, other: int) -> HeadTest:
    return lambda registers, trail: unify(registers[slot], registers[other], trail)


def _ground(slot: int, term: Term) -> HeadTest:
    return lambda registers, trail: unify(registers[slot], term, trail)


def _constant(slot: int, constant: Term) -> HeadTest:
    def test(registers: list[Any], trail: Trail) -> bool:
        x = registers[slot]
        while x.__class__ is Variable:
            ref = x.ref
            if ref is None:
                x.ref = constant
                trail.append(x)
                return True
            x = ref
        return x == constant  # type: ignore[no-any-return]

    return test


def _compound(slot: int, name: str, base: int, sources: Sequence[int | None]) -> HeadTest:
    size = len(sources) + 1
    end = base + size - 1

    def test(registers: list[Any], trail: Trail) -> bool:
        x = registers[slot]
        while x.__class__ is Variable:
            ref = x.ref
            if ref is None:
                parts = [Variable() if source is None else registers[source] for source in sources]
                registers[base:end] = parts
                x.ref = (name, *parts)
                trail.append(x)
                return True
            x = ref
        if x.__class__ is not tuple or len(x) != size or x[0] != name:
            return False
        registers[base:end] = x[1:]
        return True

    return test


def make_match(tests: Sequence[HeadTest], template: Sequence[Term]) -> Match:
    """Return the function that lays out a frame and runs the tests on it; None if one fails."""
    checks = tuple(tests)
    rest = tuple(template)
    if not checks:
        return lambda args, _: [*args, *rest]

    def match(args: tuple[Term, ...], trail: Trail) -> list[Term] | None:
        registers = [*args, *rest]
        for check in checks:
            if not check(registers, trail):
                return None
        return registers

    return match
