"""Variables that have no value where one is needed (definition 8.2).

Derived atoms are ground: a head variable that nothing binds is an error, one that only some alternatives bind a
warning. A condition computes with values: a variable that nothing can have bound makes it fail at every match. A
variable of a negated pattern that its left side does not bind is local to it. Variables that occur once are those of
`single_variables`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from etalis.errors import Problem
from etalis.language.check.goals import BoundVariables, Names, never_bound, strip_wrappers, uncallable
from etalis.language.check.outline import Outline
from etalis.language.check.spelling import nearest
from etalis.language.check.wording import written
from etalis.language.outer.partner_conditions import missing_side, part_conditions
from etalis.language.reactive.constraints import tells_violation
from etalis.language.syntax import Aggregate, Binary, Condition, Negation, NotWithin, Rule, Term, Var
from etalis.language.traversal import Walk, names, pattern_variables, postorder, rule_variables, variables
from etalis.temporal.duration import iso_end

ACTION_HEAD = "trigger_action"  # the head of a rule `P do Action`: it shows the action, whose variables may be its own
_ROLES = {"action": "an action", "clause": "a clause", "directive": "a directive", "test": "an action"}


def check_safety(outline: Outline) -> Iterator[Problem]:
    """Yield what is wrong with the variables of rules and clauses, and with the shape of goals."""
    bound = outline.bound
    for rule in outline.rules:
        walk = outline.walk(rule)
        unsafe = list(_unsafe(rule, bound[id(rule.pattern)]))
        yield from unsafe
        yield from _partly_bound(rule, bound[id(rule.pattern)], walk)
        yield from _unbound_in_conditions(walk, bound)
        if not unsafe:
            yield from _escaping(rule, walk, bound)
    for clause in outline.clauses:
        if clause.body is not None:
            yield from _unbound(clause.body, names(variables(strip_wrappers(clause.head))))
    for goal, role in outline.goals:
        for part in uncallable(goal):
            hint = "write a comparison, an assignment with `is`, or a call of a predicate"
            yield Problem(
                "E226",
                f"{written(part)} cannot be called: it is written where {_ROLES.get(role, 'a condition')} needs a goal",
                part.span,
                hint,
            )


def _needed(rule: Rule) -> Iterator[tuple[Var, str]]:
    """Yield the variables that must have a value when the head is made, with where they stand."""
    for v in variables(*rule.head.args) if rule.head.name != ACTION_HEAD and not rule.hidden else ():
        yield v, "in the head"
    if rule.alarm is not None:
        for v in variables(rule.alarm.when):
            yield v, "in the delay" if rule.alarm.kind == "after" else "in the time of the alarm"


def _unsafe(rule: Rule, bound: BoundVariables) -> Iterator[Problem]:
    seen: set[str] = set()
    for v, where in _needed(rule):
        if v.name in bound.perhaps or v.name in seen:
            continue
        seen.add(v.name)
        message = f"unsafe: {_shown(v)} {where} has no value, nothing in the pattern binds it"
        yield Problem("E204", message, v.span, _how_to_bind(v, rule, bound))


def _how_to_bind(v: Var, rule: Rule, bound: BoundVariables) -> str:
    if v.name.startswith("_#"):
        return "write a constant such as null, or a variable of the pattern"
    near = nearest(v.name, bound.perhaps)
    if near is not None:
        return f"did you mean {near}?"
    for node in postorder(rule.pattern):
        match node:
            case Negation(absent=absent) | NotWithin(absent=absent) if v.name in names(pattern_variables(absent)):
                return f"{v.name} occurs in the negated pattern only, whose variables have no value outside it"
            case Aggregate(value=value, result=result) if value is not None and v.name in names(variables(value)):
                return f"{v.name} is aggregated; its value is the result, {written(result)}"
    if v.name.lower() in ("start", "end", "begin", "time", "timestamp", "now", "t1", "t2"):
        return "every match has its times; as attributes they are read behind `check`: check (t1(Start), t2(End))"
    return f"use {v.name} in an event of the pattern, or give it a value with `where`"


def _partly_bound(rule: Rule, bound: BoundVariables, walk: Walk) -> Iterator[Problem]:
    partly = bound.perhaps - bound.always
    seen = set(_meant_unbound(walk)) if partly else set()
    for v, where in _needed(rule) if partly else ():
        if v.name in partly - seen:
            seen.add(v.name)
            message = f"{v.name} {where} is bound in some alternatives only; in the others it is null"
            hint = f"bind {v.name} in every alternative, or write a rule for each of them"
            if tells_violation(rule):
                message = f"{v.name} is bound in some alternatives only; {rule.head.name} has null for it in the others"
                hint = f"bind {v.name} in every alternative, or write _{v.name} to leave it out"
            yield Problem("W202", message, v.span, hint)


def _meant_unbound(walk: Walk) -> Names:
    """Return the variables that only a part which may be missing binds: that they may be null is what it says."""
    found: Names = frozenset()
    for node in walk.of(Binary):
        if node.alone is not None:
            found |= names(pattern_variables(missing_side(node)[0]))
    return found


def _unbound_in_conditions(walk: Walk, bound: dict[int, BoundVariables]) -> Iterator[Problem]:
    conditions = walk.of(Condition)
    others = _of_partners(walk, bound) if conditions else {}
    for node in conditions:
        yield from _unbound(node.goal, bound[id(node.pattern)].perhaps | others.get(id(node), frozenset()))


def _of_partners(walk: Walk, bound: dict[int, BoundVariables]) -> dict[int, Names]:
    """Return the variables of the other side, by the conditions that are asked of both sides together."""
    found: dict[int, Names] = {}
    for node in walk.nodes:
        match node:
            case Binary(alone="left" | "right"):
                operand, other = missing_side(node)
            case Negation(pattern=other, absent=operand) | NotWithin(pattern=other, absent=operand):
                pass
            case _:
                continue
        _, conditions = part_conditions(operand, other)
        found |= {id(condition): bound[id(other)].perhaps for condition in conditions}
    return found


def _unbound(goal: Term, bound: Names) -> Iterator[Problem]:
    if names(variables(goal)) <= bound:
        return
    seen: set[str] = set()
    for v in never_bound(goal, bound):
        if v.name in seen:
            continue
        seen.add(v.name)
        near = None if v.name.startswith("_#") else nearest(v.name, bound)
        hint = _duration_hint(v) or (
            f"did you mean {near}?"
            if near
            else "bind it in the pattern left of the condition, or earlier in the condition"
        )
        yield Problem(
            "W205", f"{_shown(v)} has no value when the condition computes with it, so it never holds", v.span, hint
        )


def _escaping(rule: Rule, walk: Walk, bound: dict[int, BoundVariables]) -> Iterator[Problem]:
    """Yield the local variables of negated patterns that also occur elsewhere in the rule."""
    if not walk.has(Negation, NotWithin):
        return
    everywhere = Counter(v.name for v in rule_variables(rule))
    for node in walk.nodes:
        if not isinstance(node, Negation | NotWithin):
            continue
        inside = list(pattern_variables(node.absent))
        here = Counter(v.name for v in inside)
        seen: set[str] = set()
        for v in inside:
            if v.name in bound[id(node.pattern)].perhaps or v.name in seen or everywhere[v.name] == here[v.name]:
                continue
            seen.add(v.name)
            message = f"{v.name} is local to the negated pattern, where nothing left of it binds it; it is not joined"
            yield Problem("W206", message, v.span, f"rename it here, or bind {v.name} left of the negation")


def _shown(v: Var) -> str:
    return "_" if v.name.startswith("_#") else v.name


def _duration_hint(v: Var) -> str | None:
    """Say how a duration is written in a condition, if the name of a variable is one of ISO 8601."""
    if iso_end(v.name) != len(v.name):
        return None
    return f"{v.name} is a variable here; in a condition a duration has a unit: 10 min"
