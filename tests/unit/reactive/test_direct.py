"""Effects made while a reaction waits: order, tries, compensations (definition 24.45, 24.46 and 24.47)."""

from __future__ import annotations

from dataclasses import replace

from etalis import Refused, Unknown
from etalis.data.values import Struct, to_value
from etalis.reactive.effects.direct import DirectSink
from etalis.reactive.effects.registry import EffectRegistry
from etalis.reactive.effects.transaction import Cause, Transaction, make_transaction
from helpers.receivers import Desk

CAUSE = Cause("shop", "sell", 1, (), (0, 0))
UNDO = {"reserve": "release", "charge": "refund", "ship": "call_back"}


def perform(desk: Desk, *calls: object, retries: int = 3, without: tuple[str, ...] = ()) -> Transaction:
    registry = EffectRegistry()
    for name, undo in UNDO.items():
        compensate = None if name in without else desk.function(undo)
        registry.register(name, desk.function(name), compensate, retries)
    return DirectSink(registry).perform(make_transaction(CAUSE, calls))


def states(transaction: Transaction) -> list[str]:
    return [row.state for row in transaction.rows]


def test_effects_are_made_in_the_order_of_the_path() -> None:
    desk = Desk()
    done = perform(desk, "reserve", Struct("charge", ("ann", to_value(8.0))), "ship")
    assert desk.calls == ["reserve", "charge(ann, 8.0)", "ship"]
    assert (done.state, states(done), done.failed) == ("done", ["made"] * 3, None)
    assert len({key for keys in desk.keys.values() for key in keys}) == 3


def test_what_was_made_is_compensated_last_first() -> None:
    desk = Desk()
    desk.fail("ship")
    done = perform(desk, "reserve", "charge", "ship", retries=2)
    assert desk.calls == ["reserve", "charge", "ship", "ship", "ship", "refund", "release"]
    assert (done.state, states(done)) == ("failed", ["compensated", "compensated", "failed"])
    assert done.failed_row is not None
    assert (done.failed_row.call, done.failed_row.error) == ("ship", "OSError: down")


def test_a_compensation_has_the_key_of_what_it_compensates() -> None:
    desk = Desk()
    desk.fail("ship")
    perform(desk, "reserve", "charge", "ship")
    assert desk.keys["refund"] == desk.keys["charge"]
    assert desk.keys["release"] == desk.keys["reserve"]
    assert len(set(desk.keys["ship"])) == 1


def test_an_effect_is_tried_again_until_it_is_made() -> None:
    desk = Desk()
    desk.fail("charge", times=3)
    assert perform(desk, "charge").state == "done"
    assert desk.calls == ["charge"] * 4


def test_what_is_refused_is_not_tried_again() -> None:
    desk = Desk()
    desk.refuse("charge")
    done = perform(desk, "reserve", "charge", "ship")
    assert desk.calls == ["reserve", "charge", "release"]
    assert states(done) == ["compensated", "failed", "dropped"]


def test_what_may_have_happened_is_compensated_too() -> None:
    desk = Desk()
    desk.lose("charge")
    done = perform(desk, "charge", retries=1)
    assert desk.calls == ["charge", "charge", "refund"]
    assert (done.state, states(done)) == ("failed", ["compensated"])


def test_one_uncertain_try_is_enough() -> None:
    desk = Desk(answers={"charge": [Unknown(), Refused()]})
    perform(desk, "charge")
    assert desk.calls == ["charge", "charge", "refund"]
    desk = Desk(answers={"charge": [Unknown(), None]})
    assert perform(desk, "charge").state == "done"


def test_what_nothing_compensates_stands() -> None:
    desk = Desk()
    desk.refuse("ship")
    done = perform(desk, "reserve", "charge", "ship", without=("charge",))
    assert desk.calls == ["reserve", "charge", "ship", "release"]
    assert (done.state, states(done)) == ("failed", ["compensated", "stands", "failed"])


def test_a_compensation_that_fails_is_stuck_and_the_others_go_on() -> None:
    desk = Desk()
    desk.refuse("ship")
    desk.fail("refund")
    done = perform(desk, "reserve", "charge", "ship", retries=1)
    assert desk.calls == ["reserve", "charge", "ship", "refund", "refund", "release"]
    assert (done.state, states(done)) == ("stuck", ["compensated", "stuck", "failed"])
    assert done.rows[1].error == "OSError: down"


def test_to_undo_a_transaction_compensates_each_effect_once() -> None:
    desk = Desk()
    registry = EffectRegistry()
    registry.register("charge", desk.function("charge"), desk.function("refund"))
    sink = DirectSink(registry)
    made = sink.perform(make_transaction(CAUSE, ["charge", "charge"]))
    undone = sink.undo(made)
    assert desk.calls == ["charge", "charge", "refund", "refund"]
    assert desk.keys["refund"] == [*reversed(desk.keys["charge"])]
    assert (undone.state, states(undone)) == ("undone", ["compensated"] * 2)
    assert sink.undo(undone) == undone
    assert sink.undo(replace(undone, rows=())).state == "undone"
