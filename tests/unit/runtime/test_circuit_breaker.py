"""A goal that reaches its limits too often is switched off, once, loudly, and can be switched on again."""

from __future__ import annotations

import pyarrow as pa
import pytest

import etalis

TEXT = """
    :- set_flag(max_goal_steps, 1000).
    :- set_flag(max_rule_failures, 3).
    loop(X) :- X > 0, loop(X).
    watch rule: d(X) <- a(X) where \\+ loop(X).
    e(X) <- a(X) where X > 0.
"""
ROWS = [("a", x, at) for at, x in enumerate([1, 0, 2, 3, 0, 4])]


def engine_of(text: str = TEXT, **options: object) -> etalis.Engine:
    return etalis.compile(text).engine(**options)


def test_a_rule_is_switched_off_and_on() -> None:
    """Shows definition 15.14."""
    engine = engine_of()
    assert [str(e) for e in engine.run(ROWS[:3])] == ["e(1) [0, 0]", "d(0) [1, 1]", "e(2) [2, 2]"]
    assert engine.broken == ()
    assert [str(e) for e in engine.run(ROWS[3:])] == ["e(3) [3, 3]", "e(4) [5, 5]"]
    assert [error.code for error in engine.errors] == ["E501", "E501", "E501", "E512"]
    assert str(engine.errors[-1]) == (
        "<program>:5:36: error E512: rule watch is switched off: its condition \\+ loop(X) reached a limit 3 times, "
        "as many as max_rule_failures allows\n"
        "    5 |     watch rule: d(X) <- a(X) where \\+ loop(X).\n"
        "                                           ^^^^^^^^^^\n"
        "  hint: mend the condition, or raise the limit that it reached; engine.switch_on('watch') enables it"
    )
    assert "hint: the goal may not end; if it does, raise the flag max_goal_steps" in str(engine.errors[0])
    assert [(b.rule, b.what, b.goal, b.failures) for b in engine.broken] == [("watch", "condition", "\\+ loop(X)", 3)]
    assert engine.switch_on("other") == 0
    assert engine.switch_on("watch") == 1
    assert engine.broken == ()
    assert [str(e) for e in engine.push("a", 0, at=9)] == ["d(0) [9, 9]"]


def test_an_action_is_switched_off_and_the_head_goes_on() -> None:
    text = TEXT.replace("where \\+ loop(X)", "do loop(1)")
    engine = engine_of(text)
    assert len([e for e in engine.run(ROWS) if e.name == "d"]) == len(ROWS)
    assert [error.code for error in engine.errors] == ["E501"] * 3 + ["E512"]


@pytest.mark.parametrize(("most", "codes"), [(-1, ["E501"] * 4), (1, ["E501", "E512"])])
def test_how_often_is_a_flag(most: int, codes: list[str]) -> None:
    engine = engine_of(TEXT.replace("failures, 3", f"failures, {most}"))
    list(engine.run(ROWS))
    assert [error.code for error in engine.errors] == codes


def test_other_errors_switch_nothing_off() -> None:
    engine = engine_of(TEXT.replace("\\+ loop(X)", "X > foo"))
    list(engine.run(ROWS))
    assert [error.code for error in engine.errors] == ["E501"] * len(ROWS)
    assert engine.broken == ()


def test_it_outlives_snapshots_and_changes_of_rules() -> None:
    program = etalis.compile(TEXT)
    engine = program.engine()
    list(engine.run(ROWS[:3]))
    again = program.restore(engine.snapshot())
    again.insert_rule("f <- a(_).")
    list(again.run(ROWS[3:4]))
    assert [error.code for error in again.errors] == ["E501", "E512"]
    last = program.restore(again.snapshot())
    last.push("a", 1, at=9)
    assert last.errors == []
    assert last.broken == again.broken != ()


def test_it_counts_over_columns_too() -> None:
    program = etalis.compile(TEXT.replace("loop(X) :- X > 0", ":- event(a(x: int)).\nloop(X) :- X > 0"))
    errors: list[etalis.ConditionError] = []
    table = pa.table({"x": [1, 1, 1, 2, 0, 3], "t": range(6)})
    found = program.detect(table, event="a", time="t", on_error=errors.append, select="e")
    assert [error.code for error in errors] == ["E501"] * 3 + ["E512"]
    assert found.num_rows == 5


def test_corrections_share_the_count() -> None:
    text = TEXT + ":- set_flag(revision_flag, on). :- set_flag(revision_window, 100)."
    engine = engine_of(text)
    list(engine.run(ROWS))
    engine.retract("a", 1, at=0)
    assert [error.code for error in engine.errors].count("E512") == 1
