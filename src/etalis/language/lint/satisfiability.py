"""Rules that can never fire, and which part of them is the cause (definition sections 9 to 11).

Every pattern has an extent (`extent`), none if it has no match: a window too short for what is in it, a relation that
cannot hold, a condition that never does, a part that is itself what must not occur, an event that only such rules
make. The extents of derived events are those of their rules, up to the least fixpoint, so an event that is made of
itself alone has none. What may come from outside can be anything: events that no rule makes, that are declared, or
that goals raise.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import assert_never

from etalis.errors import Problem
from etalis.language import syntax as s
from etalis.language.check.effects import raised_events
from etalis.language.check.goals import Indicator
from etalis.language.check.outline import Outline
from etalis.language.lint.blocking import blocking_part
from etalis.language.lint.constraints import NEVER_HOLDS, check_conditions
from etalis.language.lint.extent import ANYWHERE, INSTANT, Extent, at, either, relate, widened
from etalis.temporal.aggregate import FOLDS
from etalis.temporal.relation import Relation, relations

LARGEST = 300  # nodes of a pattern in which blockers are looked for
MOST_HEADS = 100  # rules of one event whose heads are compared with what reads it
_SETTLED = 4  # changes of an extent after which its bounds are no longer followed one by one

Extents = dict[int, Extent | None]


@dataclass(frozen=True)
class Occurrence:
    """What can occur in a program: the extents of its events, and of every node of its rules."""

    outline: Outline

    @cached_property
    def conditions(self) -> tuple[tuple[s.Pattern, Problem], ...]:
        """The conditions that never or always hold, with what to say of them."""
        return tuple(found for rule in self.outline.rules for found in check_conditions(rule, self.outline))

    @cached_property
    def blocked(self) -> Mapping[int, s.EventPattern]:
        """The negations that forbid every match, by id, with the part of the match that does it."""
        return dict(found for rule in self.outline.rules for found in self._blocked(rule))

    @cached_property
    def dead(self) -> frozenset[int]:
        """The nodes that have no match, whatever is below them."""
        return frozenset(self.blocked) | {id(node) for node, problem in self.conditions if problem.code == NEVER_HOLDS}

    def _blocked(self, rule: s.Rule) -> Iterator[tuple[int, s.EventPattern]]:
        walk = self.outline.walk(rule)
        for node in walk.of(s.Negation) if len(walk.nodes) <= LARGEST else ():
            part = blocking_part(node, self.outline.bound[id(node.pattern)].perhaps, self.table)
            if part is not None:
                yield id(node), part

    @cached_property
    def table(self) -> Mapping[str, Relation]:
        return relations(self.outline.settings.relations)

    @cached_property
    def closed(self) -> frozenset[Indicator]:
        """The events that come from rules of the program alone."""
        raised = raised_events(self.outline)
        if raised is None:
            return frozenset()
        declared = {key for key, item in self.outline.declared.items() if not item.implied}
        return self.outline.derived - declared - raised - frozenset(self.outline.learned)

    @cached_property
    def makers(self) -> Mapping[Indicator, Sequence[s.Rule]]:
        """The rules that make each event that comes from rules alone."""
        found: dict[Indicator, list[s.Rule]] = {}
        for rule in self.outline.rules:
            key = kind_of(rule.head)
            if key in self.closed:
                found.setdefault(key, []).append(rule)
        return found

    @property
    def made(self) -> Mapping[int, Extent | None]:
        """The extents of what every rule makes, by the id of the rule."""
        return self._fixpoint[0]

    def extents(self, rule: s.Rule) -> Extents:
        """Return the extents of all nodes of a rule's pattern, by their ids."""
        return self._fixpoint[1][id(rule)]

    @cached_property
    def _fixpoint(self) -> tuple[Mapping[int, Extent | None], Mapping[int, Extents]]:
        """What every rule makes, and its nodes: looked at again when what it reads has changed, so all are the last."""
        readers: dict[Indicator, dict[int, s.Rule]] = {}
        for rule in self.outline.rules:
            for event in self.outline.walk(rule).of(s.EventPattern):
                readers.setdefault(kind_of(event), {})[id(rule)] = rule
        made: dict[int, Extent | None] = {id(rule): None for rule in self.outline.rules}
        nodes: dict[int, Extents] = {}
        waiting = deque(self.outline.rules)
        queued = set(made)
        changes: Counter[int] = Counter()
        while waiting:
            rule = waiting.popleft()
            queued.discard(id(rule))
            nodes[id(rule)] = self._extents(rule, made)
            old, new = made[id(rule)], self._made_by(rule, nodes[id(rule)])
            grown = either((old, new))
            if grown is None or grown == old:
                continue
            changes[id(rule)] += 1
            made[id(rule)] = grown if old is None or changes[id(rule)] < _SETTLED else widened(old, grown)
            for reader in readers.get(kind_of(rule.head), {}).values():
                if id(reader) not in queued:
                    queued.add(id(reader))
                    waiting.append(reader)
        return made, nodes

    def _made_by(self, rule: s.Rule, extents: Extents) -> Extent | None:
        found = extents[id(rule.pattern)]
        window = self.window_of(rule)
        if found is not None and window is not None:
            found = found.limited(window)
        return found if found is None or rule.alarm is None else INSTANT

    def window_of(self, rule: s.Rule) -> int | None:
        """Return the smallest window that stands around a whole rule."""
        _, window = self.outline.rule_settings(rule)
        general = self.outline.settings.garbage_window
        return min((w for w in (window, general) if w is not None), default=None)

    def _extents(self, rule: s.Rule, made: Mapping[int, Extent | None]) -> Extents:
        policy, _ = self.outline.rule_settings(rule)

        def combine(node: s.Pattern, parts: tuple[Extent | None, ...]) -> Extent | None:
            if isinstance(node, s.EventPattern):
                return self._read(node, made)
            if id(node) in self.dead:
                return None
            found = _combine(node, parts, self.table)
            if found is not None and policy.select == "together" and isinstance(node, s.Binary | s.Repeat):
                return Extent((found.length[0], inf), found.start, found.end)
            return found

        return self.outline.walk(rule).fold(combine)

    def _read(self, event: s.EventPattern, made: Mapping[int, Extent | None]) -> Extent | None:
        makers = self.makers.get(kind_of(event))
        if makers is None:
            return ANYWHERE
        return either(made[id(rule)] for rule in self.matching(event, makers))

    def matching(self, event: s.EventPattern, makers: Sequence[s.Rule]) -> Sequence[s.Rule]:
        """Return those of the rules whose heads a pattern may match."""
        if len(makers) > MOST_HEADS or all(isinstance(arg, s.Var) for arg in event.args):
            return makers
        return [rule for rule in makers if all(map(may_match, event.args, rule.head.args))]


