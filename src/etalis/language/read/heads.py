"""The left side of a rule: labels with their properties, alarms, actions, the head itself."""

from __future__ import annotations

from etalis.errors import Span
from etalis.language.ground_terms import variables
from etalis.language.read.reader import TermReader
from etalis.language.read.tokens import refusal
from etalis.language.read.units import iso_constant
from etalis.language.syntax import (
    Alarm,
    Compound,
    Const,
    Do,
    EventPattern,
    ListTerm,
    Pattern,
    Property,
    Rule,
    Term,
    Var,
)
from etalis.temporal.calendar import SPELLINGS

ALARMS = {"exceptionAlarm": "after"} | {f"exceptionAlarmAbsolute{word.capitalize()}": "at" for word in SPELLINGS}
_LABEL_HINT = "write name rule: Head <- Pattern, or name([property(policy, recent)]) rule: ..."


def label_mark(reader: TermReader) -> int:
    """Return how many tokens the mark behind a label takes: `rule:`, `rule :` or `:`; 0 if there is none."""
    kind, value, _, _ = reader.tokens[reader.at]
    if kind not in ("name", "quoted", "var"):
        return 0
    if value == ":" or value.lower() == "rule:":
        return 1
    after = reader.tokens[reader.at + 1]
    return 2 if value.lower() == "rule" and after[0] == "name" and after[1] == ":" else 0


def make_rule(label: Pattern | None, head: Pattern, pattern: Pattern, reader: TermReader) -> Rule:
    """Make a rule of its parts as they were read."""
    name, properties = (None, ()) if label is None else _split_label(label)
    first = head if label is None else label
    action = head.action if isinstance(head, Do) else None
    head = head.pattern if isinstance(head, Do) else head
    if not isinstance(head, EventPattern):
        raise refusal("E113", "the head of a rule must be a single event", _place(head), "write head(X) <- Pattern")
    place = _place(first)
    span = Span(place.source, place.start, _place(pattern).end)
    kind = ALARMS.get(head.name)
    if kind is None or len(head.args) != 2:
        return Rule(head, pattern, name, properties, None, action, span)
    event, when = head.args
    if kind == "after" and isinstance(when, Var) and when.name not in variables(pattern):
        when = iso_constant(when)
    return Rule(to_event(event, reader), pattern, name, properties, Alarm(kind, when, when.span), action, span)


def to_event(term: Term, reader: TermReader) -> EventPattern:
    """Turn a term that a reader has just read into the event it stands for."""
    match term:
        case Compound(name=name, args=args, span=span):
            names, values = reader.named(args)
            return EventPattern(name, values, span, names)
        case Const(value=str() as name, span=span):
            return EventPattern(name, (), span)
        case _:
            raise refusal(
                "E113", "this is no event", _place(term), "an event is a name, perhaps with attributes: a, a(1, X)"
            )


def _split_label(label: Pattern) -> tuple[str, tuple[Property, ...]]:
    match label:
        case EventPattern(name=name, args=()):
            return name, ()
        case EventPattern(name=name, args=(ListTerm(items=items, tail=None),)):
            return name, tuple(map(_property, items))
        case _:
            raise refusal("E118", "this is no label", _place(label), _LABEL_HINT)


def _property(term: Term) -> Property:
    """Read `property(name, value)`; the manual also writes `name(value)`."""
    match term:
        case Compound(name="property", args=(Const(value=str() as name), value)):
            return Property(name, value, term.span)
        case Compound(name=name, args=(value,)):
            return Property(name, value, term.span)
        case _:
            raise refusal("E118", "this is no property", _place(term), "write property(event_rule_window, 10)")


def _place(node: Term | Pattern) -> Span:
    assert node.span is not None
    return node.span
