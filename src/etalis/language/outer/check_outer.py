"""Outer operators that cannot be known, or mean nothing (definition 9.25 to 9.31)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from etalis.errors import Problem
from etalis.language import syntax as s
from etalis.language.check.bound_variables import bindings
from etalis.language.check.goals import BoundVariables
from etalis.language.check.outline import Outline
from etalis.language.operators import spell
from etalis.language.outer.partner_conditions import missing_side
from etalis.language.outer.strata import MOST_STAGES, find_levels, find_stages, looks_back, most_levels, most_stages
from etalis.language.traversal import children, postorder
from etalis.temporal.policy import Policy
from etalis.temporal.relation import RELATIONS, Relation, relations


def check_outer(outline: Outline) -> Iterator[Problem]:
    """Yield what is wrong with operators of which one part may be missing."""
    outer = [rule for rule in outline.rules if any(node.alone is not None for node in outline.walk(rule).of(s.Binary))]
    for rule in outer:
        policy, window = outline.rule_settings(rule)
        bounded = window is not None or outline.settings.garbage_window is not None
        yield from _unbounded(rule.pattern, bounded=bounded)
        yield from _counted(rule)
        yield from unkept(rule, policy)
    if outer or any(looks_back(node) for rule in outline.rules for node in outline.walk(rule).of(s.NotWithin)):
        yield from find_cycles(outline.rules, relations(outline.settings.relations))


def find_cycles(rules: Iterable[s.Rule], table: Mapping[str, Relation]) -> Iterator[Problem]:
    """Yield operators, and absences that look back, that ask at one stamp whether their own result is missing."""
    several = list(rules)
    yield from _stage_cycles(several, table)
    most, (levels, _) = most_levels(several), find_levels(several, table)
    for rule in several if most else ():
        for node in postorder(rule.pattern):
            if isinstance(node, s.Binary) and levels.get(id(node), 0) > most:
                missing = missing_side(node)[0]
                message = f"`{_word(node)}` asks for its own result: whether its part is missing depends on itself"
                hint = "let what may be missing come from earlier events: `?seq` and `cnot` look strictly back"
                yield Problem("E243", message, missing.span or node.span, hint)


def _stage_cycles(rules: list[s.Rule], table: Mapping[str, Relation]) -> Iterator[Problem]:
    most, (stages, _) = most_stages(rules), find_stages(rules, table)
    for rule in rules if most else ():
        for node in postorder(rule.pattern):
            stage = stages.get(id(node), 0)
            if isinstance(node, s.NotWithin) and node.before is not None and stage > min(most, MOST_STAGES):
                if stage > most:
                    message = "`requires` asks for its own violation: at one stamp, that may be what this depends on"
                else:
                    message = f"at one stamp, over {MOST_STAGES // 2} constraints depend on each other's violations"
                hint = "let what is required come from other events, or write `after within`"
                yield Problem("E243", message, node.absent.span or node.span, hint)


def _word(node: s.Binary) -> str:
    return spell(node.operator, node.alone)


def _unbounded(pattern: s.Pattern, *, bounded: bool) -> Iterator[Problem]:
    """Yield the operators of which nobody knows when their partner is missing: no window is around them."""
    waiting = [(pattern, bounded)]
    table = relations("strict")
    while waiting:
        node, inside = waiting.pop()
        inside = inside or isinstance(node, s.Within)
        if isinstance(node, s.Binary) and node.alone is not None and not inside:
            known = table[node.operator].alone
            assert known is not None
            if known[0 if node.alone == "left" else 1] == "in its window":
                message = f"`{_word(node)}` needs a window: nobody knows when to stop waiting for what may be missing"
                hint = f"add `within`: (a {_word(node)} b) within 10 min"
                yield Problem("E242", message, node.span, hint)
        for place, part in enumerate(children(node)):
            negated = place == 1 and isinstance(node, s.Negation | s.NotWithin)
            waiting.append((part, inside and not negated))


def _counted(rule: s.Rule) -> Iterator[Problem]:
    """Yield repetitions and aggregates directly right of `seq`, which count after their left side."""
    for node in postorder(rule.pattern):
        match node:
            case s.Binary(operator="seq", alone="left" | "right", right=s.Repeat() | s.Aggregate() as part):
                what = "a repetition" if isinstance(part, s.Repeat) else "an aggregate"
                message = f"{what} directly right of `{_word(node)}` counts after its left side, which may be missing"
                hint = "name it by a rule of its own, and use that event here"
                yield Problem("E242", message, part.span or node.span, hint)


def unkept(rule: s.Rule, policy: Policy) -> Iterator[Problem]:
    """Yield what a policy that keeps the newest forgets: who waits for its absence to be known, and unbound keys."""
    nodes = postorder(rule.pattern) if policy.keep == "newest" else []
    if not any(isinstance(node, s.Binary) and node.alone is not None for node in nodes):
        return
    bound = bindings(rule.pattern)
    for node in nodes:
        if isinstance(node, s.Binary) and node.alone is not None and not _is_at_once(node):
            message = f"`{_word(node)}` under {policy.name}: what a newer one replaces is forgotten before it is known"
            yield Problem("E244", message, node.span, "use another policy; `?seq` is known at once")
        elif isinstance(node, s.Binary):
            yield from _loose_keys(node, policy, bound)


def _is_at_once(node: s.Binary) -> bool:
    known = RELATIONS[node.operator].alone
    return known is not None and known[0 if node.alone == "left" else 1] == "at once"


def _loose_keys(node: s.Binary, policy: Policy, bound: Mapping[int, BoundVariables]) -> Iterator[Problem]:
    """Yield that a join is over a variable that a missing part leaves unbound: of these no instance is the newest."""
    a, b = bound[id(node.left)], bound[id(node.right)]
    loose = sorted((a.perhaps & b.perhaps) - (a.always & b.always))
    if loose and any(isinstance(n, s.Binary) and n.alone is not None for n in postorder(node)[:-1]):
        message = f"{loose[0]} may be unbound, and {policy.name} keeps the newest for each of its values"
        hint = "use another policy, or join by variables that are always bound"
        yield Problem("E244", message, node.span, hint)
