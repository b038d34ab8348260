"""The two ways to join, over streams long enough for several stretches: where right sides never wait they agree."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

np = pytest.importorskip("numpy")
pa = pytest.importorskip("pyarrow")
pytest.importorskip("numba")

import etalis  # noqa: E402
from etalis.columnar.durations import find_lasting  # noqa: E402
from etalis.columnar.kernels import matching as k  # noqa: E402
from etalis.columnar.kernels.buffers import Buffers  # noqa: E402
from etalis.columnar.kernels.following import BLOCK  # noqa: E402
from etalis.columnar.kernels.join import ArrivingRows  # noqa: E402
from etalis.columnar.kernels.matching import Matching  # noqa: E402
from etalis.columnar.operators.pair_search import FollowingSearch, JoinSearch, PairSearch  # noqa: E402
from etalis.plan.rules import plan_rules  # noqa: E402
from etalis.temporal.policy import POLICIES  # noqa: E402
from etalis.temporal.relation import RELATIONS  # noqa: E402

pytestmark = pytest.mark.fast
FOLLOWING = [name for name, row in RELATIONS.items() if Matching.of(row, POLICIES["recent"], None).retain[1] == k.NEVER]


def _below(*sides: ArrivingRows) -> ArrivingRows:
    return ArrivingRows(
        *(np.concatenate([getattr(side, n) for side in sides]) for n in ("turn", "start", "end", "keys"))
    )


def _sides(seed: int, count: int, keys: int) -> tuple[ArrivingRows, ArrivingRows]:
    """Return instances of some keys that end in order, many at the same time, with durations and equal turns."""
    rng = np.random.default_rng(seed)
    end = np.cumsum(rng.integers(0, 3, count))
    start = np.where(rng.integers(0, 2, count), end, end // 16 * 16)
    turn = np.cumsum(rng.integers(0, 2, count))
    order = np.lexsort((start, end))
    is_left = rng.integers(0, 3, count) > 0
    key = rng.integers(0, keys, count) * (1 << 33)
    start, end, key = start[order], end[order], key[order]
    return tuple(ArrivingRows(turn[one], start[one], end[one], key[one]) for one in (is_left, ~is_left))  # type: ignore


def _all(search: PairSearch, most: int) -> tuple[list[tuple[int, int]], list[int]]:
    """Return all pairs, and what waits."""
    found: list[tuple[int, int]] = []
    while not search.is_over:
        left, right, arrived, _ = search.pairs(most)
        assert arrived.all()
        found += zip(left.tolist(), right.tolist(), strict=True)
    return found, np.flatnonzero(search.alive).tolist()


@pytest.mark.parametrize("relation", FOLLOWING)
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(("window", "keys", "most"), [(None, 100, 1 << 62), (90, 20, 1 << 62), (200, 60, 50)])
def test_it_finds_what_the_other_way_finds(
    relation: str, policy: str, window: int | None, keys: int, most: int
) -> None:
    left, right = _sides(len(relation), 7 * BLOCK, keys)
    matching = Matching.of(RELATIONS[relation], POLICIES[policy], window)
    limit = left.end + left.turn % 50 if keys == 20 else np.zeros(0, np.int64)
    old = 0 if matching.keep == k.NEWEST else BLOCK // 8  # of which one per key would wait
    first = int(left.turn[old])
    right = ArrivingRows(*(getattr(right, n)[right.turn >= first] for n in ("turn", "start", "end", "keys")))
    meeting = _all(JoinSearch(matching, _below(left, right), len(left.turn), (old, 0), limit, Buffers()), most)
    following = _all(FollowingSearch(matching, left, right, old, limit, Buffers()), most)
    assert following[0] == meeting[0]
    assert len(following[0]) > 10
    if matching.retain[0] < 0:
        assert following[1] == meeting[1]


@pytest.mark.parametrize("policy", [name for name in POLICIES if name != "snoop_recent"])
def test_what_is_over_its_limit_leaves_where_nothing_starts_earlier(policy: str) -> None:
    """Limits of one key need not rise: what blocks may ask for more than the key."""
    rng = np.random.default_rng(7)
    left, right = _sides(5, 7 * BLOCK, 60)
    left, right = (ArrivingRows(side.turn, side.end, side.end, side.keys) for side in (left, right))
    matching = Matching.of(RELATIONS["seq"], POLICIES[policy], 300)
    limit = left.end + rng.integers(0, 200, len(left.end))
    stays, leaves = (FollowingSearch(matching, left, right, 0, limit, Buffers(), ebbs=ebbs) for ebbs in (False, True))
    (found, waiting), (again, kept) = _all(stays, 1 << 62), _all(leaves, 50)
    assert again == found
    assert kept == waiting
    assert len(found) > 100


@pytest.mark.parametrize("policy", POLICIES)
def test_one_key_for_all_costs_no_more(policy: str) -> None:
    count = 40 * BLOCK
    turn = np.arange(count) << 20
    sides = [ArrivingRows(turn[i::2], turn[i::2], turn[i::2], np.zeros(count // 2, np.int64)) for i in range(2)]
    matching = Matching.of(RELATIONS["seq"], POLICIES[policy], 8 << 20)
    pairs, _ = _all(FollowingSearch(matching, *sides, 0, np.zeros(0, np.int64), Buffers()), 1 << 62)
    assert len(pairs) >= count // 2


def test_pairs_come_in_portions_of_whole_arrivals() -> None:
    left, right = _sides(3, 3 * BLOCK, 40)
    matching = Matching.of(RELATIONS["seq"], POLICIES["unrestricted"], 100)
    for search in (
        FollowingSearch(matching, left, right, 0, np.zeros(0, np.int64), Buffers()),
        JoinSearch(matching, _below(left, right), len(left.turn), (0, 0), np.zeros(0, np.int64), Buffers()),
    ):
        several = []
        while not search.is_over:
            several.append(search.pairs(64)[1])
        assert len(several) > 20
        assert max(map(len, several)) < 1_024
        assert not any(set(a.tolist()) & set(b.tolist()) for a, b in pairwise(several))


@pytest.mark.parametrize("relation", ["meets", "equals", "starts", "finishes"])
def test_what_shares_a_moment_is_found_among_instants_and_intervals(relation: str) -> None:
    for seed in range(12):
        rng = random.Random(seed)
        inner = rng.choice(["e(K, A) seq e(K, B)", "e(K, B) or (e(K, A) seq f(K, B))"])
        policy = rng.choice(["unrestricted", "chronological", "recent", "snoop_recent", "cumulative"])
        program = etalis.compile(f"""
        :- event(e(k: int, x: int)). :- event(f(k: int, x: int)).
        span([property(policy, unrestricted)]) rule: span(K, B) <- ({inner}) within 8.
        pair(K, X, Y) <- span(K, X) {relation} span(K, Y).
        print_trigger(pair/3).
        """)
        times = sorted(rng.randrange(30) for _ in range(25))
        rows = [(rng.choice("ef"), rng.randrange(2), rng.randrange(3), at) for at in times]
        table = pa.table(dict(zip(("event", "k", "x", "at"), map(list, zip(*rows, strict=True)), strict=True)))
        batch = rng.choice([3, 7, 1000])
        found = program.detect(table, time="at", event="event", policy=policy, threads=1, batch=batch)
        got = zip(*(found[name].to_pylist() for name in ("start", "end", "K", "X", "Y")), strict=True)
        wanted = [(e.start, e.end, *e.args) for e in program.engine(policy=policy).run(rows) if e.name == "pair"]
        assert sorted(got) == sorted(wanted), seed


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_what_is_blocked_by_events_that_rules_make_of_single_ones(policy: str) -> None:
    """Instants of instants: what is blocked is dropped on the way."""
    program = etalis.compile("""
    :- event(t(k: int, c: int)).
    cool(K) <- t(K, C) where C < 4.
    hot(K, C) <- t(K, C) where C > 6.
    hotter(K, C) <- hot(K, C).
    on(K, C) <- (cool(K) seq hotter(K, C)) cnot (hot(K, D) where D > C) within 40.
    print_trigger(on/2).
    """)
    for seed in range(12):
        rng = random.Random(seed)
        rows = [("t", rng.randrange(2), rng.randrange(10), at // 2) for at in range(200)]
        table = pa.table(dict(zip(("event", "k", "c", "at"), map(list, zip(*rows, strict=True)), strict=True)))
        found = program.detect(table, time="at", event="event", policy=policy, batch=rng.choice([7, 50, 1000]))
        got = zip(*(found[name].to_pylist() for name in ("start", "end", "K", "C")), strict=True)
        wanted = [(e.start, e.end, *e.args) for e in program.engine(policy=policy).run(rows)]
        assert sorted(got) == sorted(wanted), seed


def test_what_may_last() -> None:
    """Events that rules make of single events last no longer than these."""
    program = etalis.compile("""
    cool(K) <- t(K, C) where C < 4.
    cold(K) <- cool(K) or frost(K).
    pair(K) <- (cold(K) seq cold(K)) within 9.
    twice(K) <- pair(K).
    cool(K) <- ice(K).
    """)
    heads = plan_rules(program.compiled.rules, program.compiled.settings)
    assert find_lasting(heads) == {("pair", 1), ("twice", 1)}
