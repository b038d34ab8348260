"""The computed keys of a join over columns (`KeyPair`): a column per side, equal wherever the conditions can hold.

Where a condition might raise an error, or a key cannot be told exactly, there is no column: the batch is joined without
that key, and the conditions judge more pairs. A look-up of facts becomes the number of the set of values that facts
link with each other, directly or not: of a function that is its result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from etalis.columnar.data.columns import Column, key_rows
from etalis.columnar.data.instances import Instances
from etalis.columnar.kernels.buffers import KeyIndex
from etalis.language import syntax as s
from etalis.logic.machine.database import Database
from etalis.logic.machine.fact_relation import FactRelation
from etalis.plan import algebra as p
from etalis.plan.binarize import term_variables
from etalis.plan.rewrite.join_keys import LARGEST
from etalis.runtime.codegen.keys.number_keys import is_plain_number, number_key

_EXACT = float(1 << 53)  # floats hold every integer up to here
_RING = {"+": np.add, "-": np.subtract, "*": np.multiply}


class ComputedKeys:
    """The computed keys of one join."""

    def __init__(self, node: p.Join, database: Database) -> None:
        self.pairs = tuple(pair for pair in node.keys_on if pair.kind != "bound")
        self.exports = node.left.exports, node.right.exports
        self.links = [LinkedValues(pair, database) if pair.kind == "fact" else None for pair in self.pairs]

    def columns(self, sides: Sequence[Sequence[Instances]]) -> list[list[Column]]:
        """Return, for the instances of the left and of the right side, the columns of all keys that can be told."""
        parts = [(place, rows) for place, side in enumerate(sides) for rows in side]
        found: list[list[Column]] = [[] for _ in parts]
        for pair, links in zip(self.pairs, self.links, strict=True):
            columns = [self._key(pair, place, rows, links) for place, rows in parts]
            if all(column is not None for column in columns):
                for several, column in zip(found, columns, strict=True):
                    assert column is not None
                    several.append(column)
        return found

    def _key(self, pair: p.KeyPair, place: int, rows: Instances, links: LinkedValues | None) -> Column | None:
        term = (pair.left, pair.right)[place]
        if not all(_are_numbers(rows.column(v)) for v in pair.numbers if v in self.exports[place]):
            return None
        if isinstance(term, s.Var) and pair.kind in ("value", "fact"):
            column = rows.column(term.name)
            return column if links is None else links.numbers(column, place)
        computed = _computed(term, rows)
        if computed is not None and (computed[1] or pair.kind == "number"):
            return Column("float", np.broadcast_to(computed[0], len(rows)) + 0.0)
        inputs = term_variables(term)
        make = number_key(term, inputs, integers=pair.kind == "integer")
        keys = list(map(make, *(rows.column(v).values() for v in inputs)))
        return None if None in keys else Column("float", np.array(keys, np.float64))


def _are_numbers(column: Column) -> bool:
    """Tell whether all values are plain numbers."""
    match column.type:
        case "int":
            return column.absent is None or not column.absent.any()
        case "float":
            return (column.absent is None or not column.absent.any()) and bool((np.abs(column.data) < LARGEST).all())
        case _:
            return all(map(is_plain_number, column.values()))


def _computed(term: s.Term, rows: Instances) -> tuple[Any, bool] | None:
    """Return the numbers of an expression as floats, exact or rounded as its values say, and whether they are whole."""
    match term:
        case s.Var(name=name):
            column = rows.column(name)
            if column.type not in ("int", "float") or not _are_numbers(column):
                return None
            return _exact(column.data.astype(np.float64), column.type == "int")
        case s.Const(value=int() | float() as value):
            return _exact(np.float64(value), isinstance(value, int))
        case s.Compound(name=name, args=(a, b)) if name in _RING:
            x, y = _computed(a, rows), _computed(b, rows)
            if x is None or y is None:
                return None
            return _exact(_RING[name](x[0], y[0]), x[1] and y[1])
    return None


def _exact(numbers: Any, whole: bool) -> tuple[Any, bool] | None:
    largest = np.abs(numbers).max(initial=0.0)
    return (numbers, whole) if largest < (_EXACT if whole else LARGEST) else None


class LinkedValues:
    """Which values facts link: each value of either side has the number of its set, those of no fact none in common."""

    def __init__(self, pair: p.KeyPair, database: Database) -> None:
        assert pair.fact is not None
        fact = pair.fact
        self.predicate = database.predicate(fact.name, len(fact.args))
        self.places = fact.args.index(pair.left), fact.args.index(pair.right)
        self.fixed = [(i, arg.value) for i, arg in enumerate(fact.args) if isinstance(arg, s.Const)]
        self.known: tuple[Any, tuple[dict[Any, int], dict[Any, int]]] = (None, ({}, {}))

    def numbers(self, column: Column, place: int) -> Column | None:
        """Return the number of each value's set; None where there are no plain facts to tell it."""
        relation = self.predicate.relation
        if relation is None or not self.predicate.defined:
            return None
        state = relation, len(relation.rows), len(relation.died)
        if self.known[0] != state:
            self.known = state, self._sets(relation)
        index = KeyIndex(key_rows([[column]], [len(column)])[0])
        sets = self.known[1][place]
        found = [sets.get(value, -1 - place) for value in column.take(index.first).values()]
        return Column("int", np.array(found, np.int64)[index.group])

    def _sets(self, relation: FactRelation) -> tuple[dict[Any, int], dict[Any, int]]:
        """Return the numbers of the values of the left and of the right side."""
        a, b = self.places
        rows, died = relation.rows, relation.died
        live = rows if not died else [row for number, row in enumerate(rows) if number not in died]
        if self.fixed:
            live = [row for row in live if all(row[i] == value for i, value in self.fixed)]
        left = {row[a]: row[b] for row in live}
        if len(left) == len(live):  # a function of the left value
            numbers = {y: number for number, y in enumerate(dict.fromkeys(left.values()))}
            return {x: numbers[y] for x, y in left.items()}, numbers
        return _connected([(row[a], row[b]) for row in live])


def _connected(links: Sequence[tuple[Any, Any]]) -> tuple[dict[Any, int], dict[Any, int]]:
    """Return the numbers of the connected sets of two kinds of values."""
    leader: list[int] = []
    numbers: tuple[dict[Any, int], dict[Any, int]] = ({}, {})

    def find(number: int) -> int:
        while leader[number] != number:
            leader[number] = leader[leader[number]]
            number = leader[number]
        return number

    for link in links:
        ends = []
        for place, value in enumerate(link):
            if value not in numbers[place]:
                numbers[place][value] = len(leader)
                leader.append(len(leader))
            ends.append(find(numbers[place][value]))
        leader[ends[0]] = ends[1]
    left, right = ({value: find(number) for value, number in side.items()} for side in numbers)
    return left, right
