"""Rows that generated code takes from relations and adds to them, one at a time.

Law: each function does what `retract/1`, `retractall/1` or `assertz/1` does, once and for good; where that is not known
beforehand (no relation, several rows of which one goes), it does nothing and says so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from etalis.logic.machine.fact_relation import FactRelation, Row, RowHandle
from etalis.logic.machine.predicate import Predicate

SEVERAL: Final = object()  # rows, or no relation: nothing has been done
Values = tuple[Any, ...]  # of the arguments that are known
_FEW = 8


class RowSearch:
    """Finds the live rows of a predicate that have some values at some positions, by whichever index gives few."""

    __slots__ = ("_get", "_place", "_rows", "positions", "predicate", "relation")

    def __init__(self, predicate: Predicate, positions: tuple[int, ...]) -> None:
        self.predicate = predicate
        self.positions = positions
        self.relation: FactRelation | None = None
        self._rows: list[Row] | None = None
        self._place = -1  # of the only value that is looked up, among those given
        self._get: Callable[[Any], Any] = {}.get

    def find(self, values: Values) -> Any:
        """Return the number of the only row, or those of all rows, of the relation that the predicate has now."""
        relation = self.predicate.relation
        assert relation is not None
        if relation is not self.relation or relation.rows is not self._rows:
            self._look(relation, relation.narrow(self.positions))
        if not self.positions:
            return [number for number in range(len(relation.rows)) if number not in relation.died]
        place = self._place
        if place >= 0:
            found = self._get(values[place])
            if found is None:
                return []
            if found.__class__ is int:
                row = relation.rows[found]
                is_it = row == values if len(values) == len(row) else self._has(row, values)
                return found if is_it and found not in relation.died else []
            if len(found) <= _FEW:
                rows, died = relation.rows, relation.died
                return [number for number in found if number not in died and self._has(rows[number], values)]
            self._look(relation, self.positions)
        found = self._get(values if len(values) > 1 else values[0])
        if found is None:
            return []
        if found.__class__ is int:
            return found if found not in relation.died else []
        return [number for number in found if number not in relation.died]

    def _look(self, relation: FactRelation, positions: tuple[int, ...]) -> None:
        """Look rows up by some of the positions from now on."""
        self.relation, self._rows = relation, relation.rows
        self._place = self.positions.index(positions[0]) if len(positions) == 1 < len(self.positions) else -1
        if positions:
            self._get = relation.index(positions).get

    def _has(self, row: Row, values: Values) -> bool:
        if len(values) == len(row):
            return row == values
        return all(row[position] == value for position, value in zip(self.positions, values, strict=True))


def taking(predicate: Predicate, positions: tuple[int, ...]) -> Callable[[Values], Any]:
    """Return the function that takes the only row with some values away and returns it, None if there is none."""
    search = RowSearch(predicate, positions)
    find, erase = search.find, predicate.erase_row

    def take(values: Values) -> Any:
        relation = predicate.relation
        if relation is None:
            return SEVERAL
        found = find(values)
        if found.__class__ is not int:
            if not found:
                return None
            if len(found) > 1:
                return SEVERAL
            (found,) = found
        row = relation.rows[found]
        erase(relation, found)
        return row

    return take


def reading(predicate: Predicate, positions: tuple[int, ...]) -> Callable[[Values], Any]:
    """Return the function that gives the only row with some values, None if there is none."""
    search = RowSearch(predicate, positions)
    find = search.find

    def read(values: Values) -> Any:
        relation = predicate.relation
        if relation is None:
            return SEVERAL
        found = find(values)
        if found.__class__ is not int:
            if not found:
                return None if predicate.defined else SEVERAL
            if len(found) > 1:
                return SEVERAL
            (found,) = found
        return relation.rows[found]

    return read


def clearing(predicate: Predicate, positions: tuple[int, ...]) -> Callable[[Values], bool]:
    """Return the function that takes all rows with some values away; False if it is not known how."""
    search = RowSearch(predicate, positions)
    find = search.find

    def clear(values: Values) -> bool:
        relation = predicate.relation
        if relation is None:
            return False
        predicate.defined = True
        found = find(values)
        if found.__class__ is int:
            predicate.erase_row(relation, found)
            return True
        for number in found:
            predicate.erase(RowHandle(relation, number))
        return True

    return clear


def adding(predicate: Predicate) -> Callable[[Row], bool]:
    """Return the function that adds a row behind all others; False if it is not known how."""

    def add(row: Row) -> bool:
        relation = predicate.relation
        if relation is None:
            return False
        predicate.begin_row(relation)
        predicate.add_row(relation, row)
        return True

    return add
