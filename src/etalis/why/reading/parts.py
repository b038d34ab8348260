"""A rope read along the text of its rule: which event stood at which place, on which interval.

The pattern is the rule's, without its modifiers at every place (they are kept beside it, the innermost first); the rope
says which branch, elements and candidates there were. Variables of a repeated or aggregated pattern are of their
element alone, unless they occur elsewhere (definition 13.19, 14.8); so each element has a scope of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, assert_never

from etalis.data.values import Value
from etalis.language import syntax as s
from etalis.language.check.bound_variables import mentioned as find_mentioned
from etalis.language.outer.partner_conditions import part_operands
from etalis.language.traversal import names, postorder, variables
from etalis.semantics.matches import match_all
from etalis.temporal.relation import Relation
from etalis.temporal.rope import (
    CutRope,
    FlatRope,
    FoldRope,
    FollowedRun,
    MixedFold,
    Rope,
    RunRope,
    SeveralRopes,
    flatten,
)
from etalis.why.missing_parts import end_alone


class LeafEvent(NamedTuple):
    """The event at a place of a pattern; without times one that is not kept."""

    args: tuple[Value, ...] | None
    start: int | None
    end: int | None


@dataclass(slots=True, eq=False)
class BindingScope:
    """What the events of a match, or of one element of it, bind; `shared` names belong to the scope around it."""

    around: BindingScope | None = None
    shared: frozenset[str] = frozenset()
    found: dict[str, Value] = field(default_factory=dict)

    def put(self, name: str, value: Value) -> None:
        """Bind a variable, here and where it is shared."""
        scope: BindingScope | None = self
        while scope is not None:
            scope.found.setdefault(name, value)
            scope = scope.around if name in scope.shared else None

    def get(self, name: str) -> Value | None:
        """Return the value of a variable; None if nothing binds it."""
        scope: BindingScope | None = self
        while scope is not None:
            if name in scope.found:
                return scope.found[name]
            scope = scope.around if name in scope.shared else None
        return None


@dataclass(slots=True, eq=False)
class MatchPart:
    """A place of a pattern in a match.

    `left` and `right` are the sides of an operator, one match each, but for candidates put together; of a repetition or
    aggregate `left` is what it comes after and `right` its elements. `first` is the end of the first and `last` the
    start of the last part of a sequence. `unknown`: the rope does not tell what is below.
    """

    pattern: s.Pattern
    modifiers: tuple[s.Pattern, ...]
    rope: Rope
    outer: frozenset[str]
    scope: BindingScope
    left: list[MatchPart] = field(default_factory=list)
    right: list[MatchPart] = field(default_factory=list)
    which: int = 0
    start: int | None = None
    end: int | None = None
    first: int | None = None
    last: int | None = None
    sequential: bool = False
    unknown: bool = False
    bound: dict[str, Value] = field(default_factory=dict)  # filled from the leaves up
    value: Value = None  # of an aggregate
    window: int | None = None  # the smallest around it or on it
    turn: int = 0  # in an element: how many of the same inputs came before it
    tests: list[Any] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class MatchReading:
    """All parts of a match, each before those below it; the first is the whole."""

    parts: list[MatchPart]

    @property
    def whole(self) -> MatchPart:
        """The part that is the whole pattern."""
        return self.parts[0]

    def leaves(self) -> Iterator[MatchPart]:
        """Yield the places of events."""
        return (part for part in self.parts if isinstance(part.pattern, s.EventPattern) and not part.unknown)

    def upwards(self) -> Iterator[MatchPart]:
        """Yield all parts, those below before those above."""
        return reversed(self.parts)


class PartReader:
    """Reads ropes along patterns; `look` says which event a leaf's rope is."""

    def __init__(self, look: Callable[[Rope], LeafEvent], relations: Mapping[str, Relation]) -> None:
        self.look = look
        self.relations = relations
        self._mentioned: dict[int, tuple[s.Pattern, frozenset[str]]] = {}
        self._any_chooses = False

    def read(
        self, pattern: s.Pattern, rope: Rope, outer: frozenset[str], *, any_chooses: bool = False
    ) -> MatchReading:  # fmt: skip
        """Return the parts of a match of a pattern; `outer` are the variables of the rest of the rule.

        `any_chooses`: an `any` is an operator of its own, also below an `or` (definition 12.23).
        """
        self._any_chooses = any_chooses
        whole = self._part(pattern, rope, outer, BindingScope())
        whole.window = min((m.duration for m in whole.modifiers if isinstance(m, s.Within)), default=None)
        parts: list[MatchPart] = []
        waiting = [whole]
        while waiting:
            part = waiting.pop()
            parts.append(part)
            self._open(part)
            for inner in (*part.left, *part.right):
                inner.turn = inner.turn or part.turn
                bounds = [part.window, *(m.duration for m in inner.modifiers if isinstance(m, s.Within))]
                inner.window = min((bound for bound in bounds if bound is not None), default=None)
            waiting += [*part.right, *part.left]
        reading = MatchReading(parts)
        for part in reading.upwards():
            self._measure(part)
        return reading

    def mentioned(self, pattern: s.Pattern) -> frozenset[str]:
        """Return the variables of a pattern that what is around it can share."""
        known = self._mentioned.get(id(pattern))
        if known is None:
            known = self._mentioned[id(pattern)] = (pattern, find_mentioned(pattern))
        return known[1]

    def _part(self, pattern: s.Pattern, rope: Rope, outer: frozenset[str], scope: BindingScope) -> MatchPart:
        modifiers: list[s.Pattern] = []
        while isinstance(pattern, s.Modifier):
            modifiers.insert(0, pattern)
            match pattern:
                case s.Negation(absent=absent):
                    outer |= self.mentioned(absent)
                case s.Condition(goal=term) | s.Do(action=term):
                    outer |= _variables(term)
            pattern = pattern.pattern
        part = MatchPart(pattern, tuple(modifiers), rope, outer, scope)
        part.unknown = isinstance(rope, CutRope | FlatRope)
        return part

    def _open(self, part: MatchPart) -> None:
        """Find the parts directly below one."""
        pattern, rope = part.pattern, part.rope
        if part.unknown:
            return
        match pattern:
            case s.EventPattern(args=args):
                event = self.look(rope)
                part.start, part.end = event.start, event.end
                if event.args is None:
                    part.unknown = True
                    return
                for name, value in (match_all(args, event.args, {}) or {}).items():
                    part.scope.put(name, value)
                    part.bound[name] = value
            case s.TimePoint(time=time):
                part.start = part.end = time
            case s.Binary(alone="left" | "right"):
                self._open_outer(part, pattern)
            case s.Binary(operator="seq", left=left, right=s.Repeat() as repeat):
                self._open_run(part, left, repeat)
            case s.Repeat():
                self._open_run(part, None, pattern)
            case s.Binary(operator="seq", left=left, right=s.Aggregate() as fold):
                self._open_fold(part, left, fold)
            case s.Aggregate():
                self._open_fold(part, None, pattern)
            case s.Binary(left=left, right=right):
                lefts, rights = self._candidates(pattern, *rope)
                outer = part.outer | self.mentioned(right)
                part.left = [self._part(left, one, outer, scope) for one, scope in self._scoped(part, lefts)]
                outer = part.outer | self.mentioned(left)
                part.right = [self._part(right, one, outer, scope) for one, scope in self._scoped(part, rights)]
            case s.Or():
                part.which, chosen = self._branch(pattern, rope)
                part.left = [self._part(alternatives(pattern)[part.which], chosen, part.outer, part.scope)]
            case s.NotWithin(pattern=left, absent=absent):
                part.left = [self._part(left, rope, part.outer | self.mentioned(absent), part.scope)]
            case s.AnyOf() | s.SubRule() | s.Negation() | s.Condition() | s.Within() | s.Last() | s.Do() | s.Isolated():
                raise AssertionError("no part of its own")
            case _:
                assert_never(pattern)

    def _branch(self, pattern: s.Or, rope: Rope) -> tuple[int, Rope]:
        """Return which of the alternatives a match is of, and what it is made of."""
        _, branch, chosen = rope
        if not self._any_chooses or pattern.chosen:
            return branch, chosen
        branches = alternatives(pattern, any_chooses=True)
        before = sum(len(alternatives(one)) for one in branches[:branch])
        if not isinstance(branches[branch], s.Or):
            return before, chosen
        _, which, chosen = chosen
        return before + which, chosen

    def _open_outer(self, part: MatchPart, pattern: s.Binary) -> None:
        """Find the parts of an operator of which one may be missing; only a pair has passed its conditions."""
        _, part.which, rope = part.rope
        left, right, conditions = part_operands(pattern)
        outer = part.outer.union(*(_variables(condition.goal) for condition in conditions))
        lefts, rights = self._candidates(pattern, *rope) if part.which == 0 else ([rope], [rope])
        if part.which == 0:
            part.modifiers = (*conditions, *part.modifiers)
        if part.which == 0 or pattern.alone == "left":
            beside = outer | self.mentioned(right)
            part.left = [self._part(left, one, beside, scope) for one, scope in self._scoped(part, lefts)]
        if part.which == 0 or pattern.alone == "right":
            beside = outer | self.mentioned(left)
            part.right = [self._part(right, one, beside, scope) for one, scope in self._scoped(part, rights)]

    def _candidates(self, pattern: s.Binary, left: Rope, right: Rope) -> tuple[list[Rope], list[Rope]]:
        """Return the matches of both sides: of the one that waited several, where `cumulative` put them together.

        What waits in a sequence is its left side.
        """
        if isinstance(left, SeveralRopes) and (
            not isinstance(right, SeveralRopes) or self.relations[pattern.operator].sequential
        ):
            return left.ropes, [right]
        return [left], right.ropes if isinstance(right, SeveralRopes) else [right]

    @staticmethod
    def _scoped(part: MatchPart, several: list[Rope]) -> list[tuple[Rope, BindingScope]]:
        """Return matches with their scopes: of those that were put together the latest gives the variables (12.16)."""
        return [*((one, BindingScope()) for one in several[:-1]), (several[-1], part.scope)]

    def _open_run(self, part: MatchPart, left: s.Pattern | None, repeat: s.Repeat) -> None:
        if isinstance(part.rope, SeveralRopes) and len(part.rope.ropes) == 1:
            part.rope = part.rope.ropes[0]
        if isinstance(part.rope, SeveralRopes):  # matches that cumulative put together
            scoped = self._scoped(part, part.rope.ropes)
            part.left = [MatchPart(part.pattern, (), one, part.outer, scope) for one, scope in scoped]
            return
        run: RunRope | FollowedRun = part.rope
        bounds = _variables(repeat.least) | (frozenset() if repeat.most is None else _variables(repeat.most))
        if left is not None:
            inside = self.mentioned(repeat.pattern)
            part.left = [self._part(left, run.left, part.outer | inside | bounds, part.scope)]
        visible = part.outer | bounds | (frozenset() if left is None else self.mentioned(left))
        part.right = [self._element(repeat.pattern, rope, visible, visible, part.scope) for *_, rope in run.taken()]
        several = run.run if isinstance(run, FollowedRun) else run
        _number_alike(repeat.pattern, part.right, [rope for *_, rope in several.elements[: several.first]])

    def _open_fold(self, part: MatchPart, left: s.Pattern | None, fold: s.Aggregate) -> None:
        rope: FoldRope = part.rope
        taken_of = frozenset() if fold.value is None else _variables(fold.value)
        if left is not None:
            part.left = [self._part(left, rope.opener, part.outer | self.mentioned(fold), part.scope)]
        visible = part.outer | _variables(fold.result) | (frozenset() if left is None else self.mentioned(left))
        around, shared = visible | taken_of, visible - taken_of
        part.right = [self._element(fold.pattern, one, around, shared, part.scope) for one in rope.taken()]
        _number_alike(fold.pattern, part.right, [] if isinstance(rope, MixedFold) else rope.elements[: rope.first])

    def _element(
        self, pattern: s.Pattern, rope: Rope, outer: frozenset[str], shared: frozenset[str], scope: BindingScope
    ) -> MatchPart:
        return self._part(pattern, rope, outer, BindingScope(scope, shared))

    def _measure(self, part: MatchPart) -> None:
        """Find the interval of a part, and the bounds of its gap, from those of the parts below it."""
        below = [*part.left, *part.right]
        if any(one.unknown or one.end is None for one in below):
            part.unknown = part.unknown or any(one.unknown for one in below)
        elif below:
            self._measure_known(part)
        if not part.sequential:
            part.first, part.last = part.end, part.start

    def _measure_known(self, part: MatchPart) -> None:
        pattern = part.pattern
        match pattern:
            case s.Or():
                (chosen,) = part.left
                part.start, part.end = chosen.start, chosen.end
            case s.NotWithin(duration=duration):
                (left,) = part.left
                assert left.end is not None
                part.start, part.end = left.start, left.end + duration
            case s.Binary(operator=operator, alone="left" | "right" as alone) if part.which == 1:
                start, end = _hull([*part.left, *part.right])
                part.start, part.end = start, end_alone(self.relations[operator], alone, part.window, start, end)
            case s.Binary(operator="seq", right=s.Repeat()) | s.Repeat():
                self._measure_run(part)
            case s.Binary(operator="seq", right=s.Aggregate()) | s.Aggregate():
                self._measure_fold(part)
            case s.Binary(operator=operator, apart=apart):
                a, b = _hull(part.left), _hull(part.right)
                relation = self.relations[operator]
                part.start, part.end = relation.interval(a, b)
                part.sequential = relation.sequential and pattern.alone is None
                part.first, part.last = part.left[-1].first, part.right[-1].last
                if apart:
                    part.first, part.last = part.left[-1].end, part.right[-1].start

    def _measure_run(self, part: MatchPart) -> None:
        if isinstance(part.rope, SeveralRopes):
            part.start, part.end = _hull(part.left)
            latest = part.left[-1]
            part.sequential, part.first, part.last = latest.sequential, latest.first, latest.last
            return
        run = part.rope.run if isinstance(part.rope, FollowedRun) else part.rope
        taken = run.taken()
        first, last = min(start for start, _, _ in taken), taken[-1][1]
        part.start, part.end = first, last
        if part.left:
            (left,) = part.left
            part.start, part.first, part.last, part.sequential = left.start, left.first, first, True

    def _measure_fold(self, part: MatchPart) -> None:
        start, end = _hull([*part.left, *part.right])
        part.start, part.end = start, end
        if part.left:
            (left,) = part.left
            part.start, part.first, part.sequential = left.start, left.first, True
            part.last = _hull(part.right)[0] if part.right else left.last


