"""Why an event did not occur, as a term: for each rule `justification(Label, Head, failed(Body))`, in a list.

The body is that of the nearest attempt, shaped as the rule's text: parts that came as `default`, missing ones as
`failed`, a missing one that rules derive as the list of its own rules. Where something else is wrong than that parts
are missing, the causes stand behind the body.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice, product
from typing import assert_never

from etalis.language import syntax as s
from etalis.language.lower import to_logic
from etalis.language.read.parser import parse, parse_rule, parse_term
from etalis.language.rules import event_rules, expand_any
from etalis.language.traversal import children, postorder, rewrite
from etalis.logic.terms.unify import Term, Variable, from_value, make_list
from etalis.why import justification as j
from etalis.why import why_not as w
from etalis.why.bound_terms import bind_term
from etalis.why.forms.term_form import event_leaf, justification_term, leaf, number, pattern_term, term_text
from etalis.why.forms.wording import label_of
from etalis.why.printable import form

_MOST_BRANCHES = 64


@form("WhyNot", "term")
def write_why_not_term(found: w.WhyNot) -> str:
    """Write why an event did not occur as the text of its term."""
    return term_text(why_not_term(found))


def why_not_term(found: w.WhyNot) -> Term:
    """Return the term of an answer; that of an event that did occur is its justification."""
    made: dict[int, Term] = {}
    todo = [(found, False)]
    while todo:
        answer, opened = todo.pop()
        if id(answer) in made:
            continue
        if opened:
            made[id(answer)] = _answer_term(answer, made)
            continue
        todo.append((answer, True))
        parts = [part for rule in answer.rules for attempt in rule.attempts[:1] for part in attempt.parts]
        todo.extend((part.because, False) for part in reversed(parts) if part.because is not None)
    return made[id(found)]


def _answer_term(answer: w.WhyNot, made: Mapping[int, Term]) -> Term:
    if answer.occurred is not None:
        return justification_term(answer.occurred.root)
    asked = to_logic(parse_term(answer.question)).term
    if not answer.rules:
        return leaf(asked, Variable(), Variable(), "failed")
    return make_list(_rule_term(asked, rule, made) for rule in answer.rules)


def _rule_term(asked: Term, rule: w.RuleAnswer, made: Mapping[int, Term]) -> Term:
    failed: Term = "failed"
    causes = [_affair_term(affair) for affair in rule.affairs]
    if rule.attempts:
        attempt = rule.attempts[0]
        causes += [_cause_term(cause) for cause in attempt.causes if not isinstance(cause, w.MissingPart)]
        failed = ("failed", _shaped(rule.text, [(part, _part_term(part, made)) for part in attempt.parts]))
    if causes:
        failed = (*(failed if isinstance(failed, tuple) else ("failed", "none")), make_list(causes))
    return leaf(asked, Variable(), Variable(), failed, label_of(rule.rule, rule.text))


def _part_term(part: w.AttemptPart, made: Mapping[int, Term]) -> Term:
    if part.event is not None:
        known = isinstance(part.event, j.Received | j.Raised | j.Derived)
        return justification_term(part.event) if known else event_leaf(part.event, "default")  # type: ignore[arg-type]
    if part.because is not None and part.because.rules:
        return made[id(part.because)]
    shown = pattern_term(parse_rule(f"x <- {part.text}").pattern if part.pattern is None else part.pattern)
    return leaf(shown, Variable(), Variable(), "failed")


def _shaped(text: str, parts: list[tuple[w.AttemptPart, Term]]) -> Term:
    """Return the parts of an attempt under the operators of the rule, if it can be told which part is which."""
    for pattern in (rewrite(rule.pattern, expand_any) for rule in event_rules(parse(text))):
        for branches in islice(_branches(pattern), _MOST_BRANCHES):
            leaves = list(_leaves(pattern, branches))
            if len(leaves) == len(parts) and all(_fits(a, part) for a, (part, _) in zip(leaves, parts, strict=True)):
                return _combined(pattern, branches, [term for _, term in parts])
    return parts[0][1] if len(parts) == 1 else ("parts", make_list(term for _, term in parts))


def _branches(pattern: s.Pattern) -> Iterator[Mapping[int, int]]:
    """Yield which side of every `or` is taken."""
    forks = [node for node in postorder(pattern) if isinstance(node, s.Or)]
    for sides in product((0, 1), repeat=len(forks)):
        yield {id(node): side for node, side in zip(forks, sides, strict=True)}


def _taken(node: s.Pattern, branches: Mapping[int, int]) -> tuple[s.Pattern, ...]:
    """Return the patterns below a node whose events are parts of a match."""
    match node:
        case s.Repeat() | s.Aggregate():
            return ()
        case s.Or(left=left, right=right):
            return (right if branches[id(node)] else left,)
        case s.Negation(pattern=inner) | s.NotWithin(pattern=inner):
            return (inner,)
        case _:
            return children(node)


def _leaves(pattern: s.Pattern, branches: Mapping[int, int]) -> Iterator[s.Pattern]:
    waiting = [pattern]
    while waiting:
        node = waiting.pop()
        below = _taken(node, branches)
        if not below:
            yield node
        waiting.extend(reversed(below))


def _fits(found: s.Pattern, part: w.AttemptPart) -> bool:
    name = found.name if isinstance(found, s.EventPattern) else None
    return name is None or part.pattern is None or part.pattern.name == name


def _combined(pattern: s.Pattern, branches: Mapping[int, int], terms: list[Term]) -> Term:
    """Return terms for the leaves under the operators of a pattern."""
    rest, done = iter(terms), list[Term]()
    todo: list[tuple[s.Pattern, int]] = [(pattern, -1)]
    while todo:
        node, count = todo.pop()
        if count < 0:
            below = _taken(node, branches)
            todo.append((node, len(below)))
            todo.extend((part, -1) for part in reversed(below))
            continue
        parts = done[len(done) - count :]
        del done[len(done) - count :]
        done.append(_operation(node, parts) if count else next(rest))
    return done[0]


def _operation(node: s.Pattern, parts: list[Term]) -> Term:
    match node:
        case s.Binary(operator=name):
            return (name, *parts)
        case s.Within(duration=duration):
            return ("within", *parts, number(duration))
        case s.Condition(kind=kind, goal=goal):
            return (kind, *parts, ("prolog", to_logic(goal).term))
        case s.Negation(operator=name, absent=absent):
            return (name, *parts, leaf(pattern_term(absent), Variable(), Variable(), "failed"))
        case s.NotWithin(absent=absent):
            return ("seq", *parts, ("not", leaf(pattern_term(absent), Variable(), Variable(), "failed")))
        case s.Isolated():
            return ("iso", *parts)
        case _:
            return parts[0]


def _cause_term(cause: w.Cause) -> Term:
    match cause:
        case w.MissingPart(part=part):
            return ("missing", part.text)
        case w.OutOfOrder(relation=relation, by=by):
            return ("order", relation, number(by))
        case w.TooLong(allowed=allowed, actual=actual):
            return ("window", number(allowed), number(actual))
        case w.Refuted(failing=failing, bindings=bindings):
            return ("condition", ("prolog", to_logic(bind_term(failing, bindings)).term))
        case w.KnownLater(facts=facts):
            return ("knowledge", make_list(("since", to_logic(fact).term, number(time)) for fact, time in facts))
        case w.WrongValue(wanted=wanted, found=found):
            return ("value", wanted, make_list(("at", from_value(value), number(time)) for value, time in found))
        case w.BlockedBy(by=by):
            return ("blocked", make_list(event_leaf(event, "default") for event in by))
        case w.Withheld(kind=kind, part=part, by=by):
            return (kind, event_leaf(part, "default"), make_list(event_leaf(event, "default") for event in by))
        case w.Affair():
            return _affair_term(cause)
        case w.StillPending(until=until):
            return ("pending", number(until))
        case _:
            assert_never(cause)


def _affair_term(affair: w.Affair) -> Term:
    return (affair.kind, affair.text)
