"""Reactions that may cause themselves without end: they raise what, by way of event rules, they react to.

A cycle is bounded by whatever may fail: a condition, a test before the event is raised, a partner from outside that a
policy consumes. Only one that has nothing of it is reported.
"""

from __future__ import annotations

from collections.abc import Iterator

from etalis.errors import Problem
from etalis.language import syntax as s
from etalis.language.check import goals as g
from etalis.language.check.outline import Outline
from etalis.language.check.recursion import Edge, find_cycles, flows
from etalis.language.check.wording import kind, listing, rule_name
from etalis.language.reactive.reach import called_action
from etalis.language.traversal import action_parts, postorder
from etalis.temporal.relation import relations

_HINT = "ask before it acts, by `if` or by a test; otherwise only max_reactions stops it, with an error"


def check_cycles(outline: Outline) -> Iterator[Problem]:
    """Yield one warning for each group of reactions that may cause each other without end."""
    if not any(isinstance(step, s.Raise) for step in outline.steps):
        return
    for cycle in find_cycles(list(_edges(outline))):
        acting = {edge.rule.label: edge.rule for edge in cycle if edge.rule.hidden}
        if acting:
            events = listing(dict.fromkeys(kind(*edge.target) for edge in cycle))
            which = listing(rule_name(rule) for rule in acting.values())
            verb = "causes itself" if len(acting) == 1 else "cause each other"
            message = f"{which} {verb} without end, by way of {events}: nothing in the cycle can fail"
            yield Problem("W253", message, next(iter(acting.values())).span, _HINT)


def _edges(outline: Outline) -> Iterator[Edge]:
    table = relations(outline.settings.relations)
    targets = {id(rule): _raised(reaction, outline) for reaction, rule in outline.reactions}
    for rule in outline.rules:
        if any(isinstance(node, s.Condition) for node in postorder(rule.pattern)):
            continue
        made = targets.get(id(rule), ()) if rule.hidden else ((rule.head.name, len(rule.head.args)),)
        policy, _ = outline.rule_settings(rule)
        for flow in flows(rule.pattern, policy, table) if made else ():
            if flow.again:
                yield from (Edge(flow, target, rule) for target in made)


def _raised(reaction: s.Reaction, outline: Outline) -> tuple[g.Indicator, ...]:
    """Return the events that a reaction raises whatever it finds."""
    if reaction.condition is not None:
        return ()
    found: dict[g.Indicator, None] = {}
    seen: set[g.Indicator] = set()
    waiting = [reaction.action]
    while waiting:
        node = waiting.pop()
        key = called_action(node, outline)
        match node:
            case s.Perform() if key is None:
                waiting.clear()  # what follows a test depends on it
            case s.Possibility() | s.Abort() | s.Await():
                waiting.clear()
            case s.Perform():
                if key is not None and key not in seen and len(outline.actions[key]) == 1:
                    seen.add(key)
                    waiting.append(outline.actions[key][0].body)
            case s.Raise(event=event):
                raised = g.indicator(event)
                found.update({} if raised is None else {raised: None})
            case s.IfThenElse() | s.SubjectTo():
                pass
            case s.Composed(operator="or"):
                waiting.append(node.left)
            case _:
                waiting += reversed(action_parts(node))
    return tuple(found)
