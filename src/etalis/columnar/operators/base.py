"""The plan's nodes over batches: each turns what its inputs brought in a batch into instances of its own.

What waits between batches is kept as columns of its own. Law: the instances of a node over a stream do not depend on
where the batches are cut, since kernels take instances by turn and nothing looks ahead.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np

from etalis.columnar.clock import Clock, moved
from etalis.columnar.conditions.judge import Judge
from etalis.columnar.data.columns import Column, Flags, Integers, at_either, from_values, key_rows, nulls
from etalis.columnar.data.instances import ColumnBlock, Instances, Picked, nothing, stack, stack_blocks
from etalis.columnar.kernels.buffers import BlockerIndex, KeyIndex, merge
from etalis.columnar.operators.constant_places import ConstantPlaces, equal_to, equal_values
from etalis.columnar.operators.terms import is_compound, match_terms
from etalis.columnar.row_numbers import is_row, padded
from etalis.data.values import Value
from etalis.language.syntax import Const, Var
from etalis.plan import algebra as p
from etalis.plan.retention import window_of
from etalis.runtime.operators.blockers import LooseBlockers

Kind: TypeAlias = tuple[str, int]
# of events that were made, by the identity of the arrays they were made with, which are kept beside
Turns: TypeAlias = dict[tuple[int, int, int], tuple[tuple[Integers, ...], Integers | None]]
_ALWAYS = -(1 << 62)


@dataclass(frozen=True, slots=True)
class EventRows:
    """The events of one kind in a batch: their turns, end points and attributes, and the rows they are made of."""

    turn: Integers
    start: Integers
    end: Integers
    columns: Sequence[Column]
    numbers: Sequence[Integers] = ()
    constants: dict[int, ConstantPlaces] = field(default_factory=dict, compare=False)

    def cells(self, place: int, rows: Integers | None) -> Column:
        """Return the values of an attribute, at some rows or at all of them."""
        if rows is None:
            return self.columns[place]
        if isinstance(self.columns, Picked):
            return self.columns.whole[place].take(self.columns.rows[rows]).filled()
        return self.columns[place].take(rows)

    def constant(self, place: int, value: Value, rows: Integers | None) -> Integers:
        """Return the rows, of some or of all, at which an attribute has a value."""
        if rows is not None:
            return rows[equal_to(self.cells(place, rows), value)]
        if place not in self.constants:
            self.constants[place] = ConstantPlaces(self.columns[place])
        return self.constants[place].find(value)


@dataclass(frozen=True, slots=True)
class Batch:
    """What has arrived: events by kind, those that rules make being added, the latest end so far, and the order."""

    events: dict[Kind, EventRows]
    now: int
    clock: Clock
    turns: Turns = field(default_factory=dict)

    def moved(self, clock: Clock, slots: Integers, now: int) -> Batch:
        """Return the batch in another order, for which slots have moved, and in which time comes to a moment."""
        events = {kind: replace(rows, turn=moved(rows.turn, slots)) for kind, rows in self.events.items()}
        return Batch(events, max(self.now, now), clock)


class ColumnOperator(ABC):
    """A node with what it keeps between batches."""

    @abstractmethod
    def process(self, batch: Batch) -> Instances:
        """Return the instances that a batch completes."""


def _among(rows: Integers | None, some: Integers) -> Integers:
    """Return some of several rows; None: of all."""
    return some if rows is None else rows[some]


class SourceOperator(ColumnOperator):
    """Events of one kind whose attributes match."""

    def __init__(self, node: p.Source, types: Mapping[str, str]) -> None:
        self.kind = (node.name, len(node.args))
        self.args = node.args
        self.types = types
        self.terms = {place: arg for place, arg in enumerate(node.args) if is_compound(arg)}
        self.rows = [name for name in node.exports if is_row(name)]

    def process(self, batch: Batch) -> Instances:
        """Return the events of this batch that match."""
        rows = batch.events.get(self.kind)
        if rows is None:
            return nothing(self.types)
        named: dict[str, int] = {}
        kept: Integers | None = None
        for place, arg in enumerate(self.args):
            match arg:
                case Var(name=name) if name not in named:
                    named[name] = place
                case Var(name=name):
                    several = rows.cells(place, kept), rows.cells(named[name], kept)
                    kept = _among(kept, np.flatnonzero(equal_values(*several)))
                case Const(value=value):
                    kept = rows.constant(place, value, kept)
                case _:
                    pass  # terms come last, when all other variables have a value
        columns, at = rows.columns, None
        if isinstance(rows.columns, Picked):
            columns, at = rows.columns.whole, rows.columns.rows
        block = ColumnBlock({name: columns[place] for name, place in named.items()}, at)
        found = Instances(rows.turn, rows.start, rows.end, (block, *self._numbers(rows)))
        if not self.terms:
            return found if kept is None else found.take(kept)
        rest = np.arange(len(found)) if kept is None else kept
        found = found.take(rest)
        pairs = [(term, rows.cells(place, rest)) for place, term in self.terms.items()]
        alike, bound = match_terms(pairs, {name: found.column(name) for name in named}, self.types)
        return found.take(alike).with_columns(bound)

    def _numbers(self, rows: EventRows) -> tuple[ColumnBlock, ...]:
        """Return the rows that events are made of, if somebody asks for them."""
        numbers = padded(rows.numbers, len(self.rows), len(rows.turn))
        return (ColumnBlock({v: Column("int", n) for v, n in zip(self.rows, numbers, strict=True)}),) * bool(self.rows)


class TestSequence:
    """The tests of a node on its matches; absences keep their blockers between batches."""

    def __init__(self, tests: Iterable[Judge | AbsenceTest | AgreementTest]) -> None:
        self.tests = tuple(tests)

    def __bool__(self) -> bool:
        return bool(self.tests)

    def process(self, batch: Batch) -> None:
        """Let every absence see what may block."""
        for test in self.tests:
            if isinstance(test, AbsenceTest):
                test.process(batch)

    def passing(self, rows: Instances) -> tuple[Integers, Instances]:
        """Return which matches pass all tests, once per solution, and these with what the tests bind."""
        chosen, count = None, len(rows)
        for test in self.tests:
            if isinstance(test, Judge):
                kept, bound = test.solutions(rows)
            else:
                passes, bound = test.passing(rows)
                kept = None if passes.all() else np.flatnonzero(passes)
            if kept is not None:
                chosen, rows = kept if chosen is None else chosen[kept], rows.take(kept)
            if bound:
                rows = rows.with_columns(bound)
        return np.arange(count) if chosen is None else chosen, rows


class AbsenceTest:
    """No match of a negated pattern where its kind says, looked up by the variables it shares."""

    def __init__(
        self,
        test: p.Absent,
        operator: ColumnOperator,
        types: Mapping[str, str],
        keep: int | None,
        *,
        is_loose: bool = False,
    ) -> None:
        self.is_loose = is_loose  # whether a variable that it shares may be unbound
        self.test = test
        self.operator = operator
        self.keep = keep
        self.joined = list(test.joined)
        self.blockers = nothing({v: types[v] for v in self.joined})

    def process(self, batch: Batch) -> None:
        """Note what has occurred."""
        found = self.operator.process(batch)
        if len(found):
            self.blockers = stack([self.blockers, found.only(self.joined)], self.joined)

    def limit(self, batch: Batch, rows: Instances, limit: Integers) -> None:
        """Lower the limit of each left side to the end of what occurred first after it; nothing is noted."""
        found = self.operator.process(batch)
        if len(found) and len(rows):
            mine, asked = self.keys(found, rows)
            BlockerIndex(mine, found.start, found.end).lower(limit, asked, rows.end)

    def keys(self, *sides: Instances) -> list[Any]:
        """Return the shared values of sides, as rows of numbers that can be compared."""
        return key_rows([[side.column(v) for v in self.joined] for side in sides], list(map(len, sides)))

    def passing(self, rows: Instances) -> tuple[Flags, dict[str, Column]]:
        """Tell which matches nothing blocks."""
        if not len(self.blockers):
            return np.ones(len(rows), bool), {}
        low, high = self._bounds(rows)
        if self.is_loose:
            return self._loosely(rows, low.tolist(), high.tolist()), {}
        mine, asked = self.keys(self.blockers, rows)
        return ~BlockerIndex(mine, self.blockers.start, self.blockers.end).hit(asked, low, high), {}

    def _loosely(self, rows: Instances, low: list[int], high: list[int]) -> Flags:
        """Tell which matches nothing blocks, where what is unbound agrees with everything."""
        noted, given = ([side.column(v).values() for v in self.joined] for side in (self.blockers, rows))
        known = LooseBlockers(None)
        times = self.blockers.start.tolist(), self.blockers.end.tolist()
        known.items.extend(zip(zip(*noted, strict=True), *times, strict=True))
        questions = zip(zip(*given, strict=True), low, high, strict=True)
        return np.array([not known.hit(*question) for question in questions], bool)

    def _bounds(self, rows: Instances) -> tuple[Integers, Integers]:
        match self.test.kind, self.test.window:
            case "gap", _:
                return rows.column("$first").data, rows.column("$last").data
            case "inside", _:
                return rows.start, rows.end
            case _, None:
                return np.full(len(rows), _ALWAYS), rows.end
            case _, window:
                return rows.end - window - 1, rows.end

    def forget(self, now: int) -> None:
        """Drop what can block nothing any more."""
        if not len(self.blockers):
            return
        if self.keep is not None:
            kept = np.flatnonzero(self.blockers.end >= now - self.keep)
        elif self.test.kind == "before":
            kept = KeyIndex(self.keys(self.blockers)[0]).first
        else:
            return
        if len(kept) < len(self.blockers):
            self.blockers = self.blockers.take(kept).only(self.joined)


class AgreementTest:
    """Variables that both sides of a join have, one perhaps unbound: bound on both sides, they are equal."""

    def __init__(self, types: Mapping[str, str]) -> None:
        self.types = types

    def beside(self, pairs: Instances, right: Instances) -> Instances:
        """Return pairs with what their right sides have bound by other names."""
        return pairs.with_columns({f"${v}": right.column(v) for v in self.types})

    def passing(self, rows: Instances) -> tuple[Flags, dict[str, Column]]:
        """Tell which pairs agree, and what either side has bound."""
        passes = np.ones(len(rows), bool)
        pairs = {}
        for name in self.types:
            both = list(zip(rows.column(name).values(), rows.column(f"${name}").values(), strict=True))
            passes &= np.array([x is None or y is None or x == y for x, y in both], bool)
            pairs[name] = both
        agreed = np.flatnonzero(passes).tolist()  # of the others, one side may have a value of another type
        bound = {v: [y if x is None else x for x, y in (both[i] for i in agreed)] for v, both in pairs.items()}
        return passes, {name: from_values(bound[name], kind) for name, kind in self.types.items()}


class OutputTests:
    """The window and the tests of a node, on matches that are complete."""

    def __init__(self, given: Sequence[p.Test], tests: TestSequence) -> None:
        self.window = window_of(given)
        self.tests = tests

    def passing(self, batch: Batch, rows: Instances) -> Instances:
        """Return what passes."""
        self.tests.process(batch)
        if self.window is not None:
            lasts = rows.end - rows.start <= self.window
            rows = rows if lasts.all() else rows.take(np.flatnonzero(lasts))
        _, rows = self.tests.passing(rows)
        for test in self.tests.tests:
            if isinstance(test, AbsenceTest):
                test.forget(batch.now)
        return rows


class FilterOperator(ColumnOperator):
    """The matches of a child that pass the tests."""

    def __init__(self, outcome: OutputTests, child: ColumnOperator) -> None:
        self.outcome = outcome
        self.child = child
        self.tests = outcome.tests

    def process(self, batch: Batch) -> Instances:
        """Return what passes."""
        return self.outcome.passing(batch, self.child.process(batch))


class UnionOperator(ColumnOperator):
    """Whatever any branch matches, by turn; what one event matches in several ways, with equal bindings, once.

    Variables that a branch does not bind are null, if only heads read them, or else None.
    """

    def __init__(
        self, node: p.Union, branches: Sequence[ColumnOperator], types: Mapping[str, str], *, is_vague: bool
    ) -> None:
        self.branches = branches
        self.is_vague = is_vague
        self.exports = node.exports
        self.doubles = find_doubles(node)
        self.unbound = [{v: types[v] for v in node.exports if v not in b.exports} for b in node.branches]

    def process(self, batch: Batch) -> Instances:
        """Return the matches of all branches in order."""
        parts = [branch.process(batch) for branch in self.branches]
        for place, missing in enumerate(self.unbound):
            if missing:
                parts[place] = parts[place].with_columns(unbound(missing, len(parts[place]), is_vague=self.is_vague))
        filled = [place for place, part in enumerate(parts) if len(part)]
        if not filled or (len(filled) < 2 and not self.doubles[filled[0]]):
            return parts[filled[0]] if filled else parts[0]
        if len(filled) == 2:
            order, together = in_turn(parts[filled[0]], parts[filled[1]], self.exports)
        else:
            stacked = stack([parts[place] for place in filled], self.exports)
            order = np.argsort(stacked.turn, kind="stable")
            together = stacked.take(order)
        if any(self.doubles[place] for place in filled):
            doubles = np.concatenate([np.full(len(parts[place]), self.doubles[place]) for place in filled])
            together = together.take(np.flatnonzero(self._once(together, doubles[order])))
        return together

    def _once(self, rows: Instances, doubles: Flags) -> Flags:
        """Tell which matches are not those of an event that has matched with the same bindings.

        A branch may also hold pairs that end with the event; these are told apart by their intervals.
        """
        asked = np.flatnonzero(doubles)
        some = rows.take(asked)
        interval = [Column("int", times) for times in (some.turn, some.start, some.end)]
        sides = [*interval, *(some.column(v) for v in self.exports if v[0] != "$")]
        doubles[asked[KeyIndex(key_rows([sides], [len(asked)])[0]).first]] = False
        return ~doubles


def unbound(types: Mapping[str, str], count: int, *, is_vague: bool) -> dict[str, Column]:
    """Return columns of variables that have no value: null, if only heads read them, or else None."""
    rows = dict.fromkeys(filter(is_row, types), Column("int", np.zeros(count, np.int64)))
    if is_vague:
        return {**dict.fromkeys(types, Column("term", np.full(count, None, object))), **rows}
    return {name: rows[name] if name in rows else nulls(kind, count) for name, kind in types.items()}


def in_turn(a: Instances, b: Instances, names: Sequence[str]) -> tuple[Integers, Instances]:
    """Return two sorted lots of instances as one, and the order that merges them; columns stay where they are."""
    order, turn = merge(a.turn, b.turn)
    blocks = tuple(block.take(order) for block in stack_blocks(a, b, names))
    start = at_either(a.start, b.start, None, order)
    lasts = a.start is not a.end or b.start is not b.end
    return order, Instances(turn, start, at_either(a.end, b.end, None, order) if lasts else start, blocks)


def find_doubles(node: p.Union) -> list[bool]:
    """Tell of each branch whether an event that it matches may match again, there or in another one."""
    kinds = [p.single_kinds(branch) for branch in node.branches]
    several = Counter(kind for some in kinds for kind in some)
    again = [p.multiplies(branch) for branch in node.branches]
    return [any(more or several[kind] > 1 for kind in some) for some, more in zip(kinds, again, strict=True)]
