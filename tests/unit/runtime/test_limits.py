"""Limits on what an engine holds."""

from __future__ import annotations

import pytest

import etalis
from etalis.errors import LimitError, ProgramError

MATCH = "match: d(Id) <- a(Id) seq b(Id)."
WINDOW = "match: d(Id) <- (a(Id) seq b(Id)) within 50."


def engine_of(text: str, policy: str = "unrestricted", **limits: object) -> etalis.Engine:
    return etalis.compile(text).engine(policy=policy, limits=limits)


def openers(number: int, first: int = 0) -> list[tuple[object, ...]]:
    return [("a", i, i) for i in range(first, first + number)]


def test_at_the_hard_limit_the_event_is_not_taken_and_the_engine_goes_on() -> None:
    engine = engine_of(MATCH, "recent", hard_limit=3)
    list(engine.run(openers(3)))
    for _ in range(2):
        with pytest.raises(LimitError, match=r"E321.*hold.* 3 instances, the hard_limit is 3") as caught:
            engine.push("b", 1, at=9)
        assert "add `within Duration`" in str(caught.value)
    assert engine.now == 2
    engine.delete_rule("match")
    engine.insert_rule(MATCH)
    assert engine.push("a", 7, at=9) == ()
    assert [d.args for d in engine.push("b", 7, at=10)] == [(7,)]


def test_time_makes_room() -> None:
    engine = engine_of(WINDOW, hard_limit=30)
    with pytest.raises(LimitError, match="let time pass"):
        list(engine.run(openers(100)))
    engine.advance(to=1000)
    assert engine.push("a", 1, at=1001) == ()
    limits = engine.limits()
    assert limits is not None
    assert limits.instances == 1


def test_a_row_that_is_not_taken_is_not_read() -> None:
    engine = engine_of(MATCH, hard_limit=3)
    rows = iter(openers(10))
    with pytest.raises(LimitError):
        list(engine.run(rows))
    assert next(rows) == ("a", 3, 3)


def test_the_soft_limit_warns_once_and_is_counted() -> None:
    engine = engine_of(WINDOW, soft_limit=10)
    list(engine.run([*openers(20), *openers(5, 500), *openers(20, 600)]))
    (warning,) = engine.errors
    assert str(warning).startswith("warning W320: the engine holds 10 instances, the soft_limit is 10")
    limits = engine.limits()
    assert limits is not None
    assert (limits.warned, limits.most) == (2, 20)


@pytest.mark.parametrize("hard", [5, 8, 100, 1000])
@pytest.mark.parametrize("shedding", ["oldest", "newest"])
def test_shedding_keeps_the_bound_and_adds_up(hard: int, shedding: str) -> None:
    engine = engine_of(MATCH, hard_limit=hard, shedding=shedding)
    assert list(engine.run(openers(10 * hard))) == []
    limits = engine.limits()
    assert limits is not None
    assert limits.most <= hard + hard // 16
    gone = limits.shed if shedding == "oldest" else limits.refused
    assert gone["match"] + limits.instances == 10 * hard
    assert engine.dead_letter_count == (0 if shedding == "oldest" else gone["match"])
    (left, _) = engine.state()
    assert left.oldest == (10 * hard - limits.instances if shedding == "oldest" else 0)


def test_the_oldest_go_first_whatever_rule_they_wait_in() -> None:
    engine = engine_of("x: d(I) <- a(I) seq b(I). y: e(I) <- c(I) seq b(I).", hard_limit=8, shedding="oldest")
    list(engine.run([("c", i, i) for i in range(4)]))
    list(engine.run([("a", i, i) for i in range(4, 10)]))
    limits = engine.limits()
    assert limits is not None
    assert limits.shed == {"y": 2}


def test_a_queue_of_what_expires_is_shortened_with_its_store() -> None:
    engine = engine_of("d(X) <- (a(X) seq b(X)) within 1000000.", hard_limit=16, shedding="oldest")
    list(engine.run(openers(5000)))
    assert sum(len(x) for k, x in engine.core.rules.memory.items() if k[1].startswith("fifo")) < 40


