"""Names from the host that a program does not know: facts that no goal calls, callbacks that nothing calls.

A name is refused only where it can be told that it does nothing: not where goals are made at run time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from etalis.errors import InputError, Problem
from etalis.language.check.effects import acts_on_run
from etalis.language.check.goals import BUILTINS, calls, indicator
from etalis.language.check.outline import Outline
from etalis.language.syntax import Compound, Const, Term, Var
from etalis.runtime.reporting.never_fired import near_name, show

if TYPE_CHECKING:
    from etalis.language.syntax import Tree
    from etalis.runtime.compiled import CompiledProgram
    from etalis.runtime.ruleset import RuleSet

_OPEN = {("=..", 2), ("clause", 2), ("listing", 1), ("current_predicate", 1)}  # what asks for any predicate


def check_facts(tree: Tree, name: str, arity: int) -> None:
    """Refuse facts of a predicate that no goal asks for and no declaration names."""
    outline = Outline(tree)
    key = name, arity
    if key in outline.predicates | BUILTINS or acts_on_run(tree):
        return
    goals = [goal for goal, _ in outline.goals]
    asked = [call.indicator for goal in goals for call in calls(goal)]
    if key in asked or any(_is_open(goal) for goal in goals) or _is_mentioned(name, arity, goals):
        return
    arities = sorted({n for other, n in asked if other == name})
    if arities:
        message = f"{show(key)} is called nowhere: goals call {', '.join(show((name, n)) for n in arities)}"
        hint = "choose as many columns: load_facts(name, source, columns=[...]), --facts 'NAME(COLUMN,...)=FILE'"
        raise InputError(Problem("E336", message, hint=hint))
    near = near_name(name, sorted({other for other, _ in (*asked, *outline.predicates) if other.isidentifier()}))
    meant = "" if near is None else f"did you mean {near}? "
    hint = f"{meant}for facts that only `query` or later rules call, write `:- dynamic {show(key)}.`"
    raise InputError(Problem("E336", f"facts {show(key)} are called by no goal of the program", hint=hint))


def _is_open(goal: Term) -> bool:
    """Tell whether a goal calls what is only known when it runs."""
    return any(
        call.indicator in _OPEN or (call.name == "call" and call.args and isinstance(call.args[0], Var))
        for call in calls(goal)
    ) or any(isinstance(part, Var) for part in _parts(goal))


def _parts(goal: Term) -> Iterator[Term]:
    """Yield the parts of a goal that stand in control constructs."""
    waiting = [goal]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, Compound) and indicator(node) in {(",", 2), (";", 2), ("->", 2), ("*->", 2), ("\\+", 1)}:
            waiting.extend(node.args)


def _is_mentioned(name: str, arity: int, goals: Iterable[Term]) -> bool:
    """Tell whether a name stands as a term somewhere, as `maplist(price, Items, Prices)` names `price`."""
    waiting = [arg for goal in goals for call in calls(goal) for arg in call.args]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Const) and node.value == name:
            return True
        if isinstance(node, Compound):
            if node.name == name and len(node.args) <= arity:
                return True
            waiting.extend(node.args)
    return False


def check_reported(program: CompiledProgram, rules: RuleSet, name: str) -> None:
    """Refuse a callback for events that no rule makes, or that are made and not reported."""
    made = {planned.head.kind for planned, _ in rules.rules if not planned.head.hidden}
    mine = [kind for kind in made if kind[0] == name]
    raised = {kind[0] for kind in Outline(program.tree).raised} if program.reactions else ()
    if any(program.is_reported(*kind) is not False for kind in mine) or rules.acts or name in raised:
        return
    if mine:
        message, hint = f"{name} is derived, but not reported", f"name it: `print_trigger({show(mine[0])}).`"
    elif any(kind[0] == name for kind in rules.processors):
        message = f"{name} is an input: only derived events are reported"
        hint = f"report it by a rule, as in `{name}_came(X) <- {name}(X).`"
    else:
        near = near_name(name, sorted({kind[0] for kind in made}))
        known = ", ".join(sorted({kind[0] for kind in made})[:8])
        message = f"no rule derives {name}"
        hint = f"did you mean {near}?" if near is not None else f"rules derive {known}; insert a rule before a callback"
    raise InputError(Problem("E335", message, hint=hint))
