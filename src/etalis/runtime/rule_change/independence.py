"""Which rules may come or go without the others being compiled anew.

They are those that no other rule can tell from not being there: none reads what they make, and all else that is true of
a rule set as a whole (numbered events, isolation, levels of what is missing) stays as it is. Everything else, and every
change where the past may be run again, compiles all rules.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from etalis.language.flags import Settings
from etalis.language.syntax import Rule
from etalis.plan import algebra as p
from etalis.plan.types import Typing
from etalis.runtime.codegen.compile import Compiler
from etalis.runtime.codegen.heads import Heads
from etalis.runtime.codegen.network import PlannedRule, Wired, Wiring
from etalis.runtime.operators.blockers import EventLog
from etalis.runtime.state import Raw


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
    rules: list[tuple[PlannedRule, Rule]]
    settings: Settings
    spied: set[p.Kind]
    wiring: Wiring

    def infer_types_of(self, some: Sequence[PlannedRule]) -> Typing:
        """Return the types of what some rules read and make."""


def may_come(rules: RuleNetwork, added: Sequence[PlannedRule], part: Wiring) -> bool:
    """Tell whether rules, wired by themselves, may join a rule set without any change to the others."""
    base = rules.compiler.base
    read = {kind for rule in added for kind in p.read_kinds(rule.head.body)}
    due = any(rule.head.alarm is not None for rule in added) or any(p.falls_due(e.node) for e in part.entries)
    return (
        _stays_whole(rules, added, read)
        and all(rules.heads.makers[rule.head.kind] != 1 for rule in added)
        and (rules.has_timers or not due)
        and not (base.levels or base.stages)
        and not any(map(_has_order, part.entries))
        and (rules.numbered or not base.tell_apart(part.entries))
    )


def may_go(rules: RuleNetwork, gone: Sequence[PlannedRule]) -> bool:
    """Tell whether rules may leave a rule set without any change to the others."""
    entries = [entry for rule in gone for entry in rules.wiring.entries_of(rule)]
    read = {kind for rule in gone for kind in p.read_kinds(rule.head.body)}
    left = rules.heads.makers - Counter(rule.head.kind for rule in gone)
    return (
        _stays_whole(rules, gone, read)
        and all(left[rule.head.kind] != 1 for rule in gone)
        and all(rules.wiring.is_apart(rule) for rule in gone)
        and not rules.numbered
        and not any(rule.head.alarm is not None for rule in gone)
        and not any(p.falls_due(entry.node) or _has_order(entry) for entry in entries)
    )


def _stays_whole(rules: RuleNetwork, changed: Sequence[PlannedRule], read: set[p.Kind]) -> bool:
    """Tell whether nothing that belongs to all rules together is touched by some that come or go."""
    made = {rule.head.kind for rule in changed}
    return (
        rules.compiled
        and not rules.settings.corrects
        and rules.log is None
        and not any(rule.head.hidden for rule in changed)
        and made.isdisjoint(rules.processors)
        and made.isdisjoint(read)
        and made.isdisjoint(rules.learned)
        and read.isdisjoint(rules.learned)
        and read.isdisjoint(rules.spied)
    )


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
