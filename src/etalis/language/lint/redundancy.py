"""Duplicates and unused parts: equal rules, an event paired with itself, facts and triggers without a use."""

from __future__ import annotations

from collections.abc import Iterator

from etalis.errors import Problem, Span
from etalis.language import syntax as s
from etalis.language.check.effects import raised_events
from etalis.language.check.goals import ASSERTS, Call, Indicator, asserted, indicator, strip_wrappers
from etalis.language.check.names import triggered
from etalis.language.check.outline import Outline
from etalis.language.check.wording import kind, source_text
from etalis.language.lint.satisfiability import kind_of, may_match
from etalis.language.traversal import Walk, names, subterms, variables

_TAKES_AWAY = frozenset({("retract", 1), ("retractall", 1), ("abolish", 1)})


def check_redundancy(outline: Outline) -> Iterator[Problem]:
    """Yield that rules are missing or stand twice, events paired with themselves, and facts and triggers in vain."""
    if all(isinstance(item, s.EventDeclaration) for item in outline.program.items):
        place = outline.program.items[-1] if outline.program.items else outline.program
        yield Problem("W239", "there are no rules, so nothing is ever found", place.span, "write Head <- Pattern.")
    yield from _twice(outline)
    for rule in outline.rules:
        yield from _paired_with_itself(outline.walk(rule))
    if not ASSERTS.isdisjoint(outline.asked):
        yield from _facts(outline)
        yield from _unknown_at_first(outline)
    yield from _triggers(outline)


def _twice(outline: Outline) -> Iterator[Problem]:
    first: dict[tuple[str, str], Span] = {}
    for rule in outline.rules:
        if rule.span is None:
            continue
        before = first.setdefault((rule.span.source.name, source_text(rule.span)), rule.span)
        if before is not rule.span:
            line, _ = before.source.place(before.start)
            message = f"the same rule is on line {line} already"
            if rule.hidden:
                message = f"the same reaction is on line {line} already; both act, one after the other"
            else:
                message += "; a derived event occurs once, however often it is derived"
            yield Problem("W233", message, rule.span, "leave one of them out")


def _paired_with_itself(walk: Walk) -> Iterator[Problem]:
    """Yield operators of which a single event can be both sides."""
    for node in walk.of(s.Binary):
        match node:
            case s.Binary(operator="and", alone=None, left=s.EventPattern() as a, right=s.EventPattern() as b):
                pair = [a, b]
            case _:
                continue
        for a, b in _alike(pair):
            left, right = names(variables(*a.args)), names(variables(*b.args))
            tested = [names(variables(condition.goal)) for condition in walk.of(s.Condition)]
            if any(goal & (left - right) and goal & (right - left) for goal in tested):
                continue
            message = f"one {kind(*kind_of(a))} is enough: it can be both sides of `{node.operator}`"
            hint = (
                f"for two of them write `seq` or `ntimes 2`, or distinguish them: {_apart(left - right, right - left)}"
            )
            yield Problem("W234", message, node.span, hint)
            break


def _alike(events: list[s.EventPattern]) -> Iterator[tuple[s.EventPattern, s.EventPattern]]:
    """Yield neighbours of one kind that one event can match."""
    last: dict[Indicator, s.EventPattern] = {}
    for event in events:
        before = last.get(kind_of(event))
        if before is not None and all(map(may_match, before.args, event.args)):
            yield before, event
        last[kind_of(event)] = event


def _apart(left: frozenset[str], right: frozenset[str]) -> str:
    a, b = (next((n for n in sorted(side) if not n.startswith("_")), None) for side in (left, right))
    return f"where {a} \\= {b}" if a and b else "where X \\= Y"


