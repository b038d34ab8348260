"""Variables that occur once in a rule or clause: each stands for any value, which is rarely what a name is given for.

A name that is meant to be a constant, and one that is a slip of the pen for another, look the same to the language.
`_` and names that begin with `_` say that the value does not matter, and are never reported.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from etalis.errors import Problem
from etalis.language.check.outline import Outline
from etalis.language.check.safety import ACTION_HEAD
from etalis.language.check.spelling import find_similar
from etalis.language.check.wording import listing
from etalis.language.syntax import ActionClause, Always, Clause, Condition, Constraint, Reaction, Rule, Term, Var
from etalis.language.traversal import (
    action_terms,
    actions_of,
    names,
    pattern_variables,
    patterns_of,
    variables,
    walk_action,
)

MOST_COMPARED = 100
MANY, MOST_SHOWN = 3, 6  # variables of a rule that are told of together, and those that are named then
CODES = frozenset({"W203", "W215", "W216"})
_VALUES = {"true": "true", "false": "false", "none": "null", "null": "null", "nil": "null", "undefined": "null"}


def check_single(outline: Outline) -> Iterator[Problem]:
    """Yield the variables that occur once in a rule, with all that stands in it, or in a clause."""
    lifted: dict[int, list[Rule]] = {}
    for item, rule in outline.written:
        lifted.setdefault(id(item), []).append(rule)
    for item in outline.program.items:
        if isinstance(item, Rule):
            rules = lifted[id(item)]
            walks = [outline.walk(rule) for rule in rules]
            body = [v for walk in walks for v in walk.variables()]
            head = [v for rule in rules if rule.head.name != ACTION_HEAD for v in _made(rule)]
            if not names(head) - names(body):  # else the rule is unsafe, and that comes first
                yield from _single([*head, *body], [node.goal for walk in walks for node in walk.of(Condition)])
        elif isinstance(item, Reaction | ActionClause | Always | Constraint):
            yield from _single(list(_of_reactive(item)))
        elif isinstance(item, Clause):
            yield from _single(list(variables(item.head) if item.body is None else variables(item.head, item.body)))


def _of_reactive(item: Reaction | ActionClause | Always | Constraint) -> Iterator[Var]:
    """Yield the variables of a clause of reactive rules; the event that tells of a constraint has those of its P."""
    match item:
        case ActionClause(head=head):
            yield from variables(head)
        case Always(goal=goal):
            yield from variables(goal)
        case Constraint(pattern=pattern):
            yield from pattern_variables(pattern)
    for number, pattern in enumerate(patterns_of(item)):
        yield from pattern_variables(pattern)
        if number == 0 and isinstance(item, Reaction) and item.condition is not None:
            yield from variables(item.condition)
    for action in actions_of(item):
        for node in walk_action(action):
            yield from variables(*action_terms(node))


def _made(rule: Rule) -> Iterator[Var]:
    """Yield the variables that stand left of the arrow."""
    yield from variables(*rule.head.args)
    if rule.alarm is not None:
        yield from variables(rule.alarm.when)
    if rule.action is not None:
        yield from variables(rule.action)


def _single(found: list[Var], goals: Iterable[Term] = ()) -> Iterator[Problem]:
    times = Counter([v.name for v in found])
    if not any(n == 1 and name[0] != "_" for name, n in times.items()):
        return
    asked = {v.span for v in variables(*goals)}
    known = [name for name, n in times.items() if n > 1 and name[0] != "_"][:MOST_COMPARED]
    several: list[Problem] = []
    shown: list[str] = []
    for v in found:
        if times[v.name] == 1 and not v.name.startswith("_"):
            problem = _problem(v, known, is_asked=v.span in asked)
            known = [*known, v.name] if len(known) < MOST_COMPARED else known
            if problem.code == "W215" and v.span not in asked:
                several.append(problem)
                shown.append(v.name)
            else:
                yield problem
    yield from several if len(several) < MANY else _together(several, shown)


def _together(several: list[Problem], shown: list[str]) -> Iterator[Problem]:
    """Yield one problem for many variables of a rule."""
    more = f" and {len(several) - MOST_SHOWN} more" if len(several) > MOST_SHOWN else ""
    listed = f"{', '.join(shown[:MOST_SHOWN])}{more}" if more else listing(shown)
    message = f"the variables {listed} occur once each, so they stand for any value"
    hint = f"write _ for values that do not matter, or _{shown[0]}; constants are written in small letters or quotes"
    yield Problem("W215", message, several[0].span, hint)


def _problem(v: Var, others: list[str], *, is_asked: bool) -> Problem:
    name = v.name
    if name.lower() in _VALUES:
        message = f"{name} is a variable, because it begins with a capital letter: it stands for any value"
        return Problem("W216", message, v.span, f"write {_VALUES[name.lower()]}")
    near = find_similar(name, others)
    if near is not None:
        hint = f"did you mean {near}? If not, write _{name} to say that its value does not matter"
        return Problem("W203", f"{name} occurs once and looks like {near}", v.span, hint)
    if len(name) > 2 and name.isupper():
        message = f"{name} is a variable, because it begins with a capital letter: it stands for any value"
        return Problem("W216", message, v.span, f"a constant is written '{name}'; a value that does not matter _{name}")
    constant = f"; a constant is written {name.lower()} or '{name}'" if len(name) > 2 else ""
    if is_asked:
        message = f"the variable {name} occurs once, so nothing else gives it a value or uses it"
        hint = f"bind {name} in an event of the pattern, or write _{name} if its value does not matter{constant}"
    else:
        message = f"the variable {name} occurs once, so it stands for any value"
        hint = f"write _{name} if its value does not matter{constant}"
    return Problem("W215", message, v.span, hint)
