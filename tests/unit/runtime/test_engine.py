"""The engine as its users call it: ways in, ways out, time, callbacks, rules at run time, bounds, refusals."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Any

import pytest

import etalis
from etalis import Event, Struct

PAIR = "d(X, Y) <- a(X) seq b(Y)."
DECLARED = ":- event(a(id: int, name: string, rate: float)). d(I, N, R) <- a(I, N, R)."


def engine(text: str, **options: Any) -> etalis.Engine:
    return etalis.compile(text).engine(**options)


def test_an_event_shows_what_it_is() -> None:
    run = engine("pair rule: " + PAIR)
    assert run.push("a", 1, at=1) == ()
    (event,) = run.push("b", "x y", at=2.5)
    assert (event.atom, event.name, event.args) == ("d(1, 'x y')", "d", (1, "x y"))
    assert (event.start, event.end, event.rule) == (1, 2.5, "pair")
    assert repr(event) == "d(1, 'x y') [1, 2.5]"
    name, args, start, end = event
    assert (name, args, start, end) == ("d", (1, "x y"), 1, 2.5)
    assert json.loads(event.to_json()) == {"event": "d", "X": 1, "Y": "x y", "start": 1, "end": 2.5, "rule": "pair"}
    assert event == Event.make("d", (1, "x y"), 1_000_000, 2_500_000)
    assert len({event, Event.make("d", (1, "x y"), 1_000_000, 2_500_000)}) == 1


@pytest.mark.parametrize(
    ("at", "start", "end"),
    [
        (3, 3, 3),
        (0.25, 0.25, 0.25),
        (Fraction(1, 4), 0.25, 0.25),
        ((1, 2.5), 1, 2.5),
        (datetime(1970, 1, 1, 0, 0, 7), 7, 7),
        ((datetime(1970, 1, 1, tzinfo=UTC), datetime(1970, 1, 1, 0, 1, tzinfo=UTC)), 0, 60),
        (timedelta(minutes=1), 60, 60),
    ],
)
def test_time_may_be_given_in_many_ways(at: Any, start: float, end: float) -> None:
    (event,) = engine("d <- a.").push("a", at=at)
    assert (event.start, event.end) == (start, end)


def test_attributes_by_name_and_place() -> None:
    run = engine(DECLARED)
    (by_name,) = run.push("a", name="x", rate=2, id=1.0, at=1)
    (mixed,) = run.push("a", 1, rate=None, name=None, at=2)
    assert by_name.args == (1, "x", 2.0)
    assert isinstance(by_name.args[0], int)
    assert isinstance(by_name.args[2], float)
    assert mixed.args == (1, "null", "null")


@pytest.mark.parametrize(
    ("push", "code", "words"),
    [
        (lambda e: e.push("a", 1, "x", at=1), "E302", "takes 3 attributes"),
        (lambda e: e.push("a", 1, "x", 1.0, nme="y", at=1), "E302", "no attribute nme"),
        (lambda e: e.push("a", 1, id=1, name="x", rate=1.0, at=1), "E302", "given twice"),
        (lambda e: e.push("a", id=1, at=1), "E302", "lacks name, rate"),
        (lambda e: e.push("a", "one", "x", 1.0, at=1), "E305", "id should be of type int"),
        (lambda e: e.push("a", 1, "x", float("nan"), at=1), "E301", "NaN"),
        (lambda e: e.push("a", 1, "x", object(), at=1), "E301", "object"),
        (lambda e: e.push("a", 1, "x", 1.0), "E303", "no time"),
        (lambda e: e.push("a", 1, "x", 1.0, at="noon"), "E303", "not a time"),
        (lambda e: e.push("a", 1, "x", 1.0, at=(2, 1)), "E304", "ends before"),
        (lambda e: list(e.run([42])), "E306", "not a row"),
    ],
)
def test_what_cannot_be_taken_is_refused_and_changes_nothing(push: Any, code: str, words: str) -> None:
    run = engine(DECLARED)
    with pytest.raises(etalis.EtalisError, match=words) as caught:
        push(run)
    assert caught.value.code == code
    assert run.now is None
    assert len(run.push("a", 1, "x", 1.0, at=0)) == 1


def test_deep_terms_are_refused_and_others_kept() -> None:
    deep: Any = 1
    for _ in range(300):
        deep = [deep]
    run = engine("d(X) <- a(X).")
    with pytest.raises(etalis.EventError, match="nested deeper"):
        run.push("a", deep, at=1)
    (event,) = run.push("a", [1, {"k": True}, ("x", None)], at=1)
    assert event.args == ((1, (Struct("-", ("k", "true")),), ("x", "null")),)
    (large,) = run.push("a", 10**400, at=2)
    assert large.args == (10**400,)


def test_push_term_reads_a_term() -> None:
    run = engine("d(X, Y) <- a(X, f(Y, [X | _])).")
    (event,) = run.push_term("a(1, f('B c', [1, 2]))", at=1)
    assert event.args == (1, "B c")
    with pytest.raises(etalis.EtalisError):
        run.push_term("a(X", at=2)


def test_rows_of_all_kinds_give_the_same() -> None:
    text = ":- event(a(x: int)). :- event(b(y: int)). " + PAIR
    pushed = engine(text)
    expected = [*pushed.push("a", 1, at=(0, 1)), *pushed.push("b", 2, at=3)]
    tuples = [("a", 1, (0, 1)), ("b", 2, 3)]
    dicts = [{"event": "a", "at": (0, 1), "x": 1}, {"event": "b", "at": 3, "y": 2}]
    events = [Event.make("a", (1,), 0, 1_000_000), Event.make("b", (2,), 3_000_000, 3_000_000)]
    for rows in (tuples, dicts, events, [tuples[0], dicts[1]]):
        assert list(engine(text).run(rows)) == expected


def test_run_and_push_share_one_clock() -> None:
    run = engine(PAIR)
    stream = run.run([("a", 1, 1), ("b", 2, 3), ("b", 3, 5)])
    assert next(stream).args == (1, 2)
    assert run.now == 3
    assert run.push("a", 9, at=4) == ()
    assert next(stream).args == (9, 3)
    assert run.push("a", 1, at=4) == ()
    assert "time has reached 5" in run.dead_letters[0].reason


def test_a_bad_row_leaves_the_clock_where_it_was() -> None:
    run = engine(PAIR)
    with pytest.raises(etalis.EventError):
        list(run.run([("a", 1, 1), ("a", float("nan"), 2)]))
    assert run.now == 1
    assert [e.args for e in run.run([("b", 2, 2)])] == [(1, 2)]


def test_late_events_are_dead_letters_that_name_both_times() -> None:
    run = engine(PAIR)
    run.push("a", 1, at=5)
    run.push("b", 1, at=3)
    run.advance(to=7)
    run.push("b", 1, at=7)
    assert [letter.reason for letter in run.dead_letters] == [
        "it ends at 3, but time has reached 5",
        "it ends at 7, but time has reached 7",
    ]
    run.close()
    with pytest.raises(etalis.EventError, match="end of the stream"):
        run.push("b", 1, at=8)


def test_an_injected_clock_gives_the_time() -> None:
    """Shows definition 5.3."""
    moments = iter([datetime(2026, 1, 1), datetime(2026, 1, 1, 0, 0, 5)])
    run = engine(PAIR, clock=lambda: next(moments))
    run.push("a", 1)
    (event,) = run.push("b", 2)
    assert event.end - event.start == 5
    assert event.end_datetime == datetime(2026, 1, 1, 0, 0, 5, tzinfo=UTC)


def test_time_passes_without_events() -> None:
    run = engine("late(X) <- ask(X) seq (not answer(X) within 5). ring <- late(_).")
    run.push("ask", 1, at=1)
    assert run.advance(to=5) == ()
    assert [e.name for e in run.advance(to=6)] == ["late", "ring"]
    assert run.close() == ()


def test_callbacks_see_events_and_their_pushes_come_after() -> None:
    run = engine("d(X) <- a(X). d2(X) <- a(X). e(X) <- b(X).")
    seen: list[Event] = []
    run.on("d", lambda event: run.push("b", *event.args, at=event.end))
    run.on(None, seen.append)
    assert [e.atom for e in run.push("a", 1, at=1)] == ["d(1)", "d2(1)", "e(1)"]
    assert [e.atom for e in seen] == ["d(1)", "d2(1)", "e(1)"]


def test_parts_are_the_numbers_of_the_inputs() -> None:
    run = engine("p(X) <- a(X) seq b(X). q(X) <- p(X) and c.", parts=True, policy="unrestricted")
    found = [e for at, name in enumerate("axbc", 1) for e in run.push(name, *([1] if name in "ab" else []), at=at)]
    assert [(e.name, e.parts) for e in found] == [("p", (1, 3)), ("q", (1, 3, 4))]


def test_condition_errors_are_reported_and_stay_local() -> None:
    errors: list[etalis.ConditionError] = []
    run = engine("r rule: d(X) <- a(X) where X > 1. e(X) <- a(X).", on_error=errors.append)
    assert [e.name for e in run.push("a", "x", at=1)] == ["e"]
    assert "of rule r" in str(errors[0])
    assert "X = x" in str(errors[0])
    assert run.errors == errors
    assert [e.name for e in run.push("a", 2, at=2)] == ["d", "e"]


def test_one_input_cannot_cause_events_without_end() -> None:
    run = etalis.compile("n(0) <- go. grow rule: n(M) <- n(N) where M is N + 1. e <- a.", max_derivations=50).engine()
    with pytest.raises(etalis.LimitError, match=r"more than 50 events.*rule grow"):
        run.push("go", at=1)
    assert [e.name for e in run.push("a", at=2)] == ["e"]


def test_history_is_kept_on_request() -> None:
    run = engine(":- set_flag(store_fired_events, on). d(X) <- a(X).")
    run.push("a", 1, at=1)
    list(run.run([("a", 2, 2)]))
    assert [e.args for e in run.history] == [(1,), (2,)]


def test_a_window_bounds_what_waits() -> None:
    for text in ("(a(X) seq b(X)) within 10", "(a(X) and b(X)) within 10", "((a(X) seq b(X)) cnot c(X)) within 10"):
        run = engine(f"d(X) <- {text}.", policy="unrestricted")
        for at in range(5_000):
            run.push("abc"[at % 3], at, at=at)
        assert run.waiting() < 50, text


def test_consumption_bounds_what_waits() -> None:
    run = engine("d(X) <- a(X) seq b(X) seq c(X).", policy="chronological")
    for at in range(3_000):
        run.push("abc"[at % 3], at // 3, at=at)
    assert run.waiting() == 0


def test_relations_drop_what_cannot_match() -> None:
    """Shows definition 10.8."""
    for relation in ("finishes", "equals"):
        run = engine(f"d(X) <- a(X) {relation} b(X).", policy="unrestricted")
        for at in range(1_000):
            run.push("a", at, at=(at, at + 1))
        assert run.waiting() <= 2, relation


def test_no_text_of_a_program_is_in_the_generated_code() -> None:
    odd = "it''s \\n import os"
    text = f"'{odd}'(X) <- 'b{odd}'('{odd}', X) seq 'zzz'(Xyzzy, X) where (X \\= '{odd}', Xyzzy \\= secret)."
    run = engine(text)
    source = "\n".join(line for line in run.code().splitlines() if not line.startswith("#"))
    for word in ("it's", "import os", "zzz", "Xyzzy", "secret"):
        assert word not in source
    run.push("bit's \n import os", "it's \n import os", 1, at=1)
    (event,) = run.push("zzz", 2, 1, at=2)
    assert event.name == "it's \n import os"


def test_many_chained_rules_meet_no_recursion_limit() -> None:
    count = 3_000
    run = engine("\n".join(f"e{k + 1}(X) <- e{k}(X)." for k in range(1, count)))
    assert len(run.push("e1", 7, at=1)) == count - 1


def test_rules_come_and_go() -> None:
    run = engine("r rule: d(X) <- a(X) seq b(X).", policy="recent")
    run.push("a", 1, at=1)
    label = run.insert_rule("s rule: e(X) <- a(X) seq b(X).")
    assert label == "s"
    run.push("a", 2, at=2)
    assert [e.atom for e in run.push("b", 1, at=3)] == ["d(1)"]
    assert [e.atom for e in run.push("b", 2, at=4)] == ["d(2)", "e(2)"]
    assert run.delete_rule("s") == 1
    assert run.delete_rule("d(X) <- a(X) seq b(X).") == 1
    run.push("a", 3, at=5)
    assert run.push("b", 3, at=6) == ()
    with pytest.raises(etalis.ProgramError, match="no rule s"):
        run.delete_rule("s")
    with pytest.raises(etalis.ProgramError, match="unsafe"):
        run.insert_rule("f(Z) <- a(X).")


def test_a_new_rule_never_inherits_a_deleted_one() -> None:
    run = engine("x(X) <- q(X).")
    run.insert_rule("old rule: d(X) <- a(X) seq b(X).")
    run.push("a", 1, at=1)
    run.delete_rule("old")
    run.insert_rule("new rule: d(X) <- a(X) seq b(X).")
    assert run.push("b", 1, at=2) == ()
    run.push("a", 2, at=3)
    assert [(e.atom, e.rule) for e in run.push("b", 2, at=4)] == [("d(2)", "new")]


def test_deadlines_of_equal_keys_are_all_kept() -> None:
    run = engine("late(X) <- ask(X) seq (not answer(X) within 5).", policy="unrestricted")
    run.push("ask", 1, at=1)
    run.push("ask", 1, at=2)
    run.push("answer", 1, at=Fraction(5, 2))
    run.push("ask", 1, at=3)
    run.push("ask", 1, at=3)
    assert [e.start for e in run.close()] == [3]


def test_the_shown_code_is_what_runs() -> None:
    """With callbacks events take the general path, so there is no generated `push` to show."""
    engine = etalis.compile("d <- a seq b.").engine()
    assert engine.code().count("# push\n") == 1
    engine.on("d", lambda match: None)
    assert "# push\n" not in engine.code()
