"""What every outbox keeps, whatever database it is in: subclasses have a fixture `outbox`.

Definition 24.48.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from etalis.data.values import Struct, Value, to_value
from etalis.effects import recording
from etalis.errors import InputError
from etalis.reactive.effects.registry import EffectRegistry
from etalis.reactive.effects.transaction import Cause, Transaction, make_transaction
from etalis.reactive.outbox.commit_log import Commit, CommitLog
from etalis.reactive.outbox.outbox import Outbox
from helpers.receivers import Desk


def transaction(label: str, *calls: Value, match: int = 1) -> Transaction:
    return make_transaction(Cause("shop", label, 1, (), (0, 0), match), calls)


class Clock:
    """A clock that goes on when somebody waits."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.waits: list[float] = []

    def __call__(self) -> float:
        return self.now

    def wait(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds


class Shop:
    """An outbox with what an engine commits to, what is outside, and a clock."""

    def __init__(self, outbox: Outbox) -> None:
        self.outbox = outbox
        self.log = outbox.log("shop")
        self.log.claim()
        self.desk = Desk()
        self.clock = Clock()
        self.registry = EffectRegistry()
        self.count = 0
        for name, undo in {"a": "undo_a", "b": "undo_b", "c": "undo_c", "pay": "repay"}.items():
            self.registry.register(name, self.desk.function(name), self.desk.function(undo), retries=2)
        self.registry.register("note", self.desk.function("note"))

    def commit(self, *made: Transaction, undone: Sequence[Transaction] = (), position: Any = None) -> None:
        self.count += 1
        what = Commit([(t, None) for t in made], [t.id for t in undone])
        self.log.commit(what, b"state %d" % self.count, is_delta=self.count > 1, position=position)

    def deliver(self, **options: Any) -> list[str]:
        """Deliver what is due; return the calls of this time."""
        self.outbox.deliver(self.registry, once=True, clock=self.clock, wait=self.clock.wait, **options)
        return self.desk.taken()

    def later(self, seconds: float, **options: Any) -> list[str]:
        self.clock.now += seconds
        return self.deliver(**options)

    def ends(self) -> dict[str, str]:
        """Return how transactions ended, as an engine hears it."""
        return {news.id: news.state for news in self.log.news(0)}

    def states(self, of: Transaction) -> list[str]:
        return [row.state for row in self.log.with_states([of])[0].rows]


class OutboxLaws:
    """Tests of an outbox."""

    @pytest.fixture
    def shop(self, outbox: Outbox) -> Iterator[Shop]:
        shop = Shop(outbox)
        yield shop
        shop.log.close()

    # what is saved

    def test_what_was_saved_last_goes_on(self, outbox: Outbox, shop: Shop) -> None:
        assert shop.log.saved() is None
        for position in (0, {"topic": [1, 2.5]}, "x"):
            shop.commit(position=position)
        saved = shop.log.saved()
        assert saved is not None
        assert (saved.data, saved.position) == ((b"state 1", b"state 2", b"state 3"), "x")

    def test_a_whole_snapshot_takes_the_place_of_what_was_before(self, shop: Shop) -> None:
        shop.commit()
        shop.commit()
        shop.log.commit(Commit(), b"whole", is_delta=False, position=7)
        shop.commit(position=8)
        saved = shop.log.saved()
        assert saved is not None
        assert (saved.data, saved.position) == ((b"whole", b"state 3"), 8)

    def test_an_engine_that_another_has_followed_is_refused(self, outbox: Outbox, shop: Shop) -> None:
        shop.commit(position=1)
        second = outbox.log("shop")
        second.claim()
        with pytest.raises(InputError, match="E806"):
            shop.commit(transaction("sell", "a"), position=2)
        assert shop.deliver() == []
        saved = second.saved()
        assert saved is not None
        assert saved.position == 1
        second.close()

    @pytest.mark.parametrize("position", [{1: 2}, (1, 2), object(), {1}])
    def test_a_position_that_json_does_not_hold_is_refused(self, shop: Shop, position: Any) -> None:
        with pytest.raises(InputError, match="E807"):
            shop.commit(position=position)

    def test_programs_do_not_see_each_other(self, outbox: Outbox, shop: Shop) -> None:
        shop.commit(transaction("sell", "a"), position=1)
        other = outbox.log("other")
        other.claim()
        assert (other.saved(), other.news(0)) == (None, [])
        shop.deliver()
        assert other.news(0) == []
        other.close()

    # delivery

    def test_effects_are_delivered_in_order_after_the_commit(self, shop: Shop) -> None:
        first, second = transaction("sell", "a", "b"), transaction("buy", "c")
        assert shop.deliver() == []
        shop.commit(first, second)
        assert shop.deliver() == ["a", "b", "c"]
        assert shop.deliver() == []
        assert shop.ends() == {first.id: "done", second.id: "done"}
        assert shop.states(first) == ["made", "made"]

    def test_arguments_and_keys_arrive_as_they_were(self, shop: Shop) -> None:
        seen: list[Any] = []
        shop.registry.register("f", lambda *args, key: seen.append((args, key)))
        args = (1, 1.0, 0.1, "é\ud800\0'", [1, [2.0]], Struct("g", [to_value(1.0), ("x",)]), 10**40, float("inf"))
        made = transaction("sell", Struct("f", tuple(map(to_value, args))))
        shop.commit(made)
        shop.deliver()
        ((found, key),) = seen
        assert key == made.rows[0].key
        assert found == (
            1,
            1.0,
            0.1,
            "é\ud800\0'",
            (1, (2.0,)),
            Struct("g", (to_value(1.0), ("x",))),
            10**40,
            float("inf"),
        )
        assert list(map(type, found[:3])) == [int, float, float]

    def test_rows_that_come_again_are_not_delivered_again(self, shop: Shop) -> None:
        sale = transaction("sell", "a", "b")
        shop.commit(sale)
        assert shop.deliver() == ["a", "b"]
        shop.commit(sale, transaction("buy", "c"))
        assert shop.deliver() == ["c"]

    def test_the_end_of_what_comes_again_is_told_again(self, shop: Shop) -> None:
        sale = transaction("sell", "a")
        shop.commit(sale)
        shop.deliver()
        heard = max(news.change for news in shop.log.news(0))
        assert shop.log.news(heard) == []
        shop.commit(sale)
        assert [(news.id, news.state) for news in shop.log.news(heard)] == [(sale.id, "done")]

    def test_retries_wait_twice_as_long_each_time(self, shop: Shop) -> None:
        shop.desk.fail("a", times=2)
        sale = transaction("sell", "a", "b")
        shop.commit(sale)
        assert shop.deliver() == ["a"]
        assert shop.later(0.9) == []
        assert shop.later(0.1) == ["a"]
        assert shop.later(1.9) == []
        assert shop.later(0.1) == ["a", "b"]
        assert shop.ends() == {sale.id: "done"}

    def test_a_retry_holds_up_its_own_transaction_alone(self, shop: Shop) -> None:
        shop.desk.fail("a", times=1)
        shop.commit(transaction("sell", "a", "b"), transaction("buy", "c"))
        assert shop.deliver() == ["a", "c"]
        assert shop.later(1) == ["a", "b"]

    def test_nothing_overtakes_a_retry_where_order_is_all(self, shop: Shop) -> None:
        shop.desk.fail("a", times=1)
        shop.commit(transaction("sell", "a", "b"), transaction("buy", "c"))
        assert shop.deliver(order="all") == ["a"]
        assert shop.later(0.5, order="all") == []
        assert shop.later(0.5, order="all") == ["a", "b", "c"]

    def test_a_loop_waits_until_something_is_due(self, outbox: Outbox, shop: Shop) -> None:
        shop.desk.fail("a", times=2)
        shop.commit(transaction("sell", "a"))
        stopped = iter([False] * 40 + [True] * 9)

        class Stop:
            def is_set(self) -> bool:
                return next(stopped)

        made = outbox.deliver(shop.registry, stop=Stop(), clock=shop.clock, wait=shop.clock.wait, poll=5)  # type: ignore[arg-type]
        assert (made, shop.desk.calls) == (1, ["a"] * 3)
        assert shop.clock.waits[:4] == [1.0, 2.0, 5, 5]

    def test_what_was_recorded_can_be_delivered(self, outbox: Outbox, shop: Shop) -> None:
        lines: list[str] = []
        sale = transaction("sell", "a", Struct("pay", ("ann", to_value(2.0), (1,))))
        recording(lines.append).perform(sale)
        for calls in (["a", "pay(ann, 2.0, (1,))"], []):
            outbox.add(map(json.loads, lines), program="shop")
            assert shop.deliver() == calls
        assert shop.states(sale) == ["made", "made"]
        assert shop.desk.keys["a"] == [sale.rows[0].key]

    # what fails for good

    def test_what_was_delivered_is_compensated_where_one_fails_for_good(self, shop: Shop) -> None:
        shop.desk.refuse("c")
        sale, other = transaction("sell", "a", "b", "c", "pay"), transaction("buy", "note")
        shop.commit(sale, other)
        assert shop.deliver() == ["a", "b", "c", "note", "undo_b", "undo_a"]
        (failed,) = [news for news in shop.log.news(0) if news.state == "failed"]
        assert (failed.id, failed.failed) == (sale.id, sale.rows[2].key)
        assert shop.states(sale) == ["compensated", "compensated", "failed", "dropped"]
        assert shop.desk.keys["undo_a"] == shop.desk.keys["a"]
        assert shop.log.with_states([sale])[0].rows[2].error == "Refused: no"

    def test_it_has_failed_when_it_was_tried_often_enough(self, shop: Shop) -> None:
        shop.desk.fail("a")
        sale = transaction("sell", "a")
        shop.commit(sale)
        assert [shop.deliver(), shop.later(1), shop.later(2), shop.later(9)] == [["a"], ["a"], ["a"], []]
        assert shop.ends() == {sale.id: "failed"}

    def test_what_may_have_been_delivered_is_compensated(self, shop: Shop) -> None:
        shop.desk.lose("b")
        sale = transaction("sell", "a", "b")
        shop.commit(sale)
        assert [*shop.deliver(), *shop.later(1), *shop.later(2)] == ["a", "b", "b", "b", "undo_b", "undo_a"]
        assert shop.states(sale) == ["compensated", "compensated"]
        assert shop.ends() == {sale.id: "failed"}

    def test_a_compensation_is_tried_again_and_then_stuck(self, shop: Shop) -> None:
        shop.desk.refuse("c")
        shop.desk.fail("undo_b")
        sale = transaction("sell", "a", "note", "b", "c")
        shop.commit(sale)
        assert shop.deliver() == ["a", "note", "b", "c", "undo_b"]
        assert shop.later(1) == ["undo_b"]
        assert shop.later(2) == ["undo_b", "undo_a"]
        assert shop.ends() == {sale.id: "stuck"}
        assert shop.states(sale) == ["compensated", "stands", "stuck", "failed"]

    def test_an_effect_that_nobody_makes_waits(self, shop: Shop) -> None:
        sale = transaction("sell", "a", "unheard")
        shop.commit(sale, transaction("buy", "c"))
        assert shop.deliver() == ["a", "c"]
        assert "nobody makes unheard/0" in shop.log.with_states([sale])[0].rows[1].error
        shop.registry.register("unheard", shop.desk.function("unheard"))
        assert shop.later(59) == []
        assert shop.later(1) == ["unheard"]

    # what is undone

    def test_what_is_undone_is_dropped_where_it_was_not_delivered(self, shop: Shop) -> None:
        sale = transaction("sell", "a", "b")
        shop.commit(sale)
        shop.commit(undone=[sale])
        assert shop.deliver() == []
        assert shop.states(sale) == ["dropped", "dropped"]
        assert shop.ends() == {sale.id: "undone"}

    def test_what_is_undone_is_compensated_where_it_was_delivered(self, shop: Shop) -> None:
        sale = transaction("sell", "a", "b")
        shop.commit(sale)
        shop.deliver()
        shop.commit(undone=[sale])
        assert shop.deliver() == ["undo_b", "undo_a"]
        shop.commit(undone=[sale])
        assert shop.deliver() == []

    def test_what_waits_for_a_retry_is_undone_at_once(self, shop: Shop) -> None:
        shop.desk.lose("b")
        sale = transaction("sell", "a", "b", "c")
        shop.commit(sale)
        shop.deliver()
        shop.commit(undone=[sale])
        assert shop.deliver() == ["undo_b", "undo_a"]
        assert shop.states(sale) == ["compensated", "compensated", "dropped"]

    def test_what_undoes_waits_for_the_compensation(self, shop: Shop) -> None:
        sale = transaction("sell", "a")
        shop.commit(sale)
        shop.deliver()
        shop.desk.fail("undo_a", times=1)
        undo = transaction("sell", "b", match=2)
        shop.log.commit(Commit([(undo, sale.id)], [sale.id]), b"x", is_delta=True, position=None)
        assert shop.deliver() == ["undo_a"]
        assert shop.later(1) == ["undo_a", "b"]

    def test_a_transaction_that_is_undone_while_it_is_delivered_is_compensated(self, shop: Shop) -> None:
        sale = transaction("sell", "f", "b")
        shop.registry.register("f", lambda key: shop.commit(undone=[sale]), shop.desk.function("undo_f"), arity=0)
        shop.commit(sale)
        assert shop.deliver() == ["undo_f"]
        assert shop.states(sale) == ["compensated", "dropped"]

    # who delivers

    def test_one_delivers_at_a_time(self, outbox: Outbox, shop: Shop) -> None:
        inner: list[int] = []

        def deliver_meanwhile(*, key: str) -> None:
            inner.append(outbox.deliver(shop.registry, once=True, clock=shop.clock))

        shop.registry.register("f", deliver_meanwhile, arity=0)
        shop.commit(transaction("sell", "f"), transaction("buy", "c"))
        assert (shop.deliver(), inner) == (["c"], [0])

    def test_a_lease_that_was_not_renewed_ends(self, outbox: Outbox, shop: Shop) -> None:
        class Gone(BaseException):
            """A process that ends."""

        def end(*, key: str) -> None:
            raise Gone

        shop.registry.register("f", end, shop.desk.function("undo_f"), arity=0)
        sale = transaction("sell", "a", "f")
        shop.commit(sale, transaction("buy", "c"))
        with pytest.raises(Gone):
            shop.deliver(lease=10)
        assert shop.desk.taken() == ["a"]
        shop.registry.register("f", shop.desk.function("f"), shop.desk.function("undo_f"), arity=0)
        assert shop.later(10) == []
        assert shop.later(0.1) == ["f", "c"]
        assert shop.states(sale) == ["made", "made"]

    def test_what_the_deliverer_ended_in_may_have_been_made(self, outbox: Outbox, shop: Shop) -> None:
        def end(*, key: str) -> None:
            raise KeyboardInterrupt

        shop.registry.register("f", end, shop.desk.function("undo_f"), arity=0)
        sale = transaction("sell", "f")
        shop.commit(sale)
        with pytest.raises(KeyboardInterrupt):
            shop.deliver()
        shop.desk.refuse("f")
        shop.registry.register("f", shop.desk.function("f"), shop.desk.function("undo_f"), arity=0)
        assert shop.later(31) == ["f", "undo_f"]

    def test_an_effect_that_ends_its_deliverer_is_not_tried_for_ever(self, outbox: Outbox, shop: Shop) -> None:
        def end(*, key: str) -> None:
            raise KeyboardInterrupt

        shop.registry.register("f", end, retries=1, arity=0)
        sale = transaction("sell", "f")
        shop.commit(sale, transaction("buy", "c"))
        for _ in range(2):
            with pytest.raises(KeyboardInterrupt):
                shop.later(31)
        assert shop.later(31) == ["c"]
        assert shop.ends()[sale.id] == "failed"
        assert "ended during the last try" in shop.log.with_states([sale])[0].rows[0].error

    def test_who_has_lost_the_lease_marks_nothing(self, outbox: Outbox, shop: Shop) -> None:
        def overtaken(*, key: str) -> None:
            shop.clock.now += 60
            shop.registry.register("f", shop.desk.function("f"), arity=0)
            outbox.deliver(shop.registry, once=True, clock=shop.clock)

        shop.registry.register("f", overtaken, arity=0)
        sale = transaction("sell", "f", "b")
        shop.commit(sale)
        assert shop.deliver(lease=30) == ["f", "b"]
        assert shop.states(sale) == ["made", "made"]

    def test_delivery_in_a_thread(self, outbox: Outbox, shop: Shop) -> None:
        from threading import Event

        made = Event()
        shop.registry.register("f", lambda key: made.set(), arity=0)
        with outbox.delivering(shop.registry, poll=0.01):
            shop.commit(transaction("sell", "f"))
            assert made.wait(30)

    def test_a_thread_that_fails_says_so(self, outbox: Outbox, shop: Shop) -> None:
        with pytest.raises(InputError, match="E809"), outbox.delivering(shop.registry, order="both"):  # type: ignore[arg-type]
            pass

    def test_rows_are_there_to_be_read(self, outbox: Outbox, shop: Shop) -> None:
        sale = transaction("sell", Struct("pay", ("ann", to_value(2.5))))
        shop.registry.register("pay", lambda *args, key: None)
        shop.commit(sale)
        store = outbox.connect()
        ((args, state),) = store.read("SELECT args, state FROM etalis_effects WHERE key = ?", sale.rows[0].key)
        store.close()
        assert (json.loads(args), state) == (["ann", 2.5], "waiting")


__all__ = ["Commit", "CommitLog", "OutboxLaws", "Shop", "transaction"]
