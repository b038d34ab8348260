"""Predicates that goals call: are they defined, and do conditions have side effects?

A condition is tested for every candidate, also for those that do not match in the end, so an effect in it happens at
times that depend on the policy; definition 20.5 refuses them because revision and sharding cannot repeat or
reorder them.
"""

from __future__ import annotations

from collections.abc import Iterator

from etalis.errors import Problem
from etalis.language.check.goals import BUILTINS, SIDE_EFFECTS, TIMES, Call, Indicator
from etalis.language.check.outline import Outline
from etalis.language.check.spelling import suggest
from etalis.language.check.unavailable import ELSEWHERE, REFUSED_GOALS
from etalis.language.check.wording import counted, kind
from etalis.language.lint.foreign_words import FOREIGN_GOALS
from etalis.language.syntax import Condition


def check_knowledge(outline: Outline) -> Iterator[Problem]:
    """Yield calls of predicates that nobody defines, and conditions with side effects."""
    told = (BUILTINS, outline.predicates, FOREIGN_GOALS, outline.actions)
    seen: set[Indicator] = set()
    for call, role in outline.called:
        key = call.indicator
        if key in seen or any(key in several for several in told) or (key in TIMES and role in ("check", "clause")):
            continue
        seen.add(key)
        yield _unknown(call, outline.predicates | BUILTINS, outline, role)
    for call, effect in side_effects(outline):
        by = "" if effect == call.indicator else f": it calls {kind(*effect)}"
        message = (
            f"{kind(*call.indicator)} in a condition has a side effect{by}; it also runs for candidates that fail later"
        )
        yield Problem("W210", message, call.span, "put it behind `do`, which runs once per match")


def _unknown(call: Call, known: frozenset[Indicator], outline: Outline, role: str) -> Problem:
    if call.indicator in TIMES:
        message = f"{kind(*call.indicator)} has a value behind `check` only"
        return Problem("W207", message, call.span, "write `check` in place of `where`")
    if call.indicator in REFUSED_GOALS:
        message = f"{kind(*call.indicator)} cannot be called from a program"
        return Problem("W207", message, call.span, REFUSED_GOALS[call.indicator])
    callable_too = frozenset(outline.actions) if role == "test" else frozenset()
    known = known | callable_too
    arities = sorted(n for name, n in known if name == call.name)
    if arities:
        hint = f"{call.name} takes {counted(arities[0], 'argument')}"
    elif call.indicator in outline.known and role == "action":
        hint = f"{kind(*call.indicator)} is an event; an action raises one by event({call.name}(...))"
    elif call.indicator in outline.known and role == "test":
        hint = f"{kind(*call.indicator)} is an event; an action raises one by raise({call.name}(...))"
    elif call.indicator in outline.known:
        hint = f"{kind(*call.indicator)} is an event; a condition sees facts and clauses only"
    elif call.name in ELSEWHERE:
        hint = ELSEWHERE[call.name]
    elif role == "clause" and not outline.rules:
        hint = "a clause calls facts; a rule over events is written Head <- Pattern"
    else:
        otherwise = f"add facts or clauses for {call.name}, or declare it: `:- dynamic {kind(*call.indicator)}.`"
        hint = suggest(call.name, {name for name, _ in known}, otherwise) or otherwise
    return Problem("W207", f"unknown predicate {kind(*call.indicator)}: nothing defines it", call.span, hint)


def side_effects(outline: Outline) -> Iterator[tuple[Call, Indicator]]:
    """Yield the calls in conditions that change something, each with the effect they have at last."""
    for rule in outline.rules:
        for node in outline.walk(rule).of(Condition):
            for call in outline.calls_in(node.goal):
                effect = effect_of(call.indicator, outline)
                if effect is not None:
                    yield call, effect


def effect_of(key: Indicator, outline: Outline) -> Indicator | None:
    """Return the side effect that calling a predicate has at last, None if it has none."""
    seen = {key}
    waiting = [key]
    while waiting:
        step = waiting.pop()
        if step in SIDE_EFFECTS and step not in outline.calls:
            return step
        more = sorted(outline.calls.get(step, frozenset()) - seen)
        seen.update(more)
        waiting.extend(reversed(more))
    return None
