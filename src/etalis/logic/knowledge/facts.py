"""Single facts that come and go: knowledge as a set.

A fact that is known already is not added again, and one that goes is gone, however often it was said. Clauses of a
predicate that are more than that fact (rules, facts with variables) stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from etalis.data.values import Value
from etalis.logic.machine.database import Database
from etalis.logic.machine.fact_relation import ATOMIC, RowHandle
from etalis.logic.machine.predicate import Predicate
from etalis.logic.terms.unify import Term, from_value

Row = tuple[Term, ...]


def change_facts(database: Database, changes: Iterable[tuple[str, bool]], values: Iterable[Value]) -> None:
    """Make the facts of some predicates with the arguments given known (True) or unknown (False), in turn."""
    row = tuple(map(from_value, values))
    for name, known in changes:
        (learn if known else forget)(database, name, row)


def changing(database: Database, changes: Sequence[tuple[str, bool]]) -> Callable[[tuple[Value, ...]], None]:
    """Return the function that changes facts so; it finds those over atoms and numbers by one look-up."""
    kept: dict[tuple[str, int], tuple[Predicate, tuple[int, ...]]] = {}

    def change(values: tuple[Value, ...]) -> None:
        is_plain = True
        for value in values:
            is_plain = is_plain and value.__class__ in ATOMIC
        row = values if is_plain else tuple(map(from_value, values))
        for name, known in changes:
            found = kept.get((name, len(row)))
            if found is None:
                found = kept[name, len(row)] = database.writable(name, len(row)), tuple(range(len(row)))
            predicate, positions = found
            relation = predicate.relation
            if relation is None or not is_plain or not row:
                (learn if known else forget)(database, name, row)
                continue
            numbers = relation.find(positions, row if len(row) > 1 else row[0])
            if relation.died:
                numbers = [number for number in numbers if number not in relation.died]
            if not known:
                if len(numbers) == 1:
                    predicate.erase_row(relation, numbers[0])
                    continue
                for number in numbers:
                    predicate.erase(RowHandle(relation, number))
            elif not numbers:
                predicate.begin_row(relation)
                predicate.add_row(relation, row)

    return change


def learn(database: Database, name: str, row: Row) -> None:
    """Add a ground fact, unless it is known."""
    predicate = database.writable(name, len(row))
    if next(_handles(predicate, row), None) is None:
        database.add_rows(name, len(row), (row,))


def forget(database: Database, name: str, row: Row) -> None:
    """Take a ground fact away, if it is known."""
    predicate = database.writable(name, len(row))
    for handle in list(_handles(predicate, row)):
        predicate.erase(handle)


def _handles(predicate: Predicate, row: Row) -> Iterator[Any]:
    return (handle for handle, args, body in predicate.entries(row) if body == "true" and args == row)
