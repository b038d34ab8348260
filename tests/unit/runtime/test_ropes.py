"""What matches are made of: ropes as the engine makes them, and the numbers of inputs that they come to."""

import pickle
from typing import Any

import pytest

import etalis
from etalis.temporal.event import Event
from etalis.temporal.policy import POLICIES
from etalis.temporal.rope import FlatRope, RaisedRope, SeveralRopes, flatten, rope_of

DEEP = 10_000


def made(text: str, rows: list[tuple[Any, ...]], policy: str = "unrestricted") -> list[Event]:
    """Return what a program makes of rows, by `run` and by `push` alike, with parts as without."""
    program = etalis.compile(text)
    engine, other = program.engine(policy=policy, parts=True), program.engine(policy=policy, parts=True)
    found = [*engine.run(rows), *engine.close()]
    pushed = [event for row in rows for event in other.push(*row[:-1], at=row[-1])]
    pushed += other.close()
    plain = program.engine(policy=policy)
    assert found == pushed == [*plain.run(rows), *plain.close()]
    assert [event.parts for event in found] == [event.parts for event in pushed]
    return found


def test_a_join_has_the_ropes_of_its_sides_in_the_order_of_the_text() -> None:
    (found,) = made("m <- a and b.", [("b", 1), ("x", 2), ("a", 3)])
    assert rope_of(found) == (3, 1)
    assert found.parts == (1, 3)


def test_a_derived_event_is_a_piece_of_what_follows_from_it() -> None:
    found = made("p(X) <- a(X) seq b(X). q(X) <- p(X) seq c.", [("a", 1, 1), ("b", 1, 2), ("c", 3)])
    rope = rope_of(found[1])
    assert rope[1] == 3
    assert (rope[0][3], rope_of(rope[0])) == (1, (1, 2))
    assert (rope[0][2].name, rope[0][2].rule, found[1].parts) == ("p", "1", (1, 2, 3))


def test_a_choice_has_the_number_of_its_branch() -> None:
    found = made("m <- a or (b seq c).", [("b", 1), ("c", 2), ("a", 3)])
    assert [rope_of(event) for event in found] == [(None, 1, (1, 2)), (None, 0, 3)]
    both = made("m(X) <- a(X, Y) or a(X, 2).", [("a", 1, 2, 5)])  # one event in both: the first branch
    assert [rope_of(event) for event in both] == [(None, 0, 1)]


def test_a_point_in_time_is_made_of_nothing() -> None:
    found = made("m <- a seq 5.", [("a", 1), ("b", 9)])
    assert [(rope_of(event), event.parts) for event in found] == [((1, None), (1,))]


def test_candidates_that_a_policy_puts_together() -> None:
    (found,) = made("c <- a seq b.", [("a", 1), ("a", 2), ("b", 3)], "cumulative")
    left, right = rope_of(found)
    assert isinstance(left, SeveralRopes)
    assert (left.ropes, right, found.parts) == ([1, 2], 3, (1, 2, 3))
    (found,) = made("c <- a seq b.", [("a", 1), ("a", 2), ("b", 3)], "snoop_recent")
    assert found.parts == (2, 3)


def test_deadlines_and_alarms_have_the_rope_of_what_they_hold() -> None:
    (late,) = made("m <- a seq (not b within 5).", [("a", 1), ("c", 9)])
    (alarm,) = made("exceptionAlarm(late, 5) <- a seq b.", [("a", 1), ("b", 2), ("c", 9)])
    assert (late.parts, rope_of(alarm), alarm.end) == ((1,), (1, 2), 7)


def test_a_raised_event_is_made_of_the_match_that_raised_it() -> None:
    found = made("r <- e do event(x(1)). y(Z) <- x(Z).", [("u", 0), ("e", 1)])
    assert [(event.name, event.parts) for event in found] == [("r", (2,)), ("y", (2,))]
    rope = rope_of(found[1])
    assert isinstance(rope, RaisedRope)
    assert rope.event[3:4] == (1,)
    assert (rope.cause[0], rope.cause[2].name, rope_of(rope.cause)) == (1_000_000, "r", 2)


