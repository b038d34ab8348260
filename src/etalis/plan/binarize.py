"""From a rule's pattern to a plan of binary nodes (000, section 4; definition sections 9 to 14).

A draft of the tree is built bottom-up with the variables each part may and must bind; then what is needed above is
pushed down, so that every node exports only what someone reads. Windows are pushed to every positive part as section
4 says. Modifiers written on an operator become its tests, in written order after the windows.
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
from etalis.language.traversal import arguments
from etalis.plan import algebra as p
from etalis.temporal.aggregate import FOLDS
from etalis.temporal.policy import POLICIES, Policy
from etalis.temporal.relation import Relation

_UNRESTRICTED = POLICIES["unrestricted"]
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


def binarize(
    rule: s.Rule,
    *,
    policy: Policy,
    window: int | None,
    relations: Mapping[str, Relation],
    label: str,
    parts: bool = False,
    joint: bool = False,
) -> p.Head:
    """Turn one event rule into its plan."""
    head_vars = frozenset(term_variables(*rule.head.args, *(() if rule.alarm is None else (rule.alarm.when,))))
    pattern, actions = _strip_actions(rule.pattern)
    goals = [*actions, *(() if rule.action is None else (rule.action,))]
    context = Context(policy, relations, head_vars, parts, joint)
    around = pattern if window is None else s.Within(pattern, window)
    draft = _draft(around, context, head_vars | frozenset(term_variables(*goals)))
    _push_windows(draft)
    bound = draft.binds
    head_actions = tuple(p.Action(g, tuple(v for v in term_variables(g) if v in bound)) for g in goals)
    need = head_vars | {v for a in head_actions for v in a.inputs} | ({"$parts"} if parts else frozenset())
    body = _finish(draft, frozenset(need), context)
    return p.Head(rule.head, label, body, rule.alarm, head_actions, rule.hidden)


def term_variables(*terms: s.Term) -> tuple[str, ...]:
    """Return the names of the variables of terms, in order of first occurrence."""
    found: dict[str, None] = {}
    waiting = list(reversed(terms))
    while waiting:
        node = waiting.pop()
        if isinstance(node, s.Var):
            found[node.name] = None
        elif not isinstance(node, s.Const):
            waiting.extend(reversed(arguments(node)))
    return tuple(found)


def _strip_actions(pattern: s.Pattern) -> tuple[s.Pattern, list[s.Term]]:
    actions: list[s.Term] = []
    while isinstance(pattern, s.Do):
        actions.insert(0, pattern.action)
        pattern = pattern.pattern
    return pattern, actions


def _draft(pattern: s.Pattern, c: Context, outer: frozenset[str]) -> Draft:
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
            return _draft(expand_any(pattern), c, outer)
        case s.Or():
            branches = [_draft(b, c, outer) for b in _alternatives(pattern, c)]
            sure = frozenset.intersection(*(b.sure for b in branches))
            return Draft("union", branches, sure=sure, maybe=frozenset().union(*(b.binds for b in branches)) - sure)
        case s.Negation(operator=operator, pattern=inner, absent=absent, window=window):
            draft = _draft(inner, c, outer | mentioned(absent))
            kind = "before" if operator == "fnot" else "gap" if draft.is_sequence else "inside"
            draft.tests.append(("absent", kind, _negative(absent, inner, c, draft.binds), window))
            return draft
        case s.NotWithin(pattern=inner, absent=absent, duration=duration, before=before):
            awaited = _draft(inner, c, outer | mentioned(absent))
            negative = _negative(absent, inner, c, awaited.binds)
            data = {"duration": duration, "absent": negative, "before": before}
            return Draft("deadline", [awaited], sure=awaited.sure, maybe=awaited.maybe, data=data)
        case s.Condition(kind=kind, pattern=inner, goal=goal):
            draft = _draft(inner, c, outer | frozenset(term_variables(goal)))
            draft.tests.append(("goal", kind, goal, draft.binds))
            draft.maybe |= bound_by(goal).perhaps - draft.sure
            return draft
        case s.Within(pattern=inner, duration=duration):
            draft = _draft(inner, c, outer)
            draft.windows.append(duration)
            draft.tests.append(("window", duration))
            if draft.form == "fold":
                draft.data["within"] = min(duration, draft.data["within"] or duration)
            return draft
        case s.Last(pattern=inner, count=count):
            draft = _draft(inner, c, outer)
            draft.data["last"] = count
            return draft
        case s.Do(pattern=inner, action=action):
            draft = _draft(inner, c, outer | frozenset(term_variables(action)))
            draft.tests.append(("action", action, draft.binds))
            return draft
        case s.Repeat():
            return _draft_repeat(None, pattern, c, outer)
        case s.Isolated(pattern=inner):
            draft = _draft(inner, c, outer)
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
    a = _draft(left, c, outer | mentioned(right))
    b = _draft(right, c, outer | mentioned(left))
    sure = a.sure | b.sure
    policy = _CONTINUOUS if operator == "forall_seq" and c.policy.restricts else c.policy
    data = {"relation": c.relations[operator], "policy": policy}
    return Draft("join", [a, b], sure=sure, maybe=(a.binds | b.binds) - sure, data=data)


def _draft_choice(pattern: s.AnyOf, c: Context, outer: frozenset[str]) -> Draft:
    """Draft an `any` of which each constituent waits by itself."""
    mentions = [mentioned(part) for part in pattern.patterns]
    beside = [frozenset[str]().union(*mentions[:i], *mentions[i + 1 :]) for i in range(len(mentions))]
    parts = [_draft(part, c, outer | other) for part, other in zip(pattern.patterns, beside, strict=True)]
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
    parts = [] if left is None else [_draft(left, c, outer | inside | bounds)]
    visible = outer | bounds | (frozenset() if left is None else mentioned(left))
    element = _draft(repeat.pattern, c, visible)
    shared = element.binds & visible
    sure = frozenset().union(*(x.sure for x in parts)) | (shared & element.sure)
    maybe = (shared | frozenset().union(*(x.binds for x in parts))) - sure
    data = {"least": repeat.least, "most": repeat.most, "shared": shared, "policy": c.policy, "bounds": bounds}
    return Draft("repetition", [*parts, element], sure=sure, maybe=maybe, data=data)


def _draft_fold(left: s.Pattern | None, fold: s.Aggregate, c: Context, outer: frozenset[str]) -> Draft:
    value_vars = frozenset(term_variables(*(() if fold.value is None else (fold.value,))))
    parts = [] if left is None else [_draft(left, c, outer | mentioned(fold))]
    opener_binds = frozenset().union(*(x.binds for x in parts))
    result_vars = frozenset(term_variables(fold.result))
    elsewhere = outer | result_vars | (frozenset() if left is None else mentioned(left))
    element = _draft(fold.pattern, c, elsewhere | value_vars)
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
class _Negative:
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


def _negative(absent: s.Pattern, left: s.Pattern, c: Context, binds: frozenset[str]) -> _Negative:
    """Draft a negated pattern: unrestricted, its own windows only."""
    own = Context(_UNRESTRICTED, c.relations, c.outer, False, c.joint)
    rest, conditions = part_conditions(absent, left)
    draft = _draft(rest, own, binds | frozenset(term_variables(*(condition.goal for condition in conditions))))
    _push_windows(draft)
    known, tests = draft.binds | binds, []
    for condition in conditions:
        tests.append(_goal_test(condition.kind, condition.goal, known))
        known |= bound_by(condition.goal).perhaps
    return _Negative(draft, draft.binds & binds, tuple(tests))


def _goal_test(kind: str, goal: s.Term, binds: frozenset[str]) -> p.GoalTest:
    """Return a condition where some variables may have a value."""
    names = term_variables(goal)
    outputs = tuple(v for v in names if v not in binds and not v.startswith("_#"))
    return p.GoalTest(kind, goal, tuple(v for v in names if v in binds), outputs)


def _push_windows(draft: Draft) -> None:
    """Give every positive part the smallest window that encloses it; for `fnot` see definition 11.7."""
    stack: list[tuple[Draft, int | None]] = [(draft, None)]
    while stack:
        node, outer = stack.pop()
        node.data["around"] = outer
        smallest = node.data["window"] = _least(*node.windows, outer)
        stack.extend((part, smallest) for part in node.parts)


def _least(*durations: int | None) -> int | None:
    return min((d for d in durations if d is not None), default=None)


def _finish(draft: Draft, need: frozenset[str], c: Context) -> p.Node:
    """Turn a draft into its node, exporting what is needed above."""
    tests, need_below = _finish_tests(draft, need, c)
    exports = _order(draft, need)
    parts = draft.parts
    match draft.form:
        case "source":
            args = draft.data["args"]
            bound = [v for v in _order(draft, need_below) if v[0] == "$" or v in term_variables(*args)]
            source = p.Source(draft.data["name"], args, tuple(bound))
            return p.Filter(source, tests, exports) if tests else source
        case "tick":
            tick = p.Tick(
                draft.data["time"], draft.data["place"], tuple(v for v in need_below if v[0] == "$" and v in _MARKS)
            )
            return p.Filter(tick, tests, exports) if tests else tick
        case "union":
            return _finish_union(draft, tests, need_below, exports, c)
        case "outer":
            outer = _finish(parts[0], need_below - {"$first", "$last", "$token", "$one"}, c)
            return p.Filter(outer, tests, exports) if tests else outer
        case "join":
            return _finish_join(draft, tests, need_below, exports, c)
        case "choice":
            return _finish_choice(draft, tests, need_below, exports, c)
        case "repetition":
            return _finish_repetition(draft, tests, need_below, exports, c)
        case "fold":
            return _finish_fold(draft, tests, need_below, exports, c)
        case _:
            absent = draft.data["absent"]
            left = _finish(parts[0], (need_below - {"$token", "$first", "$last"}) | absent.asked, c)
            negative, joined, brought = _finish_negative(absent, c)
            duration, before = draft.data["duration"], draft.data["before"]
            return p.Deadline(left, negative, joined, duration, tests, exports, absent.conditions, brought, before)


_MARKS = ("$parts", "$ids")


def _order(draft: Draft, need: frozenset[str]) -> tuple[str, ...]:
    names = sorted(need & draft.binds)
    marks = [m for m in ("$first", "$last") if m in need and draft.is_sequence]
    token = ["$token"] if "$token" in need and draft.has_token else []
    one = ["$one"] if "$one" in need and (draft.single_kinds or draft.chosen_kinds) else []
    return (*names, *marks, *token, *one, *(m for m in _MARKS if m in need))


def _finish_tests(draft: Draft, need: frozenset[str], c: Context) -> tuple[tuple[p.Test, ...], frozenset[str]]:
    """Build a node's tests, windows first, and say what they and those above need from below."""
    made: list[p.Test] = []
    window = draft.data["window"]
    below = set(need)
    if window is not None and draft.form != "outer":  # which tests pairs by it, and of which all else fits
        made.append(p.Window(window))
    for place, test in enumerate(draft.tests):
        match test:
            case ("window", _):
                pass
            case ("goal", kind, goal, binds):
                made.append(condition := _goal_test(kind, goal, binds))
                below.update(condition.inputs)
            case ("absent", kind, negative, own):
                node, joined, brought = _finish_negative(negative, c)
                later = [t[1] for t in draft.tests[place:] if t[0] == "window"]
                reach = _least(*later, draft.data["around"], own) if kind == "before" else None
                made.append(p.Absent(kind, node, joined, reach, negative.conditions, brought))
                below.update(negative.asked)
                below.update(("$first", "$last") if kind == "gap" else ())
            case ("alone", kind):
                made.append(p.Alone(kind))
                below.update({"$ids"} | ({"$first", "$last"} if kind == "gap" else set()))
            case ("action", goal, binds):
                inputs = tuple(v for v in term_variables(goal) if v in binds)
                made.append(p.Action(goal, inputs))
                below.update(inputs)
    return tuple(made), frozenset(below)


