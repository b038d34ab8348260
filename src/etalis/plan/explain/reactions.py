"""Reactions in words: what they do, over which state, by which actions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from etalis.language import syntax as s
from etalis.language.check.wording import kind as kind_text
from etalis.language.printer import print_action, print_term
from etalis.language.reactive.sagas import as_written
from etalis.language.rules import action_clauses, state_predicates
from etalis.plan.explain.describe import DescribedRule


def with_actions(rules: Iterable[DescribedRule], tree: s.Tree) -> Iterator[DescribedRule]:
    """Yield rules, those of reactions with what they do."""
    several = [item for item in tree.items if isinstance(item, s.Reaction)]
    reactions = iter(several)
    for rule in rules:
        yield replace(rule, details=(*rule.details, *_parts(next(reactions), several))) if rule.hidden else rule


def _parts(reaction: s.Reaction, reactions: Sequence[s.Reaction]) -> Iterator[str]:
    if reaction.part is not None:
        place = "where nothing has come of" if reaction.part.is_end else "behind"
        yield f"{place} {print_action(reaction.part.awaited)}"
    if reaction.condition is not None:
        yield f"if {print_term(reaction.condition)}"
    several = (("do", reaction.action), ("else", reaction.otherwise), ("undo", reaction.undo))
    written = [(word, as_written(action, reactions)) for word, action in several if action is not None]
    yield from (f"{word} {print_action(action)}" for word, action in written)


def describe_state(tree: s.Tree) -> Iterator[tuple[str, ...]]:
    """Yield the state predicates, with their keys."""
    for (name, arity), key in state_predicates(tree).items():
        yield kind_text(name, arity), "a set" if key is None else f"one fact for each value of the first {key}"


def describe_actions(tree: s.Tree) -> Iterator[tuple[str, ...]]:
    """Yield the actions that a program defines."""
    for (name, arity), clauses in action_clauses(tree).items():
        yield kind_text(name, arity), f"{len(clauses)} clause{'' if len(clauses) == 1 else 's'}"
