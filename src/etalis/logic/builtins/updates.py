"""Built-in predicates that change the database: assert and retract, and clause/2 that looks into it.

They follow the logical view of updates: a goal sees the clauses that were there when it was called.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from etalis.logic.knowledge.as_of import View
from etalis.logic.machine.database import Database, Key, is_callable, split_clause
from etalis.logic.machine.fact_relation import ATOMIC, RowHandle
from etalis.logic.machine.machine import Code, Frame, Machine, Test
from etalis.logic.machine.predicate import Predicate
from etalis.logic.terms.arguments import bound, natural
from etalis.logic.terms.iso_errors import permission_error, type_error
from etalis.logic.terms.unify import Term, Variable, copy, deref, undo, unify

Args = tuple[Term, ...]
_ADDED = 10  # what a new clause is worth, in steps


def _assert(*, first: bool) -> Test:
    def run(machine: Machine, args: Args) -> bool:
        fact = None if first else _plain_fact(deref(args[0]))
        if fact is not None:
            predicate = writable(machine, fact)
            if predicate.relation is not None:
                machine.trail.charge(_ADDED)
                predicate.begin_row(predicate.relation)
                predicate.add_row(predicate.relation, fact[1:])
                return True
        head, _ = split_clause(args[0])
        writable(machine, head)
        machine.trail.charge(_ADDED)
        machine.database.add(copy(args[0], machine.limits.size, machine.trail), first=first)
        return True

    return run


def _plain_fact(clause: Term) -> tuple[Any, ...] | None:
    """Return a fact over atoms and numbers with its bindings applied, None if the clause is no such fact."""
    if not isinstance(clause, tuple) or len(clause) < 2 or clause[0] == ":-":
        return None
    fact = tuple(map(deref, clause))
    return fact if ATOMIC.issuperset(map(type, fact)) else None


def writable(machine: Machine, head: Term) -> Predicate:
    """Return the predicate of a head whose clauses a goal may change."""
    name, args = _split(head)
    database: Database = machine.database
    _refuse_past(machine, name, len(args))
    if database.provides(name, len(args)) and not database.overrides(name, len(args)):
        raise permission_error("modify", "static_procedure", ("/", name, len(args)))
    return database.writable(name, len(args))


def _refuse_past(machine: Machine, name: str, arity: int) -> None:
    if machine.view is not None:
        raise permission_error("modify", "past", ("/", name, arity))


def _split(head: Term) -> tuple[str, Args]:
    return (head, ()) if isinstance(head, str) else (head[0], head[1:])


def _candidates(predicate: Predicate, args: Args, view: View | None = None) -> Iterator[Term]:
    for handle, head, body in predicate.entries(args) if view is None else view.entries(predicate, args):
        clause = ("clause", handle, body, *head)
        yield clause if handle.__class__ is RowHandle else copy(clause)


def _retract(machine: Machine, args: Args, cont: Frame) -> Frame | None:
    head, body = split_clause(args[0])
    predicate = writable(machine, head)
    _, parts = _split(head)
    handle = Variable()
    candidates = _candidates(predicate, parts)
    return machine.choose(("clause", handle, body, *parts), candidates, (_erase, (predicate, handle), cont))


def _erase(_machine: Machine, args: tuple[Predicate, Any], cont: Frame) -> Frame | None:
    predicate, handle = args
    return cont if predicate.erase(deref(handle)) else None


def _retract_all(machine: Machine, args: Args) -> bool:
    head = bound(args[0])
    if not is_callable(head):
        raise type_error("callable", head)
    predicate = writable(machine, head)
    predicate.defined = True
    _, parts = _split(head)
    mark = len(machine.trail)
    doomed = []
    for handle, other, _ in predicate.entries(parts):
        if unify(("head", 0, *parts), copy(("head", 0, *other)), machine.trail):
            doomed.append(handle)
        undo(machine.trail, mark)
    for handle in doomed:
        predicate.erase(handle)
    return True


def _clause(machine: Machine, args: Args, cont: Frame) -> Frame | None:
    head, body = bound(args[0]), deref(args[1])
    if not is_callable(head):
        raise type_error("callable", head)
    if not (isinstance(body, Variable) or is_callable(body)):
        raise type_error("callable", body)
    name, parts = _split(head)
    if machine.database.provides(name, len(parts)) and not machine.database.overrides(name, len(parts)):
        raise permission_error("access", "private_procedure", ("/", name, len(parts)))
    predicate = machine.database.predicate(name, len(parts))
    if machine.tabling is not None:
        machine.tabling.note_call(predicate, None)
    candidates = _candidates(predicate, parts, machine.view)
    return machine.choose(("clause", Variable(), body, *parts), candidates, cont)


def _dynamic(machine: Machine, args: Args) -> bool:
    """`dynamic(Name/Arity)`, several joined by commas or in a list."""
    todo = [args[0]]
    while todo:
        spec = bound(todo.pop())
        if isinstance(spec, tuple) and len(spec) == 3 and spec[0] in (",", "[|]"):
            todo.extend((spec[2], spec[1]))
        elif isinstance(spec, tuple) and len(spec) == 3 and spec[0] == "/":
            name, arity = bound(spec[1]), natural(spec[2])
            if not isinstance(name, str):
                raise type_error("atom", name)
            _refuse_past(machine, name, arity)
            machine.database.declare(name, arity)
        elif spec != ():
            raise type_error("predicate_indicator", spec)
    return True


UPDATE_TESTS: Mapping[Key, Test] = MappingProxyType(
    {
        ("assert", 1): _assert(first=False),
        ("assertz", 1): _assert(first=False),
        ("ins_static_rule", 1): _assert(first=False),  # its name in the original
        ("asserta", 1): _assert(first=True),
        ("retractall", 1): _retract_all,
        ("dynamic", 1): _dynamic,
    }
)
UPDATE_CODES: Mapping[Key, Code] = MappingProxyType(
    {("retract", 1): _retract, ("del_static_rule", 1): _retract, ("clause", 2): _clause}
)
