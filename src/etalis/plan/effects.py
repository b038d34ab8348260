"""Side effects of a program's goals: where the order of matches, and who runs them, matters (language.md section 5)."""

from __future__ import annotations

from collections.abc import Iterator

from etalis.language.goals import GOAL_ARGUMENTS, SIDE_EFFECTS, calls, indicator
from etalis.language.outline import Outline
from etalis.language.syntax import Compound, Const, Program, Term, Var
from etalis.language.traversal import subterms
from etalis.language.wording import kind

_NAMES = frozenset(name for name, _ in SIDE_EFFECTS)


def find_effects(program: Program) -> tuple[str, ...]:
    """Say of every goal of conditions, actions and clauses that changes or tells something what it is.

    A goal that is only known at run time counts, since it may be anything. So do events that change facts: whoever
    asks for a fact must have received them all.
    """
    outline = Outline(program)
    found = dict.fromkeys(f"{kind(*event)} changes facts that conditions see" for event in outline.learned)
    for goal, role in outline.goals:
        if role != "directive":
            where = {"clause": "a clause", "action": "an action"}.get(role, "a condition")
            found.update(dict.fromkeys(f"{what} in {where} has a side effect" for what in _effects(goal)))
    return tuple(found)


def _effects(goal: Term) -> Iterator[str]:
    for call in calls(goal):
        if call.indicator in SIDE_EFFECTS:
            yield kind(*call.indicator)
        goals = [call.args[i] for i in GOAL_ARGUMENTS.get(call.indicator, ())]
        if any(isinstance(argument, Var) for argument in goals) or _is_open(call.name, call.args):
            yield f"{kind(*call.indicator)} of a goal that is not written down"
    for term in subterms(goal):
        if isinstance(term, Compound) and indicator(term) in SIDE_EFFECTS:
            yield kind(term.name, len(term.args))


def _is_open(name: str, args: tuple[Term, ...]) -> bool:
    """Tell whether a call adds arguments to a goal that may have an effect: `call(G, X)`, `maplist(G, L)`."""
    if name not in ("call", "maplist", "foldl", "include", "exclude", "partition", "predsort") or len(args) < 2:
        return False
    match args[0]:
        case Var():
            return True
        case Const(value=str() as called) | Compound(name=called):
            return called in _NAMES
        case _:
            return False
