"""More programs: logins, visits, alarms."""

from __future__ import annotations

import random
from collections import deque
from datetime import UTC, datetime, timedelta
from typing import Any

from programs.case import Case, Match, Row, named, unique

# five failures within a minute, then a success


def login_rows(n: int) -> list[Row]:
    r = random.Random(31)
    users = max(10, n // 100)
    return [
        ("failed" if r.random() < 0.8 else "entered", f"u{min(r.randrange(users), r.randrange(users))}", i // 5)
        for i in range(n)
    ]


def brute_force_loop(rows: list[Row]) -> list[Match]:
    failures: dict[str, deque[int]] = {}
    bursts: dict[str, list[tuple[int, int, int]]] = {}
    out: list[Match] = []
    for kind, user, t in rows:
        if kind == "failed":
            window = failures.get(user)
            if window is None:
                window = failures[user] = deque()
            window.append(t)
            while t - window[0] > 600:
                window.popleft()
            if len(window) >= 5:
                burst = (len(window), window[0], t)
                waiting = bursts.setdefault(user, [])
                if not waiting or waiting[-1] != burst:
                    waiting.append(burst)
        elif (waiting := bursts.get(user)) is not None:
            for place in range(len(waiting) - 1, -1, -1):
                count, s, e = waiting[place]
                if e < t and t - s <= 900:
                    del waiting[place]
                    out.append(("breach", (user, count), s, t))
                    break
    return unique(out)


BRUTE_FORCE = Case(
    "brute_force",
    ":- event(failed(user: string)). :- event(entered(user: string)).\n"
    "burst(U, N) <- (aggregate(count, failed(U), N) within 10 min) where N >= 5.\n"
    "breach(U, N) <- (burst(U, N) seq entered(U)) within 15 min.\n"
    "print_trigger(breach/2).",
    "recent",
    login_rows,
    brute_force_loop,
)


# view, cart and payment, by how long it took


def shop_rows(n: int) -> list[Row]:
    r = random.Random(32)
    users = max(10, n // 60)
    return [
        (r.choices(("view", "cart", "pay"), (6, 2, 1))[0], f"u{r.randrange(users)}", r.randrange(3), 2 * i)
        for i in range(n)
    ]


def funnel_loop(rows: list[Row]) -> list[Match]:
    views: dict[tuple[str, int], deque[int]] = {}
    carts: dict[tuple[str, int], list[tuple[int, int]]] = {}
    out: list[Match] = []
    for kind, user, page, t in rows:
        key = user, page
        if kind == "view":
            views.setdefault(key, deque()).append(t)
        elif kind == "cart":
            waiting = views.get(key)
            while waiting and t - waiting[0] > 600:
                waiting.popleft()
            if waiting:
                carts.setdefault(key, []).append((waiting.popleft(), t))
        elif begun := carts.get(key):
            found = None
            for number, (s, e) in enumerate(begun):
                if e < t and 60 < t - s <= 3600:
                    found = number
                    break
            if found is not None:
                s, _ = begun.pop(found)
                out.append(("slow", (user, page, t - s), s, t))
            if len(begun) > 20:
                carts[key] = [each for each in begun if t - each[0] <= 3600]
    return out


FUNNEL = Case(
    "funnel_durations",
    ":- event(view(user: string, page: int)). :- event(cart(user: string, page: int)).\n"
    ":- event(pay(user: string, page: int)).\n"
    "slow(U, P, D) <- (((view(U, P) seq cart(U, P)) within 10 min) seq pay(U, P)) within 1 h"
    " check (t1(S), t2(E), D is E - S, D > 60).",
    "chronological",
    shop_rows,
    funnel_loop,
)


# alarms that were not said within the last minute


def alarm_rows(n: int) -> list[Row]:
    r = random.Random(33)
    return [("alarm", f"h{r.randrange(500)}", r.randrange(4), i // 20) for i in range(n)]


def dedup_loop(rows: list[Row]) -> list[Match]:
    last: dict[tuple[str, int], list[int]] = {}
    out: list[Match] = []
    for _, host, code, t in rows:
        key = host, code
        seen = last.get(key)
        if seen is None:
            seen = last[key] = [-(10**9), -(10**9)]
        before = seen[1] if seen[1] < t else seen[0]
        if before < t - 60:
            out.append(("fresh", (host, code), t, t))
        if seen[1] < t:
            seen[0] = seen[1]
        seen[1] = t
    return unique(out)


DEDUP = Case(
    "dedup",
    ":- event(alarm(host: string, code: int)).\nfresh(H, C) <- (alarm(H, C) fnot alarm(H, C)) within 1 min.",
    "unrestricted",
    alarm_rows,
    dedup_loop,
)


# rows as dictionaries, times as text

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


def dict_rows(n: int) -> list[dict[str, Any]]:
    r = random.Random(34)
    users = max(10, n // 20)
    return [
        {
            "event": r.choice(("login", "transfer")),
            "user": f"u{r.randrange(users)}",
            "country": r.choice(("ch", "de", "fr", "it")),
            "at": (EPOCH + timedelta(seconds=i)).isoformat(),
        }
        for i in range(n)
    ]


def abroad_loop(rows: list[dict[str, Any]]) -> list[Match]:
    begun: dict[str, deque[tuple[str, float]]] = {}
    out: list[Match] = []
    for row in rows:
        t = datetime.fromisoformat(row["at"]).timestamp()
        user = row["user"]
        waiting = begun.get(user)
        if row["event"] == "login":
            if waiting is None:
                waiting = begun[user] = deque()
            waiting.append((row["country"], t))
        elif waiting:
            while waiting and t - waiting[0][1] > 600:
                waiting.popleft()
            for country, s in waiting:
                if s < t and country != row["country"]:
                    out.append(("abroad", (user, country, row["country"]), s, t))
    return out


ABROAD = Case(
    "dicts_with_iso_times",
    ":- event(login(user: string, country: string)). :- event(transfer(user: string, country: string)).\n"
    r"abroad(U, A, B) <- (login(U, A) seq transfer(U, B)) within 10 min where A \= B.",
    "unrestricted",
    dict_rows,
    abroad_loop,
    events=100_000,
)


USERS = named(BRUTE_FORCE, FUNNEL, DEDUP, ABROAD)
