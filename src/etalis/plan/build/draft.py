"""The draft of a rule's plan: nodes in the making, built bottom-up with the variables each part may and must bind.

Modifiers written on an operator become its tests, in written order. Windows are pushed to every positive part as
section 4 of the definition says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, assert_never

from etalis.language import syntax as s
from etalis.language.check.bound_variables import mentioned
from etalis.language.check.goals import bound_by
from etalis.language.outer.partner_conditions import part_conditions, part_operands
from etalis.language.rules import expand_any
from etalis.language.traversal import term_variables
from etalis.plan import algebra as p
from etalis.temporal.aggregate import FOLDS
from etalis.temporal.policy import POLICIES, Policy
from etalis.temporal.relation import Relation

UNRESTRICTED = POLICIES["unrestricted"]
_CONTINUOUS = POLICIES["continuous"]


@dataclass(slots=True)
class Draft:
    """A node in the making: its parts, its tests in order, and the variables it binds (`sure`, or `maybe`)."""

    form: str
    parts: list[Draft] = field(default_factory=list)
    tests: list[Any] = field(default_factory=list)
    sure: frozenset[str] = frozenset()
    maybe: frozenset[str] = frozenset()
    windows: list[int] = field(default_factory=list)
    data: dict[str, Any] = field(default_factory=dict)

    @property
    def binds(self) -> frozenset[str]:
        return self.sure | self.maybe

    @property
    def is_sequence(self) -> bool:
        if self.form == "join":
            return bool(self.data["relation"].sequential)
        return self.form in ("repetition", "fold") and len(self.parts) == 2

    @property
    def single_kinds(self) -> frozenset[p.Kind]:
        """The kinds of event that a match may be alone; none of a composite."""
        if self.form == "source":
            return frozenset({(self.data["name"], len(self.data["args"]))})
        return frozenset().union(*(b.single_kinds for b in self.parts)) if self.form == "union" else frozenset()

    @property
    def chosen_kinds(self) -> frozenset[p.Kind]:
        """The kinds of the single events that an `any` has chosen so far: of its first constituent, or of several."""
        if self.form == "join" and self.data.get("chosen"):
            left, right = self.parts
            first = left.chosen_kinds if self.data["chosen"] > 2 else left.single_kinds
            return first | right.single_kinds
        return frozenset()

    @property
    def has_token(self) -> bool:
        """Tell whether consuming a match of this consumes what a repetition counted after."""
        return self.form == "repetition" or (self.form == "union" and any(b.has_token for b in self.parts))


@dataclass(frozen=True, slots=True)
class Context:
    """What holds for a whole rule: policy, table of relations, variables of the head, and whether parts are kept."""

    policy: Policy
    relations: Mapping[str, Relation]
    outer: frozenset[str]
    parts: bool
    joint: bool = False  # whether events of several kinds may come as one arrival


def draft_of(pattern: s.Pattern, c: Context, outer: frozenset[str]) -> Draft:
    """Build the draft of a pattern; `outer` are the variables that occur anywhere else in the rule."""
    match pattern:
        case s.EventPattern(name=name, args=args):
            return Draft("source", sure=frozenset(term_variables(*args)), data={"name": name, "args": args})
        case s.TimePoint(time=time, span=span):
            return Draft("tick", data={"time": time, "place": 0 if span is None else span.start})
        case s.Binary(alone="left" | "right"):
            return _draft_outer(pattern, c, outer)
        case s.Binary(operator=operator, left=left, right=right, apart=apart, chosen=chosen):
            draft = _draft_binary(operator, left, right, c, outer)
            draft.data["apart"], draft.data["chosen"] = apart, chosen
            return draft
        case s.AnyOf() if _is_operator(pattern, c):
            return _draft_choice(pattern, c, outer)
        case s.AnyOf():
            return draft_of(expand_any(pattern), c, outer)
        case s.Or():
            branches = [draft_of(b, c, outer) for b in _alternatives(pattern, c)]
            sure = frozenset.intersection(*(b.sure for b in branches))
            return Draft("union", branches, sure=sure, maybe=frozenset().union(*(b.binds for b in branches)) - sure)
        case s.Negation(operator=operator, pattern=inner, absent=absent, window=window):
            draft = draft_of(inner, c, outer | mentioned(absent))
            kind = "before" if operator == "fnot" else "gap" if draft.is_sequence else "inside"
            draft.tests.append(("absent", kind, _negative(absent, inner, c, draft.binds), window))
            return draft
        case s.NotWithin(pattern=inner, absent=absent, duration=duration, before=before):
            awaited = draft_of(inner, c, outer | mentioned(absent))
            negative = _negative(absent, inner, c, awaited.binds)
            data = {"duration": duration, "absent": negative, "before": before}
            return Draft("deadline", [awaited], sure=awaited.sure, maybe=awaited.maybe, data=data)
        case s.Condition(kind=kind, pattern=inner, goal=goal):
            draft = draft_of(inner, c, outer | frozenset(term_variables(goal)))
            draft.tests.append(("goal", kind, goal, draft.binds))
            draft.maybe |= bound_by(goal).perhaps - draft.sure
            return draft
        case s.Within(pattern=inner, duration=duration):
            draft = draft_of(inner, c, outer)
            draft.windows.append(duration)
            draft.tests.append(("window", duration))
            if draft.form == "fold":
                draft.data["within"] = min(duration, draft.data["within"] or duration)
            return draft
        case s.Last(pattern=inner, count=count):
            draft = draft_of(inner, c, outer)
            draft.data["last"] = count
            return draft
        case s.Do(pattern=inner, action=action):
            draft = draft_of(inner, c, outer | frozenset(term_variables(action)))
            draft.tests.append(("action", action, draft.binds))
            return draft
        case s.Repeat():
            return _draft_repeat(None, pattern, c, outer)
        case s.Isolated(pattern=inner):
            draft = draft_of(inner, c, outer)
            draft.tests.append(("alone", "gap" if draft.is_sequence else "inside"))
            return draft
        case s.Aggregate():
            return _draft_fold(None, pattern, c, outer)
        case s.SubRule():
            raise AssertionError("lifted out before planning")
        case _:
            assert_never(pattern)


def _alternatives(pattern: s.Pattern, c: Context) -> list[s.Pattern]:
    """Return what directly nested `or` has; an `any` is one, but where it is an operator of its own."""
    if isinstance(pattern, s.AnyOf) and not _is_operator(pattern, c):
        pattern = expand_any(pattern)
    if not isinstance(pattern, s.Or):
        return [pattern]
    return [*_alternatives(pattern.left, c), *_alternatives(pattern.right, c)]


def _is_operator(pattern: s.AnyOf, c: Context) -> bool:
    """Tell whether an `any` has a store for each of its patterns (definition 12.23)."""
    return pattern.count > 1 and c.policy.keep == "newest"


def _draft_binary(operator: str, left: s.Pattern, right: s.Pattern, c: Context, outer: frozenset[str]) -> Draft:
    if operator == "seq" and isinstance(right, s.Repeat):
        return _draft_repeat(left, right, c, outer)
    if operator == "seq" and isinstance(right, s.Aggregate):
        return _draft_fold(left, right, c, outer)
    return _draft_join(operator, left, right, c, outer)


def _draft_join(operator: str, left: s.Pattern, right: s.Pattern, c: Context, outer: frozenset[str]) -> Draft:
    a = draft_of(left, c, outer | mentioned(right))
    b = draft_of(right, c, outer | mentioned(left))
    sure = a.sure | b.sure
    policy = _CONTINUOUS if operator == "forall_seq" and c.policy.restricts else c.policy
    data = {"relation": c.relations[operator], "policy": policy}
    return Draft("join", [a, b], sure=sure, maybe=(a.binds | b.binds) - sure, data=data)


def _draft_choice(pattern: s.AnyOf, c: Context, outer: frozenset[str]) -> Draft:
    """Draft an `any` of which each constituent waits by itself."""
    mentions = [mentioned(part) for part in pattern.patterns]
    beside = [frozenset[str]().union(*mentions[:i], *mentions[i + 1 :]) for i in range(len(mentions))]
    parts = [draft_of(part, c, outer | other) for part, other in zip(pattern.patterns, beside, strict=True)]
    times = Counter(name for part in parts for name in part.sure)
    sure = frozenset(name for name, count in times.items() if count > len(parts) - pattern.count)
    maybe = frozenset[str]().union(*(part.binds for part in parts)) - sure
    return Draft("choice", parts, sure=sure, maybe=maybe, data={"count": pattern.count, "policy": c.policy})


def _draft_outer(pattern: s.Binary, c: Context, outer: frozenset[str]) -> Draft:
    """Draft an operator of which one part may be missing: a join of its own, as what is written on it comes after."""
    left, right, conditions = part_operands(pattern)
    goals = frozenset(term_variables(*(condition.goal for condition in conditions)))
    joined = _draft_join(pattern.operator, left, right, c, outer | goals)
    for condition in conditions:
        joined.tests.append(("goal", condition.kind, condition.goal, joined.binds))
        joined.maybe |= bound_by(condition.goal).perhaps - joined.sure
    joined.data["alone"] = pattern.alone
    binds, joined.sure = joined.binds, joined.parts[0 if pattern.alone == "left" else 1].sure
    joined.maybe = binds - joined.sure
    return Draft("outer", [joined], sure=joined.sure, maybe=joined.maybe)


def _draft_repeat(left: s.Pattern | None, repeat: s.Repeat, c: Context, outer: frozenset[str]) -> Draft:
    bounds = frozenset(term_variables(repeat.least, *(() if repeat.most is None else (repeat.most,))))
    inside = mentioned(repeat.pattern)
    parts = [] if left is None else [draft_of(left, c, outer | inside | bounds)]
    visible = outer | bounds | (frozenset() if left is None else mentioned(left))
    element = draft_of(repeat.pattern, c, visible)
    shared = element.binds & visible
    sure = frozenset().union(*(x.sure for x in parts)) | (shared & element.sure)
    maybe = (shared | frozenset().union(*(x.binds for x in parts))) - sure
    data = {"least": repeat.least, "most": repeat.most, "shared": shared, "policy": c.policy, "bounds": bounds}
    return Draft("repetition", [*parts, element], sure=sure, maybe=maybe, data=data)


def _draft_fold(left: s.Pattern | None, fold: s.Aggregate, c: Context, outer: frozenset[str]) -> Draft:
    value_vars = frozenset(term_variables(*(() if fold.value is None else (fold.value,))))
    parts = [] if left is None else [draft_of(left, c, outer | mentioned(fold))]
    opener_binds = frozenset().union(*(x.binds for x in parts))
    result_vars = frozenset(term_variables(fold.result))
    elsewhere = outer | result_vars | (frozenset() if left is None else mentioned(left))
    element = draft_of(fold.pattern, c, elsewhere | value_vars)
    groups = (element.binds - value_vars) & elsewhere
    # At the opener itself only those groups have a value that the head needs there.
    kept = groups & c.outer if parts and FOLDS[fold.kind].at_opener else groups
    sure = frozenset().union(*(x.sure for x in parts)) | (kept & element.sure) | result_vars
    maybe = (opener_binds | groups) - sure
    data = {
        "kind": fold.kind, "value": fold.value, "result": fold.result, "groups": groups, "within": None, "last": None,
        "value_vars": value_vars, "result_vars": result_vars,
    }  # fmt: skip
    return Draft("fold", [*parts, element], sure=sure, maybe=maybe, data=data)


@dataclass(frozen=True, slots=True)
class Negative:
    """A negated pattern: its draft, what it shares with the match, and its conditions over both (definition 11.17)."""

    draft: Draft
    joined: frozenset[str]
    conditions: tuple[p.GoalTest, ...]

    @property
    def brought(self) -> frozenset[str]:
        """The variables of the negated pattern that only the conditions read."""
        return (frozenset(v for goal in self.conditions for v in goal.inputs) & self.draft.binds) - self.joined

    @property
    def asked(self) -> frozenset[str]:
        """The variables of the match that must be known."""
        read = frozenset(v for goal in self.conditions for v in goal.inputs)
        return self.joined | (read - self.brought - frozenset(v for goal in self.conditions for v in goal.outputs))


def _negative(absent: s.Pattern, left: s.Pattern, c: Context, binds: frozenset[str]) -> Negative:
    """Draft a negated pattern: unrestricted, its own windows only."""
    own = Context(UNRESTRICTED, c.relations, c.outer, False, c.joint)
    rest, conditions = part_conditions(absent, left)
    draft = draft_of(rest, own, binds | frozenset(term_variables(*(condition.goal for condition in conditions))))
    push_windows(draft)
    known, tests = draft.binds | binds, []
    for condition in conditions:
        tests.append(goal_test(condition.kind, condition.goal, known))
        known |= bound_by(condition.goal).perhaps
    return Negative(draft, draft.binds & binds, tuple(tests))


def goal_test(kind: str, goal: s.Term, binds: frozenset[str]) -> p.GoalTest:
    """Return a condition where some variables may have a value."""
    names = term_variables(goal)
    outputs = tuple(v for v in names if v not in binds and not v.startswith("_#"))
    return p.GoalTest(kind, goal, tuple(v for v in names if v in binds), outputs)


def push_windows(draft: Draft) -> None:
    """Give every positive part the smallest window that encloses it; for `fnot` see definition 11.7."""
    stack: list[tuple[Draft, int | None]] = [(draft, None)]
    while stack:
        node, outer = stack.pop()
        node.data["around"] = outer
        smallest = node.data["window"] = least(*node.windows, outer)
        stack.extend((part, smallest) for part in node.parts)


def least(*durations: int | None) -> int | None:
    return min((d for d in durations if d is not None), default=None)