def _finish_negative(negative: _Negative, c: Context) -> tuple[p.Node, tuple[str, ...], tuple[str, ...]]:
    """Return a negated pattern's node, what it shares with the match, and what else its conditions read of it."""
    own = Context(_UNRESTRICTED, c.relations, c.outer, False, c.joint)
    node = _finish(negative.draft, negative.joined | negative.brought, own)
    return node, tuple(sorted(negative.joined)), tuple(sorted(negative.brought))


def _finish_union(
    draft: Draft, tests: tuple[p.Test, ...], need: frozenset[str], exports: tuple[str, ...], c: Context
) -> p.Node:
    wanted = _order(draft, need)
    branches = tuple(_finish(b, need if b.single_kinds else need - {"$one"}, c) for b in draft.parts)
    union = p.Union(branches, wanted)
    return p.Filter(union, tests, exports) if tests else union


def _finish_join(
    draft: Draft, tests: tuple[p.Test, ...], need: frozenset[str], exports: tuple[str, ...], c: Context
) -> p.Node:
    a, b = draft.parts
    shared = a.binds & b.binds
    sequential = draft.data["relation"].sequential
    marks = {"$first", "$last"}
    below = (need - marks - {"$one"}) | shared
    one_a, one_b = _apart(draft, need, c)
    inner = sequential and not draft.data.get("apart")
    token = frozenset({"$token"} if draft.data["policy"].consume or sequential else ())
    need_a = (below - {"$token"}) | ({"$first"} & need if inner else frozenset()) | token
    # what comes last in a sequence never waits, so nothing goes when it is consumed
    need_b = (below - {"$token"}) | ({"$last"} & need if inner else frozenset() if sequential else token)
    left, right = _finish(a, frozenset(need_a) | one_a, c), _finish(b, frozenset(need_b) | one_b, c)
    alone, is_apart = draft.data.get("alone"), bool(one_a and one_b)
    return p.Join(draft.data["relation"], draft.data["policy"], left, right, tests, exports, alone, is_apart=is_apart)


