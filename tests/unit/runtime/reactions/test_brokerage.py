"""A program as users would write it: offers, trades that are reserved and paid for or not at all, and a promise."""

from __future__ import annotations

import pytest

import etalis
from etalis.engine import Engine
from etalis.errors import Failure
from etalis.testing.recorded_effects import RecordedEffects

BROKERAGE = """
:- state stock/3 key 1, account/2 key 1.
:- event(offer(id: string, price: float, amount: int)).
:- event(want(client: string, id: string, amount: int)).
:- event(shipped(client: string, id: string)).

b([property(policy, snoop_recent)]) rule: buy(C, Id, P, N) <- offer(Id, P, A) seq want(C, Id, N) where N =< A.

trade rule: on buy(C, Id, P, N)
            do iso(reserve(Id, N, Old, New) seq pay(C, P, N)) seq raise(balance_change(C, Id, Old, New))
            undo release(Id, N) seq repay(C, P, N).

action reserve(Id, N, Old, New) :- stock(Id, P, Old), Old >= N, New is Old - N, set(stock(Id, P, New)).
action pay(C, P, N) :- Sum is P * N, account(C, B), B >= Sum, R is B - Sum, set(account(C, R)), effect(book(C, Sum)).
action release(Id, N) :- stock(Id, P, A), B is A + N, set(stock(Id, P, B)).
action repay(C, P, N) :- account(C, B), R is B + P * N, set(account(C, R)).

always \\+ (stock(_, _, A), A < 0).
big_trade(C, Id) <- buy(C, Id, _, _) meets balance_change(C, Id, Old, New) where Old - New > 3.
constraint promised: buy(C, Id, _, _) requires shipped(C, Id) after within 86400.
sorry rule: on violated(promised, C, Id) if account(C, _) do effect(apologise(C, Id)).

stock(rose, 2.0, 10).
account(ann, 30.0).
"""


@pytest.fixture
def broker() -> tuple[Engine, RecordedEffects]:
    sink = RecordedEffects()
    return etalis.compile(BROKERAGE).engine(effects=sink), sink


def test_a_trade_is_reserved_and_paid_for(broker: tuple[Engine, RecordedEffects]) -> None:
    engine, sink = broker
    engine.push("offer", "rose", 2.0, 5, at=1)
    found = engine.push("want", "ann", "rose", 4, at=2)
    assert [str(e) for e in found] == ["buy(ann, rose, 2.0, 4) [1, 2]", "big_trade(ann, rose) [1, 2]"]
    assert engine.query("stock(rose, P, N)") == [{"P": 2.0, "N": 6}]
    assert engine.query("account(ann, B)") == [{"B": 22.0}]
    assert sink.lines == ["book(ann,8.0)"]


def test_what_was_not_offered_is_not_bought(broker: tuple[Engine, RecordedEffects]) -> None:
    engine, _ = broker
    engine.push("offer", "rose", 2.0, 5, at=1)
    assert engine.push("want", "ann", "rose", 20, at=2) == ()
    assert engine.errors == []


def test_what_is_not_in_stock_changes_nothing_and_says_why(broker: tuple[Engine, RecordedEffects]) -> None:
    engine, sink = broker
    engine.push("offer", "rose", 2.0, 20, at=1)
    found = engine.push("want", "ann", "rose", 20, at=2)
    assert [str(e) for e in found] == ["buy(ann, rose, 2.0, 20) [1, 2]"]
    assert engine.query("stock(rose, _, N), account(ann, B)") == [{"N": 10, "B": 30.0}]
    assert sink.lines == []
    (failure,) = engine.errors
    assert isinstance(failure, Failure)
    assert (failure.reaction, failure.interval, failure.why) == ("trade", (1, 2), "no execution")
    assert failure.failed == "Old >= N with Old = 10, N = 20"
    assert failure.bindings == {"C": "ann", "Id": "rose", "P": 2.0, "N": 20}
    assert failure.reached == ()
    assert str(failure).startswith(
        "error E515: trade on [1, 2] has no execution: Old >= N with Old = 10, N = 20 (C = ann, Id = rose, P = 2.0"
    )


def test_a_promise_that_was_not_kept_is_a_reason_to_react(broker: tuple[Engine, RecordedEffects]) -> None:
    engine, sink = broker
    engine.push("offer", "rose", 2.0, 5, at=1)
    engine.push("want", "ann", "rose", 1, at=2)
    engine.push("want", "ann", "rose", 1, at=100)
    engine.push("shipped", "ann", "rose", at=101)
    assert [e.name for e in engine.advance(to=200_000)] == []
    engine.push("want", "ann", "rose", 1, at=300_000)
    assert [str(e) for e in engine.close()] == ["violated(promised, ann, rose) [1, 386400]"]
    assert sink.lines == ["book(ann,2.0)", "book(ann,2.0)", "book(ann,2.0)", "apologise(ann,rose)"]
