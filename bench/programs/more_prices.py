"""More programs: prices, quotes and orders."""

from __future__ import annotations

import random
from collections import deque
from math import sqrt

from programs.case import Case, Match, Row, named, unique
from programs.trades import TRADE, tick_rows

# the median of the last nine prices


def median_loop(rows: list[Row]) -> list[Match]:
    last: dict[str, deque[tuple[float, int]]] = {}
    out: list[Match] = []
    for _, symbol, price, _, t in rows:
        window = last.get(symbol)
        if window is None:
            window = last[symbol] = deque(maxlen=9)
        window.append((price, t))
        if len(window) == 9:
            out.append(("med", (symbol, sorted(p for p, _ in window)[4]), window[0][1], t))
    return out


MEDIAN = Case(
    "median_of_9",
    TRADE + "med(S, M) <- (aggregate(list(P), trade(S, P, _), L) last 9)"
    " where (length(L, 9), msort(L, Sorted), nth1(5, Sorted, M)).",
    "unrestricted",
    tick_rows,
    median_loop,
)


# the price by volume: two sums over one window


def vwap_loop(rows: list[Row]) -> list[Match]:
    state: dict[str, tuple[deque[tuple[int, float, int]], list[float]]] = {}
    out: list[Match] = []
    for _, symbol, price, quantity, t in rows:
        if symbol not in state:
            state[symbol] = deque(), [0.0, 0]
        window, sums = state[symbol]
        window.append((t, price * quantity, quantity))
        sums[0] += price * quantity
        sums[1] += quantity
        while t - window[0][0] > 3000:
            _, value, count = window.popleft()
            sums[0] -= value
            sums[1] -= count
        out.append(("vwap", (symbol, sums[0] / sums[1]), window[0][0], t))
    return out


VWAP = Case(
    "vwap",
    TRADE + "worth(S, V, Q) <- trade(S, P, Q) where V is P * Q.\n"
    "turnover(S, A) <- aggregate(sum(V), worth(S, V, _), A) within 3000.\n"
    "volume(S, B) <- aggregate(sum(Q), worth(S, _, Q), B) within 3000.\n"
    "vwap(S, W) <- turnover(S, A) equals volume(S, B) where W is A / B.\n"
    "print_trigger(vwap/2).",
    "unrestricted",
    tick_rows,
    vwap_loop,
)


# a price outside of the band around its mean


def bollinger_loop(rows: list[Row]) -> list[Match]:
    state: dict[str, tuple[deque[tuple[int, float]], list[float]]] = {}
    out: list[Match] = []
    for _, symbol, price, _, t in rows:
        if symbol not in state:
            state[symbol] = deque(), [0.0, 0.0]
        window, sums = state[symbol]
        window.append((t, price))
        sums[0] += price
        sums[1] += price * price
        if len(window) > 20:
            _, old = window.popleft()
            sums[0] -= old
            sums[1] -= old * old
        mean = sums[0] / len(window)
        variance = sums[1] / len(window) - mean * mean
        if len(window) == 20 and variance > 0.001 and price > mean + 2 * sqrt(variance):
            out.append(("above", (symbol, price), window[0][0], t))
    return out


BOLLINGER = Case(
    "bollinger",
    TRADE + "price(S, P, PP) <- trade(S, P, _) where PP is P * P.\n"
    "mean(S, M, N) <- (aggregate(avg(P), price(S, P, _), M) last 20)"
    " equals (aggregate(count, price(S, _, _), N) last 20).\n"
    "square(S, M) <- aggregate(avg(PP), price(S, _, PP), M) last 20.\n"
    "now(S, P) <- aggregate(last(P), price(S, P, _), P1) last 20 where P = P1.\n"
    "above(S, P) <- (mean(S, M, 20) equals square(S, Q) equals now(S, P))"
    " where (V is Q - M * M, V > 0.001, P > M + 2 * sqrt(V)).\n"
    "print_trigger(above/2).",
    "unrestricted",
    tick_rows,
    bollinger_loop,
)


