"""The two executable meanings agree: steps, rounds and stores under `unrestricted` give exactly the least model."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from etalis.language import syntax as s
from etalis.language.check.bound_variables import bindings
from etalis.semantics import steps as semantics
from etalis.temporal.event import Event
from etalis.temporal.relation import RELATIONS
from helpers.examples import by_day

pytestmark = pytest.mark.property

SECOND = 1_000_000
RECEIVED = ("a", "b")
DERIVED = ("d", "e")
ALARM = "g"
X, Y, ANYTHING = s.Var("X"), s.Var("Y"), s.Var("_#1")

# Weighted so that most patterns match something in a stream of a few events.
TERMS = (ANYTHING, ANYTHING, ANYTHING, X, X, Y, s.Const(0))
NAMES = (*RECEIVED, *RECEIVED, *RECEIVED, *DERIVED, ALARM)
SHAPES = (
    "event",
    "pair",
    "pair",
    "pair",
    "relation",
    "or",
    "guarded",
    "guarded",
    "within",
    "negation",
    "absence",
    "condition",
)


def call(name: str, *args: s.Term) -> s.Compound:
    return s.Compound(name, args)


START, END = call("t1", s.Var("S")), call("t2", s.Var("E"))
CONDITIONS = (
    ("where", call("\\=", X, Y)),
    ("where", call("=", X, Y)),
    ("where", call("=", Y, s.Const(1))),
    ("where", call("==", X, s.Const(0))),
    ("check", call(",", START, call("<", s.Var("S"), s.Const(3)))),
    ("check", call(",", START, call(",", END, call("=\\=", s.Var("S"), s.Var("E"))))),
    ("event_multiply", call(";", call("=", Y, s.Const(0)), call("=", Y, s.Const(1)))),
)

Draw = st.DrawFn


def duration(draw: Draw, least: int = 0) -> int:
    return draw(st.integers(least, 4)) * SECOND


def event(draw: Draw, names: tuple[str, ...] = NAMES) -> s.Pattern:
    """An event pattern or, now and then, a time point."""
    if draw(st.integers(0, 9)) == 9:
        return s.TimePoint(duration(draw))
    return s.EventPattern(draw(st.sampled_from(names)), (draw(st.sampled_from(TERMS)),))


def sequence(draw: Draw, depth: int) -> s.Pattern:
    """A sequence nested to the left or to the right, directly or in an `or`."""
    a, b, c = (pattern(draw, depth - 2) for _ in range(3))
    nested: s.Pattern = s.Binary("seq", a, b)
    if draw(st.integers(0, 2)) == 0:
        nested = s.Or(nested, event(draw))
    return s.Binary("seq", nested, c) if draw(st.booleans()) else s.Binary("seq", c, nested)


def pattern(draw: Draw, depth: int) -> s.Pattern:
    """A pattern; absences by deadline wait for received events only, so that time ends."""
    shape = draw(st.sampled_from(SHAPES)) if depth > 0 else "event"
    match shape:
        case "pair":
            return s.Binary(draw(st.sampled_from(("seq", "and"))), pattern(draw, depth - 1), pattern(draw, depth - 1))
        case "relation":
            relation = draw(st.sampled_from(sorted(RELATIONS)))
            return s.Binary(relation, pattern(draw, depth - 1), pattern(draw, depth - 1))
        case "or":
            return s.Or(pattern(draw, depth - 1), pattern(draw, depth - 1))
        case "guarded":
            return s.Negation("cnot", sequence(draw, depth), pattern(draw, depth - 2))
        case "within":
            return s.Within(pattern(draw, depth - 1), duration(draw))
        case "negation":
            operator = draw(st.sampled_from(("cnot", "fnot")))
            return s.Negation(operator, pattern(draw, depth - 1), pattern(draw, depth - 1))
        case "absence":
            return s.NotWithin(event(draw, RECEIVED), pattern(draw, depth - 1), duration(draw, 1))
        case "condition":
            kind, goal = draw(st.sampled_from(CONDITIONS))
            return s.Condition(kind, pattern(draw, depth - 1), goal)
        case _:
            return event(draw)


def head(draw: Draw, name: str, body: s.Pattern) -> s.EventPattern:
    bound = sorted(bindings(body)[id(body)].perhaps & {"X", "Y"})
    return s.EventPattern(name, (draw(st.sampled_from([*map(s.Var, bound), s.Const(0)])),))


def rule(draw: Draw) -> s.Rule:
    body = pattern(draw, 3)
    windows = (s.Property("window", s.Const(draw(st.integers(1, 4)))),) if draw(st.integers(0, 3)) == 0 else ()
    return s.Rule(head(draw, draw(st.sampled_from(DERIVED)), body), body, properties=windows)


def alarm(draw: Draw) -> s.Rule:
    body = (
        s.Binary("seq", event(draw, RECEIVED), event(draw, RECEIVED)) if draw(st.booleans()) else event(draw, RECEIVED)
    )
    given = s.Alarm(draw(st.sampled_from(("after", "at"))), s.Const(draw(st.integers(1, 4))))
    return s.Rule(head(draw, ALARM, body), body, alarm=given)


@st.composite
def programs(draw: Draw) -> s.Tree:
    mode = s.SetFlag("interval_relations", s.Const(draw(st.sampled_from(("strict", "weak")))))
    rules = [rule(draw) for _ in range(draw(st.integers(1, 3)))]
    alarms = [alarm(draw) for _ in range(draw(st.integers(0, 1)))]
    return s.Tree((mode, *rules, *alarms))


@st.composite
def streams(draw: Draw) -> list[Event]:
    found = []
    for _ in range(draw(st.integers(0, 10))):
        end, length = draw(st.integers(0, 6)), draw(st.sampled_from((0, 0, 0, 0, 1, 2)))
        name, value = draw(st.sampled_from(RECEIVED)), draw(st.integers(0, 1))
        found.append(Event.make(name, (value,), (end - length) * SECOND, end * SECOND))
    return found


@by_day(2)
@given(programs(), streams())
def test_steps_give_the_least_model(program: s.Tree, stream: list[Event]) -> None:
    made = semantics.run(program, stream, policy="unrestricted")
    assert len(made) == len(set(made)), "a derived event is made once"
    assert set(made) == semantics.least_model(program, stream)
