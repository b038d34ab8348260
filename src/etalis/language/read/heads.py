"""The left side of a rule: labels with their properties, alarms, actions, the head itself."""

from __future__ import annotations

from etalis.errors import Span
from etalis.language import syntax as s
from etalis.language.ground_terms import variables
from etalis.language.read.reader import TermReader
from etalis.language.read.tokens import refusal
from etalis.language.read.units import iso_constant
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


def make_rule(label: s.Pattern | None, head: s.Pattern, pattern: s.Pattern, reader: TermReader) -> s.Rule:
    """Make a rule of its parts as they were read."""
    name, properties = (None, ()) if label is None else split_label(label)
    first = head if label is None else label
    action = head.action if isinstance(head, s.Do) else None
    head = head.pattern if isinstance(head, s.Do) else head
    if not isinstance(head, s.EventPattern):
        raise refusal("E113", "the head of a rule must be a single event", _place(head), "write head(X) <- Pattern")
    place = _place(first)
    span = Span(place.source, place.start, _place(pattern).end)
    kind = ALARMS.get(head.name)
    if kind is None or len(head.args) != 2:
        return s.Rule(head, pattern, name, properties, None, action, span)
    event, when = head.args
    if kind == "after" and isinstance(when, s.Var) and when.name not in variables(pattern):
        when = iso_constant(when)
    return s.Rule(to_event(event, reader), pattern, name, properties, s.Alarm(kind, when, when.span), action, span)


def to_event(term: s.Term, reader: TermReader) -> s.EventPattern:
    """Turn a term that a reader has just read into the event it stands for."""
    match term:
        case s.Compound(name=name, args=args, span=span):
            names, values = reader.named(args)
            return s.EventPattern(name, values, span, names)
        case s.Const(value=str() as name, span=span):
            return s.EventPattern(name, (), span)
        case _:
            raise refusal(
                "E113", "this is no event", _place(term), "an event is a name, perhaps with attributes: a, a(1, X)"
            )


def split_label(label: s.Pattern) -> tuple[str, tuple[s.Property, ...]]:
    match label:
        case s.EventPattern(name=name, args=()):
            return name, ()
        case s.EventPattern(name=name, args=(s.ListTerm(items=items, tail=None),)):
            return name, tuple(map(_property, items))
        case _:
            raise refusal("E118", "this is no label", _place(label), _LABEL_HINT)


def _property(term: s.Term) -> s.Property:
    """Read `property(name, value)`; the manual also writes `name(value)`."""
    match term:
        case s.Compound(name="property", args=(s.Const(value=str() as name), value)):
            return s.Property(name, value, term.span)
        case s.Compound(name=name, args=(value,)):
            return s.Property(name, value, term.span)
        case _:
            raise refusal("E118", "this is no property", _place(term), "write property(event_rule_window, 10)")


def _place(node: s.Term | s.Pattern) -> Span:
    assert node.span is not None
    return node.span
