"""Reactions do what they mean: the same events, facts, effects and failures, in one order, however they are run."""

from __future__ import annotations

import warnings
from functools import lru_cache
from random import Random
from typing import Any

import pytest
from hypothesis import given, note
from hypothesis import strategies as st

import etalis
from etalis.engine import Engine
from etalis.errors import ConditionError, LimitError
from etalis.language.read.parser import parse
from etalis.semantics import steps as semantics
from etalis.semantics.reactions import ReactionNotes
from etalis.temporal.event import Event
from etalis.testing.backends import conditions_of, facts_in, failure_line, failures_of
from etalis.testing.recorded_effects import RecordedEffects
from helpers.examples import by_day
from helpers.reactions import reactive_program, reactive_stream

pytestmark = pytest.mark.property

Outcome = tuple[Any, ...]


@lru_cache(maxsize=1)
def compiled(text: str) -> etalis.Program:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", etalis.ProgramWarning)
        return etalis.compile(text)


def outcome_of(events: list[Event], engine: Engine, sink: RecordedEffects, errors: list[ConditionError]) -> Outcome:
    assert conditions_of(errors) == []
    facts = facts_in(engine.core.rules.solver.database.state.facts())
    return [str(e) for e in events], facts, sink.lines, failures_of(errors)


def row(event: Event) -> tuple[Any, ...]:
    at = event.end if event.start == event.end else (event.start, event.end)
    return event.name, *event.args, at


def started(text: str, sink: RecordedEffects, errors: list[ConditionError], *data: bytes) -> Engine:
    program = compiled(text)
    if data:
        return program.restore(*data, effects=sink, on_error=errors.append)
    return program.engine(effects=sink, on_error=errors.append)


def as_rows(text: str, stream: list[Event], refused: list[str], point: int) -> Outcome:
    """The whole stream as one iterable."""
    del point
    sink, errors = RecordedEffects(refused), list[ConditionError]()
    engine = started(text, sink, errors)
    found = [*engine.run(map(row, stream)), *engine.close()]
    return outcome_of(found, engine, sink, errors)


def restored(text: str, stream: list[Event], refused: list[str], point: int) -> Outcome:
    """Event by event, put down and taken up again at one point."""
    sink, errors = RecordedEffects(refused), list[ConditionError]()
    engine, found = started(text, sink, errors), list[Event]()
    for number, event in enumerate(stream):
        if number == point:
            engine = started(text, sink, errors, engine.snapshot())
        name, *args, at = row(event)
        found += engine.push(name, *args, at=at)
    found += engine.close()
    return outcome_of(found, engine, sink, errors)


def meaning(text: str, stream: list[Event], refused: list[str]) -> Outcome:
    notes = ReactionNotes(refused)
    tree = parse(text)
    found = semantics.reported(tree, semantics.run(tree, stream, reactions=notes))
    failures = [failure_line(*failure) for failure in notes.failures]
    return [str(e) for e in found], facts_in(notes.state.items()), notes.effects, failures


@by_day(10)
@given(st.integers(0, 1 << 40))
def test_an_engine_reacts_as_the_meaning_does(seed: int) -> None:
    random = Random(seed)
    text, stream = reactive_program(random), reactive_stream(random)
    refused, point = random.choice(([], ["tell"], ["hold"])), random.randrange(8)
    note(text)
    note(str(stream))
    try:
        compiled(text).engine(effects=RecordedEffects())
    except etalis.ProgramError as error:
        assert error.code == "E516"  # noqa: PT017  the first state is not legal
        return
    try:
        expected = meaning(text, stream, refused)
    except LimitError:
        with pytest.raises(LimitError):
            as_rows(text, stream, refused, point)
        return
    assert as_rows(text, stream, refused, point) == expected
    assert restored(text, stream, refused, point) == expected