def kind_of(event: s.EventPattern) -> Indicator:
    """Return name and arity of an event."""
    return event.name, len(event.args)


def may_match(a: s.Term, b: s.Term) -> bool:
    """Tell whether two terms may have a common value, by what stands outermost."""
    match a, b:
        case (s.Var(), _) | (_, s.Var()):
            return True
        case s.Const(value=x), s.Const(value=y):
            return type(x) is type(y) and bool(x == y)
        case s.Compound(name=x), s.Compound(name=y):
            return x == y and len(a.args) == len(b.args)
        case (s.Compound(), s.Const(value=str() | int() | float())) | (
            s.Const(value=str() | int() | float()),
            s.Compound(),
        ):
            return False
        case (s.ListTerm(), s.Const(value=str() | int() | float())) | (
            s.Const(value=str() | int() | float()),
            s.ListTerm(),
        ):
            return False
        case _:
            return True


def _combine(node: s.Pattern, parts: tuple[Extent | None, ...], table: Mapping[str, Relation]) -> Extent | None:
    """Return the extent of a node from those directly under it."""
    first = parts[0] if parts else None
    match node:
        case s.EventPattern() | s.SubRule():
            return ANYWHERE
        case s.TimePoint(time=time):
            return at(time)
        case s.Or():
            return either(parts)
        case s.AnyOf(count=count):
            return _some_of(parts, count)
        case s.Binary(operator="seq", right=s.Aggregate(kind=kind)):
            if first is None or (parts[1] is None and not (kind in FOLDS and FOLDS[kind].at_opener)):
                return None
            return Extent((first.length[0], inf), first.start, (first.end[0], inf))
        case s.Binary(operator=operator, alone=alone):
            a, b = parts
            pair = None if a is None or b is None else relate(table[operator], a, b)
            lone = a if alone == "left" else b if alone == "right" else None
            return pair if lone is None else Extent((lone.length[0], inf), lone.start, (lone.end[0], inf))
    if first is None:
        return None
    if isinstance(node, s.Modifier):
        return first.limited(node.duration) if isinstance(node, s.Within) else first
    match node:
        case s.NotWithin(duration=duration):
            return first.lengthened(duration)
        case s.Repeat(least=least, most=most):
            count = least.value if isinstance(least, s.Const) and isinstance(least.value, int) else 1
            return first.repeated(count, once=least == most == s.Const(1))
        case s.Aggregate():
            return first.repeated(1, once=False)
        case _:
            assert_never(node)


def _some_of(parts: tuple[Extent | None, ...], count: int) -> Extent | None:
    """Return the extent of any so many of some parts, in any order."""
    lengths = sorted(part.length[0] for part in parts if part is not None)
    if count == 1:
        return either(parts)
    return Extent((lengths[count - 1], inf)) if 1 < count <= len(lengths) else None
