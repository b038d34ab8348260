"""Rules over derived events of instants, which the generated code follows in line to the last round."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from etalis.data.values import real
from etalis.language.read.parser import parse
from etalis.temporal.event import Event
from helpers.examples import by_day
from helpers.programs import SECOND
from properties.test_engine import agree

pytestmark = pytest.mark.property

SOURCES = (
    "b(X, Y) <- a(X, Y).",
    "b(X, Y) <- a(X, _) seq a(Y, _).",
    "b(X, Y) <- (a(X, Z) seq a(Y, Z)) within 3 where X < Y.",
    "b(X, Y) <- a(X, _) and a(_, Y).",
    "b(X, Y) <- (a(X, _) seq a(_, 1) seq a(Y, _)) within 6.",
    "b(X, Z) <- a(X, Y) seq (a(Y, _) seq a(Z, _)) where X =< Z.",
    "b(X, Y) <- ((a(X, _) where X < 2) seq a(1, Y)) cnot a(_, X).",
    "b(X, Y) <- (a(X, 0) seq a(X, Y)) cnot z(X, Y).",
)
LAST = (
    "c(X, Z) <- b(X, Y) meets b(Y, Z).",
    "c(X, Z) <- (b(X, Y) meets b(Y, Z) meets b(Z, _)) within 6.",
    "c(X, Y) <- b(X, Y) seq b(_, Y).",
    "d(X) <- (b(X, _) seq b(_, X)) within 4.",
    "d(X) <- b(X, _) finishes b(X, Y) where Y > 0.",
    "d(Y) <- b(X, _) starts b(X, Y).",
    "d(X) <- b(X, _) event_multiply (member(Y, [1, 2]), X >= Y).",
    "e(X) <- (b(X, Y) or b(Y, X)) seq b(Y, X).",
    "e(X) <- b(X, X).",
    "g(X, 0) <- b(X, _). g(X, N) <- g(X, M) seq b(_, X) where N is M + 1. h(X) <- g(X, _) seq a(X, _).",
    "g(Y, [X]) <- b(X, Y). g(X, [X | L]) <- g(X, L) seq b(X, _).",
)
PAIRS = (
    "p(X, N) <- aggregate(count, a(X, _), N) last 2. q(X, Y) <- aggregate(last(V), a(X, V), Y) last 2.",
    "p(X, Y) <- a(X, Y) where X \\= 1. q(Y, X) <- a(Z, Y) seq a(X, Y).",
    "p(X, Y) <- (a(X, _) seq a(_, Y)) within 4. q(X, X) <- a(X, _). o(Y) <- a(_, Y) or a(Y, Y).",
)
LAST_OF_PAIRS = (
    "k(X, Y, Z) <- p(X, Y) equals q(X, Z).",
    "k(X, Y, Z) <- (q(X, Y) finishes p(X, Z)) or (q(X, Y) starts p(Y, Z)).",
    "k(X, X, X) <- p(X, _) and q(X, _). l(X) <- k(X, _, _) meets k(X, _, _).",
    "l(X) <- (p(X, _) equals q(X, _)) and o(X). m(X, Y) <- l(X) par p(X, Y). m(X, 0) <- l(X) finishes k(X, _, _).",
    "l(X) <- p(X, _). l(Y) <- q(_, Y). m(X, 1) <- l(X) equals b(X, _).",
)
TRIGGERS = (
    "print_trigger(c/2).",
    "print_trigger(b(1, _)). print_trigger(d/1). print_trigger(e/_).",
    "print_trigger(b(X, Y)) :- X < Y. print_trigger(c(X, X)). print_trigger(g/2).",
    "print_trigger(g(_, N)) :- N > 0. print_trigger(h/1).",
    "print_trigger(h(_)).",
    "print_trigger(k/3). print_trigger(q(X, Y)) :- X == Y. print_trigger(m/2).",
)
POLICIES = ("unrestricted", "continuous", "chronological", "recent", "cumulative", "snoop_recent")
VALUES = st.sampled_from((0, 1, 2, real(1.0), 1.5, 10**200, "x" * 1_100))
STEPS = st.sampled_from((0, 1, 1, 1, 2, 5))


@st.composite
def chained(draw: st.DrawFn) -> str:
    """Draw one or two rules that make events, some that read them, and what of that is reported."""
    pair = draw(st.sampled_from((None, None, *PAIRS)))
    first = [*draw(st.lists(st.sampled_from(SOURCES), min_size=1, max_size=2, unique=True)), *([pair] if pair else [])]
    last = draw(st.lists(st.sampled_from(LAST_OF_PAIRS if pair else LAST), min_size=1, max_size=3, unique=True))
    policies = [f"r{i}([property(policy, {draw(st.sampled_from(POLICIES[:2]))})]) rule: " for i in range(len(last))]
    marked = [policy + rule if draw(st.booleans()) else rule for policy, rule in zip(policies, last, strict=True)]
    return "\n".join([*first, *marked, draw(st.just("") | st.sampled_from(TRIGGERS))])


@st.composite
def instants(draw: st.DrawFn) -> list[Event]:
    """Draw events in order of (end, start), nearly all of an instant, some of one stamp."""
    found, now = [], 0
    for x, y, step, length in draw(st.lists(st.tuples(VALUES, VALUES, STEPS, st.integers(0, 9)), max_size=9)):
        now += step
        found.append(Event.make("a", (x, y), (now - length // 9) * SECOND, now * SECOND))
    return sorted(found, key=lambda event: (event.end_time, event.start_time))


@by_day(3)
@given(chained(), instants(), st.sampled_from(POLICIES))
def test_rounds_in_line_give_the_meaning(text: str, stream: list[Event], policy: str) -> None:
    agree(parse(text), stream, policy, ())
