"""Visitors and things: sessions, funnels, sensors, what is packed in what."""

from __future__ import annotations

import bisect
import random
from collections import deque

from programs.case import Case, Match, Row, named


def click_rows(n: int) -> list[Row]:
    r = random.Random(4)
    users = max(10, n // 100)
    out: list[Row] = []
    t = 0
    for _ in range(n):
        t += r.choice((0, 0, 1, 1, 2))
        out.append(("click", f"u{r.randrange(users)}", f"/p{r.randrange(50)}", t))
    return out


def idle_loop(rows: list[Row]) -> list[Match]:
    last: dict[str, int] = {}
    out: list[Match] = []
    deadlines: deque[tuple[int, str, int]] = deque()
    for _, user, _, t in rows:
        while deadlines and deadlines[0][0] < t:
            due, who, s = deadlines.popleft()
            if last[who] == s:
                out.append(("idle", (who,), s, due))
        if last.get(user) != t:
            deadlines.append((t + 1800, user, t))
        last[user] = t
    for due, who, s in deadlines:
        if last[who] == s:
            out.append(("idle", (who,), s, due))
    return out


IDLE = Case(
    "session_idle",
    ":- event(click(user: string, page: string)).\nidle(U) <- click(U,_) seq (not click(U,_) within 1800).",
    "unrestricted",
    click_rows,
    idle_loop,
    closes=True,
)


def visit_rows(n: int) -> list[Row]:
    r = random.Random(16)
    out: list[Row] = []
    for i in range(n):
        out.append((r.choices(("visit", "view", "buy"), (1, 8, 1))[0], f"u{r.randrange(1000)}", i))
    return out


def star_loop(rows: list[Row]) -> list[Match]:
    waiting: dict[str, deque[int]] = {}
    last: dict[str, int] = {}
    out: list[Match] = []
    for kind, user, t in rows:
        if kind == "visit":
            waiting.setdefault(user, deque()).append(t)
        elif kind == "view":
            last[user] = t
        else:
            visits = waiting.get(user)
            if visits and visits[0] < last.get(user, -1):
                out.append(("conv", (user,), visits.popleft(), t))
                del last[user]
    return out


STAR = Case(
    "funnel_star",
    ":- event(visit(u:string)). :- event(view(u:string)). :- event(buy(u:string)).\n"
    "conv(U) <- visit(U) seq view(U) star_times seq buy(U).",
    "chronological",
    visit_rows,
    star_loop,
)


def sensor_rows(n: int) -> list[Row]:
    r = random.Random(5)
    at = [60.0] * 200
    out: list[Row] = []
    for i in range(n):
        s = r.randrange(200)
        at[s] = round(min(110, max(20, at[s] + r.gauss(0, 4))), 2)
        out.append(("temp", f"s{s}", at[s], i // 2))
    return out


def hot_loop(rows: list[Row]) -> list[Match]:
    down: dict[str, list[int]] = {}
    out: list[Match] = []
    deadlines: deque[tuple[int, str, int]] = deque()

    def flush(limit: int) -> None:
        while deadlines and deadlines[0][0] < limit:
            due, sensor, t = deadlines.popleft()
            cold = down.get(sensor, ())
            j = bisect.bisect_right(cold, t)
            if not (j < len(cold) and cold[j] <= due):
                out.append(("hot", (sensor,), t, due))

    seen: dict[str, int] = {}
    for _, sensor, celsius, t in rows:
        flush(t)
        if celsius > 80.0:
            if seen.get(sensor) != t:
                seen[sensor] = t
                deadlines.append((t + 300, sensor, t))
        else:
            down.setdefault(sensor, []).append(t)
    flush(1 << 60)
    return out


HOT = Case(
    "iot_hot",
    ":- event(temp(sensor: string, celsius: float)).\nup(S) <- temp(S,T) where T > 80.0.\n"
    "down(S) <- temp(S,T) where T =< 80.0.\nhot(S) <- up(S) seq (not down(S) within 300).\nprint_trigger(hot/1).",
    "unrestricted",
    sensor_rows,
    hot_loop,
    closes=True,
)


def tag_rows(n: int) -> list[Row]:
    r = random.Random(7)
    out: list[Row] = []
    t = 0
    pallet = 0
    while len(out) < n:
        t += 1
        pallet += 1
        for box in range(5):
            for k in range(10):
                t += 1
                out.append(("packed", f"i{pallet}_{box}_{k}", f"b{pallet}_{box}", t))
            t += 1
            out.append(("packed", f"b{pallet}_{box}", f"p{pallet}", t))
        for gate in range(5):
            t += 1
            out.append(("seen", f"p{max(1, pallet - r.randrange(20))}", f"gate{gate}", t))
    return out[:n]


def packed_loop(rows: list[Row]) -> list[Match]:
    inside: dict[str, list[str]] = {}
    out: list[Match] = []
    for kind, a, b, t in rows:
        if kind == "packed":
            inside.setdefault(b, []).append(a)
        else:
            stack = [a]
            while stack:
                for item in inside.get(stack.pop(), ()):
                    out.append(("at", (item, b), t, t))
                    stack.append(item)
    return out


PACKED = Case(
    "rfid_containment",
    ":- event(packed(item: string, box: string)). :- event(seen(tag: string, place: string)).\n"
    ":- knowledge packed/2.\nat(I,P) <- seen(Tag,P) event_multiply in(I,Tag).\n"
    "in(I,B) :- packed(I,B).\nin(I,B) :- packed(X,B), in(I,X).",
    "unrestricted",
    tag_rows,
    packed_loop,
    events=100_000,
)

THINGS = named(IDLE, STAR, HOT, PACKED)