def _facts(outline: Outline) -> Iterator[Problem]:
    """Yield facts that goals add and nobody asks for, or nobody takes away."""
    added: dict[Indicator, Call] = {}
    asked: set[Indicator] = {key for item in outline.program.items if isinstance(item, s.Declare) for key in item.names}
    taken: set[Indicator] = set(asked) if outline.given else set()
    for goal, role in outline.goals:
        called = outline.calls_in(goal)
        within = {id(part) for call in called if call.indicator in ASSERTS for part in subterms(call.args[0])}
        asked.update(key for term in subterms(goal) if id(term) not in within and (key := indicator(term)) is not None)
        for call in called:
            if call.indicator in _TAKES_AWAY:
                gone = _fact(call)
                if gone is None:
                    return  # a fact that is not written down: it may be any
                taken.add(gone)
            elif call.indicator in ASSERTS and role not in ("directive", "clause"):
                fact = _fact(call)
                if fact is not None and next(variables(call.args[0]), None) is not None:
                    added.setdefault(fact, call)
    for key, call in added.items():
        if key not in asked | outline.given:
            message = f"no goal calls {kind(*key)}, which is added here at every match"
            hint = f"call it in a condition; if only `engine.query` does, declare it: `:- dynamic {kind(*key)}.`"
            yield Problem("W236", message, call.span, hint)
        elif key not in taken:
            message = f"{kind(*key)} grows for ever: facts are added here at every match, and never retracted"
            hint = f"retract them with retractall({key[0]}(...)), or look back with `a(X) fnot a(X) within Duration`"
            yield Problem("W235", message, call.span, hint)


def _unknown_at_first(outline: Outline) -> Iterator[Problem]:
    """Yield questions for facts of which there is not even a name before the first is added."""
    listed = {key for item in outline.program.items if isinstance(item, s.Declare) for key in item.names}
    heads = {indicator(strip_wrappers(clause.head)) for clause in outline.clauses}
    learned = {(name, arity) for (_, arity), changes in outline.learned.items() for name, _ in changes}
    added = [(key, role) for call, role in outline.called if (key := asserted(call)) is not None]
    at_start = {key for key, role in added if role == "directive"}
    later = {key for key, role in added if role != "directive"}
    # A fact that is replaced by retract is there before, from the host.
    replaced = {_fact(call) for call, _ in outline.called if call.indicator == ("retract", 1)}
    open_keys = later - listed - heads - learned - at_start - replaced - outline.given
    for call, _ in outline.called:
        if call.indicator in open_keys:
            open_keys -= {call.indicator}
            known = kind(*call.indicator)
            message = f"{known} is not defined before the first is added: until then, calling it is an error"
            yield Problem("W238", message, call.span, f"declare it: `:- dynamic {known}.`")


def _fact(call: Call) -> Indicator | None:
    """Return the predicate that a goal adds a clause to or takes one from."""
    term: s.Term = call.args[0]
    if isinstance(term, s.Compound) and term.name in (":-", "/") and term.args:
        term = term.args[0]
    return indicator(term)


def _triggers(outline: Outline) -> Iterator[Problem]:
    """Yield triggers for what no rule derives like that and, where there are no others, for received events.

    Programs of the original list received events beside others, and lose nothing.
    """
    triggers = [item for item in outline.program.items if isinstance(item, s.Trigger)]
    raised = raised_events(outline) if triggers else None
    if raised is None:
        return
    heads: dict[Indicator, list[s.EventPattern]] = {}
    for rule in outline.derivations:
        heads.setdefault(kind_of(rule.head), []).append(rule.head)
    received = outline.known - heads.keys() - raised
    silent = all(triggered(item.pattern) in received for item in triggers)
    for item in triggers:
        key = triggered(item.pattern)
        if key is None or key not in outline.known or key in raised:
            continue
        args = item.pattern.args if isinstance(item.pattern, s.Compound) and item.pattern.name != "/" else ()
        if key in received and silent:
            message = f"{item.kind} reports nothing: {kind(*key)} is received, and only derived events are reported"
            yield Problem("W237", message, item.span, f"make an event of it: seen_{key[0]}(...) <- {key[0]}(...).")
        elif key in heads and args and not any(all(map(may_match, args, head.args)) for head in heads[key]):
            message = f"{item.kind} reports nothing: no rule derives a {kind(*key)} like that"
            yield Problem("W237", message, item.span, f"the rules derive {_made(heads[key][0])}")


def _made(head: s.EventPattern) -> str:
    return kind(*kind_of(head)) if head.span is None else f"`{source_text(head.span)}`"
