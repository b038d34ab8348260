"""Repetitions in generated code: they are in line, cost no more as streams grow, and go on from older snapshots."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from random import Random
from types import FrameType
from typing import Any

import pytest

import etalis
from etalis.engine import Engine
from etalis.language.read.parser import parse
from etalis.runtime.operators.repetition.counted import Run
from etalis.runtime.operators.repetition.repeater import Repeater
from etalis.runtime.operators.repetition.runner import Runner
from etalis.runtime.reporting.inspection import count
from etalis.semantics import steps as semantics
from etalis.temporal.event import Event
from etalis.temporal.interval import MICROSECONDS
from etalis.temporal.policy import POLICIES

pytestmark = pytest.mark.filterwarnings("ignore::etalis.ProgramWarning")

TEXTS = (
    "m <- a(X) ntimes 2 seq a(Y).",
    "m(X) <- a(X) ntimes 2 seq a(X).",
    "m(Y) <- a(_) ntimes (2, 3) seq a(Y).",
    "m(X) <- b(X) seq a(X) ntimes 2 seq b(X).",
    "m(X, Y) <- b(X) seq a(Y) star_times seq b(X).",
    "m(X) <- (b(X) seq a(_) star_times seq b(X)) within 4.",
    "m(X) <- (b(_) seq a(X) ntimes (2, 3)) within 4.",
    "m(X, Y) <- (b(X) seq a(Y) ntimes 2) where Y >= X.",
    "m(X) <- (a(X) seq b(X)) ntimes 2.",
    "m(X) <- b(X) seq a(X) star_times seq a(_) star_times seq b(X).",
    "m(X) <- (b(X) seq a(X) ntimes 2 seq b(X)) cnot c(_).",
    "m(X) <- (a(X) ntimes 2) within 3.",
    "m(X) <- a(X) star_times seq b(X).",
)
KEPT = {  # matches, and how many elements a match takes
    "d(K) <- a(K) seq b(K) star_times seq c(K).": 1,
    "d(K) <- a(K) seq b(K) ntimes 3 seq c(K).": 3,
    "d(K) <- a(K) seq b(K) ntimes 50 seq c(K).": 50,
    "d(K) <- (a(K) seq b(K) ntimes (2, 4) seq c(K)) within 60.": 2,
    "d(K) <- b(K) ntimes 3 seq c(K).": 3,
    "d(K) <- (b(K) ntimes 40) within 600.": 40,
}


def stream(seed: int) -> list[Event]:
    """Instants and intervals in order, many of them at one moment."""
    random, now, found = Random(seed), 0, []
    for _ in range(random.randrange(4, 16)):
        now += random.randrange(3)
        start = now - random.choice((0, 0, 0, 1, 2))
        name, value = random.choice("aaabbc"), random.randrange(1, 3)
        found.append(Event.make(name, (value,), start * MICROSECONDS, now * MICROSECONDS))
    return sorted(found, key=lambda event: (event.end, event.start))


def push(engine: Engine, events: list[Event]) -> list[Event]:
    return [e for x in events for e in engine.push(x.name, *x.args, at=(x.start, x.end))]


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("text", TEXTS)
def test_a_repetition_gives_the_meaning(text: str, policy: str) -> None:
    matches, tree = 0, parse(text)
    program, again = etalis.compile(text), etalis.compile(text)
    for seed in range(25):
        events = stream(seed)
        expected = semantics.run(tree, events, policy=policy)
        half = len(events) // 2
        engine = program.engine(policy=policy)
        found = push(engine, events[:half])
        engine = again.restore(engine.snapshot())
        assert [*found, *push(engine, events[half:]), *engine.close()] == expected, (text, policy, seed)
        matches += len(expected)
    assert matches


@pytest.mark.parametrize("policy", ["chronological", "recent", "unrestricted"])
@pytest.mark.parametrize("text", KEPT)
def test_an_element_is_taken_in_line(text: str, policy: str) -> None:
    engine = etalis.compile(text).engine(policy=policy)
    assert "on_element" not in engine.code()
    assert "on_left" not in engine.code()


def lines_run(action: Callable[[], object]) -> int:
    """Count the lines of Python that an action runs through."""
    count = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        action()
    finally:
        sys.settrace(before)
    return count


def rounds(number: int, elements: int, since: int) -> Iterator[tuple[str, int, int]]:
    """Left side, elements, and what follows, for one key after the other."""
    at = since
    for place in range(number):
        for name in ("a", *["b"] * elements, "c"):
            at += 1
            yield name, place % 3, at


@pytest.mark.parametrize("policy", ["chronological", "recent", "cumulative"])
@pytest.mark.parametrize("text", KEPT)
def test_cost_does_not_grow_with_the_stream(text: str, policy: str) -> None:
    engine = etalis.compile(text).engine(policy=policy)
    several = KEPT[text]
    push = engine.push

    def feed(since: int) -> None:
        for name, key, at in rounds(30, several, since):
            push(name, key, at=at)

    feed(0)
    early = lines_run(lambda: feed(10_000))
    for turn in range(2, 12):
        feed(turn * 10_000)
    late = lines_run(lambda: feed(200_000))
    assert late < 1.2 * early


@pytest.mark.parametrize("policy", ["chronological", "recent", "cumulative", "unrestricted"])
def test_cost_does_not_grow_with_the_number_of_elements(policy: str) -> None:
    costs = []
    for number in (5, 500):
        engine = etalis.compile(f"d(K) <- a(K) seq b(K) ntimes {number} seq c(K).").engine(policy=policy)
        engine.push("a", 1, at=0)
        for at in range(1, 1000):
            engine.push("b", 1, at=at)
        costs.append(lines_run(lambda: [engine.push("b", 1, at=at) for at in range(1000, 1090)]))  # noqa: B023
    assert costs[1] < 1.2 * costs[0]


CONSUMED = {  # and how many groups of left sides there may be when all has been consumed
    "d(K) <- a(K) seq b(K) star_times seq c(K).": 0,
    "d(K) <- a(K) seq b(K) ntimes 2 seq c(K).": 0,
    "d(K) <- (a(K) seq b(K) star_times seq c(K)) within 10.": 0,
    "d(K, L) <- (a(K) seq b(K) star_times seq c(L)) where L >= K.": 2000,  # what consumes does not know the key
}


@pytest.mark.parametrize("policy", ["chronological", "recent", "continuous", "cumulative"])
@pytest.mark.parametrize("text", CONSUMED)
def test_what_has_been_consumed_is_forgotten(text: str, policy: str) -> None:
    engine = etalis.compile(text).engine(policy=policy)
    for key in range(5000):
        for at, name in enumerate("aabbcbbc", 8 * key):
            engine.push(name, key, at=at)
    (repeater,) = operators(engine)
    assert sum(left.alive for group in repeater.lefts.groups.values() for left in group) == 0
    assert len(repeater.lefts.groups) <= CONSUMED[text]


def test_the_counts_of_what_waits_once_are_told() -> None:
    text = "d(K) <- a(K) seq b(K) star_times seq c(K). e(K) <- a(K) seq b(K) star_times seq c(K) seq d(K)."
    engine = etalis.compile(text).engine(policy="chronological")
    for at, name in enumerate("abab"):
        engine.push(name, 1, at=at)
    engine.delete_rule("e(K) <- a(K) seq b(K) star_times seq c(K) seq d(K).")
    engine.push("b", 1, at=4)
    assert [(e.name, e.start) for e in engine.push("c", 1, at=5)] == [("d", 0)]
    engine.push("b", 1, at=6)
    (left,) = next(operators(engine)).lefts.group((1,))
    assert left.counts == {(1,): [1, 6 * MICROSECONDS, 6 * MICROSECONDS]}
    assert [(e.name, e.start) for e in engine.push("c", 1, at=7)] == [("d", 2)]


def test_what_nothing_consumes_is_kept_as_a_line_alone() -> None:
    text = "d(K) <- a(K) ntimes 3."
    engine = etalis.compile(text).engine(policy="unrestricted")
    list(engine.run(("a", at % 2, at) for at in range(20)))
    (runner,) = operators(engine)
    assert not runner.firsts
    assert count(engine.core.rules, None) == 20
    again = etalis.compile(text).restore(engine.snapshot())
    (restored,) = operators(again)
    restored.firsts[0,] = [(Run(0, 0), [])] * 10  # older snapshots have them
    assert [(e.name, e.start) for e in again.push("a", 0, at=20)] == [("d", 16)]
    assert not restored.firsts
    assert count(again.core.rules, None) == 21


def operators(engine: Engine) -> Iterator[Any]:
    memory = engine.core.rules.memory
    return (part for part in memory.values() if isinstance(part, Repeater | Runner))


@pytest.mark.parametrize("text", ["d(K) <- a(K) seq b(K) ntimes (2, 3) seq c(K).", "d(K) <- a(K) seq b(K) ntimes 3."])
def test_a_snapshot_with_the_chains_of_each_left_side_goes_on(text: str) -> None:
    """Older ones have them so."""
    rows = [("a", 1, 1), ("b", 1, 2), ("a", 1, 3), ("b", 1, 4), ("b", 1, 5), ("a", 2, 6), ("b", 2, 7)]
    rest = [("b", 1, 8), ("c", 1, 9), ("b", 2, 10), ("b", 2, 11), ("c", 2, 12)]
    engine = etalis.compile(text).engine(policy="unrestricted")
    whole = etalis.compile(text).engine(policy="unrestricted")
    list(engine.run(rows))
    list(whole.run(rows))
    for repeater in operators(engine):
        assert repeater.lines
        for key, line in repeater.lines.items():
            for left in repeater.lefts.group(repeater.line_key(key)):
                chain = [(start, end, {1: start}) for start, end, _ in line if start > left.end]
                left.notes.chains[key] = chain
        repeater.lines.clear()
    again = etalis.compile(text).restore(engine.snapshot())
    found = list(again.run(rest))
    assert found
    assert found == list(whole.run(rest))
