"""Elements of a group that are no patterns of triples: VALUES, and the aggregates and goals of the original's dialect.

And what must be known of the shape of a pattern: whether it is a sequence, and whether all its joins are inner ones.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

from etalis.epsparql import syntax as q
from etalis.epsparql.translate.naming import VariableNames
from etalis.epsparql.translate.solutions import NONE, Solutions, Timed, Timeless, rename_term, union, variables_of
from etalis.epsparql.translate.triples import AskedFacts
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
    Var,
    Within,
)
from etalis.language.traversal import postorder

ValueRow: TypeAlias = tuple[Const | None, ...]


def read_values(values: q.Values, names: VariableNames, facts: AskedFacts) -> Solutions:
    """Return the rows of VALUES as facts; UNDEF agrees with anything."""
    variables = tuple(names.of(v.name) for v in values.variables)
    if not values.rows:
        return Solutions(timeless=Timeless((Const("fail"),), frozenset(variables)))
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


def read_aggregate(folded: q.Folded, names: VariableNames) -> Solutions:
    """Return a group that is an aggregate over a triple."""
    triple = folded.triple
    event = EventPattern("rdf", tuple(map(names.term, (triple.subject, triple.predicate, triple.object))))
    value = None if folded.value is None else names.term(folded.value)
    result = names.term(folded.result)
    aggregated = variables_of(*(() if value is None else (value,)))
    binds = (variables_of(*event.args) - aggregated) | variables_of(result)
    return Solutions(Timed(Aggregate(folded.kind, value, event, result), binds))


def read_goal(goal: Compound, names: VariableNames) -> Solutions:
    """Return the solutions of a goal over the knowledge; `rdf_store` has the triples of the background."""
    renamed = rename_term(goal, {name: names.of(name) for name in variables_of(goal)})
    if isinstance(renamed, Compound) and (renamed.name, len(renamed.args)) == ("rdf_store", 3):
        renamed = replace(renamed, name="rdf")
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
