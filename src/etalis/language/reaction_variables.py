"""The variables of reactions: which ones a pattern names, and which of them its match gives to the action.

A variable that stands only in what a repetition repeats, an aggregate takes together, or a negated pattern excludes is
local there, unless the reaction uses it elsewhere: then it counts as it would in a rule with it in its head.
"""

from __future__ import annotations

from typing import TypeAlias

from etalis.language import syntax as s
from etalis.language.check.bound_variables import bindings, mentioned
from etalis.language.traversal import action_variables, children, fold, names, terms, variables

Names: TypeAlias = frozenset[str]
_TERMS = (s.Var, s.Const, s.Compound, s.ListTerm)


def named_variables(pattern: s.Pattern) -> tuple[str, ...]:
    """Return the named variables of a pattern, by their first occurrence in the text.

    >>> from etalis.language.read.parser import parse_rule
    >>> named_variables(parse_rule("d <- a(Y, _, X) seq aggregate(sum(V), b(X, V), S) where S > Y").pattern)
    ('Y', 'X', 'V', 'S')
    """
    found: dict[str, None] = {}
    waiting: list[s.Pattern | s.Term] = [pattern]
    while waiting:
        part = waiting.pop()
        if isinstance(part, _TERMS):
            found.update((v.name, None) for v in variables(part) if not v.name.startswith("_#"))
        else:
            waiting.extend(reversed(_in_text(part)))
    return tuple(found)


def _in_text(pattern: s.Pattern) -> tuple[s.Pattern | s.Term, ...]:
    """Return what stands directly in a pattern, in the order of the text."""
    if isinstance(pattern, s.Aggregate):
        value = () if pattern.value is None else (pattern.value,)
        return (*value, pattern.pattern, pattern.result)
    return (*children(pattern), *terms(pattern))


def given_variables(reaction: s.Reaction) -> Names:
    """Return the variables that a match of a reaction's pattern may give a value."""
    pattern = reaction.pattern
    used = used_variables(reaction)
    shared = fold(pattern, _shared)[id(pattern)] | (mentioned(pattern) & used)
    return shared & bindings(pattern)[id(pattern)].perhaps


def _shared(node: s.Pattern, parts: tuple[Names, ...]) -> Names:
    """Return the variables of a pattern that are not local to a part of it."""
    own = names(variables(*terms(node)))
    match node:
        case s.Negation() | s.NotWithin():
            return parts[0]
        case s.Aggregate(result=result):
            return names(variables(result))
        case s.Repeat():
            return own
        case _:
            return own.union(*parts)


def used_variables(reaction: s.Reaction) -> Names:
    """Return the variables that a reaction uses beside its pattern."""
    several = (reaction.action, reaction.otherwise, reaction.undo)
    used = names(v for action in several if action is not None for v in action_variables(action))
    return used if reaction.condition is None else used | names(variables(reaction.condition))
