"""Goals as steps over columns: look-ups in relations of facts, and calculations between them.

A look-up takes rows to their solutions, each row as often as it has some, in the order of the facts; a calculation
leaves out rows. So what is left of a row are the solutions of the goal, in the order in which the solver finds them.
Law: steps neither raise nor go on for ever; what could is not made of steps, or refused while they run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from etalis.columnar.data.arrays import InexactError, truth, values
from etalis.columnar.data.columns import FLAT, Column, Integers, from_values, key_rows
from etalis.columnar.kernels.buffers import KeyIndex
from etalis.data.values import real
from etalis.language.check.goals import conjuncts, indicator
from etalis.language.lower import to_logic
from etalis.language.syntax import Compound, Const, Term, Var
from etalis.language.traversal import names, variables
from etalis.logic.inline import python_source as n
from etalis.logic.inline.inline import inline
from etalis.logic.machine.database import Database
from etalis.logic.machine.fact_relation import FactRelation
from etalis.plan import algebra as p
from etalis.plan.lattice import type_of_values
from etalis.temporal.interval import MICROSECONDS, to_seconds

_NUMBERED = FLAT | {"number"}
_EXACT = 1 << 53  # floats hold every integer up to here
_MOST = 1_000  # facts that one row may meet
_SPREAD = 4  # times as many rows as there were

Columns: TypeAlias = dict[str, Column]


@dataclass(frozen=True, slots=True)
class ColumnLookup:
    """Facts that have given values in some places; `makes` are the variables of others, by place, with their types."""

    relation: FactRelation
    places: tuple[int, ...]
    given: tuple[str | Const, ...]
    makes: Mapping[int, tuple[str, str]]

    def find(self, columns: Mapping[str, Column], count: int) -> tuple[Integers | None, Columns]:
        """Return the row of every solution, None if each has one, and what the solutions bind."""
        asked = [columns[each] for each in self.given if isinstance(each, str)]
        known = KeyIndex(key_rows([asked], [count])[0])
        facts = [self._facts(key) for key in self._keys(asked, known.first)]
        counts = np.array([len(each) for each in facts], np.int64)
        if len(counts) and (counts.max() > _MOST or counts[known.group].sum() > _SPREAD * count + _MOST):
            raise InexactError
        rows = self.relation.rows
        met = [rows[number] for each in facts for number in each]
        is_one = bool((counts == 1).all())
        kept = None if is_one else np.repeat(np.arange(count), counts[known.group])
        place = known.group if kept is None else places_of(counts, known.group)
        return kept, {
            name: from_values([fact[i] for fact in met], kind).take(place) for i, (name, kind) in self.makes.items()
        }

    def _keys(self, asked: Sequence[Column], first: Integers) -> list[Any]:
        """Return the keys of the distinct rows: a bare value for one place."""
        values = iter([column.take(first).values() for column in asked])
        parts = [next(values) if isinstance(each, str) else [each.value] * len(first) for each in self.given]
        return list(zip(*parts, strict=True)) if len(parts) > 1 else parts[0] if parts else [()] * len(first)

    def _facts(self, key: Any) -> Sequence[int]:
        found, died = self.relation.find(self.places, key), self.relation.died
        return found if not died else [number for number in found if number not in died]


def places_of(counts: Integers, group: Integers) -> Integers:
    """Return where the solutions of every row are among those of all groups, which have so many each."""
    mine = counts[group]
    ahead = np.cumsum(mine) - np.cumsum(counts)[group]
    return np.arange(mine.sum()) - np.repeat(ahead, mine)


@dataclass(frozen=True, slots=True)
class Comparison:
    """A test over values that are there."""

    node: n.Node

    def find(self, columns: Mapping[str, Column], count: int) -> tuple[Integers | None, Columns]:
        """Return the rows that pass, None if all do; nothing is bound."""
        passes = truth(self.node, columns, count)
        return None if passes.all() else np.flatnonzero(passes), {}


@dataclass(frozen=True, slots=True)
class Calculation:
    """A variable that gets its value from others."""

    node: n.Bind

    def find(self, columns: Mapping[str, Column], count: int) -> tuple[Integers | None, Columns]:
        """Return all rows, and what is bound."""
        return None, {self.node.name: values(self.node.value, columns, count)}


@dataclass(frozen=True, slots=True)
class Moment:
    """The start (`t1`) or end (`t2`) of matches in seconds."""

    name: str
    which: str

    def find(self, columns: Mapping[str, Column], count: int) -> tuple[Integers | None, Columns]:
        """Return all rows, and what is bound."""
        times = columns[self.which].data
        if count and max(-int(times.min()), int(times.max())) > _EXACT:
            raise InexactError
        return None, {self.name: Column("number", times / MICROSECONDS)}

    def values(self, columns: Mapping[str, Column]) -> Column:
        """Return what the variable is for others: whole seconds are integers."""
        seconds = map(to_seconds, columns[self.which].data.tolist())
        return from_values([real(x) if isinstance(x, float) else x for x in seconds], "term")


Step: TypeAlias = ColumnLookup | Comparison | Calculation | Moment


def follow(steps: Sequence[Step], columns: Columns, count: int, needed: Sequence[str]) -> tuple[Integers, Columns]:
    """Return the row of every solution, in order, and the columns of all variables; `t1` and `t2` are times."""
    rows = np.arange(count)
    for step in steps:
        kept, bound = step.find(columns, len(rows))
        if kept is not None:
            rows = rows[kept]
            columns = {name: column.take(kept) for name, column in columns.items()}
        columns = {**columns, **bound}
    times = {step.name: step.values(columns) for step in steps if isinstance(step, Moment) and step.name in needed}
    return rows, {**columns, **times}


def find_steps(test: p.Condition, types: Mapping[str, str], database: Database) -> tuple[Step, ...] | None:
    """Return a condition as steps; None if it is none."""
    known = {name: types[name] for name in test.inputs}
    steps: list[Step] = []
    for goal in conjuncts(test.goal):
        asked = _moment(goal, known, database) if test.kind == "check" else None
        step = asked or _look_up(goal, known, database) or _calculation(goal, known)
        if step is None:
            return None
        last = steps[-1] if steps else None
        if isinstance(step, Comparison) and isinstance(last, Comparison):
            steps[-1] = Comparison(n.Both(last.node, step.node))
        else:
            steps.append(step)
    moments = {step.name for step in steps if isinstance(step, Moment)}
    return tuple(steps) if all(known.get(v) == types[v] or v in moments for v in test.outputs) else None


def _moment(goal: Term, known: dict[str, str], database: Database) -> Moment | None:
    """Return the start or end of a match for a variable that has no value, and note it."""
    match goal:
        case Compound(name=("t1" | "t2") as which, args=(Var(name=name),)) if name not in known:
            if not database.overrides(which, 1):
                known[name] = "number"
                return Moment(name, which)
        case _:
            pass
    return None


def _calculation(goal: Term, known: dict[str, str]) -> Comparison | Calculation | None:
    """Return a comparison or a calculation, and note what it binds."""
    read = [known[name] for name in names(variables(goal)) if name in known]
    found = inline(to_logic(goal), known) if _NUMBERED.issuperset(read) else None
    if found is None or not _NUMBERED.issuperset(kind for _, kind in found.bindings):
        return None
    known.update(found.bindings)
    if isinstance(found.node, n.Bind):
        return Calculation(found.node)
    return None if found.bindings else Comparison(found.node)


def _look_up(goal: Term, known: dict[str, str], database: Database) -> ColumnLookup | None:
    """Return a look-up of facts, and note what it binds; every variable that is new occurs in it once."""
    key = indicator(goal)
    if not isinstance(goal, Compound) or key is None or not database.overrides(*key):
        return None
    predicate = database.predicate(*key)
    names = [arg.name for arg in goal.args if isinstance(arg, Var) and arg.name not in known]
    if predicate.relation is None or predicate.tabled or len(set(names)) < len(names):
        return None
    given: dict[int, str | Const] = {}
    makes: dict[int, tuple[str, str]] = {}
    for place, arg in enumerate(goal.args):
        match arg:
            case Var(name=name) if name in known and known[name] != "number":  # whose type must be known here
                given[place] = name
            case Var(name=name) if name not in known:
                makes[place] = (name, type_of_values(row[place] for row, _ in predicate.live()) or "string")
            case Const(value=str() | int() | float()):
                given[place] = arg
            case _:
                return None
    known.update(makes.values())
    return ColumnLookup(predicate.relation, tuple(given), tuple(given.values()), makes)
