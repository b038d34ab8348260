"""From a rule's pattern to a plan of binary nodes (000, section 4; definition sections 9 to 14).

Of the draft of the tree, what is needed above is pushed down, so that every node exports only what someone reads.
"""

from __future__ import annotations

from collections.abc import Mapping

from etalis.language import syntax as s
from etalis.language.traversal import term_variables
from etalis.plan import algebra as p
from etalis.plan.build.draft import (
    UNRESTRICTED,
    Context,
    Draft,
    Negative,
    draft_of,
    goal_test,
    least,
    push_windows,
)
from etalis.temporal.policy import Policy
from etalis.temporal.relation import Relation


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
    draft = draft_of(around, context, head_vars | frozenset(term_variables(*goals)))
    push_windows(draft)
    bound = draft.binds
    head_actions = tuple(p.Action(g, tuple(v for v in term_variables(g) if v in bound)) for g in goals)
    need = head_vars | {v for a in head_actions for v in a.inputs} | ({"$parts"} if parts else frozenset())
    body = _finish(draft, frozenset(need), context)
    return p.Head(rule.head, label, body, rule.alarm, head_actions, rule.hidden)


def _strip_actions(pattern: s.Pattern) -> tuple[s.Pattern, list[s.Term]]:
    actions: list[s.Term] = []
    while isinstance(pattern, s.Do):
        actions.insert(0, pattern.action)
        pattern = pattern.pattern
    return pattern, actions


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
                made.append(condition := goal_test(kind, goal, binds))
                below.update(condition.inputs)
            case ("absent", kind, negative, own):
                node, joined, brought = _finish_negative(negative, c)
                later = [t[1] for t in draft.tests[place:] if t[0] == "window"]
                reach = least(*later, draft.data["around"], own) if kind == "before" else None
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


def _finish_negative(negative: Negative, c: Context) -> tuple[p.Node, tuple[str, ...], tuple[str, ...]]:
    """Return a negated pattern's node, what it shares with the match, and what else its conditions read of it."""
    own = Context(UNRESTRICTED, c.relations, c.outer, False, c.joint)
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
