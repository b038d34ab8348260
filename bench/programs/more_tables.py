"""More programs: tables that are looked up, whose facts and clauses stay as they are."""

from __future__ import annotations

import random
from collections import deque
from math import hypot

from programs.case import Case, Match, Row, named

# a call by the tariff between two countries


COUNTRIES = [f"c{k}" for k in range(60)]
TARIFF: list[Row] = [
    (a, b, (i * 7 + j * 13) % 40 + 1) for i, a in enumerate(COUNTRIES) for j, b in enumerate(COUNTRIES)
]


def call_rows(n: int) -> list[Row]:
    r = random.Random(71)
    return [("call", r.choice(COUNTRIES), r.choice(COUNTRIES), r.randrange(1, 60), i) for i in range(n)]


def tariff_loop(rows: list[Row]) -> list[Match]:
    tariff = {(a, b): price for a, b, price in TARIFF}
    return [
        ("cost", (a, b, tariff[a, b] * minutes), t, t) for _, a, b, minutes, t in rows if tariff[a, b] * minutes > 500
    ]


CALLS = Case(
    "call_tariff",
    ":- event(call(from: string, to: string, minutes: int)).\n"
    "cost(A, B, C) <- call(A, B, M) where (tariff(A, B, P), C is P * M, C > 500).",
    "unrestricted",
    call_rows,
    tariff_loop,
    facts={"tariff": TARIFF},
)


# a sale at the price that is valid on its day


def _valid_prices() -> list[Row]:
    r = random.Random(72)
    return [(f"i{item}", day, day + 30, r.randrange(1, 100)) for item in range(300) for day in range(0, 360, 30)]


VALID: list[Row] = _valid_prices()


def sale_rows(n: int) -> list[Row]:
    r = random.Random(73)
    return [("sale", f"i{r.randrange(300)}", r.randrange(360), r.randrange(1, 9), i) for i in range(n)]


def billed_loop(rows: list[Row]) -> list[Match]:
    prices: dict[str, list[Row]] = {}
    for row in VALID:
        prices.setdefault(row[0], []).append(row)
    out: list[Match] = []
    for _, item, day, pieces, t in rows:
        for _, begin, end, price in prices[item]:
            if begin <= day < end:
                out.append(("billed", (item, pieces * price), t, t))
                break
    return out


BILLED = Case(
    "valid_price",
    ":- event(sale(item: string, day: int, pieces: int)).\n"
    "billed(I, A) <- sale(I, D, N) where (price(I, B, E, P), B =< D, D < E, A is N * P).",
    "unrestricted",
    sale_rows,
    billed_loop,
    facts={"price": VALID},
)


# the bracket that an amount lies in, a fee with a default


BRACKETS: list[Row] = [(0, 100, 1), (100, 1_000, 3), (1_000, 5_000, 7), (5_000, 20_000, 12), (20_000, 100_000, 20)]


def income_rows(n: int) -> list[Row]:
    r = random.Random(74)
    return [("income", f"w{r.randrange(1000)}", int(100_000 ** r.random()), i) for i in range(n)]


