"""What a run came across: events no rule reads, rules that never fired, what was refused and what failed."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

import etalis
from etalis.errors import ConditionError
from etalis.runtime.reporting.failures import MOST_KINDS, Failures

DECLARED = ":- event(login(card: string)). :- event(pay(card: string, amount: int)). "
FRAUD = "fraud(C) <- login(C) seq pay(C, A) where A > 10."


def run(text: str, *rows: tuple[Any, ...], close: bool = True, **options: Any) -> etalis.Engine:
    engine = etalis.compile(text).engine(**options)
    list(engine.run(rows))
    if close:
        engine.close()
    return engine


def told(text: str, *rows: tuple[Any, ...], **options: Any) -> list[str]:
    return str(run(text, *rows, **options).report()).splitlines()


def table(events: list[str], cards: list[Any], amounts: list[Any], times: list[int]) -> pa.Table:
    return pa.table({"event": events, "card": cards, "amount": amounts, "time": times})


def test_a_run_that_went_well_has_nothing_to_say() -> None:
    report = run(FRAUD, ("login", "c1", 1), ("pay", "c1", 11, 2)).report()
    assert not report
    assert (str(report), report.problems) == ("", ())


@pytest.mark.parametrize(
    ("text", "rows", "expected"),
    [
        (FRAUD, [("logn", 1, 1), ("pay", 1, 11, 2)], "no login/1 came"),
        (FRAUD, [("login", 1, 2, 1), ("pay", 1, 11, 2)], "no login/1 came"),
        (FRAUD, [("login", 1, 1)], "no pay/2 came"),
        ("d(X) <- a(X) seq b(X).", [("a", 1, 1), ("b", "1", 2)], "X is a number in a/1 and a text in b/1"),
        ("d(X) <- a(X) and b(X).", [("a", 1, 1), ("b", "1", 2)], "X is a number in a/1 and a text in b/1"),
        ("d(X) <- a(X) seq b(X).", [("a", "c1", 1), ("b", "C1", 2)], "X is never the same: c1 in a/1, 'C1' in b/1"),
        ("d(X) <- a(X) seq b(X).", [("b", 1, 1), ("a", 1, 2)], "never the first before the second with the same X"),
        ("d <- (a seq b) within 10.", [("a", 1), ("b", 60)], "never the first before the second, within 10"),
        ("d <- a seq b where 1 > 2.", [("a", 1), ("b", 60)], "never the first before the second, where 1 > 2"),
        ("d(X) <- a(X) where X > 5.", [("a", 1, 1)], "the condition X > 5 never held"),
        ("d(X) <- a(X) where (X > 5, X < 9).", [("a", 1, 1)], "X > 5, X < 9 never held"),
        ("d(X) <- a(X, 1).", [("a", 1, 2, 1)], "a/2 came, but never as a(X, 1)"),
        ("d(X) <- a(X, X).", [("a", 1, 2, 1)], "a/2 came, but never as a(X, X)"),
        ("d <- a or b.", [("c", 1)], "none of a/0, b/0 came"),
        ("d <- (a or b) seq c.", [("b", 1)], "no c/0 came"),
        ("d <- a ntimes 3.", [("a", 1), ("a", 2)], "never 3 of a/0"),
        ("d <- a seq (not b within 5).", [("a", 1), ("b", 2)], "b/0 came within 5 s each time"),
        ("d <- (a seq b) cnot c.", [("a", 1), ("c", 2), ("b", 3)], "cnot: none between its parts"),
        (
            "d(N) <- aggregate(count, a(X), N) within 5 where N > 3.",
            [("a", 1, 1)],
            "a/1 came, but never with all of: within 5, where N > 3",
        ),
        ("d <- 100.", [("a", 1)], "time has not reached 100"),
    ],
)
def test_the_first_part_that_never_matched(text: str, rows: list[Any], expected: str) -> None:
    (silent,) = run(text, *rows, policy="unrestricted", close="100" not in text).report().silent
    assert silent.rules == ("1",)
    assert expected in silent.reason


def test_hints_name_the_remedy() -> None:
    assert told(FRAUD, ("Login", 1, 1), ("pay", 1, 11, 2)) == [
        "warning W330: Login/1 came once, and no rule reads it (rules read login/1: is it meant?)",
        "warning W331: rule 1 never fired: no login/1 came (Login came: is it the same?)",
    ]
    (unread, silent) = told(FRAUD, ("login", 1, 2, 1), ("pay", 1, 11, 2))
    assert "(rules read login/1: is it meant?)" in unread
    assert "(login came with 2 attributes, the rule reads 1 attribute)" in silent
    (window,) = told("d <- (a seq b) within 10.", ("a", 1000), ("b", 61_000))
    assert "(the last a/0 ended at 1000, time has reached 61000; within 10 is in seconds: are times, too?" in window
    assert "unit= (--unit) says in what they are counted" in window
    (condition,) = told("d(X) <- (a seq b(X)) within 10 where X > 5.", ("a", 1), ("b", 1, 2))
    assert "leave out the condition X > 5 to see what there is" in condition
    (equal,) = told("d <- a seq b.", ("a", 1), ("b", 1), policy="unrestricted")
    assert "equal times are not in sequence" in equal
    failed, silent = told("d(X) <- a(X) where X > 1.", ("a", "x", 1))
    assert "(declare the types of attributes (`:- event(...)`), or test first" in failed
    assert "(conditions of it failed with errors, which are reported too)" in silent


def test_a_rule_that_fired_is_not_silent_whatever_its_stores_hold() -> None:
    rows = [(kind, i, 3 * i + place) for i in range(50) for place, kind in enumerate("abc")]
    for policy in ("unrestricted", "chronological", "recent"):
        engine = run("d(X) <- a(X) seq b(X) seq c(X). e(X) <- d(X) seq z(X).", *rows, policy=policy)
        assert [silent.reason for silent in engine.report().silent] == ["no z/1 came"]
        engine.reset()
        assert [silent.reason for silent in engine.report().silent] == ["no z/1 came"]


def test_rules_that_come_and_go_leave_the_marks_of_the_others() -> None:
    engine = run("d(X) <- a(X) seq b(X).", ("a", 1, 1), ("b", 1, 2), close=False)
    engine.insert_rule("d(X) <- c(X).")
    assert [silent.reason for silent in engine.report().silent] == ["no c/1 came"]
    engine.push("c", 1, at=3)
    assert engine.report().silent == ()


def test_two_rules_that_make_one_event_are_told_apart() -> None:
    engine = run("d(X) <- a(X). d(X) <- b(X).", ("a", 1, 1))
    assert [(silent.rules, silent.reason) for silent in engine.report().silent] == [(("2",), "no b/1 came")]


def test_stores_that_time_has_emptied_say_what_came() -> None:
    rows = [("a", i, 100 * i) for i in range(1, 20)]
    (silent,) = run("d(X) <- (a(X) seq b(X)) within 10.", *rows).report().silent
    assert silent.reason == "no b/1 came"


def test_rules_that_wait_for_the_same_come_together() -> None:
    text = " ".join(f"d{i}(X) <- a(X) seq b(X)." for i in range(8))
    (silent,) = run(text, ("a", 1, 1)).report().silent
    assert silent.rules == tuple(map(str, range(1, 9)))
    assert silent.problem.message == "rules 1, 2, 3, 4, 5 ... never fired: no b/1 came"


def test_an_empty_stream_is_said_to_be_empty() -> None:
    assert told(FRAUD)[0].startswith("warning W334: no event came that a rule reads")


def test_what_was_not_taken_comes_by_cause() -> None:
    (late,) = run("d <- a.", ("a", 5), ("a", 4), ("a", 3)).report().refused
    assert (late.cause, late.count, late.first.reason) == ("late", 2, "it ends at 4, but time has reached 5")
    (silent,) = run("d <- a seq b.", ("a", 5), ("b", 4)).report().silent
    assert silent.reason == "no b/0 was accepted"
    (ahead,) = run("d <- a.", ("a", 5), ("a", 5_000), ahead=60).report().refused
    assert (ahead.cause, ahead.count) == ("ahead", 1)


def test_failures_come_by_kind_and_are_bounded() -> None:
    engine = run("d(X) <- a(X) where X > 1.", *(("a", f"x{i}", i) for i in range(3000)))
    assert (len(engine.errors), engine.error_count) == (Failures.KEPT, 3000)
    assert "X = x2999" in str(engine.errors[-1])
    report = engine.report()
    assert [failed.count for failed in report.failed] == [3000]
    assert "raised x0/0 is not a number" in str(report)
    assert "3,000 times like this" in str(report)


def test_kinds_of_failures_are_bounded() -> None:
    failures = Failures(None)
    for i in range(3 * MOST_KINDS):
        failures.add(ConditionError(etalis.Problem("E501", f"{i}: no two alike")))
    assert len(failures.kinds) == MOST_KINDS + 1
    assert sum(count for _, count in failures.kinds.values()) == 3 * MOST_KINDS


def test_a_report_is_data() -> None:
    report = run(FRAUD, ("logn", 1, 1), ("pay", 1, 11, 3), ("pay", 1, 11, 2)).report()
    found = json.loads(json.dumps(report.to_dict()))
    assert found["unread"] == [{"name": "logn", "arity": 1, "count": 1, "nearest": "login/1", "read": []}]
    assert found["silent"][0]["reason"] == "no login/1 came"
    assert found["refused"][0]["first"]["event"] == "pay"
    assert [problem.code for problem in report.problems] == ["W330", "W332", "W331"]
    assert [problem.code for problem in report.errors] == ["E330", "E332", "E331"]


def test_a_long_report_is_cut() -> None:
    lines = told("".join(f"d{i} <- u{i}_{i}. " for i in range(30)), *((f"v{i}", i) for i in range(30)))
    assert len(lines) == 11
    assert lines[-1] == "and 21 more"


def test_events_that_are_just_others_are_told_together() -> None:
    lines = told("d <- login(_).", ("logn", 1, 1), ("visit", 1, 2), ("visit", 2, 3), ("order", 1, 4))
    assert lines[:2] == [
        "warning W330: logn/1 came once, and no rule reads it (rules read login/1: is it meant?)",
        "warning W330: no rule reads 2 kinds of events that came: visit/1 2 times, order/1 once (rules read login/1)",
    ]


@pytest.mark.parametrize("flags", ["", ":- set_flag(out_of_order, on). :- set_flag(ooo_window, 5). "])
def test_late_events_and_corrections_leave_marks_too(flags: str) -> None:
    engine = run(flags + "d(X) <- a(X) seq b(X).", ("a", 1, 1), ("x", 1, 2), ("b", 1, 3))
    assert [(each.name, each.count) for each in engine.report().unread] == [("x", 1)]
    assert engine.report().silent == ()


def test_a_revised_run_knows_what_matched_in_the_past() -> None:
    late = {"out_of_order": "on", "ooo_window": 100}
    text = "d(X) <- a(X) seq b(X). e <- d(X) seq z."
    engine = etalis.compile(text, reporting="on_arrival", **late).engine()
    engine.push("b", 1, at=9)
    engine.push("a", 1, at=5)
    assert [silent.reason for silent in engine.report().silent] == ["no z/0 came"]
    holding = etalis.compile(text, **late).engine()
    holding.push("a", 1, at=5)
    assert holding.report().silent[0].reason == "a/1 came, and waits until the watermark passes it"


# over columns


def test_detect_says_why_it_found_nothing() -> None:
    rows = table(["logn", "logn", "pay"], ["c1", "c2", "c1"], [None, None, 20], [1, 2, 3])
    program = etalis.compile(DECLARED + FRAUD)
    with pytest.warns(etalis.ReportWarning, match="no login/1 came") as caught:
        assert program.detect(rows).num_rows == 0
    assert str(caught[0].message).splitlines()[0] == (
        "warning W330: logn came 2 times, and no rule reads it (rules read login/1: is it meant?)"
    )
    assert caught[0].filename == __file__


@pytest.mark.filterwarnings("error::etalis.ReportWarning")
def test_detect_is_silent_about_events_that_are_just_others() -> None:
    rows = table(["login", "visit", "pay"], ["c1", "c2", "c1"], [None, None, 20], [1, 2, 3])
    assert etalis.compile(DECLARED + FRAUD).detect(rows).num_rows == 1
    reports: list[etalis.Report] = []
    assert etalis.compile(DECLARED + FRAUD).detect(rows, on_report=reports.append).num_rows == 1
    assert [(each.name, each.arity, each.count) for each in reports[0].unread] == [("visit", None, 1)]


def test_detect_warns_of_a_name_that_looks_wrong_even_if_it_found_something() -> None:
    rows = table(["login", "Login", "pay"], ["c1", "c2", "c1"], [None, None, 20], [1, 2, 3])
    with pytest.warns(etalis.ReportWarning, match="Login came once"):
        assert etalis.compile(DECLARED + FRAUD).detect(rows).num_rows == 1


def test_over_columns_the_first_part_that_never_matched_is_told() -> None:
    def reason(text: str, rows: pa.Table) -> str:
        reports: list[etalis.Report] = []
        etalis.compile(text).detect(rows, on_report=reports.append)
        return reports[0].silent[0].reason

    rows = table(["login", "pay"], ["c1", "c2"], [None, 20], [1, 3])
    assert "never the first before the second with the same C" in reason(DECLARED + FRAUD, rows)
    alone = DECLARED + "big(A) <- pay(_, A) where A > 50."
    assert "the condition A > 50 never held" in reason(alone, rows)
    closed = (
        ":- event(edge(x: int, y: int)). p(X, Y) <- edge(X, Y). p(X, Z) <- p(X, Y) seq edge(Y, Z). s(X) <- p(X, 9)."
    )
    edges = pa.table({"event": ["edge", "edge"], "x": [1, 2], "y": [2, 3], "time": [1, 2]})
    assert reason(closed, edges) == "p/2 came, but never as p(X, 9)"


def test_texts_never_join_numbers_over_columns() -> None:
    tables = {"a": pa.table({"x": [1], "time": [1]}), "b": pa.table({"x": ["1"], "time": [2]})}
    with pytest.warns(etalis.ReportWarning, match="X is a number in a/1 and a text in b/1"):
        etalis.compile("d(X) <- a(X) seq b(X).").detect(tables)


def test_parquet_that_names_no_known_event_is_read_for_their_names(tmp_path: Any) -> None:
    path = tmp_path / "rows.parquet"
    pa.parquet.write_table(table(["zz"] * 3, ["c"] * 3, [1, 2, 3], [1, 2, 3]), path)
    with pytest.warns(
        etalis.ReportWarning, match=r"zz came 3 times, and no rule reads it \(rules read login/1, pay/2\)"
    ):
        etalis.compile(DECLARED + FRAUD).detect(path)


@pytest.mark.parametrize("declared", [DECLARED, ""])
def test_csv_says_what_no_rule_reads(tmp_path: Any, declared: str) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("event,card,amount,time\nlogn,c1,,1\npay,c1,20,2\n")
    text = (declared or ":- event(pay(card: any, amount: any)). ") + FRAUD
    with pytest.warns(etalis.ReportWarning, match="logn.* came once, and no rule reads it"):
        etalis.compile(text).detect(path)


def test_a_strict_detect_has_what_it_found() -> None:
    rows = table(["login", "visit", "pay"], ["c1", "c2", "c1"], [None, None, 20], [1, 2, 3])
    with pytest.raises(etalis.ReportError, match="visit came once, and no rule reads it") as caught:
        etalis.compile(DECLARED + FRAUD).detect(rows, strict=True)
    assert caught.value.found.num_rows == 1
    assert caught.value.report.unread[0].name == "visit"


def test_an_engine_that_takes_tables_reports_all_of_them() -> None:
    engine = etalis.compile(DECLARED + FRAUD).engine(policy="unrestricted")
    engine.detect(table(["login", "visit"], ["c1", "c2"], [None, None], [1, 2]))
    engine.push("visit", 5, at=3)
    assert {(each.name, each.arity): each.count for each in engine.report().unread} == {
        ("visit", None): 1,
        ("visit", 1): 1,
    }
    assert engine.report().silent[0].reason == "no pay/2 came"
    assert engine.detect(table(["pay"], ["c1"], [20], [4])).num_rows == 1
    assert engine.report().silent == ()


# strict


def test_a_strict_engine_refuses_at_once() -> None:
    engine = etalis.compile(FRAUD).engine(strict=True, policy="unrestricted")
    with pytest.raises(etalis.EventError, match="error E330: no rule reads logn/1\n  hint: rules read login/1"):
        engine.push("logn", "c1", at=1)
    engine.push("login", "c1", at=5)
    with pytest.raises(etalis.EventError, match="error E332: login was rejected: it ends at 4"):
        engine.push("login", "c1", at=4)
    with pytest.raises(etalis.ConditionError, match="error E333"):
        engine.push("pay", "c1", "much", at=6)
    assert len(engine.push("pay", "c1", 20, at=7)) == 1
    assert engine.close() == ()


def test_a_strict_engine_refuses_rules_that_never_fired_with_what_it_found() -> None:
    engine = etalis.compile("d <- a seq (not b within 5). e <- x.").engine(strict=True)
    engine.push("a", at=1)
    with pytest.raises(etalis.ReportError, match="error E331: rule 2 never fired: no x/0 came") as caught:
        engine.close()
    assert [event.name for event in caught.value.found] == ["d"]


def test_a_strict_engine_takes_a_table_and_refuses_what_it_does_not_read() -> None:
    engine = etalis.compile(DECLARED + FRAUD).engine(strict=True, policy="unrestricted")
    rows = table(["login", "visit", "pay"], ["c1", "c2", "c1"], [None, None, 20], [1, 2, 3])
    with pytest.raises(etalis.ReportError, match="E330: visit came once") as caught:
        engine.detect(rows)
    assert caught.value.found.num_rows == 1


# names that nothing answers to


def test_callbacks_are_for_events_that_rules_make() -> None:
    engine = etalis.compile("pair(X) <- a(X) seq b(X).").engine()
    with pytest.raises(etalis.InputError, match=r"error E335: no rule derives pairr\n  hint: did you mean pair\?"):
        engine.on("pairr", print)
    with pytest.raises(etalis.InputError, match="a is an input: only derived events are reported"):
        engine.on("a", print)
    hidden = etalis.compile("print_trigger(e/1). d(X) <- a(X). e(X) <- d(X).").engine()
    with pytest.raises(etalis.InputError, match="d is derived, but not reported"):
        hidden.on("d", print)
    engine.insert_rule("late(X) <- b(X).")
    engine.on("late", print)


def test_on_decorates() -> None:
    engine = etalis.compile("d(X) <- a(X).").engine()
    seen: list[Any] = []

    @engine.on("d")
    def note(event: etalis.Event) -> None:
        seen.append(event.args)

    engine.push("a", 1, at=1)
    assert seen == [(1,)]
    assert note.__name__ == "note"


@pytest.mark.parametrize(
    ("text", "name", "rows", "expected"),
    [
        ("d(X) <- a(X) where vip(X).", "vipp", [(1,)], "did you mean vip?"),
        ("d(X) <- a(X) where vip(X).", "vip", [(1, 2)], "goals call vip/1"),
        ("d(X) <- a(X).", "vip", [(1,)], "write `:- dynamic vip/1.`"),
        (":- dynamic vip/1. d(X) <- a(X).", "vip", [(1,)], None),
        ("d(X) <- a(X) where good(X). good(X) :- \\+ bad(X).", "bad", [(1,)], None),
        ("d(X) <- a(X) where maplist(price, [X], _).", "price", [(1, 2)], None),
        ("d(X) <- a(X) where (G = vip, call(G, X)).", "vip", [(1,)], None),
        ("d(X) <- a(X) where findall(Y, near(X, Y), [_]).", "near", [(1, 2)], None),
        ("d(X) <- a(X) do assertz(seen(X)).", "seen", [(1,)], None),
    ],
)
def test_facts_must_be_asked_for(text: str, name: str, rows: list[Any], expected: str | None) -> None:
    program = etalis.compile(text)
    if expected is None:
        assert program.load_facts(name, rows) == 1
        return
    with pytest.raises(etalis.InputError, match="error E336") as caught:
        program.load_facts(name, rows)
    assert expected in str(caught.value)


def test_options_that_do_not_exist_are_refused() -> None:
    program = etalis.compile(DECLARED + FRAUD)
    rows = table(["login"], ["c1"], [None], [1])
    with pytest.raises(etalis.OptionError, match=r"engine has no option polcy\n  hint: did you mean policy\?"):
        program.engine(polcy="recent")
    with pytest.raises(TypeError, match=r"detect has no option selct\n  hint: did you mean select\?"):
        program.detect(rows, selct="fraud")
    with pytest.raises(etalis.InputError, match="E605: the program reports no event zzz"):
        program.detect(rows, select="zzz")


def test_rules_that_listen_to_what_should_not_happen_are_silent() -> None:
    program = etalis.compile("""
        constraint late: order(Id) requires shipped(Id) after within 10.
        sorry rule: on violated(late, Id) do raise(apology(Id)).
        refused rule: on undelivered(pay, Effect) do raise(lost(Effect)).
        other rule: on violated(late, Id, More) do raise(apology(Id, More)).
    """)
    engine = program.engine()
    list(engine.run([("order", 1, 0), ("shipped", 1, 5)]))
    engine.close()
    assert [silent.rules for silent in engine.report().silent] == [("other",)]


def test_alternatives_that_came_before_their_rule_are_not_missed() -> None:
    engine = etalis.compile("m(X) <- a(0, X).").engine()
    engine.push("a", 1, 2, at=1)
    engine.insert_rule("late rule: n(X) <- a(X, _) or a(_, X).")
    assert "rule late" not in str(engine.report())
