"""Expressions of a query as goals: `sparql(E)` tests, `sparql(E, V)` binds.

A variable that the group does not have is `null`, unbound: a goal must not see what is bound elsewhere. `getDURATION()`
and its kin get the two ends of their group.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import ceil, floor

from etalis.epsparql import syntax as q
from etalis.epsparql.translate.naming import VariableNames
from etalis.epsparql.translate.solutions import Names, variables_of
from etalis.epsparql.windows import TIMES, compounds
from etalis.language.syntax import Compound, Const, Term, Var
from etalis.language.traversal import rewrite_term
from etalis.logic.sparql.errors import ExpressionError
from etalis.logic.sparql.numbers import number
from etalis.logic.sparql.times import DurationLiteral, as_seconds, length_of, read_duration
from etalis.logic.sparql.values import read_value
from etalis.temporal.interval import MICROSECONDS

_NULL = Const("null")


@dataclass(frozen=True, slots=True)
class GroupEnds:
    """The variables that hold start and end of a group, in seconds."""

    start: str
    end: str

    @property
    def goals(self) -> tuple[Term, Term]:
        """The goals that bind them behind `check`."""
        return Compound("t1", (Var(self.start),)), Compound("t2", (Var(self.end),))


def asks_time(expression: Term) -> bool:
    """Tell whether an expression looks at the interval of its group."""
    return any(term.name in TIMES for term in compounds(expression))


def conjuncts(expression: Term) -> Iterator[Term]:
    """Yield the expressions that `&&` joins: all are true where the whole is."""
    waiting = [expression]
    while waiting:
        term = waiting.pop()
        if isinstance(term, Compound) and term.name == "&&":
            waiting.extend(reversed(term.args))
        else:
            yield term


def to_rule(expression: Term, names: VariableNames, visible: Names, ends: GroupEnds | None) -> Term:
    """Return an expression with the names of the rule; what is not visible is unbound, and time without ends."""
    times = (_NULL, _NULL) if ends is None else (Var(ends.start), Var(ends.end))

    def change(_: Term, new: Term) -> Term:
        match new:
            case Var(name=name):
                known = names.of(name)
                return Var(known, new.span) if known in visible else _NULL
            case Compound(name=name) if name in TIMES:
                return replace(new, args=times)
            case _:
                return new

    return rewrite_term(expression, change)


def mentioned(expression: Term, names: VariableNames) -> Names:
    """Return the variables of an expression, as the rule names them."""
    return frozenset(map(names.of, variables_of(expression)))


def looked_at(group: q.GroupPattern | q.Exists) -> Names:
    """Return all variables that stand in a group, in filters and in groups inside of it too, as the query has them."""
    found: set[str] = set()
    waiting: list[object] = [group]
    while waiting:
        node = waiting.pop()
        match node:
            case Var() | Compound():
                found |= variables_of(node)
            case tuple():
                waiting.extend(node)
            case _ if hasattr(node, "__dataclass_fields__"):
                waiting.extend(getattr(node, name) for name in node.__dataclass_fields__ if name != "span")
    return frozenset(found)


def window(expression: Term) -> int | None:
    """Return the longest that a match may be, in microseconds, if that is all that an expression says.

    >>> [window(Compound(sign, (Compound("getduration", ()), Const("PT2S")))) for sign in ("<", "<=")]
    [1999999, 2000000]
    """
    match expression:
        case Compound(name=("<" | "<=") as sign, args=(Compound(name="getduration"), Const(value=limit))):
            pass
        case Compound(name=(">" | ">=") as sign, args=(Const(value=limit), Compound(name="getduration"))):
            pass
        case _:
            return None
    try:
        known = read_value(limit)
        if isinstance(known, str):
            known = read_duration(known) or known
        seconds = length_of(known) if isinstance(known, DurationLiteral) else as_seconds(number(known))
    except (ExpressionError, ValueError, OverflowError):
        return None
    longest = ceil(seconds * MICROSECONDS) - 1 if len(sign) == 1 else floor(seconds * MICROSECONDS)
    return longest if longest >= 0 else None