_ONE = frozenset({"$one"})


def _apart(draft: Draft, need: frozenset[str], c: Context) -> tuple[frozenset[str], frozenset[str]]:
    """Return what each side of a join must tell so that an `any` chooses no event twice."""
    chosen, (a, b) = draft.data.get("chosen", 0), draft.parts
    if not chosen:
        return frozenset(), frozenset()
    left, right = a.chosen_kinds if chosen > 2 else a.single_kinds, b.single_kinds
    asked = "$one" in need or (_may_be_one(left, right, c))
    return (_ONE if asked and left else frozenset()), (_ONE if asked and right else frozenset())


def _may_be_one(left: frozenset[p.Kind], right: frozenset[p.Kind], c: Context) -> bool:
    """Tell whether two instances may be one event, or of one arrival."""
    return bool(left & right) or (c.joint and bool(left) and bool(right))


def _finish_choice(
    draft: Draft, tests: tuple[p.Test, ...], need: frozenset[str], exports: tuple[str, ...], c: Context
) -> p.Node:
    parts, keys, nodes = draft.parts, [], []
    for place, part in enumerate(parts):
        others = [other for i, other in enumerate(parts) if i != place]
        shared = part.binds & frozenset[str]().union(*(other.binds for other in others))
        one = any(_may_be_one(part.single_kinds, other.single_kinds, c) for other in others)
        below = (need - {"$first", "$last", "$token", "$one"}) | shared | (_ONE if one else frozenset())
        nodes.append(_finish(part, frozenset(below), c))
        keys.append(tuple(sorted(part.sure & frozenset[str]().union(*(other.sure for other in others)))))
    return p.SomeOf(draft.data["count"], tuple(nodes), tuple(keys), draft.data["policy"], tests, exports)


