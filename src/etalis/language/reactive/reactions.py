"""The parts of reactions, and steps that stand where they cannot, or cannot be undone (definition 24.39 and on)."""

from __future__ import annotations

from collections.abc import Iterator

from etalis.errors import Problem
from etalis.language import syntax as s
from etalis.language.check import goals as g
from etalis.language.check.effects import correcting_flag, reach
from etalis.language.check.outline import Outline
from etalis.language.check.shapes import alarm_problems
from etalis.language.check.wording import kind, written
from etalis.language.flags import Settings
from etalis.language.reactive.reach import called_action, changes, done, has_effects
from etalis.language.reactive.sagas import find_recursive, waiting_actions, waits
from etalis.language.rules import events_in
from etalis.language.traversal import action_parts, actions_of, postorder

_LABEL = "write name rule: on ...: keys of effects are made of the label"
_WORDS = {("ins", 1), ("del", 1), ("set", 1), ("effect", 1), ("raise", 1), ("raise", 2)}
_CONSTRAINT = "the constraints of steps are happens(L) and never(L), L one of ins(F), del(F), raise(E), effect(C)"


def check_reactions(outline: Outline) -> Iterator[Problem]:
    """Yield what is wrong with the parts of reactions, constraints and actions."""
    for reaction, _ in outline.reactions:
        yield from _parts(reaction, outline)
    yield from _constraints(outline)
    yield from _awaits(outline)
    yield from _steps_as_events(outline)
    for step in outline.steps:
        if isinstance(step, s.SubjectTo):
            yield from _steps_constraint(step.constraint)
        elif isinstance(step, s.Composed) and step.operator == "or":
            yield from _choice(step, outline)
        elif isinstance(step, s.Raise) and step.after is not None:
            yield from alarm_problems(s.Alarm("after", step.after, step.span))
    yield from _unused(outline)
    yield from _left_recursive(outline)
    if outline.settings.corrects:
        yield from refuse_uncorrected(outline, outline.settings)


def _parts(reaction: s.Reaction, outline: Outline) -> Iterator[Problem]:
    if reaction.otherwise is not None and reaction.condition is None:
        message = "`else` without `if`: there is no condition that could have no solution"
        yield Problem("E280", message, reaction.otherwise.span, "an alternative to an action is written A or B")
    if reaction.label is None and any(has_effects(action, outline) for action in actions_of(reaction)):
        yield Problem("E281", "a reaction with effects needs a label", reaction.span, _LABEL)


def _constraints(outline: Outline) -> Iterator[Problem]:
    seen: set[str] = set()
    for item in outline.program.items:
        if not isinstance(item, s.Constraint):
            continue
        if item.label in seen:
            message = f"the label {item.label} is that of another constraint: nobody could tell which one is violated"
            yield Problem("E281", message, item.span, "give each constraint a label of its own")
        seen.add(item.label)
        if item.mode in ("around", "after") and item.duration is None:
            side = "" if item.mode == "around" else "after "
            message = "without a `within` it is never known that what is required will not come"
            yield Problem("E284", message, item.span, f"write P requires Q {side}within 10 min")


def _awaits(outline: Outline) -> Iterator[Problem]:
    """Yield what waits where everything must be done at once, as inside `par`, and what waits without end."""
    for again in find_recursive(outline.actions):
        clause = next(c for c in outline.actions[again] if waits(c.body, waiting_actions(outline.actions)))
        message = f"{kind(*again)} waits and calls itself: nothing says how often"
        yield Problem("E283", message, clause.head.span, "raise an event in place of the call, and react to it")
    for item in outline.program.items:
        undo = item.undo if isinstance(item, s.Reaction) else None
        waiting: list[tuple[s.Action, str]] = [
            (action, "undo" if action is undo else "") for action in actions_of(item)
        ]
        while waiting:
            node, inside = waiting.pop()
            key = called_action(node, outline)
            awaits = key is not None and any(isinstance(step, s.Await) for step in done(node, outline))
            if inside and (isinstance(node, s.Await) or awaits):
                what = "`await`" if key is None else f"{kind(*key)}, which waits,"
                message = f"{what} cannot stand inside of {inside}: it ends the transaction, and another goes on"
                yield Problem("E283", message, node.span, "put it in front of it or behind it, joined by seq")
            if isinstance(node, s.Await):
                yield from _rules_inside(node)
            waiting += [(part, _inside(node) or inside) for part in reversed(action_parts(node))]


def _rules_inside(node: s.Await) -> Iterator[Problem]:
    for part in postorder(node.pattern):
        if isinstance(part, s.SubRule):
            message = "a rule cannot stand inside of what is awaited"
            yield Problem("E283", message, part.span, "write it as a rule of its own, and await its head")


