"""A family over batches: its common rule, and what each of its rules has for itself.

Own are the judgements of what arrays cannot tell, with the errors that they report, and which parts have ever matched.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from etalis.columnar.build import Builder
from etalis.columnar.component import ColumnComponent
from etalis.columnar.conditions.judge import Judge
from etalis.columnar.data.columns import Flags, Integers
from etalis.columnar.data.instances import Instances
from etalis.columnar.derived_events import MadeBlock
from etalis.columnar.families.family import MEMBER, Family
from etalis.columnar.families.leaf import FamilyFilter, FamilyLeaf
from etalis.columnar.operators.base import Batch, OutputTests, TestSequence
from etalis.plan import algebra as p
from etalis.runtime.codegen.conditions import Conditions
from etalis.runtime.reporting.evidence import Evidence


class FamilyComponent:
    """The rules of a family over batches."""

    def __init__(self, family: Family, shared: Builder, evidence: Evidence) -> None:
        self.family = family
        self.numbers = family.numbers
        own = OwnRules(family, shared.conditions, evidence)
        builder = Builder(family.types, shared.conditions, shared, own=own)
        common = family.common
        leaves = {node: FamilyLeaf(leaf, family, shared.conditions) for node, leaf in family.leaves.items()}
        for node, leaf in leaves.items():
            builder.put(node, leaf)
        for node in p.walk(common.body):
            if isinstance(node, p.Filter) and node.child in leaves and not p.negated(node):
                tests = OutputTests(node.tests, TestSequence(builder.tests(node, common.label)))
                builder.put(node, FamilyFilter(tests, leaves[node.child], node.exports))
        self.common = ColumnComponent([common], [family.numbers[0]], family.types, builder)
        self.common.makers[0].members = own

    def process(self, batch: Batch) -> Iterator[MadeBlock]:
        """Yield what a batch causes."""
        self.common.begin()
        for block in self.common.process(batch):
            yield MadeBlock(self.family.kinds, block.made)


class OwnRules:
    """What the rules of a family have for themselves."""

    def __init__(self, family: Family, conditions: Conditions, evidence: Evidence) -> None:
        self.family = family
        self.conditions = conditions
        self.evidence = evidence
        self.is_unsettled = False
        self.numbers = np.array(family.numbers)
        self.seen: dict[p.Node, Flags] = {}

    def rules(self, rows: Instances) -> Integers:
        """Return the number of the rule that each match is of."""
        return self.numbers[rows.column(MEMBER).data]

    def note(self, node: p.Node, found: Instances) -> bool:
        """Note which rules have matched at a node of the common one; tell whether there may be more."""
        if not self.is_unsettled:
            self.is_unsettled = True
            self.evidence.settle_later(self.settle)
        seen = self.seen.setdefault(node, np.zeros(len(self.numbers), bool))
        seen[found.column(MEMBER).data] = True
        return not seen.all()

    def settle(self) -> None:
        """Note the nodes of the rules that have matched."""
        self.is_unsettled = False
        for number, node in enumerate(p.walk(self.family.common.body)):
            for member in np.flatnonzero(self.seen.get(node, ())).tolist():
                self.evidence.nodes.add(self.family.nodes(member)[number])

    def join(self, node: p.Join) -> p.Join:
        """Return the join of one of the rules for which one of the common rule stands."""
        found = self.family.own_node(node, 0)
        assert isinstance(found, p.Join)
        return found

    def judges(self, node: p.Node, place: int, types: Mapping[str, str], wanted: Collection[str]) -> OwnConditions:
        """Return the judges of the rules' own conditions for which one of a node stands."""
        return OwnConditions(self, node, place, types, wanted)


@dataclass(frozen=True, slots=True)
class OwnConditions:
    """The conditions of the rules of a family for which one of the common rule stands."""

    rules: OwnRules
    node: p.Node
    place: int
    types: Mapping[str, str]
    wanted: Collection[str]
    known: dict[int, Judge] = field(default_factory=dict, compare=False)
    shared: dict[p.Node, int] = field(default_factory=dict, compare=False)

    def members(self, rows: Instances) -> Integers:
        """Return which of the rules each match is of."""
        return rows.column(MEMBER).data

    def first(self, member: int) -> int:
        """Return the first of the rules that share the part of a rule: all of them have the same matches there."""
        family = self.rules.family
        if not self.shared:
            for each in sorted(range(len(family.numbers)), key=self.rank):
                self.shared.setdefault(family.own_node(self.node, each), each)
        return self.shared[family.own_node(self.node, member)]

    def rank(self, member: int) -> int:
        """Return the place of a rule in the program."""
        return self.rules.family.numbers[member]

    def judge(self, member: int) -> Judge:
        """Return the judge of one of the rules."""
        if member not in self.known:
            family = self.rules.family
            test = p.tests(family.own_node(self.node, member))[self.place]
            assert isinstance(test, p.Condition)
            label = family.heads[member].label
            self.known[member] = Judge(test, self.types, self.rules.conditions, label, self.wanted)
        return self.known[member]
