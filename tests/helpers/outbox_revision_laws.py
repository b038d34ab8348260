"""What an engine with an outbox keeps where matches are taken back: subclasses have a fixture `outbox`.

A brokerage, whose events are revoked when its trade is. Definition 24.50.
"""

from __future__ import annotations

import pytest

import etalis
from etalis.reactive.outbox.outbox import Outbox
from helpers.outbox_laws import Clock
from helpers.receivers import Desk

BROKERAGE = r"""
:- set_flag(revision_flag, on). :- set_flag(revision_window, 1000).
:- state stock/3 key 1, account/2 key 1, known/2.
:- event(offer(id: string, price: float, amount: int)).
:- event(want(client: string, id: string, amount: int)).
b([property(policy, snoop_recent)]) rule: buy(C, Id, P, N) <- offer(Id, P, A) seq want(C, Id, N) where N =< A.
trade rule: on buy(C, Id, P, N)
            do iso(reserve(Id, N, Old, New) seq pay(C, P, N)) seq raise(balance_change(C, Id, Old, New))
            undo release(Id, N) seq repay(C, P, N).
action reserve(Id, N, Old, New) :- stock(Id, P, Old), Old >= N, New is Old - N, set(stock(Id, P, New)).
action pay(C, P, N) :- Sum is P * N, account(C, B), B >= Sum, R is B - Sum, set(account(C, R)), effect(book(C, Sum)).
action release(Id, N) :- stock(Id, P, A), B is A + N, set(stock(Id, P, B)).
action repay(C, P, N) :- account(C, B), R is B + P * N, set(account(C, R)).
always \+ (stock(_, _, A), A < 0).
big_trade(C, Id) <- buy(C, Id, _, _) meets balance_change(C, Id, Old, New) where Old - New > 10000.
big rule: on big_trade(C, Id) do effect(investigate(C, Id)) undo skip.
print_trigger(_).
stock(rose, 2.0, 20000). account(ann, 50000.0).
"""


class Brokerage:
    """The program with its outbox, what is outside, and a clock."""

    def __init__(self, outbox: Outbox) -> None:
        self.outbox, self.desk, self.clock = outbox, Desk(), Clock()
        self.program = etalis.compile(BROKERAGE, name="brokerage")
        desk = self.desk
        self.program.effect("book", desk.function("book"), compensate=desk.function("unbook"), retries=0, arity=2)
        self.program.effect(
            "investigate", desk.function("investigate"), compensate=desk.function("call off"), retries=0, arity=2
        )

    def deliver(self) -> list[str]:
        self.outbox.deliver(self.program, once=True, clock=self.clock, wait=self.clock.wait)
        return self.desk.taken()

    def bought(self) -> etalis.Engine:
        """Return an engine after a trade, which is not committed."""
        engine = self.program.engine(outbox=self.outbox)
        engine.push("offer", "rose", 2.0, 20_000, at=1)
        found = engine.push("want", "ann", "rose", 15_000, at=2)
        assert [(event.name, event.sign) for event in found] == [("buy", 1), ("balance_change", 1), ("big_trade", 1)]
        assert facts(engine) == (5_000, 20_000.0)
        return engine


def facts(engine: etalis.Engine) -> tuple[object, object]:
    (stock,), (account,) = engine.query("stock(rose, _, N)"), engine.query("account(ann, B)")
    return stock["N"], account["B"]


class OutboxRevisionLaws:
    """Tests of what is taken back."""

    @pytest.fixture
    def brokerage(self, outbox: Outbox) -> Brokerage:
        return Brokerage(outbox)

    def test_what_cannot_be_delivered_is_undone_with_the_events_that_it_raised(self, brokerage: Brokerage) -> None:
        brokerage.desk.refuse("book")
        engine = brokerage.bought()
        engine.commit(2)
        assert brokerage.deliver() == ["book(ann, 30000.0)", "investigate(ann, rose)"]
        found = engine.commit(2)
        told = [(event.name, event.sign) for event in found]
        assert told == [("undelivered", 1), ("balance_change", -1), ("big_trade", -1)]
        assert facts(engine) == (20_000, 50_000.0)
        engine.commit(2)
        assert brokerage.deliver() == ["call off(ann, rose)"]
        assert engine.transactions() == ()

    @pytest.mark.parametrize("is_delivered", [True, False])
    def test_what_is_taken_back_is_undone_and_compensated(self, brokerage: Brokerage, is_delivered: bool) -> None:
        engine = brokerage.bought()
        if is_delivered:
            engine.commit(2)
            assert brokerage.deliver() == ["book(ann, 30000.0)", "investigate(ann, rose)"]
            engine, _ = brokerage.outbox.restore(brokerage.program)
        found = engine.retract("want", "ann", "rose", 15_000, at=2)
        assert sorted((event.name, event.sign) for event in found) == [
            ("balance_change", -1), ("big_trade", -1), ("buy", -1),
        ]  # fmt: skip
        assert facts(engine) == (20_000, 50_000.0)
        engine.commit(3)
        made = brokerage.deliver()
        assert made == (["unbook(ann, 30000.0)", "call off(ann, rose)"] if is_delivered else [])
        engine.commit(3)
        assert engine.transactions() == ()

    def test_a_match_that_is_made_again_equal_is_no_change(self, brokerage: Brokerage) -> None:
        engine = brokerage.bought()
        engine.commit(2)
        brokerage.deliver()
        engine.push("want", "bob", "lily", 1, at=2)
        assert engine.retract("want", "bob", "lily", 1, at=2) == ()
        engine.commit(3)
        assert brokerage.deliver() == []
        assert facts(engine) == (5_000, 20_000.0)

    def test_another_amount_is_undone_and_done_anew(self, brokerage: Brokerage) -> None:
        engine = brokerage.bought()
        engine.commit(2)
        brokerage.deliver()
        engine.correct("want", "ann", "rose", 15_000, at=2, to=("want", "ann", "rose", 1_000, 2))
        assert facts(engine) == (19_000, 48_000.0)
        engine.commit(3)
        assert sorted(brokerage.deliver()) == ["book(ann, 2000.0)", "call off(ann, rose)", "unbook(ann, 30000.0)"]
