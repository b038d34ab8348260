"""Which rules may come or go without the others being compiled anew.

They are those whose coming or going changes the code of no other rule, but for parts that these share with them, which
are written anew. What is known of the types of events stays, and all else that is true of a rule set as a whole
(numbered events, isolation, levels of what is missing). Everything else, and every change where the past may be run
again, compiles all rules.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from etalis.language.flags import Settings
from etalis.language.syntax import Rule
from etalis.plan import algebra as p
from etalis.plan.types import Typing, may_hold
from etalis.runtime.codegen.compile import Compiler
from etalis.runtime.codegen.deadlines.timer import do_act
from etalis.runtime.codegen.heads import Heads
from etalis.runtime.codegen.network import Leaving, PlannedRule, Wired, Wiring, below, heads_after
from etalis.runtime.operators.blockers import EventLog
from etalis.runtime.state import Raw

if TYPE_CHECKING:
    from etalis.runtime.compiled import CompiledProgram


class RuleNetwork(Protocol):
    """What of a rule set (`runtime/ruleset.py`) changes with its rules, or decides whether it can."""

    compiled: bool
    compiler: Compiler
    has_timers: bool
    heads: Heads
    is_patched: bool
    learned: Mapping[p.Kind, tuple[tuple[str, bool], ...]]
    listened: set[p.Kind]
    log: EventLog | None
    memory: dict[Any, Any]
    numbered: bool
    processors: dict[p.Kind, Callable[[Raw], None]]
    program: CompiledProgram
    rules: list[tuple[PlannedRule, Rule]]
    settings: Settings
    spied: set[p.Kind]
    wiring: Wiring

    def note_matched(self, entries: Sequence[Wired]) -> None:
        """Mark the parts that are known to have matched by what waits or was made, before that changes."""

    def infer_types_of(self, some: Sequence[PlannedRule]) -> Typing:
        """Return the types of what some rules read and make."""


def may_come(rules: RuleNetwork, added: Sequence[PlannedRule], part: Wiring, typing: Typing) -> bool:
    """Tell whether rules, wired by themselves, may join a rule set without any change to the others."""
    base = rules.compiler.base
    read = {kind for rule in added for kind in p.read_kinds(rule.head.body)}
    return (
        _stays_whole(rules, added, read)
        and all(_may_be_joined(rules, rule) for rule in lone_makers(rules, added))
        and _keep_types(rules, added, read, typing)
        and not (base.levels or base.stages)
        and not any(map(_has_order, part.entries))
        and (rules.numbered or not base.tell_apart(part.entries))
        and read.isdisjoint(_kinds_after(rules, added))
        and not (base.state.timers.gives_own and do_act(part.entries, [rule.head for rule in added]))
    )


def may_go(rules: RuleNetwork, gone: Sequence[PlannedRule], leaving: Leaving) -> bool:
    """Tell whether rules may leave a rule set without any change to the others but in what is `leaving` with them."""
    read = {kind for rule in gone for kind in p.read_kinds(rule.head.body)}
    return (
        _stays_whole(rules, gone, read)
        and not any(rules.heads.kind(rule).grows for rule in gone)
        and not any(map(_has_order, leaving.entries))
        and all(_may_lose_reader(rules, entry) for entry, _ in leaving.readers)
    )


def _stays_whole(rules: RuleNetwork, changed: Sequence[PlannedRule], read: set[p.Kind]) -> bool:
    """Tell whether nothing that belongs to all rules together is touched by some that come or go."""
    made = {rule.head.kind for rule in changed}
    return (
        rules.compiled
        and not rules.settings.corrects
        and rules.log is None
        and not any(rule.head.hidden for rule in changed)
        and made.isdisjoint(read)
        and made.isdisjoint(rules.learned)
        and read.isdisjoint(rules.learned)
        and read.isdisjoint(rules.spied)
    )


def lone_makers(rules: RuleNetwork, added: Sequence[PlannedRule]) -> list[PlannedRule]:
    """Return the rules that were alone in making a kind of events, which others make that come."""
    kinds = {rule.head.kind for rule in added if rules.heads.makers[rule.head.kind] == 1}
    makers = [rule for rule, _ in rules.rules if rule.head.kind in kinds and not rule.head.hidden] if kinds else []
    own = {rule.number for rule in added}
    return [rule for rule in makers if rule.number not in own]


def _may_be_joined(rules: RuleNetwork, rule: PlannedRule) -> bool:
    """Tell whether what makes the events of a rule can be written anew, in the place that it has."""
    root = rules.wiring.root(rule)
    return rule.head.alarm is None and all(isinstance(each.node, _IN_TEXT) for each in (*below(root), root))


def _keep_types(rules: RuleNetwork, added: Sequence[PlannedRule], read: set[p.Kind], typing: Typing) -> bool:
    """Tell whether what rules read and make is of the types that the code of all others takes it to have.

    Of attributes that are not declared nothing is known, whoever makes them.
    """
    base, declared = rules.compiler.base, rules.program.signatures
    made = [rule.head for rule in added if rule.head.kind[0] in declared and rule.head.kind in rules.processors]
    return all(typing.kinds.get(kind) == base.kind_types(kind) for kind in read if kind[0] in declared) and all(
        may_hold(base.kind_types(head.kind), typing.made_types(head)) for head in made
    )


def _kinds_after(rules: RuleNetwork, added: Sequence[PlannedRule]) -> set[p.Kind]:
    """Return the kinds of events that may follow from those that some rules make."""
    found: set[p.Kind] = set()
    waiting = {rule.head.kind for rule in added}
    while waiting:
        found |= waiting
        leaves = [leaf for kind in waiting for leaf in rules.compiler.leaves.get(kind, ())]
        waiting = {rule.head.kind for rule in heads_after(leaves)} - found
    return found


def _may_lose_reader(rules: RuleNetwork, entry: Wired) -> bool:
    """Tell whether what an entry does can be written anew without one of its readers, in the place that it has.

    Among several rules that make the same events, the first by the order of rules does.
    """
    plain = all(isinstance(each.node, _IN_TEXT) and not _has_order(each) for each in (*below(entry), entry))
    return plain and all(rules.heads.is_lone(rule) for rule in heads_after([entry]))


_IN_TEXT = p.Source | p.Filter | p.Join | p.Union  # of which the code is that of the events that come to them


def _has_order(entry: Wired) -> bool:
    """Tell whether what an entry does depends on other rules: time points, choices, isolation, what is missing."""
    match entry.node:
        case p.Tick() | p.SomeOf():
            return True
        case p.Join(alone=alone) if alone is not None:
            return True
        case p.Deadline(before=before) if before is not None:
            return True
    return any(isinstance(test, p.Alone) for test in p.tests(entry.node))
