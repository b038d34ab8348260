"""Repairs of the worked examples: from answers made by hand, verified by runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from tests.helpers.explanations import SECOND

import etalis
from etalis.engine import Engine
from etalis.language.printer import seconds
from etalis.language.read.parser import parse_event_pattern, parse_term
from etalis.why import justification as j
from etalis.why import why_not as w
from etalis.why.forms.json_form import from_json
from etalis.why.repairing.ask import repair
from etalis.why.repairing.data import AddEvent, AddFact, InputChange, MoveEvent, RemoveEvent, Repair

Row = tuple[Any, ...]


def run(text: str, rows: Sequence[Row], policy: str | None = None) -> Engine:
    engine = etalis.compile(text).engine(policy=policy, justification="full")
    list(engine.run(rows))
    return engine


def given(engine: Engine, number: int) -> j.Received:
    assert engine.core.record is not None
    kept = engine.core.record.source.find(number)
    assert kept is not None
    return j.Received(kept.name, kept.args, kept.start, kept.end, kept.number)


def here(event: j.Occurred) -> w.AttemptPart:
    return w.AttemptPart(event.atom, event)


def bound(time: float | None, is_open: bool = True) -> w.TimeBound | None:
    return None if time is None else w.TimeBound(int(time * SECOND), is_open)


def lost(text: str, after: float | None = None, before: float | None = None, **more: Any) -> w.AttemptPart:
    pattern = parse_event_pattern(text, "<part>")
    start, end = w.TimeRange(bound(after), None), w.TimeRange(None, bound(before))
    return w.AttemptPart(text, None, start, end, pattern=pattern, **more)


def attempt(parts: Sequence[w.AttemptPart], *causes: w.Cause, **bindings: Any) -> w.Attempt:
    missing = [w.MissingPart(part) for part in parts if part.event is None]
    deficit = (
        len(missing),
        len(causes),
        sum(getattr(cause, "by", 0) for cause in causes if isinstance(cause, w.OutOfOrder)),
    )
    return w.Attempt(tuple(parts), (*missing, *causes), deficit, bindings)


def answer(question: str, *attempts: w.Attempt, rule: str = "1") -> w.WhyNot:
    return w.WhyNot(question, (w.RuleAnswer(rule, "", attempts),))


def said(change: InputChange) -> str:
    match change:
        case AddEvent():
            return f"add {change.atom}@{seconds(change.start)}" + (
                "" if change.start == change.end else f"-{seconds(change.end)}"
            )
        case RemoveEvent(event=event):
            return f"remove {event.atom}@{seconds(event.end)}"
        case MoveEvent(event=event, end=end):
            return f"move {event.atom} to {seconds(end)}"
        case AddFact(since=since):
            return f"fact at {seconds(since)}"


def told(found: Repair | None) -> tuple[list[str], str]:
    assert found is not None
    return [said(change) for change in found.changes], found.status


def on(start: float, end: float) -> tuple[int, int]:
    return int(start * SECOND), int(end * SECOND)


def test_a_missing_part_is_added_next_to_what_is_there() -> None:
    engine = run("c <- a seq b.", [("a", 1)])
    found = repair(engine.core, "c", answer("c", attempt([here(given(engine, 1)), lost("b", after=1)])))
    assert told(found) == (["add b@1.000001"], "proved")
    assert found is not None
    assert [(event.atom, event.start, event.end) for event in found.gained] == [("c", SECOND, SECOND + 1)]
    assert found.lost == ()


def test_what_blocks_is_removed_since_that_mends_the_nearer_attempt() -> None:
    engine = run("c <- (a seq b) cnot x.", [("a", 1), ("x", 2), ("b", 3)])
    a, x, b = (given(engine, number) for number in (1, 2, 3))
    near = attempt([here(a), here(b)], w.BlockedBy((x,)))
    far = attempt([lost("a", before=3), here(b)])
    assert told(repair(engine.core, "c", answer("c", far, near))) == (["remove x@2"], "proved")


def test_one_change_is_less_than_two() -> None:
    engine = run("c <- (a seq b) cnot x.", [("a", 1), ("x", 2), ("x", 2.5), ("b", 3)])
    a, x, y, b = (given(engine, number) for number in (1, 2, 3, 4))
    near = attempt([here(a), here(b)], w.BlockedBy((x, y)))
    far = attempt([here(a), lost("b", after=1)])
    found = repair(engine.core, "c", answer("c", near, far))
    assert told(found) == (["add b@1.000001"], "proved")
    found = repair(engine.core, "c", answer("c", near), interval=on(1, 3))
    assert told(found) == (["remove x@2", "remove x@2.5"], "proved")


def test_of_equal_moves_the_right_side_moves() -> None:
    engine = run("c(X) <- (p(X) seq q(X)) within 10.", [("p", 1, 0), ("q", 1, 12)])
    p, q = given(engine, 1), given(engine, 2)
    late = attempt([here(p), here(q)], w.TooLong(10 * SECOND, 12 * SECOND), X=1)
    assert told(repair(engine.core, "c(1)", answer("c(1)", late))) == (["move q(1) to 10"], "proved")
    engine = run("c(X) <- p(X) seq q(X).", [("q", 1, 0), ("p", 1, 1)])
    q, p = given(engine, 1), given(engine, 2)
    turned = attempt([here(p), here(q)], w.OutOfOrder("seq", p, q, SECOND), X=1)
    assert told(repair(engine.core, "c(1)", answer("c(1)", turned))) == (["move q(1) to 1.000001"], "proved")


def test_what_took_a_part_is_removed() -> None:
    rows = [("p", 1), ("p", 2), ("q", 3), ("q", 4), ("q", 5)]
    engine = run("c <- p seq q.", rows, "chronological")
    p, q = given(engine, 2), given(engine, 5)
    taken = attempt([here(p), here(q)], w.Withheld("consumed", p, (j.Occurred("c", (), *on(2, 4)),)))
    found = repair(engine.core, "c", answer("c", taken), between=on(5, 5))
    assert told(found) == (["remove q@4"], "proved")
    assert found is not None
    assert [(event.start, event.end) for event in (*found.gained, *found.lost)] == [on(2, 5), on(2, 4)]


def test_all_that_go_before_are_removed() -> None:
    engine = run("c <- p seq q.", [("p", 1), ("p", 1.5), ("p", 2), ("q", 3)], "recent")
    p, middle, last, q = (given(engine, number) for number in (1, 2, 3, 4))
    passed = attempt([here(p), here(q)], w.Withheld("not_chosen", p, (last, middle)))
    found = repair(engine.core, "c", answer("c", passed), interval=on(1, 3))
    assert told(found) == (["remove p@1.5", "remove p@2"], "proved")


def test_a_derived_part_is_made_by_the_repair_of_its_own() -> None:
    engine = run("d(X) <- a(X) seq b(X). c(X) <- d(X) seq e.", [("a", 7, 1), ("e", 4)])
    inner = answer("d(7)", attempt([here(given(engine, 1)), lost("b(7)", after=1, before=4)], X=7))
    outer = attempt([lost("d(7)", before=4, because=inner), here(given(engine, 2))], X=7)
    found = repair(engine.core, "c(7)", answer("c(7)", outer, rule="2"))
    assert told(found) == (["add b(7)@1.000001"], "proved")
    assert found is not None
    assert [event.atom for event in found.gained] == ["d(7)", "c(7)"]


def test_an_edge_closes_a_path() -> None:
    text = "r(X, Y) <- e(X, Y). r(X, Z) <- r(X, Y) and e(Y, Z)."
    engine = run(text, [("e", 1, 2, 1), ("e", 2, 3, 2), ("e", 1, 3, 2)])
    first = w.RuleAnswer("1", "", (attempt([lost("e(3, 1)")], X=3, Y=1),))
    second = w.RuleAnswer("2", "", (attempt([lost("r(3, Y)", note="needs itself"), lost("e(Y, 1)")], X=3, Z=1),))
    found = repair(engine.core, "r(3, 1)", w.WhyNot("r(3, 1)", (first, second)))
    assert told(found) == (["add e(3, 1)@2.000001"], "proved")


def test_values_solve_the_condition() -> None:
    text = "far(bern, rome). fraud(C) <- w(C, A) seq w(C, B) where far(A, B)."
    engine = run(text, [("w", "c", "basel", 1), ("w", "c", "bern", 2)])
    part = attempt([here(given(engine, 2)), lost("w(c, B)", after=2)], C="c", A="bern")
    assert told(repair(engine.core, "fraud(c)", answer("fraud(c)", part))) == (["add w(c, rome)@2.000001"], "proved")
    engine = run("hit(X) <- p seq q(X) where X > 7.", [("p", 1)])
    part = attempt([here(given(engine, 1)), lost("q(X)", after=1)])
    assert told(repair(engine.core, "hit(X)", answer("hit(X)", part))) == (["add q(8)@1.000001"], "proved")


def test_an_interval_is_added_where_no_instant_fits() -> None:
    engine = run("c <- a during b.", [("a", 2)])
    closed = w.TimeRange(None, bound(2)), w.TimeRange(bound(2), None)
    part = w.AttemptPart("b", None, *closed, pattern=parse_event_pattern("b", "<part>"))
    found = repair(engine.core, "c", answer("c", attempt([here(given(engine, 1)), part])))
    assert told(found) == (["add b@1.999999-2.000001"], "proved")


def test_parts_that_lack_together_follow_each_other() -> None:
    engine = run("c <- a seq b seq d.", [("a", 1), ("d", 3)])
    parts = [here(given(engine, 1)), lost("b", after=1, before=3), here(given(engine, 2))]
    assert told(repair(engine.core, "c", answer("c", attempt(parts)))) == (["add b@1.000001"], "proved")
    engine = run("c <- a seq b. other <- z.", [("z", 5)])
    found = repair(engine.core, "c", answer("c", attempt([lost("a"), lost("b")])))
    assert told(found) == (["add a@5.000001", "add b@5.000002"], "proved")


def test_a_fact_is_added_where_that_is_asked_for() -> None:
    text = ":- knowledge linked/2. m(A, B) <- p(A) seq q(B) where linked(A, B)."
    engine = run(text, [("p", "a", 1), ("q", "b", 4), ("linked", "a", "b", 5)])
    later = w.KnownLater(parse_term("linked(A, B)"), ((parse_term("linked(a, b)"), 5 * SECOND),))
    one = attempt([here(given(engine, 1)), here(given(engine, 2))], later, A="a", B="b")
    found = repair(engine.core, "m(a, b)", answer("m(a, b)", one), facts=True)
    assert told(found) == (["fact at 4"], "proved")


def test_an_element_of_the_difference_is_added() -> None:
    engine = run("s(R) <- o seq aggregate(sum(X), p(X), R).", [("o", 1), ("p", 2, 2), ("p", 3, 3)])
    part = w.AttemptPart("aggregate", j.Occurred("p", (), *on(2, 3)), count=2)
    wrong = w.WrongValue("9", ((5, 3 * SECOND), (2, 2 * SECOND)))
    found = repair(engine.core, "s(9)", answer("s(9)", attempt([here(given(engine, 1)), part], wrong, R=9)))
    assert told(found) == (["add p(4)@3.000001"], "proved")


def test_runs_are_bounded() -> None:
    engine = run("c <- a seq b.", [("a", 1)])
    assert repair(engine.core, "c", answer("c", attempt([here(given(engine, 1)), lost("b", after=1)])), limit=0) is None


def test_nothing_is_written_or_called_while_histories_are_run() -> None:
    program = etalis.compile("c <- a seq b do (write(made), tell(1)).")
    calls: list[int] = []
    program.register("tell", lambda x: calls.append(x) or True, 1)
    engine = program.engine(justification="full", output=lambda _: None)
    engine.push("a", at=1)
    found = repair(engine.core, "c", answer("c", attempt([here(given(engine, 1)), lost("b", after=1)])))
    assert told(found) == (["add b@1.000001"], "proved")
    assert calls == []


@pytest.mark.parametrize("policy", ["unrestricted", "chronological", "recent"])
def test_an_event_that_an_action_raises_follows_from_the_changed_history(policy: str) -> None:
    engine = run("r <- e do event(x(1)). y(Z) <- x(Z) seq f.", [("f", 5)], policy)
    outer = attempt([lost("e", before=5)])
    found = repair(engine.core, "y(1)", answer("y(1)", outer, rule="2"))
    assert told(found) == (["add e@4.999999"], "proved")


def test_a_repair_is_printed_and_read_back() -> None:
    engine = run("c <- (a seq b) cnot x.", [("a", 1), ("x", 2), ("b", 3)])
    a, x, b = (given(engine, number) for number in (1, 2, 3))
    asked = answer("c", attempt([here(a), here(b)], w.BlockedBy((x,))))
    found = repair(engine.core, "c", asked)
    assert str(found) == "repair: remove x at 2 (proved smallest)\n  gained: c [1, 3]"
    with_repair = replace(asked, repair=found)
    assert "\n  repair: remove x at 2 (proved smallest)" in str(with_repair)
    again = from_json(with_repair.to_json())
    assert isinstance(again, w.WhyNot)
    assert str(again.repair) == str(found)
    several = Repair(
        (MoveEvent(a, *on(4, 4)), AddEvent("b", (1,), *on(5, 6)), AddFact(parse_term("f(a)"), SECOND)),
        "irreducible", (), (j.Occurred("c", (), *on(1, 2)),), 7,
    )  # fmt: skip
    text = "repair: move a from 1 to 4, add b(1) on [5, 6], add the fact f(a) at 1 (nothing can be left out)"
    assert str(several) == f"{text}\n  lost: c [1, 2]"
    assert str(from_json(several.to_json())) == str(several)


CLOSURE = "r(X, Y) <- e(X, Y). r(X, Z) <- r(X, Y) and e(Y, Z)."
BLOCKED = "c <- (a seq b) cnot x."
TWICE = [("a", 1), ("x", 2), ("x", 2.5), ("b", 3)]
THRICE = "c <- a seq b ntimes 3 seq d."


@pytest.mark.parametrize(
    ("text", "rows", "question", "asked", "expected"),
    [
        ("c <- a seq b.", [("a", 1)], "c", {}, "add b at 1.000001"),
        (BLOCKED, [("a", 1), ("x", 2), ("b", 3)], "c", {}, "remove x at 2"),
        (BLOCKED, TWICE, "c", {}, "add b at 1.000001"),
        (BLOCKED, TWICE, "c", {"interval": (1, 3)}, "remove x at 2, remove x at 2.5"),
        ("c(X) <- (p(X) seq q(X)) within 10.", [("p", 1, 0), ("q", 1, 12)], "c(1)", {}, "move q(1) from 12 to 10"),
        ("c(X) <- p(X) seq q(X).", [("q", 1, 0), ("p", 1, 1)], "c(1)", {}, "move q(1) from 0 to 1.000001"),
        (CLOSURE, [("e", 1, 2, 1), ("e", 2, 3, 2), ("e", 1, 3, 2)], "r(3, 1)", {}, "add e(3, 1) at 2.000001"),
        (THRICE, [("a", 1), ("b", 2), ("d", 4)], "c", {}, "add b at 2.000001, add b at 2.000002"),
        ("c <- a seq (not b within 5).", [("a", 1), ("b", 3), ("a", 3.5)], "c", {"at": 6}, "remove b at 3"),
        ("s(R) <- o seq aggregate(sum(X), p(X), R).", [("o", 1), ("p", 2, 2)], "s(9)", {}, "add p(7) at 2.000001"),
    ],
)  # fmt: skip
def test_worked_examples(text: str, rows: Sequence[Row], question: str, asked: dict[str, Any], expected: str) -> None:
    engine = run(text, rows)
    engine.advance(to=20)
    answer = engine.why_not(question, **asked, repair=True)
    assert f"repair: {expected} (proved smallest)" in str(answer)
    assert str(engine.repair(question, **asked)) == str(answer.repair)
    assert engine.repair("nothing_makes_this") is None


@pytest.mark.parametrize(
    ("policy", "rows", "asked", "expected"),
    [
        ("chronological", [("p", 1), ("p", 2), ("q", 3), ("q", 4), ("q", 5)], {"at": 5}, "remove q at 4"),
        ("recent", [("p", 1), ("p", 1.5), ("p", 2), ("q", 3)], {"interval": (1, 3)}, "remove p at 1.5, remove p at 2"),
        ("snoop_recent", [("p", 1), ("p", 2), ("q", 3)], {"interval": (1, 3)}, "remove p at 2"),
    ],
)
def test_worked_examples_of_policies(policy: str, rows: Sequence[Row], asked: dict[str, Any], expected: str) -> None:
    engine = run("c <- p seq q.", rows, policy)
    assert f"repair: {expected} (proved smallest)" in str(engine.why_not("c", **asked, repair=True))


def test_changes_of_rules_and_facts_come_as_recorded() -> None:
    program = etalis.compile(":- dynamic(ok/1). c <- a seq b. d(X) <- p(X) where ok(X).")
    engine = program.engine(justification="full")
    engine.push("a", at=1)
    engine.insert_rule("z <- a seq y.")
    engine.push("a", at=2)
    engine.assert_fact("ok", 3)
    engine.push("p", 4, at=3)
    assert str(engine.repair("z")) == "repair: add y at 2.000001 (proved smallest)\n  gained: z [2, 2.000001]"
    assert engine.repair("d(4)") is None
    assert told(engine.repair("d(4)", facts=True)) == (["fact at 3"], "proved")
    assert told(engine.repair("d(_)")) == (["add p(3)@3.000001"], "proved")


def test_no_change_mends_what_waits_for_time() -> None:
    engine = run("c <- a seq (not b within 5). exceptionAlarm(late, 5) <- a.", [("a", 1)])
    engine.advance(to=4)
    assert engine.repair("c") is None
    assert engine.repair("late") is None


def test_values_of_other_keys_serve_where_a_key_has_no_events() -> None:
    text = "fraud(C) <- (w(C, A) seq w(C, B)) within 600 where (A \\= B, \\+ near(A, B)). near(basel, weil)."
    rows = [("w", "c1", "basel", 0), ("w", "c1", "weil", 60), ("w", "c1", "geneva", 90)]
    changes, status = told(run(text, rows).repair("fraud(c9)"))
    assert changes == ["add w(c9, basel)@90.000001", "add w(c9, geneva)@90.000002"]
    assert status == "proved"


def test_a_corrected_history_is_repaired_as_it_is_now() -> None:
    engine = run(":- set_flag(revision_flag, on). c <- a seq b.", [("a", 1), ("b", 2)])
    engine.retract("a", at=1)
    assert told(engine.repair("c")) == (["add a@1.999999"], "proved")
