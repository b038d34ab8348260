"""Built-in predicates on the shape of terms: variants, subsumption, numbered variables, and checks by type name."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from etalis.data.values import Rational
from etalis.logic.arithmetic.functions import BINARY, bounded
from etalis.logic.errors import LogicError
from etalis.logic.machine.database import Key, is_callable
from etalis.logic.machine.machine import Machine, Test
from etalis.logic.terms.arguments import bound, integer, is_atomic, natural, proper_list
from etalis.logic.terms.iso_errors import domain_error, evaluation_error, instantiation_error, type_error
from etalis.logic.terms.unify import (
    Term,
    Variable,
    deref,
    flatten_key,
    is_ground,
    make_list,
    split_list,
    undo,
    unify,
    variables,
)

Args = tuple[Term, ...]
Holds = Callable[[Term], bool]


def _is_variant(machine: Machine, args: Args) -> bool:
    """`A =@= B`: the terms differ in the names of variables only, also where they share some."""
    first, second = (flatten_key(arg, machine.trail) for arg in args)
    if first != second:
        return False
    pairs = set(zip(*(variables(arg, machine.trail) for arg in args), strict=True))
    return len({a for a, _ in pairs}) == len(pairs) == len({b for _, b in pairs})


def _subsumes(machine: Machine, args: Args) -> bool:
    """`subsumes_term(General, Specific)`: the first can be made the second without touching it; nothing is bound."""
    general, specific = args
    before = list(dict.fromkeys(variables(specific, machine.trail)))
    mark = len(machine.trail)
    holds = unify(general, specific, machine.trail)
    kept = [deref(variable) for variable in before]
    distinct = all(isinstance(v, Variable) for v in kept) and len(set(kept)) == len(before)
    undo(machine.trail, mark)
    return holds and distinct


def _number_variables(machine: Machine, args: Args) -> bool:
    """`numbervars(Term, Start, End)`: bind the variables to `'$VAR'(N)`."""
    start = integer(args[1])
    count = start
    for variable in dict.fromkeys(variables(args[0], machine.trail)):
        unify(variable, ("$VAR", count), machine.trail)
        count += 1
    machine.trail.charge(count - start)
    return unify(args[2], count, machine.trail)


def _name_and_arity(machine: Machine, args: Args) -> bool:
    """`compound_name_arity(Compound, Name, Arity)`; a compound has at least one argument."""
    term = deref(args[0])
    if isinstance(term, Variable):
        name, arity = bound(args[1]), natural(args[2])
        if not isinstance(name, str):
            raise type_error("atom", name)
        if not arity:
            raise domain_error("not_less_than_one", arity)
        return unify(term, (name, *_fresh(arity, machine)), machine.trail)
    if not (isinstance(term, tuple) and term):
        raise type_error("compound", term)
    return unify(args[1], term[0], machine.trail) and unify(args[2], len(term) - 1, machine.trail)


def _fresh(count: int, machine: Machine) -> Iterable[Variable]:
    machine.trail.charge(count)
    return (Variable() for _ in range(count))


def _name_and_arguments(machine: Machine, args: Args) -> bool:
    """`compound_name_arguments(Compound, Name, Arguments)`."""
    term = deref(args[0])
    if isinstance(term, Variable):
        name, parts = bound(args[1]), proper_list(args[2], machine)
        if not isinstance(name, str):
            raise type_error("atom", name)
        if not parts:
            raise domain_error("non_empty_list", ())
        return unify(term, (name, *parts), machine.trail)
    if not (isinstance(term, tuple) and term):
        raise type_error("compound", term)
    return unify(args[1], term[0], machine.trail) and unify(args[2], make_list(term[1:]), machine.trail)


def _root(machine: Machine, args: Args) -> bool:
    """`nth_integer_root_and_remainder(N, Number, Root, Remainder)`."""
    n, number = natural(args[0]), integer(args[1])
    if not n:
        raise domain_error("not_less_than_one", n)
    if number < 0 and n % 2 == 0:
        raise evaluation_error("undefined")
    root = _integer_root(abs(number), n) * (-1 if number < 0 else 1)
    rest = number - BINARY["^"](root, n)
    return unify(args[2], root, machine.trail) and unify(args[3], bounded(rest), machine.trail)


def _integer_root(number: int, n: int) -> int:
    """Return the largest integer whose n-th power is at most the number, by bisection."""
    if n == 1 or number < 2:
        return number
    if n == 2:
        return math.isqrt(number)
    low, high = 1, 1 << (number.bit_length() // n + 1)
    while high - low > 1:
        middle = (low + high) // 2
        if middle**n <= number:
            low = middle
        else:
            high = middle
    return low


def _is_proper_list(term: Term) -> bool:
    return bool(split_list(term)[1] == ())


def _is_text(term: Term) -> bool:
    return isinstance(term, str)


# Each type: what a term must be, and whether an unbound variable is a matter of instantiation.
TYPES: Mapping[str, Holds] = MappingProxyType(
    {
        "integer": lambda x: isinstance(x, int),
        "float": lambda x: isinstance(x, float),
        "rational": lambda x: isinstance(x, int | Rational),
        "number": lambda x: isinstance(x, int | float | Rational),
        "atom": lambda x: isinstance(x, str) or x == (),
        "symbol": lambda x: isinstance(x, str) or x == (),
        "string": _is_text,
        "text": _is_text,
        "atomic": is_atomic,
        "callable": is_callable,
        "compound": lambda x: isinstance(x, tuple) and bool(x),
        "boolean": lambda x: x in ("true", "false"),
        "bool": lambda x: x in ("true", "false"),
        "list": _is_proper_list,
        "proper_list": _is_proper_list,
        "list_or_partial": lambda x: isinstance(split_list(x)[1], Variable) or _is_proper_list(x),
        "pair": lambda x: isinstance(x, tuple) and len(x) == 3 and x[0] == "-",
        "char": lambda x: isinstance(x, str) and len(x) == 1,
        "code": lambda x: isinstance(x, int) and 0 <= x <= 0x10FFFF,
        "acyclic": lambda _: True,
        "any": lambda _: True,
    }
)
_RANGES: Mapping[str, tuple[str, Holds]] = MappingProxyType(
    {
        "nonneg": ("not_less_than_zero", lambda x: bool(x >= 0)),
        "positive_integer": ("not_less_than_one", lambda x: bool(x >= 1)),
    }
)


def _must_be(machine: Machine, args: Args) -> bool:
    """`must_be(Type, Term)`: true, or the error that says what is wrong."""
    kind, term = bound(args[0]), deref(args[1])
    name = kind[0] if isinstance(kind, tuple) and kind else kind
    if name == "var":
        if not isinstance(term, Variable):
            raise type_error("var", term)
        return True
    if isinstance(term, Variable) and name not in ("any", "list_or_partial", "acyclic"):
        raise instantiation_error()
    if name == "ground":
        if not is_ground(term, machine.trail):
            raise instantiation_error()
        return True
    if isinstance(kind, tuple) and kind:
        return _must_be_of(kind, term, machine)
    if name in _RANGES:
        if not isinstance(term, int):
            raise type_error("integer", term)
        if not _RANGES[name][1](term):
            raise type_error(_RANGES[name][0], term)
        return True
    if name not in TYPES:
        raise domain_error("type", kind)
    if "list" in name:
        split_list(term, machine.trail)
    if not TYPES[name](term):
        if name in ("list", "proper_list") and isinstance(split_list(term)[1], Variable):
            raise instantiation_error()
        raise type_error(name, term)
    return True


def _must_be_of(kind: Term, term: Term, machine: Machine) -> bool:
    """Check against `oneof(List)`, `between(Low, High)`, `list(Type)` or `list_of(Type)`."""
    match kind[0], len(kind):
        case "oneof", 2:
            if not any(deref(item) == term for item in proper_list(kind[1], machine)):
                raise domain_error("oneof", term)
        case "between", 3:
            low, high = bound(kind[1]), bound(kind[2])
            wanted = "integer" if isinstance(low, int) and isinstance(high, int) else "number"
            if not TYPES[wanted](term):
                raise type_error(wanted, term)
            if not (TYPES["number"](low) and TYPES["number"](high) and low <= term <= high):
                raise domain_error("between", term)
        case (("list" | "list_of"), 2):
            for item in proper_list(term, machine):
                _must_be(machine, (kind[1], item))
        case _:
            raise domain_error("type", kind)
    return True


def _check(holds: Holds) -> Test:
    return lambda _, args: holds(deref(args[0]))


def _raise(error: Callable[[str, Term], LogicError]) -> Test:
    """Make a predicate of the library that raises an error: `Kind, Culprit`."""

    def run(_machine: Machine, args: Args) -> bool:
        raise error(deref(args[0]), args[1])

    return run


SHAPE_TESTS: Mapping[Key, Test] = MappingProxyType(
    {
        ("=@=", 2): _is_variant,
        ("\\=@=", 2): lambda machine, args: not _is_variant(machine, args),
        ("subsumes_term", 2): _subsumes,
        ("numbervars", 3): _number_variables,
        ("compound_name_arity", 3): _name_and_arity,
        ("compound_name_arguments", 3): _name_and_arguments,
        ("nth_integer_root_and_remainder", 4): _root,
        ("rational", 1): _check(TYPES["rational"]),
        ("string", 1): _check(_is_text),
        ("must_be", 2): _must_be,
        ("$type_error", 2): _raise(type_error),
        ("$domain_error", 2): _raise(domain_error),
    }
)
