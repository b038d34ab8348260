"""Prices: moving means, the highest of a window, rallies, the best of twenty, each trade with the latest quote."""

from __future__ import annotations

import random
from collections import deque

from programs.case import Case, Loop, Match, Row, named

TRADE = ":- event(trade(sym: string, price: float, qty: int)).\n"


def tick_rows(n: int, symbols: int = 100, seed: int = 2) -> list[Row]:
    r = random.Random(seed)
    price = [100.0] * symbols
    out: list[Row] = []
    for i in range(n):
        s = r.randrange(symbols)
        price[s] = round(max(1.0, price[s] * (1 + r.gauss(0, 0.002))), 4)
        out.append(("trade", f"S{s}", price[s], r.randrange(1, 500), i))
    return out


def mean_loop(seconds: int) -> Loop:
    def loop(rows: list[Row]) -> list[Match]:
        windows: dict[str, deque[tuple[int, float]]] = {}
        out: list[Match] = []
        totals: dict[str, float] = {}
        for _, symbol, price, _, t in rows:
            window = windows.get(symbol)
            if window is None:
                window = windows[symbol] = deque()
                totals[symbol] = 0.0
            window.append((t, price))
            total = totals[symbol] + price
            while t - window[0][0] > seconds:
                total -= window.popleft()[1]
            totals[symbol] = total
            out.append(("ma", (symbol, total / len(window)), window[0][0], t))
        return out

    return loop


MOVING_30 = Case(
    "moving_avg_30",
    TRADE + "ma(S,A) <- aggregate(avg(P), trade(S,P,_), A) within 3000.",
    "unrestricted",
    tick_rows,
    mean_loop(3_000),
)
MOVING_1000 = Case(
    "moving_avg_1000",
    TRADE + "ma(S,A) <- aggregate(avg(P), trade(S,P,_), A) within 100000.",
    "unrestricted",
    tick_rows,
    mean_loop(100_000),
)


def highest_loop(rows: list[Row]) -> list[Match]:
    windows: dict[str, deque[int]] = {}
    out: list[Match] = []
    falling: dict[str, deque[tuple[int, float]]] = {}
    for _, symbol, price, _, t in rows:
        window = windows.get(symbol)
        if window is None:
            window = windows[symbol] = deque()
            falling[symbol] = deque()
        highest = falling[symbol]
        window.append(t)
        while highest and highest[-1][1] <= price:
            highest.pop()
        highest.append((t, price))
        while t - window[0] > 100000:
            window.popleft()
        while t - highest[0][0] > 100000:
            highest.popleft()
        out.append(("hi", (symbol, highest[0][1]), window[0], t))
    return out


HIGHEST = Case(
    "sliding_max_1000",
    TRADE + "hi(S,A) <- aggregate(max(P), trade(S,P,_), A) within 100000.",
    "unrestricted",
    tick_rows,
    highest_loop,
)


def rally_loop(rows: list[Row]) -> list[Match]:
    rising: dict[str, list[tuple[float, int]]] = {}
    out: list[Match] = []
    for _, symbol, price, _, t in rows:
        run = rising.get(symbol)
        if run is None:
            rising[symbol] = [(price, t)]
            continue
        if price > run[-1][0]:
            run.append((price, t))
        else:
            run[:] = [(price, t)]
        if len(run) >= 4:
            del run[:-4]
            out.append(("rally", (symbol, run[0][0], price), run[0][1], t))
    return [match for match in out if match[3] - match[2] <= 5000]


RALLY = Case(
    "three_rises",
    TRADE + "step(S,A,B) <- trade(S,A,_) seq trade(S,B,_).\nrise(S,A,B) <- step(S,A,B) where B > A.\n"
    "rally([property(policy,unrestricted)]) rule:"
    " rally(S,A,D) <- (rise(S,A,B) meets rise(S,B,C) meets rise(S,C,D)) within 5000.\n"
    "print_trigger(rally/3).",
    "chronological",
    tick_rows,
    rally_loop,
)


def top_loop(rows: list[Row]) -> list[Match]:
    windows: dict[str, deque[tuple[float, int]]] = {}
    out: list[Match] = []
    for _, symbol, price, _, t in rows:
        window = windows.get(symbol)
        if window is None:
            window = windows[symbol] = deque(maxlen=20)
        window.append((price, t))
        if len(window) >= 3:
            best = sorted((v for v, _ in window), reverse=True)
            out.append(("top", (symbol, best[0], best[1], best[2]), window[0][1], t))
    return out


TOP = Case(
    "top3_of_20",
    TRADE + "top(S,A,B,C) <- (aggregate(list(P), trade(S,P,_), L) last 20) where (sort(0, @>=, L, [A,B,C|_])).",
    "unrestricted",
    tick_rows,
    top_loop,
    events=100_000,
)


def quote_rows(n: int) -> list[Row]:
    r = random.Random(9)
    out: list[Row] = []
    for i in range(n):
        s = f"S{r.randrange(200)}"
        out.append(("quote" if r.random() < 0.7 else "trade", s, round(100 + r.random(), 2), i))
    return out


def asof_loop(rows: list[Row]) -> list[Match]:
    last: dict[str, tuple[float, int]] = {}
    out: list[Match] = []
    for kind, symbol, price, t in rows:
        if kind == "quote":
            last[symbol] = (price, t)
        else:
            quote = last.get(symbol)
            if quote is not None and quote[1] < t:
                out.append(("asof", (symbol, quote[0], price), quote[1], t))
    return out


ASOF = Case(
    "asof_join",
    ":- event(quote(sym: string, price: float)). :- event(trade(sym: string, price: float)).\n"
    "asof(S,Q,P) <- quote(S,Q) seq trade(S,P).",
    "snoop_recent",
    quote_rows,
    asof_loop,
)

TRADES = named(MOVING_30, MOVING_1000, HIGHEST, RALLY, TOP, ASOF)
