"""Solutions in groups, and what SPARQL's aggregates make of each group.

Solutions are rows of values, None where unbound; expressions are terms over the variables of the row, with aggregates
as `sum(E)`, `min(distinct(E))`, `count_rows(all)`. Law: the order of the rows changes nothing. So SAMPLE is the least
value, GROUP_CONCAT takes them in order, and sums are exact, rounded once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from etalis.data.values import Value
from etalis.logic.rdf.exact_terms import STRING, make_literal
from etalis.logic.sparql.comparison import order_key
from etalis.logic.sparql.errors import ExpressionError
from etalis.logic.sparql.expressions import Evaluator, Row, compile_expression, holds
from etalis.logic.sparql.functions import FUNCTIONS
from etalis.logic.sparql.numbers import number
from etalis.logic.sparql.values import lexical_form, read_value, to_float, write_value
from etalis.logic.terms.unify import Term, Variable, deref
from etalis.temporal.exact_sum import ExactSum

Columns = Mapping[Variable, int]
Named = Sequence[tuple[Variable, Term]]  # expressions under their names

COUNT_ROWS = "count_rows"


@dataclass(frozen=True, slots=True)
class GroupQuery:
    """What is asked of solutions: keys of groups, what must hold of a group, and what is reported of it."""

    columns: Columns
    keys: Named
    having: Sequence[Term]
    items: Named

    def answers(self, rows: Iterable[Row]) -> Iterator[list[Value | None]]:
        """Yield the values of the items for each group that passes; without keys there is one group, perhaps empty."""
        keys = [compile_expression(term, self.columns) for _, term in self.keys]
        groups: dict[tuple[Value | None, ...], list[Row]] = {} if keys else {(): []}
        for row in rows:
            groups.setdefault(tuple(_value(key, row) for key in keys), []).append(row)
        places = {name: place for place, (name, _) in enumerate(self.keys)}
        tests = [_GroupExpression.read(term, self.columns, places) for term in self.having]
        items = []
        for name, term in self.items:
            items.append(_GroupExpression.read(term, self.columns, places))
            places = {**places, name: len(self.keys) + len(items) - 1}
        for key, members in groups.items():
            if all(test.holds(key, members) for test in tests):
                yield _extend(key, items, members)[len(key) :]


def _extend(key: tuple[Value | None, ...], items: list[_GroupExpression], members: list[Row]) -> list[Value | None]:
    values = list(key)
    for item in items:
        values.append(item.value(values, members))
    return values


@dataclass(frozen=True, slots=True)
class _GroupExpression:
    """An expression over the values known of a group, followed by those of its aggregates."""

    evaluator: Evaluator
    aggregates: list[Callable[[list[Row]], Value | None]]

    @classmethod
    def read(cls, term: Term, columns: Columns, places: Columns) -> _GroupExpression:
        found: list[Term] = []
        size = max(places.values(), default=-1) + 1
        plain, spots = _part_aggregates(term, found, size)
        evaluator = compile_expression(plain, {**places, **spots})
        return cls(evaluator, [_aggregate(call, columns) for call in found])

    def row(self, known: Sequence[Value | None], members: list[Row]) -> Row:
        return [*known, *(aggregate(members) for aggregate in self.aggregates)]

    def value(self, known: Sequence[Value | None], members: list[Row]) -> Value | None:
        return _value(self.evaluator, self.row(known, members))

    def holds(self, known: Sequence[Value | None], members: list[Row]) -> bool:
        return holds(self.evaluator, self.row(known, members))


def _part_aggregates(term: Term, found: list[Term], size: int) -> tuple[Term, dict[Variable, int]]:
    """Return a term with variables in the places of its aggregates, which are added to `found`, and their places."""
    spots: dict[Variable, int] = {}
    todo: list[tuple[Term, bool]] = [(term, False)]
    done: list[Term] = []
    while todo:
        part, has_arguments = todo.pop()
        part = deref(part)
        if not isinstance(part, tuple) or not part:
            done.append(part)
        elif has_arguments:
            count = len(part) - 1
            arguments = done[len(done) - count :]
            del done[len(done) - count :]
            done.append((part[0], *arguments))
        elif part[0] in AGGREGATES or part[0] == COUNT_ROWS:
            variable = Variable()
            spots[variable] = size + len(found)
            found.append(part)
            done.append(variable)
        else:
            todo.append((part, True))
            todo += [(argument, False) for argument in reversed(part[1:])]
    return done.pop(), spots


def _aggregate(call: Term, columns: Columns) -> Callable[[list[Row]], Value | None]:
    """Return a function from the rows of a group to the value of an aggregate; None if it has none."""
    name, *args = call
    first = deref(args[0])
    if name == COUNT_ROWS:
        return (lambda rows: len(set(map(tuple, rows)))) if first == "distinct" else len
    is_distinct = isinstance(first, tuple) and first[:1] == ("distinct",)
    if is_distinct:
        args = [first[1], *args[1:]]
    evaluator = compile_expression(args[0], columns)
    compute, skips_errors = AGGREGATES[name]
    options = [deref(arg) for arg in args[1:]]

    def run(rows: list[Row]) -> Value | None:
        try:
            values = [write_value(evaluator(row)) for row in rows] if not skips_errors else _known(evaluator, rows)
            return compute(list(dict.fromkeys(values)) if is_distinct else values, *options)
        except ExpressionError:
            return None

    return run


def _known(evaluator: Evaluator, rows: list[Row]) -> list[Value]:
    return [value for row in rows if (value := _value(evaluator, row)) is not None]


def _value(evaluator: Evaluator, row: Row) -> Value | None:
    try:
        return write_value(evaluator(row))
    except ExpressionError:
        return None


def _sum(values: list[Value]) -> Value:
    numbers = [number(read_value(value)) for value in values]
    if not all(map(math.isfinite, numbers)):
        return write_value(sum(map(to_float, numbers)))
    total = ExactSum()
    for each in numbers:
        total = total.add(each)
    return write_value(total.value())


def _average(values: list[Value]) -> Value:
    divide = FUNCTIONS["/"].compute
    assert divide is not None
    return write_value(divide(read_value(_sum(values)), len(values))) if values else 0


def _least(values: list[Value]) -> Value:
    return min(_some(values), key=order_key)


def _greatest(values: list[Value]) -> Value:
    return max(_some(values), key=order_key)


def _some(values: list[Value]) -> list[Value]:
    if not values:
        raise ExpressionError("no value in the group")
    return values


def _concatenate(values: list[Value], separator: Value = " ") -> Value:
    between = lexical_form(read_value(separator))
    texts = [lexical_form(read_value(value)) for value in sorted(values, key=order_key)]
    return make_literal(between.join(texts), STRING)


# How values become one, and whether those that are errors are left out; else one makes all an error.
AGGREGATES: Mapping[str, tuple[Callable[..., Value], bool]] = MappingProxyType(
    {
        "count": (len, True),
        "sum": (_sum, False),
        "avg": (_average, False),
        "min": (_least, True),
        "max": (_greatest, True),
        "sample": (_least, True),
        "group_concat": (_concatenate, False),
    }
)
