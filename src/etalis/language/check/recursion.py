"""Recursion that may not end (definition 8.6).

An event can cause itself without a further input in two ways. At one moment: through operators that give back the
interval they were given, which ends unless a rule of the cycle makes new terms. As time passes: through an alarm or
an absence, which renews itself even after the stream is closed. Which side of an operator carries a cycle is read off
the rows of `temporal.relation`; a partner that the policy consumes ends the cycle, unless the cycle makes that
partner too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from typing import assert_never

from etalis.errors import Problem
from etalis.language import syntax as s
from etalis.language.check import goals as g
from etalis.language.check.bound_variables import bindings
from etalis.language.check.outline import Outline
from etalis.language.check.wording import kind, listing, written
from etalis.language.reactive.constraints import violations_apart
from etalis.language.rules import events_in
from etalis.language.traversal import fold, names, postorder, rewrite, subterms, variables
from etalis.logic.tabling.components import number_components
from etalis.temporal.policy import Policy
from etalis.temporal.relation import Relation, relations


@dataclass(frozen=True, slots=True)
class Flow:
    """How an event in a pattern reaches the head: at once, delayed, and by consuming which other events."""

    source: g.Indicator
    at_once: bool = True
    again: bool = True
    delayed: bool = False
    partners: frozenset[g.Indicator] = frozenset()


@dataclass(frozen=True, slots=True)
class Edge:
    """A flow of a rule with the event it leads to."""

    flow: Flow
    target: g.Indicator
    rule: s.Rule


def check_recursion(outline: Outline) -> Iterator[Problem]:
    """Yield one warning for each group of events that may cause each other without end."""
    edges = list(_edges(outline))
    for cycle in find_cycles([e for e in edges if e.flow.at_once and not e.flow.delayed]):
        for edge in cycle:
            why = _makes_terms(edge.rule, outline)
            if why is not None:
                yield _endless(edge.rule, cycle, why)
                break
    for cycle in find_cycles([e for e in edges if e.flow.again]):
        delayed = next((edge for edge in cycle if edge.flow.delayed), None)
        if delayed is not None and not any(_is_counted(edge.rule) for edge in cycle):
            yield _periodic(delayed.rule, cycle)


def growing_events(rules: Iterable[s.Rule]) -> frozenset[g.Indicator]:
    """Return the events on a cycle of rules of which one may make terms: their attributes may grow without end."""
    after: dict[g.Indicator, set[g.Indicator]] = {}
    makers: set[g.Indicator] = set()
    for rule in rules:
        head = rule.head.name, len(rule.head.args)
        after.setdefault(head, set()).update((e.name, len(e.args)) for e in events_in(rule.pattern))
        builds = any(isinstance(arg, s.Compound | s.ListTerm) for arg in rule.head.args)
        if builds or any(isinstance(node, s.Condition) for node in postorder(rule.pattern)):
            makers.add(head)
    cyclic = _on_cycles(after)
    growing = {cyclic[head] for head in makers & cyclic.keys()}
    return frozenset(head for head, number in cyclic.items() if number in growing)


def _on_cycles(after: Mapping[g.Indicator, set[g.Indicator]]) -> dict[g.Indicator, int]:
    """Return the events that are made of themselves, directly or not; those of one cycle have one number."""
    inner = {head: [kind for kind in read if kind in after] for head, read in after.items()}
    component = number_components(inner)
    own = {head: [kind for kind in read if component[kind] == component[head]] for head, read in inner.items()}
    found = {component[head] for head, read in own.items() if read}
    return {head: component[head] for head in after if component[head] in found}


def _endless(rule: s.Rule, cycle: list[Edge], why: str) -> Problem:
    message = f"this recursion may not end: {_path(cycle)} at the same moment, and {why} every time"
    hint = "let time pass in the cycle (`... seq tick`); otherwise only max_derivations stops it, with an error"
    return Problem("W208", message, rule.head.span or rule.span, hint)


def _periodic(rule: s.Rule, cycle: list[Edge]) -> Problem:
    message = f"this recursion may not end: {_path(cycle)} as time passes, also after the stream is closed"
    hint = "let an input take part, or count the rounds and stop with a condition"
    return Problem("W208", message, rule.head.span or rule.span, hint)


def _path(cycle: list[Edge]) -> str:
    found = dict.fromkeys(edge.target[0] if " " in edge.target[0] else kind(*edge.target) for edge in cycle)
    if len(found) == 1:
        return f"{next(iter(found))} causes itself"
    return f"{listing(found)} cause each other"


def _edges(outline: Outline) -> Iterator[Edge]:
    table = relations(outline.settings.relations)
    after: dict[g.Indicator, set[g.Indicator]] = {}
    for rule in outline.rules:
        read = {(e.name, len(e.args)) for e in outline.walk(rule).of(s.EventPattern)}
        after.setdefault((rule.head.name, len(rule.head.args)), set()).update(read)
    cyclic = _on_cycles(after)
    if not cyclic:
        return
    pairs = zip(outline.rules, violations_apart(outline.rules), strict=True)
    rules = [apart for rule, apart in pairs if (rule.head.name, len(rule.head.args)) in cyclic]
    made = {(rule.head.name, len(rule.head.args)) for rule in rules}
    for rule in rules:
        target = rule.head.name, len(rule.head.args)
        policy, _ = outline.rule_settings(rule)
        for flow in flows(rule.pattern, policy, table):
            if flow.source in made:
                delayed = flow.delayed or rule.alarm is not None
                yield Edge(replace(flow, delayed=delayed), target, rule)


def flows(pattern: s.Pattern, policy: Policy, table: Mapping[str, Relation]) -> tuple[Flow, ...]:
    """Return how the events of a pattern reach its matches."""

    def combine(node: s.Pattern, parts: tuple[tuple[Flow, ...], ...]) -> tuple[Flow, ...]:
        if isinstance(node, s.Modifier):
            return parts[0]
        match node:
            case s.EventPattern(name=name, args=args):
                return (Flow((name, len(args))),)
            case s.SubRule(rule=rule):
                return (Flow((rule.head.name, len(rule.head.args))),)
            case s.TimePoint():
                return ()
            case s.Binary(operator=operator):
                joined = _joined(node, parts, table[operator], policy)
                return (*joined, *_alone(node, parts, table[operator]))
            case s.Or() | s.AnyOf():
                return tuple(flow for part in parts for flow in part)
            case s.NotWithin():
                return tuple(replace(flow, at_once=False, delayed=True) for flow in parts[0])
            case s.Repeat(least=least):
                return tuple(replace(flow, at_once=least == s.Const(1)) for flow in parts[0])
            case s.Aggregate():
                return parts[0]
            case _:
                assert_never(node)

    return fold(pattern, combine)[id(pattern)]


def _joined(node: s.Binary, parts: tuple[tuple[Flow, ...], ...], row: Relation, policy: Policy) -> tuple[Flow, ...]:
    found: list[Flow] = []
    for side, other in ((0, node.right), (1, node.left)):
        partners = frozenset((e.name, len(e.args)) for e in events_in(other)) if policy.consume else frozenset()
        for flow in parts[side]:
            found.append(
                replace(
                    flow,
                    at_once=flow.at_once and gives_back(row, side),
                    again=flow.again and can_come_last(row, side),
                    partners=flow.partners | partners,
                )
            )
    return tuple(found)


def _alone(node: s.Binary, parts: tuple[tuple[Flow, ...], ...], row: Relation) -> tuple[Flow, ...]:
    """Return how the side that matches alone reaches the head without a partner."""
    if node.alone is None or row.alone is None:
        return ()
    side = 0 if node.alone == "left" else 1
    if row.alone[side] == "in its window":
        return tuple(replace(flow, at_once=False, delayed=True) for flow in parts[side])
    return parts[side]


_INTERVALS = [(start, end) for start, end in product(range(4), repeat=2) if start <= end]


@cache
def gives_back(row: Relation, side: int) -> bool:
    """Tell whether a result can have the interval of one of its sides, so that it can take part again.

    >>> [gives_back(relations("strict")[name], 0) for name in ("seq", "and", "during")]
    [False, True, False]
    """
    pairs = product(_INTERVALS, repeat=2)
    return any(row.holds(*pair) and row.interval(*pair) == pair[side] for pair in pairs)


@cache
def can_come_last(row: Relation, side: int) -> bool:
    """Tell whether a relation can hold with a side that ends no earlier than its partner."""
    pairs = product(_INTERVALS, repeat=2)
    return any(row.holds(*pair) and pair[side][1] >= pair[1 - side][1] for pair in pairs)


def find_cycles(edges: list[Edge]) -> Iterator[list[Edge]]:
    """Yield the edges of each cyclic group, without those that consume a partner from outside the group."""
    for group in _components(edges):
        inside = {edge.target for edge in group}
        lasting = [e for e in group if not e.flow.partners or e.flow.partners & inside]
        yield from _components(lasting)


def _components(edges: list[Edge]) -> list[list[Edge]]:
    """Return the edges inside each strongly connected component, in order of the edges."""
    after: dict[g.Indicator, list[g.Indicator]] = {}
    for edge in edges:
        after.setdefault(edge.flow.source, []).append(edge.target)
    component = number_components(after)
    found: dict[int, list[Edge]] = {}
    for edge in edges:
        if component[edge.flow.source] == component[edge.target]:
            found.setdefault(component[edge.target], []).append(edge)
    return list(found.values())


def _makes_terms(rule: s.Rule, outline: Outline) -> str | None:
    """Say how a rule can put a term into its head that did not exist before, None if it cannot."""
    for term in rule.head.args:
        for part in subterms(term):
            if isinstance(part, s.Compound | s.ListTerm) and next(variables(part), None) is not None:
                return f"{written(part)} is a new term"
    plain = rewrite(rule.pattern, _without_conditions)
    computed = names(variables(*rule.head.args)) - bindings(plain)[id(plain)].always
    if not computed:
        return None
    for node in postorder(rule.pattern):
        if isinstance(node, s.Aggregate) and computed & names(variables(node.result)):
            return f"{written(node.result)} may be a new value"
        if isinstance(node, s.Condition):
            new = _computes(node, computed, outline)
            if new is not None:
                return f"`{new}` may make a new value"
    return None


def _without_conditions(node: s.Pattern) -> s.Pattern:
    """Leave only what events bind: no condition, no result of an aggregate."""
    return node.pattern if isinstance(node, s.Condition | s.Aggregate) else node


def _computes(node: s.Condition, wanted: frozenset[str], outline: Outline) -> str | None:
    """Return the goal that gives one of the wanted variables a value that need not be in the program or the stream."""
    goals = g.conjuncts(node.goal)
    for call in g.calls(node.goal):
        if not names(variables(*call.args)) & wanted or call.indicator in g.CONTROL | g.BINDS_NOTHING:
            continue
        copies = call.indicator == ("=", 2) and next(variables(call.args[1]), None) is None
        if not copies and not _is_finite(call.indicator, outline) and not _is_limited(call, goals):
            return written(s.Compound(call.name, call.args, call.span))
    return None


def _is_counted(rule: s.Rule) -> bool:
    """Tell whether a condition of a rule counts to a limit."""
    conditions = (node.goal for node in postorder(rule.pattern) if isinstance(node, s.Condition))
    return any(_is_limited(call, g.conjuncts(goal)) for goal in conditions for call in g.calls(goal))


_RISING, _FALLING = ("<", "=<"), (">", ">=")


def _is_limited(call: g.Call, goals: list[s.Term]) -> bool:
    """Tell whether a count `N is M + 1` (or `- 1`) has a limit: a comparison of N or M with a number beside it."""
    match call:
        case g.Call(
            name="is", args=(s.Var() as n, s.Compound(name="+" | "-" as sign, args=(s.Var() as m, s.Const(value=step))))
        ):
            if not isinstance(step, int) or step <= 0:
                return False
        case _:
            return False
    below, above = (_RISING, _FALLING) if sign == "+" else (_FALLING, _RISING)
    for goal in goals:
        match goal:
            case s.Compound(name=name, args=(s.Var(name=v), s.Const(value=int()))) if name in below and v in (
                n.name,
                m.name,
            ):
                return True
            case s.Compound(name=name, args=(s.Const(value=int()), s.Var(name=v))) if name in above and v in (
                n.name,
                m.name,
            ):
                return True
    return False


def _is_finite(key: g.Indicator, outline: Outline) -> bool:
    """Tell whether a predicate is a table of facts."""
    return key in outline.predicates and key not in outline.calls and not _has_open_fact(key, outline)


def _has_open_fact(key: g.Indicator, outline: Outline) -> bool:
    heads = (g.strip_wrappers(clause.head) for clause in outline.clauses)
    return any(g.indicator(head) == key and next(variables(head), None) is not None for head in heads)
