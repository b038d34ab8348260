"""Every kernel against its twin in plain Python (`twins`), over small random inputs: equal times, few keys, nothing."""

from __future__ import annotations

import random
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import pytest

np = pytest.importorskip("numpy")
pa = pytest.importorskip("pyarrow")
pytest.importorskip("numba")

import etalis  # noqa: E402
from etalis.columnar.data.ascending import have_in_common, order_in_runs, place_in_run, places  # noqa: E402
from etalis.columnar.data.events import find_types, gather  # noqa: E402
from etalis.columnar.data.texts import TextIndex  # noqa: E402
from etalis.columnar.kernels import aggregate, chains, lists, matching, order, repetition, rows  # noqa: E402
from etalis.columnar.kernels.buffers import BlockerIndex, Buffers, KeyIndex  # noqa: E402
from etalis.columnar.kernels.join import ArrivingRows, Pairs  # noqa: E402
from etalis.columnar.kernels.matching import NO_WINDOW, Matching  # noqa: E402
from etalis.columnar.operators import pair_search  # noqa: E402
from etalis.columnar.run import ColumnRun  # noqa: E402
from etalis.plan.retention import NEVER_STORED, retention  # noqa: E402
from etalis.temporal.policy import POLICIES  # noqa: E402
from etalis.temporal.relation import RELATIONS  # noqa: E402
from helpers import twins  # noqa: E402

FOLLOWING = [name for name, row in RELATIONS.items() if retention(row, 1, None) == NEVER_STORED]
SELECTS = {"all": matching.ALL, "earliest": matching.EARLIEST, "latest": matching.LATEST}
FAR = (1 << 63) - 1
SEEDS = range(40)


def ints(values: Any) -> Any:
    return np.array(list(values), np.int64)


def make_rows(rng: random.Random, count: int, keys: int = 2) -> list[twins.Row]:
    """Return rows by turn; several may come in one turn, and end at one time."""
    turn = end = 0
    found = []
    for _ in range(count):
        if rng.random() < 0.7:
            turn += 1
            end += rng.randrange(3)
        found.append(twins.Row(turn, end - rng.choice([0, 0, 1, 4]), end, rng.randrange(keys) << 33))
    return found


def in_order_of_ends(some: Sequence[twins.Row]) -> list[twins.Row]:
    """Return rows such that turns are in order of (end, start), too."""
    turns = sorted(row.turn for row in some)
    ordered = sorted(some, key=lambda row: row.rank)
    return [row._replace(turn=turn) for row, turn in zip(ordered, turns, strict=True)]


def arrivals(some: list[twins.Row]) -> ArrivingRows:
    return ArrivingRows(*(ints(getattr(row, name) for row in some) for name in twins.Row._fields))


def nearer(some: ArrivingRows, seed: int) -> ArrivingRows:
    """Return rows whose keys are near each other, for every other seed."""
    return some._replace(keys=some.keys >> 33 * (seed % 2))


def all_pairs(search: pair_search.PairSearch, most: int) -> list[tuple[int, int, bool]]:
    found: list[tuple[int, int, bool]] = []
    while not search.is_over:
        left, right, arrived, _ = search.pairs(most)
        found += zip(left.tolist(), right.tolist(), arrived.tolist(), strict=True)
    return found


def make_join(rng: random.Random, relation: str, policy: str) -> tuple[twins.Join, tuple[int, int]]:
    """Return a join of some rows, and how many of each side have waited before."""
    every = make_rows(rng, rng.choice([0, 1, 12, 30, 30]), rng.choice([1, 3]))
    cut = rng.choice([0, 0, 5])
    sides: tuple[list[twins.Row], list[twins.Row]] = ([], [])
    for row in every:
        sides[rng.randrange(2)].append(row)
    window = rng.choice([None, 3, 8])
    limit = [row.end + rng.randrange(9) for row in sides[0]] if relation in FOLLOWING and rng.random() < 0.3 else None
    twin = twins.Join(RELATIONS[relation], POLICIES[policy], window, sides, limit)
    stores = [retention(twin.relation, side, window) != NEVER_STORED for side in (0, 1)]
    if twin.policy.keep == "newest" or not all(stores[1:] or [row.turn >= cut for row in sides[1]]):
        cut = 0
    if not stores[1]:
        twin.sides = sides = (sides[0], [row for row in sides[1] if row.turn >= cut])
    return twin, (sum(row.turn < cut for row in sides[0]), sum(row.turn < cut for row in sides[1]))


