"""Conditions over columns: by whole arrays where that is exact, else once per distinct tuple of arguments.

A goal of comparisons and plain arithmetic over numbers, and of equality between texts, is computed by NumPy. What NumPy
could get wrong (integers beyond 64 bits, an integer beside a float that cannot hold it, nulls among numbers, anything
that may raise) and every other goal goes to the function that the engine itself would call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from etalis.columnar.columns import Column, Flags, Instances, Integers, from_values, key_rows, type_of, unify
from etalis.columnar.tables import Numbered
from etalis.language.lower import to_logic
from etalis.logic import inline_source as n
from etalis.logic.inline import inline
from etalis.logic.term import Value
from etalis.plan import algebra as p
from etalis.runtime.conditions import Conditions

_EXACT = 1 << 53  # floats hold every integer up to here
_SAFE = float(1 << 62)
_ORDERING = {"<": np.less, ">": np.greater, "<=": np.less_equal, ">=": np.greater_equal}
_EQUALITY = {"==": np.equal, "!=": np.not_equal}
_ADDITION = {"+": np.add, "-": np.subtract, "*": np.multiply}


class _InexactError(Exception):
    """Arrays cannot answer this exactly."""


class Judge:
    """Decides one condition for whole columns of matches."""

    def __init__(self, test: p.Goal, types: Mapping[str, str], conditions: Conditions, rule: str) -> None:
        self.test = test
        self.types = types
        self.conditions = conditions
        self.ask: Callable[..., Any] = conditions.prepare(test, test.outputs, rule)
        self.node = None
        if test.kind == "where" and not test.outputs:
            found = inline(to_logic(test.goal), {v: types[v] for v in test.inputs})
            self.node = None if found is None or found.stands else found.node

    def passing(self, rows: Instances) -> tuple[Flags, dict[str, Column]]:
        """Return which matches pass, and what the condition binds for those that do, in their order."""
        passes = self.decided(rows) if self.by_arrays else None
        if passes is not None:
            return passes, {}
        answers, group = self._asked(rows)
        passes = np.array([answer is not None for answer in answers], bool)[group]
        return passes, self._bound(answers, group[passes])

    def solutions(self, rows: Instances) -> tuple[Integers, dict[str, Column]]:
        """Return each match once per solution, and what the solutions bind: `event_multiply`."""
        answers, group = self._asked(rows)
        counts = np.array([len(answer or ()) for answer in answers], np.int64)
        last = np.cumsum(counts)[group]
        kept = np.repeat(np.arange(len(rows)), counts[group])
        ahead = np.arange(len(kept)) - np.repeat(np.cumsum(counts[group]) - last, counts[group])
        return kept, self._bound([solution for answer in answers for solution in answer or ()], ahead)

    @property
    def multiplies(self) -> bool:
        """Whether a match may have several solutions."""
        return self.test.kind == "event_multiply"

    @property
    def by_arrays(self) -> bool:
        """Whether NumPy may decide this condition, which then raises nothing."""
        return self.node is not None

    def decided(self, rows: Instances) -> Flags | None:
        """Return which matches pass, None where NumPy cannot tell exactly."""
        assert self.node is not None
        try:
            return _truth(self.node, {v: rows.column(v) for v in self.test.inputs}, len(rows))
        except _InexactError:
            return None

    def _asked(self, rows: Instances) -> tuple[list[Any], Integers]:
        """Ask once per distinct tuple of arguments; return the answers, and which of them each match has."""
        given = [rows.column(v) for v in self.test.inputs]
        if self.test.kind == "check":
            given += [Column("int", rows.start), Column("int", rows.end)]
        keys = key_rows([given], [len(rows)])[0]
        known = Numbered(keys)
        first, group = known.first, known.group
        tuples = list(zip(*(column.take(first).values() for column in given), strict=True)) or [()] * len(first)
        answers: list[Any] = []
        noisy: set[int] = set()
        for number, values in enumerate(tuples):
            before = self.conditions.reports
            answers.append(self.ask(*values))
            if self.conditions.reports > before:
                noisy.add(number)
        self._repeat(noisy, group, first, tuples)
        return answers, group

    def _repeat(self, noisy: set[int], group: Any, first: Any, tuples: Sequence[tuple[Value, ...]]) -> None:
        """Report an error once per match, as the engine does, not once per tuple."""
        if not noisy:
            return
        for row, number in enumerate(group.tolist()):
            if number in noisy and row != first[number]:
                self.ask(*tuples[number])

    def _bound(self, answers: Sequence[Any], group: Any) -> dict[str, Column]:
        bound = {}
        for place, name in enumerate(self.test.outputs):
            values = ["null" if answer is None else answer[place] for answer in answers]
            bound[name] = from_values(values, self.types[name]).take(group)
        return bound


def _truth(node: n.Node, columns: Mapping[str, Column], count: int) -> Flags:
    """Return a test's truth, row by row."""
    match node:
        case n.Truth(holds=holds):
            return np.full(count, holds)
        case n.Both(first=a, second=b):
            return _truth(a, columns, count) & _truth(b, columns, count)
        case n.Either(first=a, second=b):
            return _truth(a, columns, count) | _truth(b, columns, count)
        case n.Negated(node=inner):
            return ~_truth(inner, columns, count)
        case n.Branch(test=test, then=then, otherwise=otherwise):
            parts = [_truth(part, columns, count) for part in (test, then, otherwise)]
            return np.where(*parts)
        case n.Infix(operator=operator, left=left, right=right) if operator in _ORDERING:
            return np.broadcast_to(_ORDERING[operator](*_numbers(left, right, columns)), count)
        case n.Infix(operator=operator, left=left, right=right) if operator in _EQUALITY:
            return np.broadcast_to(_equal(operator, left, right, columns), count)
        case n.Apply(function="logic_equal", args=(left, right)):
            return np.broadcast_to(np.equal(*_numbers(left, right, columns)), count)
        case _:
            raise _InexactError