def test_a_condition_that_raises_an_event_is_that_of_its_candidate() -> None:
    text = "r <- a seq b where event(x). y <- x."
    assert [(event.name, event.parts) for event in made(text, [("a", 1), ("b", 2)])] == [("r", (1, 2)), ("y", (1, 2))]


def test_an_event_that_comes_later_is_made_of_the_match_that_raised_it() -> None:
    text = "r <- e do event(x, [5, 5]). y <- x."
    found = made(text, [("e", 1), ("u", 9)])
    assert [(event.name, event.parts) for event in found] == [("r", (1,)), ("y", (1,))]


def test_knowledge_is_no_part() -> None:
    text = ":- knowledge linked/2. m(A, B) <- p(A) seq q(B) where linked(A, B)."
    (found,) = made(text, [("p", "a", 1), ("linked", "a", "b", 3), ("q", "b", 4)])
    assert found.parts == (1, 3)


def test_a_closure_has_the_first_derivation_of_every_path() -> None:
    text = "r(X, Y) <- e(X, Y). r(X, Z) <- r(X, Y) and e(Y, Z)."
    found = made(text, [("e", 1, 2, 1), ("e", 2, 3, 2), ("e", 1, 3, 2)])
    parts = {(event.args, event.start, event.end): event.parts for event in found}
    assert parts[(1, 3), 1, 2] == (1, 2)
    assert parts[(1, 3), 2, 2] == (3,)


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_bookkeeping_decides_nothing_behind_a_repetition(policy: str) -> None:
    rows = [("a", 1), ("b", 2), ("b", 3), ("d", 4), ("d", 5)]
    found = made("m <- a seq b star_times seq d.", rows, policy)
    if policy == "chronological":
        assert [repr(event) for event in found] == ["m [1, 4]"]


def test_equal_numbers_of_two_types_are_sorted_by_their_standard_order_alone() -> None:
    rows = [("a", 1.0, 0), ("a", 1, 0), ("b", 5)]
    assert [repr(event) for event in made("m(X) <- a(X) and b.", rows)] == ["m(1.0) [0, 5]", "m(1) [0, 5]"]
    later = [("a", 1, 0), ("a", 1.0, 0), ("b", 5)]
    assert [repr(event) for event in made("m(X) <- a(X) and b.", later)] == ["m(1.0) [0, 5]", "m(1) [0, 5]"]


def test_a_chain_of_derivations_is_flattened_pickled_compared_and_printed_without_recursion() -> None:
    program = etalis.compile("n(0) <- a. n(Y) <- n(X) seq b where Y is X + 1.")
    engine = program.engine(policy="chronological", parts=True)
    rows = [("a", 0), *(("b", i) for i in range(1, DEEP))]
    last = [*engine.run(rows)][-1]
    again = [*program.engine(policy="chronological", parts=True).run(rows)][-1]
    assert last.parts == tuple(range(1, DEEP + 1))
    assert last == again
    assert last <= again
    assert not last < again
    assert repr(last) == f"n({DEEP - 1}) [0, {DEEP - 1}]"
    kept = pickle.loads(pickle.dumps(last))  # noqa: S301
    assert (kept, kept.parts) == (last, last.parts)
    assert isinstance(rope_of(kept), FlatRope)
    del last, again, kept, engine  # which lets go a nest of tuples


def test_events_that_are_built_have_the_parts_they_are_given() -> None:
    assert Event.make("a", (1,), 0, 0, "1", (3, 1, 2)).parts == (1, 2, 3)
    assert Event("a", 1, at=0).parts == ()
    assert flatten(FlatRope((1, 2, 3))) == (1, 2, 3)


def test_of_equal_events_the_first_is_told_however_candidates_are_walked() -> None:
    rows = [("a", 0, 0), ("a", 0, 0), ("b", 0, 1)]
    (found,) = made("e(X) <- (a(X) seq b(X)) meets b(X).", rows)
    assert found.parts == (1, 3)
