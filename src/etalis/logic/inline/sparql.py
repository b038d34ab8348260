"""Expressions of SPARQL in generated code: comparison and arithmetic in line where all operands are plain numbers.

Whatever else comes is left to the evaluator (`logic/sparql`), called with the values of the expression's variables. Its
errors are values, so no text made here raises, and none needs the solver. Of three truth values a test looks at one:
`&&` is true where both sides are, false where one of them is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from etalis.data.values import Real, Struct, Value
from etalis.logic.errors import LogicLimitError
from etalis.logic.inline.scope import GoalScope, Operand, normal
from etalis.logic.inline.steps import DeclineError
from etalis.logic.rdf.exact_terms import UNBOUND
from etalis.logic.sparql.effective_boolean import truth_of
from etalis.logic.sparql.errors import ExpressionError
from etalis.logic.sparql.expressions import Evaluator, compile_expression
from etalis.logic.sparql.times import LONGEST_TIME, DurationLiteral, read_duration
from etalis.logic.sparql.values import IriNode, TaggedText, read_value, write_value
from etalis.logic.terms.unify import Term, Variable, deref, variables
from etalis.temporal.interval import MICROSECONDS

_COMPARE: Mapping[str, str] = {"<": "<", ">": ">", "<=": "<=", ">=": ">="}
_RING = frozenset(("+", "-", "*"))
_NUMBERS = frozenset((int, float, Real))
_LARGE = 1e30  # what is computed from a few numbers below is far from the limits of floats
_PLAIN = (-_LARGE, _LARGE)
_TIMES = (-LONGEST_TIME, LONGEST_TIME)
_MOST_OPERANDS = 8
_MOST_NODES = 60


class _NotPlainError(Exception):
    """A part that is no arithmetic on plain numbers."""


@dataclass(frozen=True, slots=True)
class _Number:
    """Arithmetic as text; `leaf` if it is a variable or a constant. What must hold of variables is noted elsewhere."""

    text: str
    leaf: bool


def compile_test(scope: GoalScope, term: Term) -> Operand:
    """Return whether an expression is true."""
    return Operand(_truth(scope, term, wanted=True) if _is_small(term) else _judged(scope, term, wanted=True))


def compile_value(scope: GoalScope, term: Term) -> Operand:
    """Return the value of an expression, None where it is an error."""
    judged = _call(scope, term, _value_of)
    try:
        arithmetic = _Arithmetic(scope)
        found = arithmetic.number(term) if _is_small(term) else None
    except _NotPlainError:
        found = None
    if found is None or found.leaf:
        return Operand(judged)
    text = f"{scope.shared.constant(normal)}({found.text})"
    return Operand(f"({text} if {arithmetic.condition()} else {judged})" if arithmetic.condition() else text)


def _is_small(term: Term) -> bool:
    """Tell whether an expression is short enough to be written out."""
    todo, nodes = [term], 0
    while todo and nodes <= _MOST_NODES:
        x = deref(todo.pop())
        nodes += 1
        if isinstance(x, tuple):
            todo.extend(x[1:])
    return nodes <= _MOST_NODES


def _truth(scope: GoalScope, term: Term, *, wanted: bool) -> str:
    """Return whether an expression has the truth value that is wanted."""
    match deref(term):
        case ("&&" | "||" as name, a, b):
            word = "and" if (name == "&&") is wanted else "or"
            return f"({_truth(scope, a, wanted=wanted)} {word} {_truth(scope, b, wanted=wanted)})"
        case ("!", a):
            return _truth(scope, a, wanted=not wanted)
        case ("bound", variable) if isinstance(deref(variable), Variable):
            return _bound(scope, deref(variable), wanted=wanted)
        case (name, a, b) if name in _COMPARE or name in ("=", "!="):
            return _compared(scope, (name, a, b), wanted=wanted)
        case _:
            return _judged(scope, term, wanted=wanted)


def _bound(scope: GoalScope, variable: Variable, *, wanted: bool) -> str:
    if variable not in scope.known:
        return str(not wanted)
    x = scope.known[variable].text
    null = scope.shared.constant(UNBOUND)
    return f"({x} is not None and {x} != {null})" if wanted else f"({x} is None or {x} == {null})"


def _compared(scope: GoalScope, term: tuple[Any, ...], *, wanted: bool) -> str:
    name, a, b = term
    same = _same_text(scope, a, b) if name == "=" and wanted else None
    if same is not None:
        return same
    arithmetic = _Arithmetic(scope)
    try:
        x, y = arithmetic.side(a, b), arithmetic.side(b, a)
    except _NotPlainError:
        return _judged(scope, term, wanted=wanted)
    if name in _COMPARE:
        text, sign = f"({x.text} {_COMPARE[name]} {y.text})", wanted
    else:
        inner, outer = (x, y) if y.leaf else (y, x)
        # A leaf may be an integral float of the class that is no integer's equal; what is computed is none of these.
        text = f"({outer.text} <= {inner.text} <= {outer.text})" if outer.leaf else f"({x.text} == {y.text})"
        sign = wanted is (name == "=")
    text, condition = text if sign else f"(not {text})", arithmetic.condition()
    return f"({text} if {condition} else {_judged(scope, term, wanted=wanted)})" if condition else text


def _same_text(scope: GoalScope, a: Term, b: Term) -> str | None:
    """Return the equality of a variable and an IRI or text, which nothing else is equal to; None if it is another."""
    x, y = map(deref, (a, b))
    if isinstance(y, Variable):
        x, y = y, x
    if not isinstance(x, Variable) or x not in scope.known or not isinstance(y, str):
        return None
    try:
        known = read_value(y)
    except ExpressionError:
        return None
    if not isinstance(known, str | IriNode | TaggedText) or write_value(known) != y:
        return None
    text, struct = scope.known[x].text, scope.shared.constant(Struct)
    odd = f"{text}.__class__ is {struct}"  # an expression, the same text in quotes, a duration that it reads as
    if not isinstance(known, IriNode):
        odd = f"({odd} or ({text}.__class__ is str and {text}[:1] == '\"'))"
    return f"({text} == {scope.shared.constant(y)} or ({odd} and {_judged(scope, ('=', x, y), wanted=True)}))"


class _Arithmetic:
    """Writes arithmetic, and notes what must hold for it to be that of numbers, and to raise nothing."""

    def __init__(self, scope: GoalScope) -> None:
        self.scope = scope
        self.conditions: dict[str, None] = {}
        self.operands = 0

    def condition(self) -> str:
        return " and ".join(self.conditions)

    def side(self, term: Term, other: Term) -> _Number:
        """Return one side of a comparison; beside the length of an interval, a constant is a length as well."""
        if _is_duration(term):
            text = self._microseconds(*deref(term)[1:])
            return _Number(text if _length(other).__class__ is int else f"({text} / {MICROSECONDS})", False)
        if _is_duration(other):
            return _Number(self.scope.shared.constant(_length(term)), True)
        return self.number(term)

    def _microseconds(self, start: Term, end: Term) -> str:
        """Return the microseconds between two ends."""
        if not all(isinstance(deref(each), Variable) for each in (start, end)):
            raise _NotPlainError
        begin, until = (f"round({self._operand(each, _TIMES)} * {MICROSECONDS})" for each in (start, end))
        return f"({until} - {begin})"

    def number(self, term: Term) -> _Number:
        """Return the number that an expression comes to."""
        self.operands += 1
        if self.operands > _MOST_OPERANDS:
            raise _NotPlainError
        match deref(term):
            case Variable() as variable:
                return self._variable(variable)
            case int() | float() as value if -_LARGE < value < _LARGE:
                return _Number(self.scope.shared.constant(value), True)
            case ("pos", one):
                return self.number(one)
            case ("neg", one):
                return _Number(f"(-{self._operand(one)})", False)
            case (name, one, two) if name in _RING:
                return _Number(f"({self._operand(one)} {name} {self._operand(two)})", False)
            case ("/", one, two):
                dividend = self._operand(one)
                return _Number(f"({dividend} / {self._divisor(two)})", False)
            case _:
                raise _NotPlainError

    def _variable(self, variable: Variable) -> _Number:
        known = self.scope.known.get(variable)
        if known is None or known.kind in ("string", "list"):
            raise _NotPlainError
        if not (known.sure and known.kind in ("int", "float", "number")):
            self.conditions[f"{known.text}.__class__ in {self.scope.shared.constant(_NUMBERS)}"] = None
        return _Number(known.text, True)

    def _operand(self, term: Term, bounds: tuple[float, float] = _PLAIN) -> str:
        """Return an operand of a calculation, which must be far from the limits of floats."""
        found = self.number(term)
        if isinstance(deref(term), Variable):
            low, high = map(self.scope.shared.constant, bounds)
            self.conditions[f"{low} < {found.text} < {high}"] = None
        return found.text

    def _divisor(self, term: Term) -> str:
        found, given = self._operand(term), deref(term)
        if isinstance(given, Variable):
            self.conditions[found] = None
        elif not isinstance(given, int | float) or not given:
            raise _NotPlainError
        return found


def _is_duration(term: Term) -> bool:
    term = deref(term)
    return isinstance(term, tuple) and len(term) == 3 and term[0] == "getduration"


def _length(term: Term) -> int | float:
    """Return a constant that a length is compared with: in microseconds, if it is a float in seconds."""
    given = deref(term)
    if isinstance(given, int | float):
        return given if isinstance(given, float) else given * MICROSECONDS
    if not isinstance(given, str):
        raise _NotPlainError
    try:
        known = read_value(given)
    except ExpressionError:
        raise _NotPlainError from None
    read = read_duration(known) if isinstance(known, str) else known
    if not isinstance(read, DurationLiteral) or read.months or MICROSECONDS % read.seconds.denominator:
        raise _NotPlainError
    return int(read.seconds * MICROSECONDS)


# what the evaluator decides


def _judged(scope: GoalScope, term: Term, *, wanted: bool) -> str:
    return _call(scope, term, _is_true if wanted else _is_false)


def _call(scope: GoalScope, term: Term, make: Callable[[Evaluator], Callable[..., Any]]) -> str:
    """Return the call of a function of the values that an expression reads."""
    read = [v for v in dict.fromkeys(variables(term)) if v in scope.known]
    try:
        function = make(compile_expression(term, {variable: place for place, variable in enumerate(read)}))
    except LogicLimitError:
        raise DeclineError from None  # which the solver reports
    return f"{scope.shared.constant(function)}({', '.join(scope.known[v].text for v in read)})"


def _is_true(evaluate: Evaluator) -> Callable[..., bool]:
    def judge(*row: Value) -> bool:
        try:
            return truth_of(evaluate(row))
        except ExpressionError:
            return False

    return judge


def _is_false(evaluate: Evaluator) -> Callable[..., bool]:
    def judge(*row: Value) -> bool:
        try:
            return not truth_of(evaluate(row))
        except ExpressionError:
            return False

    return judge


def _value_of(evaluate: Evaluator) -> Callable[..., Value | None]:
    def value(*row: Value) -> Value | None:
        try:
            return write_value(evaluate(row))
        except ExpressionError:
            return None

    return value
