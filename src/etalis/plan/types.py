"""A type per attribute position of every kind of event: declared, or found by following values, else `term`.

Types flow from received events through joins, conditions (`is`, `=`) and aggregates into heads, and on through the
rules that read them, up to a fixpoint. Law: where a type other than `term` is inferred, every value at that position is
of the type, or null; a declared type is what its author says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TypeAlias

from etalis.language.goals import conjuncts
from etalis.language.syntax import Compound, Const, Term, Var
from etalis.language.traversal import variables
from etalis.plan import algebra as p

Kind: TypeAlias = tuple[str, int]
Type: TypeAlias = str | None  # None: no value has been seen, null aside
Types: TypeAlias = Mapping[Kind, tuple[str, ...]]
_Found: TypeAlias = Mapping[Kind, tuple[Type, ...]]

TERM = "term"


@dataclass(frozen=True, slots=True)
class _Bound:
    """What is known of a variable: the type of its values, and whether every match gives it one."""

    type: Type
    sure: bool


_Known: TypeAlias = dict[str, _Bound]

_ANYTHING = _Bound(TERM, False)
_WHOLE = frozenset({"//", "div", "mod", "rem", "gcd", ">>", "<<", "/\\", "\\/", "xor"})
_WHOLE_OF_ONE = frozenset({"\\", "msb", "succ", "floor", "ceiling", "round", "integer", "truncate"})
_KEEPING = frozenset({"-", "+", "abs", "sign", "float_integer_part"})
_REAL = frozenset({"atan2", "atan", "copysign", "log"})
_REAL_OF_ONE = frozenset(
    {"sqrt", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "exp", "log", "log2", "float"}
)
_CONSTANTS = frozenset({"pi", "e", "epsilon"})


def infer_types(heads: Sequence[p.Head], received: Types, declared: Types) -> Types:
    """Return the types of every kind that rules make or read.

    `received` are the kinds that come from outside, with what is known of them; a kind that is neither made nor
    received nor declared has `term` throughout.
    """
    made = dict.fromkeys(map(_made, heads))
    read = dict.fromkeys(kind for head in heads for kind in _kinds(head.body))
    found: dict[Kind, tuple[Type, ...]] = {kind: (None,) * kind[1] for kind in made}
    found.update({kind: (TERM,) * kind[1] for kind in read if kind not in made})
    for kind, types in received.items():
        found[kind] = types
    found.update(declared)
    _flow(heads, found, frozenset(declared))
    return {kind: tuple(t or TERM for t in types) for kind, types in found.items()}


def variable_types(node: p.Node, types: Types) -> dict[str, str]:
    """Return the types of the variables that a node's matches bind, given those of every kind of event."""
    return {name: bound.type or TERM for name, bound in _known(node, types).items()}


def _made(head: p.Head) -> Kind:
    return head.event.name, len(head.event.args)


def _kinds(node: p.Node) -> list[Kind]:
    return [(n.name, len(n.args)) for n in p.walk(node) if isinstance(n, p.Source)]


def _flow(heads: Sequence[p.Head], found: dict[Kind, tuple[Type, ...]], fixed: frozenset[Kind]) -> None:
    """Let types flow through the rules until nothing changes; they only grow towards `term`."""
    readers: dict[Kind, list[p.Head]] = {}
    for head in heads:
        for kind in dict.fromkeys(_kinds(head.body)):
            readers.setdefault(kind, []).append(head)
    waiting = dict.fromkeys(range(len(heads)))
    numbers = {id(head): i for i, head in enumerate(heads)}
    while waiting:
        head = heads[next(iter(waiting))]
        del waiting[numbers[id(head)]]
        kind = _made(head)
        if kind in fixed:
            continue
        known = _known(head.body, found)
        new = tuple(_either(old, _type_of(a, known)) for old, a in zip(found[kind], head.event.args, strict=True))
        if new != found[kind]:
            found[kind] = new
            waiting.update(dict.fromkeys(numbers[id(reader)] for reader in readers.get(kind, ())))


def _either(a: Type, b: Type) -> Type:
    """Return the type of what is of one type or the other."""
    return b if a is None else a if b is None or a == b else TERM


def _both(a: Type, b: Type) -> Type:
    """Return the type of what is of both types at once: the narrower."""
    for known in (TERM, None, "time", "string"):
        if known in (a, b):
            return b if a == known else a
    return a


def _type_of(term: Term, known: _Known) -> Type:
    match term:
        case Var(name=name):
            return known.get(name, _ANYTHING).type
        case Const(value="null"):
            return None
        case Const(value=value):
            return {int: "int", str: "string", tuple: TERM}.get(type(value), "float")
        case _:
            return TERM


def _join(a: _Known, b: _Known) -> _Known:
    """Return what is known of the variables of two parts that match together; a value that is sure decides."""
    joined = dict(a)
    for name, other in b.items():
        mine = a.get(name)
        if mine is None:
            joined[name] = other
        elif mine.sure and other.sure:
            joined[name] = _Bound(_both(mine.type, other.type), True)
        elif mine.sure or other.sure:
            joined[name] = mine if mine.sure else other
        else:
            joined[name] = _Bound(_either(mine.type, other.type), False)
    return joined


def _known(node: p.Node, found: _Found) -> _Known:
    """Return what is known of the variables that a node's matches bind."""
    known = _bound(node, found)
    for test in p.tests(node):
        if isinstance(test, p.Goal):
            known = {**known, **_goal_types(test, known)}
    return known


