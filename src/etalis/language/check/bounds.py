"""Rules whose state has no bound (definition 10.9), and which operator keeps it.

The stream is in order, so an instance waits in vain once every later partner would end too late; that follows from
the rows of `temporal.relation`. Where no such moment comes, only a window or consumption lets an instance go, and
consumption needs a partner that may never come. A window reaches every positive part below it, never what must not
occur. A rule is reported once, with every operator that keeps something.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache

from etalis.errors import Problem
from etalis.language import syntax as s
from etalis.language.check.bound_variables import bindings
from etalis.language.check.goals import BoundVariables
from etalis.language.check.outline import Outline
from etalis.language.check.wording import kind, listing, rule_name, source_text
from etalis.language.flags import Settings, rule_settings
from etalis.language.lint.blocking import core_of
from etalis.language.reactive.constraints import tells_violation
from etalis.language.traversal import Walk, children, names, pattern_variables, postorder, rule_variables, variables
from etalis.temporal.aggregate import FOLDS
from etalis.temporal.policy import POLICIES, Policy
from etalis.temporal.relation import RELATIONS, Relation

Indicator = tuple[str, int]
LONGEST = 40
UNRESTRICTED = POLICIES["unrestricted"]
ALL_RULES = "set_flag(garbage_control, general) and garbage_window"
WITHIN = f"add `within Duration` to the pattern, or bound all rules: {ALL_RULES}"
WITHIN_NEGATED = (
    "add `within Duration` to the negated pattern, inside its brackets: a window around it does not reach it"
)
MOST_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Keeper:
    """An operator and what it keeps without bound; `until_used` if a partner can make it go.

    `negated`: it stands in what must not occur.
    """

    operator: str
    what: str
    until_used: bool
    negated: bool = False


def check_bounds(outline: Outline) -> Iterator[Problem]:
    """Yield one warning per rule whose state can grow with the stream, and one for a history that does."""
    yield from _endless_history(outline)
    yield from _endless_explanations(outline)
    for rule in outline.rules:
        found = _check_rule(rule, outline.walk(rule), *outline.rule_settings(rule), outline.settings, outline.bound)
        if found is not None:
            yield found


def check_rule(rule: s.Rule, default: Settings) -> Problem | None:
    """Return the warning that the state of one rule, with all its properties, has no bound."""
    policy, window = rule_settings(default, rule)
    return _check_rule(rule, Walk(rule.pattern), POLICIES[policy], window, default, bindings(rule.pattern))


def _check_rule(
    rule: s.Rule,
    walk: Walk,
    policy: Policy,
    window: int | None,
    default: Settings,
    bound: Mapping[int, BoundVariables],
) -> Problem | None:
    bounded = window is not None or default.garbage_window is not None
    absences = walk.has(s.Negation, s.NotWithin)
    keepers = list(dict.fromkeys(_keepers(rule, policy, bound, bounded=bounded, absences=absences)))
    return _unbounded(rule, keepers) if keepers else None


def _endless_history(outline: Outline) -> Iterator[Problem]:
    if outline.settings.revision and outline.settings.revision_window is None:
        flags = [f for f in outline.program.items if isinstance(f, s.SetFlag) and f.name == "revision_flag"]
        hint = "add `:- set_flag(revision_window, Seconds).`"
        message = "any event can be retracted at any time, so all events are kept"
        yield Problem("W214", message, flags[-1].span if flags else None, hint)


def _endless_explanations(outline: Outline) -> Iterator[Problem]:
    """Yield what explanations keep without bound: the past, and matches that hold on to all they came from."""
    settings = outline.settings
    if not settings.justification:
        return
    flags = [f for f in outline.program.items if isinstance(f, s.SetFlag) and f.name == "etalis_justification"]
    ends = settings.revision_window if settings.revision else settings.lateness
    if settings.justification_horizon is None and ends is None:
        hint = "add `:- set_flag(justification_horizon, Seconds).`"
        span = flags[-1].span if flags else None
        yield Problem("W240", "any event can be explained at any time, so all events are kept", span, hint)
    reached = _reached_from(outline.rules)
    for rule in outline.rules:
        if outline.rule_settings(rule)[1] is None and settings.garbage_window is None and not _has_window(rule.pattern):
            opened = any(isinstance(n, s.Binary) and isinstance(n.right, s.Aggregate) for n in postorder(rule.pattern))
            head = rule.head.name, len(rule.head.args)
            recurs = any(head == read or head in reached.get(read, ()) for read in _read_by(rule))
            if opened or recurs:
                why = "an aggregate since an opener" if opened else "recursion"
                what = f"an explanation of {rule_name(rule)} holds on to all inputs that it came from"
                message = f"{what}: {why} without a window"
                yield Problem("W240", message, rule.span or rule.head.span, "add `within Duration` to the pattern")


def _reached_from(rules: Iterable[s.Rule]) -> dict[Indicator, set[Indicator]]:
    """Return by kind of event the kinds that it is made of, directly or not."""
    made_of: dict[Indicator, set[Indicator]] = {}
    for rule in rules:
        made_of.setdefault((rule.head.name, len(rule.head.args)), set()).update(_read_by(rule))
    found: dict[Indicator, set[Indicator]] = {}
    for head in made_of:
        reached, waiting = found.setdefault(head, set()), [head]
        while waiting:
            new = made_of.get(waiting.pop(), set()) - reached
            reached |= new
            waiting += new
    return found


def _read_by(rule: s.Rule) -> set[Indicator]:
    return {(n.name, len(n.args)) for n in postorder(rule.pattern) if isinstance(n, s.EventPattern)}


def _unbounded(rule: s.Rule, keepers: list[Keeper]) -> Problem:
    hint = WITHIN_NEGATED if all(k.negated for k in keepers) else WITHIN
    if tells_violation(rule):
        words, hint = _as_constraint(rule, keepers)
        keepers = [replace(k, operator=words.get(k.operator, k.operator)) for k in keepers]
    shown = keepers[:MOST_SHOWN]
    parts = []
    for operator in dict.fromkeys(k.operator for k in shown):
        parts.append(f"{operator} keeps {listing(k.what for k in shown if k.operator == operator)}")
    rest = len(keepers) - len(shown)
    more = f"; and {rest} more" if rest else ""
    how = " until used, which may never happen" if all(k.until_used for k in keepers) else " for ever"
    message = f"the state of {rule_name(rule)} has no bound: {'; '.join(parts)}{more}{how}"
    return Problem("W209", message, rule.span or rule.head.span, hint)


def _as_constraint(rule: s.Rule, keepers: list[Keeper]) -> tuple[Mapping[str, str], str]:
    """Return what a constraint calls the operators of its rule that keep something, and how it is bounded."""
    if all(k.negated for k in keepers):
        return {}, "add `within Duration` to what is required, inside its brackets"
    match core_of(rule.pattern), rule.pattern:
        case s.Binary(apart=True), _:
            return {"iso": "next", "seq": "next"}, f"bound all rules: {ALL_RULES}"
        case _, s.Negation(operator="fnot"):
            return {"fnot": "before"}, f"write `before within Duration`, or bound all rules: {ALL_RULES}"
        case _:
            return {}, WITHIN


def _keepers(
    rule: s.Rule, policy: Policy, bound: Mapping[int, BoundVariables], *, bounded: bool, absences: bool
) -> Iterator[Keeper]:
    anchored: set[int] = set()
    waiting: list[tuple[s.Pattern, Policy, bool, bool]] = [(rule.pattern, policy, bounded, False)]
    while waiting:
        node, policy, bounded, negated = waiting.pop()
        bounded = bounded or isinstance(node, s.Within)
        if bounded and not absences:
            continue  # so is all below
        if isinstance(node, s.Binary) and RELATIONS[node.operator].sequential:
            anchored.add(id(node.right))
        if isinstance(node, s.Last):
            anchored.add(id(core_of(node)))
            if not bounded:
                yield from _kept_by_groups(node, rule, bound)
        if not bounded:
            for keeper in _kept_by(node, policy, bound, anchored, rule):
                yield replace(keeper, negated=True) if negated else keeper
        parts = children(node)
        for i in reversed(range(len(parts))):
            absent = i == 1 and isinstance(node, s.Negation | s.NotWithin)
            waiting.append((parts[i], UNRESTRICTED, False, True) if absent else (parts[i], policy, bounded, negated))


def _kept_by(
    node: s.Pattern, policy: Policy, bound: Mapping[int, BoundVariables], anchored: set[int], rule: s.Rule
) -> Iterator[Keeper]:
    match node:
        case s.Binary():
            yield from _kept_by_join(node, policy, bound)
        case s.Negation(operator="cnot", pattern=left, absent=absent):
            if not _has_window(left):
                yield Keeper("cnot", _every(absent), False)
        case s.Negation(pattern=left, absent=absent, window=None):
            if bound[id(left)].perhaps & bound[id(absent)].perhaps:
                yield Keeper("fnot", _every(absent), False)
        case s.Repeat(pattern=part) if id(node) not in anchored:
            word, keys = "ntimes" if node.most is not None else "star_times", _keys(node, rule, bound)
            if not policy.restricts:
                yield Keeper(word, f"every run of {_text(part)}", False)
            elif keys:
                yield Keeper(word, f"a run of {_text(part)} per {listing(keys)}", policy.consume)
        case s.Isolated():
            yield Keeper("iso", "every event that the program names", False)
        case s.Aggregate(kind=name, pattern=part) if id(node) not in anchored:
            keys = _keys(node, rule, bound)
            if name not in FOLDS or FOLDS[name].grows:
                yield Keeper("aggregate", _every(part), False)
            elif keys:
                yield Keeper("aggregate", f"a value of {_text(part)} per {listing(keys)}", False)
        case s.AnyOf(count=count, patterns=parts) if count > 1:
            for part in parts:
                yield Keeper("any", _every(part), policy.consume)


def _kept_by_groups(node: s.Last, rule: s.Rule, bound: Mapping[int, BoundVariables]) -> Iterator[Keeper]:
    """Yield what an aggregate over the last elements keeps: so many for every group there ever was."""
    fold = core_of(node)
    keys = _keys(fold, rule, bound) if isinstance(fold, s.Aggregate) else []
    if isinstance(fold, s.Aggregate) and keys:
        yield Keeper("aggregate", f"the last {node.count} {_text(fold.pattern)} per {listing(keys)}", False)


def _keys(node: s.Aggregate | s.Repeat, rule: s.Rule, bound: Mapping[int, BoundVariables]) -> list[str]:
    """Return the variables of the elements that are used elsewhere too, so that each value is counted apart."""
    inside = Counter(v.name for v in pattern_variables(node.pattern))
    everywhere = Counter(v.name for v in rule_variables(rule))
    hidden = names(variables(node.value)) if isinstance(node, s.Aggregate) and node.value is not None else frozenset()
    keys = bound[id(node.pattern)].perhaps - hidden
    return sorted(name for name in keys if everywhere[name] > inside[name])


def _has_window(pattern: s.Pattern) -> bool:
    """Tell whether a window stands directly on an operator, perhaps among other modifiers."""
    while isinstance(pattern, s.Modifier):
        if isinstance(pattern, s.Within):
            return True
        pattern = pattern.pattern
    return False


def _kept_by_join(node: s.Binary, policy: Policy, bound: Mapping[int, BoundVariables]) -> Iterator[Keeper]:
    if isinstance(node.right, s.Aggregate) and RELATIONS[node.operator].sequential:
        yield Keeper("aggregate", f"a value for every {_text(node.left)}", False)
        return
    shared = bound[id(node.left)].always & bound[id(node.right)].always
    if policy.keep == "newest" and not shared:
        return
    consumed = policy.consume and not isinstance(node.right, s.Repeat)
    relation = RELATIONS[node.operator]
    for side, part in (("a", node.left), ("b", node.right)):
        if waits_for_ever(relation, side) and not _finite(part):
            what = f"one {_text(part)} per {listing(sorted(shared))}" if policy.keep == "newest" else _every(part)
            yield Keeper(node.operator, what, consumed)


@cache
def waits_for_ever(relation: Relation, side: str) -> bool:
    """Tell whether an instance on a side may still find a partner at any later time.

    A partner that arrives later ends later; it comes too late for good if the row says that it must end no later.

    >>> [waits_for_ever(RELATIONS["seq"], side) for side in "ab"], waits_for_ever(RELATIONS["equals"], "a")
    ([True, False], False)
    """
    other = "b" if side == "a" else "a"
    before = {("a1", "a2"), ("b1", "b2")}
    for x, op, y in relation.comparisons:
        before.add((x, y))
        if op == "=":
            before.add((y, x))
    reached = {f"{other}2"}
    while True:
        more = {y for x, y in before if x in reached} - reached
        if not more:
            return f"{side}2" not in reached
        reached |= more


def _finite(pattern: s.Pattern) -> bool:
    """Tell whether a pattern occurs a fixed number of times: it is made of time points."""
    waiting = [pattern]
    while waiting:
        node = waiting.pop()
        parts = children(node)
        if not parts and not isinstance(node, s.TimePoint):
            return False
        waiting += parts
    return True


def _every(pattern: s.Pattern) -> str:
    return f"every {_text(pattern)}"


def _text(pattern: s.Pattern) -> str:
    if isinstance(pattern, s.EventPattern):
        return kind(pattern.name, len(pattern.args))
    if pattern.span is not None:
        text = source_text(pattern.span)
        if len(text) <= LONGEST:
            return f"`{text}`"
    parts = dict.fromkeys(kind(n.name, len(n.args)) for n in postorder(pattern) if isinstance(n, s.EventPattern))
    return f"match of {listing(parts)}" if len(parts) <= MOST_SHOWN else "match of its parts"