def bracket_loop(rows: list[Row]) -> list[Match]:
    out: list[Match] = []
    for _, who, amount, t in rows:
        for low, high, rate in BRACKETS:
            if low <= amount < high:
                out.append(("taxed", (who, amount * rate // 100), t, t))
                break
    return out


TAXED = Case(
    "tax_bracket",
    ":- event(income(who: string, amount: int)).\n"
    "taxed(W, T) <- income(W, A) where (bracket(L, H, R), A >= L, A < H, T is A * R // 100).\n"
    + "\n".join(f"bracket({low}, {high}, {rate})." for low, high, rate in BRACKETS),
    "unrestricted",
    income_rows,
    bracket_loop,
)

FEES: list[Row] = [(f"z{k}", k % 9 + 1) for k in range(0, 200, 3)]


def parcel_rows(n: int) -> list[Row]:
    r = random.Random(75)
    return [("parcel", i, f"z{r.randrange(200)}", i) for i in range(n)]


def fee_loop(rows: list[Row]) -> list[Match]:
    fees = dict(FEES)
    return [("shipped", (parcel, fees.get(zone, 25)), t, t) for _, parcel, zone, t in rows]


SHIPPED = Case(
    "default_fee",
    ":- event(parcel(id: int, zone: string)).\nshipped(P, C) <- parcel(P, Z) where (fee(Z, F) -> C = F ; C = 25).",
    "unrestricted",
    parcel_rows,
    fee_loop,
    facts={"fee": FEES},
)


# customers of several kinds, each kind a clause


GOLD: list[Row] = [(f"u{k}",) for k in range(0, 3000, 7)]
SILVER: list[Row] = [(f"u{k}", k % 10) for k in range(0, 3000, 3)]


def login_rows(n: int) -> list[Row]:
    r = random.Random(76)
    return [("login", f"u{r.randrange(3000)}", r.randrange(24), i) for i in range(n)]


def kind_loop(rows: list[Row]) -> list[Match]:
    gold, silver = {user for (user,) in GOLD}, dict(SILVER)
    out: list[Match] = []
    for _, user, _, t in rows:
        if user in gold:
            kind = "vip"
        elif user in silver:
            kind = "vip" if silver[user] > 5 else "known"
        else:
            kind = "plain"
        out.append(("seen", (user, kind), t, t))
    return out


KINDS = Case(
    "customer_kind",
    ":- event(login(user: string, hour: int)).\n"
    "seen(U, K) <- login(U, _) where kind(U, K).\n"
    "kind(U, vip) :- gold(U).\nkind(U, vip) :- silver(U, Y), Y > 5.\nkind(U, known) :- silver(U, _).\nkind(_, plain).",
    "unrestricted",
    login_rows,
    kind_loop,
    facts={"gold": GOLD, "silver": SILVER},
)


# who has many roles: facts counted


ROLES: list[Row] = [(f"u{k}", f"r{j}") for k in range(3000) for j in range(k % 5)]


def roles_loop(rows: list[Row]) -> list[Match]:
    roles: dict[str, list[str]] = {}
    for user, role in ROLES:
        roles.setdefault(user, []).append(role)
    return [
        ("busy", (user, len(roles[user])), t, t) for _, user, _, t in rows if user in roles and len(roles[user]) >= 3
    ]


COUNTED = Case(
    "roles_counted",
    ":- event(login(user: string, hour: int)).\n"
    "busy(U, N) <- login(U, _) where (findall(R, role(U, R), L), length(L, N), N >= 3).",
    "unrestricted",
    login_rows,
    roles_loop,
    facts={"role": ROLES},
)

# doors that somebody has no permit for, ports of a list that a host is not allowed


PERMITS: list[Row] = [(f"u{k}", f"d{(k * j) % 40}") for k in range(500) for j in range(1, 12)]


def badge_rows(n: int) -> list[Row]:
    r = random.Random(77)
    return [("badge", f"u{r.randrange(500)}", f"d{r.randrange(40)}", i) for i in range(n)]


def stranger_loop(rows: list[Row]) -> list[Match]:
    permits = set(PERMITS)
    return [("stranger", (user, door), t, t) for _, user, door, t in rows if (user, door) not in permits]


STRANGER = Case(
    "no_permit",
    ":- event(badge(user: string, door: string)).\nstranger(U, D) <- badge(U, D) where \\+ permit(U, D).",
    "unrestricted",
    badge_rows,
    stranger_loop,
    facts={"permit": PERMITS},
)

PORTS = [[22, 80, 443], [443], [25, 465, 587, 993], []]


def port_rows(n: int) -> list[Row]:
    r = random.Random(78)
    return [("conn", f"h{r.randrange(400)}", r.choice((22, 25, 80, 443, 8080)), i) for i in range(n)]


def ports_loop(rows: list[Row]) -> list[Match]:
    allowed = {f"h{k}": PORTS[k % 4] for k in range(400)}
    return [
        ("odd", (host, port), t, t) for _, host, port, t in rows if port not in (80, 8080) and port not in allowed[host]
    ]


ODD_PORTS = Case(
    "allowed_ports",
    ":- event(conn(host: string, port: int)).\n"
    "odd(H, P) <- conn(H, P) where (\\+ memberchk(P, [80, 8080]), allowed(H, L), \\+ member(P, L)).\n"
    + "\n".join(f"allowed(h{k}, {PORTS[k % 4]})." for k in range(400)),
    "unrestricted",
    port_rows,
    ports_loop,
)

# kinds of goods, some levels deep: what is food, and all that something is


IS_A: list[Row] = [(f"k{k}", f"k{k // 3}") for k in range(1, 1500)]
KIND_OF: list[Row] = [(f"i{k}", f"k{k * 7 % 1500}") for k in range(4000)]


def buy_rows(n: int) -> list[Row]:
    r = random.Random(79)
    return [("buy", f"u{r.randrange(900)}", f"i{r.randrange(4000)}", i) for i in range(n)]


def food_loop(rows: list[Row]) -> list[Match]:
    above, kind = dict(IS_A), dict(KIND_OF)
    out: list[Match] = []
    for _, user, item, t in rows:
        k: str | None = kind[item]
        while k is not None and k != "k4":
            k = above.get(k)
        if k is not None:
            out.append(("food", (user, item), t, t))
    return out


HIERARCHY = "is_a(K, K).\nis_a(K, L) :- sub(K, M), is_a(M, L).\n"

FOOD = Case(
    "is_food",
    ":- event(buy(user: string, item: string)).\n"
    "food(U, I) <- buy(U, I) where (kind(I, K), is_a(K, k4)).\n" + HIERARCHY,
    "unrestricted",
    buy_rows,
    food_loop,
    facts={"sub": IS_A, "kind": KIND_OF},
)


def kinds_loop(rows: list[Row]) -> list[Match]:
    above, kind = dict(IS_A), dict(KIND_OF)
    out: list[Match] = []
    for _, _, item, t in rows:
        k: str | None = kind[item]
        while k is not None:
            out.append(("bought", (item, k), t, t))
            k = above.get(k)
    return out


BOUGHT = Case(
    "all_kinds",
    ":- event(buy(user: string, item: string)).\n"
    "bought(I, C) <- buy(_, I) event_multiply (kind(I, K), is_a(K, C)).\n" + HIERARCHY,
    "unrestricted",
    buy_rows,
    kinds_loop,
    facts={"sub": IS_A, "kind": KIND_OF},
    events=100_000,
)

# stops that can be reached from each other over lines with circles


LINES: list[Row] = [(f"s{k}", f"s{k // 10 * 10 + (k + 1) % 10}") for k in range(300)] + [
    (f"s{k}", f"s{k + 25}") for k in range(0, 270, 50)
]


def trip_rows(n: int) -> list[Row]:
    r = random.Random(80)
    return [(r.choice(("enter", "leave")), f"p{r.randrange(40)}", f"s{r.randrange(300)}", i // 4) for i in range(n)]


def trip_loop(rows: list[Row]) -> list[Match]:
    after: dict[str, list[str]] = {}
    for a, b in LINES:
        after.setdefault(a, []).append(b)
    reached: dict[str, set[str]] = {}
    recent: dict[str, deque[tuple[str, int]]] = {}
    out: list[Match] = []
    for event, who, stop, t in rows:
        window = recent.setdefault(who, deque())
        if event == "enter":
            window.append((stop, t))
            continue
        while window and window[0][1] < t - 30:
            window.popleft()
        for first, s in window:
            if s < t:
                found = reached.get(first)
                if found is None:
                    found, todo = set(), [first]
                    while todo:
                        for following in after.get(todo.pop(), ()):
                            if following not in found:
                                found.add(following)
                                todo.append(following)
                    reached[first] = found
                if stop in found:
                    out.append(("trip", (who, first, stop), s, t))
    return list(dict.fromkeys(out))


TRIP = Case(
    "reached_stops",
    ":- event(enter(who: string, stop: string)). :- event(leave(who: string, stop: string)).\n"
    "trip(W, A, B) <- (enter(W, A) seq leave(W, B)) within 30 where reaches(A, B).\n"
    ":- table reaches/2.\nreaches(A, B) :- line(A, B).\nreaches(A, C) :- reaches(A, B), line(B, C).",
    "unrestricted",
    trip_rows,
    trip_loop,
    facts={"line": LINES},
    events=100_000,
)

# a distance that a function of the host computes


def position_rows(n: int) -> list[Row]:
    r = random.Random(81)
    return [("at", f"v{r.randrange(500)}", r.uniform(0, 100), r.uniform(0, 100), i) for i in range(n)]


def distance(a: float, b: float, c: float, d: float) -> float:
    return hypot(c - a, d - b)


def leap_loop(rows: list[Row]) -> list[Match]:
    last: dict[str, tuple[float, float, int]] = {}
    out: list[Match] = []
    for _, car, x, y, t in rows:
        before = last.get(car)
        if before is not None:
            far = distance(before[0], before[1], x, y)
            if far > 70.0:
                out.append(("leap", (car, far), before[2], t))
        last[car] = x, y, t
    return out


LEAP = Case(
    "host_distance",
    ":- event(at(car: string, x: float, y: float)).\n"
    "leap(C, D) <- (at(C, X, Y) seq at(C, Z, W)) where (distance(X, Y, Z, W, D), D > 70.0).",
    "snoop_recent",
    position_rows,
    leap_loop,
    functions={"distance": distance},
)


TABLES = named(CALLS, BILLED, TAXED, SHIPPED, KINDS, COUNTED, STRANGER, ODD_PORTS, FOOD, BOUGHT, TRIP, LEAP)
