"""Aggregates over batches: since each opener, or over the last elements of a group (definition 14.1 to 14.16).

An aggregate with an opener is a join of openers and elements that consumes nothing; every pair folds its element into
what its opener has reached in the element's group.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from etalis.columnar.data.columns import Column, Integers, concat, constant, fit, from_values
from etalis.columnar.data.flat import type_of
from etalis.columnar.data.instances import ColumnBlock, Instances
from etalis.columnar.operators.base import Batch, ColumnOperator, OutputTests, TestSequence, in_turn
from etalis.columnar.operators.constant_places import equal_values
from etalis.columnar.operators.join import JoinOperator
from etalis.columnar.operators.running_total import RunningTotal
from etalis.columnar.operators.sliding_total import SlidingTotal
from etalis.columnar.operators.terms import match_terms, values_of, with_nulls
from etalis.columnar.operators.totals import VALUE, ColumnAggregate
from etalis.language.syntax import Const, Term, Var
from etalis.language.traversal import term_variables
from etalis.plan import algebra as p
from etalis.temporal.aggregate import FOLDS, explain_no_value
from etalis.temporal.policy import POLICIES
from etalis.temporal.relation import RELATIONS

OPENER = "$opener"


class ElementOperator(ColumnOperator):
    """The elements of an aggregate that have a value to fold: their groups, and the value by a name of its own."""

    def __init__(
        self, operator: ColumnOperator, groups: Sequence[str], aggregate: ColumnAggregate, value: Term | None,
        fail: Callable[[str], None],
    ) -> None:  # fmt: skip
        self.operator = operator
        self.groups = groups
        self.aggregate = aggregate
        self.value = value
        self.fail = fail

    def process(self, batch: Batch) -> Instances:
        """Return the elements of a batch; report those that have no number where one is needed."""
        rows = self.operator.process(batch)
        columns = {v: rows.column(v) for v in self.groups}
        if self.value is None:
            return _over(rows, columns)
        names = term_variables(self.value)
        value = values_of(self.value, rows.with_columns({v: with_nulls(rows.column(v)) for v in names}))
        found = _over(rows, columns)
        if self.aggregate.row.numeric:
            value = fit(value, self.aggregate.type or "term")
            if _has_others(value):
                counted = self._countable(value)
                found, value = found.take(counted), value.take(counted).filled()
        if self.aggregate.is_of_objects:
            value = from_values(value.values(), "term")
        return found.with_columns({VALUE: value})

    def _countable(self, value: Column) -> Integers:
        if value.type == "term":
            counted = np.array([isinstance(x, int | float) for x in value.values()], bool)
        else:
            counted = np.zeros(len(value), bool) if value.absent is None else ~value.absent
        for each in value.take(np.flatnonzero(~counted)).values():
            self.fail(f"{self.aggregate.row.name} of {each!r}, which is not a number")
        return np.flatnonzero(counted)

    def with_value(self, rows: Instances, value: Column) -> tuple[Instances, Column]:
        """Return the matches whose aggregate has come to a value; report the others."""
        if not self.aggregate.row.numeric or value.type not in ("float", "term"):
            return rows, value
        is_none = np.isnan(value.data) if value.type == "float" else np.array([x != x for x in value.data], bool)
        if not is_none.any():
            return rows, value
        for _ in range(np.count_nonzero(is_none)):
            self.fail(explain_no_value(self.aggregate.row.name))
        kept = np.flatnonzero(~is_none)
        return rows.take(kept), value.take(kept)


def _has_others(value: Column) -> bool:
    return value.type in ("string", "term") or value.absent is not None


def _over(rows: Instances, columns: Mapping[str, Column]) -> Instances:
    return Instances.of(rows.turn, rows.start, rows.end, columns)


class AggregateOutput:
    """What becomes of an aggregate's value: it is bound, or must equal what is; then come the node's tests."""

    def __init__(self, node: p.Fold, tests: TestSequence) -> None:
        self.result = node.result
        self.outcome = OutputTests(node.tests, tests)

    def passing(self, batch: Batch, rows: Instances, value: Column) -> Instances:
        """Return the matches that stand."""
        match self.result:
            case Var(name=name) if name.startswith("_#"):
                pass
            case Var(name=name) if any(name in block.columns for block in rows.blocks):
                rows = rows.take(np.flatnonzero(equal_values(value, rows.column(name))))
            case Var(name=name):
                rows = rows.with_columns({name: value})
            case Const(value=constant_value):
                rows = rows.take(np.flatnonzero(equal_values(value, constant(constant_value, len(rows)))))
            case term:
                known = {v: rows.column(v) for v in _named(term) if any(v in block.columns for block in rows.blocks)}
                kept, bound = match_terms([(term, value)], known, _named(term))
                rows = rows.take(kept).with_columns(bound)
        return self.outcome.passing(batch, rows)


def _named(term: Term) -> list[str]:
    return [name for name in term_variables(term) if not name.startswith("_#")]


class SlidingAggregate(ColumnOperator):
    """An aggregate without opener: one match at every element, on the hull of those it is taken over."""

    def __init__(
        self,
        node: p.Fold,
        elements: ElementOperator,
        aggregate: ColumnAggregate,
        outcome: AggregateOutput,
        types: Mapping[str, str],
    ) -> None:
        self.elements = elements
        self.outcome = outcome
        keys = {v: types[v] for v in node.groups}
        is_bounded = node.within is not None or node.last is not None
        self.total = (
            SlidingTotal(aggregate, keys, node.within, node.last) if is_bounded else RunningTotal(aggregate, keys)
        )

    def process(self, batch: Batch) -> Instances:
        """Return the value at every element of a batch."""
        rows = self.elements.process(batch)
        if isinstance(self.total, SlidingTotal):
            chosen, value, least = self.total.add(rows, batch.now)
            rows = rows.take(chosen)
        else:
            value, least = self.total.add(rows)
        return self.outcome.passing(batch, *self.elements.with_value(_visible(rows, least), value))


def _visible(rows: Instances, start: Integers) -> Instances:
    """Return instances from a start on without what others must not see of them."""
    blocks = tuple(ColumnBlock({n: c for n, c in b.columns.items() if n != VALUE}, b.rows) for b in rows.blocks)
    return Instances(rows.turn, start, rows.end, blocks)


class OpenerOperator(ColumnOperator):
    """Openers, numbered in order of arrival; `latest` are those of the latest batch."""

    def __init__(self, operator: ColumnOperator, exports: Sequence[str]) -> None:
        self.operator = operator
        self.exports = exports
        self.number = 0
        self.latest: Instances | None = None

    def process(self, batch: Batch) -> Instances:
        """Return the openers of a batch."""
        rows = self.operator.process(batch)
        numbers = self.number + np.arange(len(rows))
        self.number += len(rows)
        self.latest = rows
        return rows.with_columns({OPENER: Column("int", numbers)})

    def starting(self, names: Sequence[str]) -> Instances:
        """Return the latest openers as matches of the aggregate."""
        rows = self.latest
        assert rows is not None
        first = rows.column("$first") if "$first" in self.exports else Column("int", rows.end)
        last = rows.column("$last") if "$last" in self.exports else Column("int", rows.start)
        return rows.with_columns({"$first": first, "$last": last}).only(names)


class OpenedAggregate(ColumnOperator):
    """An aggregate since each opener: one match per opener and element, and one at the opener where it has a value."""

    def __init__(
        self, node: p.Fold, openers: OpenerOperator, elements: ElementOperator, aggregate: ColumnAggregate,
        outcome: AggregateOutput, types: Mapping[str, str],
    ) -> None:  # fmt: skip
        assert node.opener is not None
        self.openers = openers
        self.elements = elements
        self.outcome = outcome
        self.has_start = aggregate.row.at_opener and node.at_opener <= set(node.opener.exports)
        self.names = (*needed_columns(node), "$first", "$last")
        self.join = _pairing(node, (openers, elements), aggregate, types)
        own = {v: types[v] for v in node.groups if v not in node.opener.exports}
        self.running = RunningTotal(aggregate, {OPENER: "int", **own})

    def process(self, batch: Batch) -> Instances:
        """Return the values that openers start with, and those they reach in a batch."""
        pairs = self.join.process(batch)
        start = pairs.column("$last").data
        value, least = self.running.add(Instances(pairs.turn, start, pairs.end, pairs.blocks))
        waiting = self.join.waiting[0].column(OPENER).data
        self.running.keep(np.isin(self.running.elements.column(OPENER).data, waiting))
        rows = pairs.with_columns({"$last": Column("int", least)}).only(self.names)
        rows, value = self.elements.with_value(rows, value)
        if self.has_start and self.openers.latest:
            opened = self.openers.starting(self.names)
            order, rows = in_turn(opened, rows, self.names)
            value = concat([constant(self.running.aggregate.row.first, len(opened)), value]).take(order)
        return self.outcome.passing(batch, rows, value)


def needed_columns(node: p.Fold) -> tuple[str, ...]:
    """Return the variables of openers and groups that somebody reads of an aggregate's matches."""
    read = {*node.exports, *term_variables(node.result), *(v for test in node.tests for v in p.reads(test))}
    bound = dict.fromkeys((*(() if node.opener is None else node.opener.exports), *node.groups))
    return tuple(v for v in bound if v in read and v[0] != "$")


