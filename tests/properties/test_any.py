"""`any` gives what it means under every policy: pushed, as rows, with parts kept, and over a snapshot."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, note
from hypothesis import strategies as st

import etalis
from etalis.errors import ProgramError
from etalis.language.read.parser import parse
from etalis.semantics import steps as semantics
from etalis.temporal.event import Event
from etalis.temporal.policy import POLICIES
from helpers.examples import by_day

pytestmark = [pytest.mark.property, pytest.mark.filterwarnings("ignore::etalis.ProgramWarning")]

CONSTITUENTS = (
    "a(X)", "a(Y)", "a(1)", "a(_)", "b(X)", "b(Y)", "c(X, Y)", "c(Y, _)", "c(X, X)", "a(X) or b(X)", "b(Y) or c(Y, 1)",
    "a(X) or (b(X) seq e)", "(a(X) seq b(Y))", "(b(X) seq c(X, _))", "(a(Z) seq b(Z))", "(a(X) where X > 0)",
    "(c(X, Y) check t1(0))", "any(2, [a(X), e])", "(a(X) and e)", "(b(X) ntimes 2)", "3", "(a(X) within 1)",
)  # fmt: skip
FRAMES = (
    "{}", "{}", "{}", "{} within 2", "{} within 4", "{} where X \\= Y", "{} where X < Y", "{} seq e", "e seq {}",
    "({} seq e) cnot b(2)", "{} cnot e", "{} fnot e within 5", "{} and e", "{} or e", "iso({})", "{} ntimes 2",
    "e seq (not {} within 2)", "{} event_multiply member(X, [0, 1])",
)  # fmt: skip
WEIGHED = [*["snoop_recent"] * len(POLICIES), *POLICIES]


@st.composite
def texts(draw: st.DrawFn) -> str:
    parts = draw(st.lists(st.sampled_from(CONSTITUENTS), min_size=2, max_size=5, unique=True))
    count = draw(st.integers(2, len(parts)))
    chosen = f"any({count}, [{', '.join(parts)}])"
    names = ", ".join(v for v in "XY" if v in chosen)
    head = f"d({names})" if names else "d"
    return f"{head} <- {draw(st.sampled_from(FRAMES)).format(chosen)}."


@st.composite
def events(draw: st.DrawFn) -> Event:
    name, arity = draw(st.sampled_from([("a", 1), ("a", 1), ("b", 1), ("b", 1), ("c", 2), ("e", 0)]))
    args = draw(st.lists(st.integers(0, 2), min_size=arity, max_size=arity))
    end = draw(st.integers(0, 7))
    start = draw(st.integers(max(0, end - 2), end)) if draw(st.booleans()) else end
    return Event.make(name, args, start * 1_000_000, end * 1_000_000)


def streams() -> st.SearchStrategy[list[Event]]:
    several = st.lists(events(), min_size=4, max_size=16)
    return several.map(lambda found: sorted(found, key=lambda e: (e.end_time, e.start_time)))


@by_day(2)
@given(texts(), streams(), st.sampled_from(WEIGHED), st.integers(0, 16))
def test_any_gives_the_meaning(text: str, stream: list[Event], policy: str, cut: int) -> None:
    note(f"{policy}\n{text}\n{stream}")
    try:
        program = etalis.compile(text)
    except ProgramError as error:
        note(error)
        return
    expected = list(map(str, semantics.run(parse(text), stream, policy=policy)))

    def shown(found: Any) -> list[str]:
        return [str(event) for event in found]

    for parts in (False, True):
        engine = program.engine(policy=policy, parts=parts)
        assert shown([*engine.run(stream), *engine.close()]) == expected, f"as rows, parts={parts}"
    engine = program.engine(policy=policy)
    found = [e for x in stream[:cut] for e in engine.push(x)]
    engine = program.restore(engine.snapshot())
    found += [e for x in stream[cut:] for e in engine.push(x)]
    assert shown([*found, *engine.close()]) == expected, f"restored after {cut}"


@st.composite
def arrivals(draw: st.DrawFn) -> list[list[Event]]:
    """Streams of arrivals: some events, of different kinds, at one moment."""
    found = []
    for moment in sorted(draw(st.lists(st.integers(0, 7), min_size=3, max_size=8))):
        several = draw(st.lists(events(), min_size=1, max_size=3, unique_by=lambda e: e.name))
        found.append([Event.make(e.name, e.args, moment * 1_000_000, moment * 1_000_000) for e in several])
    return found


@by_day(2)
@given(texts(), arrivals(), st.sampled_from(WEIGHED), st.integers(0, 8))
def test_arrivals_give_the_meaning(text: str, stream: list[list[Event]], policy: str, cut: int) -> None:
    note(f"{policy}\n{text}\n{stream}")
    whole = f":- set_flag(joint_arrivals, on).\n{text}"
    try:
        program = etalis.compile(whole)
    except ProgramError as error:
        note(error)
        return
    expected = list(map(str, semantics.run(parse(whole), stream, policy=policy)))
    engine, found = program.engine(policy=policy), []
    for place, several in enumerate(stream):
        if place == cut:
            engine = program.restore(engine.snapshot())
        found += engine.push_together([(e.name, *e.args) for e in several], at=several[0].end)
    assert [str(e) for e in (*found, *engine.close())] == expected
