"""Rows of `temporal/` in words, for explanations and the reference: relations, policies, tests, durations."""

from __future__ import annotations

from typing import assert_never

from etalis.language.operators import CLAUSE, GoalOperators
from etalis.language.printer import Printer, seconds
from etalis.language.syntax import Compound, Const, EventPattern, Term
from etalis.plan import algebra as p
from etalis.temporal.duration import show_duration
from etalis.temporal.policy import Policy
from etalis.temporal.relation import Relation

_POINTS = {"a1": "a.start", "a2": "a.end", "b1": "b.start", "b2": "b.end"}
_MATCHES = {
    "all": "every candidate, one match each",
    "earliest": "the earliest candidate",
    "latest": "the latest candidate",
    "together": "one match with all candidates, on their common hull, variables from the latest",
}
_KEEPING = {
    "always": "the arriving instance waits",
    "unmatched": "the arriving instance waits only if it found none",
    "newest": "the arriving instance takes the place of the one with its key",
}
_ABSENT = {"gap": "between its parts", "inside": "inside its interval", "before": "before its end"}
_MARKS = {
    "$first": "end of the first part",
    "$last": "start of the last part",
    "$token": "what it was counted after",
    "$parts": "numbers of its events",
    "$ids": "its own events",
}
_PRINTER = Printer(GoalOperators())  # a table of operators takes longer to make than a term to write


def relation_test(relation: Relation) -> str:
    """Write the comparisons of a row.

    >>> from etalis.temporal.relation import RELATIONS
    >>> relation_test(RELATIONS["during"])
    'b.start < a.start, a.end < b.end'
    """
    signs = {"<": "<", "<=": "=<", "=": "="}
    written = [f"{_POINTS[x]} {signs[op]} {_POINTS[y]}" for x, op, y in relation.comparisons]
    return ", ".join(written) or "always"


def relation_interval(relation: Relation) -> str:
    """Name the interval of a pair: the hull, or one side's."""
    return "the hull" if relation.occurs_on == "hull" else f"{relation.occurs_on}'s interval"


def policy_matches(policy: Policy) -> str:
    """Say which candidates a policy matches."""
    return _MATCHES[policy.select]


def policy_afterwards(policy: Policy) -> str:
    """Say what a policy does with the instances after a match."""
    matched = "what was matched leaves" if policy.consume else "what was matched stays"
    return f"{matched}; {_KEEPING[policy.keep]}"


def test_text(test: p.Test) -> str:
    """Write a test as the language does."""
    match test:
        case p.Window(duration=duration):
            return f"within {window_text(duration)}"
        case p.GoalTest(kind=kind, goal=goal):
            return f"{kind} {term_text(goal)}"
        case p.Prefilter(goal=goal):
            return f"prefilter {term_text(goal)}"
        case p.Absent(kind=kind, joined=joined, window=window):
            where = _ABSENT[kind] + ("" if window is None else f", at most {seconds(window)} s back")
            word = "fnot" if kind == "before" else "cnot"
            asked = "".join(f", {condition.kind} {term_text(condition.goal)}" for condition in test.conditions)
            return f"{word}: none {where}" + (f", for the same {names(joined)}" if joined else "") + asked
        case p.Alone(kind=kind):
            return f"iso: no other event {_ABSENT[kind]}"
        case p.Action(goal=goal):
            return f"do {term_text(goal)}"
        case _:
            assert_never(test)


def key_text(pair: p.KeyPair) -> str:
    """Write what two sides must have in common."""
    if pair.fact is not None:
        return term_text(pair.fact)
    if pair.kind == "bound":
        return f"{term_text(pair.left)} where bound"
    return f"{term_text(pair.left)} {'=' if pair.kind == 'value' else '=:='} {term_text(pair.right)}"


def window_text(length: int) -> str:
    """Write microseconds as the language counts them, in seconds, and with units where these are easier to read.

    >>> window_text(5_000_000), window_text(600_000_000)
    ('5', '600 (10 min)')
    """
    shown = show_duration(length)
    return seconds(length) + ("" if shown is None else f" ({shown})")


def names(variables: tuple[str, ...] | list[str]) -> str:
    """List variables; bookkeeping is put in words."""
    return ", ".join("_" if v.startswith("_#") else _MARKS.get(v, v) for v in variables)


def term_text(term: Term) -> str:
    """Write a term."""
    return _PRINTER.term(term, CLAUSE)


def event_text(event: EventPattern | p.Source) -> str:
    """Write an event's pattern."""
    return term_text(Compound(event.name, event.args) if event.args else Const(event.name))
