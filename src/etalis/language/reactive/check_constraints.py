"""What a constraint over events cannot be (definition section 25)."""

from __future__ import annotations

from collections.abc import Iterator

from etalis.errors import Problem, Span
from etalis.language import syntax as s
from etalis.language.check.outline import Outline
from etalis.language.check.wording import counted, kind, listing, pattern_text, plain
from etalis.language.reactive.constraints import VIOLATED, alternatives, tells_violation
from etalis.language.traversal import patterns_of, postorder


def check_constraints(outline: Outline) -> Iterator[Problem]:
    """Yield what is wrong with constraints, apart from what is wrong with the rules that they stand for."""
    several = [item for item in outline.program.items if isinstance(item, s.Constraint)]
    labels = {constraint.label for constraint in several}
    for constraint in several:
        for pattern in patterns_of(constraint):
            yield from _acting(pattern)
        if constraint.mode == "next" and constraint.required is not None:
            yield from _not_next(constraint.required, outline)
    for item in outline.program.items:
        if isinstance(item, s.LabelProperty) and item.label in labels:
            yield no_properties(item.label, item.span)
    if several:
        yield from _misheard(outline)


def _misheard(outline: Outline) -> Iterator[Problem]:
    """Yield patterns of violations that ask for another number of values than there are."""
    told = {rule.label: rule.head for rule in outline.derivations if tells_violation(rule)}
    arities = {len(head.args) for head in told.values()} | {n for name, n in outline.made if name == VIOLATED}
    for event in outline.used:
        match event:
            case s.EventPattern(name="violated", args=(s.Const(value=str() as label), *rest)) if label in told:
                values = len(told[label].args) - 1
                if len(rest) != values:
                    message = f"a violation of {label} tells {counted(values, 'value')}, here it has {len(rest)}"
                    yield Problem("W270", message, event.span, f"write {_written(told[label])}")
            case s.EventPattern(name="violated", args=args) if len(args) not in arities:
                message = f"no constraint tells {counted(max(0, len(args) - 1), 'value')}"
                yield Problem("W270", message, event.span, f"write {listing(map(_written, told.values()), 'or')}")


def _written(head: s.EventPattern) -> str:
    return plain(s.Compound(head.name, head.args))


def no_properties(label: str, span: Span | None = None) -> Problem:
    """Return that a constraint is given a property."""
    message = f"{label} is a constraint, which has no properties: it misses nothing, whatever the policy"
    return Problem("E292", message, span, "write windows into its patterns")


def _acting(pattern: s.Pattern) -> Iterator[Problem]:
    for node in postorder(pattern):
        if isinstance(node, s.Do):
            message = "a constraint only says what must be, and does nothing"
            hint = "let a reaction do it: on violated(label, ...) do ..."
            yield Problem("E291", message, node.action.span or node.span, hint)


def _not_next(required: s.Pattern, outline: Outline) -> Iterator[Problem]:
    found = alternatives(required)
    if found is None:
        message = f"what comes next is one event, {pattern_text(required)} is more than that"
        hint = "require an event, several with `or`, perhaps with `where`; or write `after within Duration`"
        yield Problem("E291", message, required.span, hint)
        return
    for event in (each.event for each in found):
        key = event.name, len(event.args)
        makers = [rule for rule in outline.derivations if (rule.head.name, len(rule.head.args)) == key]
        if makers and all(rule.alarm is None for rule in makers):
            message = f"{kind(*key)} is derived by a rule: what it is made of comes before it, or with it"
            hint = "require an event that comes in, or write `after within Duration`"
            yield Problem("E291", message, event.span, hint)