def _pairing(
    node: p.Fold, inputs: tuple[ColumnOperator, ColumnOperator], aggregate: ColumnAggregate, types: Mapping[str, str]
) -> JoinOperator:
    """Return the join of openers and elements: by their common groups, within the window, nothing consumed."""
    assert node.opener is not None
    own = {} if aggregate.type is None else {VALUE: aggregate.type}
    left = replace(node.opener, exports=(*node.opener.exports, OPENER))
    right = replace(node.element, exports=(*node.groups, *own))
    windows = tuple(test for test in node.tests if isinstance(test, p.Window))
    exports = (*left.exports, *right.exports, "$first", "$last")
    pair = p.Join(RELATIONS["seq"], POLICIES["unrestricted"], left, right, windows, exports)
    return JoinOperator(pair, inputs, {**types, **own}, ([], []), [], TestSequence(()))


def build_fold(
    node: p.Fold, inputs: Sequence[ColumnOperator], types: Mapping[str, str], opened: Mapping[str, str],
    tests: TestSequence, fail: Callable[[str], None],
) -> ColumnOperator:  # fmt: skip
    """Return the operator of an aggregate; its inputs are the opener, if there is one, and the element.

    `types` are those of the variables of elements and results, `opened` those of openers.
    """
    match node.value:
        case Var(name=name):
            kind = types[name]
        case Const(value=value):
            kind = type_of(value)
        case _:
            kind = "term"
    aggregate = ColumnAggregate(FOLDS[node.kind], kind)
    elements = ElementOperator(inputs[-1], node.groups, aggregate, node.value if aggregate.type else None, fail)
    outcome = AggregateOutput(node, tests)
    if node.opener is None:
        return SlidingAggregate(node, elements, aggregate, outcome, types)
    openers = OpenerOperator(inputs[0], node.opener.exports)
    return OpenedAggregate(node, openers, elements, aggregate, outcome, {**types, **opened})
