"""Payments: cards used in two cities, and customers looked up in a table."""

from __future__ import annotations

import random
from collections import deque

from programs.case import Case, Match, Row, named

CITIES = ["basel", "weil", "zurich", "winterthur", "bern", "geneva", "lugano", "chur", "lorrach", "sion"]
NEAR = {("basel", "weil"), ("basel", "lorrach"), ("zurich", "winterthur")}


def fraud_rows(n: int) -> list[Row]:
    r = random.Random(1)
    cards = max(10, n // 40)
    out: list[Row] = []
    home = [r.choice(CITIES) for _ in range(cards)]
    for i in range(n):
        c = r.randrange(cards)
        if r.random() < 0.03:
            out.append(("confirmed", f"c{c}", i))
            continue
        city = home[c] if r.random() < 0.9 else r.choice(CITIES)
        out.append(("withdrawal", f"c{c}", city, float(r.randrange(20, 1000)), i))
    return out


def fraud_loop(rows: list[Row]) -> list[Match]:
    waiting: dict[str, deque[tuple[str, float, int]]] = {}
    confirmed: dict[str, list[int]] = {}
    out: list[Match] = []
    for row in rows:
        if row[0] == "confirmed":
            confirmed.setdefault(row[1], []).append(row[2])
            confirmed[row[1]] = [row[2]]
            continue
        _, card, city, amount, t = row
        window = waiting.get(card)
        if window is None:
            window = waiting[card] = deque()
        while window and t - window[0][2] > 20000:
            window.popleft()
        last = confirmed.get(card, [-1])[-1]
        for other, paid, s in window:
            if (
                s < t
                and not (s < last < t)
                and other != city
                and (other, city) not in NEAR
                and (city, other) not in NEAR
                and paid + amount > 1000.0
            ):
                out.append(("fraud", (card, other, city, paid + amount), s, t))
        window.append((city, amount, t))
    return out


FRAUD = Case(
    "fraud",
    r"""
:- event(withdrawal(card: string, city: string, amount: float)). :- event(confirmed(card: string)).
fraud(Card,CityA,CityB,Total) <- ((withdrawal(Card,CityA,A) seq withdrawal(Card,CityB,B)) cnot confirmed(Card))"""
    r""" within 20000
   where (CityA \= CityB, \+ near(CityA, CityB), Total is A + B, Total > 1000.0).
near(A,B) :- border(A,B). near(A,B) :- border(B,A).
border(basel,weil). border(basel,lorrach). border(zurich,winterthur).
""",
    "unrestricted",
    fraud_rows,
    fraud_loop,
)


def payment_rows(n: int) -> list[Row]:
    r = random.Random(10)
    return [("pay", f"cust{r.randrange(120_000)}", float(r.randrange(1, 1000)), i) for i in range(n)]


def customers() -> list[Row]:
    r = random.Random(11)
    return [(f"cust{i}", r.choice(("gold", "silver", "none")), float(r.randrange(100, 1000))) for i in range(100_000)]


CUSTOMERS = customers()


def reference_loop(rows: list[Row]) -> list[Match]:
    known = {customer: (segment, limit) for customer, segment, limit in CUSTOMERS}
    out: list[Match] = []
    for _, customer, amount, t in rows:
        found = known.get(customer)
        if found is not None and amount > found[1]:
            out.append(("over", (customer, found[0]), t, t))
    return out


REFERENCE = Case(
    "reference_100k",
    ":- event(pay(cust: string, amount: float)).\nover(C,Seg) <- pay(C,A) where (customer(C,Seg,Limit), A > Limit).",
    "unrestricted",
    payment_rows,
    reference_loop,
    facts={"customer": CUSTOMERS},
)

CARDS = named(FRAUD, REFERENCE)
