"""Aggregates as goals: all solutions of a body in a list, and `sparql_groups` over it.

In a window that slides with each solution the list is that of the language's `aggregate`: the rows of a group that lie
in the window, at every row.
"""

from __future__ import annotations

from etalis.epsparql import syntax as q
from etalis.epsparql.translate import expressions as e
from etalis.epsparql.translate.naming import VariableNames
from etalis.epsparql.translate.solutions import (
    NONE,
    Names,
    Timed,
    Timeless,
    conjunction,
    rename_pattern,
    rename_term,
    test_with,
)
from etalis.language.syntax import Aggregate, Compound, Const, ListTerm, Term, Var, Within
from etalis.language.traversal import rewrite_term

_NULL = Const("null")


def fold(found: Timeless, query: q.StreamQuery, names: VariableNames) -> Timeless:
    """Return what a query reports of the groups of its body's solutions."""
    local = _localize(found.binds, query, names)
    row = ListTerm(tuple(Var(local[name]) for name in sorted(found.binds)))
    rows = Var(names.fresh("Rows"))
    body = rename_term(found.goal, local)
    groups = query.groups or ()
    keys = [_named(item, found.binds, local, names) for item in groups]
    goals = (Compound("findall", (row, body, rows)), _groups(row, keys, rows, found.binds, query, local, names))
    return Timeless(goals, NONE, frozenset(_reported(query, names)))


def slide(found: Timed, length: int, query: q.StreamQuery, names: VariableNames) -> Timed:
    """Return what a query reports, at every solution of its body, of those of its group in the window up to there.

    What is unbound is `null` in the rows of the list and in the key of the group.
    """
    local, inner = _localize(found.binds, query, names), {name: names.fresh(name) for name in sorted(found.binds)}
    key, element, listed = (Var(names.fresh(name)) for name in ("Key", "Row", "Rows"))
    sure = frozenset(inner[name] for name in found.sure)
    keys: list[Var] = []
    goals: list[Term] = []
    for item in query.groups or ():
        value = Var(inner.get(names.of(item.variable.name), names.fresh(item.variable.name)))
        if item.expression is not None:
            expression = rename_term(e.to_rule(item.expression, names, found.binds, None), inner)
            goals.append(Compound("sparql", (expression, value)))
        keys.append(value)
    for whole, parts in ((element, [Var(name) for name in inner.values()]), (key, keys)):
        cells, filled = _filled(parts, sure, names)
        goals += [*filled, Compound("=", (whole, ListTerm(tuple(cells))))]
    body = test_with(rename_pattern(found.pattern, inner), "where", conjunction(goals))
    row = ListTerm(tuple(Var(local[name]) for name in inner))
    asked = _groups(row, [], listed, found.binds, query, local, names)
    named = ListTerm(tuple(Var(local[names.of(item.variable.name)]) for item in query.groups or ()))
    opened = Compound("=", (key, named))
    pattern = Within(Aggregate("list", element, body, listed), length)
    return Timed(test_with(pattern, "where", conjunction((opened, asked))), NONE, frozenset(_reported(query, names)))


def _localize(binds: Names, query: q.StreamQuery, names: VariableNames) -> dict[str, str]:
    """Return names of the fold's own for all that its goals mention: nothing outside binds them."""
    items = (*(query.groups or ()), *(query.items or ()))
    mentioned = binds.union(names.of(item.variable.name) for item in items)
    return {name: names.fresh(name) for name in sorted(mentioned)}


def _named(item: q.Item, visible: Names, local: dict[str, str], names: VariableNames) -> Term:
    """Return an expression under its name; a plain variable is its own."""
    expression = item.variable if item.expression is None else item.expression
    term = _to_rule(expression, visible, local, names)
    return Compound("=", (Var(local[names.of(item.variable.name)]), term))


def _to_rule(expression: Term, visible: Names, local: dict[str, str], names: VariableNames) -> Term:
    """Return an expression with names of the fold's own; COUNT(*) is `count_rows(all)`, with DISTINCT `distinct`."""

    def change(_: Term, new: Term) -> Term:
        match new:
            case Compound(name="count", args=()):
                return Compound("count_rows", (Const("all"),))
            case Compound(name="count", args=(Compound(name="distinct", args=()),)):
                return Compound("count_rows", (Const("distinct"),))
            case _:
                return new

    return rename_term(rewrite_term(e.to_rule(expression, names, visible, None), change), local)


def _groups(
    row: Term, keys: list[Term], rows: Var, binds: Names, query: q.StreamQuery, local: dict[str, str],
    names: VariableNames,
) -> Term:  # fmt: skip
    """Return the goal of what is reported of each group of rows."""
    visible = binds.union(local)
    having = [_to_rule(test, visible, local, names) for test in query.having]
    items = [_named(item, visible, local, names) for item in query.items or ()]
    values = ListTerm(tuple(map(Var, _reported(query, names))))
    lists = (ListTerm(tuple(part)) for part in (keys, having, items))
    return Compound("sparql_groups", (row, *lists, rows, values))


def _reported(query: q.StreamQuery, names: VariableNames) -> list[str]:
    return [names.of(item.variable.name) for item in query.items or ()]


def _filled(variables: list[Var], sure: Names, names: VariableNames) -> tuple[list[Var], list[Term]]:
    """Return variables that have a value, `null` where others may have none, and the goals that give it to them."""
    filled, goals = [], []
    for variable in variables:
        if variable.name in sure:
            filled.append(variable)
            continue
        new = Var(names.fresh(variable.name))
        goals.append(fill(variable, new))
        filled.append(new)
    return filled, goals


def fill(variable: Var, new: Var) -> Term:
    """Return the goal that one variable has the value of another, or `null`."""
    empty = Compound("->", (Compound("var", (variable,)), Compound("=", (new, _NULL))))
    return Compound(";", (empty, Compound("=", (new, variable))))
