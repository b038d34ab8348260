"""Renames the events, predicates, actions and labels of a file, wherever they are used as such.

Effects are the host's, and keep their names. So do `violated` and `undelivered`, the events that tell of labels, in a
file that has such labels: there the label in front of their attributes is renamed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import assert_never

from etalis.language import syntax as s
from etalis.language.check import goals as g
from etalis.language.traversal import rewrite, rewrite_action, rewrite_term, with_actions, with_patterns

Rename = Callable[[str, int | None], str]  # of an event with named attributes, the arity is not known yet

_FIXED = g.CONTROL | g.SIDE_EFFECTS | g.BUILTINS | g.TIMES


@dataclass(frozen=True, slots=True)
class _Labels:
    """What labels get in front, and those of the file, by the events that tell of them."""

    prefix: str
    told: Mapping[str, frozenset[str]]

    def of(self, label: str | None) -> str | None:
        return None if label is None else self.prefix + label

    def event(self, pattern: s.EventPattern) -> s.EventPattern:
        match pattern.args:
            case (s.Const(value=str() as word) as first, *rest) if word in self.told.get(pattern.name, ()):
                return replace(pattern, args=(replace(first, value=self.prefix + word), *rest))
            case _:
                return pattern


def rename_items(items: Iterable[s.Item], new: Rename, label: str) -> list[s.Item]:
    """Return clauses with `new(name, arity)` for the name of each event and predicate, and a prefix on each label."""
    several = list(items)
    told = {
        "violated": frozenset(item.label for item in several if isinstance(item, s.Constraint)),
        "undelivered": frozenset(item.label for item in several if isinstance(item, s.Reaction) and item.label),
    }
    labels = _Labels(label, told)

    def renamed(name: str, arity: int | None) -> str:
        return name if told.get(name) else new(name, arity)

    return [_renamed(item, renamed, labels) for item in several]


def _renamed(item: s.Item, new: Rename, label: _Labels) -> s.Item:
    match item:
        case s.Rule():
            return _rule(item, new, label)
        case s.LabelProperty():
            return replace(item, label=label.prefix + item.label)
        case s.Clause(head=head, body=body):
            return replace(item, head=_goal(head, new), body=None if body is None else _goal(body, new))
        case s.Trigger(pattern=pattern, names=names, body=body):
            is_named = isinstance(pattern, s.Compound) and bool(names)
            renamed = _named_trigger(pattern, new) if is_named else _trigger(pattern, new)
            return replace(item, pattern=renamed, body=None if body is None else _goal(body, new))
        case s.EventDeclaration(name=name, attributes=attributes):
            return replace(item, name=new(name, len(attributes)))
        case s.Declare(names=names) | s.Export(names=names):
            return replace(item, names=tuple((new(name, arity), arity) for name, arity in names))
        case s.KnowledgeDeclaration(facts=facts):
            return replace(item, facts=tuple(_fact_kind(*fact, new) for fact in facts))
        case s.Initially(goal=goal):
            return replace(item, goal=_goal(goal, new))
        case s.SetFlag() | s.Import():
            return item
        case s.Reaction() | s.ActionClause() | s.Always() | s.Constraint() | s.StateDeclaration():
            return _reactive(item, new, label)
        case _:
            assert_never(item)


def _reactive(item: s.ReactiveItem, new: Rename, label: _Labels) -> s.Item:
    def change(node: s.Action) -> s.Action:
        return _action(node, new)

    found = with_patterns(item, lambda pattern: rewrite(pattern, lambda node: _pattern(node, new, label)))
    found = with_actions(found, lambda action: rewrite_action(action, change))
    match found:
        case s.Reaction(condition=goal):
            return replace(found, condition=None if goal is None else _goal(goal, new), label=label.of(found.label))
        case s.ActionClause(head=head):
            return replace(found, head=_goal(head, new))
        case s.Always(goal=goal):
            return replace(found, goal=_goal(goal, new))
        case s.Constraint():
            return replace(found, label=label.prefix + found.label)
        case s.StateDeclaration(predicates=predicates):
            return replace(found, predicates=tuple((new(name, arity), arity, key) for name, arity, key in predicates))
        case _:
            raise AssertionError(found)


def _action(node: s.Action, new: Rename) -> s.Action:
    match node:
        case s.FactChange(fact=fact):
            return replace(node, fact=_name(fact, new))
        case s.Raise(event=event):
            return replace(node, event=_name(event, new))
        case s.Perform(goal=goal):
            return replace(node, goal=_goal(goal, new))
        case s.SubjectTo(constraint=constraint):
            return replace(node, constraint=rewrite_term(constraint, lambda _, term: _step(term, new)))
        case _:
            return node


def _step(term: s.Term, new: Rename) -> s.Term:
    """Rename what a step in the constraint of an action changes or raises."""
    match term:
        case s.Compound(name="ins" | "del" | "set" | "raise", args=(fact,)):
            return replace(term, args=(_name(fact, new),))
        case _:
            return term


def _fact_kind(name: str, arity: int, remover: str | None, new: Rename) -> tuple[str, int, str | None]:
    return new(name, arity), arity, None if remover is None else new(remover, arity)


def _rule(rule: s.Rule, new: Rename, label: _Labels) -> s.Rule:
    return replace(
        rule,
        head=_event(rule.head, new),
        pattern=rewrite(rule.pattern, lambda node: _pattern(node, new, label)),
        label=label.of(rule.label),
        action=None if rule.action is None else _goal(rule.action, new),
    )


def _event(pattern: s.EventPattern, new: Rename) -> s.EventPattern:
    return replace(pattern, name=new(pattern.name, None if pattern.names else len(pattern.args)))


def _pattern(node: s.Pattern, new: Rename, label: _Labels) -> s.Pattern:
    match node:
        case s.EventPattern():
            return _event(label.event(node), new)
        case s.SubRule(rule=rule):
            return replace(node, rule=_rule(rule, new, label))
        case s.Condition(goal=goal):
            return replace(node, goal=_goal(goal, new))
        case s.Do(action=action):
            return replace(node, action=_goal(action, new))
        case _:
            return node


def _named_trigger(pattern: s.Term, new: Rename) -> s.Term:
    assert isinstance(pattern, s.Compound)
    return replace(pattern, name=new(pattern.name, None))


def _trigger(pattern: s.Term, new: Rename) -> s.Term:
    match pattern:
        case s.Compound(
            name="/", args=(s.Const(value=str() as name) as first, s.Const(value=int() as arity) as second)
        ):
            return replace(pattern, args=(replace(first, value=new(name, arity)), second))
        case s.Compound(name="/", args=(s.Const(value=str() as name) as first, s.Var() as second)):
            return replace(pattern, args=(replace(first, value=new(name, None)), second))
        case s.Const(value="all_events" | "all_defined_events") | s.Compound(name="/"):
            return pattern
        case _:
            return _call(pattern, new)


def _goal(goal: s.Term, new: Rename) -> s.Term:
    """Rename the predicates that a goal calls, those whose clauses it changes, and the events it raises."""
    called: set[int] = set()
    raised: set[int] = set()
    waiting = [goal]
    while waiting:
        node = waiting.pop()
        key = g.indicator(node)
        if key is None:
            continue
        called.add(id(node))
        if isinstance(node, s.Compound):
            positions = g.GOAL_ARGUMENTS.get(key) or ((0,) if key in g.CHANGES_CLAUSES else ())
            waiting.extend(node.args[i] for i in positions)
            raised.update([id(node.args[0])] if key in g.RAISES else [])

    def rename(old: s.Term, now: s.Term) -> s.Term:
        if id(old) in raised:
            return _name(now, new)
        return _call(now, new) if id(old) in called else now

    return rewrite_term(goal, rename)


def _call(term: s.Term, new: Rename) -> s.Term:
    key = g.indicator(term)
    return term if key is None or key in _FIXED else _name(term, new)


def _name(term: s.Term, new: Rename) -> s.Term:
    match term:
        case s.Compound(name=name, args=args):
            return replace(term, name=new(name, len(args)))
        case s.Const(value=str() as name):
            return replace(term, value=new(name, 0))
        case _:
            return term
