"""Triggers: which events are reported (definition 8.10), as a test per kind of event.

A trigger names kinds (`f/n`, `_/n`, `_/_`, `_`, `all_events`) or is a term that an event must match; with a body, those
events are meant for which it holds. Law: what a body asks does not change while a program runs (E241), so the answer
is the same whenever an event is looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from etalis.language.check.names import triggered
from etalis.language.reactive.wait_names import is_of_wait
from etalis.language.syntax import Compound, Const, Term, Trigger, Var
from etalis.language.traversal import variables
from etalis.plan import algebra as p
from etalis.runtime.codegen.conditions import Conditions
from etalis.runtime.codegen.passing import Passing
from etalis.runtime.codegen.source import Code
from etalis.runtime.codegen.terms import match_arguments
from etalis.runtime.state import Reported

_DEFINED = Const("all_defined_events")


def find_reported(triggers: Sequence[Trigger], name: str, arity: int, conditions: Conditions | None = None) -> Reported:
    """Tell which events of a kind that rules make are reported; without triggers, all.

    Where nobody asks of single events, `conditions` may be left out.
    """
    return not triggers or _either([_test(t, name, arity, conditions) for t in triggers])


def find_raised(triggers: Sequence[Trigger], name: str, arity: int, conditions: Conditions) -> Reported:
    """Tell which events of a kind that goals raise are reported; a trigger for all that rules define names none."""
    if is_of_wait(name):
        return False
    return _either([_test(t, name, arity, conditions) for t in triggers if t.pattern != _DEFINED])


def _either(tests: Sequence[Reported]) -> Reported:
    if True in tests:
        return True
    some = [test for test in tests if not isinstance(test, bool)]
    if len(some) == 1:
        return some[0]
    return (lambda *values: any(test(*values) for test in some)) if some else False


def _test(trigger: Trigger, name: str, arity: int, conditions: Conditions | None) -> Reported:
    """Return the test of one trigger."""
    pattern = trigger.pattern
    if not names_kind(pattern, name, arity):
        return False
    if trigger.body is not None:
        return _conditional(trigger, trigger.body, name, arity, conditions)
    return _matches(pattern) if isinstance(pattern, Compound) and pattern.name != "/" else True


def names_kind(pattern: Term, name: str, arity: int) -> bool:
    """Tell whether a trigger names a kind of event, or some of its events.

    >>> names_kind(Compound("/", (Var("_"), Const(2))), "a", 2), names_kind(Const("a"), "a", 1)
    (True, False)
    """
    match pattern:
        case Const(value="all_events" | "all_defined_events") | Var():
            return True
        case Compound(name="/", args=(Var(name=one), Var(name=other))):
            return one != other
        case Compound(name="/", args=(Var(), Const(value=number))):
            return bool(number == arity)
        case Compound(name="/", args=(Const(value=word), Var())):
            return bool(word == name)
    return triggered(pattern) == (name, arity)


def _matches(pattern: Compound) -> Callable[..., bool]:
    """Return the test whether an event's arguments match a trigger's."""
    parameters = [f"x{i}" for i in range(len(pattern.args))]
    code = Code(parameters)
    test, _ = match_arguments(code, pattern.args, parameters, set())
    code(f"return bool({test or 'True'})")
    return code.function()


def _conditional(
    trigger: Trigger, body: Term, name: str, arity: int, conditions: Conditions | None
) -> Callable[..., bool]:
    """Return the test whether an event matches a trigger and its body holds."""
    if conditions is None:
        return _nobody_asks
    inputs = tuple(f"_#event{i}" for i in range(arity))
    event = Compound(name, tuple(map(Var, inputs))) if arity else Const(name)
    match trigger.pattern:
        case Const():
            goal = body
        case Compound(name=word, args=args) if word != "/" and _are_distinct(args):
            inputs = tuple(v.name for v in variables(*args))
            goal = body
        case Compound(name="/") as indicator:
            kind = Compound("/", (Const(name), Const(arity)))
            goal = Compound(",", (Compound("=", (indicator, kind)), body), trigger.span)
        case pattern:
            goal = Compound(",", (Compound("=", (pattern, event)), body), trigger.span)
    mentioned = {v.name for v in variables(goal)}
    asked = tuple(v for v in inputs if v in mentioned)
    parameters = [f"x{i}" for i in range(arity)]
    code, passing = Code(parameters), Passing([], [], [])
    names = {v: parameters[inputs.index(v)] for v in asked}
    question = p.GoalTest("where", goal, asked, ())
    conditions.write(code, question, names, frozenset(asked), "", "", passing, trigger.kind, {})
    code(f"return bool({' and '.join(passing.expressions)})")
    return code.function()


def _are_distinct(args: Sequence[Term]) -> bool:
    """Tell whether arguments are variables, each another one."""
    return all(isinstance(arg, Var) for arg in args) and len(set(args)) == len(args)


def _nobody_asks(*_: object) -> bool:
    raise AssertionError("the conditions of triggers are asked event at a time")
