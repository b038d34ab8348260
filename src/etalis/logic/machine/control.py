"""Calling what is known only at run time: `call/N` and `catch/3`, `throw/1`.

A goal that is a control construct is compiled (`Compiler.goal`); any other is looked up and called with its arguments
as they are.
"""

from __future__ import annotations

from etalis.logic.machine.database import Key, is_callable
from etalis.logic.machine.machine import Frame, Machine, enter_catch
from etalis.logic.terms.iso_errors import instantiation_error, thrown, type_error
from etalis.logic.terms.unify import Term, Variable, copy, deref

FORMS: frozenset[Key] = frozenset(
    (
        (",", 2),
        (";", 2),
        ("->", 2),
        ("*->", 2),
        ("\\+", 1),
        ("not", 1),
        ("!", 0),
        ("findall", 3),
        ("forall", 2),
        ("once", 1),
        ("ignore", 1),
    )
)


def call_goal(machine: Machine, args: tuple[Term, ...], cont: Frame) -> Frame | None:
    """`call(Goal, Extra, ...)`: call a goal with further arguments; a cut inside is local to it."""
    goal = deref(args[0])
    if isinstance(goal, Variable):
        raise instantiation_error()
    if not is_callable(goal):
        raise type_error("callable", goal)
    if len(args) > 1:
        goal = (goal, *args[1:]) if isinstance(goal, str) else (*goal, *args[1:])
    name, rest = (goal, ()) if isinstance(goal, str) else (goal[0], goal[1:])
    if (name, len(rest)) not in FORMS:
        return machine.database.code(name, len(rest)), rest, cont
    code, registers = machine.database.compiler.goal(machine.database, goal)
    registers[0] = len(machine.choices)
    return code, registers, cont


def catch(machine: Machine, args: tuple[Term, ...], cont: Frame) -> Frame:
    """`catch(Goal, Catcher, Recovery)`."""
    goal, catcher, recovery = args
    return enter_catch(machine, (call_goal, (goal,)), catcher, (call_goal, (recovery,)), cont)


def throw(machine: Machine, args: tuple[Term, ...]) -> bool:
    """`throw(Ball)`."""
    ball = deref(args[0])
    if isinstance(ball, Variable):
        raise instantiation_error()
    raise thrown(copy(ball, machine.limits.size, machine.trail))
