"""Numbers and kinds that an operator does not accept: windows, counts, aggregates, alarms, choices."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import fields, is_dataclass

from etalis.errors import Problem, Span
from etalis.language import syntax as s
from etalis.language.check.bound_variables import left_of
from etalis.language.check.goals import Names
from etalis.language.check.outline import Outline
from etalis.language.check.spelling import suggest
from etalis.language.check.wording import counted, listing, written
from etalis.language.flags import PROPERTIES
from etalis.language.reactive.constraints import tells_violation
from etalis.language.rules import refuse_choices
from etalis.language.traversal import Walk, fold, variables
from etalis.temporal.aggregate import FOLDS
from etalis.temporal.calendar import is_calendar
from etalis.temporal.interval import to_seconds
from etalis.temporal.relation import Relation, relations


def check_shapes(outline: Outline) -> Iterator[Problem]:
    """Yield what is wrong with the operators of each rule, apart from names, types and variables."""
    table = relations(outline.settings.relations)
    for rule in outline.rules:
        walk = outline.walk(rule)
        yield from _rule_problems(rule, walk, outline)
        yield from _window_problems(rule, walk, table)


def _rule_problems(rule: s.Rule, walk: Walk, outline: Outline) -> Iterator[Problem]:
    if rule.alarm is not None:
        yield from alarm_problems(rule.alarm)
    if not walk.has(s.Last, s.Repeat, s.Aggregate, s.AnyOf):
        return
    left = left_of(rule.pattern) if walk.has(s.Repeat) else {}
    keeps_newest = outline.rule_settings(rule)[0].keep == "newest"
    for node in walk.nodes:
        match node:
            case s.Last():
                yield from _last_problems(node)
            case s.Repeat():
                yield from _repeat_problems(node, left[id(node)])
            case s.Aggregate():
                yield from _aggregate_problems(node, outline.bound[id(node.pattern)].perhaps)
            case s.AnyOf():
                yield from _choice_problems(node, keeps_newest=keeps_newest)


def _window_problems(rule: s.Rule, walk: Walk, table: Mapping[str, Relation]) -> Iterator[Problem]:
    """Yield windows that no match fits into."""
    windows: list[tuple[s.Pattern, Span | None]] = []
    for node in walk.nodes if walk.has(s.NotWithin, s.Negation, s.Within) else ():
        match node:
            case s.NotWithin(duration=time) | s.Negation(window=int() as time) if time <= 0 and tells_violation(rule):
                message = f"a constraint looks further than 0 seconds, not {to_seconds(time)}"
                yield Problem("E212", message, node.span, "say how far: requires b within 5")
            case s.NotWithin(duration=duration) if duration <= 0:
                message = f"an absence must last longer than 0 seconds, not {to_seconds(duration)}"
                yield Problem("E212", message, node.span, "say how long nothing may occur: not c within 5")
            case s.Within(duration=duration) if duration < 0:
                yield Problem("E212", f"a window cannot be negative: {to_seconds(duration)}", node.span)
            case s.Within(duration=0, pattern=pattern):
                windows.append((pattern, node.span))
    for given in rule.properties:
        if PROPERTIES.get(given.name) == "window" and isinstance(given.value, s.Const) and given.value.value == 0:
            windows.append((rule.pattern, given.span))
    for pattern, span in windows:
        if not can_be_instant(pattern, table):
            message = "no match fits into a window of 0 seconds: every match is longer than 0"
            yield Problem("E212", message, span, "write the length in seconds: `within 0.5`")


def can_be_instant(pattern: s.Pattern, table: Mapping[str, Relation]) -> bool:
    """Tell whether a pattern can occur at an instant; a sequence never does."""
    point = (0, 0)

    def combine(node: s.Pattern, parts: tuple[bool, ...]) -> bool:
        match node:
            case s.Binary(operator=operator, alone=alone):
                alone_too = alone is not None and parts[0 if alone == "left" else 1]
                return alone_too or (all(parts) and table[operator].holds(point, point))
            case s.Or():
                return any(parts)
            case s.NotWithin():
                return False
            case s.Repeat(least=s.Const(value=int() as least)):
                return parts[0] and least < 2
            case _:
                return not parts or parts[0]

    return fold(pattern, combine)[id(pattern)]


def _last_problems(node: s.Last) -> Iterator[Problem]:
    under: s.Pattern = node.pattern
    while isinstance(under, s.Condition | s.Within | s.Last | s.Do):
        under = under.pattern
    if node.count < 1:
        yield Problem("E213", f"`last` takes a positive number of elements, not {node.count}", node.span)
    elif not isinstance(under, s.Aggregate):
        opened = isinstance(under, s.Binary) and isinstance(under.right, s.Aggregate)
        hint = (
            "an aggregate after an opener counts from the opener on; leave `last` or the opener out" if opened else None
        )
        message = "`last` belongs to an aggregate: aggregate(K, Pattern, R) last N"
        yield Problem("E213", message, node.span, hint or "for a limit in time write `within Duration`")


def _repeat_problems(node: s.Repeat, left: Names) -> Iterator[Problem]:
    if isinstance(node.least, s.Const) and isinstance(node.most, s.Const):
        yield from _bound_problems(node.least, left)
        yield from _bound_problems(node.most, left)
        low, high = node.least.value, node.most.value
        if isinstance(low, int) and isinstance(high, int) and 0 < high < low:
            message = f"a repetition of {low} to {high} is empty"
            yield Problem("E214", message, node.span, f"write `ntimes ({high}, {low})`")
        return
    for given in (node.least, node.most):
        if given is not None:
            yield from _bound_problems(given, left)


def _bound_problems(given: s.Term, left: Names) -> Iterator[Problem]:
    match given:
        case s.Const(value=int() as n) if n > 0:
            return
        case s.Var(name=name) if name in left:
            return
        case s.Var(name=name):
            hint = "bind it in an event of the sequence, before the repetition"
            yield Problem(
                "E214", f"{written(given)} has no value left of the repetition that it counts", given.span, hint
            )
        case _:
            yield Problem("E214", f"a repetition counts with a positive integer, not {written(given)}", given.span)


def _aggregate_problems(node: s.Aggregate, bound: Names) -> Iterator[Problem]:
    row = FOLDS.get(node.kind)
    if row is None:
        hint = suggest(node.kind, FOLDS, f"aggregates: {listing(FOLDS)}")
        yield Problem("E215", f"unknown aggregate {node.kind}", node.span, hint)
        return
    if row.has_value and node.value is None:
        yield Problem(
            "E215", f"{node.kind} needs to know of what", node.span, f"write {node.kind}(X), X from the pattern"
        )
    elif not row.has_value and node.value is not None:
        hint = "write count; for different values use distinct(X)"
        yield Problem("E215", f"{node.kind} takes no argument", node.value.span or node.span, hint)
    elif node.value is not None:
        for v in variables(node.value):
            if v.name not in bound:
                message = f"{written(v)} is aggregated, but does not occur in the aggregated pattern"
                yield Problem("E216", message, v.span, suggest(v.name, bound, f"use it in {_text(node.pattern)}"))


def _text(pattern: s.Pattern) -> str:
    return "the pattern" if pattern.span is None else written(s.Const("", pattern.span))


def _choice_problems(node: s.AnyOf, *, keeps_newest: bool) -> Iterator[Problem]:
    m = len(node.patterns)
    if not 1 <= node.count <= m:
        message = f"any({node.count}, ...) chooses among {counted(m, 'pattern')}"
        yield Problem("E219", message, node.span, f"choose 1 to {m} of them" if m else "list the patterns")
        return
    too_many = None if keeps_newest else refuse_choices(node)
    if too_many is not None:
        yield too_many
    seen: dict[Hashable, s.Pattern] = {}
    for pattern in node.patterns:
        before = seen.setdefault(pattern_shape(pattern), pattern)
        if before is not pattern:
            message = "two patterns of `any` are equal up to the names of their variables"
            hint = "for several events of one kind write `ntimes`: a(X) ntimes 2"
            yield Problem("E245", message, pattern.span or node.span, hint)


def pattern_shape(pattern: s.Pattern) -> Hashable:
    """Return a key that is equal for patterns that differ in the names of variables only."""
    numbers: dict[str, int] = {}

    def shape(x: object) -> Hashable:
        if isinstance(x, s.Var):
            name = f"_#{len(numbers)}" if x.name.startswith("_#") else x.name  # each of the anonymous is another
            return ("v", numbers.setdefault(name, len(numbers)))
        if isinstance(x, tuple):
            return tuple(map(shape, x))
        if is_dataclass(x) and not isinstance(x, Span):
            return (type(x).__name__, *(shape(getattr(x, f.name)) for f in fields(x) if f.compare))
        return (type(x).__name__, x)

    return shape(pattern)


def alarm_problems(alarm: s.Alarm) -> Iterator[Problem]:
    """Yield what is wrong with the delay or the time of an alarm."""
    place = alarm.when.span or alarm.span
    match alarm.kind, alarm.when:
        case _, s.Var():
            return
        case "after", s.Const(value=int() | float() as delay):
            if delay <= 0:
                hint = "for an event at the same time write an ordinary rule"
                yield Problem(
                    "E223", f"an alarm rings later: its delay must be above 0, not {written(alarm.when)}", place, hint
                )
        case "after", _:
            yield Problem("E223", f"the delay of an alarm is a number of seconds, not {written(alarm.when)}", place)
        case _, s.Const(value=int() | float()):
            return
        case _, s.Compound(name=name, args=args) if is_calendar(name, len(args)):
            return
        case _:
            hint = "write seconds, datetime(Y, M, D, H, Mi, S), or a variable that the pattern binds"
            yield Problem("E223", f"the time of an alarm cannot be {written(alarm.when)}", place, hint)
