"""The control constructs as closures: what `;`, `->`, `*->`, `\\+` and `findall` do to the machine.

Each takes the compiled parts and returns code that runs on the frame of its clause. A part is `simple` when it only
tests: it leaves no alternative and calls nothing, so no choice needs to wait for it. `mark` is a register for the
height of the choices.
"""

from __future__ import annotations

from dataclasses import dataclass

from etalis.logic.machine.expressions import Registers
from etalis.logic.machine.machine import Code, Frame, Machine, collect, commit, commit_softly, refute
from etalis.logic.terms.iso_errors import type_error
from etalis.logic.terms.unify import Term, Variable, deref, make_list, split_list, undo, unify


@dataclass(frozen=True, slots=True)
class CompiledBody:
    """A compiled body within a clause."""

    code: Code
    simple: bool


def disjunction(left: CompiledBody, right: Code) -> Code:
    """`left ; right`."""
    first = left.code

    def run(machine: Machine, registers: Registers, cont: Frame) -> Frame | None:
        machine.choices.append((len(machine.trail), (right, registers, cont)))
        return first(machine, registers, cont)

    return run


def conditional(test: CompiledBody, then: Code, otherwise: Code, mark: int) -> Code:
    """`test -> then ; otherwise`; a cut in the test is local, its barrier stands in register mark + 1."""
    condition = test.code

    def run(machine: Machine, registers: Registers, cont: Frame) -> Frame | None:
        height = len(machine.choices)
        registers[mark] = height
        registers[mark + 1] = height + 1
        machine.choices.append((len(machine.trail), (otherwise, registers, cont)))
        return condition(machine, registers, (commit, (registers, mark, then), cont))

    def run_simple(machine: Machine, registers: Registers, cont: Frame) -> Frame | None:
        trail = machine.trail
        height = len(trail)
        registers[mark + 1] = len(machine.choices)
        if condition(machine, registers, cont) is not None:
            return then, registers, cont
        undo(trail, height)
        return otherwise, registers, cont

    return run_simple if test.simple else run


def soft_conditional(test: CompiledBody, then: Code, otherwise: Code, mark: int) -> Code:
    """`test *-> then ; otherwise`: every solution of the test, or else."""
    condition = test.code

    def run(machine: Machine, registers: Registers, cont: Frame) -> Frame | None:
        height = len(machine.choices)
        registers[mark] = height
        registers[mark + 1] = height + 1
        machine.choices.append((len(machine.trail), (otherwise, registers, cont)))
        return condition(machine, registers, (commit_softly, (registers, mark, then), cont))

    return run


def negation(goal: CompiledBody, mark: int) -> Code:
    """`\\+ goal`."""
    test = goal.code

    def run(machine: Machine, registers: Registers, cont: Frame) -> Frame | None:
        height = len(machine.choices)
        registers[mark] = height
        registers[mark + 1] = height + 1
        machine.choices.append((len(machine.trail), cont))
        return test(machine, registers, (refute, (registers, mark), cont))

    def run_simple(machine: Machine, registers: Registers, cont: Frame) -> Frame | None:
        height = len(machine.trail)
        registers[mark + 1] = len(machine.choices)
        holds = test(machine, registers, cont) is not None
        undo(machine.trail, height)
        return None if holds else cont

    return run_simple if goal.simple else run


def findall(goal: CompiledBody, template: int, result: int, mark: int) -> Code:
    """`findall(template, goal, result)` with the template and the result in registers."""
    body = goal.code

    def run(machine: Machine, registers: Registers, cont: Frame) -> Frame | None:
        found: list[Term] = []
        check_partial_list(registers[result])
        machine.choices.append((len(machine.trail), (_found_all, (found, registers[result]), cont)))
        registers[mark + 1] = len(machine.choices)
        return body(machine, registers, (collect, (found, registers[template]), cont))

    return run


def check_partial_list(term: Term) -> None:
    """Refuse what can never be a list."""
    term = deref(term)
    if term.__class__ is Variable or term == ():
        return
    tail = split_list(term)[1]
    if tail != () and tail.__class__ is not Variable:
        raise type_error("list", term)


def _found_all(machine: Machine, args: tuple[list[Term], Term], cont: Frame) -> Frame | None:
    found, result = args
    return cont if unify(result, make_list(found), machine.trail) else None
