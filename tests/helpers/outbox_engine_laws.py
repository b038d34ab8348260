"""What an engine with an outbox keeps, whatever database it is in: subclasses have a fixture `outbox`.

Definition 24.49.
"""

from __future__ import annotations

from itertools import islice
from typing import Any, Literal

import pytest

import etalis
from etalis.errors import ConditionError, EventError, InputError, OptionError
from etalis.reactive.outbox.outbox import Outbox
from helpers.outbox_laws import Clock
from helpers.receivers import Desk

SHOP = """
:- event(want(client: string, item: string, amount: int)).
:- state stock/2 key 1, lost/2.
stock(rose, 10).
stock(lily, 10).
trade rule: on want(C, I, N)
  do stock(I, S) seq S >= N seq set_stock(I, S, N) seq effect(book(C, N)) seq effect(ship(I, N)) seq raise(traded(I, N))
  undo give_back(I, N).
action set_stock(I, S, N) :- R is S - N, set(stock(I, R)).
action give_back(I, N) :- stock(I, S), R is S + N, set(stock(I, R)).
note rule: on undelivered(L, E) do ins(lost(L, E)).
traded_much(I) <- traded(I, N) where N > 4.
"""


class World:
    """A program with its outbox, what is outside, and a clock."""

    def __init__(self, outbox: Outbox, text: str = SHOP, **flags: object) -> None:
        self.outbox, self.desk, self.clock = outbox, Desk(), Clock()
        self.program = etalis.compile(text, name="shop", **flags)
        self.program.effect(
            "book", self.desk.function("book"), compensate=self.desk.function("unbook"), retries=1, arity=2
        )
        self.program.effect("ship", self.desk.function("ship"), retries=1, arity=2)

    def engine(self, **options: Any) -> etalis.Engine:
        return self.program.engine(outbox=self.outbox, **options)

    def restore(self, **options: Any) -> tuple[etalis.Engine, Any]:
        return self.outbox.restore(self.program, **options)

    def deliver(self, seconds: float = 0, order: Literal["transaction", "all"] = "transaction") -> list[str]:
        self.clock.now += seconds
        self.outbox.deliver(self.program, once=True, clock=self.clock, wait=self.clock.wait, order=order)
        return self.desk.taken()


def facts(engine: etalis.Engine) -> dict[str, int]:
    return {row["I"]: row["N"] for row in engine.query("stock(I, N)")}