def _bound(node: p.Node, found: _Found) -> _Known:
    match node:
        case p.Source(name=name, args=args):
            types = found.get((name, len(args)), (TERM,) * len(args))
            inner = {v.name: _Bound(TERM, True) for a in args if not isinstance(a, Var) for v in variables(a)}
            single = [{a.name: _Bound(t, True)} for a, t in zip(args, types, strict=True) if isinstance(a, Var)]
            return reduce(_join, single, inner)
        case p.Tick():
            return {}
        case p.Union(branches=branches):
            return _union([_known(branch, found) for branch in branches])
        case p.Repetition(element=element, shared=shared):
            inside = _only(_known(element, found), shared)
            return inside if node.left is None else _join(_known(node.left, found), inside)
        case p.Fold():
            return _fold(node, _known(node.element, found), {} if node.opener is None else _known(node.opener, found))
        case _:
            nothing: _Known = {}
            return reduce(_join, (_known(child, found) for child in p.children(node)), nothing)


def _union(parts: Sequence[_Known]) -> _Known:
    names = dict.fromkeys(name for part in parts for name in part)
    total: _Known = {}
    for name in names:
        several = [part[name] for part in parts if name in part]
        sure = len(several) == len(parts) and all(each.sure for each in several)
        total[name] = _Bound(reduce(_either, [each.type for each in several]), sure)
    return total


def _only(known: _Known, names: Sequence[str]) -> _Known:
    return {name: known.get(name, _ANYTHING) for name in names}


def _fold(node: p.Fold, inside: _Known, opener: _Known) -> _Known:
    """Return what is known after an aggregate; at its opener, the variables of elements have no value yet."""
    groups = _only(inside, node.groups)
    if node.opener is not None:
        groups = {name: _Bound(each.type, False) for name, each in groups.items()}
    known = _join(opener, groups)
    if isinstance(node.result, Var):
        known = _join(known, {node.result.name: _Bound(_fold_type(node, inside), True)})
    return known


def _fold_type(node: p.Fold, inside: _Known) -> Type:
    """Return the type of an aggregate's value; the sum at an opener is the integer 0, whatever is summed later."""
    value = TERM if node.value is None else _type_of(node.value, inside)
    match node.kind:
        case "count" | "distinct":
            return "int"
        case "avg":
            return "float"
        case "sum" if value == "int" or (value == "float" and not _starts_with_zero(node)):
            return value
        case "min" | "max" | "first" | "last":
            return value
        case _:
            return TERM


def _starts_with_zero(node: p.Fold) -> bool:
    """Tell whether a sum has a value at its opener: the integer 0."""
    return node.opener is not None and node.at_opener <= set(node.opener.exports)


def _goal_types(test: p.Goal, known: _Known) -> _Known:
    """Return what is known of the variables that a condition binds, or may bind where they have no value yet."""
    open_ones = [name for name in test.inputs if not known.get(name, _ANYTHING).sure]
    return _solved(test.goal, dict.fromkeys((*test.outputs, *open_ones), _ANYTHING), known)


def _solved(solved: Term, found: _Known, known: _Known) -> _Known:
    """Return what is known of variables when a goal has a solution, given what was known of them before."""
    found = dict(found)
    for goal in conjuncts(solved):
        match goal:
            case Compound(name="is", args=(Var(name=name), expression)) if name in found:
                found[name] = _narrow(found[name], _number_type(expression, {**known, **found}))
            case Compound(name="=", args=(Var(name=name), other)) if name in found and name != _name(other):
                found[name] = _narrow(found[name], _type_of(other, {**known, **found}))
            case Compound(name="=", args=(other, Var(name=name))) if name in found and name != _name(other):
                found[name] = _narrow(found[name], _type_of(other, {**known, **found}))
            case Compound(name="->", args=(test, then)):
                found = _solved(then, _solved(test, found, known), known)
            case Compound(name=";", args=(one, other)):
                ways = _solved(one, found, known), _solved(other, found, known)
                found = {name: _one_of(ways[0][name], ways[1][name]) for name in found}
            case _:
                pass
    return found


def _one_of(a: _Bound, b: _Bound) -> _Bound:
    return _Bound(_either(a.type, b.type), a.sure and b.sure)


def _narrow(bound: _Bound, more: Type) -> _Bound:
    return _Bound(None if more is None else _both(bound.type, more), True)


def _name(term: Term) -> str | None:
    return term.name if isinstance(term, Var) else None


def _number_type(expression: Term, known: _Known) -> Type:
    """Return the type of an expression's value: int or float where that is certain, else `term`.

    None where an operand has had no value yet: then neither has the expression.
    """
    match expression:
        case Const(value=str() as name):
            return "float" if name in _CONSTANTS else TERM
        case Var() | Const():
            found = _type_of(expression, known)
            return found if found in ("int", "float", None) else TERM
        case Compound(name=name, args=(one,)):
            inner = _number_type(one, known)
            if inner is None or name in _KEEPING:
                return inner
            return "int" if name in _WHOLE_OF_ONE else "float" if name in _REAL_OF_ONE else TERM
        case Compound(name=name, args=(one, two)):
            return _operation_type(name, {_number_type(one, known), _number_type(two, known)})
        case _:
            return TERM


def _operation_type(name: str, operands: set[Type]) -> Type:
    if None in operands:
        return None
    if name in _WHOLE:
        return "int"
    if name in _REAL or ("float" in operands and name in ("+", "-", "*", "/", "**", "^")):
        return "float"
    if operands == {"int"} and name in ("+", "-", "*", "min", "max", "^"):
        return "int"
    return "float" if operands == {"float"} and name in ("min", "max") else TERM
