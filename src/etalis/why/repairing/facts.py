"""Facts by which a condition would have held."""

from __future__ import annotations

from typing import TYPE_CHECKING

from etalis.language import syntax as s
from etalis.language.traversal import variables
from etalis.logic.errors import LogicError
from etalis.why.bound_terms import bind_term
from etalis.why.why_not import KnownLater, Refuted

if TYPE_CHECKING:
    from etalis.runtime.core import Core


def missing_facts(core: Core, cause: KnownLater | Refuted) -> tuple[s.Term, ...]:
    """Return the facts that a condition lacks: those that came later, or its failing goal where that may be a fact."""
    if isinstance(cause, KnownLater):
        return tuple(fact for fact, _ in cause.facts)
    failing = bind_term(cause.failing, cause.bindings)
    if cause.error is not None or next(variables(failing), None) is not None:
        return ()
    match failing:
        case s.Compound(name=name, args=args):
            key = (name, len(args))
        case s.Const(value=str(name)):
            key = (name, 0)
        case _:
            return ()
    database = core.rules.conditions.solver.database
    try:
        fits = database.calls(*key) and database.writable(*key).is_facts()
    except LogicError:
        return ()
    return (failing,) if fits else ()
