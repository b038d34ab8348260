"""Reactions in shards: parted by what they reach, with the state of a shard in its versions, effects as rows."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

import etalis
from etalis.plan.stages import Stages, find_stages
from etalis.reactive.effects.rehearsal import as_row
from etalis.reactive.effects.transaction import Transaction
from etalis.spark.effect_rows import ShardEffects, read_effects
from etalis.temporal.event import Event
from helpers.micro_batches import plan_stream, run_whole
from helpers.receivers import Desk
from helpers.spark_shuffle import plan_events, run_shuffled

SHOP = r"""
:- set_flag(event_consumption_policy, unrestricted).
:- state stock/2 key 1.
stock(rose, 3). stock(vase, 1).
sell rule: on sold(Item, N)
    do take(Item, N, Left) seq effect(send(Item, N)) seq raise(left(Item, Left)) or raise(out(Item)).
fill rule: on filled(Item, N) do stock(Item, Old) seq New is Old + N seq set(stock(Item, New)) or ins(stock(Item, N)).
action take(Item, N, New) :- stock(Item, Old), Old >= N, New is Old - N, set(stock(Item, New)).
always \+ (stock(_, N), N < 0).
low(Item, N) <- left(Item, N) where N < 2.
gone(Item) <- out(Item).
twice(Item) <- out(Item) seq out(Item).
"""
TRANSFER = """
:- state account/2 key 1.
move rule: on moved(A, B) do add(A, -1) seq add(B, 1).
action add(A, N) :- account(A, Old), New is Old + N, set(account(A, New)).
"""


def stages_of(text: str) -> Stages:
    program = etalis.compile(text).compiled
    return find_stages(program.plans(None), program.tree)


def stream(seed: int, size: int = 40) -> list[Event]:
    random = Random(seed)
    kinds = ["sold", "sold", "filled"]
    return [
        Event.make(random.choice(kinds), (random.choice(["rose", "vase", "pot"]), random.randrange(1, 4)), at, at)
        for at in sorted(random.randrange(10**7) for _ in range(size))
    ]


RENT = """
:- state held/2 key 2.
rent rule: on sold(Item, N)
    do ins(held(Item, N)) seq await(filled(Item, M) within 2) seq del(held(Item, N)) seq raise(served(Item, M))
    undo del(held(Item, N)) seq raise(lost(Item, N)).
served_all(Item, N) <- served(Item, N).
lost_all(Item, N) <- lost(Item, N).
"""


class Kept:
    """Takes effects as rows, in the process."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []

    def perform(self, transaction: Transaction) -> Transaction:
        self.rows += [as_row(transaction, place) for place in range(len(transaction.rows))]
        return ShardEffects().perform(transaction)

    def undo(self, transaction: Transaction) -> Transaction:
        raise AssertionError


def expected(text: str, events: list[Event]) -> tuple[list[tuple[Any, ...]], list[str]]:
    """What one engine derives, and the keys of its effects."""
    kept = Kept()
    engine = etalis.compile(text, name="shop").engine(effects=kept)
    found = [*engine.run(events), *engine.close()]
    return sorted((e.name, list(e.args), e.start_time, e.end_time) for e in found), sorted(r["key"] for r in kept.rows)


def test_facts_are_parted_by_a_place_in_their_key() -> None:
    stages = stages_of(SHOP)
    assert stages.obstacles == ()
    (group,) = stages.stages[0].groups
    (key,) = group.keys
    assert {kind: key.positions[kind] for kind in (("sold", 2), ("filled", 2), ("left", 2))} == {
        ("sold", 2): 0, ("filled", 2): 0, ("left", 2): 0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (("set(stock(Item, New)).\nalways", "set(stock(Item, New)), ins(stock(all, N)).\nalways"), "stock/2"),
        (("raise(out(Item))", "raise(out(rose))"), "out/1"),
        ((r"always \+ (stock(_, N), N < 0).", "always stock(rose, _)."), "`always`"),
        (("where N < 2", "where stock(Item, N)"), "asks for facts"),
        (("stock(Item, Old), Old >= N", "known(Item, Old), Old >= N"), "known/2"),
    ],
)
def test_what_keeps_reactions_together_is_told(change: tuple[str, str], why: str) -> None:
    text = SHOP.replace(*change) + "known(I, N) :- stock(I, N).\n"
    stages = stages_of(text)
    reasons = [str(reason) for reason in (*stages.obstacles, *stages.stages[0].reasons)]
    assert any(why in reason for reason in reasons), reasons


