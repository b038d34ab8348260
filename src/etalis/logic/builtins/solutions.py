"""Built-in predicates over all solutions of a goal: `bagof/3`, `setof/3`, `findall/4`, `aggregate_all/3`, and `^/2`.

Each runs its goal to the end first, with `collect` keeping a copy per solution, and then makes its answer of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from operator import itemgetter
from types import MappingProxyType
from typing import Any

from etalis.logic.arithmetic.arithmetic import evaluate
from etalis.logic.arithmetic.functions import Number, add, larger, smaller
from etalis.logic.machine.control import call_goal
from etalis.logic.machine.control_forms import check_partial_list
from etalis.logic.machine.database import Key
from etalis.logic.machine.machine import Code, Frame, Machine, collect
from etalis.logic.terms.arguments import bound
from etalis.logic.terms.iso_errors import domain_error
from etalis.logic.terms.order import Order, sort_key
from etalis.logic.terms.unify import Term, Trail, deref, flatten_key, make_list, unify, variables

Args = tuple[Term, ...]
Finish = Callable[[Machine, list[Term], Frame], Frame | None]


def _run_all(machine: Machine, template: Term, goal: Term, finish: Finish, cont: Frame) -> Frame | None:
    """Collect a template over all solutions of a goal, then go on with what `finish` says."""
    found: list[Term] = []
    machine.choices.append((len(machine.trail), (_finished, (found, finish), cont)))
    return call_goal(machine, (goal,), (collect, (found, template), cont))


def _finished(machine: Machine, args: tuple[list[Term], Finish], cont: Frame) -> Frame | None:
    found, finish = args
    machine.trail.charge(len(found))
    return finish(machine, found, cont)


def _findall_before(machine: Machine, args: Args, cont: Frame) -> Frame | None:
    """`findall(Template, Goal, List, Tail)`."""

    check_partial_list(args[2])
    check_partial_list(args[3])

    def finish(machine: Machine, found: list[Term], cont: Frame) -> Frame | None:
        return cont if unify(args[2], make_list(found, args[3]), machine.trail) else None

    return _run_all(machine, args[0], args[1], finish, cont)


def _collection(arrange: Callable[[list[Term]], Iterable[Term]]) -> Code:
    """`bagof/3` and `setof/3`: one answer for each way to bind the free variables of the goal."""

    def run(machine: Machine, args: Args, cont: Frame) -> Frame | None:
        template, result = args[0], args[2]
        check_partial_list(result)
        goal, local = deref(args[1]), set(variables(template))
        while isinstance(goal, tuple) and len(goal) == 3 and goal[0] == "^":
            local.update(variables(goal[1]))
            goal = deref(goal[2])
        witness = make_list(dict.fromkeys(v for v in variables(goal) if v not in local))

        def finish(machine: Machine, found: list[Term], cont: Frame) -> Frame | None:
            groups = (("-", key, make_list(arrange(group))) for key, group in _group(found))
            return machine.choose(("-", witness, result), groups, cont)

        return _run_all(machine, ("-", witness, template), goal, finish, cont)

    return run


def _group(found: list[Term]) -> list[tuple[Term, list[Term]]]:
    """Group pairs by their keys, in the standard order of keys; keys that are variants of each other are made one."""
    groups: dict[Term, tuple[Term, list[Term]]] = {}
    for pair in found:
        key, group = groups.setdefault(flatten_key(pair[1]), (pair[1], []))
        unify(key, pair[1], Trail())  # both are copies of our own, so nobody needs this undone
        group.append(pair[2])
    return sorted(groups.values(), key=lambda entry: sort_key(entry[0]))


def distinct(items: Iterable[Term], order: Order = sort_key) -> list[Term]:
    """Sort terms and drop doubles."""
    kept: list[Term] = []
    last: Any = None
    for key, item in sorted(((order(item), item) for item in items), key=itemgetter(0)):
        if last is None or last < key:
            kept.append(item)
            last = key
    return kept


def _aggregate(machine: Machine, args: Args, cont: Frame) -> Frame | None:
    """`aggregate_all(What, Goal, Result)`."""
    what = bound(args[0])
    name, *parts = what if isinstance(what, tuple) and what else (what,)
    fold = _AGGREGATES.get((name, len(parts)))
    if fold is None:
        raise domain_error("aggregate_spec", what)

    def finish(machine: Machine, found: list[Term], cont: Frame) -> Frame | None:
        result = fold(found)
        return cont if result is not None and unify(args[2], result, machine.trail) else None

    template = parts[0] if len(parts) == 1 else ("-", *parts) if parts else "true"
    return _run_all(machine, template, args[1], finish, cont)


def total(found: list[Term]) -> Number:
    """Add up the values of expressions."""
    result: Number = 0
    for item in found:
        result = add(result, evaluate(item))
    return result


def extreme(choose: Callable[[Number, Number], Number]) -> Callable[[list[Term]], Number | None]:
    """Return what finds the largest or smallest value of expressions, None of none."""

    def fold(found: list[Term]) -> Number | None:
        best: Number | None = None
        for item in found:
            value = evaluate(item)
            best = value if best is None else choose(best, value)
        return best

    return fold


def _witnessed(name: str, choose: Callable[[Number, Number], Number]) -> Callable[[list[Term]], Term | None]:
    """`max(X, Witness)` and `min(X, Witness)`: the first solution that has the extreme value."""

    def fold(found: list[Term]) -> Term | None:
        best: Term | None = None
        for item in found:
            value = evaluate(item[1])
            if best is None or (value != best[1] and choose(best[1], value) == value):
                best = (name, value, item[2])
        return best

    return fold


_AGGREGATES: Mapping[Key, Callable[[list[Term]], Term | None]] = MappingProxyType(
    {
        ("count", 0): len,
        ("count", 1): len,
        ("sum", 1): total,
        ("max", 1): extreme(larger),
        ("min", 1): extreme(smaller),
        ("max", 2): _witnessed("max", larger),
        ("min", 2): _witnessed("min", smaller),
        ("bag", 1): make_list,
        ("set", 1): lambda found: make_list(distinct(found)),
    }
)


def _exists(machine: Machine, args: Args, cont: Frame) -> Frame | None:
    """`Variable ^ Goal` outside `bagof` and `setof` is the goal."""
    return call_goal(machine, (args[1],), cont)


SOLUTION_CODES: Mapping[Key, Code] = MappingProxyType(
    {
        ("findall", 4): _findall_before,
        ("bagof", 3): _collection(list),
        ("setof", 3): _collection(distinct),
        ("aggregate_all", 3): _aggregate,
        ("^", 2): _exists,
    }
)
