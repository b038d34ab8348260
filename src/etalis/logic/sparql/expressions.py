"""Expressions compiled to closures: from a term over variables to a function of their values.

Three truth values: true, false and error, which is `ExpressionError` raised. Law: the value of a term in which values
have taken the places of variables is that of the compiled term over these values. Operators that are written in a row
(`a && b && c`, `1 + x - y`) are computed in a loop; what is nested deeper than `MAX_DEPTH` is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from etalis.data.values import MAX_DEPTH, Struct, Value
from etalis.logic.errors import LogicLimitError
from etalis.logic.rdf.exact_terms import UNBOUND
from etalis.logic.sparql.comparison import equal
from etalis.logic.sparql.effective_boolean import truth_of
from etalis.logic.sparql.errors import ExpressionError
from etalis.logic.sparql.functions import FUNCTIONS
from etalis.logic.sparql.values import Known, read_value, write_value
from etalis.logic.terms.unify import Term, Variable, deref, from_value

Row: TypeAlias = Sequence[Value | None]  # the values of an expression's variables; None is unbound
Evaluator: TypeAlias = Callable[[Row], Known]

_JOINED = frozenset(("+", "-", "*", "/"))
_NO_PLACES: Mapping[Variable, int] = {}


def compile_expression(term: Term, places: Mapping[Variable, int] = _NO_PLACES) -> Evaluator:
    """Return a function from a row of values to the value of an expression; `places` are the variables' in the row.

    >>> x = Variable()
    >>> compile_expression((">", x, ("*", 2, 3)), {x: 0})([7])
    True
    """
    return _Level(places).compile(term)


def evaluate_term(term: Term) -> Value:
    """Return the value of an expression as a term; `ExpressionError` if it has none."""
    return write_value(compile_expression(term)(()))


def holds_term(term: Term) -> bool:
    """Tell whether the effective boolean value of an expression is true."""
    return holds(compile_expression(term), ())


def holds(evaluator: Evaluator, row: Row) -> bool:
    """Tell whether a compiled expression is true of a row; an error is false."""
    try:
        return truth_of(evaluator(row))
    except ExpressionError:
        return False


@dataclass(frozen=True, slots=True)
class _Level:
    """Where in an expression compilation is: the places of variables, and how deep it is."""

    places: Mapping[Variable, int]
    depth: int = 0

    def compile(self, term: Term) -> Evaluator:
        term = deref(term)
        if self.depth > MAX_DEPTH:
            raise LogicLimitError("nesting of an expression", MAX_DEPTH)
        if isinstance(term, Variable):
            return _read_place(self.places[term], self.depth) if term in self.places else _unbound
        if not isinstance(term, tuple) or not term:
            return _constant(term)
        name, *args = term
        row, inner = FUNCTIONS.get(name), _Level(self.places, self.depth + 1)
        if row is None or not row.takes(len(args)):
            return _unknown
        if row.compute is None:
            return _FORMS[name](name, args, inner)
        if name in _JOINED and len(args) == 2:
            return _compile_row(term, inner)
        return _apply(row.compute, [inner.compile(arg) for arg in args])


def _compile_row(term: Term, inner: _Level) -> Evaluator:
    """Compile operators in a row, from the left."""
    following: list[tuple[Callable[..., Known], Evaluator]] = []
    while isinstance(term, tuple) and len(term) == 3 and term[0] in _JOINED:
        compute = FUNCTIONS[term[0]].compute
        assert compute is not None
        following.append((compute, inner.compile(term[2])))
        term = deref(term[1])
    first = inner.compile(term)
    if len(following) == 1:
        ((compute, second),) = following
        return lambda row: compute(first(row), second(row))
    following.reverse()

    def run(row: Row) -> Known:
        value = first(row)
        for compute, part in following:
            value = compute(value, part(row))
        return value

    return run


def _apply(compute: Callable[..., Known], parts: list[Evaluator]) -> Evaluator:
    if len(parts) == 1:
        (only,) = parts
        return lambda row: compute(only(row))
    if len(parts) == 2:
        first, second = parts
        return lambda row: compute(first(row), second(row))

    def run(row: Row) -> Known:
        values = []
        for part in parts:
            values.append(part(row))  # a comprehension would take a second frame
        return compute(*values)

    return run


def _constant(term: Term) -> Evaluator:
    try:
        known = read_value(term)
    except ExpressionError:
        return _unbound
    return lambda _row: known


def _unbound(_row: Row) -> Known:
    raise ExpressionError("unbound, or no RDF term")


def _unknown(_row: Row) -> Known:
    raise ExpressionError("no function of that name and number of arguments")


def _read_place(place: int, depth: int) -> Evaluator:
    def run(row: Row) -> Known:
        value = row[place]
        if value.__class__ is Struct:
            return _Level(_NO_PLACES, depth).compile(from_value(value))(())
        return read_value(value)

    return run


# forms


def _logic(name: str, args: list[Term], inner: _Level) -> Evaluator:
    """Compile `&&` or `||`: the value that decides, wherever it stands, else an error if there is one."""
    decides = name == "||"
    parts = [inner.compile(each) for each in _operands(name, args)]

    def run(row: Row) -> bool:
        failed = False
        for part in parts:
            try:
                if truth_of(part(row)) is decides:
                    return decides
            except ExpressionError:
                failed = True
        if failed:
            raise ExpressionError("an operand has no truth value")
        return not decides

    return run


def _operands(name: str, args: list[Term]) -> list[Term]:
    """Return the operands of one operator in a row, from left to right."""
    found, todo = [], args[::-1]
    while todo:
        term = deref(todo.pop())
        if isinstance(term, tuple) and len(term) == 3 and term[0] == name:
            todo += (term[2], term[1])
        else:
            found.append(term)
    return found


def _if(_name: str, args: list[Term], inner: _Level) -> Evaluator:
    test, then, otherwise = map(inner.compile, args)
    return lambda row: then(row) if truth_of(test(row)) else otherwise(row)


def _coalesce(_name: str, args: list[Term], inner: _Level) -> Evaluator:
    parts = [inner.compile(each) for each in args]

    def run(row: Row) -> Known:
        for part in parts:
            try:
                return part(row)
            except ExpressionError:
                continue
        raise ExpressionError("no part of COALESCE has a value")

    return run


def _bound(_name: str, args: list[Term], inner: _Level) -> Evaluator:
    """Compile `bound`: a variable with a value, or what has taken a variable's place."""
    term = deref(args[0])
    if isinstance(term, Variable):
        place = inner.places.get(term)
        return (lambda _row: False) if place is None else lambda row: row[place] is not None and row[place] != UNBOUND
    known = term != UNBOUND
    return lambda _row: known


def _in(name: str, args: list[Term], inner: _Level) -> Evaluator:
    first, *parts = map(inner.compile, args)
    found = name == "in"

    def run(row: Row) -> bool:
        value, failed = first(row), False
        for part in parts:
            try:
                if equal(value, part(row)):
                    return found
            except ExpressionError:
                failed = True
        if failed:
            raise ExpressionError("not equal to any, and not comparable with all")
        return not found

    return run


_FORMS: Mapping[str, Callable[[str, list[Term], _Level], Evaluator]] = {
    "&&": _logic,
    "||": _logic,
    "if": _if,
    "coalesce": _coalesce,
    "bound": _bound,
    "in": _in,
    "not in": _in,
}
