"""Late events, watermarks, corrections and dead letters, as a user sees them."""

from __future__ import annotations

import pytest

import etalis
from etalis import DeadLetter, Event, EventError, Retraction, Stamp, Struct

LATE = ":- set_flag(out_of_order, on). :- set_flag(ooo_window, 5).\n"
ARRIVAL = LATE + ":- set_flag(reporting, on_arrival).\n"
REVISION = ":- set_flag(revision_flag, on).\n"
PAIR = "d(X, Y) <- a(X) seq b(Y).\n"
ABSENT = "n(X) <- a(X) seq (not b(X) within 2).\n"
BLOCKED = "d(X) <- (a(X) seq b(X)) cnot c(X).\n"


def engine(text: str, **options: object) -> etalis.Engine:
    return etalis.compile(text).engine(policy="unrestricted", **options)  # type: ignore[arg-type]


def shown(changes: tuple[Event, ...]) -> list[str]:
    return list(map(repr, changes))


def test_without_lateness_a_late_event_is_a_dead_letter() -> None:
    letters: list[DeadLetter] = []
    e = engine(PAIR, on_dead_letter=letters.append)
    e.push("a", 1, at=5)
    assert e.push("b", 2, at=3) == ()
    assert letters == e.dead_letters
    assert (letters[0].name, letters[0].args, letters[0].end) == ("b", (2,), 3)
    assert "time has reached 5" in letters[0].reason
    assert e.dead_letter_count == 1


def test_after_the_end_nothing_is_taken() -> None:
    e = engine(PAIR)
    e.close()
    with pytest.raises(EventError, match="after the end"):
        e.push("a", 1, at=1)


def test_on_watermark_holds_until_settled() -> None:
    """Shows definition 19.5."""
    e = engine(LATE + PAIR)
    assert e.push("b", 2, at=4) == ()
    assert e.push("a", 1, at=3) == ()
    assert e.watermark == -1.000001
    assert shown(e.push("x", at=9.5)) == ["d(1, 2) [3, 4]"]
    assert e.push("a", 1, at=4.4) == ()
    assert e.dead_letter_count == 1


def test_what_is_late_by_just_the_bound_is_taken() -> None:
    e = engine(LATE + PAIR)
    e.push("x", at=10)
    e.push("a", 1, at=5)
    assert not e.dead_letters
    e.push("a", 1, at=4.999999)
    assert e.dead_letter_count == 1


def test_on_arrival_corrects_itself() -> None:
    """Shows definition 19.6."""
    e = engine(ARRIVAL + BLOCKED)
    e.push("a", 1, at=1)
    assert shown(e.push("b", 1, at=5)) == ["d(1) [1, 5]"]
    (change,) = e.push("c", 1, at=3)
    assert isinstance(change, Retraction)
    assert change.sign == -1
    assert change.reported == Event.make("d", (1,), 1_000_000, 5_000_000)
    assert change != change.reported
    assert change.to_dict()["sign"] == -1
    assert e.push("c", 1, at=2) == ()


@pytest.mark.parametrize("flags", [LATE, ARRIVAL])
def test_absence_is_never_early_never_lost_and_once(flags: str) -> None:
    e = engine(flags + ABSENT)
    assert e.push("a", 1, at=1) == ()
    assert e.push("x", at=7.9) == ()
    assert shown(e.push("x", at=8.1)) == ["n(1) [1, 3]"]
    assert e.push("x", at=20) == ()
    e.push("a", 2, at=21)
    assert shown(e.advance(to=23)) == ["n(2) [21, 23]"]
    e.push("a", 3, at=24)
    e.push("b", 3, at=26)
    assert e.close() == ()


def test_the_slowest_source_that_is_not_idle_holds_the_watermark() -> None:
    e = engine(LATE + PAIR, sources=("x", "y"))
    e.push("a", 1, at=Stamp(10, source="x"))
    assert e.watermark is None
    e.push("a", 2, at=Stamp(3, source="y"))
    assert e.watermark == -2.000001
    e.push("b", 1, at=Stamp(30, source="x"))
    assert e.watermark == -2.000001
    e.idle("y")
    assert e.watermark == 24.999999
    e.push("b", 2, at=Stamp(40, source="y"))
    assert e.watermark == 24.999999
    assert shown(e.push("b", 3, at=Stamp(36, source="x"))) == ["d(2, 1) [3, 30]", "d(1, 1) [10, 30]"]


