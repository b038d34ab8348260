"""The computed keys of a join over columns (`KeyPair`): a column per side, equal wherever the conditions can hold.

Where a condition might raise an error, or a key cannot be told exactly, there is no column: the batch is joined without
that key, and the conditions judge more pairs. A look-up of facts becomes the number of the set of values that facts
link with each other, directly or not: of a function that is its result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from etalis.columnar.data.columns import Column, key_rows
from etalis.columnar.data.instances import Instances
from etalis.columnar.kernels.buffers import KeyIndex
from etalis.language import syntax as s
from etalis.language.check.goals import conjuncts
from etalis.language.traversal import term_variables
from etalis.logic.machine.database import Database
from etalis.logic.machine.fact_relation import FactRelation
from etalis.plan import algebra as p
from etalis.plan.rewrite.join_keys import LARGEST
from etalis.runtime.codegen.keys.fact_search import proves
from etalis.runtime.codegen.keys.number_keys import is_plain_number, number_key

_EXACT = float(1 << 53)  # floats hold every integer up to here
_RING = {"+": np.add, "-": np.subtract, "*": np.multiply}


class KeyColumn(NamedTuple):
    """One side of a key, and whether what is equal is so by the condition itself, not only as far as keys tell."""

    column: Column
    is_exact: bool


class ComputedKeys:
    """The computed keys of one join."""

    def __init__(self, node: p.Join, database: Database) -> None:
        self.pairs = tuple(pair for pair in node.keys_on if pair.kind != "bound")
        self.exports = node.left.exports, node.right.exports
        self.links = [LinkedValues(pair, database) if pair.kind == "fact" else None for pair in self.pairs]

    def columns(self, sides: Sequence[Sequence[Instances]]) -> tuple[list[list[Column]], list[p.KeyPair]]:
        """Return the columns of all keys that can be told, for the instances of the left and of the right side.

        With them come the pairs that hold exactly where their columns are equal.
        """
        parts = [(place, rows) for place, side in enumerate(sides) for rows in side]
        found: list[list[Column]] = [[] for _ in parts]
        shown: list[p.KeyPair] = []
        for pair, links in zip(self.pairs, self.links, strict=True):
            keys = [self._key(pair, place, rows, links) for place, rows in parts]
            columns = [key.column for key in keys if key is not None]
            if len(columns) < len(parts):
                continue
            for several, column in zip(found, columns, strict=True):
                several.append(column)
            if all(key is not None and key.is_exact for key in keys):
                shown.append(pair)
        return found, shown

    def _key(self, pair: p.KeyPair, place: int, rows: Instances, links: LinkedValues | None) -> KeyColumn | None:
        term = (pair.left, pair.right)[place]
        if not all(_are_numbers(rows.column(v)) for v in pair.numbers if v in self.exports[place]):
            return None
        if isinstance(term, s.Var) and pair.kind in ("value", "fact"):
            column = rows.column(term.name)
            return KeyColumn(column, True) if links is None else links.numbers(column, place)
        computed = _computed(term, rows)
        if computed is not None and (computed[1] or pair.kind == "number"):
            return KeyColumn(Column("float", np.broadcast_to(computed[0], len(rows)) + 0.0), True)
        inputs = term_variables(term)
        make = number_key(term, inputs, integers=pair.kind == "integer")
        keys = list(map(make, *(rows.column(v).values() for v in inputs)))
        return None if None in keys else KeyColumn(Column("float", np.array(keys, np.float64)), False)


def follows_from(test: p.Condition, shown: Sequence[p.KeyPair]) -> bool:
    """Tell whether a condition holds wherever some pairs do."""
    return test.kind == "where" and not test.outputs and all(_is_among(goal, shown) for goal in conjuncts(test.goal))


def _is_among(goal: s.Term, shown: Sequence[p.KeyPair]) -> bool:
    kinds = {"=": "value", "==": "value", "=:=": "number"}
    return isinstance(goal, s.Compound) and any(
        goal == pair.fact or (kinds.get(goal.name) == pair.kind and goal.args in _both_ways(pair)) for pair in shown
    )


def _both_ways(pair: p.KeyPair) -> tuple[tuple[s.Term, s.Term], tuple[s.Term, s.Term]]:
    return (pair.left, pair.right), (pair.right, pair.left)


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
        self.tells_all = proves(pair)
        self.is_function = False  # whether each left value is in one fact at most
        self.known: tuple[Any, tuple[dict[Any, int], dict[Any, int]]] = (None, ({}, {}))

    def numbers(self, column: Column, place: int) -> KeyColumn | None:
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
        return KeyColumn(Column("int", np.array(found, np.int64)[index.group]), self.tells_all and self.is_function)

    def _sets(self, relation: FactRelation) -> tuple[dict[Any, int], dict[Any, int]]:
        """Return the numbers of the values of the left and of the right side."""
        a, b = self.places
        rows, died = relation.rows, relation.died
        live = rows if not died else [row for number, row in enumerate(rows) if number not in died]
        if self.fixed:
            live = [row for row in live if all(row[i] == value for i, value in self.fixed)]
        left = {row[a]: row[b] for row in live}
        self.is_function = len(left) == len(live)
        if self.is_function:
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