def check_waiting(twin: twins.Join, alive: list[int], now: int) -> None:
    """Compare what waits, but for what has waited too long: nobody asks for that."""
    count = len(twin.sides[0])
    for side, low in ((0, 0), (1, count)):
        kept = retention(twin.relation, side, twin.window)
        mine = {x - low for x in alive if (x >= count) == (side == 1)}
        for x, row in enumerate(twin.sides[side]):
            if kept is None or (kept >= 0 and row.end >= now - kept):
                assert (x in mine) == (x in twin.waiting[side])


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("relation", RELATIONS)
def test_join(relation: str, policy: str) -> None:
    for seed in SEEDS:
        rng = random.Random(seed)
        twin, old = make_join(rng, relation, policy)
        how = Matching.of(twin.relation, twin.policy, twin.window)
        if policy == "snoop_recent" and rng.random() < 0.5:
            how, twin.by_turn = how.by_turn(all_of_them=False), True
        limit = np.zeros(0, np.int64) if twin.limit is None else ints(twin.limit)
        count = len(twin.sides[0])
        both = nearer(arrivals([*twin.sides[0], *twin.sides[1]]), seed)
        search = pair_search.JoinSearch(how, both, count, old, limit, Buffers())
        assert all_pairs(search, rng.choice([1, 4, 1 << 62])) == list(twin.pairs(old)), seed
        if not twin.by_turn:
            check_waiting(twin, np.flatnonzero(search.alive).tolist(), max(both.end, default=0))


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("relation", FOLLOWING)
def test_follow(relation: str, policy: str) -> None:
    for seed in SEEDS:
        rng = random.Random(seed)
        twin, (old, _) = make_join(rng, relation, policy)
        sides = [in_order_of_ends(side) for side in twin.sides]
        twin.sides = (sides[0], sides[1])
        how = Matching.of(twin.relation, twin.policy, twin.window)
        limit = np.zeros(0, np.int64) if twin.limit is None else ints(twin.limit)
        left, right = (nearer(arrivals(side), seed) for side in sides)
        search = pair_search.FollowingSearch(how, left, right, old, limit, Buffers())
        expected = list(twin.pairs((old, 0)))
        assert all_pairs(search, rng.choice([1, 4, 1 << 62])) == expected, seed
        now = max((row.end for side in sides for row in side), default=0)
        check_waiting(twin, np.flatnonzero(search.alive).tolist(), now)


def test_join_with_more_keys_than_its_table_has_room_for() -> None:
    rng = random.Random(0)
    every = make_rows(rng, 900, 400)
    sides = ([row for row in every if row.turn % 2], [row for row in every if not row.turn % 2])
    twin = twins.Join(RELATIONS["and"], POLICIES["chronological"], None, sides)
    how = Matching.of(twin.relation, twin.policy, None)
    search = pair_search.JoinSearch(how, arrivals([*sides[0], *sides[1]]), len(sides[0]), (0, 0), ints([]), Buffers())
    assert all_pairs(search, 1 << 62) == list(twin.pairs((0, 0)))


