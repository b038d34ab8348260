"""The text of a rule as the checker of justifications walks it: cores, the modifiers on each, and terms against values.

Read anew from docs/definition.md, sections 8 to 15, by nothing that an engine plans or runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from etalis.data.values import Struct, Value
from etalis.language import syntax as s
from etalis.language.check.bound_variables import bindings as binds
from etalis.language.check.bound_variables import mentioned
from etalis.language.ground_terms import listed, unlisted
from etalis.language.outer.partner_conditions import part_conditions, part_operands
from etalis.language.rules import expand_any
from etalis.language.traversal import rewrite, variables

Bound: TypeAlias = Mapping[str, Value]
Names: TypeAlias = frozenset[str]


@dataclass(slots=True, eq=False)
class TextModifier:
    """A modifier with the smallest window around it and, of an absence, the pattern that must not match."""

    pattern: s.Modifier
    window: int | None
    absent: TextPart | None = None


@dataclass(slots=True, eq=False)
class TextPart:
    """A pattern without its modifiers, which stand beside it, innermost first.

    `window` is the smallest window around or on it; `around` are the variables that occur elsewhere in the rule,
    `outer` those of its modifiers, too, `head` those of the head; `below` are the parts it is made of, left to right.
    `partners` are conditions over both: of an operator those that tell a partner, of a negated pattern a blocker.
    """

    core: s.Pattern
    modifiers: list[TextModifier]
    window: int | None
    outer: Names
    head: Names
    around: Names = frozenset()
    below: list[TextPart] = field(default_factory=list)
    absent: TextPart | None = None
    partners: list[TextModifier] = field(default_factory=list)

    @property
    def groups(self) -> Names:
        """The variables of an aggregate's elements that group them (definition 14.8)."""
        core, others = self.core, self.outer
        if isinstance(core, s.Binary):
            others |= mentioned(core.left)
        fold = core.right if isinstance(core, s.Binary) else core
        assert isinstance(fold, s.Aggregate)
        found = binds(fold.pattern)[id(fold.pattern)].perhaps
        return (found & (others | named([fold.result]))) - aggregated(fold)


def arrange(pattern: s.Pattern, outer: Names, head: Names) -> TextPart:
    """Return a whole pattern as parts."""
    root = _strip(rewrite(pattern, expand_any), outer, head, None)
    waiting = [root]
    while waiting:
        part = waiting.pop()
        part.below = [_strip(inner, part.outer | beside, head, part.window) for inner, beside in _parts(part.core)]
        if isinstance(part.core, s.Binary):
            part.partners = [TextModifier(condition, part.window) for condition in part_operands(part.core)[2]]
        if isinstance(part.core, s.NotWithin):
            part.absent = _negated(part.core.absent, part.core.pattern, head)
        negated = [m.absent for m in part.modifiers if m.absent is not None]
        waiting += [*part.below, *negated, *(() if part.absent is None else (part.absent,))]
    return root


def _strip(pattern: s.Pattern, outer: Names, head: Names, window: int | None) -> TextPart:
    """Take the modifiers off a pattern; a negated one is unrestricted and has its own windows only."""
    modifiers: list[TextModifier] = []
    around = outer
    while isinstance(pattern, s.Modifier):
        modifier = TextModifier(pattern, window)
        modifiers.insert(0, modifier)
        match pattern:
            case s.Within(duration=duration):
                window = duration if window is None else min(window, duration)
            case s.Condition(goal=goal) | s.Do(action=goal):
                outer |= named([goal])
            case s.Negation(pattern=left, absent=absent):
                outer |= mentioned(absent)
                modifier.absent = _negated(absent, left, head)
        pattern = pattern.pattern
    return TextPart(pattern, modifiers, window, outer, head, around)


def _negated(absent: s.Pattern, left: s.Pattern, head: Names) -> TextPart:
    """Return a negated pattern, without its conditions over the match, which stand beside it."""
    rest, conditions = part_conditions(absent, left)
    asked = named([condition.goal for condition in conditions])
    part = _strip(rest, mentioned(left) | asked, head, None)
    part.partners = [TextModifier(condition, None) for condition in conditions]
    return part


