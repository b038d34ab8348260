"""Inferred types are true: whatever a program makes of typed events is of the types that were inferred, or null."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import given, note
from hypothesis import strategies as st

import etalis
from etalis.data.values import Struct, Value, real
from etalis.errors import LimitError
from etalis.language import syntax as s
from etalis.language.printer import print_program
from etalis.plan.answers import Answers
from etalis.plan.rules import plan_rules
from etalis.plan.types import infer_types
from etalis.temporal.event import Event
from helpers.examples import by_day
from helpers.programs import RECEIVED, policies, programs, streams

pytestmark = pytest.mark.property

VALUES: Mapping[str, tuple[Value, ...]] = {
    "int": (0, 1, 2, "null"),
    "float": (real(0.0), real(1.0), 2.5, "null"),
    "string": ("x", "k", "null"),
    "time": (1, 2.5, "null"),
    "array<int>": ((0, 1), (), "null"),
    "term": (0, real(1.0), "x", Struct("s", (1,)), (0, 1)),
}
FITS: Mapping[str, Callable[[Value], bool]] = {
    "int": lambda v: type(v) is int,
    "float": lambda v: isinstance(v, float),
    "string": lambda v: isinstance(v, str),
    "bool": lambda v: v in ("true", "false"),
    "time": lambda v: isinstance(v, int | float),
    "number": lambda v: isinstance(v, int | float),
    "array<int>": lambda v: isinstance(v, tuple) and all(type(x) is int for x in v),
    "term": lambda v: True,
}
TYPES = st.fixed_dictionaries(
    {
        name: st.tuples(*[st.sampled_from(("int", "int", "float", "string", "time", "array<int>", "term"))] * n)
        for name, n in RECEIVED.items()
    }
)


@st.composite
def typed_streams(draw: Callable[[st.SearchStrategy[Any]], Any]) -> tuple[dict[str, tuple[str, ...]], list[Event]]:
    """Types of the received events, and a stream of these types."""
    types = draw(TYPES)
    events = []
    for e in draw(streams()):
        values = tuple(draw(st.sampled_from(VALUES[t])) for t in types[e.name])
        events.append(Event.make(e.name, values, e.start_time, e.end_time))
    return types, events


@by_day(2)
@given(programs(), typed_streams(), policies())
def test_values_are_of_the_inferred_types(
    tree: s.Tree, typed: tuple[dict[str, tuple[str, ...]], list[Event]], policy: str
) -> None:
    types, stream = typed
    text = print_program(tree)
    note(f"{policy}\n{text}\n{types}\n{stream}")
    program = etalis.compile(text, max_derivations=40)
    received = {(name, len(each)): each for name, each in types.items()}
    engine = program.engine(policy=policy)
    answers = Answers(program.compiled.knowledge.database(), moments="number")
    found = infer_types(plan_rules(program.compiled.rules, program.compiled.settings), received, {}, answers)
    note(str(dict(found)))
    try:
        events = [*engine.run(stream), *engine.close()]
    except LimitError:
        return
    for event in events:
        for value, inferred in zip(event.args, found[event.name, len(event.args)], strict=True):
            assert value == "null" or FITS[inferred](value), (event, inferred)
