"""Head unification, compiled to steps: one for each argument that is not simply a first variable.

A compound argument is taken apart into registers of its own, breadth first, so that a head of any depth is a flat list
of steps, which become one Python function (`head_source`) or, if there are many, closures. Where the call brings an
unbound variable, the registers are filled with fresh ones and the variable is bound to the compound.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from etalis.logic.machine.head_source import write_match
from etalis.logic.machine.registers import FrameLayout
from etalis.logic.machine.resolution import Match
from etalis.logic.terms.unify import Term, Trail, Variable, deref, is_ground, unify

HeadTest = Callable[[list[Any], Trail], bool]
Step = tuple[Any, ...]  # what is done to a register: ("same", slot, other), ("ground" or "constant", slot, term), ...


def compile_head(args: Sequence[Term], layout: FrameLayout) -> list[Step]:
    """Return the tests of a head; its variables become known to the layout."""
    steps: list[Step] = []
    compounds: deque[tuple[int, Term]] = deque()
    for i, arg in enumerate(args):
        _place(i, arg, layout, steps, compounds)
    while compounds:
        slot, term = compounds.popleft()
        _take_apart(slot, term, layout, steps, compounds)
    return steps


def _place(
    slot: int, term: Term, layout: FrameLayout, steps: list[Step], compounds: deque[tuple[int, Term]]
) -> int | None:
    """Decide how one register is tested; return the register it copies when it is written instead of read."""
    term = deref(term)
    if isinstance(term, Variable):
        if term not in layout.slots:
            layout.slots[term] = slot
            layout.known.add(term)
            return None
        steps.append(("same", slot, layout.slots[term]))
        return layout.slots[term]
    if isinstance(term, tuple) and term:
        if is_ground(term):
            steps.append(("ground", slot, term))
        else:
            compounds.append((slot, term))
        return None
    steps.append(("constant", slot, term))
    return layout.constant(term)


def _take_apart(
    slot: int, term: Term, layout: FrameLayout, steps: list[Step], compounds: deque[tuple[int, Term]]
) -> None:
    arity = len(term) - 1
    base = layout.reserve(arity)
    place = len(steps)
    sources = [_place(base + i, arg, layout, steps, compounds) for i, arg in enumerate(term[1:])]
    steps.insert(place, ("compound", slot, term[0], base, sources))


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


def _test(step: Step) -> HeadTest:
    make = {"same": _same, "ground": _ground, "constant": _constant, "compound": _compound}[step[0]]
    return make(*step[1:])  # type: ignore[no-any-return, operator]


def make_match(steps: Sequence[Step], arity: int, template: Sequence[Term]) -> Match:
    """Return the function that lays out a frame and runs the tests on it; None if one fails."""
    return write_match(steps, arity, template) or match_by_tests(steps, template)


def match_by_tests(steps: Sequence[Step], template: Sequence[Term]) -> Match:
    """Return the same as closures, for heads of any size."""
    checks = tuple(map(_test, steps))
    rest = tuple(template)

    def match(args: tuple[Term, ...], trail: Trail) -> list[Term] | None:
        registers = [*args, *rest]
        for check in checks:
            if not check(registers, trail):
                return None
        return registers

    return match
