"""More programs: meters and their series; two thresholds, neighbours, records, gaps, decimals, rules by the hundred."""

from __future__ import annotations

import random
from collections import deque
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

from programs.case import Case, Match, Row, named

# a fan that goes on when it was cool and is hot now: two thresholds


def temperature_rows(n: int) -> list[Row]:
    r = random.Random(241)
    at: dict[str, int] = {}
    rows: list[Row] = []
    for i in range(n):
        room = f"r{r.randrange(200)}"
        at[room] = min(100, max(0, at.get(room, 50) + r.randint(-20, 20)))
        rows.append(("temp", room, at[room], i))
    return rows


def fan_loop(rows: list[Row]) -> list[Match]:
    cool: dict[str, int] = {}
    out: list[Match] = []
    for _, room, c, t in rows:
        if c < 40:
            cool[room] = t
        elif c > 70 and room in cool:
            start = cool.pop(room)
            if t - start <= 36000:
                out.append(("fan_on", (room,), start, t))
    return out


FAN = Case(
    "two_thresholds",
    ":- event(temp(room: string, c: int)).\ncool(R) <- temp(R, C) where C < 40.\nhot(R) <- temp(R, C) where C > 70.\n"
    "fan_on(R) <- (cool(R) seq hot(R)) cnot hot(R) within 10 h.\nprint_trigger(fan_on/1).",
    "recent",
    temperature_rows,
    fan_loop,
    events=100_000,
)


# a fall and a rise that meet: three readings of one series, one after the other


def price_rows(n: int) -> list[Row]:
    r = random.Random(242)
    return [("tick", f"x{r.randrange(100)}", r.randrange(1, 1000), i) for i in range(n)]


def valley_loop(rows: list[Row]) -> list[Match]:
    latest: dict[str, deque[tuple[int, int]]] = {}
    out: list[Match] = []
    for _, series, price, t in rows:
        three = latest.setdefault(series, deque(maxlen=3))
        three.append((price, t))
        if len(three) == 3:
            (a, start), (b, _), (c, _) = three
            if b < a and c > a and t - start <= 900:
                out.append(("valley", (series, a, b, c), start, t))
    return out


VALLEY = Case(
    "valleys",
    "fall(S, A, B) <- (tick(S, A) seq tick(S, B)) cnot tick(S, _) within 15 min where B < A.\n"
    "rise(S, A, B) <- (tick(S, A) seq tick(S, B)) cnot tick(S, _) within 15 min where B > A.\n"
    "valley(S, A, B, C) <- (fall(S, A, B) meets rise(S, B, C)) within 15 min where C > A.\nprint_trigger(valley/4).",
    "chronological",
    price_rows,
    valley_loop,
    events=100_000,
)


# a price above all of the hour before


def record_loop(rows: list[Row]) -> list[Match]:
    larger: dict[str, deque[tuple[int, int]]] = {}
    out: list[Match] = []
    for _, series, price, t in rows:
        window = larger.setdefault(series, deque())
        while window and window[0][0] < t - 3600:
            window.popleft()
        while window and window[-1][1] < price:
            window.pop()
        if not window:
            out.append(("record", (series, price), t, t))
        window.append((t, price))
    return out


RECORD = Case(
    "hour_record",
    "record(S, P) <- (tick(S, P) fnot (tick(S, X) where X >= P)) within 1 h.",
    "unrestricted",
    price_rows,
    record_loop,
    events=100_000,
)


# a reading that is missing, filled in by the one before it


def gap_rows(n: int) -> list[Row]:
    r = random.Random(243)
    values = (None if r.random() < 0.2 else r.randrange(1000) / 8 for _ in range(n))
    return [("reading", f"s{r.randrange(300)}", value, i) for i, value in enumerate(values)]


def gap_loop(rows: list[Row]) -> list[Match]:
    latest: dict[str, tuple[float | None, int]] = {}
    out: list[Match] = []
    for _, sensor, value, t in rows:
        if value is None and sensor in latest:
            known, start = latest[sensor]
            if known is not None and t - start <= 900:
                out.append(("filled", (sensor, known), start, t))
        latest[sensor] = value, t
    return out


GAP = Case(
    "gaps_filled",
    r"filled(S, V) <- (reading(S, V) seq reading(S, null)) cnot reading(S, _) within 15 min where V \== null.",
    "unrestricted",
    gap_rows,
    gap_loop,
    events=100_000,
)


# payments as a database has them: decimals, and times with zones

ZONES = (UTC, timezone(timedelta(hours=2)), timezone(timedelta(hours=-5)))


def zoned_rows(n: int) -> list[Row]:
    r = random.Random(244)
    begin = datetime(2026, 3, 1, tzinfo=UTC)
    times = ((begin + timedelta(seconds=i)).astimezone(r.choice(ZONES)) for i in range(n))
    return [(r.choice(("login", "pay")), f"c{r.randrange(400)}", Decimal(r.randrange(10000)) / 100, t) for t in times]


def zoned_loop(rows: list[Row]) -> list[Match]:
    logins: dict[str, deque[float]] = {}
    least = Decimal(90)
    out: list[Match] = []
    for kind, card, amount, at in rows:
        t = at.timestamp()
        if kind == "login":
            logins.setdefault(card, deque()).append(t)
        elif amount > least and (window := logins.get(card)):
            while window and window[0] < t - 300:
                window.popleft()
            out.extend(("fast", (card, float(amount)), start, t) for start in window)
    return out


ZONED = Case(
    "zoned_decimals",
    ":- event(login(c: string, x: float)). :- event(pay(c: string, x: float)).\n"
    "fast(C, X) <- (login(C, _) seq pay(C, X)) within 5 min where X > 90.",
    "unrestricted",
    zoned_rows,
    zoned_loop,
    events=100_000,
)


# three hundred rules that name the band of a reading, and one that counts the readings of a band

BANDS = [(f"k{kind}", low) for kind in range(30) for low in range(0, 100, 10)]


def band_rows(n: int) -> list[Row]:
    r = random.Random(245)
    return [("reading", f"k{r.randrange(30)}", r.random() * 100, i) for i in range(n)]


def band_loop(rows: list[Row]) -> list[Match]:
    windows: dict[tuple[Any, int], deque[int]] = {}
    out: list[Match] = []
    for _, kind, value, t in rows:
        low = int(value // 10) * 10
        window = windows.setdefault((kind, low), deque())
        while window and window[0] < t - 1000:
            window.popleft()
        window.append(t)
        if len(window) >= 6:
            out.append(("busy", (kind, low, len(window)), window[0], t))
    return out


BAND = Case(
    "bands_300",
    "".join(f"band({k}, {x}) <- reading(K, V) where (K = {k}, V >= {x}, V < {x + 10}).\n" for k, x in BANDS)
    + "busy(K, X, N) <- aggregate(count, band(K, X), N) within 1000 where N >= 6.\nprint_trigger(busy/3).",
    "unrestricted",
    band_rows,
    band_loop,
    events=100_000,
)

METERS = named(FAN, VALLEY, RECORD, GAP, ZONED, BAND)
