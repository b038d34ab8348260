"""What an engine with an outbox keeps of actions that wait: subclasses have a fixture `outbox`. Definition 24.41."""

from __future__ import annotations

from typing import Literal

import pytest

import etalis
from etalis.reactive.outbox.outbox import Outbox
from helpers.outbox_engine_laws import World

RENT = """
:- state held/2 key 1.
rent rule: on want(C, I)
  do ins(held(I, C)) seq effect(book(C, 1)) seq await(paid(C, N) within 10) seq effect(ship(I, N))
  undo del(held(I, C)).
"""

TWICE = """
rent rule: on want(C, I)
  do effect(book(C, 1)) seq await(paid(C, N) within 10) seq effect(book(C, N)) seq await(sent(I) within 10) seq LAST
  undo effect(ship(I, 0)).
"""


class OutboxSagaLaws:
    """Tests of sagas with an outbox."""

    @pytest.fixture
    def rental(self, outbox: Outbox) -> World:
        return World(outbox, RENT)

    def test_what_waits_goes_on_in_an_engine_that_follows(self, rental: World) -> None:
        engine = rental.engine()
        engine.push("want", "ann", "car", at=1)
        engine.commit(1)
        assert rental.deliver() == ["book(ann, 1)"]
        engine, position = rental.restore()
        assert position == 1
        (waiting,) = engine.transactions()
        assert (waiting.label, waiting.state) == ("rent", "open")  # what has become of its effects is not heard yet
        engine.push("paid", "ann", 7, at=5)
        engine.commit(2)
        assert rental.deliver() == ["ship(car, 7)"]
        engine.commit(2)
        assert engine.transactions() == ()
        assert engine.query("held(I, C)") == [{"I": "car", "C": "ann"}]
        rental.restore()[0].advance(to=100)
        assert rental.deliver() == []

    def test_it_is_shown_that_an_action_waits(self, rental: World) -> None:
        engine = rental.engine()
        engine.push("want", "ann", "car", at=1)
        engine.commit(1)
        rental.deliver()
        engine.commit(1)
        (waiting,) = engine.transactions()
        assert waiting.state == "waiting"
        assert waiting.path == ("ins(held(car,ann))", "effect(book(ann,1))", "await(paid(C, N) within 10)")

    def test_what_was_delivered_before_the_wait_is_compensated_when_it_ends(self, rental: World) -> None:
        engine = rental.engine()
        engine.push("want", "ann", "car", at=1)
        engine.commit(1)
        assert rental.deliver() == ["book(ann, 1)"]
        engine, _ = rental.restore()
        engine.advance(to=12)
        assert engine.query("held(I, C)") == []
        engine.commit(2)
        assert rental.deliver() == ["unbook(ann, 1)"]
        assert engine.transactions() == ()
        assert [error.code for error in engine.errors] == ["E515"]

    def test_what_was_not_delivered_yet_is_dropped_when_the_wait_ends(self, rental: World) -> None:
        engine = rental.engine()
        engine.push("want", "ann", "car", at=1)
        engine.commit(1)
        engine.advance(to=12)
        engine.commit(2)
        assert rental.deliver() == []
        assert engine.query("held(I, C)") == []

    def test_what_is_undelivered_before_the_wait_ends_it(self, rental: World) -> None:
        rental.desk.refuse("book")
        engine = rental.engine()
        engine.push("want", "ann", "car", at=1)
        engine.commit(1)
        rental.deliver()
        engine.commit(1)
        assert engine.query("held(I, C)") == []
        engine.push("paid", "ann", 7, at=5)
        engine.advance(to=50)
        engine.commit(2)
        assert rental.deliver() == []
        assert [error.code for error in engine.errors] == ["E803"]
        assert engine.transactions() == ()

    def test_what_is_undelivered_behind_the_wait_takes_back_what_was_before_it(self, rental: World) -> None:
        rental.desk.refuse("ship")
        engine = rental.engine()
        engine.push("want", "ann", "car", at=1)
        engine.push("paid", "ann", 7, at=5)
        engine.commit(1)
        assert rental.deliver() == ["book(ann, 1)", "ship(car, 7)"]
        engine, _ = rental.restore()
        engine.commit(1)
        assert engine.query("held(I, C)") == []
        assert rental.deliver() == ["unbook(ann, 1)"]
        assert engine.transactions() == ()

    @pytest.mark.parametrize("order", ["transaction", "all"])
    @pytest.mark.parametrize("last", ["skip", "abort", "effect(fail(I))"])
    def test_what_undo_does_outside_comes_behind_all_compensations(
        self, outbox: Outbox, last: str, order: Literal["transaction", "all"]
    ) -> None:
        """At the end of a wait, where what follows has no execution, and where it is not delivered."""
        world = World(outbox, TWICE.replace("LAST", last))
        world.program.effect("fail", world.desk.function("fail"), retries=0, arity=1)
        world.desk.refuse("fail")
        world.desk.fail("unbook", times=1)
        engine = world.engine()
        engine.push("want", "ann", "car", at=1)
        engine.push("paid", "ann", 7, at=2)
        engine.commit(1)
        assert world.deliver(order=order) == ["book(ann, 1)", "book(ann, 7)"]
        if last == "skip":
            engine.advance(to=20)
        else:
            engine.push("sent", "car", at=3)
        engine.commit(2)
        if last.startswith("effect"):
            assert world.deliver(order=order) == ["fail(car)"]
            engine.commit(2)
        assert world.deliver(order=order) == ["unbook(ann, 7)"]
        assert world.deliver(1, order=order) == ["unbook(ann, 7)", "unbook(ann, 1)", "ship(car, 0)"]
        engine.commit(3)
        assert engine.transactions() == ()

    def test_without_an_undo_what_has_changed_is_left_to_a_person(self, outbox: Outbox) -> None:
        world = World(outbox, RENT.replace("\n  undo del(held(I, C))", ""))
        engine = world.engine()
        engine.push("want", "ann", "car", at=1)
        engine.commit(1)
        world.deliver()
        engine.advance(to=20)
        engine.commit(2)
        assert world.deliver() == ["unbook(ann, 1)"]
        engine, _ = world.restore()
        (stuck,) = engine.transactions()
        assert stuck.state == "stuck"
        engine.settle(stuck.id, "undone")
        engine.commit(2)
        assert engine.transactions() == ()

    def test_keys_of_what_is_done_behind_a_wait_are_the_same_in_every_run(self, rental: World) -> None:
        for number in range(2):
            engine, _ = rental.restore()
            engine.push("want", "ann", "car", at=1)
            engine.push("want", "ann", "car", at=1)
            if number:  # the first run ended before it committed
                engine.push("paid", "ann", 7, at=5)
                engine.commit(1)
        rental.deliver()
        keys = rental.desk.keys["ship"]
        plain = etalis.compile(RENT, name="shop")
        seen: list[str] = []
        for name, arity in (("book", 2), ("ship", 2)):
            plain.effect(name, lambda *_, key: seen.append(key), arity=arity)
        again = plain.engine()
        for what, at in (("want", 1), ("want", 1)):
            again.push(what, "ann", "car", at=at)
        again.push("paid", "ann", 7, at=5)
        assert seen == [*rental.desk.keys["book"], *keys]
        assert len(set(seen)) == len(seen)
