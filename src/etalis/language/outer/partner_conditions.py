"""Conditions of an operand that concern its partner too (definition 9.26 and 11.17).

The `where` conditions outermost on an operand that may be missing, or on a negated pattern, may name variables that
neither it nor they can bind, but the other side does. They are asked of both together, and say who is a partner, or a
blocker. Law: what is left of the operand names no variable of the other side in these places.
"""

from __future__ import annotations

from dataclasses import replace

from etalis.language import syntax as s
from etalis.language.check.bound_variables import bindings
from etalis.language.check.goals import Names, bound_by
from etalis.language.traversal import names, variables


def part_conditions(operand: s.Pattern, other: s.Pattern) -> tuple[s.Pattern, tuple[s.Condition, ...]]:
    """Return an operand without the conditions that concern what it is joined with, and these, innermost first.

    >>> from etalis.language.read.parser import parse_rule
    >>> pattern = parse_rule("d <- (a(X) where X > Y where X > 1) ?seq b(Y)").pattern
    >>> rest, conditions = part_conditions(pattern.left, pattern.right)
    >>> type(rest).__name__, len(conditions)
    ('EventPattern', 2)
    """
    modifiers: list[s.Condition | s.Within] = []
    core = operand
    while isinstance(core, s.Within) or (isinstance(core, s.Condition) and core.kind == "where"):
        modifiers.append(core)
        core = core.pattern
    if not any(isinstance(modifier, s.Condition) for modifier in modifiers):
        return operand, ()
    outside, bound = perhaps_bound(other), perhaps_bound(core)
    conditions: list[s.Condition] = []
    for modifier in reversed(modifiers):
        if isinstance(modifier, s.Within):
            core = replace(modifier, pattern=core)
            continue
        bound |= bound_by(modifier.goal).perhaps
        if conditions or names(variables(modifier.goal)) & (outside - bound):
            conditions.append(modifier)
        else:
            core = replace(modifier, pattern=core)
    return (core, tuple(conditions)) if conditions else (operand, ())


def missing_side(pattern: s.Binary) -> tuple[s.Pattern, s.Pattern]:
    """Return the operand that may be missing, and the one that matches alone."""
    return (pattern.right, pattern.left) if pattern.alone == "left" else (pattern.left, pattern.right)


def part_operands(pattern: s.Binary) -> tuple[s.Pattern, s.Pattern, tuple[s.Condition, ...]]:
    """Return left and right operand without the conditions that say who is a partner, and these."""
    if pattern.alone is None:
        return pattern.left, pattern.right, ()
    rest, conditions = part_conditions(*missing_side(pattern))
    return (pattern.left, rest, conditions) if pattern.alone == "left" else (rest, pattern.right, conditions)


def perhaps_bound(pattern: s.Pattern) -> Names:
    """Return the variables that some match of a pattern binds."""
    return bindings(pattern)[id(pattern)].perhaps
