"""Snapshots of engines with reactions: the state with its order, what is to come, the numbers of the present stamp."""

from __future__ import annotations

import pytest

import etalis
from etalis.errors import ProgramError, SnapshotError
from etalis.reactive.effects.transaction import Transaction

STOCK = """
:- state stock/2 key 1, log/1.
stock(rose, 10). stock(lily, 3).
sold rule: on sold(I) do stock(I, N) seq M is N - 1 seq set(stock(I, M)) seq ins(log(I)).
"""


class Keys:
    """A sink that keeps keys."""

    def __init__(self) -> None:
        self.keys: list[str] = []

    def perform(self, transaction: Transaction) -> Transaction:
        self.keys += [row.key for row in transaction.rows]
        return transaction

    def undo(self, transaction: Transaction) -> Transaction:
        return transaction


def stock(engine: etalis.Engine) -> list[tuple[object, object]]:
    return [(row["I"], row["N"]) for row in engine.query("stock(I, N)")]


def test_the_state_goes_on_with_its_order() -> None:
    program = etalis.compile(STOCK)
    engine = program.engine()
    engine.push("sold", "rose", at=1)
    engine = program.restore(engine.snapshot())
    assert stock(engine) == [("lily", 3), ("rose", 9)]
    engine.push("sold", "lily", at=2)
    assert stock(engine) == [("rose", 9), ("lily", 2)]


def test_a_delta_holds_what_has_changed() -> None:
    program = etalis.compile(STOCK)
    engine = program.engine()
    chain = [engine.snapshot()]
    for at in range(1, 5):
        engine.push("sold", "rose", at=at)
        chain.append(engine.snapshot(since=chain))
    assert stock(program.restore(*chain)) == stock(engine) == [("lily", 3), ("rose", 6)]
    assert program.restore(*chain).query("log(I)") == [{"I": "rose"}]


def test_an_edited_program_keeps_the_state_of_the_predicates_that_it_has() -> None:
    engine = etalis.compile(STOCK).engine()
    engine.push("sold", "rose", at=1)
    edited = etalis.compile(
        ":- state stock/2 key 1, price/2.\nstock(fern, 1). price(rose, 2).\nlog(none).\nd(I) <- sold(I).\n"
        "sold rule: on sold(I) do stock(I, N) seq M is N - 1 seq set(stock(I, M))."
    )
    restored = edited.restore(engine.snapshot())
    assert stock(restored) == [("lily", 3), ("rose", 9)]
    assert restored.query("price(I, P)") == [{"I": "rose", "P": 2}]
    assert restored.restored is not None
    assert "facts of log/1" in restored.restored.dropped


def test_a_state_that_the_edited_program_does_not_allow_is_refused() -> None:
    engine = etalis.compile(":- state p/2. p(a, 1). p(a, 2).\non e do skip.").engine()
    with pytest.raises(SnapshotError, match="E514"):
        etalis.compile(":- state p/2 key 1.\non e do skip.").restore(engine.snapshot())
    with pytest.raises(ProgramError, match="E516"):
        etalis.compile(":- state p/2.\nalways \\+ p(_, 2).\non e do skip.").restore(engine.snapshot())


def test_facts_without_arguments_and_with_terms_go_on() -> None:
    program = etalis.compile(":- state on/0, p/1.\non e(X) do ins(on) seq ins(p(f(X, [1, 2.0]))).\non f do del(on).")
    engine = program.engine()
    engine.push("e", "a", at=1)
    engine = program.restore(engine.snapshot())
    assert engine.query("on, p(f(X, L))") == [{"X": "a", "L": (1, 2.0)}]
    engine.push("f", at=2)
    assert program.restore(engine.snapshot()).query("on") == []


def test_what_is_raised_for_later_comes_in_the_engine_that_goes_on() -> None:
    program = etalis.compile("on a(X) do raise(b(X), after(5)).\nd(X) <- b(X).")
    engine = program.engine()
    engine.push("a", 1, at=0)
    engine = program.restore(engine.snapshot())
    assert engine.due == 5
    assert [str(e) for e in engine.close()] == ["d(1) [5, 5]"]


def test_equal_matches_of_one_stamp_have_keys_of_their_own_across_a_snapshot() -> None:
    program = etalis.compile("tell rule: on sold(I) do effect(tell(I)).")
    whole, parts = Keys(), Keys()
    engine = program.engine(effects=whole)
    for at in (5, 5, 5, 6):
        engine.push("sold", "rose", at=at)
    engine = program.engine(effects=parts)
    for at in (5, 5, 5, 6):
        engine.push("sold", "rose", at=at)
        engine = program.restore(engine.snapshot(), effects=parts)
    assert parts.keys == whole.keys
    assert len(set(whole.keys)) == 4


def test_a_program_that_renames_other_reactions_keeps_its_keys() -> None:
    one, two = Keys(), Keys()
    text = "tell rule: on sold(I) do effect(tell(I))."
    etalis.compile(text, name="shop").engine(effects=one).push("sold", "rose", at=5)
    more = etalis.compile(f"other rule: on sold(_) do skip.\n{text}", name="shop")
    more.engine(effects=two).push("sold", "rose", at=5)
    assert one.keys == two.keys