def _finish_repetition(
    draft: Draft, tests: tuple[p.Test, ...], need: frozenset[str], exports: tuple[str, ...], c: Context
) -> p.Node:
    *lefts, element = draft.parts
    data = draft.data
    shared = data["shared"]
    marks = frozenset(m for m in _MARKS if m in need)
    below = (need & draft.binds) | data["bounds"] | marks
    left = None
    if lefts:
        left = _finish(lefts[0], below | (shared & lefts[0].binds) | {"$token"} | (need & {"$first"}), c)
    node = _finish(element, shared | marks, c)
    return p.Repetition(left, node, data["least"], data["most"], tuple(sorted(shared)), data["policy"], tests, exports)


def _finish_fold(
    draft: Draft, tests: tuple[p.Test, ...], need: frozenset[str], exports: tuple[str, ...], c: Context
) -> p.Node:
    *openers, element = draft.parts
    data = draft.data
    groups = data["groups"]
    marks = frozenset(m for m in _MARKS if m in need)
    opener = None
    if openers:
        below = (need | groups | data["result_vars"]) & openers[0].binds
        opener = _finish(openers[0], below | marks | {"$token"} | (need & {"$first", "$last"}), c)
    node = _finish(element, groups | data["value_vars"] | marks, c)
    return p.Fold(
        opener, node, data["kind"], data["value"], data["result"], tuple(sorted(groups)),
        None if openers else data["within"], data["last"], c.outer & groups, tests, exports,
    )  # fmt: skip
