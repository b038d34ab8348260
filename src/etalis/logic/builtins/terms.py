"""Built-in predicates on terms: type checks, comparison, arithmetic, and taking terms apart."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from etalis.logic.arithmetic.arithmetic import charge_result, evaluate
from etalis.logic.arithmetic.functions import COMPARISONS, add, larger, smaller, subtract
from etalis.logic.builtins.shape import TYPES
from etalis.logic.machine.database import Key
from etalis.logic.machine.machine import Code, Frame, Machine, Test
from etalis.logic.terms.arguments import bound, integer, is_atomic, natural, proper_list
from etalis.logic.terms.iso_errors import (
    domain_error,
    instantiation_error,
    representation_error,
    type_error,
)
from etalis.logic.terms.order import compare
from etalis.logic.terms.unify import (
    Term,
    Trail,
    Variable,
    copy,
    deref,
    is_ground,
    make_list,
    split_list,
    undo,
    unify,
    variables,
)

Args = tuple[Term, ...]
MAX_ARITY = 100_000


def _check(holds: Callable[[Term], bool]) -> Test:
    return lambda _, args: holds(deref(args[0]))


def _walk(holds: Callable[[Term, Trail], bool]) -> Test:
    """Make a test that goes through the whole of a term."""
    return lambda machine, args: holds(deref(args[0]), machine.trail)


def _order(holds: Callable[[int], bool]) -> Test:
    return lambda machine, args: holds(compare(args[0], args[1], machine.trail))


def _numeric(name: str) -> Test:
    test = COMPARISONS[name]
    return lambda machine, args: test(evaluate(args[0], meter=machine.trail), evaluate(args[1], meter=machine.trail))


def _unifies(machine: Machine, args: Args) -> bool:
    mark = len(machine.trail)
    result = unify(args[0], args[1], machine.trail)
    undo(machine.trail, mark)
    return result


def _unify_without_cycle(machine: Machine, args: Args) -> bool:
    """`unify_with_occurs_check/2`: a cycle shows as a copy that never ends within the size of both terms."""
    if not unify(args[0], args[1], machine.trail):
        return False
    return not _is_cyclic(args[0], machine.trail)


def _is_cyclic(term: Term, meter: Trail) -> bool:
    """Tell whether a term contains itself: walk it, keeping the compounds on the way down."""
    path: set[int] = set()
    done: set[int] = set()
    todo: list[tuple[Term, bool]] = [(term, True)]
    while todo:
        x, entering = todo.pop()
        x = deref(x)
        if not entering:
            path.discard(id(x))
            done.add(id(x))
        elif x.__class__ is tuple and x and id(x) not in done:
            if id(x) in path:
                return True
            path.add(id(x))
            meter.charge(1)
            todo.append((x, False))
            todo.extend((part, True) for part in x[1:])
    return False


def _is(machine: Machine, args: Args) -> bool:
    value = evaluate(args[1], meter=machine.trail)
    charge_result(value, machine.trail)
    return unify(args[0], value, machine.trail)


def _compare(machine: Machine, args: Args) -> bool:
    order = deref(args[0])
    if not isinstance(order, Variable):
        if not isinstance(order, str):
            raise type_error("atom", order)
        if order not in ("<", "=", ">"):
            raise domain_error("order", order)
    return unify(order, "=><"[compare(args[1], args[2], machine.trail)], machine.trail)


def _functor(machine: Machine, args: Args) -> bool:
    term = deref(args[0])
    trail = machine.trail
    if isinstance(term, Variable):
        name, arity = bound(args[1]), natural(args[2])
        if not is_atomic(name):
            raise type_error("atomic", name)
        if arity > MAX_ARITY:
            raise representation_error("max_arity")
        if arity and not isinstance(name, str):
            raise type_error("callable", name)
        return unify(term, (name, *(Variable() for _ in range(arity))) if arity else name, trail)
    name, arity = (term[0], len(term) - 1) if isinstance(term, tuple) and term else (term, 0)
    return unify(args[1], name, trail) and unify(args[2], arity, trail)


def _univ(machine: Machine, args: Args) -> bool:
    term = deref(args[0])
    if not isinstance(term, Variable):
        return unify(args[1], make_list(term if isinstance(term, tuple) and term else (term,)), machine.trail)
    items = proper_list(bound(args[1]), machine)
    if not items:
        raise domain_error("non_empty_list", ())
    name = bound(items[0])
    if len(items) == 1:
        if not is_atomic(name):
            raise type_error("atomic", name)
        return unify(term, name, machine.trail)
    if not isinstance(name, str):
        raise type_error("callable" if is_atomic(name) else "atomic", name)
    return unify(term, (name, *items[1:]), machine.trail)


def _arg(machine: Machine, args: Args, cont: Frame) -> Frame | None:
    term = bound(args[1])
    if not (isinstance(term, tuple) and term):
        raise type_error("compound", term)
    if isinstance(deref(args[0]), Variable):
        pairs = (("-", i, part) for i, part in enumerate(term) if i)
        return machine.choose(("-", args[0], args[2]), pairs, cont)
    number = natural(args[0])
    return cont if 0 < number < len(term) and unify(args[2], term[number], machine.trail) else None


def _copy_term(machine: Machine, args: Args) -> bool:
    return unify(args[1], copy(args[0], machine.limits.size, machine.trail), machine.trail)


def _term_variables(machine: Machine, args: Args) -> bool:
    return unify(args[1], make_list(dict.fromkeys(variables(args[0], machine.trail))), machine.trail)


def _between(machine: Machine, args: Args, cont: Frame) -> Frame | None:
    low, high, x = integer(args[0]), bound(args[1]), deref(args[2])
    endless = high in ("inf", "infinite")
    last = low if endless else integer(high)
    if isinstance(x, Variable):
        return machine.choose(x, _count_from(low) if endless else range(low, last + 1), cont)
    return cont if low <= integer(x) and (endless or x <= last) else None


def _count_from(number: int) -> Iterator[int]:
    while True:
        yield number
        number += 1


def _repeat(machine: Machine, args: Args, cont: Frame) -> Frame | None:
    machine.choices.append((len(machine.trail), (_repeat, args, cont)))
    return cont


def _successor(machine: Machine, args: Args) -> bool:
    if not isinstance(deref(args[0]), Variable):
        number = natural(args[0])
        if not isinstance(deref(args[1]), Variable):
            natural(args[1])
        return unify(args[1], number + 1, machine.trail)
    if isinstance(deref(args[1]), Variable):
        raise instantiation_error()
    following = natural(args[1])
    return following > 0 and unify(args[0], following - 1, machine.trail)


def _plus(machine: Machine, args: Args) -> bool:
    x, y, z = map(deref, args)
    if isinstance(z, Variable):
        return unify(z, add(evaluate(x), evaluate(y)), machine.trail)
    if isinstance(y, Variable):
        return unify(y, subtract(evaluate(z), evaluate(x)), machine.trail)
    return unify(x, subtract(evaluate(z), evaluate(y)), machine.trail)


def _extreme(choose: Callable[[Term, Term], Term]) -> Test:
    """`min/3` and `max/3` of the original's library."""
    return lambda machine, args: unify(args[2], choose(evaluate(args[0]), evaluate(args[1])), machine.trail)


