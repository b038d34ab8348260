"""The two executable meanings agree: steps, rounds and stores under `unrestricted` give exactly the least model."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from etalis import semantics
from etalis.language import syntax as s
from etalis.temporal.event import Event
from etalis.temporal.relation import RELATIONS

pytestmark = pytest.mark.property

SECOND = 1_000_000
RECEIVED = ("a", "b")
DERIVED = ("d", "e")
ALARM = "g"
ANYTHING = s.Var("_#1")

# Weighted so that most patterns match something in a stream of a few events.
terms = st.sampled_from((ANYTHING, ANYTHING, ANYTHING, s.Var("X"), s.Var("X"), s.Var("Y"), s.Const(0)))
seconds = st.integers(0, 4).map(lambda n: n * SECOND)


def call(name: str, *args: s.Term) -> s.Compound:
    return s.Compound(name, args)


def events(names: tuple[str, ...]) -> st.SearchStrategy[s.Pattern]:
    """Event patterns and, now and then, a time point."""
    single = st.builds(lambda name, arg: s.EventPattern(name, (arg,)), st.sampled_from(names), terms)
    return st.one_of(*(single,) * 9, seconds.map(s.TimePoint))


goals = st.sampled_from(
    [
        call("\\=", s.Var("X"), s.Var("Y")),
        call("=", s.Var("X"), s.Var("Y")),
        call("=", s.Var("Y"), s.Const(1)),
        call("==", s.Var("X"), s.Const(0)),
    ]
)
times = st.sampled_from(
    [
        call(",", call("t1", s.Var("S")), call("<", s.Var("S"), s.Const(3))),
        call(",", call("t1", s.Var("S")), call(",", call("t2", s.Var("E")), call("=\\=", s.Var("S"), s.Var("E")))),
    ]
)
choices = st.just(call(";", call("=", s.Var("Y"), s.Const(0)), call("=", s.Var("Y"), s.Const(1))))


def larger(inner: st.SearchStrategy[s.Pattern]) -> st.SearchStrategy[s.Pattern]:
    """Patterns with `inner` ones below; absences by deadline wait for received events only, so that time ends."""
    simple = events(RECEIVED)
    received = st.one_of(simple, st.builds(s.Binary, st.sampled_from(("seq", "and")), simple, simple))
    frequent = st.builds(s.Binary, st.sampled_from(("seq", "and")), inner, inner)
    return st.one_of(
        frequent,
        frequent,
        frequent,
        st.builds(s.Binary, st.sampled_from(sorted(RELATIONS)), inner, inner),
        st.builds(s.Or, inner, inner),
        st.builds(s.Within, inner, seconds),
        st.builds(s.Negation, st.sampled_from(("cnot", "fnot")), inner, inner),
        st.builds(s.NotWithin, received, inner, st.integers(1, 4).map(lambda n: n * SECOND)),
        st.builds(s.Condition, st.just("where"), inner, goals),
        st.builds(s.Condition, st.just("check"), inner, times),
        st.builds(s.Condition, st.just("event_multiply"), inner, choices),
    )


patterns = st.recursive(events((*RECEIVED, *RECEIVED, *RECEIVED, *DERIVED, ALARM)), larger, max_leaves=6)
windows = st.one_of(st.just(()), st.integers(1, 4).map(lambda n: (s.Property("window", s.Const(n)),)))
heads = st.builds(lambda name, arg: s.EventPattern(name, (arg,)), st.sampled_from(DERIVED), terms)
rules = st.builds(lambda head, pattern, given: s.Rule(head, pattern, properties=given), heads, patterns, windows)
alarms = st.builds(
    lambda pattern, kind, when: s.Rule(
        s.EventPattern(ALARM, (s.Var("X"),)), pattern, alarm=s.Alarm(kind, s.Const(when))
    ),
    st.recursive(events(RECEIVED), lambda p: st.builds(s.Binary, st.sampled_from(("seq", "and")), p, p), max_leaves=2),
    st.sampled_from(("after", "at")),
    st.integers(1, 4),
)
modes = st.sampled_from(("strict", "weak")).map(lambda mode: s.SetFlag("interval_relations", s.Const(mode)))
programs = st.builds(
    lambda mode, some, more: s.Program((mode, *some, *more)),
    modes,
    st.lists(rules, min_size=1, max_size=4),
    st.lists(alarms, max_size=1),
)
streams = st.lists(
    st.builds(
        lambda name, value, end, length: Event.make(name, (value,), (end - length) * SECOND, end * SECOND),
        st.sampled_from(RECEIVED),
        st.sampled_from((0, 1)),
        st.integers(0, 6),
        st.sampled_from((0, 0, 0, 1, 2)),
    ),
    max_size=8,
)


@given(programs, streams)
def test_steps_give_the_least_model(program: s.Program, stream: list[Event]) -> None:
    made = semantics.run(program, stream, policy="unrestricted")
    assert len(made) == len(set(made)), "a derived event is made once"
    assert set(made) == semantics.least_model(program, stream)
