"""More programs: sensors and machines."""

from __future__ import annotations

import random
from collections import deque

from programs.case import Case, Match, Row, named

# ten degrees more than four readings before


def heat_rows(n: int) -> list[Row]:
    r = random.Random(41)
    at = [60.0] * 300
    out: list[Row] = []
    for i in range(n):
        sensor = r.randrange(300)
        at[sensor] = round(min(110.0, max(20.0, at[sensor] + r.gauss(0, 4))), 2)
        out.append(("temp", f"s{sensor}", at[sensor], i))
    return out


def rise_loop(rows: list[Row]) -> list[Match]:
    last: dict[str, deque[tuple[float, int]]] = {}
    out: list[Match] = []
    for _, sensor, value, t in rows:
        window = last.get(sensor)
        if window is None:
            window = last[sensor] = deque(maxlen=5)
        window.append((value, t))
        if len(window) == 5 and value - window[0][0] > 10.0:
            out.append(("rise", (sensor, value - window[0][0]), window[0][1], t))
    return out


TEMP = ":- event(temp(sensor: string, celsius: float)).\n"
RISE = Case(
    "rise_over_5",
    TEMP
    + "rise(S, D) <- (aggregate(list(T), temp(S, T), L) last 5) where (L = [A, _, _, _, B], D is B - A, D > 10.0).",
    "unrestricted",
    heat_rows,
    rise_loop,
)


# classes by clauses, and their changes


def level(value: float) -> str:
    return "hot" if value > 80.0 else "warm" if value > 60.0 else "cold"


def change_loop(rows: list[Row]) -> list[Match]:
    last: dict[str, tuple[str, int]] = {}
    out: list[Match] = []
    for _, sensor, value, t in rows:
        now = level(value)
        before = last.get(sensor)
        if before is not None and before[0] != now:
            out.append(("change", (sensor, before[0], now), before[1], t))
        last[sensor] = now, t
    return out


CHANGE = Case(
    "class_changes",
    TEMP + "class(S, L) <- temp(S, T) where level(T, L).\n"
    "level(T, hot) :- T > 80.0.\nlevel(T, warm) :- T > 60.0, T =< 80.0.\nlevel(T, cold) :- T =< 60.0.\n"
    r"change(S, A, B) <- class(S, A) seq class(S, B) where A \= B." + "\nprint_trigger(change/3).",
    "snoop_recent",
    heat_rows,
    change_loop,
)


# hotter than the mean of the last half hour, by ten degrees: a part against an aggregate


def outlier_loop(rows: list[Row]) -> list[Match]:
    state: dict[str, tuple[deque[tuple[int, float]], list[float]]] = {}
    out: list[Match] = []
    for _, sensor, value, t in rows:
        if sensor not in state:
            state[sensor] = deque(), [0.0]
        window, total = state[sensor]
        window.append((t, value))
        total[0] += value
        while t - window[0][0] > 18_000:
            total[0] -= window.popleft()[1]
        mean = total[0] / len(window)
        if value > mean + 15.001:
            out.append(("outlier", (sensor, value, mean), window[0][0], t))
    return out


OUTLIER = Case(
    "outlier",
    TEMP + "mean(S, M) <- aggregate(avg(T), temp(S, T), M) within 5 h.\n"
    "outlier(S, T, M) <- temp(S, T) finishes mean(S, M) where T > M + 15.001.\nprint_trigger(outlier/3).",
    "unrestricted",
    heat_rows,
    outlier_loop,
)


# jobs that ran inside an outage: events with a start and an end


def outage_rows(n: int) -> list[Row]:
    r = random.Random(44)
    out: list[Row] = []
    for i in range(n):
        end = 10 * i + 2_000
        host = f"h{r.randrange(50)}"
        if r.random() < 0.1:
            out.append(("outage", host, (end - r.randrange(200, 1_900), end)))
        else:
            out.append(("job", host, i, (end - r.randrange(1, 300), end)))
    return out


def outage_loop(rows: list[Row]) -> list[Match]:
    jobs: dict[str, deque[tuple[int, int, int]]] = {}
    out: list[Match] = []
    for row in rows:
        start, end = row[-1]
        waiting = jobs.get(row[1])
        if row[0] == "job":
            if waiting is None:
                waiting = jobs[row[1]] = deque()
            waiting.append((row[2], start, end))
        elif waiting:
            while waiting and end - waiting[0][2] > 2_000:
                waiting.popleft()
            out.extend(("hit", (row[1], job), start, end) for job, s, e in waiting if start < s and e < end)
    return out


OUTAGE = Case(
    "jobs_during_outages",
    ":- event(job(host: string, id: int)). :- event(outage(host: string)).\n"
    "hit(H, J) <- (job(H, J) during outage(H)) within 2000.",
    "unrestricted",
    outage_rows,
    outage_loop,
    events=100_000,
)


# numbers of several types without declarations: 1 is worth 1.0


def mixed_rows(n: int) -> list[Row]:
    r = random.Random(46)
    return [(r.choice(("set", "got")), r.randrange(500), r.choice((1, 1.0, 2, 2.5, 3.0)), i) for i in range(n)]


def mixed_loop(rows: list[Row]) -> list[Match]:
    recent: dict[int, deque[tuple[float, int]]] = {}
    out: list[Match] = []
    for kind, key, value, t in rows:
        window = recent.get(key)
        if kind == "set":
            if window is None:
                window = recent[key] = deque()
            window.append((value, t))
        elif window:
            while window and t - window[0][1] > 2_000:
                window.popleft()
            out.extend(("off", (key, want, value), s, t) for want, s in window if abs(value - want) >= 1)
    return out


MIXED = Case(
    "mixed_numbers",
    "off(I, W, V) <- (set(I, W) seq got(I, V)) within 2000 where (abs(V - W) >= 1).",
    "unrestricted",
    mixed_rows,
    mixed_loop,
)


SENSORS = named(RISE, CHANGE, OUTLIER, OUTAGE, MIXED)
