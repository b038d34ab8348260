"""The outline of a program that the checks share: its rules, events, predicates and settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from etalis.errors import Problem, ProgramError, Span
from etalis.language import syntax as s
from etalis.language.check import goals as g
from etalis.language.check.bound_variables import bound_by_node
from etalis.language.flags import Settings, property_problems, rule_settings, settings
from etalis.language.rules import (
    CHECK_PROPERTY,
    action_clauses,
    awaited_rules,
    declarations,
    knowledge_changes,
    reaction_rules,
    state_predicates,
    written_rules,
)
from etalis.language.traversal import Walk, actions_of, walk_action
from etalis.temporal.policy import POLICIES, Policy


@dataclass(frozen=True)
class Outline:
    """A program with what is derived from it on demand; `given` are predicates that the host adds."""

    program: s.Tree
    given: frozenset[g.Indicator] = frozenset()

    @cached_property
    def rules(self) -> tuple[s.Rule, ...]:
        """All event rules, sub-rules lifted out, patterns as written; the hidden ones of reactions behind them."""
        return (*self.derivations, *reaction_rules(self.program), *awaited_rules(self.program))

    @cached_property
    def written(self) -> tuple[tuple[s.Item, s.Rule], ...]:
        """The rules that derive events, each behind the clause that it stands in or for."""
        return written_rules(self.program)

    @cached_property
    def derivations(self) -> tuple[s.Rule, ...]:
        """The rules that derive events."""
        return tuple([rule for _, rule in self.written])

    @cached_property
    def _walks(self) -> dict[int, Walk]:
        return {id(rule): Walk(rule.pattern) for rule in self.rules}

    def walk(self, rule: s.Rule) -> Walk:
        """Return the nodes of the pattern of one of the rules."""
        return self._walks[id(rule)]

    @cached_property
    def reactions(self) -> tuple[tuple[s.Reaction, s.Rule], ...]:
        """All reactions as written, each with its hidden rule."""
        several = [item for item in self.program.items if isinstance(item, s.Reaction)]
        return tuple(zip(several, (rule for rule in self.rules if rule.hidden), strict=False))

    @cached_property
    def state(self) -> Mapping[g.Indicator, int | None]:
        """The predicates whose facts actions change, with the lengths of their keys."""
        return state_predicates(self.program)

    @cached_property
    def actions(self) -> Mapping[g.Indicator, tuple[s.ActionClause, ...]]:
        """The clauses of actions."""
        return action_clauses(self.program)

    @cached_property
    def steps(self) -> tuple[s.Action, ...]:
        """Every node of every action."""
        return tuple(node for item in self.program.items for action in actions_of(item) for node in walk_action(action))

    @cached_property
    def declared(self) -> dict[g.Indicator, s.EventDeclaration]:
        return dict(declarations(self.program))

    @cached_property
    def derived(self) -> frozenset[g.Indicator]:
        """The events that are the head of a rule."""
        return frozenset((rule.head.name, len(rule.head.args)) for rule in self.derivations)

    @cached_property
    def used(self) -> tuple[s.EventPattern, ...]:
        """Every event pattern in a body, in order."""
        return tuple([pattern for rule in self.rules for pattern in self.walk(rule).of(s.EventPattern)])

    @cached_property
    def known(self) -> frozenset[g.Indicator]:
        """Every kind of event that the program names outside of triggers."""
        declared = frozenset((*self.declared, *self.learned, *self.raised))
        return self.derived | declared | {(p.name, len(p.args)) for p in self.used}

    @cached_property
    def learned(self) -> Mapping[g.Indicator, tuple[tuple[str, bool], ...]]:
        """The events that change facts, with the facts they change."""
        return knowledge_changes(self.program)

    @cached_property
    def raised(self) -> dict[g.Indicator, Span | None]:
        """The events that goals and actions raise, each with the first place."""
        raising = [call.args[0] for call, _ in self.called if call.indicator in g.RAISES]
        raising += [step.event for step in self.steps if isinstance(step, s.Raise)]
        return {key: event.span for event in reversed(raising) if (key := g.indicator(event)) is not None}

    @cached_property
    def made(self) -> frozenset[g.Indicator]:
        """The events that come about as the program says: derived, declared, raised, or changing facts."""
        declared = frozenset(key for key, item in self.declared.items() if not item.implied)
        return self.derived | declared | frozenset((*self.raised, *self.learned))

    @cached_property
    def settings(self) -> Settings:
        """What the flags come to; the defaults if they are wrong, which is reported elsewhere."""
        try:
            return settings(self.program)
        except ProgramError:
            return Settings()

    @cached_property
    def bound(self) -> dict[int, g.BoundVariables]:
        """What every node of every pattern binds, by the id of the node."""
        found: dict[int, g.BoundVariables] = {}
        for rule in self.rules:
            found |= self.walk(rule).fold(bound_by_node)
        return found

    def property_problems(self, given: s.Property, *, reacting: bool = False) -> Iterator[Problem]:
        """Yield what is wrong with one property of a rule; reactions have some of their own."""
        return property_problems(given, checked=CHECK_PROPERTY in self.predicates, reacting=reacting)

    def rule_settings(self, rule: s.Rule) -> tuple[Policy, int | None]:
        """Return policy and window of a rule; wrong properties, which are reported elsewhere, count as not given."""
        if not rule.properties:
            return POLICIES[self.settings.policy], None
        wrong = [any(self.property_problems(given, reacting=rule.hidden)) for given in rule.properties]
        right = tuple(given for given, is_wrong in zip(rule.properties, wrong, strict=True) if not is_wrong)
        name, window = rule_settings(self.settings, replace(rule, properties=right))
        return POLICIES[name], window

    @cached_property
    def clauses(self) -> tuple[s.Clause, ...]:
        return tuple(item for item in self.program.items if isinstance(item, s.Clause))

    @cached_property
    def predicates(self) -> frozenset[g.Indicator]:
        """The predicates that the program defines, declares or adds clauses to, and those it is given."""
        heads = {g.indicator(g.strip_wrappers(clause.head)) for clause in self.clauses}
        listed = {name for item in self.program.items if isinstance(item, s.Declare) for name in item.names}
        added = {key for call, _ in self.called if (key := g.asserted(call)) is not None}
        stored = {("stored_event", 1)} if self.settings.store_fired_events else frozenset()
        facts = {(name, arity) for (_, arity), changes in self.learned.items() for name, _ in changes}
        here = frozenset(key for key in heads if key is not None) | frozenset(self.state)
        return here | listed | facts | added | stored | self.given

    @cached_property
    def goals(self) -> tuple[tuple[s.Term, str], ...]:
        """Every goal with its role: where, check, event_multiply, action, clause, trigger or directive.

        Of reactive rules: if, test or always.
        """
        return tuple(self._goals())

    def _goals(self) -> Iterator[tuple[s.Term, str]]:
        for rule in self.rules:
            if rule.action is not None:
                yield rule.action, "action"
            walk = self.walk(rule)
            for node in walk.nodes if walk.has(s.Condition, s.Do) else ():
                if isinstance(node, s.Condition):
                    yield node.goal, node.kind
                elif isinstance(node, s.Do):
                    yield node.action, "action"
        for item in self.program.items:
            if isinstance(item, s.Clause | s.Trigger) and item.body is not None:
                yield item.body, "clause" if isinstance(item, s.Clause) else "trigger"
            elif isinstance(item, s.Initially):
                yield item.goal, "directive"
            elif isinstance(item, s.Always):
                yield item.goal, "always"
            elif isinstance(item, s.Reaction) and item.condition is not None:
                yield item.condition, "if"
        for step in self.steps:
            if isinstance(step, s.Perform) and g.indicator(step.goal) not in self.actions:
                yield step.goal, "test"

    @cached_property
    def called(self) -> tuple[tuple[g.Call, str], ...]:
        """Every call in a goal, with the role of the goal."""
        return tuple([(call, role) for goal, role in self.goals for call in self._calls_in[id(goal)]])

    @cached_property
    def _calls_in(self) -> dict[int, tuple[g.Call, ...]]:
        return {id(goal): tuple(g.calls(goal)) for goal, _ in self.goals}

    def calls_in(self, goal: s.Term) -> tuple[g.Call, ...]:
        """Return the calls in one of the goals."""
        return self._calls_in[id(goal)]

    @cached_property
    def asked(self) -> frozenset[g.Indicator]:
        """The predicates that goals call."""
        return frozenset(call.indicator for call, _ in self.called)

    @cached_property
    def calls(self) -> dict[g.Indicator, frozenset[g.Indicator]]:
        """What the clauses of each predicate call."""
        found: dict[g.Indicator, frozenset[g.Indicator]] = {}
        for clause in self.clauses:
            key = g.indicator(g.strip_wrappers(clause.head))
            if key is not None and clause.body is not None:
                found[key] = found.get(key, frozenset()) | {call.indicator for call in g.calls(clause.body)}
        return found
