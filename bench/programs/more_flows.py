"""More programs: flows of steps, hierarchies, lists of what is forbidden, rules by the hundred."""

from __future__ import annotations

import random
from collections import deque

from programs.case import Case, Match, Row, named, unique

# two to four views between a search and a purchase


def search_rows(n: int) -> list[Row]:
    r = random.Random(61)
    kinds = ("search", "view", "buy")
    return [(r.choices(kinds, (2, 5, 2))[0], r.randrange(2000), i) for i in range(n)]


def searched_loop(rows: list[Row]) -> list[Match]:
    searches: dict[int, list[tuple[int, list[int]]]] = {}
    out: list[Match] = []
    for kind, user, t in rows:
        waiting = searches.setdefault(user, [])
        if kind == "search":
            waiting.append((t, []))
        elif kind == "view":
            for _, views in waiting:
                views.append(t)
        else:
            waiting[:] = [each for each in waiting if t - each[0] <= 20_000]
            out.extend(("bought", (user,), start, t) for start, views in waiting if len(views) >= 2)
    return out


SEARCHED = Case(
    "search_to_buy",
    "bought(U) <- ((search(U) seq view(U) ntimes (2, 4)) seq buy(U)) within 20000.",
    "unrestricted",
    search_rows,
    searched_loop,
    events=100_000,
)


# whoever is above somebody with an urgent ticket


def ticket_rows(n: int) -> list[Row]:
    r = random.Random(62)
    return [("ticket", f"e{r.randrange(5000)}", r.randrange(10), i) for i in range(n)]


BOSSES = [(f"e{i}", f"e{i // 6}") for i in range(1, 5000)]


def escalated_loop(rows: list[Row]) -> list[Match]:
    boss = dict(BOSSES)
    out: list[Match] = []
    for _, who, urgency, t in rows:
        if urgency > 7:
            above = boss.get(who)
            while above is not None:
                out.append(("escalated", (who, above), t, t))
                above = boss.get(above)
    return out


ESCALATED = Case(
    "escalated",
    ":- event(ticket(employee: string, urgency: int)).\n"
    "escalated(E, M) <- (ticket(E, U) where U > 7) event_multiply above(E, M).\n"
    "above(E, M) :- boss(E, M).\nabove(E, M) :- boss(E, B), above(B, M).",
    "unrestricted",
    ticket_rows,
    escalated_loop,
    facts={"boss": BOSSES},
)


# payments of cards that were blocked before


def blocked_rows(n: int) -> list[Row]:
    r = random.Random(63)
    out: list[Row] = []
    for i in range(n):
        card = f"c{r.randrange(20_000)}"
        out.append(("blocked", card, i) if r.random() < 0.02 else ("pay", card, r.randrange(1000), i))
    return out


def blocked_loop(rows: list[Row]) -> list[Match]:
    blocked: set[str] = set()
    out: list[Match] = []
    for row in rows:
        if row[0] == "blocked":
            blocked.add(row[1])
        elif row[1] in blocked and row[2] > 100:
            out.append(("refused", row[1:3], row[3], row[3]))
    return out


BLOCKED = Case(
    "blocked_cards",
    ":- event(blocked(card: string)). :- event(pay(card: string, amount: int)).\n:- knowledge blocked/1.\n"
    "refused(C, A) <- pay(C, A) where (A > 100, blocked(C)).",
    "unrestricted",
    blocked_rows,
    blocked_loop,
)


# a triangle of transfers


def transfer_rows(n: int) -> list[Row]:
    r = random.Random(64)
    return [("transfer", r.randrange(300), r.randrange(300), r.randrange(1, 100), i) for i in range(n)]


def circle_loop(rows: list[Row]) -> list[Match]:
    first: dict[int, deque[tuple[int, int]]] = {}  # from, time by to
    second: dict[tuple[int, int], deque[tuple[int, int]]] = {}  # middle, start by (from, last)
    out: list[Match] = []
    for _, x, y, _, t in rows:
        pairs = second.get((y, x))
        if pairs is not None:
            while pairs and t - pairs[0][2] > 500:
                pairs.popleft()
            out.extend(("circle", (y, middle, x), start, t) for middle, start, _ in pairs if t - start <= 500)
        group = first.get(x)
        if group is not None:
            while group and t - group[0][1] > 500:
                group.popleft()
            for origin, start in group:
                second.setdefault((origin, y), deque()).append((x, start, t))
        first.setdefault(y, deque()).append((x, t))
    return unique(out)


