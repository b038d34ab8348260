"""Conditions that never hold, or always: by the types they compare, or by other conditions.

A condition is read as the goals that a comma joins. What they say of one variable is an interval of numbers or one
value; declared types and the kinds of aggregates say what a variable can be. A goal that is not read here says
nothing. Law: what is said to never hold fails or raises an error at every match.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import TypeAlias

from etalis.errors import Problem
from etalis.language import syntax as s
from etalis.language.check.goals import conjuncts
from etalis.language.check.outline import Outline
from etalis.language.check.signatures import compatible, fits, variable_types
from etalis.language.check.wording import written
from etalis.language.lint.blocking import core_of
from etalis.language.lint.value_range import Known, number, same_value
from etalis.language.traversal import names, variables
from etalis.logic.arithmetic.functions import CONSTANTS
from etalis.temporal.aggregate import FOLDS

NEVER_HOLDS = "W231"


State: TypeAlias = dict[str, Known]
_UNKNOWN = Known()
_COMPARE: Mapping[str, Callable[[float, float], bool]] = MappingProxyType(
    {
        "<": operator.lt,
        ">": operator.gt,
        "=<": operator.le,
        ">=": operator.ge,
        "=:=": operator.eq,
        "=\\=": operator.ne,
    }
)
_MIRROR = {"<": ">", ">": "<", "=<": ">=", ">=": "=<", "=:=": "=:=", "=\\=": "=\\="}
_BY_VALUE = {True: "=:=", False: "=\\="}
_REFLEXIVE = {"=", "==", "=<", ">=", "=:="}


def check_conditions(rule: s.Rule, outline: Outline) -> Iterator[tuple[s.Pattern, Problem]]:
    """Yield the conditions of a rule that never or always hold, each with what to say of it."""
    walk = outline.walk(rule)
    if not walk.has(s.Condition):
        return
    types = variable_types(walk, outline, []) if outline.declared and not walk.has(s.Or, s.AnyOf) else {}
    found: list[tuple[s.Pattern, Problem]] = []

    def combine(node: s.Pattern, parts: tuple[State, ...]) -> State:
        match node:
            case s.EventPattern() | s.Or() | s.AnyOf():
                return {}
            case s.Negation() | s.NotWithin() | s.Binary(right=s.Aggregate()) | s.Binary(alone="left"):
                known = parts[0]
            case s.Binary(alone="right"):
                known = parts[1]
            case s.Aggregate(value=value):
                hidden = frozenset() if value is None else names(variables(value))
                known = {name: each for name, each in parts[0].items() if name not in hidden}
                known |= _result(node, opened=False)
            case _:
                known = _merge(parts)
        if isinstance(node, s.Binary):
            if isinstance(node.right, s.Aggregate):
                known = known | _result(node.right, opened=True)
            if node.alone is None:
                found.extend((node, problem) for problem in _excluded(node, parts, known))
        if isinstance(node, s.Last):
            known = _limited(node, known)
        if isinstance(node, s.Condition):
            bound = outline.bound[id(node.pattern)].always
            state = _State({**_declared(types.get(id(node.pattern), {})), **known}, bound)
            found.extend((node, problem) for goal in conjuncts(node.goal) for problem in state.read(goal))
            return state.known
        return known

    walk.fold(combine)
    yield from found


def _result(aggregate: s.Aggregate, *, opened: bool) -> State:
    """Return what is known of an aggregate's result; at its opener a count is 0."""
    row, result = FOLDS.get(aggregate.kind), aggregate.result
    if row is None or not isinstance(result, s.Var) or row.type("term") not in ("int", "float", "string"):
        return {}
    known = Known(row.type("term"))
    return {result.name: known.above(0 if opened else 1, is_open=False) if row.counts else known}


def _limited(node: s.Last, known: State) -> State:
    """Return that no more are counted than there are elements."""
    aggregate = core_of(node)
    row = FOLDS.get(aggregate.kind) if isinstance(aggregate, s.Aggregate) else None
    if isinstance(aggregate, s.Aggregate) and row is not None and row.counts:
        for name in names(variables(aggregate.result)) & known.keys():
            known = known | {name: known[name].below(node.count, is_open=False)}
    return known


