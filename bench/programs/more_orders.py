"""More programs: orders, parts and carts."""

from __future__ import annotations

import random
from collections import deque

from programs.case import Case, Match, Row, named

# an order that is not paid within an hour


def order_rows(n: int) -> list[Row]:
    r = random.Random(42)
    events: list[tuple[int, int, Row]] = []
    for i in range(n // 2):
        t = 5 * i
        events.append((t, 0, ("order", i, r.randrange(500), t)))
        if r.random() < 0.9:
            paid = t + r.randrange(1, 4000)
            events.append((paid, 1, ("paid", i, paid)))
    events.sort(key=lambda each: each[:2])
    return [row for _, _, row in events]


def unpaid_loop(rows: list[Row]) -> list[Match]:
    waiting: deque[tuple[int, int, int]] = deque()
    paid: set[int] = set()
    out: list[Match] = []
    for row in rows:
        t = row[-1]
        while waiting and waiting[0][0] + 3600 < t:
            s, order, amount = waiting.popleft()
            if order in paid:
                paid.discard(order)
            else:
                out.append(("unpaid", (order, amount), s, s + 3600))
        if row[0] == "order":
            waiting.append((t, row[1], row[2]))
        else:
            paid.add(row[1])
    out.extend(("unpaid", (order, amount), s, s + 3600) for s, order, amount in waiting if order not in paid)
    return out


UNPAID = Case(
    "unpaid",
    ":- event(order(id: int, amount: int)). :- event(paid(id: int)).\n"
    "unpaid(O, A) <- order(O, A) seq (not paid(O) within 1 h).",
    "unrestricted",
    order_rows,
    unpaid_loop,
    closes=True,
)


# every order with who was paid within an hour, or nobody


def settled_rows(n: int) -> list[Row]:
    r = random.Random(46)
    return [row if row[0] == "order" else ("paid", row[1], r.randrange(40), row[2]) for row in order_rows(n)]


def settled_loop(rows: list[Row]) -> list[Match]:
    waiting: deque[tuple[int, int, int]] = deque()
    begun: dict[int, tuple[int, int]] = {}
    met: set[int] = set()
    out: list[Match] = []

    def pass_time(t: float) -> None:
        while waiting and waiting[0][0] + 3600 < t:
            s, order, amount = waiting.popleft()
            del begun[order]
            if order not in met:
                out.append(("settled", (order, amount, "null"), s, s + 3600))

    for row in rows:
        t = row[-1]
        pass_time(t)
        if row[0] == "order":
            waiting.append((t, row[1], row[2]))
            begun[row[1]] = row[2], t
        elif (order := begun.get(row[1])) is not None:
            met.add(row[1])
            out.append(("settled", (row[1], order[0], row[2]), order[1], t))
    pass_time(float("inf"))
    return out


SETTLED = Case(
    "paid_or_not",
    ":- event(order(id: int, amount: int)). :- event(paid(id: int, clerk: int)).\n"
    "settled(O, A, C) <- (order(O, A) seq? paid(O, C)) within 1 h.",
    "unrestricted",
    settled_rows,
    settled_loop,
    closes=True,
)


# a part and its three tests, with thresholds over all


def part_rows(n: int) -> list[Row]:
    r = random.Random(43)
    out: list[Row] = []
    begun: list[list[str]] = []
    ids: list[int] = []
    number = 0
    while len(out) < n:
        while len(begun) < 100:
            tests = ["b", "c", "d"]
            r.shuffle(tests)
            begun.append([*tests, "a"])
            ids.append(number)
            number += 1
        j = r.randrange(len(begun))
        out.append((begun[j].pop(), ids[j], r.randrange(100), len(out)))
        if not begun[j]:
            begun[j], ids[j] = begun[-1], ids[-1]
            begun.pop()
            ids.pop()
    return out


def tests_loop(rows: list[Row]) -> list[Match]:
    a: dict[int, tuple[int, int]] = {}
    ab: dict[int, tuple[int, int, int, int]] = {}
    c: dict[int, tuple[int, int]] = {}
    d: dict[int, tuple[int, int]] = {}
    out: list[Match] = []
    for kind, part, value, t in rows:
        if kind == "a":
            if value > 20:
                a[part] = value, t
        elif kind == "b":
            if (first := a.pop(part, None)) is not None:
                ab[part] = first[0], value, first[1], t
        elif kind == "c":
            if (other := d.pop(part, None)) is not None:
                finish(out, ab, part, value, other[0], other[1], t)
            else:
                c[part] = value, t
        elif (other := c.pop(part, None)) is not None:
            finish(out, ab, part, other[0], value, other[1], t)
        else:
            d[part] = value, t
    return out


def finish(
    out: list[Match], ab: dict[int, tuple[int, int, int, int]], part: int, z: int, w: int, begun: int, t: int
) -> None:
    if (before := ab.get(part)) is not None:
        x, y, s, e = before
        if e < begun and x + y > z + w:
            del ab[part]
            out.append(("good", (part, x + y - z - w), s, t))


TESTS = Case(
    "nested_thresholds",
    "good(I, D) <- (((a(I, X) where X > 20) seq b(I, Y)) seq (c(I, Z) and d(I, W))) where (D is X + Y - Z - W, D > 0).",
    "chronological",
    part_rows,
    tests_loop,
)


# what was put into a cart, summed until it is paid


def cart_rows(n: int) -> list[Row]:
    r = random.Random(45)
    carts = max(10, n // 20)
    return [
        ("open" if k == 0 else "item", c, *(() if k == 0 else (r.randrange(1, 100),)), i)
        for i, (k, c) in enumerate(_cart_steps(r, n, carts))
    ]


def _cart_steps(r: random.Random, n: int, carts: int) -> list[tuple[int, int]]:
    opened: set[int] = set()
    steps: list[tuple[int, int]] = []
    low = 0
    while len(steps) < n:
        cart = low + r.randrange(50)
        steps.append((1 if cart in opened else 0, cart))
        opened.add(cart)
        if len(steps) % (n // carts) == 0:
            low += 1
    return steps


def cart_loop(rows: list[Row]) -> list[Match]:
    begun: dict[int, list[int]] = {}
    out: list[Match] = []
    for row in rows:
        t = row[-1]
        if row[0] == "open":
            begun[row[1]] = [0, t]
        elif (state := begun.get(row[1])) is not None:
            if t - state[1] > 3600:
                del begun[row[1]]
                continue
            state[0] += row[2]
            if state[0] > 800:
                out.append(("full", (row[1], state[0]), state[1], t))
    return out


CART = Case(
    "cart_total",
    ":- event(open(id: int)). :- event(item(id: int, price: int)).\n"
    "full(I, S) <- ((open(I) seq aggregate(sum(X), item(I, X), S)) within 1 h) where S > 800.",
    "unrestricted",
    cart_rows,
    cart_loop,
)


ORDERS = named(UNPAID, SETTLED, TESTS, CART)
