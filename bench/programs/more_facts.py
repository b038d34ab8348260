"""More programs: facts that events and actions change while the stream goes on."""

from __future__ import annotations

import random
from collections import deque

from programs.case import Case, Match, Row, named

# pieces in stock, counted down by an action


STOCK: list[Row] = [(f"i{k}", 40) for k in range(2_000)]


def order_rows(n: int) -> list[Row]:
    r = random.Random(91)
    return [("order", f"i{r.randrange(2_000)}", i) for i in range(n)]


def stock_loop(rows: list[Row]) -> list[Match]:
    stock = dict(STOCK)
    out: list[Match] = []
    for _, item, t in rows:
        left = stock[item]
        if left > 0:
            stock[item] = left - 1
            out.append(("sold", (item, left), t, t))
    return out


SOLD = Case(
    "stock_left",
    ":- event(order(item: string)).\n:- dynamic stock/2.\n"
    "sold(I, N) <- order(I) where (stock(I, N), N > 0)"
    " do (retract(stock(I, N)), M is N - 1, assert(stock(I, M))).",
    "unrestricted",
    order_rows,
    stock_loop,
    facts={"stock": STOCK},
)


# where somebody was last: a fact that takes the place of another


def place_rows(n: int) -> list[Row]:
    r = random.Random(92)
    return [("at", f"u{r.randrange(1_000)}", f"p{r.randrange(30)}", i) for i in range(n)]


def moved_loop(rows: list[Row]) -> list[Match]:
    last: dict[str, str] = {}
    out: list[Match] = []
    for _, who, place, t in rows:
        before = last.get(who)
        if before is not None and before != place:
            out.append(("moved", (who, before, place), t, t))
        last[who] = place
    return out


MOVED = Case(
    "last_place",
    ":- event(at(who: string, place: string)).\n:- dynamic place/2.\n"
    "moved(W, A, B) <- at(W, B) where (place(W, A), A \\= B).\n"
    "noted(W) <- at(W, P) do (retractall(place(W, _)), assert(place(W, P))).\n"
    "print_trigger(moved/3).",
    "unrestricted",
    place_rows,
    moved_loop,
)


# members that come and go: for each bell those who are there


def member_rows(n: int) -> list[Row]:
    r = random.Random(93)
    inside: dict[tuple[str, str], None] = {}
    out: list[Row] = []
    for i in range(n):
        pair = f"u{r.randrange(900)}", f"g{r.randrange(60)}"
        if r.random() < 0.3:
            out.append(("bell", pair[1], i))
        elif pair in inside or (inside and len(inside) > 600 and r.random() < 0.5):
            pair = pair if pair in inside else next(iter(inside))
            del inside[pair]
            out.append(("left", *pair, i))
        else:
            inside[pair] = None
            out.append(("member", *pair, i))
    return out


def party_loop(rows: list[Row]) -> list[Match]:
    groups: dict[str, dict[str, None]] = {}
    out: list[Match] = []
    for row in rows:
        if row[0] == "bell":
            out.extend(("party", (who, row[1]), row[2], row[2]) for who in groups.get(row[1], ()))
        elif row[0] == "member":
            groups.setdefault(row[2], {})[row[1]] = None
        else:
            groups[row[2]].pop(row[1], None)
    return out


PARTY = Case(
    "who_is_there",
    ":- event(member(who: string, of: string)). :- event(left(who: string, of: string)). :- event(bell(of: string)).\n"
    ":- knowledge member/2 - left/2.\nparty(W, G) <- bell(G) event_multiply member(W, G).",
    "unrestricted",
    member_rows,
    party_loop,
    events=100_000,
)


# users whom a rule blocks after three failures, until they are cleared


def attempt_rows(n: int) -> list[Row]:
    r = random.Random(94)
    kinds = ("failed", "login", "cleared")
    return [(r.choices(kinds, (5, 4, 1))[0], f"u{r.randrange(2_000)}", i) for i in range(n)]