# one quote against those of other venues within two seconds


def venue_rows(n: int) -> list[Row]:
    r = random.Random(24)
    return [
        ("quote", f"S{r.randrange(50)}", f"v{r.randrange(5)}", round(100 + r.gauss(0, 0.3), 2), i // 20)
        for i in range(n)
    ]


def arbitrage_loop(rows: list[Row]) -> list[Match]:
    recent: dict[str, deque[tuple[str, float, int]]] = {}
    out: list[Match] = []
    for _, symbol, venue, price, t in rows:
        window = recent.get(symbol)
        if window is None:
            window = recent[symbol] = deque()
        while window and t - window[0][2] > 10:
            window.popleft()
        for other, paid, s in window:
            if s < t and other != venue and price - paid > 0.6:
                out.append(("arb", (symbol, other, venue, price - paid), s, t))
        window.append((venue, price, t))
    return unique(out)


ARBITRAGE = Case(
    "arbitrage",
    ":- event(quote(sym: string, venue: string, price: float)).\n"
    r"arb(S, V, W, D) <- (quote(S, V, A) seq quote(S, W, B)) within 10 where (V \= W, D is B - A, D > 0.6).",
    "unrestricted",
    venue_rows,
    arbitrage_loop,
)


# bids and asks that cross, many at one stamp


def book_rows(n: int) -> list[Row]:
    r = random.Random(25)
    return [(r.choice(("bid", "ask")), f"S{r.randrange(40)}", r.randrange(95, 106), i // 8) for i in range(n)]


def cross_loop(rows: list[Row]) -> list[Match]:
    """Each order goes with the earliest that waits on the other side and whose price fits (chronological)."""
    waiting: dict[str, dict[str, list[tuple[int, int]]]] = {"bid": {}, "ask": {}}
    out: list[Match] = []
    for kind, symbol, price, t in rows:
        is_bid = kind == "bid"
        others = waiting["ask" if is_bid else "bid"].get(symbol, [])
        while others and t - others[0][1] > 5:
            del others[0]
        for number, (other, s) in enumerate(others):
            if (price >= other) if is_bid else (other >= price):
                del others[number]
                out.append(("deal", (symbol, price, other) if is_bid else (symbol, other, price), s, t))
                break
        else:
            waiting[kind].setdefault(symbol, []).append((price, t))
    return unique(out)


CROSS = Case(
    "crossing_orders",
    ":- event(bid(sym: string, price: int)). :- event(ask(sym: string, price: int)).\n"
    "deal(S, B, A) <- (bid(S, B) and ask(S, A)) within 5 where B >= A.",
    "chronological",
    book_rows,
    cross_loop,
)


# every deal with the quotes below it in the three seconds before, or none


def quoted_rows(n: int) -> list[Row]:
    r = random.Random(47)
    return [
        ("quote" if r.random() < 0.5 else "deal", f"s{r.randrange(200)}", r.randrange(90, 110), i // 100)
        for i in range(n)
    ]


def quoted_loop(rows: list[Row]) -> list[Match]:
    last: dict[str, deque[tuple[int, int]]] = {}
    out: list[Match] = []
    for kind, symbol, price, t in rows:
        quotes = last.setdefault(symbol, deque())
        while quotes and quotes[0][1] < t - 3:
            quotes.popleft()
        if kind == "quote":
            quotes.append((price, t))
            continue
        found = [("quoted", (symbol, price, quote), s, t) for quote, s in quotes if s < t and quote < price]
        out.extend(found or [("quoted", (symbol, price, "null"), t, t)])
    return unique(out)


QUOTED = Case(
    "quote_or_none",
    ":- event(quote(sym: string, price: int)). :- event(deal(sym: string, price: int)).\n"
    "quoted(S, P, Q) <- ((quote(S, Q) where Q < P) ?seq deal(S, P)) within 3.",
    "unrestricted",
    quoted_rows,
    quoted_loop,
)


PRICES = named(MEDIAN, VWAP, BOLLINGER, ARBITRAGE, CROSS, QUOTED)
