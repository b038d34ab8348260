"""More programs: payments and stock."""

from __future__ import annotations

import random
from collections import deque
from math import sqrt

from programs.case import Case, Match, Row, named

# a card used at two places that nobody can travel between in time


def place_rows(n: int) -> list[Row]:
    r = random.Random(21)
    cards = max(10, n // 50)
    at = [(r.random() * 100, r.random() * 100) for _ in range(cards)]
    out: list[Row] = []
    for i in range(n):
        card = r.randrange(cards)
        x, y = at[card]
        if r.random() < 0.05:
            x, y = r.random() * 100, r.random() * 100
        at[card] = x, y
        out.append(("pay", f"c{card}", round(x + r.random(), 3), round(y + r.random(), 3), 3 * i))
    return out


def velocity_loop(rows: list[Row]) -> list[Match]:
    last: dict[str, tuple[float, float, int]] = {}
    out: list[Match] = []
    for _, card, x, y, t in rows:
        before = last.get(card)
        if before is not None:
            x0, y0, s = before
            if s < t and t - s <= 3600:
                d = sqrt((x - x0) ** 2 + (y - y0) ** 2)
                if d > 0.1 * (t - s):
                    out.append(("hop", (card, d), s, t))
        last[card] = x, y, t
    return out


PAY_AT = ":- event(pay(card: string, x: float, y: float)).\n"
VELOCITY = Case(
    "velocity",
    PAY_AT + "hop(C, D) <- (pay(C, X, Y) seq pay(C, V, W)) within 1 h"
    " check (t1(S), t2(E), D is sqrt((V - X) ** 2 + (W - Y) ** 2), D > 0.1 * (E - S)).",
    "snoop_recent",
    place_rows,
    velocity_loop,
)


def distance(x: float, y: float, v: float, w: float) -> float:
    return sqrt((v - x) ** 2 + (w - y) ** 2)


VELOCITY_PYTHON = Case(
    "velocity_python",
    PAY_AT + "hop(C, D) <- (pay(C, X, Y) seq pay(C, V, W)) within 1 h"
    " check (t1(S), t2(E), distance(X, Y, V, W, D), D > 0.1 * (E - S)).",
    "snoop_recent",
    place_rows,
    velocity_loop,
    functions={"distance/5": distance},
)


# stock below what facts say, with all suppliers of the item

ITEMS = 1_000
REORDER: list[Row] = [(f"i{k}", 10 + k % 40) for k in range(ITEMS)]
SUPPLIER: list[Row] = [(f"i{k}", f"s{(k * 7 + j) % 50}") for k in range(ITEMS) for j in range(k % 4)]


def stock_rows(n: int) -> list[Row]:
    r = random.Random(22)
    return [("stock", f"i{r.randrange(ITEMS)}", r.randrange(200), i) for i in range(n)]


def low_stock_loop(rows: list[Row]) -> list[Match]:
    least = dict(REORDER)
    by_item: dict[str, list[str]] = {}
    for item, supplier in SUPPLIER:
        by_item.setdefault(item, []).append(supplier)
    return [
        ("order", (item, supplier, least[item] - level), t, t)
        for _, item, level, t in rows
        if level < least[item]
        for supplier in by_item.get(item, ())
    ]


LOW_STOCK = Case(
    "low_stock",
    ":- event(stock(item: string, level: int)).\n"
    "order(I, S, N) <- stock(I, L) event_multiply (reorder(I, M), L < M, N is M - L, supplier(I, S)).",
    "unrestricted",
    stock_rows,
    low_stock_loop,
    facts={"reorder": REORDER, "supplier": SUPPLIER},
)


# who spends more than their segment allows, over a window

SEGMENT: list[Row] = [(f"u{k}", ("gold", "silver", "bronze")[k % 3]) for k in range(2_000)]
CAP: list[Row] = [("gold", 30_000), ("silver", 20_000), ("bronze", 10_000)]


def spend_rows(n: int) -> list[Row]:
    r = random.Random(23)
    return [("pay", f"u{r.randrange(2_000)}", r.randrange(1, 1_000), i) for i in range(n)]


def spender_loop(rows: list[Row]) -> list[Match]:
    segment, cap = dict(SEGMENT), dict(CAP)
    state: dict[str, tuple[deque[tuple[int, int]], list[int]]] = {}
    out: list[Match] = []
    for _, who, amount, t in rows:
        if who not in state:
            state[who] = deque(), [0]
        window, total = state[who]
        window.append((t, amount))
        total[0] += amount
        while t - window[0][0] > 86_400:
            total[0] -= window.popleft()[1]
        if total[0] > cap[segment[who]]:
            out.append(("big", (who, total[0], segment[who]), window[0][0], t))
    return out


SPENDER = Case(
    "big_spender",
    ":- event(pay(who: string, amount: int)).\n"
    "big(C, S, Seg) <- (aggregate(sum(A), pay(C, A), S) within 1 d) where (segment(C, Seg), cap(Seg, Cap), S > Cap).",
    "unrestricted",
    spend_rows,
    spender_loop,
    facts={"segment": SEGMENT, "cap": CAP},
)


# fees by if-then-else, and classes by clauses


def fee_loop(rows: list[Row]) -> list[Match]:
    return [("fee", (who, amount * 2 // 100 if amount > 500 else 5), t, t) for _, who, amount, t in rows]


FEE = Case(
    "fee",
    ":- event(pay(who: string, amount: int)).\nfee(C, F) <- pay(C, A) where (A > 500 -> F is A * 2 // 100 ; F = 5).",
    "unrestricted",
    spend_rows,
    fee_loop,
)


# what each shop has sold in every ten minutes, when they are over


def till_rows(n: int) -> list[Row]:
    r = random.Random(19)
    return [("till", f"k{r.randrange(50)}", r.randrange(100), i) for i in range(n)]


def tills_loop(rows: list[Row]) -> list[Match]:
    sums: dict[str, list[int]] = {}  # since when, and how much
    out: list[Match] = []
    end = 600
    for _, shop, value, t in rows:
        while t >= end:
            out += [("total", (shop, end, total), since, end) for shop, (since, total) in sums.items()]
            sums.clear()
            end += 600
        known = sums.get(shop)
        if known is None:
            sums[shop] = [t, value]
        else:
            known[1] += value
    return out + [("total", (shop, end, total), since, end) for shop, (since, total) in sums.items()]


TILLS = Case(
    "tills",
    "running(K, Until, S) <- aggregate(sum(V), (till(K, V) check (t2(T), window(T, Until))), S) within 10 min.\n"
    "exceptionAlarmAbsoluteDatetime(closed(K, Until), Until) <- till(K, _) check (t2(T), window(T, Until)).\n"
    "closing([property(policy, recent)]) rule:"
    " total(K, Until, S) <- running(K, Until, S) seq closed(K, Until) within 10 min.\n"
    "window(T, Until) :- Until is floor(T / 10 min) * 10 min + 10 min.\n"
    "print_trigger(total/3).",
    "unrestricted",
    till_rows,
    tills_loop,
    closes=True,
)


PAYMENTS = named(VELOCITY, VELOCITY_PYTHON, LOW_STOCK, SPENDER, FEE, TILLS)
