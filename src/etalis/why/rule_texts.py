"""The rules that events were made by, as they were then: inserted, deleted or changed since."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING

from etalis.language import syntax as s
from etalis.language.printer import print_item, print_program
from etalis.language.reactive.constraints import stands_for
from etalis.language.rules import expand_any, written_rules
from etalis.language.traversal import rewrite
from etalis.runtime.state import BEGINNING, NEVER, show_time
from etalis.temporal.event import EventKind

if TYPE_CHECKING:
    from etalis.runtime.core import Core
    from etalis.runtime.ruleset import RuleLife


class RuleTexts:
    """Finds rules by the kinds of their events."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._texts: dict[int, str] = {}
        self._written: dict[int, s.Item] | None = None
        self._expanded: dict[int, s.Rule] = {}

    def _life(self, kind: EventKind) -> RuleLife | None:
        rules = self._core.rules
        life = rules.lives.get(getattr(kind, "number", 0))
        if life is not None:
            return life
        if not getattr(kind, "alive", True):  # before a snapshot, by a rule that is gone
            return None
        alike = [planned for planned, _ in rules.rules if planned.head.label == kind.rule]
        return rules.lives[alike[0].number] if len(alike) == 1 else None  # of a snapshot: by its label

    def rule(self, kind: EventKind) -> s.Rule | None:
        """Return the rule that made events of a kind; None if it is not known any more."""
        life = self._life(kind)
        return None if life is None else self.expanded(life.rule)

    def expanded(self, rule: s.Rule) -> s.Rule:
        """Return a rule with each `any` as the `or` of its conjunctions, which is how matches tell what they chose."""
        if id(rule) not in self._expanded:
            pattern = rewrite(rule.pattern, expand_any)
            self._expanded[id(rule)] = rule if pattern is rule.pattern else replace(rule, pattern=pattern)
        return self._expanded[id(rule)]

    def shown(self, kind: EventKind) -> tuple[str, str | None]:
        """Return the text of the rule that made events of a kind, and what has become of it since."""
        life = self._life(kind)
        if life is None:
            return "", "the rule is not known any more"
        notes = [f"inserted at {show_time(life.since)}"] if life.since != BEGINNING else []
        notes += [f"deleted at {show_time(life.until)}"] if life.until != NEVER else []
        return self.text(life.rule), f"the rule was {' and '.join(notes)}" if notes else None

    def text(self, rule: s.Rule) -> str:
        """Return the text of a rule, or of the constraint that it stands for."""
        if id(rule) not in self._texts:
            self._texts[id(rule)] = print_item(self._as_written(rule))
        return self._texts[id(rule)]

    def _as_written(self, rule: s.Rule) -> s.Item:
        """Return a rule of the program with `any` as it stands there, or what it stands for."""
        if self._written is None:
            program = self._core.program
            written = written_rules(program.tree)
            own = [each for each in program.rules if not each.hidden]
            whole = zip(own, written, strict=True) if len(own) == len(written) else ()
            self._written = {id(x): clause if stands_for(clause, y) else y for x, (clause, y) in whole}
        lives = self._core.rules.lives.values()
        given = next((life.given for life in lives if life.rule is rule and life.given is not None), rule)
        return self._written.get(id(given), given)


def program_digest(core: Core) -> str:
    """Return what tells a program from others."""
    return f"sha256:{sha256(print_program(core.program.tree).encode()).hexdigest()}"
