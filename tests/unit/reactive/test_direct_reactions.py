"""Reactions with effects made at once: definition 24.45, 24.46 and 24.47, and what is said."""

from __future__ import annotations

import json
from typing import Any

import pytest

import etalis
from etalis.effects import dry, recording
from etalis.errors import InputError, OptionError, ProgramError
from helpers.receivers import Desk

UNDO = {"reserve": "release", "charge": "refund", "ship": "call_back", "visa": "unvisa", "giro": "ungiro", "a": "un_a"}
ORDER = """
:- state sold/1.
sale rule: on order(X) do ins(sold(X)) seq effect(reserve) seq effect(charge) seq effect(ship) seq raise(done(X)).
seen(X) <- done(X).
"""


def program(text: str, desk: Desk, *, retries: int = 2, names: tuple[str, ...] = (), **flags: object) -> etalis.Program:
    found = etalis.compile(text, name="shop", **flags)
    for name in (*UNDO, *names):
        found.effect(
            name, desk.function(name), compensate=desk.function(UNDO.get(name, f"un_{name}")), retries=retries, arity=0
        )
    return found


def test_effects_are_made_while_the_reaction_waits() -> None:
    desk = Desk()
    engine = program(ORDER, desk).engine()
    assert [event.name for event in engine.push("order", 1, at=5)] == ["seen"]
    assert desk.calls == ["reserve", "charge", "ship"]
    assert engine.query("sold(X)") == [{"X": 1}]
    assert engine.transactions() == ()


def test_what_was_made_is_compensated_and_the_state_stays() -> None:
    desk = Desk()
    desk.fail("ship")
    engine = program(ORDER, desk).engine()
    assert engine.push("order", 1, at=5) == ()
    assert desk.calls == ["reserve", "charge", "ship", "ship", "ship", "refund", "release"]
    assert (engine.query("sold(X)"), engine.transactions()) == ([], ())
    (failure,) = engine.errors
    assert isinstance(failure, etalis.errors.Failure)
    assert (failure.why, failure.reaction) == ("effect refused", "sale")
    assert "ship" in failure.failed
    assert failure.reached == ("ins(sold(1))", "effect(reserve)", "effect(charge)")


def test_keys_differ_and_are_the_same_on_a_second_run() -> None:
    first, second = Desk(), Desk()
    for desk in (first, second):
        program(ORDER, desk).engine().push("order", 1, at=5)
    keys = [key for several in first.keys.values() for key in several]
    assert len(set(keys)) == 3
    assert first.keys == second.keys


def test_an_edited_program_keeps_its_keys() -> None:
    first, second = Desk(), Desk()
    program(ORDER, first).engine().push("order", 1, at=5)
    edited = ORDER.replace("seq raise", "seq effect(a) seq raise").replace("(X)", "(Item)")
    program(f"other rule: on order(Y) do ins(sold(Y)).\n{edited}", second).engine().push("order", 1, at=5)
    assert {name: second.keys[name] for name in first.keys} == first.keys


def test_equal_matches_have_keys_of_their_own() -> None:
    desk = Desk()
    engine = program("r rule: on sold(I) do effect(a).", desk).engine()
    engine.push("sold", "rose", at=5)
    engine.push("sold", "rose", at=5)
    assert len(set(desk.keys["a"])) == 2


def test_another_way_is_taken_where_one_is_refused() -> None:
    desk = Desk()
    desk.refuse("visa")
    engine = program("pay rule: on order(X) do effect(visa) or effect(giro).", desk).engine()
    engine.push("order", 1, at=5)
    assert (desk.calls, engine.errors) == (["visa", "giro"], [])


def test_what_may_have_been_made_is_compensated_before_another_way_is_taken() -> None:
    desk = Desk()
    desk.lose("visa")
    engine = program("pay rule: on order(X) do effect(visa) or effect(giro).", desk, retries=0).engine()
    engine.push("order", 1, at=5)
    assert desk.calls == ["visa", "unvisa", "giro"]
    assert desk.keys["visa"] == desk.keys["unvisa"]


def test_what_is_refused_is_tried_in_no_other_order() -> None:
    desk = Desk()
    desk.refuse("charge")
    engine = program("pay rule: on order(X) do effect(a) par effect(charge).", desk).engine()
    engine.push("order", 1, at=5)
    assert desk.calls == ["a", "charge", "un_a"]
    assert len(engine.errors) == 1


def test_what_is_made_again_on_another_path_has_another_key() -> None:
    desk = Desk()
    desk.refuse("visa")
    text = "pay rule: on order(X) do (effect(a) seq effect(visa)) or (effect(a) seq effect(giro))."
    program(text, desk).engine().push("order", 1, at=5)
    assert desk.calls == ["a", "visa", "un_a", "a", "giro"]
    assert len(set(desk.keys["a"])) == 2


