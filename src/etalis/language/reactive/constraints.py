"""What breaks a constraint, as ordinary event rules (001, section 8; definition section 25).

Every rule has the head `violated(Label, V...)`, with the named variables that the constrained pattern binds, and is
unrestricted, whatever the program's policy: a constraint must not miss what a policy consumed. Law: no rule shares a
node with another.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import count

from etalis.errors import Span
from etalis.language import syntax as s
from etalis.language.check.bound_variables import bindings
from etalis.language.reaction_variables import named_variables
from etalis.language.traversal import names, pattern_variables, rewrite, variables

Kind = tuple[str, int]
VIOLATED = "violated"
_POLICY = s.Property("policy", s.Const("unrestricted"))


def expand(constraint: s.Constraint, kinds: Collection[Kind]) -> tuple[s.Rule, ...]:
    """Return the rules that a constraint stands for; its patterns hold no sub-rules.

    `kinds` are the events that come by themselves, of which `next` may see one.

    >>> (rule,) = expand(s.Constraint("c", s.EventPattern("a", (s.Var("X"),))), ())
    >>> rule.head
    EventPattern(name='violated', args=(Const(value='c'), Var(name='X')), names=())
    """
    pattern, required, span = constraint.pattern, constraint.required, constraint.span
    if required is None or (constraint.duration is None and constraint.mode in ("around", "after")):
        return (_rule(constraint, pattern),)
    match constraint:
        case s.Constraint(mode="around", duration=int() as duration):
            return (_rule(constraint, s.NotWithin(pattern, required, duration, span, before=duration)),)
        case s.Constraint(mode="after", duration=int() as duration):
            return (_rule(constraint, s.NotWithin(pattern, required, duration, span)),)
        case s.Constraint(mode="before", duration=window):
            return (_rule(constraint, s.Negation("fnot", pattern, required, span, window=window)),)
        case _:
            return tuple(_rule(constraint, followed) for followed in _wrongly_followed(constraint, required, kinds))


def stands_for(clause: s.Item, rule: s.Rule) -> bool:
    """Tell whether a clause is a constraint that a rule stands for, not one that a sub-rule of it stands in."""
    return isinstance(clause, s.Constraint) and tells_violation(rule) and rule.label == clause.label


def tells_violation(rule: s.Rule) -> bool:
    """Tell whether a rule says when a constraint is violated."""
    return rule.head.name == VIOLATED and rule.head.args[:1] == (s.Const(rule.label or ""),)


def constraint_of(rule: s.Rule) -> s.Constraint | None:
    """Return the constraint that a rule stands for where no pattern of a rule says the same."""
    label = rule.label or ""
    match rule.pattern:
        case s.NotWithin(pattern=pattern, absent=absent, duration=duration, before=int()):
            return s.Constraint(label, pattern, absent, "around", duration, rule.span)
        case s.Negation(pattern=pattern, absent=absent, window=int() as window):
            return s.Constraint(label, pattern, absent, "before", window, rule.span)
        case _:
            return None


def told_variables(pattern: s.Pattern) -> tuple[str, ...]:
    """Return the variables of a constrained pattern that its violations tell, by first occurrence.

    >>> from etalis.language.read.parser import parse_rule
    >>> told_variables(parse_rule("d <- a(Y, _, _Z) seq b(X, Y) cnot c(W)").pattern)
    ('Y', 'X')
    """
    bound = bindings(pattern)[id(pattern)].perhaps
    return tuple(name for name in named_variables(pattern) if name in bound and not name.startswith("_"))


def violation(constraint: s.Constraint) -> s.EventPattern:
    """Return the event that tells of a violation."""
    places = {v.name: v.span for v in reversed(list(pattern_variables(constraint.pattern)))}
    told = (s.Var(name, places[name]) for name in told_variables(constraint.pattern))
    return s.EventPattern(VIOLATED, (s.Const(constraint.label, constraint.span), *told), constraint.span)


def violations_apart(rules: Sequence[s.Rule]) -> list[s.Rule]:
    """Return rules in which the violations of each constraint are a kind of event of their own."""
    labels: dict[int, list[s.EventPattern]] = {}
    for head in (rule.head for rule in rules if tells_violation(rule)):
        labels.setdefault(len(head.args), []).append(_of_its_own(head))

    def change(node: s.Pattern) -> s.Pattern:
        match node:
            case s.EventPattern(name="violated", args=(s.Const(), *_)):
                return _of_its_own(node)
            case s.EventPattern(name="violated", args=args) if len(args) in labels:
                return _one_of(labels[len(args)])
            case _:
                return node

    def own(rule: s.Rule) -> s.Rule:
        head = _of_its_own(rule.head) if tells_violation(rule) else rule.head
        return replace(rule, head=head, pattern=rewrite(rule.pattern, change))

    return list(map(own, rules)) if labels else list(rules)


def _of_its_own(violation: s.EventPattern) -> s.EventPattern:
    (label, *_) = violation.args
    return replace(violation, name=f"the violation of {label.value}") if isinstance(label, s.Const) else violation


def _rule(constraint: s.Constraint, pattern: s.Pattern) -> s.Rule:
    fresh = rewrite(pattern, replace)
    return s.Rule(violation(constraint), fresh, constraint.label, (_POLICY,), span=constraint.span)


# what comes next


@dataclass(frozen=True, slots=True)
class Alternative:
    """One way in which an event is what a constraint requires next: its pattern, and the conditions on it."""

    event: s.EventPattern
    goals: tuple[s.Term, ...] = ()


def alternatives(required: s.Pattern) -> list[Alternative] | None:
    """Return the events of which one must come next; None if the pattern is more than an event under conditions."""
    match required:
        case s.EventPattern():
            return [Alternative(required)]
        case s.Condition(kind="where", pattern=inner, goal=goal):
            found = alternatives(inner)
            return None if found is None else [replace(each, goals=(*each.goals, goal)) for each in found]
        case s.Or(left=left, right=right):
            several = alternatives(left), alternatives(right)
            return None if several[0] is None or several[1] is None else [*several[0], *several[1]]
        case _:
            return None


def _wrongly_followed(constraint: s.Constraint, required: s.Pattern, kinds: Collection[Kind]) -> Iterator[s.Pattern]:
    """Yield the constrained pattern before whatever must not come next, with nothing in between.

    What is required is named even where all of it is right, since isolation sees what rules name.
    """
    wanted: dict[Kind, list[Alternative]] = {}
    for each in alternatives(required) or ():
        wanted.setdefault((each.event.name, len(each.event.args)), []).append(each)
    span = constraint.span
    others = [_anything(name, arity, span) for name, arity in sorted({*kinds} - wanted.keys())]
    if others:
        yield _followed(constraint, _one_of(others))
    for (name, arity), several in wanted.items():
        fresh = _fresh_variables(constraint, arity)
        goal = reduce(lambda a, b: s.Compound(",", (a, b), span), [_refused(x, fresh, constraint) for x in several])
        yield s.Condition("where", _followed(constraint, s.EventPattern(name, fresh, span)), goal, span)


def _anything(name: str, arity: int, span: Span | None) -> s.Pattern:
    return s.EventPattern(name, tuple(s.Var(f"_#next{place}", span) for place in range(arity)), span)


def _one_of(events: Sequence[s.Pattern]) -> s.Pattern:
    """Return the `or` of some events, nested no deeper than need be."""
    half = len(events) // 2
    return s.Or(_one_of(events[:half]), _one_of(events[half:]), events[0].span) if half else events[0]


def _followed(constraint: s.Constraint, event: s.Pattern) -> s.Pattern:
    span = constraint.span
    return s.Isolated(s.Binary("seq", constraint.pattern, event, span, apart=True), span)


def _fresh_variables(constraint: s.Constraint, arity: int) -> tuple[s.Var, ...]:
    required = constraint.required or constraint.pattern
    taken = names((*pattern_variables(constraint.pattern), *pattern_variables(required)))
    free = (name for number in count(1) if (name := f"Next{number}") not in taken)
    return tuple(s.Var(next(free), constraint.span) for _ in range(arity))


def _refused(each: Alternative, fresh: tuple[s.Var, ...], constraint: s.Constraint) -> s.Term:
    """Return the goal that holds of an event which is not this alternative."""
    span = constraint.span
    shared = bindings(constraint.pattern)[id(constraint.pattern)].perhaps
    pairs = list(zip(fresh, each.event.args, strict=True))
    tied = [pair for pair in pairs if _says_something(pair[1], each, shared)]
    if len(tied) == 1 and not each.goals:
        return s.Compound("\\=", tied[0], span)
    goals = (*(s.Compound("=", pair, span) for pair in tied), *each.goals)
    if not goals:
        return s.Const("fail", span)
    return s.Compound("\\+", (reduce(lambda a, b: s.Compound(",", (a, b), span), goals),), span)


def _says_something(arg: s.Term, each: Alternative, shared: frozenset[str]) -> bool:
    """Tell whether an attribute is more than a variable of its own."""
    if not isinstance(arg, s.Var):
        return True
    everywhere = [v.name for v in variables(*each.event.args, *each.goals)]
    return not arg.name.startswith("_#") and (arg.name in shared or everywhere.count(arg.name) > 1)