def denied_loop(rows: list[Row]) -> list[Match]:
    failures: dict[str, deque[int]] = {}
    blocked: set[str] = set()
    out: list[Match] = []
    for kind, user, t in rows:
        if kind == "failed":
            recent = failures.setdefault(user, deque())
            recent.append(t)
            while t - recent[0] > 10_000:
                recent.popleft()
            if len(recent) >= 3:
                blocked.add(user)
        elif kind == "cleared":
            blocked.discard(user)
        elif user in blocked:
            out.append(("denied", (user,), t, t))
    return out


DENIED = Case(
    "blocked_by_rule",
    ":- event(failed(user: string)). :- event(login(user: string)). :- event(cleared(user: string)).\n"
    ":- knowledge blocked/1 - cleared/1.\n"
    "blocked(U) <- (aggregate(count, failed(U), N) within 10000) where N >= 3.\n"
    "denied(U) <- login(U) where blocked(U).\nprint_trigger(denied/1).",
    "unrestricted",
    attempt_rows,
    denied_loop,
)


# what a machine stands in, level above level, while machines are moved


def rack_rows(n: int) -> list[Row]:
    r = random.Random(95)
    parent: dict[str, str] = {}
    out: list[Row] = []
    for i in range(n):
        k = r.randrange(1, 3_000)
        node = f"n{k}"
        if node not in parent:
            parent[node] = f"n{r.randrange(k // 4, k // 2 + 1)}" if k > 1 else "n0"
            out.append(("put", node, parent[node], i))
        elif r.random() < 0.05:
            out.append(("taken", node, parent.pop(node), i))
        else:
            out.append(("fault", node, r.randrange(5), i))
    return out


def affected_loop(rows: list[Row]) -> list[Match]:
    parent: dict[str, str] = {}
    out: list[Match] = []
    for kind, node, other, t in rows:
        if kind == "put":
            parent[node] = other
        elif kind == "taken":
            del parent[node]
        else:
            above = parent.get(node)
            while above is not None:
                out.append(("affected", (above, node), t, t))
                above = parent.get(above)
    return out


AFFECTED = Case(
    "fault_above",
    ":- event(put(node: string, place: string)). :- event(taken(node: string, place: string)).\n"
    ":- event(fault(node: string, code: int)).\n:- knowledge put/2 - taken/2.\n"
    "affected(P, N) <- fault(N, _) event_multiply above(N, P).\n"
    "above(N, P) :- put(N, P).\nabove(N, Q) :- put(N, P), above(P, Q).",
    "unrestricted",
    rack_rows,
    affected_loop,
    events=100_000,
)


# limits that events set anew, read with a default


def limit_rows(n: int) -> list[Row]:
    r = random.Random(96)
    limits: dict[str, int] = {}
    out: list[Row] = []
    for i in range(n):
        sensor = f"s{r.randrange(700)}"
        if r.random() < 0.9:
            out.append(("temp", sensor, r.randrange(100), i))
        elif sensor in limits:
            out.append(("unset", sensor, limits.pop(sensor), i))
        else:
            limits[sensor] = r.randrange(40, 100)
            out.append(("limit", sensor, limits[sensor], i))
    return out


def above_loop(rows: list[Row]) -> list[Match]:
    limits: dict[str, int] = {}
    out: list[Match] = []
    for kind, sensor, value, t in rows:
        if kind == "limit":
            limits[sensor] = value
        elif kind == "unset":
            limits.pop(sensor, None)
        elif value > limits.get(sensor, 90):
            out.append(("hot", (sensor, value), t, t))
    return out


HOT = Case(
    "limit_or_default",
    ":- event(temp(sensor: string, celsius: int)). :- event(limit(sensor: string, celsius: int)).\n"
    ":- event(unset(sensor: string, celsius: int)).\n:- knowledge limit/2 - unset/2.\n"
    "hot(S, T) <- temp(S, T) where (least(S, L), T > L).\n"
    "least(S, L) :- limit(S, L), !.\nleast(_, 90).",
    "unrestricted",
    limit_rows,
    above_loop,
)


FACTS = named(SOLD, MOVED, PARTY, DENIED, AFFECTED, HOT)