def _equal(operator: str, left: n.Node, right: n.Node, columns: Mapping[str, Column]) -> Any:
    """Compare two values as terms: of one type, since values of two types are never equal."""
    kinds = {_type(left, columns), _type(right, columns)}
    if kinds == {"string"}:
        return _EQUALITY[operator](*_texts(left, right, columns))
    a, b = _numbers(left, right, columns)
    if len(kinds) > 1:
        return np.full(np.broadcast(a, b).shape, operator == "!=")
    return _EQUALITY[operator](a, b)


def _texts(left: n.Node, right: n.Node, columns: Mapping[str, Column]) -> tuple[Any, Any]:
    match left, right:
        case n.Local(name=a), n.Local(name=b):
            codes, _ = unify([columns[a], columns[b]])
            return codes[0], codes[1]
        case n.Local(name=a), n.Constant(value=text):
            return columns[a].data, columns[a].texts.index(text).as_py()
        case n.Constant(), n.Local():
            b, a = _texts(right, left, columns)
            return a, b
        case _:
            raise _InexactError


def _type(node: n.Node, columns: Mapping[str, Column]) -> str:
    match node:
        case n.Local(name=name) | n.Number(name=name):
            return columns[name].type
        case n.Constant(value=value):
            return type_of(value)
        case n.Infix(operator=operator, left=left, right=right) if operator in _ADDITION:
            kinds = {_type(left, columns), _type(right, columns)}
            return "float" if "float" in kinds else "int"
        case _:
            raise _InexactError


def _numbers(left: n.Node, right: n.Node, columns: Mapping[str, Column]) -> tuple[Any, Any]:
    """Return two numbers to compare; an integer beside a float must be one that floats hold."""
    a, b = _number(left, columns), _number(right, columns)
    if a.dtype.kind != b.dtype.kind:
        whole = a if a.dtype.kind == "i" else b
        if whole.size and (whole.min() < -_EXACT or whole.max() > _EXACT):
            raise _InexactError
    return a, b


def _number(node: n.Node, columns: Mapping[str, Column]) -> Any:
    match node:
        case n.Local(name=name) | n.Number(name=name):
            column = columns[name]
            if column.type == "string" or column.absent is not None:
                raise _InexactError
            return column.data
        case n.Constant(value=int() as value) if -(1 << 62) < value < 1 << 62:
            return np.int64(value)
        case n.Constant(value=float() as value):
            return np.float64(value)
        case n.Infix(operator=operator, left=left, right=right) if operator in _ADDITION:
            return _computed(operator, *_numbers(left, right, columns))
        case _:
            raise _InexactError


def _computed(operator: str, a: Any, b: Any) -> Any:
    """Return a sum, difference or product of integers, if 64 bits hold them all."""
    if a.dtype.kind != "i" or b.dtype.kind != "i":
        raise _InexactError  # floats may overflow, which is an error of the condition
    about = _ADDITION[operator](a.astype(np.float64), b.astype(np.float64))
    if about.size and max(abs(about.min()), abs(about.max())) > _SAFE:
        raise _InexactError
    return _ADDITION[operator](a, b)