def _excluded(node: s.Binary, parts: tuple[State, ...], known: State) -> Iterator[Problem]:
    """Yield the finding that what one side says of a shared variable leaves nothing for the other."""
    for name in parts[0].keys() & parts[1].keys() & known.keys():
        a, b, both = parts[0][name], parts[1][name], known[name]
        values = [side.value for side in (a, b) if side.value is not None]
        differ = len(values) == 2 and not same_value(values[0].value, values[1].value)
        if differ or (a.has_values() and b.has_values() and not both.has_values()):
            message = f"{name} is the same on both sides of `{node.operator}`, and their conditions exclude each other"
            yield Problem(NEVER_HOLDS, message, node.span, "use two variables, or correct a condition")


def _merge(parts: tuple[State, ...]) -> State:
    """Return what both sides know; of what contradicts, the left: joins of types are checked elsewhere."""
    known: State = {}
    for part in parts:
        for name, new in part.items():
            old = known.get(name)
            known[name] = (
                new
                if old is None
                else replace(
                    new.above(old.low, is_open=old.low_open).below(old.high, is_open=old.high_open),
                    type=old.type or new.type,
                    value=old.value or new.value,
                )
            )
    return known


def _declared(types: Mapping[str, Mapping[str, object]]) -> State:
    return {name: Known(next(iter(several))) for name, several in types.items() if len(several) == 1}