def _parts(core: s.Pattern) -> list[tuple[s.Pattern, Names]]:
    """Return what a core is made of, each with the variables that stand beside it."""
    match core:
        case s.Binary(alone="left" | "right"):
            left, right, conditions = part_operands(core)
            asked = named([condition.goal for condition in conditions])
            return [(left, mentioned(right) | asked), (right, mentioned(left) | asked)]
        case s.Binary(operator="seq", left=left, right=s.Repeat() as repeat):
            return [(left, mentioned(repeat)), (repeat.pattern, mentioned(left) | bounds(repeat))]
        case s.Binary(operator="seq", left=left, right=s.Aggregate() as fold):
            return [(left, mentioned(fold)), (fold.pattern, mentioned(left) | aggregated(fold) | named([fold.result]))]
        case s.Binary(left=left, right=right):
            return [(left, mentioned(right)), (right, mentioned(left))]
        case s.Or():
            return [(branch, frozenset()) for branch in alternatives(core)]
        case s.NotWithin(pattern=left, absent=absent):
            return [(left, mentioned(absent))]
        case s.Repeat(pattern=inner):
            return [(inner, bounds(core))]
        case s.Aggregate(pattern=inner, result=result):
            return [(inner, aggregated(core) | named([result]))]
        case _:
            return []


def alternatives(pattern: s.Pattern) -> list[s.Pattern]:
    """Return the alternatives of directly nested `or`, left to right."""
    found: list[s.Pattern] = []
    waiting = [pattern]
    while waiting:
        node = waiting.pop()
        if isinstance(node, s.Or):
            waiting += [node.right, node.left]
        else:
            found.append(node)
    return found


def named(terms: Iterable[s.Term]) -> Names:
    """Return the variables of terms but for anonymous ones."""
    return frozenset(v.name for v in variables(*terms) if not v.name.startswith("_#"))


def bounds(repeat: s.Repeat) -> Names:
    """Return the variables that a repetition counts with."""
    return named([repeat.least, repeat.most or repeat.least])


def aggregated(fold: s.Aggregate) -> Names:
    """Return the variables that an aggregate is taken of."""
    return frozenset() if fold.value is None else named([fold.value])


def limits(repeat: s.Repeat, bound: Bound) -> tuple[int, int | None] | None:
    """Return how many occurrences a repetition takes; None if its bounds are no counts (definition 13.4)."""
    least = ground(repeat.least, bound)
    most = least if repeat.most is None else ground(repeat.most, bound)
    if not (isinstance(least, int) and isinstance(most, int) and 1 <= least <= most):
        return None
    return least, None if repeat.most is None else most


def bind(terms: Sequence[s.Term], values: Sequence[Value], bound: Bound) -> dict[str, Value] | None:
    """Match terms with values; return what that binds, with what was bound before."""
    found, waiting = dict(bound), list(zip(terms, values, strict=True))
    while waiting:
        term, value = waiting.pop()
        match term:
            case s.Var(name):
                if name in found and found[name] != value:
                    return None
                if not name.startswith("_#"):
                    found[name] = value
            case s.Const(constant):
                if constant != value:
                    return None
            case s.Compound(name, args):
                if not (isinstance(value, Struct) and value.name == name and len(value.args) == len(args)):
                    return None
                waiting += zip(args, value.args, strict=True)
            case s.ListTerm(items, tail):
                front = unlisted(value, len(items))
                if front is None:
                    return None
                waiting += zip((*items, s.Const(()) if tail is None else tail), front, strict=True)
    return found


def join(a: Bound, b: Bound) -> dict[str, Value] | None:
    """Return both bindings together, if they agree on what both bind."""
    return None if any(a[v] != b[v] for v in a.keys() & b.keys()) else {**a, **b}


def ground(term: s.Term, bound: Bound) -> Value:
    """Return a term's value; an unbound variable is null (definition 9.18)."""
    match term:
        case s.Var(name):
            return bound.get(name, "null")
        case s.Const(value):
            return value
        case s.Compound(name, args):
            return Struct(name, [ground(a, bound) for a in args])
        case s.ListTerm(items, tail):
            return listed(tuple(ground(i, bound) for i in items), () if tail is None else ground(tail, bound))
