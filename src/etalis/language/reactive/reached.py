"""What an action comes to: its own steps, and those of the actions that it calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from etalis.language import syntax as s
from etalis.language.check.goals import Indicator, indicator
from etalis.language.traversal import actions_of, walk_action

Actions: TypeAlias = Mapping[Indicator, Sequence[s.ActionClause]]


def action_clauses(program: s.Tree) -> Actions:
    """Return the clauses of a program's actions, by name and arity."""
    found: dict[Indicator, list[s.ActionClause]] = {}
    for item in program.items:
        if isinstance(item, s.ActionClause) and (key := indicator(item.head)) is not None:
            found.setdefault(key, []).append(item)
    return found


def reached_steps(several: Iterable[s.Action], actions: Actions) -> list[s.Action]:
    """Return all parts of some actions and of those that they call, each clause once."""
    found: list[s.Action] = []
    seen: set[Indicator] = set()
    waiting = [*several]
    while waiting:
        for node in walk_action(waiting.pop()):
            found.append(node)
            key = indicator(node.goal) if isinstance(node, s.Perform) else None
            if key is not None and key in actions and key not in seen:
                seen.add(key)
                waiting += [clause.body for clause in actions[key]]
    return found


def has_effects(reaction: s.Reaction, actions: Actions) -> bool:
    """Tell whether a reaction may do something outside."""
    return any(isinstance(step, s.Effect) for step in reached_steps(actions_of(reaction), actions))


def raises_later(program: s.Tree) -> bool:
    """Tell whether reactions may raise events for later."""
    steps = reached_steps([action for item in program.items for action in actions_of(item)], {})
    return any(isinstance(step, s.Raise) and step.after is not None for step in steps)
