"""Rules that change while the past can change."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import pytest

import etalis
from etalis import Stamp
from etalis.errors import ProgramError
from etalis.runtime.revision import history

ARRIVAL = {"out_of_order": "on", "ooo_window": 100, "reporting": "on_arrival"}


def shown(events: tuple[etalis.Event, ...]) -> list[str]:
    return [repr(event) for event in events]


def engine_of(text: str, **flags: Any) -> etalis.Engine:
    return etalis.compile(text, **flags).engine(policy="unrestricted")


def test_a_late_event_before_the_change_meets_the_old_rules() -> None:
    """Shows definition 20.6."""
    engine = engine_of("old: d(X) <- a(X) seq b(X).", **ARRIVAL)
    engine.push("b", 1, at=5)
    engine.delete_rule("old")
    engine.insert_rule("new: e(X) <- a(X) seq b(X).")
    assert shown(engine.push("a", 1, at=3)) == ["d(1) [3, 5]"]
    assert shown(engine.push("b", 1, at=7)) == []
    assert shown(engine.push("a", 1, at=6)) == ["e(1) [6, 7]"]


def test_events_at_the_time_of_the_change_stand_as_they_came() -> None:
    engine = engine_of("old: d(X) <- a(X).", revision_flag="on")
    engine.push("a", 1, at=Stamp(5, id="before"))
    engine.insert_rule("new: e(X) <- a(X).")
    assert shown(engine.push("a", 2, at=Stamp(5, id="after"))) == ["d(2) [5, 5]", "e(2) [5, 5]"]
    assert shown(engine.correct("before", to=("a", 3, 5))) == ["-d(1) [5, 5]", "d(3) [5, 5]"]
    assert shown(engine.retract("after")) == ["-d(2) [5, 5]", "-e(2) [5, 5]"]


def test_what_waits_goes_over_to_rules_that_stay() -> None:
    engine = engine_of("stays: d(X) <- a(X) seq b(X).", revision_flag="on")
    engine.push("a", 1, at=Stamp(1, id="a"))
    engine.insert_rule("new: e(X) <- a(X) seq b(X).")
    assert shown(engine.push("b", 1, at=2)) == ["d(1) [1, 2]"]
    assert shown(engine.retract("a")) == ["-d(1) [1, 2]"]


def test_an_absence_of_a_deleted_rule_that_was_due_before_comes_when_it_is_settled() -> None:
    engine = engine_of("old: d(X) <- a(X) seq (not b(X) within 2).", **ARRIVAL)
    engine.push("a", 1, at=1)
    engine.push("c", at=10)
    engine.delete_rule("old")
    engine.push("a", 2, at=2)  # late, before the change: due at 4
    again = engine.program.restore(engine.snapshot())
    for one in (engine, again):
        assert shown(one.advance(to=3)) == ["d(1) [1, 3]"]
        assert shown(one.close()) == ["d(2) [2, 4]"]


def test_what_was_due_after_the_change_is_gone_with_its_rule() -> None:
    engine = engine_of("old: d(X) <- a(X) seq (not b(X) within 9).", **ARRIVAL)
    engine.push("a", 1, at=1)
    engine.delete_rule("old")
    assert engine.close() == ()


def test_a_rule_that_crosses_keys_joins_what_was_parted() -> None:
    with patch.object(history, "LEAST_TRIM", 1):
        engine = engine_of("d(X) <- a(X) seq b(X).", revision_flag="on", revision_window=10)
        for i in range(20):
            engine.push("a", i % 3, at=Stamp(i, id=i))
        engine.insert_rule("new: e(X, Y) <- a(X) seq c(Y).")
        engine.push("a", 7, at=Stamp(20, id=20))
        assert shown(engine.push("c", 1, at=21)) == ["e(7, 1) [20, 21]"]
        found = engine.push("b", 0, at=22)
        assert shown(found) == [f"d(0) [{i}, 22]" for i in (0, 3, 6, 9, 12, 15, 18)]
        assert shown(engine.retract(15)) == ["-d(0) [15, 22]"]
        assert shown(engine.retract(20)) == ["-e(7, 1) [20, 21]"]


def test_rules_of_the_past_are_forgotten_with_it() -> None:
    with patch.object(history, "LEAST_TRIM", 1):
        engine = engine_of("stays: d(X) <- (a(X) seq b(X)) within 5.", revision_flag="on", revision_window=10)
        for i in range(0, 240, 6):
            label = engine.insert_rule(f"r{i}: e(X) <- a(X) seq b(X).")
            engine.push("a", 1, at=i)
            engine.push("b", 1, at=i + 1)
            engine.delete_rule(label)
        assert engine.core.disorder is not None
        assert engine.core.disorder.revision is not None
        assert len(engine.core.disorder.revision.replayer.epochs) < 16
        assert shown(engine.retract("b", 1, at=235)) == ["-d(1) [234, 235]", "-e(1) [234, 235]"]


def test_a_rule_with_an_effect_is_refused() -> None:
    engine = engine_of("d <- a.", revision_flag="on")
    with pytest.raises(ProgramError, match="E232"):
        engine.insert_rule("e <- a do assertz(seen).")


def test_reset_empties_what_waits_and_no_more() -> None:
    engine = engine_of("d(X) <- a(X) seq b(X).", revision_flag="on")
    engine.push("a", 1, at=Stamp(1, id="a"))
    engine.push("b", 1, at=2)
    engine.reset()
    assert shown(engine.push("b", 1, at=3)) == []
    assert shown(engine.retract("a")) == ["-d(1) [1, 2]"]


def test_an_event_behind_the_watermark_is_a_dead_letter_by_every_way_in() -> None:
    """Shows definition 19.4."""
    engine = engine_of("d(X) <- a(X) seq b(X).", **ARRIVAL)
    engine.push("a", 1, at=3)
    engine.advance(to=10)
    assert engine.now == 10
    assert engine.push("b", 1, at=5) == ()
    assert engine.dead_letter_count == 1


def test_a_held_event_can_be_corrected_again_and_to_a_time_that_is_settled() -> None:
    flags = {"out_of_order": "on", "ooo_window": 2, "revision_flag": "on"}
    engine = engine_of("d(X) <- a(X) seq b(X).", **flags)
    engine.push("b", 1, at=5)
    engine.push("a", 9, at=Stamp(10, id="x"))
    engine.correct("x", to=("a", 8, 11))
    assert shown(engine.correct("x", to=("a", 1, 3))) == ["d(1) [3, 5]"]
    assert shown(engine.retract("x")) == ["-d(1) [3, 5]"]


def test_a_correction_of_one_key_leaves_the_absences_of_others() -> None:
    engine = engine_of("d(X) <- ((a(X, Y) or e(X)) seq b(X)) cnot c(X, Y).", revision_flag="on")
    engine.push("a", 1, 5, at=1)
    engine.push("c", 1, 5, at=2)
    engine.push("a", 2, 6, at=3)
    engine.push("c", 2, 6, at=4)
    engine.push("e", 2, at=Stamp(5, id="wrong"))
    engine.retract("wrong")
    assert engine.push("b", 1, at=6) == ()


@pytest.mark.parametrize("flags", [{}, {"revision_flag": "on", "revision_window": 100}])
@pytest.mark.parametrize(
    "text",
    [
        "d(X) <- (a(X) seq b(X)) within 50.",
        "d(X) <- a(X) seq (not b(X) within 50).",
        "d(X, N) <- (a(X) seq aggregate(count, b(X), N)) within 50.",
        "d(X) <- (a(X) seq b(X) seq a(X)) within 50. e(X) <- (d(X) seq c(X)) within 50.",
        "d(X) <- (b(X) ntimes 2 seq a(X)) within 50.",
        "d(X) <- (a(X) seq b(X) ntimes 2) within 50.",
        "d(X) <- (((a(X) or b(X)) seq b(X)) cnot b(Y)) within 50.",
        "d(X) <- iso(a(X) seq b(X)) within 50.",
        "d(X, N) <- aggregate(count, a(X), N) within 50.",
        "exceptionAlarm(d(X), 50) <- a(X).",
    ],
)
def test_keys_that_never_return_leave_nothing_behind(text: str, flags: dict[str, Any]) -> None:
    with patch.object(history, "LEAST_TRIM", 256):
        engine = engine_of(text, **flags)
        for i in range(4_000):
            engine.push("a" if i % 3 else "b", i // 3, at=i)
        assert sum(row.instances for row in engine.state()) < 1200
        if engine.core.disorder is not None:
            assert engine.core.disorder.revision is not None
            parts = engine.core.disorder.revision.history.all_parts()
            assert sum(len(part.bases) + len(part.tags) + len(part.last) for part in parts) < 1000


@pytest.mark.parametrize("flags", [{}, {"revision_flag": "on"}, ARRIVAL])
def test_a_rule_inserted_while_rows_are_taken_holds_for_the_next_row(flags: dict[str, Any]) -> None:
    engine = engine_of("d(X) <- a(X). f(X) <- a(X) seq b(X).", **flags)
    found = []
    for event in engine.run([("a", 0, 0), ("a", 1, 1), ("b", 2, 2), ("a", 3, 3)]):
        found.append(event)
        if event.args == (0,):
            engine.insert_rule("e(X, Y) <- a(X) seq b(Y).")
    assert [repr(event) for event in found] == ["d(0) [0, 0]", "d(1) [1, 1]", "e(1, 2) [1, 2]", "d(3) [3, 3]"]


def test_an_empty_history_forgets_nothing() -> None:
    engine = engine_of("r: d(X) <- a(X).", revision_flag="on")
    engine.advance(to=1)
    for window in range(1, 20):
        engine.set_property("r", "window", window)
    assert shown(engine.push("a", 1, at=2)) == ["d(1) [2, 2]"]
