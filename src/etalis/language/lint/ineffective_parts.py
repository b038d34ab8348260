"""Absences that can never block and windows inside shorter ones: parts of a rule that change nothing.

`cnot` and `iso` look strictly inside a match. There is nothing inside an instant, and nothing longer fits into what a
window bounds; a received event counts as an instant where nothing in the program needs it to be longer. Law: but for
received events that come as intervals, the results are the same without what is found here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from math import inf

from etalis.errors import Problem
from etalis.language import syntax as s
from etalis.language.check.goals import Indicator
from etalis.language.check.wording import pattern_text, seconds
from etalis.language.lint.blocking import core_of
from etalis.language.lint.extent import ANYWHERE, INSTANT, at_least, relate
from etalis.language.lint.satisfiability import Extents, Occurrence, kind_of
from etalis.language.reactive.constraints import tells_violation
from etalis.language.traversal import children
from etalis.temporal.relation import Relation


def find_vain(
    rule: s.Rule, extents: Extents, occurrence: Occurrence, stretched: frozenset[Indicator]
) -> Iterator[Problem]:
    """Yield absences that can never block, and windows inside shorter ones."""
    if not occurrence.outline.walk(rule).has(s.Within, s.Negation, s.Isolated, s.NotWithin):
        return
    _, around = occurrence.outline.rule_settings(rule)
    waiting: list[tuple[s.Pattern, int | None, int | None]] = [(rule.pattern, occurrence.window_of(rule), around)]
    while waiting:
        node, window, written = waiting.pop()
        inner = window
        match node:
            case s.Within(duration=duration):
                if written is not None and duration > written and not isinstance(core_of(node), s.Aggregate):
                    larger = f"this window of {seconds(duration)} changes nothing"
                    message = f"{larger}: one of {seconds(written)} is around it"
                    yield Problem("W232", message, node.span, "leave one of them out, or make the inner one shorter")
                inner = duration if window is None else min(window, duration)
                written = duration if written is None else min(written, duration)
            case s.Negation() | s.Isolated() | s.NotWithin():
                found = _never_blocks(node, window, extents, occurrence, stretched)
                requires = tells_violation(rule) and node is rule.pattern and not isinstance(node, s.Isolated)
                yield from map(_never_fulfilled, found) if requires else found
        parts = children(node)
        for i, part in enumerate(parts):
            negated = i == 1 and isinstance(node, s.Negation | s.NotWithin)
            waiting.append((part, None, None) if negated else (part, inner, written))


def _never_blocks(
    node: s.Negation | s.Isolated | s.NotWithin,
    window: int | None,
    extents: Extents,
    occurrence: Occurrence,
    stretched: frozenset[Indicator],
) -> Iterator[Problem]:
    left = extents[id(node.pattern)]
    absent = ANYWHERE if isinstance(node, s.Isolated) else extents[id(node.absent)]
    if left is None or absent is None or id(node) in occurrence.dead:
        return
    least = absent.length[0]
    match node:
        case s.NotWithin(duration=duration, before=before) if duration > 0 and least > _room(duration, before):
            longer = f"{pattern_text(node.absent)} lasts {at_least(absent)}"
            message = f"the absence always holds: {longer}, so none fits into {seconds(duration + (before or 0))}"
            yield Problem("W229", message, node.span, "name the event that must not occur, or wait longer")
        case s.Negation(operator="fnot", window=own) if 0 < (back := _least(window, own)) < least + 1:
            longer = f"{pattern_text(node.absent)} lasts {at_least(absent)}"
            message = f"`fnot` never forbids anything: {longer}, and the window is {seconds(back)}"
            yield Problem("W229", message, node.span, "name the event that must not occur, or widen the window")
        case s.Isolated() | s.Negation(operator="cnot"):
            instant = left.length[1] == 0 and isinstance(core_of(node.pattern), s.EventPattern)
            if instant or _single(node.pattern, occurrence, stretched):
                yield _nothing_inside(node)
            elif least + 2 > min(left.length[1], inf if window is None else window):
                word = "iso" if isinstance(node, s.Isolated) else "cnot"
                inside = f"what it looks for is too long to lie inside {pattern_text(node.pattern)}"
                hint = "name the event that must not occur, or widen the window"
                yield Problem("W229", f"`{word}` never forbids anything: {inside}", node.span, hint)


def _room(duration: int, before: int | None) -> int:
    """Return how long what must be absent can be."""
    return duration - 1 if before is None else duration + before


def _least(*windows: int | None) -> float:
    return min((w for w in windows if w is not None), default=inf)


def _never_fulfilled(found: Problem) -> Problem:
    """Say of a constraint that what it requires never fits."""
    reason = found.message.partition(": ")[2]
    hint = "name another event that is required, or give it more time"
    return replace(found, message=f"nothing can fulfil this constraint: {reason}", hint=hint)


def _single(pattern: s.Pattern, occurrence: Occurrence, stretched: frozenset[Indicator]) -> bool:
    """Tell whether a pattern is one received event, which nothing suggests to be longer than an instant."""
    longer = occurrence.outline.derived | stretched
    waiting = [pattern]
    while waiting:
        core = core_of(waiting.pop())
        if isinstance(core, s.Or):
            waiting += (core.left, core.right)
        elif not isinstance(core, s.EventPattern) or kind_of(core) in longer:
            return False
    return True


def _nothing_inside(node: s.Negation | s.Isolated) -> Problem:
    event = pattern_text(core_of(node.pattern))
    why = f"{event} is one event, and nothing lies inside an instant"
    if isinstance(node, s.Isolated):
        return Problem(
            "W229", f"`iso` changes nothing: {why}", node.span, "write the whole pattern inside: iso(a seq b)"
        )
    after = f"{event} seq (not {pattern_text(node.absent)} within Duration)".replace("`", "")
    hint = f"for none afterwards write `{after}`, for none before `fnot`, for none between two `(a seq b) cnot c`"
    return Problem("W229", f"`cnot` never forbids anything: {why}", node.span, hint)


def find_stretched(occurrence: Occurrence) -> frozenset[Indicator]:
    """Return the events that the program puts where only an interval fits."""
    found: set[Indicator] = set()
    for rule in occurrence.outline.rules:
        for node in occurrence.outline.walk(rule).of(s.Binary):
            longer = _needs_length(occurrence.table[node.operator])
            cores = [core_of(side) for side, needs in zip((node.left, node.right), longer, strict=True) if needs]
            found.update(kind_of(core) for core in cores if isinstance(core, s.EventPattern))
    return frozenset(found)


@cache
def _needs_length(row: Relation) -> tuple[bool, bool]:
    """Tell of each side of a relation whether it cannot be an instant."""
    return relate(row, INSTANT, ANYWHERE) is None, relate(row, ANYWHERE, INSTANT) is None
