"""Terms of patterns and heads over columns: matched and built row by row, as the engine does it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np

from etalis.columnar.data.columns import Column, Integers, constant, from_values
from etalis.columnar.data.instances import Instances
from etalis.data.values import Value
from etalis.language.ground_terms import variables
from etalis.language.syntax import Compound, Const, ListTerm, Term, Var
from etalis.runtime.codegen.source import Code
from etalis.runtime.codegen.terms import build, fits


def is_compound(term: Term) -> bool:
    """Tell whether a term has parts."""
    return isinstance(term, Compound | ListTerm)


def match_terms(
    pairs: Sequence[tuple[Term, Column]], known: Mapping[str, Column], wanted: Collection[str]
) -> tuple[Integers, dict[str, Column]]:
    """Match terms against columns, given what their rows have bound; return the rows that match, and what they bind."""
    terms = [term for term, _ in pairs]
    inner = dict.fromkeys(name for term in terms for name in variables(term))
    given = {name: known[name].values() for name in inner if name in known}
    rows: list[int] = []
    found: list[dict[str, Value]] = []
    for row, values in enumerate(zip(*(column.values() for _, column in pairs), *given.values(), strict=True)):
        bound = dict(zip(given, values[len(terms) :], strict=True))
        if all(fits(term, value, bound) for term, value in zip(terms, values, strict=False)):
            rows.append(row)
            found.append(bound)
    new = [name for name in inner if name in wanted and name not in given]
    return np.array(rows, np.int64), {name: from_values([each[name] for each in found], "term") for name in new}


def values_of(term: Term, rows: Instances) -> Column:
    """Return the values that a term has, row by row."""
    match term:
        case Var(name=name):
            return rows.column(name)
        case Const(value=value):
            return constant(value, len(rows))
        case _:
            return build_terms(term, {name: rows.column(name) for name in variables(term)}, len(rows))


def with_nulls(column: Column) -> Column:
    """Return a column with null for what is unbound."""
    if column.type != "term":
        return column
    return from_values(["null" if value is None else value for value in column.values()], "term")


def build_terms(term: Term, columns: Mapping[str, Column], count: int) -> Column:
    """Return a term with the values of its variables, row by row."""
    names = variables(term)
    make = _maker(term, names)
    if not names:
        return from_values([make()] * count, "term")
    return from_values(list(map(make, *(columns[name].values() for name in names))), "term")


def _maker(term: Term, names: Sequence[str]) -> Callable[..., Any]:
    """Return the function of the variables' values that makes a term."""
    code = Code([f"v{i}" for i in range(len(names))])
    code(f"return {build(code, term, dict(zip(names, code.parameters, strict=True)), frozenset(names))}")
    return code.function()
