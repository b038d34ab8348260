"""What the original's own parser took in FILTER and DO: comparisons, assignments and goals, joined by `&&`.

`?bonus is (?p2 - ?p1) * 100` binds, or compares what has a value; `rdf_store(?company, hasCEO, ?ceo)` and any other
name that is no function of SPARQL is a goal over the knowledge, `!` or `\\+` before it makes it `not(..)`; `write(..)`,
`write_space(n)`, `write_nl(n)` and the like are left out. A group that is an aggregate over a triple is `Folded`.
"""

from __future__ import annotations

from etalis.epsparql import syntax as s
from etalis.epsparql.read.expressions import LEVELS, PROLOG, read_expression
from etalis.epsparql.read.functions import AGGREGATES, FUNCTIONS, SAME
from etalis.epsparql.read.query_text import QueryText
from etalis.epsparql.read.terms import begins_constant, missing, read_plain, read_var
from etalis.epsparql.read.words import REFUSED_FUNCTIONS
from etalis.epsparql.scope import variables_of
from etalis.language.syntax import Compound, Const, ListTerm, Term, Var
from etalis.temporal.aggregate import FOLDS

_INSIDE = (LEVELS.keys() | PROLOG.keys()) - {"&&"}
_PRINTED = frozenset(("write", "write_space", "write_nl", "writeln", "writeq", "print", "format", "tab", "nl"))


def read_conjunction(r: QueryText) -> list[s.Element]:
    """Read what stands behind FILTER or DO."""
    return _read_bracketed(r) if r.sees("(") else _read_part(r)


def _read_bracketed(r: QueryText) -> list[s.Element]:
    """Read parts joined by `&&` in brackets; where `||` joins them, they are one expression."""
    opening = r.at
    r.deepen()
    r.take()
    if _find_end(r, opening)[1]:
        found = _as_tests(read_expression(r))
    else:
        found = _read_part(r)
        while r.accept("&&"):
            found += _read_part(r)
    r.close(")", opening)
    r.depth -= 1
    return found


def _find_end(r: QueryText, opening: int) -> tuple[int, bool]:
    """Return the place behind a bracket and what it holds, and whether `||` stands right inside."""
    depth, alternatives = 0, False
    for place in range(opening, len(r.tokens)):
        token = r.tokens[place]
        if token.kind == "sign" and token.text in ("(", ")"):
            depth += 1 if token.text == "(" else -1
            if depth == 0:
                return place + 1, alternatives
        alternatives = alternatives or (depth == 1 and token.text == "||")
    return len(r.tokens) - 1, alternatives


def _read_part(r: QueryText) -> list[s.Element]:
    """Read an assignment, a goal, a condition, or several in brackets of their own."""
    first, token = r.at, r.token
    after = r.following
    if r.sees("(") and not _operator_at(r, _find_end(r, first)[0]):
        return _read_bracketed(r)
    if token.kind == "var" and after.kind == "word" and after.text.lower() == "is":
        variable = read_var(r, "an assignment")
        r.take()
        expression = read_expression(r, LEVELS["+"])
        return [s.BindAs(expression, variable, r.span_from(first))]
    if _begins_goal(r, first) and not (after.text == "(" and _operator_at(r, _find_end(r, first + 1)[0])):
        goal = _read_goal(r)
        if goal.name in _PRINTED:
            hint = "a query prints nothing; its results are events"
            r.report("W130", f"{goal.name} is left out", r.span_of(token), hint)
            return []
        return [s.AskGoal(goal, r.span_from(first))]
    if (r.sees("!") or r.sees("\\+")) and _begins_goal(r, first + 1):
        r.take()
        goal = _read_goal(r)
        return [s.AskGoal(Compound("not", (goal,), r.span_from(first)), r.span_from(first))]
    return _as_tests(read_expression(r, LEVELS["="]))


