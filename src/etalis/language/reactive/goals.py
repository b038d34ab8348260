"""Goals of actions: tests have no side effect, and names mean one thing (definition 24.9)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from etalis.errors import Problem
from etalis.language import syntax as s
from etalis.language.check import goals as g
from etalis.language.check.effects import is_unwritten
from etalis.language.check.knowledge import effect_of
from etalis.language.check.outline import Outline
from etalis.language.check.signatures import typed_event
from etalis.language.check.wording import kind
from etalis.language.read.actions import FORMS

_TESTS = frozenset({"if", "test", "always"})
_EFFECT = "what is done outside is an effect: effect(name(X))"
_COUNT = "a count is state: `:- state count/2 key 1.` and set(count(c, N))"
_INSTEAD: Mapping[str, str] = MappingProxyType(
    dict.fromkeys(("assert", "asserta", "assertz", "ins_static_rule"), "a fact is added by the step ins(Fact)")
    | dict.fromkeys(("retract", "retractall", "abolish", "del_static_rule"), "a fact is deleted by the step del(Fact)")
    | dict.fromkeys(("ins", "del"), "facts change by steps of their own, outside of goals")
    | {"event": "an event is raised by the step raise(Event)"}
    | dict.fromkeys(("incCounter", "resetCounter", "set_flag", "flag", "nb_setval", "b_setval"), _COUNT)
)
_WORDS = frozenset(FORMS) | {"skip", "abort"}


def check_tests(outline: Outline) -> Iterator[Problem]:
    """Yield tests that would change something, and names of actions that mean something else too."""
    for call, role in outline.called:
        if role in _TESTS:
            yield from _side_effects(call, outline, role)
        if call.indicator in outline.actions and call.indicator not in outline.predicates:
            yield _called(call, role)
    for key, clauses in outline.actions.items():
        yield from _names(key, clauses[0], outline)
    for step in outline.steps:
        if isinstance(step, s.Raise):
            args = step.event.args if isinstance(step.event, s.Compound) else ()
            name, _ = g.indicator(step.event) or ("", 0)
            yield from typed_event(s.EventPattern(name, args, step.event.span), outline)


def _side_effects(call: g.Call, outline: Outline, role: str) -> Iterator[Problem]:
    what = "a test" if role == "test" else "the condition of a reaction" if role == "if" else "`always`"
    effect = effect_of(call.indicator, outline)
    if effect is not None:
        by = "" if effect == call.indicator else f": it calls {kind(*effect)}"
        message = f"{kind(*call.indicator)} in {what} has a side effect{by}; it is asked of ways that are given up, too"
        yield Problem("E277", message, call.span, _INSTEAD.get(effect[0], _EFFECT))
    elif is_unwritten(call):
        message = f"{what} calls a goal that is not written down, so it may have a side effect"
        yield Problem("E277", message, call.span, "write the goal itself")


def _called(call: g.Call, role: str) -> Problem:
    name = kind(*call.indicator)
    if role == "test":
        hint = "write it as a step of its own; whether it can be done is asked by possible(Action)"
    elif role == "if":
        hint = "it stands behind `do`; whether it can be done is asked by a step, possible(Action)"
    else:
        hint = "an action is done by a reaction: on Pattern do Action"
    return Problem("E279", f"{name} is an action, which no goal can call", call.span, hint)


def _names(key: g.Indicator, clause: s.ActionClause, outline: Outline) -> Iterator[Problem]:
    hint = "give one of them another name"
    place = clause.head.span or clause.span
    if key in outline.state:
        yield Problem("E278", f"{kind(*key)} is an action and a predicate of state", place, hint)
    elif key in outline.predicates:
        yield Problem("E278", f"{kind(*key)} is an action and a predicate", place, hint)
    elif key in g.BUILTINS | g.TIMES or key in g.GOAL_ARGUMENTS:
        message = f"{kind(*key)} is a predicate of the language and cannot be an action"
        yield Problem("E278", message, place, "give the action another name")
    elif key[0] in _WORDS:
        message = f"`{key[0]}` is a word of actions and cannot be defined"
        yield Problem("E278", message, place, "give the action another name")
