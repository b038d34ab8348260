"""Elements of a group that are no patterns of triples: VALUES, and the aggregates and goals of the original's dialect.

And what must be known of the shape of a pattern: whether it is a sequence, and whether all its joins are inner ones.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

from etalis.epsparql import syntax as q
from etalis.epsparql.translate.naming import VariableNames
from etalis.epsparql.translate.refusals import refuse
from etalis.epsparql.translate.solutions import NONE, Solutions, Timed, Timeless, union, variables_of
from etalis.epsparql.translate.triples import NULL, STORE, AskedFacts, PatternScope
from etalis.language.syntax import (
    Aggregate,
    Binary,
    Compound,
    Condition,
    Const,
    EventPattern,
    Negation,
    Or,
    Pattern,
    Term,
    Var,
    Within,
)
from etalis.language.traversal import postorder, rewrite_term, subterms

ValueRow: TypeAlias = tuple[Const | None, ...]


def read_values(values: q.Values, names: VariableNames, facts: AskedFacts) -> Solutions:
    """Return the rows of VALUES as facts; UNDEF agrees with anything."""
    variables = tuple(names.of(v.name) for v in values.variables)
    if not values.rows:
        bound = (Compound("=", (Var(variable), NULL)) for variable in variables)  # for who asks whether they are
        return Solutions(timeless=Timeless((*bound, Const("fail")), frozenset(variables)))
    rounds: list[dict[ValueRow, None]] = []  # facts are a set, and these are a bag
    for row in values.rows:
        free = next((found for found in rounds if row not in found), None)
        if free is None:
            rounds.append(free := {})
        free[row] = None
    return union(_value_facts(variables, tuple(rows), facts) for rows in rounds)


def _value_facts(variables: tuple[str, ...], rows: tuple[ValueRow, ...], facts: AskedFacts) -> Solutions:
    name = facts.add_values(rows)
    columns = zip(variables, zip(*rows, strict=True), strict=True)
    sure = frozenset(v for v, cells in columns if all(cell is not None for cell in cells))
    goal = Compound(name, tuple(map(Var, variables))) if variables else Const(name)
    return Solutions(timeless=Timeless((goal,), sure, frozenset(variables) - sure))


def read_aggregate(folded: q.Folded, names: VariableNames, scope: PatternScope, has_graphs: bool) -> Solutions:
    """Return a group that is an aggregate over a triple, in whatever graph and stream."""
    if scope.is_named or scope.streams:
        hint = "leave GRAPH, STREAM and FROM STREAM out, or CONSTRUCT the triples that are aggregated"
        raise refuse("an aggregate reads the triples of all streams", folded.span, hint)
    triple = folded.triple
    parts = tuple(map(names.term, (triple.subject, triple.predicate, triple.object)))
    more = (Var(names.fresh("g")), Var(names.fresh("n"))) if has_graphs else ()
    value = None if folded.value is None else names.term(folded.value)
    result = names.term(folded.result)
    aggregated = variables_of(*(() if value is None else (value,)))
    binds = (variables_of(*parts) - aggregated) | variables_of(result)
    return Solutions(Timed(Aggregate(folded.kind, value, EventPattern("rdf", (*parts, *more)), result), binds))


def read_goal(goal: Compound, names: VariableNames, facts: AskedFacts) -> Solutions:
    """Return the solutions of a goal over the knowledge; `rdf_store` has the triples of the background too."""

    def change(_: Term, new: Term) -> Term:
        match new:
            case Var(name=name):
                return replace(new, name=names.of(name))
            case Compound(name=name, args=()):
                return Const(name, new.span)
            case _:
                return new

    if any(isinstance(part, Compound) and (part.name, len(part.args)) == (STORE, 3) for part in subterms(goal)):
        facts.add_store()
    renamed = rewrite_term(goal, change)
    return Solutions(timeless=Timeless((renamed,), NONE, variables_of(renamed)))


def as_one_part(timed: Timed) -> Timed:
    """Return a pattern that counts as one part, also where it is a sequence: a negation then looks inside all of it."""
    pattern = timed.pattern
    while isinstance(pattern, Condition | Within | Negation):
        pattern = pattern.pattern
    is_sequence = isinstance(pattern, Binary) and pattern.operator == "seq" and pattern.alone is None
    return replace(timed, pattern=Or(timed.pattern, timed.pattern)) if is_sequence else timed


def is_inner(pattern: Pattern) -> bool:
    """Tell whether all joins of a pattern are inner ones, so that a bound on the whole is one on every part."""
    return not any(
        isinstance(node, Aggregate) or (isinstance(node, Binary) and node.alone is not None)
        for node in postorder(pattern)
    )
