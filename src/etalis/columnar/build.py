"""From the plan of a rule to its operators over batches."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Any, Protocol

from etalis.columnar.clock import moved
from etalis.columnar.conditions.changing_facts import ChangingFacts
from etalis.columnar.conditions.judge import Judge, OwnJudges
from etalis.columnar.data.columns import Integers
from etalis.columnar.data.instances import Instances
from etalis.columnar.operators.aggregate import build_fold
from etalis.columnar.operators.base import (
    AbsenceTest,
    Batch,
    ColumnOperator,
    FilterOperator,
    OutputTests,
    SourceOperator,
    TestSequence,
    UnionOperator,
)
from etalis.columnar.operators.deadline import DeadlineOperator, TickOperator
from etalis.columnar.operators.join import JoinOperator, meets_itself
from etalis.columnar.operators.join_keys import ComputedKeys
from etalis.columnar.operators.lone_side import LoneSide
from etalis.columnar.operators.outer_join import OuterJoinOperator
from etalis.columnar.repetition.chains import AnchoredRepetition, ChainRepetition, FollowedRepetition
from etalis.columnar.repetition.counted import CountedRepetition, asks_elements, asks_followers, is_chained, is_followed
from etalis.columnar.repetition.pair_tests import PairTests
from etalis.columnar.row_numbers import is_row
from etalis.columnar.schedule import Timer
from etalis.plan import algebra as p
from etalis.plan.retention import join_key, shared_names, window_of
from etalis.plan.types import Typing
from etalis.runtime.codegen.conditions import Conditions


class Own(Protocol):
    """What each of several rules has for itself that have their operators in common."""

    def note(self, node: p.Node, found: Instances) -> bool:
        """Note which rules have matched at a node; tell whether there may be more."""
        ...

    def join(self, node: p.Join) -> p.Join:
        """Return the join of one of the rules for which one of the common rule stands."""
        ...

    def judges(self, node: p.Node, place: int, types: Mapping[str, str], wanted: Collection[str]) -> OwnJudges:
        """Return the judges of the rules' own tests for which one of a node stands."""
        ...


