"""Simple goals as Python expressions for generated code: arithmetic, comparison, equality, facts, `,` `;` `->` `\\+`.

`inline` turns a goal over bound variables into an `InlineTest`; its `source` is one boolean expression over local
names. No text of the program is pasted: constants go through a callback that returns a name, functions come from
`HELPERS`. Law: the expression is true exactly if the solver finds a solution, with the same first bindings, and raises
exactly the solver's error. So `(a ; b), c` becomes `(a and c) or (b and c)`, and a value of no declared type is checked
before it is computed with. (One gap: plain `+` and `-` do not look at the limit on the bits of an integer.) Every
variable in `bound` must have a value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from etalis.logic.arithmetic.functions import BINARY, CONSTANTS, MAKES_RATIONALS, UNARY
from etalis.logic.inline import python_source as py
from etalis.logic.inline.knowledge.lookup import Finder
from etalis.logic.machine.fact_lookup import Goal
from etalis.logic.terms.unify import Term, Variable, deref, to_value

Types: TypeAlias = Mapping[str, str]

_MAX_NODES = 150
_NUMERIC = frozenset(("int", "float", "number"))
_COMPARE: Mapping[str, str] = {"<": "<", ">": ">", "=<": "<=", ">=": ">="}
_EQUALITIES: Mapping[str, str] = {"=": "==", "==": "==", "\\=": "!=", "\\==": "!="}
_PLAIN_ON_INTEGERS: Mapping[str, str] = {"+": "+", "-": "-", "/\\": "&", "\\/": "|", "xor": "^"}
_INTEGER_FUNCTIONS = ("//", "div", "mod", "rem", "gcd", ">>", "<<", "/\\", "\\/", "xor", "\\", "msb", "succ")
_ROUNDINGS = ("floor", "ceiling", "round", "integer", "truncate")
_GIVES_INTEGER = frozenset((*_INTEGER_FUNCTIONS, *_ROUNDINGS))
_KEEPS_INTEGER = frozenset(("+", "-", "*", "min", "max", "abs", "sign"))


@dataclass(frozen=True, slots=True)
class InlineTest:
    """A goal as an expression; `bindings` are the variables it binds, with their types, in order.

    It is exact as long as each object in `stands` has its property.
    """

    node: py.Node
    bindings: tuple[tuple[str, str], ...]
    stands: tuple[tuple[Any, str], ...] = ()

    def source(self, names: py.Names, constant: py.ConstantNames) -> str:
        """Write the boolean expression: `names` gives a Python name to every variable, those it binds included."""
        return py.write(self.node, names, constant)


class _DeclinedError(Exception):
    """This goal needs the solver."""


def _find_none(_name: str, _arity: int) -> None:
    return None


def inline(goal: Goal, bound: Types, find: Finder = _find_none) -> InlineTest | None:
    """Return a goal as an expression, None where only the solver can run it.

    `bound` gives the type of every variable that has a value: int, float, number (either of them), string, bool, time
    or term. The types of the variables it binds are of the same kinds. `find` gives the look-ups of predicates.
    """
    inliner = _Inliner({variable: name for name, variable in goal.variables.items()}, find)
    exits: list[dict[str, str]] = []
    try:
        node = inliner.goals((goal.term,), dict(bound), exits)
    except _DeclinedError:
        return None
    bindings = _merge(exits, bound)
    if bindings is None or not inliner.assigned <= {name for name, _ in bindings}:
        return None
    return InlineTest(node, bindings, tuple(inliner.stands))


def _merge(exits: list[dict[str, str]], bound: Types) -> tuple[tuple[str, str], ...] | None:
    """Return the variables bound on every way out, None if the ways differ in which they bind."""
    if not exits:
        return ()
    first = [name for name in exits[0] if name not in bound]
    if any(types.keys() != exits[0].keys() for types in exits):
        return None
    kinds = [{types[name] for types in exits} for name in first]
    return tuple((name, kind.pop() if len(kind) == 1 else "term") for name, kind in zip(first, kinds, strict=True))


class _Inliner:
    """Builds the expression of one goal; `types` holds the variables bound so far on the way."""

    def __init__(self, names: Mapping[Variable, str], find: Finder) -> None:
        self.names = names
        self.find = find
        self.stands: dict[tuple[Any, str], None] = {}
        self.nodes = 0
        self.assigned: set[str] = set()

    def goals(self, goals: tuple[Term, ...], types: dict[str, str], exits: list[dict[str, str]]) -> py.Node:
        """Translate goals in sequence; what follows an alternative is written into each branch."""
        self.nodes += 1
        if self.nodes > _MAX_NODES:
            raise _DeclinedError
        if not goals:
            exits.append(types)
            return py.Truth(True)
        goal, rest = deref(goals[0]), goals[1:]
        if isinstance(goal, str):
            return self._atom(goal, rest, types, exits)
        if not (isinstance(goal, tuple) and goal):
            raise _DeclinedError
        match goal:
            case (",", first, second):
                return self.goals((first, second, *rest), types, exits)
            case ("->", _, _):
                return self._branch(goal, "fail", rest, types, exits)
            case (";", first, second):
                condition = deref(first)
                if isinstance(condition, tuple) and len(condition) == 3 and condition[0] == "->":
                    return self._branch(condition, second, rest, types, exits)
                if isinstance(condition, tuple) and condition and condition[0] == "*->":
                    raise _DeclinedError
                left = self.goals((first, *rest), dict(types), exits)
                return py.Either(left, self.goals((second, *rest), dict(types), exits))
            case ("\\+" | "not", inner):
                return self._and(py.Negated(self._closed(inner, types)), rest, types, exits)
            case _:
                return self._simple(goal, rest, types, exits)

    def _atom(self, name: str, rest: tuple[Term, ...], types: dict[str, str], exits: list[dict[str, str]]) -> py.Node:
        if name == "true":
            return self.goals(rest, types, exits)
        if name in ("fail", "false"):
            return py.Truth(False)
        raise _DeclinedError

    def _branch(
        self, goal: Term, otherwise: Term, rest: tuple[Term, ...], types: dict[str, str], exits: list[dict[str, str]]
    ) -> py.Node:
        test = self._closed(goal[1], types)
        then = self.goals((goal[2], *rest), dict(types), exits)
        return py.Branch(test, then, self.goals((otherwise, *rest), dict(types), exits))

    def _closed(self, goal: Term, types: dict[str, str]) -> py.Node:
        """Translate a goal that must bind nothing."""
        exits: list[dict[str, str]] = []
        node = self.goals((goal,), dict(types), exits)
        if any(found.keys() != types.keys() for found in exits):
            raise _DeclinedError
        return node

    def _and(
        self, node: py.Node, rest: tuple[Term, ...], types: dict[str, str], exits: list[dict[str, str]]
    ) -> py.Node:
        following = self.goals(rest, types, exits)
        return node if following == py.Truth(True) else py.Both(node, following)

    def _simple(
        self, goal: Term, rest: tuple[Term, ...], types: dict[str, str], exits: list[dict[str, str]]
    ) -> py.Node:
        """A look-up, a comparison, an equality or `is`."""
        found = self.find(goal[0], len(goal) - 1)
        if found is not None:
            self.stands.update(dict.fromkeys(found.stands))
            asked = py.Ask(found.holds, tuple(self._value(arg, types)[0] for arg in goal[1:]))
            return self._and(asked, rest, types, exits)
        if len(goal) != 3:
            raise _DeclinedError
        name, left, right = goal
        if name in _COMPARE or name in ("=:=", "=\\="):
            return self._and(self._comparison(name, left, right, types), rest, types, exits)
        if name == "is":
            value, kind = self.number(right, types)
            if isinstance(value, py.Local):
                value = py.Number(value.name)  # which may be null
            return self._assign(deref(left), value, kind, rest, types, exits)
        if name not in _EQUALITIES:
            raise _DeclinedError
        for a, b in ((deref(left), deref(right)), (deref(right), deref(left))):
            if name == "=" and self._is_unbound(a, types):
                value, kind = self._value(b, types)
                return self._assign(a, value, kind, rest, types, exits)
        sides = self._value(left, types)[0], self._value(right, types)[0]
        return self._and(py.Infix(_EQUALITIES[name], *sides), rest, types, exits)

    def _is_unbound(self, term: Term, types: dict[str, str]) -> bool:
        return isinstance(term, Variable) and self.names.get(term) not in types

    def _assign(
        self,
        target: Term,
        value: py.Node,
        kind: str,
        rest: tuple[Term, ...],
        types: dict[str, str],
        exits: list[dict[str, str]],
    ) -> py.Node:
        """Bind an unbound variable to a value, or compare a bound one with it."""
        if not self._is_unbound(target, types):
            return self._and(py.Infix("==", self._value(target, types)[0], value), rest, types, exits)
        if target not in self.names:
            raise _DeclinedError
        name = self.names[target]
        self.assigned.add(name)
        return self._and(py.Bind(name, value), rest, {**types, name: kind}, exits)

    def _value(self, term: Term, types: dict[str, str]) -> tuple[py.Node, str]:
        """A bound variable or a constant, as it is."""
        term = deref(term)
        if isinstance(term, Variable):
            if self._is_unbound(term, types):
                raise _DeclinedError
            name = self.names[term]
            return py.Local(name), types[name]
        value = to_value(term)
        if value is None:
            raise _DeclinedError
        return py.Constant(value), "int" if isinstance(value, int) else "float" if isinstance(value, float) else "term"

    def _comparison(self, name: str, left: Term, right: Term, types: dict[str, str]) -> py.Node:
        x, y = self.number(left, types)[0], self.number(right, types)[0]
        if name in _COMPARE:
            return py.Infix(_COMPARE[name], x, y)
        equal = py.Apply("logic_equal", (x, y))
        return equal if name == "=:=" else py.Negated(equal)

    def number(self, term: Term, types: dict[str, str]) -> tuple[py.Node, str]:
        """An expression that gives a number, and its type: int, float or number."""
        self.nodes += 1
        if self.nodes > _MAX_NODES:
            raise _DeclinedError
        term = deref(term)
        if isinstance(term, Variable):
            node, kind = self._value(term, types)
            assert isinstance(node, py.Local)
            return (node, kind) if kind in _NUMERIC else (py.Number(node.name), "number")
        if isinstance(term, str) and term in CONSTANTS:
            return py.Constant(CONSTANTS[term]), "float"
        if isinstance(term, int | float):
            return py.Constant(term), "int" if isinstance(term, int) else "float"
        if not (isinstance(term, tuple) and len(term) in (2, 3)):
            raise _DeclinedError
        if term[0] not in (BINARY if len(term) == 3 else UNARY) or term[0] in MAKES_RATIONALS:
            raise _DeclinedError
        operands = [self.number(part, types) for part in term[1:]]
        return self._apply(term[0], [node for node, _ in operands], [kind for _, kind in operands])

    def _apply(self, name: str, nodes: list[py.Node], kinds: list[str]) -> tuple[py.Node, str]:
        integers = all(kind == "int" for kind in kinds)
        if integers and len(nodes) == 2 and name in _PLAIN_ON_INTEGERS:
            return py.Infix(_PLAIN_ON_INTEGERS[name], nodes[0], nodes[1]), "int"
        if name in _GIVES_INTEGER or (integers and name in _KEEPS_INTEGER):
            kind = "int"
        else:
            kind = "float" if "float" in kinds and name in ("+", "-", "*", "/") else "number"
        if len(nodes) == 2 and name in ("+", "-") and _may_be_integers(nodes, kinds):
            return py.Sum(name, nodes[0], nodes[1]), kind
        return py.Apply(py.helper(name, len(nodes)), tuple(nodes)), kind


def _may_be_integers(nodes: list[py.Node], kinds: list[str]) -> bool:
    """Tell whether operands are variables of no declared type or integers that cost nothing to write twice."""
    guarded = any(isinstance(node, py.Number) for node in nodes)
    plain = (
        isinstance(node, py.Local | py.Constant) and kind == "int" for node, kind in zip(nodes, kinds, strict=True)
    )
    return guarded and all(isinstance(node, py.Number) or ok for node, ok in zip(nodes, plain, strict=True))
