"""Reactions in words: what they do, over which state, by which actions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from etalis.language import syntax as s
from etalis.language.check.wording import kind as kind_text
from etalis.language.printer import print_action, print_term
from etalis.language.rules import action_clauses, state_predicates
from etalis.plan.explain.describe import DescribedRule


def with_actions(rules: Iterable[DescribedRule], tree: s.Tree) -> Iterator[DescribedRule]:
    """Yield rules, those of reactions with what they do."""
    reactions = (item for item in tree.items if isinstance(item, s.Reaction))
    for rule in rules:
        yield replace(rule, details=(*rule.details, *_parts(next(reactions)))) if rule.hidden else rule


def _parts(reaction: s.Reaction) -> Iterator[str]:
    if reaction.condition is not None:
        yield f"if {print_term(reaction.condition)}"
    several = (("do", reaction.action), ("else", reaction.otherwise), ("undo", reaction.undo))
    yield from (f"{word} {print_action(action)}" for word, action in several if action is not None)


def describe_state(tree: s.Tree) -> Iterator[tuple[str, ...]]:
    """Yield the state predicates, with their keys."""
    for (name, arity), key in state_predicates(tree).items():
        yield kind_text(name, arity), "a set" if key is None else f"one fact for each value of the first {key}"


def describe_actions(tree: s.Tree) -> Iterator[tuple[str, ...]]:
    """Yield the actions that a program defines."""
    for (name, arity), clauses in action_clauses(tree).items():
        yield kind_text(name, arity), f"{len(clauses)} clause{'' if len(clauses) == 1 else 's'}"