CIRCLE = Case(
    "circle",
    "circle(X, Y, Z) <- (transfer(X, Y, _) seq transfer(Y, Z, _) seq transfer(Z, X, _)) within 500.",
    "unrestricted",
    transfer_rows,
    circle_loop,
)


# every hundredth click of a user


def hundredth_rows(n: int) -> list[Row]:
    r = random.Random(65)
    return [("click", f"u{r.randrange(100)}", f"/{r.randrange(50)}", i) for i in range(n)]


def hundredth_loop(rows: list[Row]) -> list[Match]:
    counts: dict[str, tuple[int, int]] = {}
    out: list[Match] = []
    for _, user, _, t in rows:
        count, start = counts.get(user, (0, t))
        counts[user] = count + 1, start
        if (count + 1) % 100 == 0:
            out.append(("hundred", (user, count + 1), start, t))
    return out


HUNDREDTH = Case(
    "hundredth_click",
    ":- event(click(user: string, page: string)).\n"
    "hundred(U, N) <- aggregate(count, click(U, _), N) where N mod 100 =:= 0.",
    "unrestricted",
    hundredth_rows,
    hundredth_loop,
)


# five hundred rules with two constants each, and a threshold


def shop_rows(n: int) -> list[Row]:
    r = random.Random(66)
    return [
        ("sale", f"shop{r.randrange(100)}", r.choice(("EUR", "USD", "GBP")), r.randrange(1000), i) for i in range(n)
    ]


LARGE = [(f"large{k}", f"shop{k % 100}", ("EUR", "USD", "GBP")[k % 3], 800 + k % 150) for k in range(500)]


def large_loop(rows: list[Row]) -> list[Match]:
    rules: dict[tuple[str, str], list[tuple[str, int]]] = {}
    for name, shop, currency, least in LARGE:
        rules.setdefault((shop, currency), []).append((name, least))
    out: list[Match] = []
    for _, shop, currency, amount, t in rows:
        out.extend((name, (amount,), t, t) for name, least in rules.get((shop, currency), ()) if amount > least)
    return out


LARGE_SALES = Case(
    "large_sales_500",
    ":- event(sale(shop: string, currency: string, amount: int)).\n"
    + "\n".join(
        f"{name}(A) <- sale('{shop}', '{currency}', A) where A > {least}." for name, shop, currency, least in LARGE
    ),
    "unrestricted",
    shop_rows,
    large_loop,
)


# two events of one machine, in a thousand rules that name the machine


def step_rows(n: int) -> list[Row]:
    r = random.Random(67)
    return [(r.choice(("begun", "done")), f"m{r.randrange(1000)}", r.randrange(50), i) for i in range(n)]


def named_machine_loop(rows: list[Row]) -> list[Match]:
    waiting: dict[str, deque[tuple[int, int]]] = {}
    out: list[Match] = []
    for kind, machine, x, t in rows:
        group = waiting.setdefault(machine, deque())
        if kind == "begun":
            group.append((x, t))
            continue
        while group and t - group[0][1] > 5000:
            group.popleft()
        if group:
            value, start = group.popleft()
            out.append((f"worked{machine[1:]}", (value, x), start, t))
    return out


NAMED_MACHINES = Case(
    "machines_1000_by_name",
    ":- event(begun(machine: string, part: int)). :- event(done(machine: string, part: int)).\n"
    + "\n".join(f"worked{k}(X, Y) <- (begun('m{k}', X) seq done('m{k}', Y)) within 5000." for k in range(1000)),
    "chronological",
    step_rows,
    named_machine_loop,
)


FLOWS = named(SEARCHED, ESCALATED, BLOCKED, CIRCLE, HUNDREDTH, LARGE_SALES, NAMED_MACHINES)