def test_retraction_by_id_by_atom_and_by_event() -> None:
    e = engine(REVISION + PAIR)
    e.push("a", 1, at=Stamp(1, id="x"))
    e.push("a", 2, at=2)
    e.push("a", 3, at=3)
    assert len(e.push("b", 9, at=4)) == 3
    assert shown(e.retract("x")) == ["-d(1, 9) [1, 4]"]
    assert shown(e.retract("a", 2, at=2)) == ["-d(2, 9) [2, 4]"]
    assert shown(e.push_term("rev(a(3))", at=3)) == ["-d(3, 9) [3, 4]"]
    assert e.retract("a", 3, at=3) == ()
    assert "no such event" in e.dead_letters[0].reason


def test_a_correction_is_one_step() -> None:
    e = engine(REVISION + PAIR)
    e.push("a", 1, at=1)
    e.push("b", 5, at=4)
    assert shown(e.correct("b", 5, at=4, to=("b", 6, 4))) == ["-d(1, 5) [1, 4]", "d(1, 6) [1, 4]"]
    assert e.correct("b", 6, at=4, to=("b", 6, 4)) == ()


def test_a_retracted_blocker_brings_the_match_back() -> None:
    e = engine(REVISION + BLOCKED)
    for name, at in (("a", 1), ("c", 2), ("b", 3)):
        assert e.push(name, 1, at=at) == ()
    assert shown(e.retract("c", 1, at=2)) == ["d(1) [1, 3]"]


def test_what_a_retracted_event_consumed_is_available_again() -> None:
    e = etalis.compile(REVISION + PAIR).engine(policy="chronological")
    e.push("a", 1, at=1)
    assert shown(e.push("b", 2, at=2)) == ["d(1, 2) [1, 2]"]
    assert shown(e.retract("b", 2, at=2)) == ["-d(1, 2) [1, 2]"]
    assert shown(e.push("b", 3, at=3)) == ["d(1, 3) [1, 3]"]


def test_levels_of_derived_events_are_taken_back() -> None:
    e = engine(REVISION + "".join(f"e{i + 1}(X) <- e{i}(X).\n" for i in range(50)))
    assert len(e.push("e0", 1, at=1)) == 50
    assert len(e.retract("e0", 1, at=1)) == 50


def test_beyond_the_horizon_nothing_is_taken_back() -> None:
    """Shows definition 20.4."""
    e = engine(REVISION + ":- set_flag(revision_window, 10).\n" + PAIR)
    e.push("a", 1, at=1)
    e.push("b", 1, at=12)
    assert e.retract("a", 1, at=1) == ()
    assert e.dead_letter_count == 1


def test_a_program_without_revision_takes_nothing_back() -> None:
    with pytest.raises(EventError, match="cannot be retracted"):
        engine(PAIR).retract("a", 1, at=1)


@pytest.mark.parametrize("body", ["a(X, Y) seq b(X, Z)", "a(X, Y) seq b(X, Y)", "a(X, s(Y)) seq b(_, s(Y))"])
def test_history_is_forgotten_and_state_is_not(body: str) -> None:
    """Long after the horizon a waiting instance still counts, in a correction too, and memory stays."""
    text = f"{REVISION} :- set_flag(revision_window, 100). d(X) <- {body}."
    e = etalis.compile(text).engine(policy="chronological")
    one = Struct("s", (-1,))
    e.push("a", -1, one, at=0)
    for i in range(1, 6_000):
        e.push("a" if i % 2 else "b", i, Struct("s", (i,)), at=i)
    disorder = e.core.disorder
    assert disorder is not None
    assert disorder.history is not None
    assert len(disorder.history.rows) < 4500
    e.push("b", -1, one, at=6_000)
    assert shown(e.retract("b", -1, one, at=6_000)) == ["-d(-1) [0, 6000]"]
    assert shown(e.push("b", -1, one, at=6_001)) == ["d(-1) [0, 6001]"]


def test_an_unknown_id_is_a_dead_letter() -> None:
    """Shows definition 20.4."""
    e = engine(REVISION + PAIR)
    assert e.retract("nobody") == ()
    assert "no event with this id" in e.dead_letters[0].reason


def test_an_event_keeps_its_id_through_corrections() -> None:
    e = engine(REVISION + PAIR)
    e.push("a", 1, at=Stamp(1, id="x"))
    e.push("b", 5, at=3)
    assert shown(e.correct("x", to=("a", 2, 2))) == ["-d(1, 5) [1, 3]", "d(2, 5) [2, 3]"]
    assert shown(e.retract("x")) == ["-d(2, 5) [2, 3]"]


