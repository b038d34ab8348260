"""Rows without a partner at the doors of an engine: corrected by late partners, bounded in state, inserted by goals."""

from __future__ import annotations

import pytest

import etalis
from etalis import Stamp
from etalis.errors import ProgramError
from etalis.runtime.run_loop import RunLoop
from etalis.runtime.state import Raw

pytestmark = pytest.mark.fast

FALL = "r(C, A) <- (downrated(C, A) ?seq (price(C, X) seq price(C, Y) where Y < X)) within 1 h."
LATE = {"out_of_order": "on", "ooo_window": 100, "reporting": "on_arrival"}


def shown(events: object) -> list[str]:
    return [str(event) for event in events]  # type: ignore[attr-defined]


def test_a_late_partner_takes_the_row_without_it_back() -> None:
    engine = etalis.compile(FALL, **LATE).engine(policy="unrestricted")
    engine.push("price", "a", 10, at=2)
    assert shown(engine.push("price", "a", 4, at=3)) == ["r(a, null) [2, 3]"]
    assert shown(engine.push("downrated", "a", "m", at=1)) == ["-r(a, null) [2, 3]", "r(a, m) [1, 3]"]


def test_a_partner_that_is_taken_back_leaves_the_row_alone() -> None:
    engine = etalis.compile(FALL, revision_flag="on", **LATE).engine(policy="unrestricted")
    engine.push("downrated", "a", "m", at=Stamp(1, id="rating"))
    engine.push("price", "a", 10, at=2)
    assert shown(engine.push("price", "a", 4, at=3)) == ["r(a, m) [1, 3]"]
    assert shown(engine.retract("rating")) == ["-r(a, m) [1, 3]", "r(a, null) [2, 3]"]


@pytest.mark.parametrize("policy", ["unrestricted", "recent"])
def test_state_has_the_bound_of_the_window(policy: str) -> None:
    engine = etalis.compile("r(X, Y) <- (a(X) seq? b(X, Y)) within 5.").engine(policy=policy)
    rows = [row for t in range(2000) for row in (("a", t, t), *([("b", t, 1, t + 1)] if t % 2 else []))]
    count = len([*engine.run(sorted(rows, key=lambda row: row[-1]))])
    assert engine.waiting() <= 12
    assert count + len(engine.close()) == 2000


def test_a_goal_inserts_a_rule_with_a_part_that_may_be_missing() -> None:
    engine = etalis.compile("x <- go do ins_event_rule((c(X) <- a(X) ?seq b)).").engine(policy="unrestricted")
    engine.push("go", at=1)
    assert shown(engine.push("b", at=2)) == ["c(null) [2, 2]"]


def test_a_rule_that_closes_a_circle_is_refused_when_it_is_inserted() -> None:
    engine = etalis.compile("r(X) <- a(X) equals? q(X).").engine(policy="unrestricted")
    with pytest.raises(ProgramError, match="E243"):
        engine.insert_rule("q(X) <- r(X) and s.")
    assert not engine.push("a", 1, at=1)
    assert shown(engine.close()) == ["r(1) [1, 1]"]


def test_a_policy_that_forgets_is_refused_when_it_is_given() -> None:
    program = etalis.compile("r(X, Y) <- a(X) equals? b(Y).")
    with pytest.raises(ProgramError, match="E244"):
        program.engine(policy="snoop_recent")


def test_reports_name_what_is_awaited() -> None:
    engine = etalis.compile("r(X, Y) <- (a(X) seq? b(Y)) within 5.").engine(policy="unrestricted")
    engine.push("a", 1, at=1)
    assert "not known yet whether it has a partner" in str(engine.report())


@pytest.mark.parametrize("gone", ["s(X) <- (a(X) seq? c(X)) within 5.", "s(X) <- a(X) seq (not c(X) within 2)."])
def test_what_waits_for_a_rule_that_is_deleted_is_forgotten(gone: str) -> None:
    engine = etalis.compile("r(X, Y) <- (a(X) seq? b(X, Y)) within 5.").engine(policy="unrestricted")
    label = engine.insert_rule(gone)
    engine.push("a", 1, at=1)
    engine.delete_rule(label)
    engine.push("b", 1, 2, at=2)
    engine.push("a", 3, at=3)
    assert shown(engine.push("a", 4, at=20)) == ["r(3, null) [3, 8]"]


