"""What the original's own parser took in FILTER and DO: comparisons, assignments and goals, joined by `&&`.

`?bonus is (?p2 - ?p1) * 100` binds; `rdf_store(?company, hasCEO, ?ceo)` and any other name that is no function of
SPARQL is a goal over the knowledge; `write(..)`, `write_space(n)` and `write_nl(n)` are left out. A group that is an
aggregate over a triple is `Folded`.
"""

from __future__ import annotations

from etalis.epsparql import syntax as s
from etalis.epsparql.read.expressions import LEVELS, read_expression, read_operators
from etalis.epsparql.read.functions import AGGREGATES, FUNCTIONS, SAME
from etalis.epsparql.read.query_text import QueryText, describe
from etalis.epsparql.read.terms import begins_constant, read_constant, read_var
from etalis.epsparql.read.words import REFUSED_FUNCTIONS
from etalis.language.syntax import Compound, Const, ListTerm, Term
from etalis.temporal.aggregate import FOLDS

_PRINTED = frozenset(("write", "write_space", "write_nl"))


def read_conjunction(r: QueryText) -> list[s.Element]:
    """Read what stands behind FILTER or DO."""
    opening = r.at
    bracketed = r.accept("(")
    found = _read_part(r)
    while r.accept("&&"):
        found += _read_part(r)
    if bracketed:
        r.close(")", opening)
    return found


def _read_part(r: QueryText) -> list[s.Element]:
    first, token = r.at, r.token
    after = r.following
    if token.kind == "var" and after.kind == "word" and after.text.lower() == "is":
        variable = read_var(r, "an assignment")
        r.take()
        expression = read_operators(r, LEVELS["+"])
        return [s.BindAs(expression, variable, r.span_from(first))]
    if token.kind == "word" and after.text == "(" and not _is_function(token.text.lower()):
        goal = _read_goal(r)
        if goal.name in _PRINTED:
            hint = "a query prints nothing; its results are events"
            r.report("W130", f"{goal.name} is left out", r.span_of(token), hint)
            return []
        return [s.AskGoal(goal, r.span_from(first))]
    expression = read_operators(r, LEVELS["="])
    if r.sees("||"):
        r.at = first
        expression = read_expression(r)
    return [s.FilterBy(expression, r.span_from(first))]


def _is_function(name: str) -> bool:
    return name in FUNCTIONS or name in SAME or name in REFUSED_FUNCTIONS or name in AGGREGATES


def _read_goal(r: QueryText) -> Compound:
    """Read a predicate with its arguments."""
    first = r.at
    r.deepen()
    name = r.take().text
    opening = r.at
    r.expect("(", f"the goal {name}")
    arguments: list[Term] = []
    while not r.sees(")"):
        if arguments:
            r.expect(",", f"the goal {name}")
        arguments.append(_read_argument(r))
    r.close(")", opening)
    r.depth -= 1
    return Compound(name, tuple(arguments), r.span_from(first))


def _read_argument(r: QueryText) -> Term:
    if r.token.kind == "var":
        return read_var(r, "a goal")
    if r.token.kind == "word" and r.following.text == "(":
        return _read_goal(r)
    if r.sees("["):
        return _read_list(r)
    if not begins_constant(r):
        raise r.refusal("E108", f"an argument is missing before {describe(r.token)}", r.token)
    return read_constant(r)


def _read_list(r: QueryText) -> ListTerm:
    opening = r.at
    r.deepen()
    r.take()
    items: list[Term] = []
    while not r.sees("]"):
        if items:
            r.expect(",", "a list")
        items.append(_read_argument(r))
    r.close("]", opening)
    r.depth -= 1
    return ListTerm(tuple(items), None, r.span_from(opening))


def read_aggregate_group(r: QueryText) -> s.Folded:
    """Read `aggregate(sum(?price), rdf(?company, hasStockPrice, ?price), ?sum)`."""
    first = r.at
    goal = _read_goal(r)
    match goal.args:
        case (Compound(name=kind, args=values), Compound(name="rdf", args=(subject, predicate, value)), result) if (
            kind in FOLDS and len(values) < 2
        ):
            triple = s.Triple(subject, predicate, value, goal.args[1].span)
            return s.Folded(kind, values[0] if values else None, triple, result, r.span_from(first))
        case (Const(value=str(kind)), Compound(name="rdf", args=(subject, predicate, value)), result) if kind in FOLDS:
            triple = s.Triple(subject, predicate, value, goal.args[1].span)
            return s.Folded(kind, None, triple, result, r.span_from(first))
    hint = "write aggregate(sum(?price), rdf(?company, hasStockPrice, ?price), ?sum)"
    raise r.refusal("E108", "this is no aggregate over a triple", r.span_from(first), hint)