def _is_list(term: Term, meter: Trail) -> bool:
    return bool(split_list(term, meter)[1] == ())


def _is_acyclic(term: Term, meter: Trail) -> bool:
    return not _is_cyclic(term, meter)


TERM_TESTS: Mapping[Key, Test] = MappingProxyType(
    {
        ("var", 1): _check(lambda x: isinstance(x, Variable)),
        ("nonvar", 1): _check(lambda x: not isinstance(x, Variable)),
        **{
            (name, 1): _check(TYPES[name])
            for name in ("number", "integer", "float", "atom", "atomic", "compound", "callable")
        },
        ("is_list", 1): _walk(_is_list),
        ("ground", 1): _walk(is_ground),
        ("acyclic_term", 1): _walk(_is_acyclic),
        ("cyclic_term", 1): _walk(_is_cyclic),
        ("==", 2): _order(lambda sign: sign == 0),
        ("\\==", 2): _order(lambda sign: sign != 0),
        ("@<", 2): _order(lambda sign: sign < 0),
        ("@>", 2): _order(lambda sign: sign > 0),
        ("@=<", 2): _order(lambda sign: sign <= 0),
        ("@>=", 2): _order(lambda sign: sign >= 0),
        ("compare", 3): _compare,
        ("=", 2): lambda machine, args: unify(args[0], args[1], machine.trail),
        ("\\=", 2): lambda machine, args: not _unifies(machine, args),
        ("unify_with_occurs_check", 2): _unify_without_cycle,
        ("is", 2): _is,
        **{(name, 2): _numeric(name) for name in COMPARISONS},
        ("functor", 3): _functor,
        ("=..", 2): _univ,
        ("copy_term", 2): _copy_term,
        ("term_variables", 2): _term_variables,
        ("succ", 2): _successor,
        ("plus", 3): _plus,
        ("min", 3): _extreme(smaller),
        ("max", 3): _extreme(larger),
    }
)
TERM_CODES: Mapping[Key, Code] = MappingProxyType({("arg", 3): _arg, ("between", 3): _between, ("repeat", 0): _repeat})
