"""The shape of a rule: its plan with marks where constants may differ from those of rules that are alike.

Law: of two rules of one shape, each is the other with other constants in places where these decide nothing but which
values are equal, how numbers compare and what a head says: attributes of events, sides of comparisons and equalities,
attributes of the head.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

from etalis.data.values import Value
from etalis.language.syntax import Compound, Const, Term, Var
from etalis.plan import algebra as p

Visit: TypeAlias = Callable[[Const], Term]
COMPARISONS = frozenset({"<", ">", "=<", ">=", "=:=", "=\\="})
EQUALITIES = frozenset({"=", "==", "\\=", "\\=="})
_LEAST, _MOST = -(1 << 63), (1 << 63) - 1


class NoShapeError(Exception):
    """A rule has something that rules which are alike may not have."""


def shape_of(head: p.Head) -> tuple[p.Head, tuple[Value, ...]]:
    """Return a rule without its name, with the types of its constants in their places, and these constants."""
    found: list[Value] = []

    def mark(const: Const) -> Term:
        found.append(const.value)
        return Const(type_of_constant(const.value))

    shape = with_constants(replace(head, label="", event=replace(head.event, name="")), mark)
    return shape, tuple(found)


def type_of_constant(value: Value) -> str:
    """Return the type of the column that has a constant."""
    return "string" if isinstance(value, str) else "int" if isinstance(value, int) else "float"


def with_constants(head: p.Head, visit: Visit) -> p.Head:
    """Return a rule with other terms in the places of its constants, which are visited in an order of their own."""
    if head.hidden or head.actions or head.alarm is not None:
        raise NoShapeError
    if not all(isinstance(arg, Var | Const) for arg in head.event.args):
        raise NoShapeError
    args = tuple(_value(arg, visit) for arg in head.event.args)
    return replace(head, event=replace(head.event, args=args), body=_node(head.body, visit))


def _node(node: p.Node, visit: Visit) -> p.Node:
    match node:
        case p.Source(args=args):
            return replace(node, args=tuple(_value(arg, visit) for arg in args))
        case p.Filter(child=child):
            return replace(node, child=_node(child, visit), tests=_tests(node.tests, visit))
        case p.Join(left=left, right=right) if node.alone is None and not node.is_apart:
            a, b = _node(left, visit), _node(right, visit)
            return replace(node, left=a, right=b, tests=_tests(node.tests, visit))
        case p.Union(branches=branches):
            return replace(node, branches=tuple(_node(branch, visit) for branch in branches))
        case _:
            raise NoShapeError


def _tests(tests: Sequence[p.Test], visit: Visit) -> tuple[p.Test, ...]:
    return tuple(_test(test, visit) for test in tests)


def _test(test: p.Test, visit: Visit) -> p.Test:
    match test:
        case p.Window():
            return test
        case p.GoalTest(goal=goal) | p.Prefilter(goal=goal):
            return replace(test, goal=_goal(goal, visit))
        case p.Absent(node=node, conditions=()):
            return replace(test, node=_node(node, visit))
        case _:
            raise NoShapeError


def _goal(goal: Term, visit: Visit) -> Term:
    match goal:
        case Compound(name=",", args=(a, b)):
            return replace(goal, args=(_goal(a, visit), _goal(b, visit)))
        case Compound(name=name, args=(a, b)) if name in COMPARISONS:
            return replace(goal, args=(_number(a, visit), _number(b, visit)))
        case Compound(name=name, args=(a, b)) if name in EQUALITIES:
            return replace(goal, args=(_value(a, visit), _value(b, visit)))
        case Compound(name="is", args=(a, b)):
            return replace(goal, args=(a, _number(b, visit)))
        case _:
            return goal


def _number(term: Term, visit: Visit) -> Term:
    """Visit the numbers of an expression."""
    match term:
        case Const(value=int() | float()):
            return _value(term, visit)
        case Compound(args=args):
            return replace(term, args=tuple(_number(arg, visit) for arg in args))
        case _:
            return term


def _value(term: Term, visit: Visit) -> Term:
    """Visit a constant that a flat column can hold; null is none, since it is told apart there."""
    match term:
        case Const(value=str() as text) if text != "null":
            return visit(term)
        case Const(value=int() as whole) if _LEAST <= whole <= _MOST:
            return visit(term)
        case Const(value=float()):
            return visit(term)
        case _:
            return term
