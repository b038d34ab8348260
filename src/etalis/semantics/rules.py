"""The rules of a run, which goals may change while it goes on (definition 18.7 to 18.14).

A rule is built below the history of its run; what it is made of, its leaves and time points, stands at the rule's
place. Law: a change of one rule leaves the operators of the others as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, assert_never

from etalis.language import syntax as s
from etalis.language.check.recursion import growing_events
from etalis.language.flags import PROPERTIES, Settings, rule_settings
from etalis.language.named_attributes import place_in_rule
from etalis.language.outer.strata import find_levels, find_stages
from etalis.language.reactive.constraints import tells_violation
from etalis.language.read.parser import parse_rule
from etalis.language.rules import known_events, label_properties, labelled_rules, with_checks
from etalis.language.same_rule import fits
from etalis.language.steps import Assign, DeleteRule, InsertRule, Reset, RuleStep, Withdraw
from etalis.semantics.matches import Instance, Offered, Receiver, Scope, Standing, World, ground
from etalis.semantics.patterns import acting, build, named
from etalis.temporal.event import EventKind
from etalis.temporal.policy import POLICIES

Conclude: TypeAlias = Callable[[s.Rule, Instance, Scope], None]
Change: TypeAlias = Callable[[tuple[s.Property, ...]], tuple[s.Property, ...]]


@dataclass(slots=True)
class Built:
    """A rule with what it was built of."""

    rule: s.Rule
    name: str
    standing: Standing
    leaves: list[Offered]
    points: list[tuple[int, Receiver]]


@dataclass(slots=True)
class Rules:
    """All rules of a run, in program order."""

    program: s.Tree
    settings: Settings
    world: World
    conclude: Conclude
    hidden: tuple[s.Rule, ...] = ()  # of reactions: they do not change
    apart: dict[str, tuple[s.Property, ...]] = field(default_factory=dict)
    built: list[Built] = field(default_factory=list)
    numbers: int = 0
    later: list[tuple[str, s.Rule]] = field(default_factory=list)  # inserted or changed since the beginning
    growing: frozenset[tuple[str, int]] = frozenset()

    def begin(self) -> None:
        """Build the rules of the program's text."""
        self.apart = dict(label_properties(self.program))
        for rule in (*labelled_rules(self.program), *self.hidden):
            self._add(rule)
        self.later.clear()

    def may_grow(self, kind: EventKind) -> bool:
        """Tell whether the attributes of an event may become larger without end."""
        return (kind.name, kind.arity) in self.growing

    def put(self, rules: Iterable[tuple[s.Rule, str]]) -> list[Built]:
        """Add rules under names that are given, and return what they were built of."""
        added = [self._build(rule, name) for rule, name in rules]
        self.built += added
        self._arrange()
        return added

    def take_out(self, gone: Built) -> None:
        """Remove a rule."""
        gone.standing.stands = False
        self.built = [made for made in self.built if made is not gone]
        self._arrange()

    def perform(self, step: RuleStep) -> None:
        """Do what a goal asked for."""
        match step:
            case InsertRule(rule=rule):
                apart = [s.LabelProperty(label, p) for label, several in self.apart.items() for p in several]
                for lifted in labelled_rules(s.Tree((rule, *apart))):
                    self._add(lifted)
            case DeleteRule(rule=wanted):
                found = parse_rule(wanted) if isinstance(wanted, str) and "<-" in wanted else wanted
                self._delete(found if isinstance(found, str) else place_in_rule(self.program, found))
            case Assign(label=label, property=given):
                self._change(label, lambda old: (*(p for p in old if _meaning(p) != _meaning(given)), given))
            case Withdraw(label=label, name=name, value=value):
                self._change(label, lambda old: tuple(p for p in old if not _is(p, name, value)))
            case Reset():
                self.world.deadlines = []
                for place, old in enumerate(self.built):
                    self.built[place] = self._build(old.rule, old.name)
                self._arrange()
            case _:
                assert_never(step)

    def _add(self, rule: s.Rule) -> None:
        self.numbers += 1
        self.built.append(self._build(rule, rule.label or str(self.numbers)))
        self._arrange()

    def _delete(self, wanted: s.Rule | str) -> None:
        gone = [made for made in self.built if not made.rule.hidden and fits(made.rule, made.name, wanted)]
        for old in gone:
            old.standing.stands = False
        self.built = [b for b in self.built if b.standing.stands]
        self._arrange()
        if not gone:
            self.world.report("there is no such rule to delete", str(wanted))

    def _change(self, label: str, change: Change) -> None:
        """Build the rules of a label anew with other properties; what waits in them is gone."""
        places = [place for place, old in enumerate(self.built) if old.name == label and not old.rule.hidden]
        if any(tells_violation(self.built[place].rule) for place in places):
            self.world.report("a constraint has no properties", label)
            return
        self.apart[label] = change(self.apart.get(label, ()))
        for place in places:
            old = self.built[place]
            old.standing.stands = False
            self.built[place] = self._build(replace(old.rule, properties=change(old.rule.properties)), label)
        self._arrange()
        if not places:
            self.world.report("there is no such rule", label)

    def _build(self, rule: s.Rule, name: str) -> Built:
        """Build the operators of a rule below its head."""
        policy, window = rule_settings(self.settings, rule)
        pattern = with_checks(rule).pattern
        for duration in (window, self.settings.garbage_window):
            pattern = pattern if duration is None else s.Within(pattern, duration)
        head = named(rule.head.args if rule.alarm is None else (*rule.head.args, rule.alarm.when))
        action = frozenset() if rule.action is None else named([rule.action])
        made = Built(rule, name, Standing(), [], [])
        self.later.append((name, rule))
        scope = Scope(self.world, name, POLICIES[policy], None, head | action, head, made.standing)
        actions = [] if rule.action is None else [rule.action]
        self.world.leaves, self.world.points = made.leaves, made.points
        build(pattern, acting(actions, lambda x: self.conclude(rule, x, scope), scope), scope)
        return made

    def _arrange(self) -> None:
        """Put the leaves and time points of all rules in program order."""
        self.world.leaves = [leaf for made in self.built for leaf in made.leaves]
        self.world.points = [point for made in self.built for point in made.points]
        self.world.levels, _ = find_levels((made.rule for made in self.built), self.world.relations)
        self.world.stages, _ = find_stages((made.rule for made in self.built), self.world.relations)
        self.growing = growing_events(made.rule for made in self.built)
        others = (item for item in self.program.items if not isinstance(item, s.Rule | s.Constraint))
        self.world.kinds = frozenset(known_events(s.Tree((*others, *(made.rule for made in self.built)))))


def _meaning(given: s.Property) -> str:
    return PROPERTIES.get(given.name, given.name)


def _is(given: s.Property, name: str, value: Any) -> bool:
    return given.name == name and (value is None or ground(given.value, {}) == value)
