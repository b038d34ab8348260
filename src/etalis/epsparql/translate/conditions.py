"""Conditions on solutions: FILTER, BIND and MINUS over what stands before them.

A filter inside of EXISTS may look at the solution that EXISTS is asked for: it is lifted out, and asked of the whole.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from etalis.epsparql.translate import expressions as e
from etalis.epsparql.translate.elements import is_inner
from etalis.epsparql.translate.missing import agreement
from etalis.epsparql.translate.naming import VariableNames
from etalis.epsparql.translate.refusals import refuse
from etalis.epsparql.translate.solutions import NONE, TRUE, Solutions, Timed, Timeless, conjunction, negation, test_with
from etalis.epsparql.translate.triples import PatternScope
from etalis.errors import ProgramError, Span
from etalis.language.syntax import Compound, Const, Pattern, Term, Var, Within


def name_ends(names: VariableNames) -> e.GroupEnds:
    return e.GroupEnds(names.fresh("Start"), names.fresh("End"))


def looks_out(expression: Term, found: Solutions, scope: PatternScope, names: VariableNames) -> bool:
    """Tell whether an expression in a group of EXISTS looks at a variable of the solution that it is asked for."""
    if scope.seen is None:
        return False
    return bool((e.mentioned(expression, names) - found.sure) & scope.seen.binds)


def lift(found: Solutions, expression: Term, scope: PatternScope, span: Span | None, names: VariableNames) -> Solutions:
    """Have a filter of a group inside of EXISTS asked of the whole, with the solution that EXISTS is asked for."""
    looked_at, sure = e.mentioned(expression, names), found.sure
    if scope.lifted is None or scope.seen is None or (looked_at & found.binds) - sure:
        raise too_far(span)
    if looked_at & (scope.seen.maybe - sure):
        raise too_far(span)
    ends = name_ends(names) if e.asks_time(expression) else None
    goal: Term = Compound("sparql", (e.to_rule(expression, names, sure | scope.seen.binds, ends),))
    if scope.is_branch:
        mark = Var(names.fresh("Branch"))
        goal = Compound(";", (Compound("->", (Compound("nonvar", (mark,)), goal)), TRUE))
        found = found.ask("where", Compound("=", (mark, Const(1))))
    scope.lifted.append(goal)
    if ends is not None and found.timed is not None:
        pattern = test_with(found.timed.pattern, "check", conjunction(ends.goals))
        found = replace(found, timed=replace(found.timed, pattern=pattern))
    return found


def keep(found: Solutions, expression: Term, names: VariableNames, *, infers_windows: bool) -> Solutions:
    """Return the solutions for which an expression is true; a bound on getDURATION() may be a window too."""
    timed, timeless = found.timed, found.timeless
    parts = list(e.conjuncts(expression))
    if timed is not None:
        lengths = [length for part in parts if (length := e.window(part)) is not None]
        if lengths and infers_windows and is_inner(timed.pattern):
            timed = replace(timed, pattern=Within(timed.pattern, min(lengths)))
        timed = replace(timed, pattern=_condition(timed, parts, names, lambda part: (part,)))
    if timeless is not None:
        goals = [Compound("sparql", (e.to_rule(part, names, timeless.binds, None),)) for part in parts]
        timeless = timeless.look_at(NONE.union(*(e.mentioned(part, names) for part in parts)), *goals)
    return replace(found, timed=timed, timeless=timeless)


def _condition(
    timed: Timed, parts: list[Term], names: VariableNames, arguments: Callable[[Term], tuple[Term, ...]]
) -> Pattern:
    """Return a pattern of which expressions are asked: `sparql(E)`, or what `arguments` make of it."""
    pattern = timed.pattern
    plain = [part for part in parts if not e.asks_time(part)]
    for some, ends in ((plain, None), ([part for part in parts if part not in plain], name_ends(names))):
        goals = [Compound("sparql", arguments(e.to_rule(part, names, timed.binds, ends))) for part in some]
        if some:
            kind, times = ("where", ()) if ends is None else ("check", ends.goals)
            pattern = test_with(pattern, kind, conjunction((*times, *goals)))
    return pattern


def bind(found: Solutions, expression: Term, variable: Var, names: VariableNames) -> Solutions:
    """Return solutions with the value of an expression under a new name."""
    name = names.of(variable.name)
    timed, timeless = found.timed, found.timeless
    if timed is not None:
        pattern = _condition(timed, [expression], names, lambda value: (value, Var(name)))
        timed = Timed(pattern, timed.sure, timed.maybe | {name})
    if timeless is not None:
        goal = Compound("sparql", (e.to_rule(expression, names, timeless.binds, None), Var(name)))
        timeless = timeless.look_at(e.mentioned(expression, names), goal)
        timeless = replace(timeless, maybe=timeless.maybe | {name})
    return replace(found, timed=timed, timeless=timeless)


def take_away(found: Solutions, taken: Timeless | None, names: VariableNames) -> Solutions:
    """Return the solutions with which none of the background's agrees in a bound variable."""
    assert taken is not None, "MINUS reads the background"
    timed, timeless = found.timed, found.timeless
    if timed is not None:
        goal = agreement(timed.sure, timed.binds, taken, names)
        timed = replace(timed, pattern=test_with(timed.pattern, "where", TRUE if goal is None else negation(goal)))
    if timeless is not None:
        goal = agreement(timeless.sure, timeless.binds, taken, names)
        if goal is not None:
            timeless = timeless.look_at(taken.binds, negation(goal))
    return replace(found, timed=timed, timeless=timeless)


def too_far(span: Span | None) -> ProgramError:
    message = "an expression deep inside of EXISTS looks at a variable from outside of it"
    return refuse(message, span, "write it as a FILTER of the group of EXISTS itself")