def alternatives(pattern: s.Pattern, *, any_chooses: bool = False) -> list[s.Pattern]:
    """Return the alternatives of an `or` in which others stand directly, from left to right.

    Where `any_chooses`, an `any` is one of them.
    """
    found: list[s.Pattern] = []
    waiting = [pattern]
    while waiting:
        one = waiting.pop()
        if isinstance(one, s.Or) and not (any_chooses and one.chosen):
            waiting += [one.right, one.left]
        else:
            found.append(one)
    return found


def _number_alike(pattern: s.Pattern, elements: list[MatchPart], before: list[Rope]) -> None:
    """Number the elements that are different solutions for the same inputs; some may not contribute any more."""
    if not any(isinstance(node, s.Condition) and node.kind == "event_multiply" for node in postorder(pattern)):
        return
    last, turn = None, 0
    for rope, part in [*((rope, None) for rope in before), *((part.rope, part) for part in elements)]:
        inputs = flatten(rope)
        last, turn = inputs, turn + 1 if inputs == last else 0
        if part is not None:
            part.turn = turn


def _hull(parts: list[MatchPart]) -> tuple[int, int]:
    return min(p.start for p in parts if p.start is not None), max(p.end for p in parts if p.end is not None)


def _variables(term: s.Term) -> frozenset[str]:
    return names(variables(term))
