"""Which inputs contribute to an event, as the meaning notes it (definition 23.5 to 23.11)."""

from __future__ import annotations

import pytest

from etalis.language.read.parser import parse
from etalis.semantics import steps as semantics
from etalis.semantics.matches import RunNotes
from etalis.temporal.event import Event
from etalis.temporal.policy import POLICIES

SECOND = 1_000_000
Given = tuple[str, float] | tuple[str, float, float]


def contributors(program: str, stream: list[Given], policy: str = "unrestricted") -> list[tuple[str, list[int]]]:
    """Run a program on events (name, start, end) and return what it makes, each with its inputs."""
    notes = RunNotes()
    events = [Event.make(name, (), round(times[0] * SECOND), round(times[-1] * SECOND)) for name, *times in stream]
    made = semantics.run(parse(program), events, policy=policy, notes=notes)
    recorded = [given for given in notes.record if given.number is None]
    assert [given.event for given in recorded] == made
    return [(str(given.event), sorted(given.contributors)) for given in recorded]


@pytest.mark.parametrize("policy", POLICIES)
def test_all_elements_before_what_follows_contribute(policy: str) -> None:
    stream: list[Given] = [("a", 1), ("b", 2), ("b", 3), ("d", 4)]
    assert contributors("m <- a seq b star_times seq d.", stream, policy) == [("m [1, 4]", [1, 2, 3, 4])]


@pytest.mark.parametrize("policy", POLICIES)
def test_elements_that_end_too_late_do_not(policy: str) -> None:
    stream: list[Given] = [("a", 1), ("b", 2), ("b", 3, 6), ("d", 5, 7)]
    assert contributors("m <- a seq b star_times seq d.", stream, policy) == [("m [1, 7]", [1, 2, 4])]


def test_a_match_that_nothing_follows_has_the_elements_so_far() -> None:
    stream: list[Given] = [("a", 1), ("b", 2), ("b", 3)]
    assert contributors("m <- a seq b star_times.", stream) == [("m [1, 2]", [1, 2]), ("m [1, 3]", [1, 2, 3])]


def test_of_equal_chains_the_first_contributes() -> None:
    stream: list[Given] = [("a", 1), ("b", 2), ("b", 2), ("b", 3)]
    assert contributors("m <- a seq b ntimes 2.", stream) == [("m [1, 3]", [1, 2, 4])]


def test_a_chain_that_starts_earlier_goes_before_a_shorter_one() -> None:
    stream: list[Given] = [("b", 1), ("b", 2), ("b", 3)]
    assert contributors("m <- b ntimes (2, 3).", stream) == [
        ("m [1, 2]", [1, 2]), ("m [1, 3]", [1, 2, 3]), ("m [2, 3]", [2, 3]),
    ]  # fmt: skip


def test_counted_elements_contribute_under_other_policies() -> None:
    stream: list[Given] = [("a", 1), ("b", 2, 4), ("b", 3, 5), ("b", 5, 6)]
    assert contributors("m <- a seq b ntimes 2.", stream, "recent") == [("m [1, 6]", [1, 2, 4])]


def test_an_aggregate_has_its_opener_and_its_elements() -> None:
    stream: list[Given] = [("a", 1), ("b", 2), ("b", 3)]
    assert contributors("m(R) <- a seq aggregate(count, b, R).", stream) == [
        ("m(0) [1, 1]", [1]), ("m(1) [1, 2]", [1, 2]), ("m(2) [1, 3]", [1, 2, 3]),
    ]  # fmt: skip
    assert contributors("m(R) <- aggregate(count, b, R) last 1.", stream) == [
        ("m(1) [2, 2]", [2]), ("m(1) [3, 3]", [3]),
    ]  # fmt: skip


def test_a_run_before_an_aggregate_is_read_up_to_its_first_element() -> None:
    stream: list[Given] = [("a", 1), ("b", 2), ("b", 3), ("d", 4), ("b", 5), ("d", 6)]
    assert contributors("m(R) <- (a seq b star_times) seq aggregate(last(X), d where X = 1, R).", stream) == [
        ("m(1) [1, 4]", [1, 2, 3, 4]), ("m(1) [1, 6]", [1, 2, 3, 4, 6]),
    ]  # fmt: skip


def test_derived_events_contribute_what_they_are_made_of() -> None:
    stream: list[Given] = [("a", 1), ("b", 2), ("d", 3)]
    assert contributors("c <- a seq b. m <- c seq d. m <- c and d.", stream)[-1] == ("m [1, 3]", [1, 2, 3])


def test_the_first_derivation_tells() -> None:
    stream: list[Given] = [("a", 1), ("x", 1), ("b", 2)]
    assert contributors("m <- a seq b. m <- x seq b.", stream) == [("m [1, 2]", [1, 3])]


def test_a_raised_event_has_the_inputs_of_the_match_that_raised_it() -> None:
    program = "r <- a seq b do event(x). y <- x seq d."
    assert contributors(program, [("a", 1), ("b", 2), ("d", 3)], "recent") == [
        ("r [1, 2]", [1, 2]), ("x [2, 2]", [1, 2]), ("y [2, 3]", [1, 2, 3]),
    ]  # fmt: skip


def test_what_cumulative_combines_contributes() -> None:
    assert contributors("m <- a seq b.", [("a", 1), ("a", 2), ("b", 3)], "cumulative") == [("m [1, 3]", [1, 2, 3])]


def test_absences_and_moments_contribute_nothing() -> None:
    assert contributors("m <- a seq (not b within 2). n <- 2 and a.", [("a", 1)]) == [
        ("n [1, 2]", [1]), ("m [1, 3]", [1]),
    ]  # fmt: skip