@pytest.mark.parametrize(
    "text",
    [
        "d <- (a(X) seq b(X)) cnot c(X).",
        "d <- x seq y. e <- (u seq v) cnot d.",
        "d <- x seq c(_). e(N) <- u seq aggregate(count, d, N).",
        "d <- x seq c(_). e <- d ntimes 2.",
        "d <- iso(x seq y).",
    ],
)
def test_what_would_make_something_come_about_stays(text: str) -> None:
    engine = engine_of(text, hard_limit=4, shedding="oldest")
    stream = [("c", 0, i) if "c(" in text else ("x", i) for i in range(10)]
    if "c(_)" in text:
        stream = [("x", i) for i in range(10)]
    if "cnot c(X)" in text:
        stream = [("a", 0, 0), *[("c", 0, i) for i in range(1, 10)]]
        list(engine.run(stream[:4]))
        assert [x.instances for x in engine.state()] == [1, 0, 3]
        list(engine.run(stream[4:5]))
        assert [x.instances for x in engine.state()] == [0, 0, 3]
        return
    with pytest.raises(LimitError, match="E321"):
        list(engine.run(stream))


@pytest.mark.parametrize("operator", ["seq?", "?seq"])
def test_a_part_that_may_be_missing_is_not_shed(operator: str) -> None:
    engine = engine_of(f"d(X, Y) <- (a(X) {operator} b(X, Y)) within 1000.", hard_limit=2, shedding="oldest")
    engine.push("a", 1, at=1)
    engine.push("a", 2, at=2)
    with pytest.raises(LimitError, match="E321"):
        engine.push("a", 3, at=3)


def test_held_events_are_counted_and_shed_last() -> None:
    late = ":- set_flag(out_of_order, on). :- set_flag(hard_limit, 8). :- set_flag(shedding, oldest). "
    engine = etalis.compile(late + MATCH).engine()
    list(engine.run(openers(20)))
    limits = engine.limits()
    assert limits is not None
    assert limits.refused == {"match": engine.dead_letter_count}
    assert engine.dead_letter_count + limits.instances == 20
    assert limits.instances <= 8


def test_history_is_counted() -> None:
    engine = etalis.compile(":- set_flag(revision_flag, on). :- set_flag(revision_window, 5). " + WINDOW).engine(
        limits={"hard_limit": 20}
    )
    with pytest.raises(LimitError, match="hard_limit is 20"):
        list(engine.run(openers(100)))
    engine.advance(to=500)
    engine.push("a", 1, at=500.5)
    limits = engine.limits()
    assert limits is not None
    assert limits.instances < 20


def test_snapshots_keep_the_counters() -> None:
    program = etalis.compile(MATCH, hard_limit=8, soft_limit=4, shedding="oldest")
    engine = program.engine(policy="unrestricted")
    list(engine.run(openers(20)))
    again = program.restore(engine.snapshot())
    assert again.limits() == engine.limits()
    assert list(again.run(openers(20, 20))) == list(engine.run(openers(20, 20)))
    assert again.limits() == engine.limits()
    assert not again.errors


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        ({"shedding": "oldest"}, "needs a hard_limit"),
        ({"shedding": "oldest", "hard_limit": 9, "revision_flag": "on"}, "cannot go with corrections"),
        ({"hard_limit": 0}, "a positive integer, or -1 for none"),
        ({"shedding": "all"}, "off, oldest or newest"),
    ],
)
def test_limits_that_make_no_sense_are_refused(flags: dict[str, object], says: str) -> None:
    with pytest.raises(ProgramError, match=says):
        etalis.compile(MATCH, **flags)


def test_limits_of_an_engine_are_checked_with_the_flags() -> None:
    with pytest.raises(ProgramError, match="cannot go with corrections"):
        etalis.compile(MATCH, revision_flag="on", hard_limit=3).engine(limits={"shedding": "oldest"})
    with pytest.raises(ProgramError, match="speed is no limit"):
        etalis.compile(MATCH).engine(limits={"speed": 3})
    assert etalis.compile(MATCH, hard_limit=3).engine(limits={"hard_limit": -1}).limits() is None
