"""Helper predicates with a memory: counters, flags and global values. They belong to the database, not to a goal.

A name is any ground term. A counter that nobody has counted reads 0, a flag that nobody has set fails. What they
remember is not undone on backtracking; only the values of `b_setval/2` are, and they end with their goal.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from etalis.logic.arithmetic.arithmetic import evaluate
from etalis.logic.machine.database import Key
from etalis.logic.machine.machine import Machine, Test
from etalis.logic.terms.arguments import bound
from etalis.logic.terms.iso_errors import existence_error, instantiation_error, permission_error, type_error
from etalis.logic.terms.unify import Term, Variable, copy, deref, flatten_key, is_ground, unify

Args = tuple[Term, ...]


def _name(machine: Machine, kind: str, term: Term) -> tuple[str, Term]:
    if not is_ground(term, machine.trail):
        raise instantiation_error()
    if machine.view is not None:
        raise permission_error("access", f"{kind}_as_of_the_past", term)
    if machine.tabling is not None:
        machine.tabling.note_passing()
    key = flatten_key(term, machine.trail)
    return kind, key[0] if len(key) == 1 else key


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


def _exchange(machine: Machine, args: Args) -> bool:
    """`flag(Name, Old, New)`: read a number and put another in its place."""
    memory, name = machine.database.memory, _name(machine, "number", args[0])
    if not unify(args[1], memory.get(name, 0), machine.trail):
        return False
    memory[name] = evaluate(args[2])
    return True


def _set_global(machine: Machine, args: Args) -> bool:
    """`b_setval(Name, Value)`: undone on backtracking.

    The values of a name are a chain that grows at its open end; undoing the binding of an end takes its value back.
    """
    end = _end(machine, args[0])[1]
    return unify(end, ("value", args[1], Variable()), machine.trail)


def _get_global(machine: Machine, args: Args) -> bool:
    """`b_getval(Name, Value)`."""
    last, _ = _end(machine, args[0])
    if last is None:
        raise existence_error("variable", args[0])
    return unify(args[1], last[1], machine.trail)


def _end(machine: Machine, name: Term) -> tuple[Term | None, Variable]:
    """Return the last value of a name, None if there is none, and the open end behind it."""
    name = bound(name)
    if not isinstance(name, str):
        raise type_error("atom", name)
    if machine.globals is None:
        machine.globals = {}
    last, link = None, deref(machine.globals.setdefault(name, Variable()))
    while not isinstance(link, Variable):
        machine.trail.charge(1)
        last, link = link, deref(link[2])
    return last, link


STATE_TESTS: Mapping[Key, Test] = MappingProxyType(
    {
        ("counter", 2): _counter,
        ("incCounter", 1): _count,
        ("resetCounter", 1): _reset,
        ("set_flag", 2): _set("flag"),
        ("get_flag", 2): _get_flag,
        ("flag", 3): _exchange,
        ("nb_setval", 2): _set("value"),
        ("nb_getval", 2): _get_value,
        ("b_setval", 2): _set_global,
        ("b_getval", 2): _get_global,
    }
)
