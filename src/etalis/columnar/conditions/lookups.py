"""Look-ups of facts over columns: a join with the facts that have given values in some places.

The facts are arranged by their key once, as long as they stand; programs that are run again find them so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from etalis.columnar.conditions.arithmetic import InexactError
from etalis.columnar.conditions.steps import MOST, Found, SpreadError, places_of
from etalis.columnar.data.columns import Column, Integers, at, from_values, key_rows
from etalis.columnar.data.instances import ColumnBlock, Instances
from etalis.columnar.data.texts import PlainTexts, TextIndex
from etalis.columnar.kernels.buffers import KeyIndex
from etalis.data.values import Value
from etalis.logic.machine.fact_relation import FactRelation
from etalis.logic.machine.predicate import Predicate
from etalis.plan.lattice import type_of_values

KnownCodes: TypeAlias = tuple[Any, Integers]  # the texts of a column, and what they stand for among facts
_MANY = 1_000  # facts that one row may meet


@dataclass(frozen=True, slots=True)
class ColumnLookup:
    """Facts that have the values of variables in some places, and constants in others; `makes`: variables by place.

    `codes` keeps what the texts of a column stand for among the facts, as long as columns have the same texts.
    """

    predicate: Predicate
    given: Mapping[int, str]
    constants: tuple[tuple[int, Any], ...]
    makes: Mapping[int, str]
    codes: dict[int, KnownCodes] = field(default_factory=dict, compare=False)

    def find(self, rows: Instances) -> Found:
        """Return the facts that rows meet: none or one each where keys are unique, else in their order."""
        facts = self.facts()
        group = facts.group_of([rows.column(name) for name in self.given.values()], len(rows), self.codes)
        meets = group >= 0
        if facts.is_unique or not self.makes:
            kept = None if meets.all() else np.flatnonzero(meets)
            mine = group if kept is None else at(group, kept)
            return Found(kept, self._bound(facts, mine if facts.is_unique else at(facts.first, mine)))
        counts = np.where(meets, facts.number[group], 0)
        many = counts > _MANY
        meets &= ~many
        counts[many] = 0
        if counts.sum() > max(MOST, len(rows)) and len(rows) > 1:
            raise SpreadError
        found = facts.order[places_of(facts.number, group[meets])]
        return Found(np.repeat(np.arange(len(rows)), counts), self._bound(facts, found), many if many.any() else None)

    def facts(self) -> FactIndex:
        """Return the facts as they are now, arranged by their key."""
        relation = self.predicate.relation
        if relation is None:
            raise InexactError
        what = ("by key", tuple(self.given), tuple((i, x, type(x)) for i, x in self.constants))
        found: FactIndex = relation.remembered(what, lambda: self._arranged(relation))
        return found

    def _arranged(self, relation: FactRelation) -> FactIndex:
        rows = [row for number, row in enumerate(relation.rows) if number not in relation.died]
        if self.constants:
            rows = [row for row in rows if all(row[i] == x for i, x in self.constants)]
        return FactIndex(rows, tuple(self.given))

    def _bound(self, facts: FactIndex, numbers: Integers) -> ColumnBlock | None:
        columns = {name: facts.column(place) for place, name in self.makes.items()}
        return ColumnBlock(columns, numbers) if columns else None


class FactIndex:
    """Facts as columns, arranged by the values at some places."""

    def __init__(self, rows: Sequence[tuple[Any, ...]], places: tuple[int, ...]) -> None:
        self.rows = rows
        self._columns: dict[int, Column] = {}
        self._texts: dict[int, TextIndex] = {}
        self.key = [self.column(place) for place in places]
        self.groups = KeyIndex(key_rows([self.key], [len(rows)])[0])
        self.first = self.groups.first if rows else np.zeros(1, np.int64)
        self.is_unique = len(self.groups.first) == len(rows)
        if not self.is_unique:  # facts of one key go together, in their order
            self.order = self.groups.by_group()[0]
            self.number = np.bincount(self.groups.group)

    def column(self, place: int) -> Column:
        """Return the values at a place."""
        if place not in self._columns:
            values = [row[place] for row in self.rows]
            self._columns[place] = from_values(values, type_of_values(values) or "string")
        return self._columns[place]

    def texts(self, place: int) -> TextIndex:
        """Return the texts of one of the columns of the key, by their codes."""
        if place not in self._texts:
            self._texts[place] = TextIndex(self.key[place].texts)
        return self._texts[place]

    @cached_property
    def of_code(self) -> Integers:
        """The group of each code of the only column of the key, and of one more."""
        found = np.full(len(self.key[0].texts) + 1, -1)
        found[self.key[0].data] = self.groups.group
        return found

    @cached_property
    def of_values(self) -> Mapping[tuple[Value, ...], int]:
        """The group of each key."""
        keys = zip(*(column.values() for column in self.key), strict=True)
        return dict(zip(keys, self.groups.group.tolist(), strict=True))

    def group_of(self, asked: Sequence[Column], count: int, known: dict[int, KnownCodes]) -> Integers:
        """Return the group of facts that each row meets, -1 for none; `known` keeps codes from one call to the next."""
        pairs = list(zip(asked, self.key, strict=True))
        if not self.rows or not all(_are_alike(*pair) for pair in pairs):
            return self.find(asked, count)
        numbers = [
            self._coded(place, each, known) if each.type == "string" else each for place, each in enumerate(asked)
        ]
        if len(pairs) == 1 and asked[0].type == "string":
            return at(self.of_code, numbers[0].data)
        return self.groups.find(key_rows([numbers], [count])[0])

    def _coded(self, place: int, asked: Column, known: dict[int, KnownCodes]) -> Column:
        """Return the codes that facts have for texts; what they have not, has one more."""
        plain = asked.plain if isinstance(asked, PlainTexts) else None
        if plain is not None:
            return Column("int", self.texts(place).find(plain))
        texts, codes = known.get(place, (None, None))
        if texts is not asked.texts:
            codes = self.texts(place).find(asked.texts)
            known[place] = asked.texts, codes
        return Column("int", at(codes, asked.data))

    def find(self, asked: Sequence[Column], count: int) -> Integers:
        """Return the group of facts that each row meets, -1 for none, value by value."""
        known = KeyIndex(key_rows([asked], [count])[0])
        values = zip(*(column.take(known.first).values() for column in asked), strict=True)
        found = (
            [self.of_values.get(key, -1) for key in values] if asked else [0 if self.rows else -1] * len(known.first)
        )
        return np.array(found, np.int64)[known.group]


def _are_alike(asked: Column, own: Column) -> bool:
    """Tell whether numbers of two columns can be made equal where their values are."""
    return asked.type == own.type in ("int", "float", "string") and asked.absent is None and own.absent is None