def _inside(node: s.Action) -> str:
    match node:
        case s.Composed(operator="par"):
            return "par"
        case s.IsoAction():
            return "iso"
        case s.Possibility(holds=holds):
            return "possible" if holds else "impossible"
        case s.SubjectTo():
            return "subject_to"
        case _:
            return ""


def _steps_as_events(outline: Outline) -> Iterator[Problem]:
    if not any(isinstance(item, s.Reaction | s.ActionClause | s.Constraint) for item in outline.program.items):
        return
    for rule in outline.rules:
        for event in events_in(rule.pattern):
            key = event.name, len(event.args)
            if key in _WORDS and key not in outline.made:
                message = f"`{event.name}` is a step of an action, and stands in a pattern here"
                hint = f"steps stand behind `do`; if {kind(*key)} is an event that comes in, declare it"
                yield Problem("E286", message, event.span, hint)


def _steps_constraint(constraint: s.Term) -> Iterator[Problem]:
    for part in g.conjuncts(constraint):
        match part:
            case s.Compound(
                name="happens" | "never", args=(s.Compound(name="ins" | "del" | "raise" | "effect", args=(_,)),)
            ):
                continue
            case s.Compound(name="before"):
                message = f"{written(part)} is no constraint of steps"
                yield Problem("E285", message, part.span, "an order of steps is written with seq")
            case _:
                yield Problem("E285", f"{written(part)} is no constraint of steps", part.span, _CONSTRAINT)


def _choice(step: s.Composed, outline: Outline) -> Iterator[Problem]:
    if has_effects(step.left, outline) and has_effects(step.right, outline):
        message = "with an outbox this `or` never goes on to its second effect: effects are made after the choice"
        hint = "with an outbox listen to undelivered(Label, Effect), and choose there"
        yield Problem("W254", message, step.span, hint)


def _unused(outline: Outline) -> Iterator[Problem]:
    """Yield the actions that no reaction comes to."""
    if not outline.reactions:
        return
    used: set[g.Indicator] = set()
    for reaction, _ in outline.reactions:
        for action in actions_of(reaction):
            used |= {key for node in _reached(action, outline) if (key := called_action(node, outline)) is not None}
    exported = {name for item in outline.program.items if isinstance(item, s.Export) for name in item.names}
    for key, clauses in outline.actions.items():
        if key not in used | exported:
            yield Problem("W255", f"no reaction comes to the action {kind(*key)}", clauses[0].head.span)


def _reached(action: s.Action, outline: Outline) -> Iterator[s.Action]:
    """Yield the nodes that an action comes to, in tests too."""
    for node in done(action, outline):
        yield node
        if isinstance(node, s.Possibility):
            yield from _reached(node.action, outline)


def _left_recursive(outline: Outline) -> Iterator[Problem]:
    """Yield clauses that begin with the call that they are the answer to."""
    for clauses in outline.actions.values():
        for clause in clauses:
            node = clause.body
            while isinstance(node, s.Composed) and node.operator == "seq":
                node = node.left
            if isinstance(node, s.Perform) and node.goal == clause.head:
                message = f"{written(clause.head)} begins with itself, so nothing has changed when it is called again"
                yield Problem("W256", message, node.span, "put the call behind what it waits for: p(X) seq drain")


def refuse_uncorrected(outline: Outline, settings: Settings) -> Iterator[Problem]:
    """Yield what cannot be taken back where matches are (definition 24.40)."""
    flag = correcting_flag(settings)
    for reaction, _ in outline.reactions:
        if reaction.undo is None and changes(reaction.action, outline):
            message = f"under {flag} a match may be taken back, and nothing says how this reaction is undone"
            yield Problem("E282", message, reaction.span, "add undo Action; `undo skip` says that what is done stays")
        if reaction.otherwise is not None and any(map(_acts, done(reaction.otherwise, outline))):
            message = f"under {flag} a match may be taken back, and nothing undoes what stands behind `else`"
            yield Problem("E282", message, reaction.otherwise.span, "write a reaction of its own, with undo")
    for rule in outline.derivations:
        for goal in (node.goal for node in postorder(rule.pattern) if isinstance(node, s.Condition)):
            asked = [key for key in reach(goal, outline)[0] if key in outline.state]
            if asked:
                message = f"under {flag} events are run again, and {kind(*asked[0])} is then no longer what it was"
                yield Problem("E282", message, goal.span, "ask for state behind `if`, or in the action")


def _acts(node: s.Action) -> bool:
    return isinstance(node, s.FactChange | s.Raise | s.Effect)
