"""Repairs are true: by the meaning of programs the event occurs, and where they are proved no single change does it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product

import pytest
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

import etalis
from etalis.language.read.parser import parse
from etalis.semantics import steps as semantics
from etalis.temporal.event import Event
from etalis.why.repairing.data import AddEvent, MoveEvent, RemoveEvent, Repair
from helpers.examples import IS_NIGHT

pytestmark = [pytest.mark.property, pytest.mark.filterwarnings("ignore::etalis.errors.ProgramWarning")]

SECOND = 1_000_000
NAMES = ("a", "b", "x")
PATTERNS = (
    "a seq b",
    "(a seq b) within 2",
    "(a seq b) cnot x",
    "a and b",
    "(a and b) within 1",
    "a seq b seq x",
    "(a seq x) or (b seq x)",
    "a seq (not b within 2)",
    "a ntimes 2",
    "a seq b star_times seq x",
    "d seq x",
    "x seq d",
    "(a seq b) cnot d",
)
DEEPER = ("a seq b", "b seq a", "(a seq a) within 2", "a or b", "(a seq b) cnot x")
POLICIES = ("unrestricted", "chronological", "recent", "snoop_recent", "cumulative")
Ranked = tuple[int, int, Event]  # end, rank and event


def events(name: str, start: int, end: int) -> Event:
    return Event.make(name, (), start, end)


def changed(stream: Iterable[Ranked], change: AddEvent | MoveEvent | RemoveEvent, rank: int) -> list[Ranked]:
    match change:
        case AddEvent(name=str(name), start=start, end=end):
            return [*stream, (end, rank, events(name, start, end))]
        case RemoveEvent(event=gone):
            return [one for one in stream if one[1] != gone.number]
        case MoveEvent(event=moved, start=start, end=end):
            rest = [one for one in stream if one[1] != moved.number]
            return [*rest, (end, moved.number, events(str(moved.name), start, end))]
        case _:
            raise AssertionError(change)


def occurs(text: str, policy: str, stream: Iterable[Ranked], first: int, last: int) -> bool:
    """Tell by the meaning of a program whether the event occurs."""
    in_order = [found for _, _, found in sorted(stream, key=lambda one: one[:2])]
    made = semantics.run(parse(text), in_order, policy=policy)
    return any(found.name == "c" and first <= found.end_time <= last for found in made)


def singles(stream: list[Ranked], first: int, last: int, durations: Iterable[int]) -> Iterator[list[Ranked]]:
    """Yield all streams that one change of the grid makes."""
    stamps = {*(end for end, _, _ in stream), first, last}
    times = {t + sign * d + near for t in stamps for d in (0, *durations) for sign in (1, -1) for near in (-1, 0, 1)}
    for place, (_, rank, found) in enumerate(stream):
        rest = stream[:place] + stream[place + 1 :]
        yield rest
        yield from ([*rest, (time, rank, events(found.name, time, time))] for time in times)
    yield from ([*stream, (time, 1000, events(name, time, time))] for name, time in product(NAMES, times))


@given(st.data())
@settings(max_examples=500 if IS_NIGHT else settings.default.max_examples // 30)
def test_a_repair_makes_the_event_occur(data: st.DataObject) -> None:
    pattern, deeper = data.draw(st.sampled_from(PATTERNS)), data.draw(st.sampled_from(DEEPER))
    text = f"d <- {deeper}. c <- {pattern}." if "d" in pattern.split() else f"c <- {pattern}."
    policy = data.draw(st.sampled_from(POLICIES))
    drawn = data.draw(st.lists(st.tuples(st.integers(0, 5), st.sampled_from(NAMES)), max_size=5))
    drawn.sort(key=lambda one: one[0])
    first, last = data.draw(st.sampled_from([(0, 9), (0, 4), (3, 3), (5, 7)]))
    stream = [(at * SECOND, rank, events(name, at * SECOND, at * SECOND)) for rank, (at, name) in enumerate(drawn, 1)]
    assume(not occurs(text, policy, stream, first * SECOND, last * SECOND))
    engine = etalis.compile(text).engine(policy=policy, justification="full")
    list(engine.run((name, at) for at, name in drawn))
    engine.close()
    found = engine.repair("c", between=(first, last))
    event("none" if found is None else f"{len(found.changes)} {found.status}")
    if found is not None:
        check_repair(text, policy, stream, (first * SECOND, last * SECOND), found)


def check_repair(text: str, policy: str, stream: list[Ranked], asked: tuple[int, int], found: Repair) -> None:
    after = stream
    for place, change in enumerate(found.changes):
        assert isinstance(change, AddEvent | MoveEvent | RemoveEvent)
        after = changed(after, change, 1000 + place)
    assert occurs(text, policy, after, *asked), str(found)
    if found.status == "proved" and len(found.changes) > 1:
        durations = [int(word.rstrip(").")) * SECOND for word in text.split() if word.rstrip(").").isdecimal()]
        assert not any(occurs(text, policy, one, *asked) for one in singles(stream, *asked, durations)), str(found)
