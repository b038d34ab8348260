"""Built-in predicates that look at the program: its predicates, the operators, the flags."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from etalis.logic.arithmetic.functions import MAX_BITS
from etalis.logic.builtins.output import put
from etalis.logic.builtins.terms import MAX_ARITY
from etalis.logic.builtins.updates import writable
from etalis.logic.machine.control import FORMS
from etalis.logic.machine.database import Database, Key, is_callable
from etalis.logic.machine.machine import Code, Frame, Machine, Test
from etalis.logic.machine.predicate import Predicate
from etalis.logic.terms.arguments import bound, natural
from etalis.logic.terms.iso_errors import (
    domain_error,
    instantiation_error,
    permission_error,
    representation_error,
    type_error,
)
from etalis.logic.terms.portray import portray
from etalis.logic.terms.unify import Term, Variable, copy, deref
from etalis.logic.terms.write import INFIX, PREFIX

Args = tuple[Term, ...]


def _indicator(term: Term, *, whole: bool) -> tuple[Term, Term]:
    """Return name and arity of a predicate indicator; either may be a variable unless it must be whole."""
    spec = deref(term)
    if isinstance(spec, Variable):
        if whole:
            raise instantiation_error()
        return spec, Variable()
    if not (isinstance(spec, tuple) and len(spec) == 3 and spec[0] == "/"):
        raise type_error("predicate_indicator", spec)
    name, arity = deref(spec[1]), deref(spec[2])
    if whole:
        name, arity = bound(name), bound(arity)
    if not isinstance(name, Variable | str):
        raise type_error("predicate_indicator" if not whole else "atom", spec if not whole else name)
    if not isinstance(arity, Variable | int):
        raise type_error("predicate_indicator" if not whole else "integer", spec if not whole else arity)
    return name, arity


def _current_predicate(machine: Machine, args: Args, cont: Frame) -> Frame | None:
    """`current_predicate(Name/Arity)`: the predicates of the program that have clauses."""
    name, arity = _indicator(args[0], whole=False)
    if machine.tabling is not None:
        machine.tabling.note_passing()
    found = [("/", p.name, p.arity) for p in machine.database.defined() if p.is_inhabited()]
    return machine.choose(("/", name, arity), found, cont)


def _predicate_property(machine: Machine, args: Args, cont: Frame) -> Frame | None:
    """`predicate_property(Head, Property)` of a head that is known."""
    head = bound(args[0])
    if not is_callable(head):
        raise type_error("callable", head)
    name, arity = (head, 0) if isinstance(head, str) else (head[0], len(head) - 1)
    return machine.choose(args[1], tuple(_properties(machine, name, arity)), cont)


def _properties(machine: Machine, name: str, arity: int) -> Iterator[Term]:
    database: Database = machine.database
    if machine.tabling is not None:
        machine.tabling.note_passing()
    if database.overrides(name, arity):
        predicate = database.own(name, arity)
        yield "defined"
        yield "static" if predicate.fixed else "dynamic"
        if predicate.tabled:
            yield "tabled"
        if not predicate.fixed or predicate.is_state:
            yield ("number_of_clauses", len(_clauses(predicate, machine)))
    elif database.provides(name, arity) or (name, arity) in FORMS:
        yield from ("defined", "built_in", "static")


def _clauses(predicate: Predicate, machine: Machine) -> list[Term]:
    """Return the clauses of a predicate as terms, as of the time that the goal looks at."""
    args = tuple(Variable() for _ in range(predicate.arity))
    found = []
    for _, head, body in predicate.entries(args) if machine.view is None else machine.view.entries(predicate, args):
        found.append(copy((":-", (predicate.name, *head) if head else predicate.name, body)))
    return found


def _listing(machine: Machine, args: Args) -> bool:
    """`listing(Name)`, `listing(Name/Arity)`: write the clauses."""
    spec = bound(args[0])
    name, arity = (spec, None) if isinstance(spec, str) else _indicator(spec, whole=True)
    for predicate in machine.database.defined():
        if predicate.name == name and arity in (None, predicate.arity) and (predicate.is_state or not predicate.fixed):
            for clause in _clauses(predicate, machine):
                put(machine, portray(clause))
            put(machine, "\n")
    return True


def _abolish(machine: Machine, args: Args) -> bool:
    """`abolish(Name/Arity)`: forget the clauses of a predicate."""
    name, arity = _indicator(args[0], whole=True)
    if natural(arity) > MAX_ARITY:
        raise representation_error("max_arity")
    predicate = writable(machine, (name, *(Variable() for _ in range(arity))) if arity else name)
    for handle, _, _ in predicate.entries(tuple(Variable() for _ in range(arity))):
        predicate.erase(handle)
    return True


def _current_op(machine: Machine, args: Args, cont: Frame) -> Frame | None:
    """`current_op(Priority, Type, Name)` of the operators that terms are written with."""
    priority, kind, name = map(deref, args)
    if not isinstance(priority, Variable | int) or (isinstance(priority, int) and not 0 <= priority <= 1200):
        raise domain_error("operator_priority", priority)
    if not isinstance(kind, Variable) and kind not in ("xfx", "xfy", "yfx", "fy", "fx", "xf", "yf"):
        raise domain_error("operator_specifier", kind)
    if not isinstance(name, Variable | str):
        raise type_error("atom", name)
    return machine.choose(("op", priority, kind, name), tuple(_operators()), cont)


def _operators() -> Iterator[Term]:
    for name, (own, left, right) in INFIX.items():
        yield ("op", own, ("y" if left == own else "x") + "f" + ("y" if right == own else "x"), name)
    for name, (own, right) in PREFIX.items():
        yield ("op", own, "fy" if right == own else "fx", name)


_FLAGS: Mapping[str, Term] = MappingProxyType(
    {
        "bounded": "false",
        "integer_rounding_function": "toward_zero",
        "max_arity": MAX_ARITY,
        "max_integer_bits": MAX_BITS,
        "prefer_rationals": "false",
        "double_quotes": "atom",
        "occurs_check": "false",
        "unknown": "error",
        "char_conversion": "off",
        "debug": "off",
    }
)


def _current_flag(machine: Machine, args: Args, cont: Frame) -> Frame | None:
    """`current_prolog_flag(Flag, Value)`."""
    flag = deref(args[0])
    if not isinstance(flag, Variable | str):
        raise type_error("atom", flag)
    return machine.choose(("-", flag, args[1]), tuple(("-", *item) for item in _FLAGS.items()), cont)


def _set_flag(_machine: Machine, args: Args) -> bool:
    """`set_prolog_flag/2`: the flags say how things are and cannot be changed."""
    flag, value = bound(args[0]), bound(args[1])
    if not isinstance(flag, str):
        raise type_error("atom", flag)
    if flag not in _FLAGS:
        raise domain_error("prolog_flag", flag)
    if value == _FLAGS[flag]:
        return True
    raise permission_error("modify", "flag", flag)


INSPECTION_TESTS: Mapping[Key, Test] = MappingProxyType(
    {
        ("listing", 1): _listing,
        ("abolish", 1): _abolish,
        ("set_prolog_flag", 2): _set_flag,
    }
)
INSPECTION_CODES: Mapping[Key, Code] = MappingProxyType(
    {
        ("current_predicate", 1): _current_predicate,
        ("predicate_property", 2): _predicate_property,
        ("current_op", 3): _current_op,
        ("current_prolog_flag", 2): _current_flag,
    }
)
