"""Snapshots keep what matches are made of, and what is kept for explanations."""

from __future__ import annotations

import pytest

import etalis
from etalis.errors import SnapshotError
from etalis.temporal.policy import POLICIES

ROWS = [("a", 1), ("b", 2), ("b", 3), ("c", 4), ("b", 5), ("d", 6), ("d", 7)]
PROGRAMS = {
    "chain": "m <- a seq b seq d.",
    "run": "m <- a seq b star_times seq d.",
    "count": "m <- b ntimes 2 seq d.",
    "branch": "m <- a or b. k <- m seq d.",
    "fold": "s(R) <- a seq aggregate(count, b, R). t(R) <- s(R) seq d.",
    "window": "s(R) <- aggregate(count, b, R) within 10. t(R) <- s(R) seq d.",
    "raised": "r <- a do event(x(1)). y(Z) <- x(Z) seq d.",
    "absence": "l <- a seq (not x within 3). k <- l seq d.",
    "alarm": "exceptionAlarm(late, 2) <- a seq b. k <- late seq d.",
    "deep": "n(0) <- a. n(Y) <- n(X) seq b where Y is X + 1.",
    "fact": ":- knowledge c/0. m <- a seq d where c.",
}


def told(text: str, policy: str, cut: int | None) -> list[tuple[str, tuple[int, ...], str]]:
    """Return the matches, their inputs and why they occurred, with a snapshot before a row."""
    program = etalis.compile(text)
    engine = program.engine(policy=policy, justification="full")
    found: list[etalis.Event] = []
    for place, (name, at) in enumerate(ROWS):
        engine = program.restore(engine.snapshot()) if place == cut else engine
        found += engine.push(name, at=at)
    found += engine.close()
    return [(str(match), match.parts, str(engine.justify(match))) for match in found]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_restored_engine_tells_what_the_first_would_have_told(name: str) -> None:
    for policy in POLICIES:
        expected = told(PROGRAMS[name], policy, None)
        assert expected
        for cut in range(len(ROWS)):
            assert told(PROGRAMS[name], policy, cut) == expected, (policy, cut)


def test_lists_that_grow_stay_shared() -> None:
    program = etalis.compile("m <- a seq b star_times seq d.")
    engine = program.engine(policy="unrestricted", parts=True)
    engine.push("a", at=1)
    for at in range(2, 1002):
        engine.push("b", at=at)
    data = engine.snapshot()
    assert len(data) < 100_000  # one list, not one for each match
    again = program.restore(data)
    again.push("b", at=1002)
    (found,) = again.push("d", at=1003)
    assert found.parts == tuple(range(1, 1004))


def test_deltas_hold_ropes_too() -> None:
    program = etalis.compile(PROGRAMS["deep"])
    engine = program.engine(policy="chronological", justification="full")
    engine.push("a", at=0)
    for at in range(1, 3000):
        engine.push("b", at=at)
    first = engine.snapshot()
    engine.push("b", at=3000)
    delta = engine.snapshot(since=first)
    assert len(delta) < len(first) / 10
    (found,) = program.restore(first, delta).push("b", at=3001)
    assert (found.args, found.parts) == ((3001,), tuple(range(1, 3003)))


@pytest.mark.parametrize(("before", "after"), [("off", "ids"), ("ids", "off"), ("full", "off"), ("off", "full")])
def test_what_waits_without_its_inputs_is_not_mixed_with_what_has_them(before: str, after: str) -> None:
    program = etalis.compile("m <- a seq b.")
    engine = program.engine(justification=before)
    engine.push("a", at=1)
    with pytest.raises(SnapshotError, match=f"E427: .* justification {before}, this engine has {after}"):
        program.restore(engine.snapshot(), justification=after)


def test_a_history_begins_where_it_was_switched_on() -> None:
    program = etalis.compile("m <- a seq b.")
    engine = program.engine(parts=True)
    engine.push("a", at=1)
    again = program.restore(engine.snapshot(), justification="full")
    (found,) = again.push("b", at=2)
    answer = again.justify(found)
    assert found.parts == (1, 2)
    assert not answer.complete
    assert "input 1, no longer in the history" in str(answer)