class OutboxEngineLaws:
    """Tests of engines with an outbox."""

    @pytest.fixture
    def world(self, outbox: Outbox) -> World:
        return World(outbox)

    def test_nothing_is_delivered_before_the_commit(self, world: World) -> None:
        engine = world.engine()
        assert engine.push("want", "ann", "rose", 5, at=1) != ()
        assert facts(engine) == {"rose": 5, "lily": 10}
        assert world.deliver() == []
        assert engine.commit(1) == ()
        assert world.deliver() == ["book(ann, 5)", "ship(rose, 5)"]

    def test_an_engine_goes_on_from_the_last_commit(self, world: World) -> None:
        engine, position = world.restore()
        assert position is None
        engine.push("want", "ann", "rose", 5, at=1)
        engine.commit({"topic": 7})
        engine.push("want", "bob", "rose", 5, at=2)
        again, position = world.restore()
        assert (position, facts(again)) == ({"topic": 7}, {"rose": 5, "lily": 10})
        again.push("want", "bob", "rose", 5, at=2)
        again.commit({"topic": 8})
        assert world.deliver() == ["book(ann, 5)", "ship(rose, 5)", "book(bob, 5)", "ship(rose, 5)"]

    def test_what_was_lost_comes_again_with_the_same_keys(self, world: World) -> None:
        first = world.engine()
        first.push("want", "ann", "rose", 5, at=1)
        keys = [row.key for t in first.transactions() for row in t.rows]
        second, _ = world.restore()
        second.push("want", "ann", "rose", 5, at=1)
        assert [row.key for t in second.transactions() for row in t.rows] == keys

    def test_an_older_snapshot_delivers_nothing_again(self, world: World) -> None:
        engine = world.engine()
        engine.commit(0)
        older = engine.snapshot()
        engine.push("want", "ann", "rose", 5, at=1)
        engine.commit(1)
        assert world.deliver() == ["book(ann, 5)", "ship(rose, 5)"]
        again = world.program.restore(older, outbox=world.outbox)
        again.commit(0)
        again.push("want", "ann", "rose", 5, at=1)
        again.commit(1)
        assert world.deliver() == []
        assert len(again.transactions()) == 1
        again.commit(1)
        assert again.transactions() == ()
        assert facts(world.restore()[0]) == {"rose": 5, "lily": 10}

    def test_transactions_are_open_until_they_are_delivered(self, world: World) -> None:
        engine = world.engine()
        engine.push("want", "ann", "rose", 5, at=1)
        (waiting,) = engine.transactions()
        assert (waiting.label, waiting.state, [row.state for row in waiting.rows]) == ("trade", "open", ["waiting"] * 2)
        engine.commit(1)
        world.deliver()
        assert [row.state for row in engine.transactions()[0].rows] == ["made", "made"]
        engine.commit(1)
        assert engine.transactions() == ()

    # undelivered

    def test_what_is_not_delivered_is_undone_at_the_next_commit(self, world: World) -> None:
        world.desk.answers["ship"] = [etalis.Refused("gone"), None]
        engine = world.engine()
        engine.push("want", "ann", "rose", 5, at=1)
        engine.push("want", "bob", "lily", 1, at=2)
        engine.commit(2)
        assert world.deliver() == ["book(ann, 5)", "ship(rose, 5)", "book(bob, 1)", "ship(lily, 1)", "unbook(ann, 5)"]
        assert facts(engine) == {"rose": 5, "lily": 9}
        engine.commit(2)
        assert facts(engine) == {"rose": 10, "lily": 9}
        assert engine.query("lost(L, E)") == [{"L": "trade", "E": etalis.Struct("ship", ["rose", 5])}]
        assert engine.transactions() == ()
        (error,) = engine.errors
        assert error.code == "E803"
        assert "trade at 1 is undone: ship(rose,5) was not delivered: Refused: gone" in str(error)
        engine.commit(2)
        assert facts(world.restore()[0]) == {"rose": 10, "lily": 9}

    def test_rules_hear_what_was_not_delivered_at_the_time_reached(self, outbox: Outbox) -> None:
        world = World(outbox, SHOP + "alarm(L) <- undelivered(L, book(C, N)) where N > 3.")
        world.desk.refuse("book")
        engine = world.engine()
        engine.push("want", "ann", "rose", 5, at=1)
        engine.push("other", at=9)
        engine.commit(2)
        world.deliver()
        assert [(e.name, e.args, e.start, e.end) for e in engine.commit(2)] == [("alarm", ("trade",), 9, 9)]

    def test_what_was_heard_and_not_committed_is_heard_again(self, world: World) -> None:
        world.desk.refuse("ship")
        engine = world.engine()
        engine.push("want", "ann", "rose", 5, at=1)
        engine.commit(1)
        world.deliver()
        with pytest.raises(InputError, match="E807"):
            engine.commit(object())
        again, position = world.restore()
        assert (position, facts(again)["rose"], again.query("lost(L, _)")) == (1, 5, [])
        again.commit(1)
        assert (facts(again)["rose"], again.query("lost(L, _)")) == (10, [{"L": "trade"}])

    def test_a_commit_that_failed_can_be_made_again(self, world: World) -> None:
        world.desk.refuse("ship")
        engine = world.engine()
        engine.push("want", "ann", "rose", 5, at=1)
        with pytest.raises(InputError, match="E807"):
            engine.commit(object())
        engine.commit(1)
        assert "book(ann, 5)" in world.deliver()
        with pytest.raises(InputError, match="E807"):
            engine.commit(object())
        engine.commit(1)
        engine.commit(1)
        assert (facts(engine)["rose"], len(engine.query("lost(L, _)"))) == (10, 1)
        assert facts(world.restore()[0])["rose"] == 10

    def test_what_cannot_be_undone_is_stuck_until_it_is_settled(self, outbox: Outbox) -> None:
        world = World(outbox, ":- state sold/1.\nsale rule: on want(C, I, N) do ins(sold(I)) seq effect(book(C, N)).")
        world.desk.refuse("book")
        engine = world.engine()
        engine.push("want", "ann", "rose", 5, at=1)
        engine.commit(1)
        world.deliver()
        engine.commit(1)
        again, _ = world.restore()
        (stuck,) = again.transactions()
        assert (stuck.state, stuck.failed_row.call) == ("stuck", etalis.Struct("book", ["ann", 5]))  # type: ignore[union-attr]
        assert again.query("sold(I)") == [{"I": "rose"}]
        again.settle(stuck.id, "done")
        again.commit(1)
        assert again.transactions() == world.restore()[0].transactions() == ()
        assert self.states(outbox) == ["done"]

    def test_what_changed_no_facts_needs_no_undo(self, outbox: Outbox) -> None:
        world = World(outbox, "sale rule: on want(C, I, N) do effect(book(C, N)).")
        world.desk.refuse("book")
        engine = world.engine()
        engine.push("want", "ann", "rose", 5, at=1)
        engine.commit(1)
        world.deliver()
        engine.commit(1)
        assert (engine.transactions(), self.states(outbox)) == ((), ["failed"])

    def test_an_undo_that_has_no_execution_is_stuck(self, outbox: Outbox) -> None:
        world = World(outbox, SHOP.replace("undo give_back(I, N)", "undo abort"))
        world.desk.refuse("book")
        engine = world.engine()
        engine.push("want", "ann", "rose", 5, at=1)
        engine.commit(1)
        world.deliver()
        engine.commit(1)
        assert [t.state for t in engine.transactions()] == ["stuck"]
        assert [error.code for error in engine.errors] == ["E515", "E803"]
        assert "trade at 1 is stuck: book(ann,5) was not delivered" in str(engine.errors[1])
        assert self.states(outbox) == ["stuck"]

    def test_a_compensation_that_fails_is_stuck_though_facts_are_undone(self, world: World) -> None:
        world.desk.refuse("ship")
        world.desk.refuse("unbook")
        engine = world.engine()
        engine.push("want", "ann", "rose", 5, at=1)
        engine.commit(1)
        world.deliver()
        engine.commit(1)
        (stuck,) = engine.transactions()
        assert (stuck.state, [row.state for row in stuck.rows]) == ("stuck", ["stuck", "failed"])
        assert facts(engine)["rose"] == 10

    def test_once_the_stream_is_closed_nothing_is_undone(self, world: World) -> None:
        world.desk.refuse("ship")
        engine = world.engine()
        engine.push("want", "ann", "rose", 5, at=1)
        engine.close()
        assert world.deliver()[0] == "book(ann, 5)"
        engine.commit()
        assert [t.state for t in engine.transactions()] == ["stuck"]
        assert (facts(engine)["rose"], engine.query("lost(_, _)")) == (5, [])
        again, _ = world.restore()
        assert [t.state for t in again.transactions()] == ["stuck"]
        with pytest.raises(EventError, match="E310"):
            again.push("want", "bob", "rose", 5, at=2)

    def test_what_undoes_may_have_effects_too(self, outbox: Outbox) -> None:
        text = SHOP.replace(
            "undo give_back(I, N)", "undo give_back(I, N) seq effect(book(sorry, C)) seq raise(sorry(C))"
        )
        world = World(outbox, f"{text}\nhappened(C) <- sorry(C).")
        world.desk.refuse("ship")
        engine = world.engine()
        engine.push("want", "ann", "rose", 5, at=1)
        engine.push("other", at=9)
        engine.commit(1)
        world.deliver()
        assert [(e.name, e.end) for e in engine.commit(1)] == [("happened", 9)]
        assert world.deliver() == ["book(sorry, ann)"]

    def test_what_undoes_is_given_the_variables_of_condition_and_action(self, outbox: Outbox) -> None:
        world = World(
            outbox,
            ":- state price/2, log/4.\nprice(rose, 2.5).\n"
            "sale rule: on want(C, I, N) if price(I, P)"
            " do Sum is P * N seq ins(log(C, N, P, Sum)) seq effect(book(C, N))"
            " undo del(log(C, N, P, Sum)) seq ins(log(undone, C, P, Sum)).",
        )
        world.desk.refuse("book")
        engine = world.engine()
        engine.push("want", "ann", "rose", 4, at=1)
        engine.commit(1)
        world.deliver()
        engine.commit(1)
        assert engine.query("log(A, B, C, D)") == [{"A": "undone", "B": "ann", "C": 2.5, "D": 10.0}]

    def test_a_strict_engine_says_it_once_and_goes_on(self, outbox: Outbox) -> None:
        world = World(outbox)
        world.desk.refuse("ship")
        engine = world.engine(strict=True)
        engine.push("want", "ann", "rose", 5, at=1)
        engine.commit(1)
        world.deliver()
        with pytest.raises(ConditionError, match="E333"):
            engine.commit(1)
        engine.commit(1)
        assert (facts(engine)["rose"], facts(world.restore()[0])["rose"]) == (10, 10)

    @pytest.mark.parametrize(
        ("flags", "options"),
        [
            ({}, {"justification": "full"}),
            ({"out_of_order": "on", "ooo_window": 3}, {}),
            ({"out_of_order": "on", "ooo_window": 3}, {"justification": "ids"}),
        ],
    )
    def test_what_is_undelivered_occurs_however_events_are_taken(
        self, outbox: Outbox, flags: dict[str, object], options: dict[str, Any]
    ) -> None:
        world = World(outbox, SHOP + "alarm(L, E) <- undelivered(L, E).", **flags)
        world.desk.refuse("book")
        engine = world.engine(**options)
        engine.push("want", "ann", "rose", 5, at=1)
        engine.advance(to=9)
        engine.commit(1)
        world.deliver()
        assert [(e.name, e.end) for e in engine.commit(1)] == [("alarm", 9)]
        again, _ = world.restore()
        assert facts(again)["rose"] == 10
        again.push("want", "ann", "rose", 6, at=19)
        again.advance(to=29)
        assert facts(again)["rose"] == 4

    # commits by themselves

    def test_run_commits_after_so_many_rows_and_at_the_end(self, world: World) -> None:
        rows = [("want", "ann", "rose", 1, n) for n in range(1, 8)]
        engine = world.engine(every=3)
        assert list(engine.run(rows)) == []
        again, position = world.restore(every=3)
        assert (position, facts(again)["rose"]) == (6, 4)
        list(again.run(islice(rows, position, None)))
        again.close()
        assert world.restore()[1] == 7
        assert len([call for call in world.deliver() if call.startswith("book")]) == 7

    def test_columns_and_files_are_counted_too(self, world: World, tmp_path: Any) -> None:
        engine = world.engine(every=2)
        rows = {"event": "want", "client": ["ann"] * 3, "item": ["rose"] * 3, "amount": [1, 1, 1], "at": [1, 2, 3]}
        list(engine.run(rows))
        assert world.restore(every=2)[1] == 2
        engine, _ = world.restore(every=2)
        path = tmp_path / "more.jsonl"
        path.write_text('{"event": "want", "client": "bob", "item": "lily", "amount": 1, "at": 5}\n' * 4)
        list(engine.run(path))
        assert (world.restore()[1], facts(world.restore()[0])) == (6, {"rose": 8, "lily": 6})

    def test_positions_of_the_host_are_its_own(self, world: World) -> None:
        engine = world.engine(every=2)
        engine.commit({"mine": 1})
        list(engine.run([("want", "ann", "rose", 1, n) for n in range(1, 8)]))
        assert world.restore()[1] == {"mine": 1}

    def test_a_live_stream_is_taken_row_by_row(self, world: World) -> None:
        engine = world.engine(every=100)
        asked: list[int] = []

        def rows() -> Any:
            for n in range(1, 4):
                asked.append(n)
                yield ("want", "ann", "rose", 5 if n == 2 else 1, n)

        found = engine.run(rows())
        assert next(found).name == "traded_much"
        assert asked == [1, 2]

    def test_old_deltas_go_when_they_are_as_large_as_the_whole(self, world: World, outbox: Outbox) -> None:
        engine = world.engine()
        for n in range(1, 60):
            engine.push("want", "ann", f"x{n}", n, at=n)
            engine.commit(n)
        store = outbox.connect()
        rows = store.read("SELECT number, is_delta, length(data) FROM etalis_snapshots ORDER BY number")
        store.close()
        assert rows[0][1] == 0
        assert [row[1] for row in rows[1:]] == [1] * (len(rows) - 1)
        assert 1 < rows[0][0] == rows[-1][0] - len(rows) + 1
        assert world.restore()[1] == 59

    # what is refused

    def test_a_fresh_engine_over_an_outbox_in_use_is_refused(self, world: World) -> None:
        world.engine().commit(1)
        with pytest.raises(InputError, match="has the state of shop"):
            world.engine()

    def test_an_engine_that_another_has_followed_commits_no_more(self, world: World) -> None:
        first = world.engine()
        first.commit(1)
        world.restore()
        with pytest.raises(InputError, match="E806"):
            first.commit(2)

    @pytest.mark.parametrize("every", [0, -1, True, 2.5])
    def test_every_is_a_number_of_rows(self, world: World, every: Any) -> None:
        with pytest.raises(OptionError, match="E809"):
            world.engine(every=every)

    def test_effects_go_to_one_place(self, world: World) -> None:
        with pytest.raises(OptionError, match="E809"):
            world.engine(effects=etalis.effects.dry())

    @staticmethod
    def states(outbox: Outbox) -> list[str]:
        store = outbox.connect()
        rows = store.read("SELECT state FROM etalis_transactions ORDER BY number")
        store.close()
        return [state for (state,) in rows]
