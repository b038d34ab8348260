"""SNOOP-R: a registration detects what the rules say that one would write by hand, and these mean; notations agree."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given, note
from hypothesis import strategies as st

import etalis
from etalis.data.values import Value
from etalis.language.read.parser import parse
from etalis.semantics import steps as semantics
from etalis.semantics.matches import RunNotes
from etalis.snoop import (
    Contribution,
    Detector,
    Expression,
    LeafIndex,
    Registration,
    Result,
    checked,
    read_json,
    read_text,
    read_xml,
    write_json,
    write_text,
    write_xml,
)
from etalis.snoop.detection.rules import is_gathered
from etalis.snoop.expression import CONTEXTS, Path, contributing_leaves
from etalis.temporal.event import Event
from helpers.examples import by_day
from helpers.random_snoop import LANGUAGE, Signalled, expressions, rule_of, signals, variables_of

MICROSECONDS = 1_000_000
NOTATIONS: list[tuple[Callable[[Expression], str], Callable[[str], Expression]]] = [
    (write_xml, read_xml),
    (write_json, read_json),
    (write_text, read_text),
]


def detected(expression: Expression, stream: list[Signalled], cut: int | None = None) -> list[tuple[Value, ...]]:
    """What a registration tells: bindings, instances by leaf, interval; restored after `cut` signals."""
    detector = Detector(time="events")
    registration = detector.register(expression)
    names = variables_of(expression)
    paths = [path for path, _ in contributing_leaves(expression)]
    found = []
    for number, signal in enumerate(stream):
        if number == cut:
            detector.unregister(registration.number)
            registration = Registration.restore(registration.snapshot())
            detector.add(registration)
        for _, told in detector.signal(signal.kind, LANGUAGE, signal.values, at=signal.at * MICROSECONDS).told:
            assert isinstance(told, Result)
            assert told.events is not None
            parts = instances(expression, (), told.events)
            row = [told.bindings.get(name, "null") for name in names]
            if expression.context == "cumulative":
                row.append(frozenset(n for numbers in parts.values() for n in numbers))
            else:
                row += [numbers_of(expression, path, parts) for path in paths]
            found.append((*row, told.start, told.end))
    return found


def numbers_of(expression: Expression, path: Path, parts: dict[Path, list[str]]) -> Value:
    """The instances of a leaf as a rule tells them."""
    return tuple(parts[path]) if path in parts and is_gathered(expression, path) else parts.get(path, ["null"])[0]


def instances(node: Expression, path: Path, told: Contribution) -> dict[Path, list[str]]:
    """The numbers of the instances that each leaf contributed."""
    if node.is_leaf:
        assert told.number is not None
        return {path: [told.number]}
    places = {argument.name: place for place, argument in enumerate(node.arguments, 1)}
    found: dict[Path, list[str]] = {}
    for name, below in told.arguments:
        place = places[name]
        for at, numbers in instances(node.arguments[place - 1].expression, (*path, place), below).items():
            found.setdefault(at, []).extend(numbers)
    return found


def rows(expression: Expression, events: list[tuple[Event, tuple[int, ...]]], names: int) -> list[tuple[Value, ...]]:
    found = []
    for event, parts in events:
        values = event.args
        if expression.context == "cumulative":
            values = (*values[:names], frozenset(map(str, parts)))
        found.append((*values, event.start_time, event.end_time))
    return found


@given(expressions(), signals(), st.integers(0, 12))
@by_day(2)
def test_a_registration_detects_what_rules_by_hand_say(
    expression: Expression, stream: list[Signalled], cut: int
) -> None:
    text, policy = rule_of(expression), CONTEXTS[expression.context or ""]
    note(text)
    events = [
        Event.make(s.kind, (str(number), s.values["p"], s.values["q"]), s.at * MICROSECONDS, s.at * MICROSECONDS)
        for number, s in enumerate(stream, 1)
    ]
    names = len(variables_of(expression))
    engine = etalis.compile(text).engine(policy=policy, parts=expression.context == "cumulative")
    by_hand = rows(expression, [(match, match.parts) for event in events for match in engine.push(event)], names)
    told = detected(expression, stream)
    assert sorted(told, key=repr) == sorted(by_hand, key=repr)
    assert detected(expression, stream, cut) == told
    notes = RunNotes()
    semantics.run(parse(text), events, policy=policy, notes=notes)
    meant = [(record.event, tuple(record.contributors)) for record in notes.record if record.number is None]
    assert sorted(told, key=repr) == sorted(rows(expression, meant, names), key=repr)


@given(expressions())
@by_day(2)
def test_notations_agree(expression: Expression) -> None:
    assert checked(expression) == expression
    for write, read in NOTATIONS:
        assert checked(read(write(expression))) == expression


@given(st.lists(expressions(depth=2), min_size=1, max_size=8), signals())
@by_day(4)
def test_the_index_finds_what_asking_every_leaf_finds(found: list[Expression], stream: list[Signalled]) -> None:
    index, registrations = LeafIndex(), [Registration(expression, n) for n, expression in enumerate(found)]
    for registration in registrations:
        index.add(registration)
    for registration in registrations[1::3]:
        index.remove(registration)
        registrations.remove(registration)
    for signal in stream:
        asked: dict[int, dict[Path, tuple[Value, ...]]] = {}
        for registration in registrations:
            for leaf in registration.leaves:
                values = leaf.fill(signal.values) if leaf.expression.operator == signal.kind else None
                if values is not None:
                    asked.setdefault(registration.number, {})[leaf.path] = values
        told = [(r.number, fills) for r, fills in index.find(signal.kind, LANGUAGE, signal.values)]
        assert told == sorted(asked.items())