def test_a_transfer_between_two_accounts_has_no_key() -> None:
    (reason,) = stages_of(TRANSFER).stages[0].reasons
    assert "account/2" in str(reason)


@pytest.mark.parametrize("seed", range(3))
def test_shards_of_a_batch_are_one_engine(seed: int, tmp_path: Path) -> None:
    events = stream(seed)
    program = etalis.compile(SHOP, name="shop")
    plan = plan_events(program, events, policy=None, shards=3, ordered=True, staged=True)
    assert plan is not None
    assert plan.sharding.shards == 3
    found = run_shuffled(plan, events, ordered=True)
    assert sorted((name, args, start, end) for name, args, start, end, _ in found) == expected(SHOP, events)[0]


@pytest.mark.parametrize("seed", range(3))
def test_shards_of_a_stream_are_one_engine_and_write_each_effect_once(seed: int, tmp_path: Path) -> None:
    events = stream(seed)
    program = etalis.compile(SHOP, name="shop")
    planned = plan_stream(program, events, str(tmp_path), shards=3, lateness="1 hour")
    assert planned is not None
    found = run_whole(planned, events, Random(seed))
    matches, keys = expected(SHOP, events)
    assert sorted((row["event"], json.loads(row["args"]), row["start"], row["end"]) for row in found) == matches
    assert sorted(row["key"] for row in read_effects(str(tmp_path / "effects"))) == keys


def test_effects_of_a_stream_are_delivered_once_by_way_of_an_outbox(tmp_path: Path) -> None:
    events = stream(1)
    program = etalis.compile(SHOP, name="shop")
    planned = plan_stream(program, events, str(tmp_path), shards=3, lateness="1 hour")
    assert planned is not None
    run_whole(planned, events, Random(1))
    outbox, desk = etalis.Outbox(f"sqlite:///{tmp_path / 'box.db'}"), Desk()
    for _ in range(2):  # as often as one likes, also while the stream runs
        outbox.add(read_effects(str(tmp_path / "effects")), program="shop")
        outbox.deliver({"send": desk.function("send", 2)}, once=True)
    assert sorted(desk.keys["send"]) == expected(SHOP, events)[1]
    assert {call.split("(")[1].split(",")[0] for call in desk.calls} <= {"rose", "vase", "pot"}


@pytest.mark.parametrize("seed", range(3))
def test_what_waits_waits_in_its_shard(seed: int, tmp_path: Path) -> None:
    events = stream(seed)
    program = etalis.compile(RENT, name="rent")
    plan = plan_events(program, events, policy=None, shards=3, ordered=True, staged=True)
    assert plan is not None
    assert plan.sharding.shards == 3
    matches = expected(RENT, events)[0]
    assert {name for name, *_ in matches} == {"served_all", "lost_all"}
    found = run_shuffled(plan, events, ordered=True)
    assert sorted((name, args, start, end) for name, args, start, end, _ in found) == matches
    planned = plan_stream(program, events, str(tmp_path), shards=3, lateness="1 hour")
    assert planned is not None
    rows = run_whole(planned, events, Random(seed))
    assert sorted((row["event"], json.loads(row["args"]), row["start"], row["end"]) for row in rows) == matches


def test_effects_that_an_end_of_a_wait_would_take_back_are_refused(tmp_path: Path) -> None:
    program = etalis.compile(RENT.replace("ins(held", "effect(send(Item, N)) seq ins(held"))
    with pytest.raises(etalis.ProgramError, match="E290: the reaction rent waits, and nothing on Spark takes effects"):
        plan_events(program, stream(1), policy=None, shards=3, ordered=True, staged=True)
    with pytest.raises(etalis.ProgramError, match="E290"):
        plan_stream(program, stream(1), str(tmp_path), lateness="1 hour")


def test_reactions_are_refused_where_matches_are_taken_back(tmp_path: Path) -> None:
    with pytest.raises(etalis.ProgramError, match="E290"):
        plan_stream(etalis.compile(SHOP), stream(1), str(tmp_path), reporting="on_arrival")