class Builder:
    """Builds operators; equal nodes of a component become one. Timers and joins are listed with those `beside` it.

    Where it `is_vague`, variables may be unbound where more than a head asks for them; such columns are of any terms.
    `names` are the nodes of the engine's own rules that some stand for, `levels` those of joins without a partner. What
    rules that are alike have in common is built with what is each one's `own`. `facts` are those that events change.
    """

    def __init__(
        self, types: Typing, conditions: Conditions, beside: Builder | None = None, *, is_vague: bool = False,
        evidence: set[p.Node] | None = None, names: Mapping[p.Node, p.Node] = MappingProxyType({}),
        levels: Mapping[Hashable, int] = MappingProxyType({}), own: Own | None = None,
        facts: ChangingFacts | None = None,
    ) -> None:  # fmt: skip
        self.own = own
        self.facts: ChangingFacts | None = facts if beside is None else beside.facts
        self.types = types
        self.is_vague = is_vague
        self.conditions = conditions
        self.timers: list[Timer] = [] if beside is None else beside.timers
        self.joins: list[JoinOperator] = [] if beside is None else beside.joins
        self.evidence: set[p.Node] = (set() if beside is None else beside.evidence) if evidence is None else evidence
        self.names: Mapping[p.Node, p.Node] = names if beside is None else beside.names
        self.levels: Mapping[Hashable, int] = levels if beside is None else beside.levels
        self.every: list[SharedOperator] = [] if beside is None else beside.every
        self.built: dict[p.Node, SharedOperator] = {}

    def build(self, node: p.Node, rule: str) -> SharedOperator:
        """Return the operator of a node."""
        if node not in self.built:
            self.put(node, OPERATORS[type(node)](self, node, self._known(node), rule))
        return self.built[node]

    def put(self, node: p.Node, operator: ColumnOperator) -> None:
        """Let an operator stand for a node."""
        note = partial(self._note, self.names.get(node, node)) if self.own is None else partial(self.own.note, node)
        self.built[node] = SharedOperator(operator, note)
        self.every.append(self.built[node])

    def _note(self, node: p.Node, _: Instances) -> bool:
        """Note that a node has matched; once is enough."""
        self.evidence.add(node)
        return False

    def judged(self, body: p.Node) -> list[JudgedJoin]:
        """Return the joins of a pattern of which it is known later who has no partner, inner ones first."""
        nodes = [node for node in reversed(list(p.walk(body))) if isinstance(node, p.Join) and p.falls_due(node)]
        several = [(self.built[node], self.built[node].operator) for node in dict.fromkeys(nodes)]
        return [JudgedJoin(once, outer) for once, outer in several if isinstance(outer, OuterJoinOperator)]

    def _known(self, node: p.Node) -> Mapping[str, str]:
        """Return the types of the variables of a node; any term, where it may not bind them."""
        known = {**self.types.variables(node), **dict.fromkeys(filter(is_row, node.exports), "int")}
        return self._loosened(known, set(node.exports) - self.types.sure(node))

    def _build_source(self, node: p.Source, known: Mapping[str, str], _: str) -> ColumnOperator:
        return SourceOperator(node, {v: known[v] for v in node.exports})

    def _build_tick(self, node: p.Tick, _: Mapping[str, str], __: str) -> ColumnOperator:
        return TickOperator(node)

    def _build_union(self, node: p.Union, known: Mapping[str, str], rule: str) -> ColumnOperator:
        return UnionOperator(node, self._inputs(rule, *node.branches), known, is_vague=self.is_vague)

    def _build_filter(self, node: p.Filter, known: Mapping[str, str], rule: str) -> ColumnOperator:
        return FilterOperator(
            OutputTests(node.tests, TestSequence(self._tests(node, known, rule))), self.build(node.child, rule)
        )

    def _build_join(self, node: p.Join, known: Mapping[str, str], rule: str) -> ColumnOperator:
        """Return the operator of pairs; one for both where a repetition is on the left."""
        if not isinstance(node.left, p.Repetition) or not is_followed(node):
            return self._join(node, rule) if node.alone is None else self._outer_join(node, known, rule)
        if not is_chained(node.left):
            return self._repeater(node.left, node, known, rule)
        sides = (self.build(node.left, rule), self.build(node.right, rule))
        return FollowedRepetition(node, sides, known, TestSequence(self._tests(node, known, rule)))

    def _build_fold(self, node: p.Fold, known: Mapping[str, str], rule: str) -> ColumnOperator:
        inputs, tests = self._inputs(rule, *p.children(node)), TestSequence(self._tests(node, known, rule))
        opened = {} if node.opener is None else self._known(node.opener)
        return build_fold(
            node, inputs, {**known, **self._known(node.element)}, opened, tests, self.conditions.fail(rule)
        )

    def _build_deadline(self, node: p.Deadline, known: Mapping[str, str], rule: str) -> ColumnOperator:
        inputs = self._inputs(rule, node.left, node.absent)
        waiter = DeadlineOperator(node, inputs[0], inputs[1], known, TestSequence(self._tests(node, known, rule)))
        self.timers.append(waiter)
        return waiter

    def _build_repetition(self, node: p.Repetition, known: Mapping[str, str], rule: str) -> ColumnOperator:
        """Return the operator of a repetition that nothing follows, or under a policy that consumes nothing."""
        if not is_chained(node):
            return self._repeater(node, None, known, rule)
        inputs, tests = self._inputs(rule, *p.children(node)), TestSequence(self._tests(node, known, rule))
        inside = {**known, **self.types.variables(node.element)}
        if node.left is None:
            return ChainRepetition(node, inputs[0], inside, tests, self.conditions.fail(rule))
        return AnchoredRepetition(node, inputs, inside, tests, self.conditions.fail(rule))

    def _repeater(
        self, node: p.Repetition, follower: p.Join | None, known: Mapping[str, str], rule: str
    ) -> CountedRepetition:
        """Sort the tests on a repetition and on what follows it: what is asked of pairs, a limit, on what is found."""
        inputs = self._inputs(rule, *p.children(node), *(() if follower is None else (follower.right,)))
        tests = self._tests(node, known, rule)
        asked: list[PairTests | None] = [None, None]
        gaps: list[AbsenceTest] = []
        if asks_elements(node, follower):
            asked[0], tests = _asked(tests, are_apart=True, are_after=False), []
        if follower is not None:
            tests = self._tests(follower, known, rule)
            if asks_followers(node, follower):
                asked[1], tests = _asked(tests, are_apart=node.left is None, are_after=True), []
            elif follower.policy.restricts:
                gaps, tests = tests, []
        fail = self.conditions.fail(rule)
        return CountedRepetition(node, follower, inputs, known, gaps, TestSequence(tests), (asked[0], asked[1]), fail)

    def _inputs(self, rule: str, *nodes: p.Node) -> list[ColumnOperator]:
        return [self.build(node, rule) for node in nodes]

    def _outer_join(self, node: p.Join, known: Mapping[str, str], rule: str) -> OuterJoinOperator:
        """Return the operator of pairs, and of what of one side has no partner."""
        lone = LoneSide(node, self.levels.get(id(node), 1))
        own = (node.left, node.right)[lone.place]
        missing = {v: known[v] for v in node.exports if v not in own.exports}
        outer = OuterJoinOperator(self._join(node, rule, lone), lone, missing, is_vague=self.is_vague)
        if not lone.is_at_once:
            self.timers.append(outer)
        return outer

    def _join(self, node: p.Join, rule: str, lone: LoneSide | None = None) -> JoinOperator:
        """Sort a join's tests: on one side alone where nothing can be raised, a limit of the left side, on pairs.

        One limit, so that what has blocked a left side can be told from it.
        """
        known = self._known_of_pairs(node)
        sides: tuple[list[Judge], list[Judge]] = ([], [])
        gaps: list[AbsenceTest] = []
        tests: list[Judge | AbsenceTest] = []
        for test in self._tests(node, known, rule):
            if isinstance(test, AbsenceTest) and not gaps and self._is_limit(test, node):
                gaps.append(test)
                continue
            side = self._side(test, node) if isinstance(test, Judge) and test.by_arrays else None
            if side is None or (lone is not None and side == lone.place):
                tests.append(test)
            else:
                sides[side].append(test)
        inputs = (self.build(node.left, rule), self.build(node.right, rule))
        always = self.types.sure(node.left) & self.types.sure(node.right)
        firm = join_key(node) if node.policy.keep == "newest" else always
        vague = {v: known[v] for v in shared_names(node) if v not in firm}
        join = JoinOperator(
            node, inputs, self._known_of_sides(node, known), sides, gaps, TestSequence(tests), vague,
            self._computed_keys(node), lone,
        )  # fmt: skip
        if self.own is not None:  # the leaves of the common rule have names of their own
            join.meets_itself = meets_itself(self.own.join(node))
        self.joins.append(join)
        return join

    def _computed_keys(self, node: p.Join) -> ComputedKeys | None:
        """Return the keys of a join that are computed; facts that events change link none."""
        changing = frozenset() if self.facts is None else self.facts.learning.facts
        pairs = tuple(
            pair for pair in node.keys_on if pair.fact is None or (pair.fact.name, len(pair.fact.args)) not in changing
        )
        return ComputedKeys(replace(node, keys_on=pairs), self.conditions.solver.database) if pairs else None

    def _known_of_pairs(self, node: p.Join) -> Mapping[str, str]:
        """Return the types of the variables of a join's pairs; any term, where these may not bind them."""
        names = [v for side in p.children(node) for v in side.exports]
        known = {**self.types.pairs(node), **dict.fromkeys(filter(is_row, names), "int")}
        return self._loosened(known, set(names) - self.types.sure_by_test(node)[-1])

    def _known_of_sides(self, node: p.Join, known: Mapping[str, str]) -> Mapping[str, str]:
        """Return the types of the variables of a join's sides; any term, where one of them may not bind them."""
        vague = {v for side in p.children(node) for v in side.exports if v not in self.types.sure(side)}
        return self._loosened(known, vague)

    def _loosened(self, known: Mapping[str, str], names: Collection[str]) -> Mapping[str, str]:
        """Return types, those of some variables that may be unbound being any term, where these are told apart."""
        return {**known, **dict.fromkeys((v for v in names if not is_row(v)), "term")} if self.is_vague else known

    def _is_limit(self, absence: AbsenceTest, node: p.Join) -> bool:
        """Tell whether what lies after the end of a left side can block it, and nothing that ended before it came."""
        left, right = node.left.exports, node.right.exports
        simple = node.relation.sequential and "$first" not in left and "$last" not in right
        firm = set(left) & self.types.sure(node.left)
        return simple and absence.test.kind == "gap" and not absence.is_loose and set(absence.joined) <= firm

    def _side(self, test: Judge, node: p.Join) -> int | None:
        if node.policy.keep == "newest" or not test.test.inputs:
            return None
        inputs = set(test.test.inputs)
        firm = [set(side.exports) & self.types.sure(side) for side in (node.left, node.right)]
        return next((i for i, names in enumerate(firm) if inputs <= names), None)

    def tests(self, node: p.Node, rule: str) -> list[Any]:
        """Return the tests of a node."""
        return self._tests(node, self._known(node), rule)

    def _tests(self, node: p.Node, known: Mapping[str, str], rule: str) -> list[Any]:
        found: list[Judge | AbsenceTest] = []
        stages = self.types.sure_by_test(node)
        tests = p.tests(node)
        for place, test in enumerate(tests):
            before = stages[place]
            match test:
                case p.GoalTest(inputs=inputs, outputs=outputs) | p.Prefilter(inputs=inputs, outputs=outputs):
                    vague = set(inputs) - before | set(outputs) - stages[place + 1] if self.is_vague else set()
                    seen = {**known, **dict.fromkeys(vague, "term")}
                    wanted = set(node.exports).union(*map(p.reads, tests[place + 1 :]))
                    own = None if self.own is None else self.own.judges(node, place, seen, wanted)
                    found.append(Judge(test, seen, self.conditions, rule, wanted, frozenset(vague), own, self.facts))
                case p.Absent(joined=joined):
                    keep = test.window if test.kind == "before" else window_of(p.tests(node))
                    is_loose = not set(joined) <= self.types.sure(test.node) & before
                    types = self._known(test.node)
                    found.append(AbsenceTest(test, self.build(test.node, rule), types, keep, is_loose=is_loose))
                case _:
                    pass
        return found


