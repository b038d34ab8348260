"""What an action comes to by way of the actions that it calls: its steps, effects, changes and awaited patterns."""

from __future__ import annotations

from collections.abc import Iterator

from etalis.language import syntax as s
from etalis.language.check import goals as g
from etalis.language.check.outline import Outline
from etalis.language.traversal import action_parts, actions_of, walk_action


def called_action(node: s.Action, outline: Outline) -> g.Indicator | None:
    """Return the action that a step calls, None if it calls none."""
    key = g.indicator(node.goal) if isinstance(node, s.Perform) else None
    return key if key in outline.actions else None


def done(action: s.Action, outline: Outline) -> Iterator[s.Action]:
    """Yield the nodes that an action may execute: those inside of tests are not."""
    seen: set[g.Indicator] = set()
    waiting = [action]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, s.Possibility):
            continue
        key = called_action(node, outline)
        if key is not None and key not in seen:
            seen.add(key)
            waiting.extend(clause.body for clause in reversed(outline.actions[key]))
        waiting.extend(reversed(action_parts(node)))


def has_effects(action: s.Action, outline: Outline) -> bool:
    """Tell whether an action may make an effect."""
    return any(isinstance(node, s.Effect) for node in done(action, outline))


def changes(action: s.Action, outline: Outline) -> bool:
    """Tell whether an action may change a fact."""
    return any(isinstance(node, s.FactChange) for node in done(action, outline))


def raises_later(program: s.Tree) -> bool:
    """Tell whether a program's actions may raise events for later."""
    nodes = (node for item in program.items for action in actions_of(item) for node in walk_action(action))
    return any(isinstance(node, s.Raise) and node.after is not None for node in nodes)