def test_a_correction_to_a_later_time_moves_time() -> None:
    e = etalis.compile(REVISION + PAIR).engine(policy="chronological")
    e.push("a", 1, at=1)
    assert shown(e.push("b", 5, at=3)) == ["d(1, 5) [1, 3]"]
    assert shown(e.correct("b", 5, at=3, to=("b", 6, 9))) == ["-d(1, 5) [1, 3]", "d(1, 6) [1, 9]"]
    assert e.now == 9
    assert e.push("a", 2, at=5) == ()
    assert e.dead_letter_count == 1


def test_a_correction_beyond_the_horizon_changes_nothing() -> None:
    e = engine(REVISION + ":- set_flag(revision_window, 10).\n" + PAIR)
    e.push("a", 1, at=20)
    assert len(e.push("b", 1, at=25)) == 1
    assert e.correct("a", 1, at=20, to=("a", 1, 2)) == ()
    assert e.dead_letter_count == 1
    assert shown(e.retract("a", 1, at=20)) == ["-d(1, 1) [20, 25]"]


def test_partitions_with_deadlines_are_forgotten() -> None:
    e = engine(REVISION + ":- set_flag(revision_window, 10).\n" + ABSENT)
    for i in range(10_000):
        e.push("a", i, at=i)
    assert e.core.disorder is not None
    assert e.core.disorder.history is not None
    assert sum(len(part.tags) for part in e.core.disorder.history.all_parts()) < 5000


def test_what_a_window_drops_leaves_no_state_before_the_history() -> None:
    e = engine(REVISION + ":- set_flag(revision_window, 10).\nd(X) <- (a(X) seq b(X)) within 5.\n")
    for i in range(20_000):
        e.push("a", i, at=i)
    assert e.core.disorder is not None
    assert e.core.disorder.history is not None
    assert sum(len(part.bases) for part in e.core.disorder.history.all_parts()) < 10_000


@pytest.mark.parametrize("flags", [LATE, ARRIVAL])
@pytest.mark.parametrize("way", ["push", "run"])
def test_long_streams_are_sorted(flags: str, way: str) -> None:
    """Also where a late event comes just when a block of the history is full."""
    flags = flags.replace("ooo_window, 5", "ooo_window, 50")
    rows = [("ab"[i % 2], i // 2, i) for i in range(5_000)]
    late = [row for _, row in sorted((i + (40 if i % 32 == 0 else 0), row) for i, row in enumerate(rows))]
    e = etalis.compile(flags + "d(X) <- a(X) seq b(X).").engine(policy="chronological")
    found = list(e.run(late)) if way == "run" else [x for row in late for x in e.push(*row[:-1], at=row[-1])]
    found += e.close()
    assert sum(change.sign for change in found) == 2_500
    assert e.dead_letter_count == 0


@pytest.mark.parametrize("declared", ["", ":- event(a(x: int)). "])
def test_what_no_rule_reads_is_held_and_counted(declared: str) -> None:
    program = etalis.compile(f"{declared}{LATE} d(X) <- a(X) seq (not c(X) within 3).")
    engine, slow = program.engine(), program.engine()
    slow._close_entries()
    rows = [("a", 1, 10), ("b", 1, 12), ("b", 1, 2, 13), ("b", 2, 14), ("c", 1, 11), ("b", 1, 30), ("a", 2, 31)]
    assert list(map(str, engine.run(rows))) == list(map(str, slow.run(rows)))
    assert engine.core.evidence.unread == slow.core.evidence.unread == {("b", 1): 2, ("b", 2): 1}
    assert list(map(str, engine.close())) == list(map(str, slow.close()))


@pytest.mark.parametrize("declared", ["", ":- event(a(x: int)). "])
def test_a_strict_engine_refuses_what_no_rule_reads_before_it_is_held(declared: str) -> None:
    engine = etalis.compile(f"{declared}{LATE} d(X) <- a(X) seq c(X).").engine(strict=True)
    engine.push("a", 1, at=1)
    with pytest.raises(etalis.EtalisError, match="no rule reads b/1"):
        engine.push("b", 1, at=2)


@pytest.mark.parametrize("policy", ["unrestricted", "chronological"])
def test_what_waits_for_its_own_moment_outlives_a_late_event_elsewhere(policy: str) -> None:
    program = etalis.compile(f"{ARRIVAL}m(K, X, Y) <- a(K, X) equals b(K, Y).", event_consumption_policy=policy)
    engine = program.engine()
    engine.push("a", "k1", 1, at=7)
    again = program.restore(engine.snapshot())
    assert again.push("a", "k2", 1, at=5) == ()
    assert [str(match) for match in again.push("b", "k1", 2, at=7)] == ["m(k1, 1, 2) [7, 7]"]