def _begins_goal(r: QueryText, place: int) -> bool:
    """Tell whether a predicate stands at a place: no function, and no constant that an operator follows."""
    token, after = r.tokens[place], r.tokens[min(place + 1, len(r.tokens) - 1)]
    name = token.text.lower()
    if token.kind != "word" or name in ("true", "false", "exists"):
        return False
    return not _is_function(name) if after.text == "(" else after.text in (")", "&&")


def as_comparisons(found: list[s.Element], before: list[s.Element]) -> list[s.Element]:
    """Return elements in which an assignment to what has a value already is a comparison, as in Prolog."""
    if not any(isinstance(element, s.BindAs) for element in found):
        return found
    kept: list[s.Element] = []
    known = variables_of(before)
    for element in found:
        if isinstance(element, s.BindAs) and element.variable.name in known:
            test = Compound("=", (element.variable, element.expression), element.span)
            kept.append(s.FilterBy(test, element.span))
        else:
            kept.append(element)
            known |= variables_of((element,))
    return kept


def _operator_at(r: QueryText, place: int) -> bool:
    """Tell whether an operator of expressions, but for `&&`, stands at a place."""
    token = r.tokens[place]
    return (token.kind == "sign" and token.text in _INSIDE) or token.text.upper() in ("IN", "NOT")


def _as_tests(expression: Term) -> list[s.Element]:
    """Return the conjuncts of a condition, each as a filter."""
    found: list[s.Element] = []
    while isinstance(expression, Compound) and expression.name == "&&":
        expression, last = expression.args
        found[:0] = _as_tests(last)
    return [s.FilterBy(expression, expression.span), *found]


def _is_function(name: str) -> bool:
    return name in FUNCTIONS or name in SAME or name in REFUSED_FUNCTIONS or name in AGGREGATES


def _read_goal(r: QueryText) -> Compound:
    """Read a predicate with its arguments, if it has any."""
    first = r.at
    r.deepen()
    name = r.take().text
    if not r.sees("("):
        r.depth -= 1
        return Compound(name, (), r.span_from(first))
    opening = r.at
    r.take()
    arguments: list[Term] = []
    while not r.sees(")"):
        if arguments:
            r.expect(",", f"the goal {name}", "put commas between the arguments of a goal, and `)` behind them")
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
        raise missing(r, "an argument")
    return read_plain(r)


def _read_list(r: QueryText) -> ListTerm:
    opening = r.at
    r.deepen()
    r.take()
    items: list[Term] = []
    while not r.sees("]"):
        if items:
            r.expect(",", "a list", "put commas between the parts of a list, and `]` behind them")
        items.append(_read_argument(r))
    r.close("]", opening)
    r.depth -= 1
    return ListTerm(tuple(items), None, r.span_from(opening))


def read_aggregate_group(r: QueryText) -> s.Folded:
    """Read `aggregate(sum(?price), rdf(?company, hasStockPrice, ?price), ?sum)`."""
    first = r.at
    goal = _read_goal(r)
    match goal.args:
        case (folded, Compound(name="rdf", args=(subject, predicate, value)), Var() | Const() as result):
            triple = s.Triple(subject, predicate, value, goal.args[1].span)
            kind, values = _folded(folded)
            is_flat = all(isinstance(term, Var | Const) for term in (subject, predicate, value, *values))
            if kind in FOLDS and len(values) == (kind != "count") and is_flat:
                return s.Folded(kind, values[0] if values else None, triple, result, r.span_from(first))
    hint = f"write aggregate(sum(?price), rdf(?company, hasStockPrice, ?price), ?sum), or {', '.join(sorted(FOLDS))}"
    raise r.refusal("E108", "this is no aggregate over a triple", r.span_from(first), hint)


def _folded(term: Term) -> tuple[str, tuple[Term, ...]]:
    """Return the kind of an aggregate in small letters, and what it takes; `count` takes nothing."""
    name, values = (term.name, term.args) if isinstance(term, Compound) else (_text(term), ())
    kind = name.lower()
    return kind, () if kind == "count" else values


def _text(term: Term) -> str:
    return term.value if isinstance(term, Const) and isinstance(term.value, str) else ""
