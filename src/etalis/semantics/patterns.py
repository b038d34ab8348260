"""From a pattern to the tree of its operators (definition sections 9 to 14).

`build` hangs a pattern below a receiver: whatever matches is handed to it at once, so that each match climbs to the
head before the next leaf is tried. Modifiers become tests of the operator they are written on; windows are pushed to
every positive part. Law: the order of building is the order of the leaves in the text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import assert_never

from etalis.data.values import format_value
from etalis.errors import ConditionError
from etalis.language import syntax as s
from etalis.language.check.bound_variables import bindings, mentioned
from etalis.language.outer.partner_conditions import part_conditions, part_operands
from etalis.language.printer import print_term
from etalis.language.rules import expand_any
from etalis.language.traversal import terms, variables
from etalis.semantics.counting import Anchored, Folding, Opened, Runs, Sliding
from etalis.semantics.matches import (
    Instance,
    Names,
    Receiver,
    Scope,
    Test,
    Tests,
    World,
    join,
    pass_on,
    solutions,
)
from etalis.semantics.operators import Absence, Blocks, Leaf, ModelAlone, ModelAnyOf, ModelJoin, ModelUnion, restrict
from etalis.temporal.aggregate import FOLDS
from etalis.temporal.policy import POLICIES, Policy

UNRESTRICTED = POLICIES["unrestricted"]


def strip(pattern: s.Pattern, scope: Scope) -> tuple[s.Pattern, list[tuple[s.Pattern, Scope]], Scope]:
    """Take the modifiers off a pattern: what is left, they (innermost first, each with its scope), its own scope."""
    stack: list[tuple[s.Pattern, Scope]] = []
    while True:
        pattern = pattern if _chooses(pattern, scope) else expand_any(pattern)
        around = scope
        match pattern:
            case s.Within(pattern=inner, duration=duration):
                scope = replace(scope, window=duration if scope.window is None else min(scope.window, duration))
            case s.Condition(pattern=inner, goal=goal) | s.Do(pattern=inner, action=goal):
                scope = replace(scope, outer=scope.outer | named([goal]))
            case s.Negation(pattern=inner, absent=absent):
                scope = replace(scope, outer=scope.outer | mentioned(absent))
            case s.Isolated(pattern=inner) | s.Last(pattern=inner):
                pass
            case _:
                return pattern, stack[::-1], scope
        stack.append((pattern, around))
        pattern = inner


def _chooses(pattern: s.Pattern, scope: Scope) -> bool:
    """Tell whether an `any` is an operator of its own (definition 12.23)."""
    return isinstance(pattern, s.AnyOf) and pattern.count > 1 and scope.policy.keep == "newest"


def build(pattern: s.Pattern, receive: Receiver, scope: Scope) -> None:
    """Set up the operators of a pattern, leaves from left to right, so that every match is handed to `receive`."""
    core, modifiers, inner = strip(pattern, scope)
    receive = acting([m.action for m, _ in modifiers if isinstance(m, s.Do)], receive, scope)
    tests = Tests([test for m, around in modifiers for test in _test(m, core, around)], inner.window)
    _build_core(core, modifiers, tests, receive, inner)


def acting(actions: list[s.Term], receive: Receiver, scope: Scope) -> Receiver:
    """Return the receiver that runs actions, in order, for each match before it goes on."""

    def act(x: Instance) -> None:
        for action in actions:
            _act(action, x, scope)
        receive(x)

    return act if actions else receive


def _act(action: s.Term, x: Instance, scope: Scope) -> None:
    """Run an action once; that it fails or raises an error is noted, and the match stands."""
    scope.world.run_state.cause = lambda: scope.world.inputs_of(x)
    try:
        if not solutions(scope.world.solve, "do", action, x.bindings, x.start, x.end):
            scope.world.report(f"the action {print_term(action)} failed{_values(x)}", scope.rule)
    except ConditionError as error:
        first = error.problems[0]
        message = f"the action {print_term(action)} raised: {first.message}{_values(x)}"
        scope.world.report(message, scope.rule, first.hint)


def _build_core(
    core: s.Pattern, modifiers: list[tuple[s.Pattern, Scope]], tests: Tests, receive: Receiver, scope: Scope
) -> None:
    world = scope.world
    match core:
        case s.EventPattern() | s.SubRule():
            world.leaves.append(Leaf(core if isinstance(core, s.EventPattern) else core.rule.head, tests, receive))
        case s.TimePoint(time=time):
            world.points.append((time, lambda x: pass_on(tests(x), receive)))
        case s.Binary(alone="left" | "right"):
            _build_outer(core, tests, receive, scope)
        case s.Binary(operator="seq", left=left, right=s.Repeat() as repeat):
            inside = _inside_repeat(_beside(scope, left), repeat)
            made = Anchored(repeat, inside.outer, _key(left, repeat, scope), tests, receive, scope)
            anchored = world.instead(core, made)
            _build_left(left, anchored.receive_left, _beside(scope, repeat))
            build(repeat.pattern, anchored.receive_element, inside)
        case s.Binary(operator="seq", left=left, right=s.Aggregate() as fold):
            beside = _beside(scope, left)
            opened = Opened(Folding(fold, _groups(fold, beside.outer), tests, receive, scope))
            _build_left(left, opened.receive_opener, _beside(scope, fold))
            build(fold.pattern, opened.receive_element, _inside_fold(beside, fold))
        case s.AnyOf():
            _build_any(core, tests, receive, scope)
        case s.Binary(operator=operator, left=left, right=right, apart=apart):
            relation, policy = world.relations[operator], _policy_of(operator, scope)
            key = _key(left, right, scope)
            join_made = ModelJoin(world, relation, policy, key, tests, receive, apart=apart, chosen=core.chosen)
            joined = world.instead(core, join_made)
            _build_left(left, lambda x: joined.receive(0, x), _beside(scope, right))
            build(right, lambda x: joined.receive(1, x), _beside(scope, left))
        case s.Or(left=left, right=right):
            union = ModelUnion(scope.outer, tests, receive)
            build(left, union.receive, scope)
            build(right, union.receive, scope)
        case s.NotWithin(pattern=left, absent=absent):
            absence = Absence(world, core, _blocking(absent, left, scope), tests, receive, scope.standing)
            build(left, absence.receive, _beside(scope, absent))
        case s.Repeat():
            inside = _inside_repeat(scope, core)
            build(core.pattern, world.instead(core, Runs(core, inside.outer, tests, receive, scope)).receive, inside)
        case s.Aggregate():
            folding = Folding(core, _groups(core, scope.outer), tests, receive, scope)
            build(core.pattern, Sliding(folding, *_span(modifiers)).receive, _inside_fold(scope, core))
        case s.Within() | s.Condition() | s.Do() | s.Negation() | s.Isolated() | s.Last() | s.AnyOf():
            raise AssertionError("stripped off before")
        case _:
            assert_never(core)


def _build_outer(core: s.Binary, tests: Tests, receive: Receiver, scope: Scope) -> None:
    """Build an operator of which one part may be missing; what is written on it comes after it (definition 9.27)."""
    world, side = scope.world, 0 if core.alone == "left" else 1
    left, right, conditions = part_operands(core)
    goals = [_partner_test(condition, scope) for condition in conditions]
    inner = replace(scope, outer=scope.outer | named([condition.goal for condition in conditions]))
    relation = world.relations[core.operator]
    assert relation.alone is not None

    def after(x: Instance) -> None:
        pass_on(tests(replace(x, first=x.end, last=x.start)), receive)

    def order() -> tuple[int, int]:
        return 0 if relation.sequential else world.levels.get(id(core), 1), world.stages.get(id(core), 0)

    alone = ModelAlone(world, side, relation.alone[side], scope.window, order, after, scope.standing)
    key = _key(left, right, inner)
    made = ModelJoin(world, relation, scope.policy, key, Tests(goals, scope.window), after, alone)
    joined = world.instead(core, made)
    _build_left(left, lambda x: joined.receive(0, x), _beside(inner, right))
    build(right, lambda x: joined.receive(1, x), _beside(inner, left))


def _build_any(core: s.AnyOf, tests: Tests, receive: Receiver, scope: Scope) -> None:
    """Build `any` as an operator with a store for each constituent (definition 12.23)."""
    parts = core.patterns
    beside = [_beside_all(scope, parts, place) for place in range(len(parts))]
    always = [always_binds(part, around.outer, scope.head) for part, around in zip(parts, beside, strict=True)]
    others = [frozenset[str]().union(*always[:i], *always[i + 1 :]) for i in range(len(parts))]
    keys = tuple(own & other for own, other in zip(always, others, strict=True))
    made = ModelAnyOf(scope.world, core.count, keys, tests, receive, tuple([] for _ in parts))
    choosing = scope.world.instead(core, made)
    for place, (part, around) in enumerate(zip(parts, beside, strict=True)):
        _build_left(part, partial(choosing.receive, place), around)


def _beside_all(scope: Scope, parts: Sequence[s.Pattern], place: int) -> Scope:
    return replace(scope, outer=scope.outer | _mentioned_beside(parts, place))


def _partner_test(condition: s.Condition, scope: Scope) -> tuple[bool, Test]:
    return True, lambda x: _solve(condition.kind, condition.goal, x, scope)


def _build_left(left: s.Pattern, receive: Receiver, scope: Scope) -> None:
    """Build a left side; matches of a repetition are told apart by what is used outside (definition 13.17)."""
    build(left, lambda x: receive(restrict(x, scope.outer)), scope)


def _beside(scope: Scope, other: s.Pattern) -> Scope:
    return replace(scope, outer=scope.outer | mentioned(other))


def _inside_repeat(scope: Scope, repeat: s.Repeat) -> Scope:
    return replace(scope, outer=scope.outer | _bounds(repeat))


def _inside_fold(scope: Scope, fold: s.Aggregate) -> Scope:
    return replace(scope, outer=scope.outer | aggregated(fold) | named([fold.result]))


def _bounds(repeat: s.Repeat) -> Names:
    return named([repeat.least, repeat.most or repeat.least])


def _groups(fold: s.Aggregate, elsewhere: Names) -> Names:
    """Return the variables that the elements may bind and that occur elsewhere, but for what is aggregated."""
    binds = bindings(fold.pattern)[id(fold.pattern)].perhaps
    return (binds & (elsewhere | named([fold.result]))) - aggregated(fold)


def _key(left: s.Pattern, right: s.Pattern, scope: Scope) -> Names:
    """Return the variables that both sides always bind: the join key of `snoop_recent` (definition 12.13)."""
    a = always_binds(left, scope.outer | mentioned(right), scope.head)
    return a & always_binds(right, scope.outer | mentioned(left), scope.head)


def _policy_of(operator: str, scope: Scope) -> Policy:
    forall = operator == "forall_seq" and scope.policy.restricts
    return POLICIES["continuous"] if forall else scope.policy


def _span(modifiers: list[tuple[s.Pattern, Scope]]) -> tuple[int | None, int | None]:
    """Return over how many microseconds and how many elements an aggregate without opener slides."""
    counts = [m.count for m, _ in modifiers if isinstance(m, s.Last)]
    lengths = [m.duration for m, _ in modifiers if isinstance(m, s.Within)]
    return min(lengths, default=None), min(counts, default=None)


def _blocking(absent: s.Pattern, left: s.Pattern, scope: Scope) -> Blocks:
    """Set up a negated pattern, unrestricted and with its own windows only; return whether a match of it blocks one.

    Where it lies in time is asked first; then its conditions over both (definition 11.17).
    """
    found: list[Instance] = []
    rest, conditions = part_conditions(absent, left)
    outer = mentioned(left) | named([condition.goal for condition in conditions])
    build(rest, found.append, replace(scope, policy=UNRESTRICTED, window=None, outer=outer))
    tests = Tests([_partner_test(condition, scope) for condition in conditions], None)

    def blocks(x: Instance, lies: Callable[[Instance], bool]) -> bool:
        several = [join(c.bindings, x.bindings) for c in found if lies(c)]
        return any(tests(replace(x, bindings=both)) for both in several if both is not None)

    return blocks


def _test(modifier: s.Pattern, core: s.Pattern, scope: Scope) -> Iterator[tuple[bool, Test]]:
    """Yield the test that a modifier on `core` stands for, and whether it is a condition; windows are in the scope."""
    sequential = isinstance(core, s.Binary) and core.alone is None and scope.world.relations[core.operator].sequential

    def gap(x: Instance) -> tuple[int, int]:
        return (x.first, x.last) if sequential else x.interval

    match modifier:
        case s.Condition(kind=kind, goal=goal):
            yield True, lambda x: _solve(kind, goal, x, scope)
        case s.Negation(operator="cnot", pattern=left, absent=absent):
            between = _blocking(absent, left, scope)
            yield False, _unless(lambda x: between(x, lambda c: _lies(c, *gap(x))))
        case s.Negation(pattern=left, absent=absent, window=own):
            before = _blocking(absent, left, scope)
            window = min((w for w in (own, scope.window) if w is not None), default=None)
            yield False, _unless(lambda x: before(x, lambda c: _precedes(c, x, window)))
        case s.Isolated():
            yield False, _unless(lambda x: _is_disturbed(x, *gap(x), scope.world))
        case _:
            return


def _unless(forbidden: Callable[[Instance], bool]) -> Test:
    return lambda x: [] if forbidden(x) else [x]


def _lies(c: Instance, after: int, before: int) -> bool:
    return after < c.start and c.end < before


def _precedes(c: Instance, x: Instance, window: int | None) -> bool:
    return c.end < x.end and (window is None or x.end - window <= c.start)


def _is_disturbed(x: Instance, after: int, before: int, world: World) -> bool:
    others = [event for number, (event, *_) in enumerate(world.record) if number not in x.parts]
    known = [event for event in others if (event.name, len(event.args)) in world.kinds]
    return any(after < event.start_time and event.end_time < before for event in known)


def _solve(kind: str, goal: s.Term, x: Instance, scope: Scope) -> list[Instance]:
    """Return the match once per solution of its goal; an error is noted and fails this match alone."""
    scope.world.run_state.cause = lambda: scope.world.inputs_of(x)
    try:
        found = solutions(scope.world.solve, kind, goal, x.bindings, x.start, x.end)
    except ConditionError as error:
        message = f"the condition {print_term(goal)} raised: {error.problems[0].message}{_values(x)}"
        scope.world.report(message, scope.rule, error.problems[0].hint)
        return []
    return [replace(x, bindings=bindings) for bindings in found]


def _values(x: Instance) -> str:
    bound = ", ".join(f"{v} = {format_value(value)}" for v, value in sorted(x.bindings.items()))
    return f", with {bound}" if bound else ""


def always_binds(pattern: s.Pattern, outer: Names, head: Names) -> Names:
    """Return the variables that every match of a pattern binds; what a goal binds is never sure (definition 12.13)."""

    def inside(part: s.Pattern, beside: Names = frozenset()) -> Names:
        return always_binds(part, outer | beside, head)

    if isinstance(pattern, s.Modifier):
        beside = mentioned(pattern.absent) if isinstance(pattern, s.Negation) else named(terms(pattern))
        return inside(pattern.pattern, beside)
    match pattern:
        case s.EventPattern(args=args) | s.SubRule(rule=s.Rule(head=s.EventPattern(args=args))):
            return named(args)
        case s.TimePoint():
            return frozenset()
        case s.Binary(operator="seq", left=left, right=s.Aggregate(kind=kind) as fold) if FOLDS[kind].at_opener:
            grouped = inside(fold, mentioned(left)) & (head | named([fold.result]))  # else free at the opener
            return inside(left, mentioned(fold)) | grouped
        case s.Binary(left=left, right=right, alone=None):
            return inside(left, mentioned(right)) | inside(right, mentioned(left))
        case s.Binary(left=left, right=right, alone=alone):
            return inside(left, mentioned(right)) if alone == "left" else inside(right, mentioned(left))
        case s.Or(left=left, right=right):
            return inside(left) & inside(right)
        case s.NotWithin(pattern=inner, absent=absent):
            return inside(inner, mentioned(absent))
        case s.Repeat(pattern=inner, least=least, most=most):
            return inside(inner) & (outer | named([least, most or least]))
        case s.Aggregate(pattern=inner, result=result) as fold:
            return (inside(inner) & (outer - aggregated(fold))) | named([result])
        case s.AnyOf(count=count, patterns=parts):
            bound = Counter(v for i, part in enumerate(parts) for v in inside(part, _mentioned_beside(parts, i)))
            return frozenset(v for v, times in bound.items() if times > len(parts) - count)
        case other:
            assert_never(other)


def _mentioned_beside(parts: Sequence[s.Pattern], place: int) -> Names:
    return frozenset[str]().union(*(mentioned(p) for other, p in enumerate(parts) if other != place))


def named(terms: Iterable[s.Term]) -> Names:
    """Return the variables of terms but for anonymous ones."""
    return frozenset(v.name for v in variables(*terms) if not v.name.startswith("_#"))


def aggregated(fold: s.Aggregate) -> Names:
    """Return the variables that an aggregate is taken of."""
    return frozenset() if fold.value is None else named([fold.value])
