"""Which facts events change, which conditions ask for them, and what keeps that from columns.

Over columns a condition asks for such facts as they are at the turn of its match. So whatever changes them is made
before: a rule that asks comes behind those whose events change what it asks. Law: of two events of one round, made by
rules, the order is not told by turns; so who asks for facts that such events change ends with events that come in.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from etalis.columnar.data.columns import FLAT
from etalis.columnar.schedule import alarm_delay
from etalis.language.check.effects import reach
from etalis.language.check.goals import indicator, strip_wrappers
from etalis.language.check.outline import Outline
from etalis.language.rules import knowledge_changes
from etalis.language.syntax import Clause, Term
from etalis.logic.machine.database import Database
from etalis.plan import algebra as p
from etalis.plan.lattice import TERM, Type, either, type_of_values
from etalis.plan.types import Types, Typing

if TYPE_CHECKING:
    from etalis.runtime.compiled import CompiledProgram

Kind: TypeAlias = tuple[str, int]
Changes: TypeAlias = tuple[tuple[str, bool], ...]  # predicates that lose (False) or get the event as a fact, in turn


@dataclass(frozen=True, slots=True, eq=False)
class Learning:
    """What events change, by their kinds; `outline` is that of the program."""

    changes: Mapping[Kind, Changes]
    outline: Outline | None = None
    _asked: dict[Term, frozenset[Kind]] = field(default_factory=dict)

    @staticmethod
    def of(program: CompiledProgram) -> Learning:
        """Return what the events of a program change."""
        changes = knowledge_changes(program.tree)
        return Learning(changes, Outline(program.tree) if changes else None)

    @property
    def facts(self) -> frozenset[Kind]:
        """The predicates whose facts events change."""
        return frozenset((name, arity) for (_, arity), changes in self.changes.items() for name, _ in changes)

    def types(self, received: Types, made: Collection[Kind], database: Database) -> Mapping[Kind, tuple[Type, ...]]:
        """Return the types of the facts that there are and that come in; what rules make may be of any type."""
        found = {}
        for name, arity in self.facts:
            types: list[Type] = [None] * arity
            predicate = database.predicate(name, arity)
            if predicate.relation is not None:
                types = [type_of_values(values) for values in zip(*predicate.relation.rows, strict=True)] or types
            for kind in (
                kind for kind, changes in self.changes.items() if kind[1] == arity and (name, True) in changes
            ):
                more = (TERM,) * arity if kind in made else received.get(kind, (None,) * arity)
                types = [either(a, b if b in FLAT or b is None else TERM) for a, b in zip(types, more, strict=True)]
            found[name, arity] = tuple(types)
        return found

    def asked(self, goal: Term) -> frozenset[Kind]:
        """Return which of these predicates a goal may ask."""
        if self.outline is None:
            return frozenset()
        if goal not in self._asked:
            self._asked[goal] = self.facts.intersection(reach(goal, self.outline)[0])
        return self._asked[goal]

    def clauses(self, key: Kind) -> tuple[Clause, ...] | None:
        """Return the clauses of a predicate that does not call itself; None where it does, or has none."""
        if self.outline is None:
            return None
        found = tuple(c for c in self.outline.clauses if indicator(strip_wrappers(c.head)) == key)
        bodies = [clause.body for clause in found if clause.body is not None]
        return None if any(key in reach(body, self.outline)[0] for body in bodies) else found or None

    def asked_by(self, head: p.Head) -> frozenset[Kind]:
        """Return which of these predicates the conditions of a rule may ask."""
        if self.outline is None:
            return frozenset()
        found = [self.asked(goal) for node in p.walk(head.body) for goal in _goals(node)]
        return frozenset().union(*found)

    def needs(self, head: p.Head) -> frozenset[Kind]:
        """Return the kinds of events that change what a rule asks."""
        return self.changing(self.asked_by(head))

    def changing(self, facts: frozenset[Kind]) -> frozenset[Kind]:
        """Return the kinds of events that change facts of some predicates."""
        return frozenset(kind for kind, changes in self.changes.items() if {(n, kind[1]) for n, _ in changes} & facts)

    def read_kinds(self, head: p.Head) -> list[Kind]:
        """Return the kinds of events that a rule reads, or that change what it asks."""
        return list(dict.fromkeys((*p.read_kinds(head.body), *sorted(self.needs(head)))))


UNTAUGHT = Learning({})  # of programs whose events change no facts


def _goals(node: p.Node) -> Iterator[Term]:
    for test in p.tests(node):
        match test:
            case p.GoalTest(goal=goal) | p.Prefilter(goal=goal):
                yield goal
            case _:
                pass


def program_obstacles(program: CompiledProgram, learning: Learning, types: Typing) -> Iterator[str]:
    """Yield what keeps all rules of a program whose events change facts from columns."""
    if not learning.changes:
        return
    if program.settings.knowledge_horizon > 0:
        yield "events change facts, and what was known before is kept"
    if program.knowledge.calls_host:
        yield "events change facts, and functions of the host may look at them"
    for (name, arity), places in ((kind, types.kinds.get(kind, ())) for kind in learning.changes):
        if not FLAT.issuperset(places):
            yield f"events change facts, and an attribute of {name}/{arity} has no flat type"


def find_obstacles(
    head: p.Head, heads: Sequence[p.Head], made: AbstractSet[Kind], learning: Learning
) -> Iterator[str]:  # fmt: skip
    """Yield what keeps a rule that asks for facts that events change from columns; `made` are events of all rules."""
    if not learning.asked_by(head):
        return
    if not made.isdisjoint(learning.needs(head)):
        if not made.isdisjoint(p.read_kinds(head.body)):
            yield "rules change facts that it asks for, and make events that it reads"
        if any(other.alarm is not None and alarm_delay(other.alarm) is None for other in heads):
            yield "rules change facts that it asks for, and alarms are set for times that matches tell"
    for node in p.walk(head.body):
        tests = [test for test in p.tests(node) if isinstance(test, p.GoalTest) and learning.asked(test.goal)]
        if any(isinstance(test, p.Prefilter) and learning.asked(test.goal) for test in p.tests(node)):
            yield "a part is left out by facts that events change"
        if tests and isinstance(node, p.Repetition | p.SomeOf):
            yield "a repetition asks for facts that events change"
        if tests and isinstance(node, p.Join):
            if isinstance(node.left, p.Repetition):
                yield "what follows a repetition asks for facts that events change"
            if node.policy.select == "together" and any(test.kind != "where" for test in tests):
                yield "a combined match asks for facts that events change"


def recursive_obstacles(heads: Collection[p.Head], learning: Learning) -> Iterator[tuple[p.Head, str]]:
    """Yield what keeps rules that are recursive from columns."""
    for head in heads:
        if learning.asked_by(head):
            yield head, "it is recursive, and asks for facts that events change"
        if head.kind in learning.changes:
            yield head, "it is recursive, and changes facts"