def test_a_compensation_that_fails_is_stuck_and_no_other_way_is_tried() -> None:
    desk = Desk()
    desk.lose("visa")
    desk.refuse("unvisa")
    engine = program("pay rule: on order(X) do effect(visa) or effect(giro).", desk, retries=0).engine()
    engine.push("order", 1, at=5)
    assert desk.calls == ["visa", "unvisa"]
    (stuck,) = engine.transactions()
    assert (stuck.state, stuck.label, [row.state for row in stuck.rows]) == ("stuck", "pay", ["stuck"])
    assert len(engine.errors) == 1
    engine.settle(stuck.id, "undone")
    assert engine.transactions() == ()
    with pytest.raises(InputError, match="E808"):
        engine.settle(stuck.id, "undone")


def test_what_is_stuck_is_kept_by_snapshots() -> None:
    desk = Desk()
    desk.lose("visa")
    desk.refuse("unvisa")
    shop = program("pay rule: on order(X) do effect(visa).", desk)
    engine = shop.engine()
    engine.push("order", 1, at=5)
    with pytest.warns(etalis.ReportWarning, match="W801"):
        again = shop.restore(engine.snapshot())
    assert again.transactions() == engine.transactions() != ()
    with pytest.raises(InputError, match="E808"):
        again.settle(again.transactions()[0].id, "forgotten")  # type: ignore[arg-type]


def test_it_is_said_that_effects_are_made_again_after_a_crash() -> None:
    desk = Desk()
    shop = program(ORDER, desk)
    engine = shop.engine()
    data = engine.snapshot()
    engine.push("order", 1, at=5)
    with pytest.warns(etalis.ReportWarning, match="W801.*made again, with the same keys"):
        again = shop.restore(data)
    again.push("order", 1, at=5)
    assert desk.calls == ["reserve", "charge", "ship"] * 2
    assert all(first == second for first, second in desk.keys.values())


@pytest.mark.filterwarnings("error::etalis.ReportWarning")
def test_nothing_is_said_where_nothing_is_made() -> None:
    desk = Desk()
    shop = program(ORDER, desk)
    data = shop.engine().snapshot()
    shop.restore(data, effects=dry(lambda line: None))
    plain = etalis.compile(":- state p/1. on a(X) do ins(p(X)).")
    plain.restore(plain.engine().snapshot())


def test_an_effect_that_nobody_makes_is_refused_when_the_engine_is_made() -> None:
    shop = etalis.compile(
        "r rule: on a(X) do effect(chrage(X)) seq effect(charge(X)).\naction f :- effect(book).", name="shop"
    )
    shop.effect("charge", lambda x, y, key: None)
    with pytest.raises(ProgramError) as raised:
        shop.engine()
    assert [problem.code for problem in raised.value.problems] == ["E802"] * 3
    assert "the effect chrage/1 is not registered" in str(raised.value)
    assert "did you mean charge?" in str(raised.value)
    assert "the effect charge has 1 arguments here, and is registered with 2" in str(raised.value)


def test_a_dry_run_needs_no_functions() -> None:
    lines: list[str] = []
    engine = etalis.compile(ORDER, name="shop").engine(effects=dry(lines.append))
    engine.push("order", 1, at=5)
    assert [line.partition(", key")[0] for line in lines] == [
        "effect reserve [5, 5] of sale",
        "effect charge [5, 5] of sale",
        "effect ship [5, 5] of sale",
    ]
    assert engine.query("sold(X)") == [{"X": 1}]


def test_a_recording_has_the_keys_of_a_real_run() -> None:
    lines: list[Any] = []
    desk = Desk()
    etalis.compile(ORDER, name="shop").engine(effects=recording(lines.append)).push("order", 1, at=5)
    program(ORDER, desk).engine().push("order", 1, at=5)
    assert [[json.loads(line)["key"]] for line in lines] == [desk.keys[name] for name in ("reserve", "charge", "ship")]


def test_effects_of_else_have_keys_of_their_own() -> None:
    desk = Desk()
    text = "r rule: on order(X) if X > 1 do effect(a) else effect(a)."
    engine = program(text, desk).engine()
    engine.push("order", 1, at=5)
    other = Desk()
    program(text.replace("X > 1", "X > 0"), other).engine().push("order", 1, at=5)
    assert desk.keys["a"] != other.keys["a"]


def test_an_engine_without_an_outbox_commits_nothing() -> None:
    with pytest.raises(OptionError, match="E809"):
        program(ORDER, Desk()).engine().commit()