def test_an_alarm_of_a_deleted_rule_does_not_ring() -> None:
    engine = etalis.compile("r(X, Y) <- (a(X) seq? b(X, Y)) within 5.").engine(policy="unrestricted")
    label = engine.insert_rule("exceptionAlarm(g(X), 4) <- a(X).")
    engine.push("a", 1, at=1)
    engine.delete_rule(label)
    assert shown(engine.push("a", 2, at=20)) == ["r(1, null) [1, 6]"]


@pytest.mark.parametrize(
    "beside",
    [
        "",
        "s(X) <- (b(X, _) and? a(X)) within 4.",
        "s(X) <- a(X) seq (not b(X, _) within 3).",
        "s(X, Y) <- (r(X, Y) seq? c) within 9.",
        "exceptionAlarm(s(X), 3) <- r(X, _).",
    ],
)
def test_what_falls_due_is_found_without_a_look_at_all_that_may_happen(
    beside: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []
    pass_time = RunLoop.pass_time

    def counted(self: RunLoop, time: int, out: list[Raw], *, inclusive: bool) -> None:
        calls.append(time)
        pass_time(self, time, out, inclusive=inclusive)

    monkeypatch.setattr(RunLoop, "pass_time", counted)
    engine = etalis.compile(f"r(X, Y) <- (a(X) seq? b(X, Y)) within 5. {beside}").engine(policy="unrestricted")
    rows = [("a", t, t) for t in range(100)]
    assert sum(match.name == "r" for match in [*engine.run(rows), *engine.close()]) == 100
    assert len(calls) < 5


def test_what_has_shown_all_it_can_waits_no_longer() -> None:
    engine = etalis.compile("r(K) <- (a(K) seq b(_) seq c(K)) within 1 h.").engine(policy="unrestricted")
    assert not [*engine.run([("a", 1, 1), *(("b", t, t) for t in range(2, 50))])]
    assert engine.waiting() == 1  # the first pair
    assert shown(engine.push("c", 1, at=50)) == ["r(1) [1, 50]"]


BOTH = """
    r(Y) <- ((p(X, Y) seq? q(X, _)) within 3) and a(_).
    other: s(Y) <- (p(X, Y) seq? q(Y, _)) within 3.
"""
FREE = [("a", 2, 4), ("a", 0, 5)]


@pytest.mark.parametrize("begins_anew", [False, True])
def test_rows_without_a_partner_come_in_order_where_the_first_waited_before_a_change(begins_anew: bool) -> None:
    """What waits for a partner by one rule alone has a lane of its own, once it is the only one, or after a restart."""
    program = etalis.compile(BOTH)
    engine = program.engine(policy="recent")
    if begins_anew:
        engine.delete_rule("other")
    assert not [*engine.run(FREE), *engine.push("p", 2, 0, at=6)]
    if begins_anew:
        engine = program.restore(engine.snapshot())
    else:
        engine.delete_rule("other")
    engine.push("p", 1, 1, at=6)
    assert shown(engine.advance(to=10)) == ["r(1) [4, 9]", "r(0) [5, 9]"]


def test_intervals_without_a_partner_are_due_in_time_after_a_restart() -> None:
    program = etalis.compile("r(X) <- (p(X) seq? q(X)) within 3.")
    engine = program.engine(policy="recent")
    assert not [*engine.push("p", 1, at=(0, 1)), *engine.push("p", 2, at=2)]
    engine = program.restore(engine.snapshot())
    engine.push("p", 3, at=2)
    engine = program.restore(engine.snapshot())
    assert shown(engine.push("z", at=4)) == ["r(1) [0, 3]"]
    assert shown(engine.push("z", at=6)) == ["r(2) [2, 5]", "r(3) [2, 5]"]


def test_a_deleted_rule_of_a_body_makes_no_rows_without_a_partner() -> None:
    text = "first: r(X) <- (p(X) seq? q(X)) within 1. second: s(X) <- (p(X) seq? q(X)) within 1."
    engine = etalis.compile(text).engine(policy="recent")
    engine.delete_rule("first")
    assert shown([*engine.push("p", 1, at=2), *engine.close()]) == ["s(1) [2, 3]"]