class _State:
    """What is known of variables while the goals of a condition are read one by one."""

    def __init__(self, known: State, bound: frozenset[str]) -> None:
        self.known = dict(known)
        self.bound = bound

    def read(self, goal: s.Term) -> Iterator[Problem]:
        """Take in what a goal says, and yield what is wrong with it."""
        match goal:
            case s.Compound(name=name, args=(left, right)) if name in _COMPARE:
                yield from self._compare(goal, name, left, right)
            case s.Compound(name="=" | "==" | "\\=" | "\\==" as name, args=(left, right)):
                yield from self._unify(goal, name, left, right)
            case s.Compound(name="is", args=(left, right)):
                yield from self._compute(goal, left, right)

    def _compare(self, goal: s.Compound, name: str, left: s.Term, right: s.Term) -> Iterator[Problem]:
        wrong = next((problem for side in (left, right) for problem in self._computed(side)), None)
        if wrong is not None:
            yield wrong
            return
        match left, right:
            case s.Var(name=x), s.Var(name=y) if x == y:
                itself = f"{x} is compared with itself"
                yield _always(goal, itself) if name in _REFLEXIVE else _never(goal, itself)
            case s.Const(value=int() | float() as x), s.Const(value=int() | float() as y):
                holds = _COMPARE[name](number(x), number(y))
                yield _always(goal) if holds else _never(goal, "it compares two constants")
            case s.Var(), s.Const(value=int() | float() as bound):
                yield from self._limit(goal, left.name, name, number(bound))
            case s.Const(value=int() | float() as bound), s.Var():
                yield from self._limit(goal, right.name, _MIRROR[name], number(bound))

    def _computed(self, term: s.Term) -> Iterator[Problem]:
        """Yield that something is computed with that is declared no number; words and what is no function are W220."""
        for v in variables(term):
            kind = self.known.get(v.name, _UNKNOWN).type
            if kind in ("string", "bool"):
                message = f"{v.name} is declared {kind}, so computing with it is an error at every match"
                hint = (
                    f"declare it int or float, compare texts with @< or @>, or write atom_number({v.name}, N) before it"
                    if kind == "string"
                    else f"write {v.name} = true"
                )
                yield Problem(NEVER_HOLDS, message, v.span or term.span, hint)
                return

    def _limit(self, goal: s.Compound, variable: str, name: str, bound: float) -> Iterator[Problem]:
        old = self.known.get(variable, _UNKNOWN)
        new = old
        if name in (">", ">=", "=:="):
            new = new.above(bound, is_open=name == ">")
        if name in ("<", "=<", "=:="):
            new = new.below(bound, is_open=name == "<")
        value = None if old.value is None else old.value.value
        if isinstance(value, str):
            if value not in CONSTANTS:
                yield _never(goal, f"{variable} is {written(old.value or s.Const(value))}")
        elif value is not None and not isinstance(value, int | float):
            return
        elif not new.has_values() or (value is not None and new.excludes(number(value))):
            yield _never(goal, f"{variable} is {old}")
            return
        self.known[variable] = new

    def _unify(self, goal: s.Compound, name: str, left: s.Term, right: s.Term) -> Iterator[Problem]:
        equal = not name.startswith("\\")
        match left, right:
            case s.Var(name=x), s.Var(name=y) if x == y:
                itself = f"{x} is compared with itself"
                yield _always(goal, itself) if equal else _never(goal, itself)
            case s.Var(name=x), s.Var(name=y) if {x, y} <= self.bound:
                a, b = self.known.get(x, _UNKNOWN).type, self.known.get(y, _UNKNOWN).type
                if a is not None and b is not None and not compatible(a, b):
                    yield self._differ(goal, equal, f"{x} is {a} and {y} is {b}", f"{x} {_BY_VALUE[equal]} {y}")
            case s.Const(value=x), s.Const(value=y):
                same = type(x) is type(y) and x == y
                yield _always(goal) if same == equal else _never(goal, "it compares two constants")
            case (s.Var() as v, s.Const() as c) | (s.Const() as c, s.Var() as v):
                yield from self._equate(goal, equal, v, c)

    def _equate(self, goal: s.Compound, equal: bool, v: s.Var, c: s.Const) -> Iterator[Problem]:
        known = self.known.get(v.name, _UNKNOWN)
        if v.name in self.bound and known.type is not None and not fits(known.type, c):
            value = f"{v.name} {_BY_VALUE[equal]} {written(c)}"
            yield self._differ(goal, equal, f"{v.name} is {known.type}, {written(c)} is not", value, c)
        elif equal and known.value is not None and not same_value(known.value.value, c.value):
            yield _never(goal, f"{v.name} is {written(known.value)} by another condition")
        elif equal and isinstance(c.value, int | float) and known.excludes(number(c.value)):
            yield _never(goal, f"{v.name} is {known}")
        elif equal:
            self.known[v.name] = replace(known, value=c)

    def _differ(self, goal: s.Compound, equal: bool, why: str, value: str, c: s.Const | None = None) -> Problem:
        numbers = c is None or isinstance(c.value, int | float)
        if numbers and "string" not in why and "bool" not in why:
            hint = f"an integer and a float are never equal; compare their values: {value}"
        elif c is not None and isinstance(c.value, int | float) and " is string" in why:
            hint = f'write "{written(c)}"'
        elif c is not None and isinstance(c.value, str) and c.value.lstrip("-").replace(".", "", 1).isdigit():
            hint = f"write {c.value} without quotes"
        else:
            hint = "compare it with a value of its type, or correct the declaration"
        return _never(goal, why, hint) if equal else _always(goal, why, hint)

    def _compute(self, goal: s.Compound, left: s.Term, right: s.Term) -> Iterator[Problem]:
        wrong = next(self._computed(right), None)
        if wrong is not None:
            yield wrong
            return
        match left, right:
            case s.Var(name=x), s.Compound(
                name="+" | "-", args=(s.Var(name=y), s.Const(value=int() | float() as step))
            ) if x == y and x in self.bound and step:
                hint = f"give the result a name of its own: New{x} is {written(right)}"
                yield _never(goal, f"{x} has a value already, which is not one more or less than itself", hint)


def _never(goal: s.Compound, why: str, hint: str = "correct the condition, or leave out the rule") -> Problem:
    return Problem(NEVER_HOLDS, f"`{written(goal)}` never holds: {why}", goal.span, hint)


def _always(goal: s.Compound, why: str = "it always holds", hint: str = "leave it out, or correct it") -> Problem:
    return Problem("W232", f"`{written(goal)}` tests nothing: {why}", goal.span, hint)