OPERATORS: dict[type[p.Node], Callable[[Builder, Any, Mapping[str, str], str], ColumnOperator]] = {
    p.Source: Builder._build_source,
    p.Tick: Builder._build_tick,
    p.Join: Builder._build_join,
    p.Union: Builder._build_union,
    p.Filter: Builder._build_filter,
    p.Repetition: Builder._build_repetition,
    p.Fold: Builder._build_fold,
    p.Deadline: Builder._build_deadline,
}


def _asked(tests: Sequence[Any], *, are_apart: bool, are_after: bool) -> PairTests:
    """Return what is asked of pairs; absences in gaps apart where the pairs alone do not tell these."""
    gaps = [test for test in tests if are_apart and isinstance(test, AbsenceTest) and test.test.kind == "gap"]
    return PairTests(TestSequence(test for test in tests if test not in gaps), gaps, are_after=are_after)


class SharedOperator(ColumnOperator):
    """An operator that several read: it takes each batch once."""

    def __init__(self, operator: ColumnOperator, note: Callable[[Instances], bool]) -> None:
        self.operator = operator
        self.batch: Any = None
        self.found: Any = None
        self._note: Callable[[Instances], bool] | None = note  # what has matched; it tells whether to go on

    def process(self, batch: Any) -> Any:
        """Return what the batch brought, found when it is first asked for."""
        if self.batch is not batch:
            self.lend(batch, self.operator.process(batch))
        return self.found

    def lend(self, batch: Any, found: Any) -> None:
        """Let a batch bring what was found before."""
        self.batch, self.found = batch, found
        if self._note is not None and len(found) and not self._note(found):
            self._note = None

    def let_go(self) -> None:
        """Let go of all that is kept; nothing is asked any more."""
        del self.batch, self.found, self.operator

    def move(self, batches: Mapping[int, Batch], slots: Integers) -> None:
        """Let other batches bring what some did, by their identities: they stand for the same rows in new slots."""
        after = batches.get(id(self.batch))
        if after is not None:
            self.batch, self.found = after, self.found.at_turns(moved(self.found.turn, slots))


@dataclass(frozen=True, slots=True)
class JudgedJoin:
    """A join of which it is known later who has no partner, and what several read of it."""

    once: SharedOperator
    operator: OuterJoinOperator

    def find_alone(self, batch: Batch) -> Integers:
        """Find its pairs in a batch, and who has no partner; return the keys of the steps in which that is known."""
        self.once.lend(batch, self.operator.pairs(batch))
        return self.operator.lone.keys

    def place(self, steps: Integers) -> None:
        """Let who has no partner come in the slots of these steps."""
        self.once.lend(self.once.batch, self.operator.with_alone(self.once.found, steps))
