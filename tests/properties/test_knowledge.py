"""Knowledge that changes while events come: the engine sees what the meaning sees, at every moment and in every round.

Programs are a few rules over few values that ask for facts in every condition, among them rules that make such facts
and take them away; streams have many equal stamps. So most programs depend on the order of changes and questions.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from etalis.language import syntax as s
from etalis.language.read.parser import parse
from etalis.semantics import steps as semantics
from etalis.temporal.event import Event
from helpers.examples import by_day
from helpers.programs import policies
from properties.test_engine import Change, agree

pytestmark = pytest.mark.property

SECOND = 1_000_000
KNOWLEDGE = """
:- knowledge k/1 - m/1, j/2 - i/2.
:- table path/2.
k(0).
path(X, Z) :- path(X, Y), j(Y, Z).
path(X, Y) :- j(X, Y).
known(X) :- k(X), \\+ j(X, X).
"""
GOALS = ("k(X)", "k(X)", "\\+ k(X)", "known(X)", "j(X, 1)", "path(X, 0)", "(k(X), path(X, 1))", "(k(X) ; j(X, 0))")
RULES = (
    "d(X) <- a(X) where {}.",
    "d(X) <- b(X) where {}.",
    "e(X) <- (a(X) seq b(X)) where {}.",
    "e(X) <- k(X) where {}.",
    "e(X) <- m(X) where {}.",
    "e(X) <- (a(X) where {}) seq b(X).",
    "e(X, Y) <- j(X, Y) and a(Y) where {}.",
    "k(X) <- b(X) where {}.",
    "k(X) <- d(X) where {}.",
    "m(X) <- a(X) where {}.",
    "m(X) <- e(X) where {}.",
    "j(X, Y) <- a(X) seq b(Y) where {}.",
    "i(X, Y) <- a(X) and b(Y) where {}.",
    "f(X) <- a(X) seq (not b(X) within 1) where {}.",
    "f(X) <- a(X) seq (not (b(X) where {}) within 2).",
    "f(X) <- (a(Y) seq b(X)) cnot (a(X) where {}).",
    "g(X) <- 2 event_multiply {}.",
    "g(X) <- a(_) event_multiply {}.",
    "g(N) <- aggregate(count, (a(X) where {}), N) within 2.",
    "exceptionAlarm(h(X), 1) <- a(X) where {}.",
    "d(X) <- h(X) where {}.",
)
EVENTS = {"a": 1, "b": 1, "k": 1, "m": 1, "j": 2, "i": 2}
BINDING = tuple(goal for goal in GOALS if not goal.startswith("\\+"))


PLAIN = tuple(r for r in RULES if r[0] not in "kmji" and "aggregate" not in r)  # what the least model is defined for


@st.composite
def programs(draw: st.DrawFn, rules: tuple[str, ...] = RULES) -> s.Tree:
    chosen = draw(st.lists(st.sampled_from(rules), min_size=1, max_size=5, unique=True))
    goals = [draw(st.sampled_from(BINDING if "event_multiply" in rule else GOALS)) for rule in chosen]
    return parse(KNOWLEDGE + "\n".join(rule.format(goal) for rule, goal in zip(chosen, goals, strict=True)))


@st.composite
def streams(draw: st.DrawFn) -> list[Event]:
    found = []
    for _ in range(draw(st.integers(1, 14))):
        name, end = draw(st.sampled_from((*EVENTS, "a", "b"))), draw(st.integers(0, 4))
        values = tuple(draw(st.integers(0, 1)) for _ in range(EVENTS[name]))
        start = end - draw(st.sampled_from((0, 0, 0, 1)))
        found.append(Event.make(name, values, start * SECOND, end * SECOND))
    return sorted(found, key=lambda event: (event.end_time, event.start_time))


@st.composite
def spaced_streams(draw: st.DrawFn) -> list[Event]:
    """Streams in which every change has a moment of its own."""
    found = [event for event in draw(streams()) if event.name in "ab"]
    for half in draw(st.lists(st.integers(0, 5), unique=True, max_size=6)):
        name, at = draw(st.sampled_from("kmji")), (2 * half + 1) * SECOND // 2
        found.append(Event.make(name, tuple(draw(st.integers(0, 1)) for _ in range(EVENTS[name])), at, at))
    return found


@st.composite
def changes(draw: st.DrawFn) -> list[Change]:
    """Facts that come and go from outside, at moments of the stream and between them."""
    found = []
    for _ in range(draw(st.integers(0, 4))):
        name = draw(st.sampled_from(("k", "j")))
        values = tuple(draw(st.integers(0, 1)) for _ in range(EVENTS[name]))
        found.append((draw(st.integers(-1, 9)) * SECOND // 2, name, draw(st.booleans()), values))
    return found


@by_day(2)
@given(programs(), streams(), changes(), policies())
def test_engine_gives_the_meaning(tree: s.Tree, stream: list[Event], changed: list[Change], policy: str) -> None:
    agree(tree, stream, policy, changed)


@by_day(2)
@given(programs(PLAIN), spaced_streams())
def test_a_condition_asked_later_sees_what_was_known_then(tree: s.Tree, stream: list[Event]) -> None:
    """The least model asks all conditions again at every moment, as of the ends of their matches."""
    assert set(semantics.run(tree, stream, policy="unrestricted")) == semantics.least_model(tree, stream)
