"""What reactions reach beside the events of their patterns: facts of state, and events that they raise.

Law: if a reaction reaches facts only where one place within their key has the variable by which its events are parted,
and what it raises carries that variable, then its turns in one part neither see nor change what those in others do.
Actions are unfolded over their clauses, with the terms that are handed to them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from etalis.language import syntax as s
from etalis.language.check.goals import Indicator, calls, indicator, strip_wrappers
from etalis.language.rules import action_clauses, labelled_rules, reaction_rules, reactions, state_predicates
from etalis.language.traversal import action_parts, postorder

Terms: TypeAlias = tuple[s.Term, ...]
Given: TypeAlias = Mapping[str, s.Term]  # terms for the variables of a clause


@dataclass(slots=True)
class Access:
    """What one reaction reaches: the keys of facts and the attributes of raised events, as terms of its pattern."""

    facts: dict[Indicator, list[Terms]] = field(default_factory=dict)
    raised: list[s.EventPattern] = field(default_factory=list)
    obstacle: str | None = None  # why that is not known


def find_accesses(program: s.Tree) -> list[Access]:
    """Return what the reactions of a program reach, in program order."""
    reader = _Reader(program)
    return [reader.read(reaction) for reaction in reactions(program)]


def find_shared_state(program: s.Tree) -> Iterator[str]:
    """Yield why the facts of state cannot be parted, whatever reactions do."""
    reader = _Reader(program)
    for item in program.items:
        if isinstance(item, s.Always) and not reader.is_of_one_fact(item.goal):
            yield "`always` looks at more than one fact of state"
    for rule in (*labelled_rules(program), *reaction_rules(program)):
        goals = [node.goal for node in postorder(rule.pattern) if isinstance(node, s.Condition)]
        if any(map(reader.reads_state, goals)):
            which = "a rule" if rule.label is None else rule.label
            yield f"a condition in the pattern of {which} asks for facts that actions change"


class _Reader:
    """Reads the actions of one program."""

    def __init__(self, program: s.Tree) -> None:
        self.state = state_predicates(program)
        self.actions = action_clauses(program)
        self.readers = _readers(program, frozenset(self.state))

    def read(self, reaction: s.Reaction) -> Access:
        """Return what a reaction reaches."""
        access = Access()
        if reaction.condition is not None:
            self._goal(reaction.condition, {}, access)
        seen: set[tuple[Indicator, Terms]] = set()
        for action in (reaction.action, reaction.otherwise, reaction.undo):
            if action is not None:
                self._action(action, {}, access, seen)
        return access

    def reads_state(self, goal: s.Term) -> bool:
        """Tell whether a goal asks for facts of state, itself or by way of clauses."""
        return any(call.indicator in self.state or call.indicator in self.readers for call in calls(goal))

    def is_of_one_fact(self, goal: s.Term) -> bool:
        r"""Tell whether a goal is `\+ (fact(...), tests)`, so that it holds of all facts if it does of each."""
        if not (isinstance(goal, s.Compound) and goal.name == "\\+" and len(goal.args) == 1):
            return False
        asked = [call for call in calls(goal.args[0]) if call.indicator in self.state]
        return len(asked) <= 1 and not any(call.indicator in self.readers for call in calls(goal))

    def _action(self, root: s.Action, given: Given, access: Access, seen: set[tuple[Indicator, Terms]]) -> None:
        waiting: list[tuple[s.Action, Given]] = [(root, given)]
        while waiting:
            node, terms = waiting.pop()
            match node:
                case s.FactChange(fact=fact):
                    self._fact(fact, terms, access)
                case s.Raise(event=event):
                    access.raised.append(_event(_put(event, terms)))
                case s.Await():
                    access.obstacle = "it waits for events, which may come to another shard"
                case s.Perform(goal=goal):
                    key = indicator(goal)
                    if key is None or key not in self.actions:
                        self._goal(goal, terms, access)
                        continue
                    args = tuple(_put(arg, terms) for arg in (goal.args if isinstance(goal, s.Compound) else ()))
                    if (key, args) not in seen:
                        seen.add((key, args))
                        waiting += [(clause.body, _handed(clause, args)) for clause in self.actions[key]]
                case _:
                    waiting += [(part, terms) for part in action_parts(node)]

    def _fact(self, fact: s.Term, given: Given, access: Access) -> None:
        key = indicator(fact)
        args = fact.args if isinstance(fact, s.Compound) else ()
        if key is not None and key in self.state:
            length = self.state[key] or len(args)
            access.facts.setdefault(key, []).append(tuple(_put(arg, given) for arg in args[:length]))

    def _goal(self, goal: s.Term, given: Given, access: Access) -> None:
        for call in calls(goal):
            if call.indicator in self.state:
                self._fact(s.Compound(call.name, call.args) if call.args else s.Const(call.name), given, access)
            elif call.indicator in self.readers:
                access.obstacle = f"{call.name}/{len(call.args)} asks for facts that actions change"


def _readers(program: s.Tree, state: frozenset[Indicator]) -> frozenset[Indicator]:
    """Return the predicates whose clauses ask for state, themselves or by way of others."""
    bodies: dict[Indicator, set[Indicator]] = {}
    for item in program.items:
        if isinstance(item, s.Clause) and item.body is not None:
            key = indicator(strip_wrappers(item.head))
            if key is not None:
                bodies.setdefault(key, set()).update(call.indicator for call in calls(item.body))
    found: set[Indicator] = set()
    while more := {key for key, asked in bodies.items() if key not in found and asked & (found | state)}:
        found |= more
    return frozenset(found)


def _handed(clause: s.ActionClause, args: Terms) -> Given:
    """Return the terms for a clause's variables: those handed to it, and names of its own that no pattern has."""
    head = clause.head
    mine = head.args if isinstance(head, s.Compound) else ()
    return {own.name: term for own, term in zip(mine, args, strict=True) if isinstance(own, s.Var)} | {"": s.Const("")}


def _put(term: s.Term, given: Given) -> s.Term:
    """Return a term with what is given for its variables; others of a clause are none of the pattern's."""
    match term:
        case s.Var(name=name):
            return given.get(name, s.Var(f"{name} of a clause")) if given else s.Var(name)
        case s.Compound(name=name, args=args):
            return s.Compound(name, tuple(_put(arg, given) for arg in args))
        case s.ListTerm(items=items, tail=tail):
            rest = None if tail is None else _put(tail, given)
            return s.ListTerm(tuple(_put(item, given) for item in items), rest)
        case _:
            return term


def _event(term: s.Term) -> s.EventPattern:
    if isinstance(term, s.Compound):
        return s.EventPattern(term.name, term.args)
    assert isinstance(term, s.Const)
    return s.EventPattern(str(term.value), ())
