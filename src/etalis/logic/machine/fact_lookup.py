"""Goals, and the short cut for the most frequent kind: one look-up in a relation of facts.

A goal such as `price(Item, P)` with Item given needs no machine: its index key is put together from inputs and
constants and the outputs are read off the row. The short cut steps aside once the predicate is no relation any more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from etalis.data.values import Value
from etalis.logic.machine.control import FORMS
from etalis.logic.machine.database import Database
from etalis.logic.machine.predicate import Predicate
from etalis.logic.terms.unify import Term, Variable, deref

Prepared = Callable[..., tuple[Value | None, ...] | None]


@dataclass(frozen=True, slots=True)
class Goal:
    """A goal and its variables by name."""

    term: Term
    variables: Mapping[str, Variable]

    def variable(self, name: str) -> Variable:
        """Return a variable by name, a new one if the goal does not have it."""
        return self.variables.get(name) or Variable()


def find_fact(
    database: Database, goal: Goal, inputs: Sequence[str], outputs: Sequence[str], general: Prepared
) -> Prepared | None:
    """Return a prepared look-up of the first matching fact, None if the goal is not of that kind."""
    term = deref(goal.term)
    if not (isinstance(term, tuple) and term):
        return None
    name, args = term[0], [deref(arg) for arg in term[1:]]
    key = (name, len(args))
    if key in FORMS or (key in database.compiler.codes and not database.overrides(*key)):
        return None
    given = {goal.variable(name): i for i, name in enumerate(inputs)}
    free = [arg for arg in args if isinstance(arg, Variable) and arg not in given]
    if len(set(free)) < len(free) or any(isinstance(arg, tuple) and arg for arg in args):
        return None
    places = [_place(goal.variable(name), given, args) for name in outputs]
    positions = tuple(i for i, arg in enumerate(args) if arg not in free) if free else tuple(range(len(args)))
    bound = [args[i] for i in positions]
    make_key = _key_maker([(given[a], None) if isinstance(a, Variable) else (None, a) for a in bound])
    return _look_up(database.predicate(*key), positions, make_key, places, general)


def _place(variable: Variable, given: Mapping[Variable, int], args: Sequence[Term]) -> tuple[str, int]:
    """Return where an output comes from: an input, an argument of the fact, or nowhere."""
    if variable in given:
        return "input", given[variable]
    return ("row", args.index(variable)) if variable in args else ("none", 0)


def _key_maker(sources: Sequence[tuple[int | None, Term]]) -> Callable[[tuple[Value, ...]], Any]:
    """Return a function from the inputs to the index key: bare for one position, else a tuple."""
    if len(sources) == 1:
        ((number, constant),) = sources
        return (lambda _: constant) if number is None else (lambda values: values[number])
    return lambda values: tuple(c if n is None else values[n] for n, c in sources)


def _look_up(
    predicate: Predicate,
    positions: tuple[int, ...],
    make_key: Callable[[tuple[Value, ...]], Any],
    places: Sequence[tuple[str, int]],
    general: Prepared,
) -> Prepared:
    rows_only = tuple(i for kind, i in places) if all(kind == "row" for kind, _ in places) else None

    def first(*values: Value) -> tuple[Value | None, ...] | None:
        relation = predicate.relation
        if relation is None or not predicate.defined or None in values:
            return general(*values)
        for number in relation.find(positions, make_key(values)):
            if number not in relation.died:
                row = relation.rows[number]
                if rows_only is not None:
                    return tuple([row[i] for i in rows_only])
                return tuple([_take(kind, i, values, row) for kind, i in places])
        return None

    return first


def _take(kind: str, i: int, values: tuple[Value, ...], row: tuple[Term, ...]) -> Value | None:
    if kind == "none":
        return None
    return values[i] if kind == "input" else row[i]
