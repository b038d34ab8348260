"""Solutions in groups and their aggregates, as SPARQL 1.1 has them; SAMPLE is the least, GROUP_CONCAT is in order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction

from etalis.data.values import Value, real
from etalis.epsparql import syntax as s
from etalis.epsparql.expressions import ExpressionError, evaluate, holds
from etalis.epsparql.windows import AGGREGATES
from etalis.language.syntax import Compound, Const, Term, Var
from etalis.logic.rdf.exact_terms import STRING, make_literal, split_literal
from etalis.logic.sparql.comparison import order_key

Row = Mapping[str, Value]
_FAILED = Var("_:no value")


def aggregate(query: s.StreamQuery, rows: Iterable[Row]) -> list[dict[str, Value]]:
    """Return the groups of a query's solutions that pass HAVING, with the values of its items."""
    groups: dict[tuple[tuple[str, Value], ...], list[Row]] = {} if query.groups else {(): []}
    for row in rows:
        groups.setdefault(group_key(query, row), []).append(row)
    found = []
    for key, members in groups.items():
        values = dict(key)
        if all(holds(_folded(test, members), values) for test in query.having):
            for item in query.items or ():
                if item.expression is not None:
                    _extend(values, item.variable.name, _folded(item.expression, members))
            names = [item.variable.name for item in query.items or ()]
            found.append({name: values[name] for name in names if name in values})
    return found


def group_key(query: s.StreamQuery, row: Row) -> tuple[tuple[str, Value], ...]:
    """Return what tells the groups of a query apart: names and values, without what is unbound."""
    values = dict(row)
    for item in query.groups or ():
        if item.expression is not None:
            _extend(values, item.variable.name, item.expression)
    names = [item.variable.name for item in query.groups or ()]
    return tuple((name, values[name]) for name in names if name in values)


def _extend(values: dict[str, Value], name: str, expression: Term) -> None:
    try:
        values[name] = evaluate(expression, values)
    except ExpressionError:
        return


def _folded(expression: Term, rows: list[Row]) -> Term:
    """Return an expression with the values of its aggregates in their places; one without a value is unbound."""
    if not isinstance(expression, Compound):
        return expression
    if expression.name not in AGGREGATES:
        return Compound(expression.name, tuple(_folded(a, rows) for a in expression.args), expression.span)
    try:
        return Const(_fold(expression, rows))
    except ExpressionError:
        return _FAILED


def _fold(call: Compound, rows: list[Row]) -> Value:
    name, args, is_distinct = call.name, call.args, False
    if args and isinstance(args[0], Compound) and args[0].name == "distinct":
        args, is_distinct = (*args[0].args, *args[1:]), True
    if not args:
        return len({frozenset(row.items()) for row in rows}) if is_distinct else len(rows)
    values = _values(args[0], rows, skip_errors=name in ("count", "sample", "min", "max"))
    values = list(dict.fromkeys(values)) if is_distinct else values
    match name:
        case "count":
            return len(values)
        case "sum":
            return _sum(values)
        case "avg":
            return evaluate(Compound("/", (Const(_sum(values)), Const(len(values)))), {}) if values else 0
        case "group_concat":
            separator = split_literal(args[1].value)[0] if len(args) > 1 and isinstance(args[1], Const) else " "
            texts = [split_literal(evaluate(Compound("str", (Const(v),)), {}))[0] for v in _ordered(values)]
            return make_literal(separator.join(texts), STRING)
    if not values:
        raise ExpressionError
    return _ordered(values)[-1 if name == "max" else 0]


def _values(expression: Term, rows: list[Row], *, skip_errors: bool) -> list[Value]:
    found = []
    for row in rows:
        try:
            found.append(evaluate(expression, row))
        except ExpressionError:
            if not skip_errors:
                raise
    return found


def _sum(values: list[Value]) -> Value:
    """Add up, exactly: the order of solutions is nobody's."""
    total: Value = 0
    for value in values:
        total = evaluate(Compound("+", (Const(total), Const(value))), {})
    if not isinstance(total, float):
        return total
    exact = sum(map(Fraction, values))
    try:
        return real(float(exact))
    except OverflowError:
        return total


def _ordered(values: list[Value]) -> list[Value]:
    return sorted(values, key=order_key)
