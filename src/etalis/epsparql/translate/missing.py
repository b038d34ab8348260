"""Goals over what the background may lack: OPTIONAL, MINUS and EXISTS beside variables that have values already."""

from __future__ import annotations

from collections.abc import Iterable

from etalis.epsparql.translate.naming import VariableNames
from etalis.epsparql.translate.solutions import (
    TRUE,
    Names,
    Solutions,
    Timeless,
    beside,
    conjunction,
    disjunction,
    rename,
    rename_term,
)
from etalis.language.syntax import Compound, Term, Var


def partners(known: Names, goals: Timeless, tests: Iterable[Term], names: VariableNames) -> Term:
    """Return the goal of every solution of goals that agrees with what is known, and passes tests of both."""
    return conjunction((*beside(goals, known, names).goals, *tests))


def maybe(goal: Term) -> Term:
    """Return a goal with every solution of another, or with one that binds nothing."""
    return Compound(";", (Compound("*->", (goal, TRUE)), TRUE))


def witness(known: Names, goals: Timeless, tests: Iterable[Term], names: VariableNames) -> Term:
    """Return the goal that there is a partner; its own variables are nobody else's."""
    local = {name: names.fresh(name) for name in sorted(goals.binds - known)}
    return rename_term(partners(known, goals, tests, names), local)


def agreement(sure: Names, known: Names, taken: Timeless, names: VariableNames) -> Term | None:
    """Return the goal that a solution of others agrees in a bound variable; None where they have none in common."""
    common = sorted(known & taken.binds)
    if not common:
        return None
    other = _rename(taken, {name: names.fresh(name) for name in sorted(taken.binds - known)})
    if sure & taken.sure:
        return beside(other, known, names).goal
    renaming = {name: names.fresh(name) for name in common}
    pairs = [(Var(a), Var(b)) for a, b in renaming.items()]
    bound = disjunction(conjunction((Compound("nonvar", (a,)), Compound("nonvar", (b,)))) for a, b in pairs)
    agree = (disjunction((Compound("var", (a,)), Compound("var", (b,)), Compound("==", (a, b)))) for a, b in pairs)
    return conjunction((*_rename(other, renaming).goals, bound, *agree))


def _rename(goals: Timeless, renaming: dict[str, str]) -> Timeless:
    renamed = rename(Solutions(timeless=goals), renaming).timeless
    assert renamed is not None
    return renamed
