"""Reactions as a host meets them: what engines raise, report, simulate, explain, and refuse."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

import etalis
from etalis.cli import app
from etalis.errors import ConditionError, Failure, InputError, LimitError, ProgramError
from etalis.testing.recorded_effects import RecordedEffects

ACCOUNTS = """
:- state account/2 key 1.
account(ann, 100). account(bob, 10).
action pay(A, B, M) :- take(A, M), give(B, M).
action take(A, M) :- account(A, X), X >= M, Y is X - M, set(account(A, Y)).
action give(A, M) :- account(A, X), Y is X + M, set(account(A, Y)).
pay rule: on order(A, B, M) do pay(A, B, M).
print_trigger(_).
"""


def accounts(engine: etalis.Engine) -> list[tuple[object, object]]:
    return [(row["A"], row["X"]) for row in engine.query("account(A, X)")]


def test_a_failure_goes_where_errors_of_conditions_go() -> None:
    told: list[ConditionError] = []
    engine = etalis.compile(ACCOUNTS).engine(on_error=told.append)
    engine.push("order", "ann", "bob", 300, at=5)
    assert [type(error) for error in told] == [Failure]
    assert engine.errors == told
    assert engine.error_count == 1
    assert "pay at 5 has no execution: X >= M with X = 100, M = 300" in str(engine.report())


def test_a_strict_engine_raises_and_goes_on() -> None:
    engine = etalis.compile(ACCOUNTS).engine(strict=True)
    with pytest.raises(ConditionError, match="E333: pay at 5 has no execution"):
        engine.push("order", "ann", "bob", 300, at=5)
    engine.push("order", "ann", "bob", 30, at=6)
    assert accounts(engine) == [("ann", 70), ("bob", 40)]


def test_what_a_cycle_did_stays_and_what_it_asked_for_is_dropped() -> None:
    text = """:- set_flag(max_reactions, 5).
    :- state n/1. n(0).
    again rule: on go do n(X) seq Y is X + 1 seq del(n(X)) seq ins(n(Y)) seq raise(go) seq raise(other)."""
    engine = etalis.compile(text).engine()
    with pytest.raises(LimitError, match="more than 5 reactions; the last: again"):
        engine.push("go", at=1)
    assert engine.query("n(X)") == [{"X": 5}]
    assert engine.push("other", at=2) == ()
    assert engine.query("n(X)") == [{"X": 5}]


def test_a_simulation_tells_the_path_and_changes_nothing() -> None:
    engine = etalis.compile(ACCOUNTS).engine()
    found = engine.simulate("pay(ann, bob, 30)")
    assert found
    assert found.path == ("set(account(ann,70))", "set(account(bob,40))")
    assert str(found) == "pay(ann, bob, 30):\n  set(account(ann,70))\n  set(account(bob,40))"
    assert accounts(engine) == [("ann", 100), ("bob", 10)]


def test_a_simulation_tells_how_far_an_action_gets() -> None:
    found = etalis.compile(ACCOUNTS).engine().simulate("pay(ann, zoe, 30) or abort")
    assert not found
    assert found.why == "no execution"
    assert str(found).splitlines()[-2:] == ["after", "  set(account(ann,70))"]


def test_a_simulation_binds_variables_and_makes_no_effect() -> None:
    sink = RecordedEffects()
    engine = etalis.compile(ACCOUNTS).engine(effects=sink)
    found = engine.simulate("account(Who, X) seq X < 50 seq effect(warn(Who)) seq raise(poor(Who))")
    assert found.bindings == {"Who": "bob", "X": 10}
    assert str(found).endswith("  effect(warn(bob))\n  raise(poor(bob))\nwith Who = bob, X = 10")
    assert (sink.lines, engine.push("nothing", at=1)) == ([], ())


@pytest.mark.parametrize(
    ("text", "code"),
    [("assert(p(1))", "E277"), ("ins(p(1))", "E271"), ("ins(account(X, 1))", "E276"), ("pay(ann seq", "E107")],
)
def test_what_no_program_could_do_is_not_simulated(text: str, code: str) -> None:
    with pytest.raises(ProgramError) as found:
        etalis.compile(ACCOUNTS).engine().simulate(text)
    assert found.value.code == code


def test_an_explanation_tells_what_reactions_do() -> None:
    told = etalis.compile(ACCOUNTS).explain()
    assert "reaction pay: given A, B, M, event at a time\n   do pay(A, B, M)\n└─ order(A, B, M)" in told
    assert "state\n  account/2  one fact for each value of the first 1" in told
    assert "actions\n  pay/3   1 clause" in told
    assert "one place for all events: rule pay: it may read and change state that others read" in told


def test_tables_are_run_event_at_a_time_and_it_is_said() -> None:
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"event": ["order"], "time": [1], "A": ["ann"], "B": ["bob"], "M": [30]})
    declared = ":- event(order('A': string, 'B': string, 'M': int)). d(A) <- order(A, _, _)."
    program = etalis.compile(ACCOUNTS.replace("print_trigger(_).", declared))
    assert "pay: reactions change what later conditions see" in program.explain(table)
    engine = program.engine()
    assert engine.detect(table).num_rows == 1
    assert accounts(engine) == [("ann", 70), ("bob", 40)]


@pytest.mark.parametrize("action", ["await(b within 5) seq skip", "raise(b, after(5))"])
def test_what_is_done_later_is_refused_where_matches_are_taken_back(action: str) -> None:
    with pytest.raises(ProgramError, match="E290: the reaction r waits, or raises later, which cannot be where"):
        etalis.compile(f"r rule: on a do {action} undo skip.", revision_flag="on")


def test_a_first_state_that_is_not_legal_is_refused() -> None:
    program = etalis.compile(ACCOUNTS + "always account(zoe, _).")
    with pytest.raises(ProgramError, match=r"E516: .*always account\(zoe, _\)"):
        program.engine()


def test_a_demand_that_raises_is_not_met() -> None:
    with pytest.raises(ProgramError, match=r"E516: .* raised .*nowhere/1"):
        etalis.compile(ACCOUNTS + "always nowhere(_).").engine()


def test_nobody_else_changes_state() -> None:
    program = etalis.compile(ACCOUNTS)
    engine = program.engine()
    with pytest.raises(InputError, match="E409"):
        engine.assert_fact("account", "zoe", 1)
    with pytest.raises(InputError, match="E409"):
        engine.reload("account", [("zoe", 1)])
    with pytest.raises(InputError, match="E409"):
        program.load_facts("account", [("zoe", 1)])


def test_reactions_are_neither_deleted_nor_changed_while_an_engine_runs() -> None:
    engine = etalis.compile(ACCOUNTS).engine()
    for change in (engine.delete_rule, lambda label: engine.set_property(label, "window", 5)):
        with pytest.raises(ProgramError, match="E230"):
            change("pay")
    engine.insert_rule("seen(A) <- order(A, _, _)")
    assert [str(e) for e in engine.push("order", "ann", "bob", 30, at=1)] == ["seen(ann) [1, 1]"]
    assert accounts(engine) == [("ann", 70), ("bob", 40)]


def test_callbacks_see_what_reactions_raise_and_may_push() -> None:
    text = ":- state n/1.\non a(X) do ins(n(X)) seq raise(b(X)).\nprint_trigger(b/1)."
    engine = etalis.compile(text).engine()
    seen: list[tuple[str, list[object]]] = []

    @engine.on("b")
    def note(event: etalis.Event) -> None:
        seen.append((str(event), [row["X"] for row in engine.query("n(X)")]))
        if event.args == (1,):
            engine.push("a", 2, at=2)

    engine.push("a", 1, at=1)
    assert seen == [("b(1) [1, 1]", [1]), ("b(2) [2, 2]", [1, 2])]


def test_a_run_prints_failures_as_errors_of_conditions(tmp_path: Path) -> None:
    (tmp_path / "orders.csv").write_text("time,event,A,B,M\n1,order,ann,bob,300\n")
    text = ACCOUNTS.replace("print_trigger(_).", ":- event(order('A': string, 'B': string, 'M': int)).")
    (tmp_path / "pay.etalis").write_text(text)
    found = CliRunner().invoke(app, ["run", str(tmp_path / "pay.etalis"), str(tmp_path / "orders.csv")])
    assert "pay at 1 has no execution: X >= M with X = 100, M = 300" in found.output