@pytest.mark.parametrize("select", SELECTS)
def test_choose(select: str) -> None:
    for seed in SEEDS:
        rng = random.Random(seed)
        count = 5
        arriving = [(rng.randrange(2), x) for x in rng.sample(range(count), rng.randrange(count))]
        pairs = [
            (x, y, False) if side == 0 else (y, x, True)
            for side, x in arriving
            for y in rng.sample(range(count), rng.randrange(count))
        ]
        passes = [rng.random() < 0.7 for _ in pairs]
        alive = {(side, x) for side in (0, 1) for x in range(count)}
        flags = np.ones(2 * count, bool)
        left, right, arrived = ints(p[0] for p in pairs), ints(p[1] for p in pairs), [p[2] for p in pairs]
        how = Matching.of(RELATIONS["and"], POLICIES["recent"], None)._replace(select=SELECTS[select])
        given = Pairs(left, right, np.array(arrived, bool))
        chosen = pair_search.choose(how, count, given, np.array(passes, bool), flags)
        assert chosen.tolist() == twins.choose(select, pairs, passes, alive)
        assert {(x // count, x % count) for x in np.flatnonzero(flags).tolist()} == alive


def test_number_keys_and_find_keys() -> None:
    for seed in SEEDS:
        rng = random.Random(seed)
        width, shift = rng.randrange(4), rng.choice((0, 1, 40, 62))  # near enough for a place each, or not
        several = [
            [tuple(rng.randrange(-2, 2) << shift for _ in range(width)) for _ in range(rng.randrange(20))] for _ in "ab"
        ]
        known, others = (ints(x for key in keys for x in key).reshape(len(keys), width) for keys in several)
        numbers: dict[tuple[int, ...], int] = {}
        expected = [numbers.setdefault(key, len(numbers)) for key in several[0]]
        index = KeyIndex(known)
        assert index.group.tolist() == expected
        assert index.first.tolist() == [several[0].index(key) for key in numbers]
        assert index.find(others).tolist() == [numbers.get(key, -1) for key in several[1]]


def test_index_texts_and_find_texts() -> None:
    for seed in SEEDS:
        rng = random.Random(seed)
        some = ["".join(rng.choice("aé0") for _ in range(rng.randrange(7))) for _ in range(rng.randrange(300))]
        known = list(dict.fromkeys(some[: len(some) // 2]))
        asked = pa.array(
            [None if rng.random() < 0.1 else text for text in some], rng.choice((pa.string(), pa.large_string()))
        )
        numbers = {text: number for number, text in enumerate(known)}
        expected = [numbers.get("null" if text is None else text, len(known)) for text in asked.to_pylist()]
        low = rng.randrange(len(some) + 1)
        assert TextIndex(pa.array(known, pa.string())).find(asked.slice(low)).tolist() == expected[low:]


def test_arrange_blocked_first_after_and_latest_before() -> None:
    for seed in SEEDS:
        rng = random.Random(seed)
        some = make_rows(rng, rng.randrange(12))
        asked = [twins.Row(0, rng.randrange(12), rng.randrange(12), rng.randrange(3) << 33) for _ in range(8)]
        mine, theirs = arrivals(some), arrivals(asked)
        index = BlockerIndex(mine.keys.reshape(-1, 1), mine.start, mine.end)
        keys, low, high = theirs.keys.reshape(-1, 1), theirs.start, theirs.end
        of_key = [[r for r in some if r.key == q.key] for q in asked]
        hits = [any(r.start > q.start and r.end < q.end for r in some) for q, some in zip(asked, of_key, strict=True)]
        assert index.hit(keys, low, high).tolist() == hits
        limit = np.full(len(asked), 9)
        index.lower(limit, keys, low)
        later = [[r.end for r in some if r.start > q.start] for q, some in zip(asked, of_key, strict=True)]
        assert limit.tolist() == [min([9, *ends]) for ends in later]
        found = np.full(len(asked), 2)
        index.raise_(found, keys, high)
        starts = [[r.start for r in some if r.end < q.end] for q, some in zip(asked, of_key, strict=True)]
        assert found.tolist() == [max([2, *some]) for some in starts]


def walk(some: lists.Lists, number: int) -> list[int]:
    found, x = [], int(some.ends[2 * number])
    while x >= 0:
        found.append(x)
        x = int(some.after[x])
    return found


def test_put_in_order() -> None:
    for seed in SEEDS:
        rng = random.Random(seed)
        some = make_rows(rng, rng.randrange(15), 3)
        order = rng.sample(range(len(some)), len(some))
        found = lists.Lists(np.full(6, -1), *(np.full(len(some), -1) for _ in range(2)))
        size = np.zeros(3, np.int64)
        group = ints(row.key >> 33 for row in some)
        lists.put_in_order(ints(order), group, ints(r.end for r in some), ints(r.start for r in some), found, size)
        for number in range(3):
            mine = [x for x in order if some[x].key >> 33 == number]
            assert walk(found, number) == twins.ranked(some, mine)
            assert size[number] == len(mine)


def make_rule(rng: random.Random) -> twins.Rule:
    alone, followed = rng.random() < 0.4, rng.random() < 0.5
    least = rng.randrange(1, 4)
    counts = alone or rng.random() < 0.7
    most = rng.choice([None, least, least + 1])
    return twins.Rule(
        alone=alone, select=rng.choice(list(SELECTS)), newest=not alone and rng.random() < 0.3, counts=counts,
        least=least if counts else 1, most=most if counts else None, window=rng.choice([None, 6]),
        asks=rng.random() < 0.3, followed=followed, picks=rng.choice(list(SELECTS)),
        consume=followed and rng.random() < 0.5, latest_match=rng.random() < 0.3,
        outer_window=rng.choice([None, 9]), asks_followers=followed and rng.random() < 0.3,
    )  # fmt: skip


def test_repeat() -> None:
    total = 0
    for seed in range(1_500):
        rng = random.Random(seed)
        rule = make_rule(rng)
        every = make_rows(rng, rng.choice([0, 5, 20, 20]))
        names = ["element"] if rule.alone else ["left", "element", "element"]
        kinds = [rng.choice([*names, *(["follower"] if rule.followed else [])]) for _ in every]
        order = {"left": 0, "element": 1, "follower": 2}
        placed = sorted(range(len(every)), key=lambda x: order[kinds[x]])
        some, kinds = [every[x] for x in placed], [kinds[x] for x in placed]
        last = [kinds.count("left"), len(kinds) - kinds.count("follower"), len(kinds)]
        limit = [row.end + rng.choice([3, 1 << 40]) for row in some]
        pairs = sorted((x, y) for y in range(last[1]) for x in range(last[0], len(some)) if rng.random() < 0.7)
        may = {(y, x): rng.choice([1, 1 << 40]) if kinds[x] == "element" else rng.choice([-9, 9]) for x, y in pairs}
        expected = twins.Repetition(rule, some, kinds, limit, may).run()
        assert repeat(rule, some, last, limit, may) == expected, (seed, rule)
        total += len(expected)
    assert total > 1_000


def repeat(
    rule: twins.Rule, some: list[twins.Row], last: list[int], limit: list[int], may: dict[tuple[int, int], int]
) -> list[tuple[int, int, int]]:
    """Let the kernel run, with room for a few matches at a time."""
    count = last[1]  # alone, elements are left sides
    key = ints(row.key >> 33 for row in some)
    window = NO_WINDOW if rule.window is None else rule.window
    outer = NO_WINDOW if rule.outer_window is None else rule.outer_window
    how = repetition.Repeating(
        rule.alone, SELECTS[rule.select], rule.newest, rule.counts, window, rule.asks, False, rule.followed,
        SELECTS[rule.picks], rule.consume, rule.latest_match, outer, rule.asks_followers,
    )  # fmt: skip
    times = (ints(getattr(row, name) for row in some) for name in ("turn", "start", "end"))
    given = repetition.RepetitionRows(last[0], last[1], *times, key)
    zeros = [np.zeros(count, np.int64) for _ in range(9)]
    waiting, held = (lists.Lists(np.full(4, -1), *(np.full(count, -1) for _ in range(2))) for _ in range(2))
    lefts = repetition.LeftSides(waiting, np.zeros(2, np.int64), zeros[0], zeros[1], ints(limit[:count]))
    every = np.arange(count)
    least, most = np.full(count, rule.least), np.full(count, -1 if rule.most is None else rule.most)
    counters = repetition.Counters(least, most, ints([]), *zeros[2:5], every, every, ints([]))
    matches = repetition.Matches(
        held, np.zeros(2, np.int64), np.full(count, repetition.NO_MATCH), zeros[5], key[:count].copy()
    )
    pairs = sorted((x, y) for y, x in may)
    candidates = repetition.Candidates(
        np.searchsorted(ints(x for x, _ in pairs), np.arange(len(some) + 1)), ints(y for _, y in pairs),
        ints(may[y, x] for x, y in pairs), np.full(count, -1), np.zeros(count, np.int64),
    )  # fmt: skip
    cursor = ints([0, last[0], last[1], 0])
    found: list[tuple[int, int, int]] = []
    while (cursor[:3] < last).any():
        room = repetition.FoundRows(*(np.empty(count + 1, np.int64) for _ in range(4)))
        cursor[repetition.FOUND] = 0
        repetition.repeat(how, given, lefts, counters, matches, candidates, room, cursor)
        found += zip(*(each[: cursor[repetition.FOUND]].tolist() for each in room[:3]), strict=True)
    return found


@pytest.mark.parametrize("own", [False, True])
def test_list_pairs(own: bool) -> None:
    for seed in SEEDS:
        rng = random.Random(seed)
        lefts, others = make_rows(rng, rng.randrange(9)), make_rows(rng, rng.randrange(1, 9))
        lefts = [*lefts, *others] if own else lefts
        low = len(lefts) - len(others) if own else -1
        window = rng.choice([NO_WINDOW, 4])
        order = sorted(range(len(lefts)), key=lambda y: (lefts[y].key, lefts[y].end))
        first = np.searchsorted(ints(lefts[y].key >> 33 for y in order), np.arange(3))
        by_end = repetition.ByEnd(first, ints(order), ints(r.start for r in lefts), ints(r.end for r in lefts))
        given = (ints(r.key >> 33 for r in others), ints(r.start for r in others), ints(r.end for r in others))
        at, found = np.empty(len(others) + 1, np.int64), ints([])
        repetition.list_pairs(low, window, *given, by_end, at, found)
        found = np.empty(at[-1], np.int64)
        repetition.list_pairs(low, window, *given, by_end, at, found)
        for x, row in enumerate(others):
            expected = [
                y for y in order if lefts[y].key == row.key and lefts[y].end < row.start
                and (window == NO_WINDOW or row.end - lefts[y].start <= window)
            ]  # fmt: skip
            assert found[at[x] : at[x + 1]].tolist() == expected + ([low + x] if own else [])


def test_find_chains() -> None:
    for seed in range(200):
        rng = random.Random(seed)
        some = sorted(make_rows(rng, rng.randrange(14)), key=lambda row: (row.key, row.rank))
        keys = [row.key for row in some]
        base, start, end = ints(map(keys.index, keys)), ints(r.start for r in some), ints(r.end for r in some)
        low, high, peak = (np.empty(len(some), np.int64) for _ in range(3))
        chains.find_neighbours(base, start, end, peak, low, high)
        fresh = np.array([rng.random() < 0.7 for _ in some], bool)
        least = rng.randrange(1, 4)
        most, window = rng.choice([None, least, least + 2]), rng.choice([None, 6])
        counts = chains.ChainLength(least, -1 if most is None else most, NO_WINDOW if window is None else window)
        marks = chains.ChainMarks(*(np.full(len(some), -1) for _ in range(4)))
        cursor, found = np.zeros(3, np.int64), []
        while cursor[chains.PLACE] < len(some):
            last, first = np.empty(len(some), np.int64), np.empty(len(some), np.int64)
            cursor[chains.FOUND] = 0
            elements = chains.ChainElements(base, start, end, low, high, fresh)
            chains.find_chains(counts, elements, marks, last, first, cursor)
            found += zip(last[: cursor[chains.FOUND]].tolist(), first[: cursor[chains.FOUND]].tolist(), strict=True)
        assert len(found) == len(set(found))
        assert set(found) == twins.chains(some, least, most, window, fresh.tolist()), seed


def test_find_beginnings() -> None:
    for seed in SEEDS:
        rng = random.Random(seed)
        several = [sorted(rng.randrange(9) for _ in range(rng.randrange(4))) for _ in range(3)]
        bounds = ints([0, *np.cumsum([len(starts) for starts in several])])
        asked = [(rng.randrange(3), rng.randrange(9)) for _ in range(6)]
        begun = np.full(6, -5)
        number, moment = ints(q[0] for q in asked), ints(q[1] for q in asked)
        chains.find_beginnings(number, moment, bounds, ints(x for starts in several for x in starts), begun)
        assert begun.tolist() == [next((x for x in several[n] if x > moment), -5) for n, moment in asked]


@pytest.mark.parametrize("relation", ["seq", "during", "starts"])
def test_occur(relation: str) -> None:
    rng = random.Random(0)
    sides = [make_rows(rng, 6) for _ in "ab"]
    pairs = [(rng.randrange(6), rng.randrange(6), rng.random() < 0.5) for _ in range(9)]
    how = Matching.of(RELATIONS[relation], POLICIES["recent"], None)
    given = Pairs(ints(p[0] for p in pairs), ints(p[1] for p in pairs), np.array([p[2] for p in pairs]))
    found = pair_search.occur(how, [arrivals(side) for side in sides], given)
    both = [(sides[0][a], sides[1][b], arrived) for a, b, arrived in pairs]
    assert found.turn.tolist() == [b.turn if arrived else a.turn for a, b, arrived in both]
    spans = [RELATIONS[relation].interval((a.start, a.end), (b.start, b.end)) for a, b, _ in both]
    assert list(zip(found.start.tolist(), found.end.tolist(), strict=True)) == spans


def test_replicate() -> None:
    found = np.empty(6, np.int64)
    rows.replicate(ints([7, 8]), 3, found)
    assert found.tolist() == [7, 7, 7, 8, 8, 8]


KINDS = {name: getattr(aggregate, name.upper()) for name in
         ("count", "sum", "total", "least", "greatest", "first", "last", "distinct")}  # fmt: skip


def answer(name: str, found: aggregate.Totals, values: list[int], x: int) -> Any:
    """Return what a kernel has found for a row as a value."""
    if name == "count":
        return found.counts[x]
    if name == "total":
        return found.totals[x]
    return values[found.numbers[x]] if name in ("least", "greatest", "first", "last") else found.numbers[x]


def reached(count: int, name: str) -> aggregate.Totals:
    by_row = name in ("least", "greatest", "first", "last")
    zeros = np.zeros(count, np.int64)
    return aggregate.Totals(zeros, np.full(count, FAR), np.full(count, -1 if by_row else 0), np.zeros(count))


@pytest.mark.parametrize("name", KINDS)
def test_accumulate(name: str) -> None:
    for seed in SEEDS:
        rng = random.Random(seed)
        some = make_rows(rng, rng.randrange(15), 3)
        values = [rng.randrange(4) for _ in some]
        group = [row.key >> 33 for row in some]
        both = list(zip(group, values, strict=True))
        fresh = [pair not in both[:x] for x, pair in enumerate(both)]
        given = aggregate.FoldedRows(
            ints(group), ints(r.start for r in some), np.ones(len(some), np.int64), ints(values),
            np.array(values, float), np.array(fresh, bool),
        )  # fmt: skip
        found = reached(len(some), name)
        state = reached(3, name)._replace(totals=np.zeros(9))
        assert aggregate.accumulate(KINDS[name], given, state, found)
        so_far = defaultdict(list)
        for x, g in enumerate(group):
            so_far[g].append(x)
            assert answer(name, found, values, x) == twins.fold(name, [values[y] for y in so_far[g]])
            assert found.counts[x] == len(so_far[g])
            assert found.leasts[x] == min(some[y].start for y in so_far[g])


@pytest.mark.parametrize("name", KINDS)
def test_slide(name: str) -> None:
    for seed in range(200):
        rng = random.Random(seed)
        some = make_rows(rng, rng.randrange(15), 2)
        values = [rng.randrange(4) for _ in some]
        group = [row.key >> 33 for row in some]
        order = sorted(range(len(some)), key=lambda x: group[x])
        within, last = rng.choice([None, 3, 6]), rng.choice([None, 2])
        low = rng.randrange(3) if within is None and last is None else 0
        numbers = [4 * g + v for g, v in zip(group, values, strict=True)] if name == "distinct" else values
        given = aggregate.GroupedRows(
            np.searchsorted(ints(sorted(group)), np.arange(3)), ints(order), ints(r.start for r in some),
            ints(r.end for r in some), ints(numbers), np.array(values, float),
        )  # fmt: skip
        room = (np.empty(len(some), np.int64), np.empty(len(some), np.int64), np.zeros(8, np.int64), np.zeros(3))
        window = aggregate.WindowRows(NO_WINDOW if within is None else within, last or aggregate.NO_LAST, *room)
        found, alive = reached(len(some), name), np.zeros(len(some), bool)
        assert aggregate.slide(KINDS[name], low, given, window, alive, found)
        held: dict[int, list[int]] = {0: [], 1: []}
        for x, row in enumerate(some):
            mine = held[group[x]] = [*held[group[x]], x]
            if x < low:
                continue
            mine = held[group[x]] = [y for y in mine if within is None or some[y].start >= row.end - within]
            mine = mine if last is None else mine[-last:]
            assert found.counts[x] == len(mine)
            if mine:
                assert answer(name, found, values, x) == twins.fold(name, [values[y] for y in mine])
                assert found.leasts[x] == min(some[y].start for y in mine)
        counted = (held[g] if last is None else held[g][-last:] for g in held)
        assert {x for some in counted for x in some} <= set(np.flatnonzero(alive).tolist()) <= {*held[0], *held[1]}


RECURSIVE = "p(X, Y) <- a(X, Y). p(X, Y) <- (p(X, Z) seq a(Z, Y)) within 6 where X \\= Y."


def make_edges(rng: random.Random, nodes: list[Any]) -> list[etalis.Event]:
    time, found = 0, []
    for _ in range(rng.randrange(20)):
        time += rng.randrange(3)
        found.append(etalis.Event("a", rng.choice(nodes), rng.choice(nodes), at=time))
    return found


@pytest.mark.parametrize("nodes", [[1, 2, 3, "null"], [0.0, -0.0, -1.5, 2.5], ["x", "y", "null"]], ids=str)
def test_the_recursion_machine(nodes: list[Any]) -> None:
    program = etalis.compile(RECURSIVE)
    for seed in SEEDS:
        rng = random.Random(seed)
        edges = make_edges(rng, nodes)
        types = find_types([etalis.Event("a", nodes[0], nodes[0], at=0)])
        run = ColumnRun(program.compiled, types, policy="unrestricted")
        assert not run.at_a_time
        size = rng.choice([1, 5, 20])
        found = [e for low in range(0, len(edges), size) for e in run.process(gather(edges[low : low + size], types))]
        given = [(*edge.args, edge.end) for edge in edges]
        expected = twins.paths(given, 6)
        assert {(*e.args, e.start, e.end) for e in found if e.name == "p"} == expected, seed
        assert len(found) == len(expected)


def ascending(rng: random.Random, count: int) -> list[int]:
    return sorted(rng.randrange(2 * count + 1) for _ in range(count))


def test_find_places() -> None:
    for seed in SEEDS:
        rng = random.Random(seed)
        known, asked = ascending(rng, rng.choice([0, 5, 300])), ascending(rng, rng.choice([0, 9, 400]))
        if seed % 2:
            rng.shuffle(asked)
        for after, find in ((False, bisect_left), (True, bisect_right)):
            found = np.empty(len(asked), np.int64)
            order.find_places(ints(known), ints(asked), after, found)
            assert found.tolist() == [find(known, x) for x in asked]
            assert places(ints(known), ints(asked), after=after).tolist() == found.tolist()


def test_number_runs_and_sort_in_runs() -> None:
    for seed in SEEDS:
        rng = random.Random(seed)
        runs = ascending(rng, rng.choice([0, 1, 20, 400]))
        keys = [[rng.randrange(3) for _ in runs] for _ in range(rng.choice([1, 2]))]
        found = np.empty(len(runs), np.int64)
        order.number_runs(ints(runs), found)
        assert found.tolist() == [x - runs.index(number) for x, number in enumerate(runs)]
        assert place_in_run(ints(runs)).tolist() == found.tolist()
        expected = sorted(range(len(runs)), key=lambda x: (runs[x], *(key[x] for key in keys)))
        several = np.arange(len(runs))
        order.sort_in_runs(ints(runs), np.array(keys, np.int64).reshape(len(keys), len(runs)), several)
        assert several.tolist() == expected
        assert order_in_runs(ints(runs), [ints(key) for key in keys]).tolist() == expected


def test_have_in_common() -> None:
    for seed in SEEDS:
        rng = random.Random(seed)
        a, b = ([4 * rng.randrange(200) + rng.randrange(4) for _ in range(rng.choice([0, 3, 30]))] for _ in "ab")
        expected = bool({x >> 2 for x in a} & {x >> 2 for x in b})
        assert order.have_in_common(ints(sorted(a)), ints(sorted(b)), 2) == expected
        assert have_in_common(ints(sorted(a)), ints(sorted(b)), 2) == expected


@pytest.mark.parametrize("groups", [0, 1, 7, (1 << 16) - 1, 1 << 16, (1 << 16) + 1])
def test_rows_by_group(groups: int) -> None:
    keys = np.concatenate([np.arange(groups), np.random.default_rng(5).integers(0, groups or 1, min(9, 9 * groups))])
    index = KeyIndex(keys.reshape(-1, 1))
    order, begin = index.by_group()
    assert order.tolist() == np.lexsort((np.arange(len(keys)), index.group)).tolist()
    assert begin.tolist() == [0, *np.cumsum(np.bincount(index.group, minlength=groups)).tolist()]
    assert order.dtype == begin.dtype == np.int64
