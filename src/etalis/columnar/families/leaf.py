"""The leaves of a family over batches: every event once for each member that it may be for.

Where tests stand on a leaf they judge so many pairs at a time as fit into memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from etalis.columnar.conditions.judge import Judge
from etalis.columnar.data.instances import ColumnBlock, Instances, nothing, stack
from etalis.columnar.families.family import MEMBER, CommonLeaf, Family
from etalis.columnar.families.search import pieces
from etalis.columnar.operators.base import Batch, ColumnOperator, OutputTests, SourceOperator
from etalis.runtime.codegen.conditions import Conditions


class FamilyLeaf(ColumnOperator):
    """Events of one kind, each with the members that it may be for, and constants of theirs."""

    def __init__(self, leaf: CommonLeaf, family: Family, conditions: Conditions) -> None:
        self.leaf = leaf
        self.source = SourceOperator(leaf.source, family.types.variables(leaf.source))
        self.shared: Judge | None = None
        if leaf.shared is not None:
            shared = Judge(leaf.shared, self.source.types, conditions, family.common.label, ())
            self.shared = shared if shared.by_arrays else None
        self.told = {name: family.columns[name] for name in (MEMBER, *leaf.tells)}
        self.types = {**self.source.types, **{name: column.type for name, column in self.told.items()}}

    def process(self, batch: Batch) -> Instances:
        """Return the events of this batch that match, with their members."""
        return stack([nothing(self.types), *self.pieces(batch)], tuple(self.types))

    def pieces(self, batch: Batch) -> Iterator[Instances]:
        """Yield them some at a time."""
        rows = self.source.process(batch)
        passes = None if self.shared is None else self.shared.decided(rows)
        if passes is not None:  # else it is asked of each member
            rows = rows.take(np.flatnonzero(passes))
        for places, members in pieces(self.leaf.search, rows):
            some = rows.take(places)
            told = ColumnBlock(self.told, members)
            kept = (block.without(self.told) for block in some.blocks)
            yield Instances(some.turn, some.start, some.end, (*kept, told))


class FamilyFilter(ColumnOperator):
    """The events of a leaf that pass the tests of the members they are for."""

    def __init__(self, outcome: OutputTests, leaf: FamilyLeaf, exports: Sequence[str]) -> None:
        self.outcome = outcome
        self.leaf = leaf
        self.exports = tuple(exports)

    def process(self, batch: Batch) -> Instances:
        """Return what passes."""
        found = [self.outcome.passing(batch, piece) for piece in self.leaf.pieces(batch)]
        if not found:  # there are columns of what tests bind, too
            return self.outcome.passing(batch, nothing(self.leaf.types))
        return stack(found, self.exports)
