"""Helper predicates with a memory: counters, flags and global values. They belong to the database, not to a goal.

A name is any ground term. A counter that nobody has counted reads 0, a flag that nobody has set fails. What they
remember is not undone on backtracking.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from etalis.logic.clauses import Key
from etalis.logic.iso_errors import existence_error, instantiation_error, permission_error
from etalis.logic.machine import Machine, Test
from etalis.logic.unify import Term, copy, is_ground, unify

Args = tuple[Term, ...]


def _name(machine: Machine, kind: str, term: Term) -> tuple[str, Term]:
    if not is_ground(term):
        raise instantiation_error()
    if machine.view is not None:
        raise permission_error("access", f"{kind}_as_of_the_past", term)
    return kind, copy(term, machine.limits.size, machine.trail)


def _counter(machine: Machine, args: Args) -> bool:
    return unify(args[1], machine.database.memory.get(_name(machine, "counter", args[0]), 0), machine.trail)


def _count(machine: Machine, args: Args) -> bool:
    memory, name = machine.database.memory, _name(machine, "counter", args[0])
    memory[name] = memory.get(name, 0) + 1
    return True


def _reset(machine: Machine, args: Args) -> bool:
    machine.database.memory[_name(machine, "counter", args[0])] = 0
    return True


def _set(kind: str) -> Test:
    def run(machine: Machine, args: Args) -> bool:
        name = _name(machine, kind, args[0])
        machine.database.memory[name] = copy(args[1], machine.limits.size, machine.trail)
        return True

    return run


def _get_flag(machine: Machine, args: Args) -> bool:
    value = machine.database.memory.get(_name(machine, "flag", args[0]))
    return value is not None and unify(args[1], copy(value), machine.trail)


def _get_value(machine: Machine, args: Args) -> bool:
    value = machine.database.memory.get(_name(machine, "value", args[0]))
    if value is None:
        raise existence_error("variable", args[0])
    return unify(args[1], copy(value), machine.trail)


STATE_TESTS: Mapping[Key, Test] = MappingProxyType(
    {
        ("counter", 2): _counter,
        ("incCounter", 1): _count,
        ("resetCounter", 1): _reset,
        ("set_flag", 2): _set("flag"),
        ("get_flag", 2): _get_flag,
        ("nb_setval", 2): _set("value"),
        ("nb_getval", 2): _get_value,
    }
)
