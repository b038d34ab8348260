"""Joins of many parts, without a key, by duration; and rules by the hundred and thousand."""

from __future__ import annotations

import random
from collections import deque

from programs.case import Case, Loop, Match, Row, named


def ten_rows(n: int) -> list[Row]:
    r = random.Random(13)
    out: list[Row] = []
    begun: list[list[int]] = []
    following = 0
    whole = n // 10
    while len(out) < whole * 10:
        while len(begun) < 100 and following < whole:
            begun.append([following, 0])
            following += 1
        j = r.randrange(len(begun))
        i, k = begun[j]
        out.append((f"e{k}", i, r.randrange(100), len(out) + 1))
        begun[j][1] += 1
        if k == 9:
            begun[j] = begun[-1]
            begun.pop()
    return out


def ten_loop(rows: list[Row]) -> list[Match]:
    begun: dict[int, tuple[int, list[int], int]] = {}
    out: list[Match] = []
    for kind, i, value, t in rows:
        part = int(kind[1:])
        if part == 0:
            begun[i] = (1, [value], t)
        else:
            found = begun.get(i)
            if found and found[0] == part:
                found[1].append(value)
                if part == 9:
                    out.append(("done", (i, *found[1]), found[2], t))
                    del begun[i]
                else:
                    begun[i] = (part + 1, found[1], found[2])
    return out


TEN = Case(
    "ten_parts",
    "done(I," + ",".join(f"X{k}" for k in range(10)) + ") <- " + " seq ".join(f"e{k}(I,X{k})" for k in range(10)) + ".",
    "chronological",
    ten_rows,
    ten_loop,
)


def letter_rows(n: int) -> list[Row]:
    r = random.Random(14)
    return [(r.choice("ab"), r.randrange(1000), i) for i in range(n)]


def nokey_loop(rows: list[Row]) -> list[Match]:
    waiting: deque[tuple[int, int]] = deque()
    out: list[Match] = []
    for kind, x, t in rows:
        if kind == "a":
            waiting.append((x, t))
        else:
            while waiting and t - waiting[0][1] > 20:
                waiting.popleft()
            for y, s in waiting:
                out.append(("p", (y, x), s, t))
    return out


NO_KEY = Case(
    "nokey_within20",
    "p(X,Y) <- (a(X) seq b(Y)) within 20.",
    "unrestricted",
    letter_rows,
    nokey_loop,
    events=100_000,
)


def request_rows(n: int) -> list[Row]:
    r = random.Random(15)
    events: list[tuple[int, int, str, int]] = []
    for i in range(n // 2):
        events.append((i * 3, 0, "req", i))
        events.append((i * 3 + r.randrange(1, 20), 1, "resp", i))
    events.sort()
    return [(kind, i, t) for t, _, kind, i in events]


def slow_loop(rows: list[Row]) -> list[Match]:
    waiting: dict[int, int] = {}
    out: list[Match] = []
    for kind, i, t in rows:
        if kind == "req":
            waiting[i] = t
        else:
            s = waiting.get(i)
            if s is not None and s < t and t - s > 10:
                out.append(("slow", (i, t - s), s, t))
                del waiting[i]
    return out


SLOW = Case(
    "duration_check",
    ":- event(req(id:int)). :- event(resp(id:int)).\n"
    "slow(I,D) <- (req(I) seq resp(I)) check (t1(S), t2(E), D is E - S, D > 10).",
    "chronological",
    request_rows,
    slow_loop,
)

TICK = ":- event(tick(sym: string, price: float)).\n"


def price_rows(n: int) -> list[Row]:
    r = random.Random(12)
    return [("tick", f"S{r.randrange(1000)}", float(r.randrange(1000)), i) for i in range(n)]


def filters(rules: int) -> str:
    return TICK + "\n".join(f"r{k}(S,P) <- tick(S,P) where P > {990 + k % 10}.0." for k in range(rules))


def filters_loop(rules: int) -> Loop:
    def loop(rows: list[Row]) -> list[Match]:
        out: list[Match] = []
        thresholds = [(f"r{k}", 990.0 + k % 10) for k in range(rules)]
        for _, symbol, price, t in rows:
            for name, least in thresholds:
                if price > least:
                    out.append((name, (symbol, price), t, t))
        return out

    return loop


def alerts(rules: int) -> str:
    return TICK + "\n".join(f"alert{k}(P) <- tick('S{k}',P) where P > 900.0." for k in range(rules))


def alerts_loop(rules: int) -> Loop:
    def loop(rows: list[Row]) -> list[Match]:
        out: list[Match] = []
        names = {f"S{k}": f"alert{k}" for k in range(rules)}
        for _, symbol, price, t in rows:
            if price > 900.0:
                name = names.get(symbol)
                if name:
                    out.append((name, (price,), t, t))
        return out

    return loop


FILTERS_100 = Case("rules_100_filter", filters(100), "unrestricted", price_rows, filters_loop(100), events=50_000)
FILTERS_1000 = Case("rules_1000_filter", filters(1000), "unrestricted", price_rows, filters_loop(1000), events=5_000)
ALERTS = Case("rules_1000_by_symbol", alerts(1000), "unrestricted", price_rows, alerts_loop(1000), events=50_000)

JOINS = named(TEN, NO_KEY, SLOW)
RULES = named(FILTERS_100, FILTERS_1000, ALERTS)
