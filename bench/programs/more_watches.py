"""More programs: things that are watched over time, and what they fail to do."""

from __future__ import annotations

import random
from bisect import bisect_right
from collections import deque

from programs.case import Case, Match, Row, named, unique

# a host that is silent for longer than its heartbeats are apart


def beat_rows(n: int) -> list[Row]:
    r = random.Random(51)
    return [("beat", r.randrange(500), float(r.randrange(100)), i // 3) for i in range(n)]


def lost_loop(rows: list[Row]) -> list[Match]:
    latest: dict[int, int] = {}
    due: deque[tuple[int, int, int]] = deque()
    out: list[Match] = []
    for _, host, _, t in rows:
        while due and due[0][0] < t:
            end, other, start = due.popleft()
            if latest[other] == start:
                out.append(("lost", (other,), start, end))
        if latest.get(host) != t:
            due.append((t + 600, host, t))
            latest[host] = t
    out.extend(("lost", (host,), start, end) for end, host, start in due if latest[host] == start)
    return out


LOST = Case(
    "heartbeat_lost",
    "lost(H) <- beat(H, _) seq (not beat(H, _) within 600).",
    "unrestricted",
    beat_rows,
    lost_loop,
    closes=True,
)


# a door that stays open, unless somebody answers for it


def door_rows(n: int) -> list[Row]:
    r = random.Random(52)
    kinds = ("open", "closed", "guarded")
    return [(r.choices(kinds, (4, 5, 1))[0], f"d{r.randrange(300)}", i) for i in range(n)]


def stays_open_loop(rows: list[Row]) -> list[Match]:
    opened: deque[tuple[int, str, int]] = deque()
    ended: dict[str, list[int]] = {}
    out: list[Match] = []

    def decide(before: float) -> None:
        while opened and opened[0][0] < before:
            due, door, start = opened.popleft()
            times = ended.get(door, [])
            place = bisect_right(times, start)
            if place == len(times) or times[place] > due:
                out.append(("left_open", (door,), start, due))

    for kind, door, t in rows:
        decide(t)
        if kind == "open":
            opened.append((t + 700, door, t))
        else:
            ended.setdefault(door, []).append(t)
    decide(float("inf"))
    return out


STAYS_OPEN = Case(
    "left_open",
    ":- event(open(door: string)). :- event(closed(door: string)). :- event(guarded(door: string)).\n"
    "left_open(D) <- open(D) seq (not (closed(D) or guarded(D)) within 700).",
    "unrestricted",
    door_rows,
    stays_open_loop,
    closes=True,
)


# a link that goes down and comes back, again and again


def link_rows(n: int) -> list[Row]:
    r = random.Random(53)
    return [(r.choice(("down", "up")), f"l{r.randrange(400)}", r.randrange(9), i) for i in range(n)]


def flap_loop(rows: list[Row]) -> list[Match]:
    down: dict[str, deque[int]] = {}
    counts: dict[str, deque[list[int]]] = {}
    out: list[Match] = []
    for kind, link, _, t in rows:
        waiting = down.setdefault(link, deque())
        if kind == "down":
            waiting.append(t)
            continue
        if not waiting:
            continue
        start = waiting.popleft()
        runs = counts.setdefault(link, deque())
        found = next((run for run in runs if run[2] < start), None)
        if found is None:
            runs.append([1, start, t])
            continue
        runs.remove(found)
        found[0] += 1
        found[2] = t
        if found[0] < 3:
            runs.append(found)
        else:
            out.append(("flap", (link,), found[1], t))
    return out


FLAP = Case(
    "flapping",
    ":- event(down(link: string, code: int)). :- event(up(link: string, code: int)).\n"
    "flap(L) <- (down(L, _) seq up(L, _)) ntimes 3.",
    "chronological",
    link_rows,
    flap_loop,
)


# a machine that ran without maintenance, with how long


def machine_rows(n: int) -> list[Row]:
    r = random.Random(54)
    kinds = ("start", "stop", "maintain")
    return [(r.choices(kinds, (5, 5, 2))[0], r.randrange(1000), i * 0.5) for i in range(n)]


def ran_loop(rows: list[Row]) -> list[Match]:
    started: dict[int, list[float]] = {}
    out: list[Match] = []
    for kind, machine, t in rows:
        if kind == "start":
            started.setdefault(machine, []).append(t)
        elif kind == "maintain":
            started.pop(machine, None)
        elif started.get(machine):
            start = started[machine].pop()
            if t - start > 500:
                out.append(("ran", (machine, t - start), start, t))
    return out


RAN = Case(
    "ran_too_long",
    "run(M) <- (start(M) seq stop(M)) cnot maintain(M).\n"
    "ran(M, D) <- run(M) check (t1(S), t2(E), D is E - S, D > 500).\nprint_trigger(ran/2).",
    "recent",
    machine_rows,
    ran_loop,
)


# an alarm of a zone: two hot sensors of one zone, and nobody resets it


def zone_rows(n: int) -> list[Row]:
    r = random.Random(55)
    out: list[Row] = []
    for i in range(n):
        if r.random() < 0.05:
            out.append(("reset", f"z{r.randrange(20)}", i))
        else:
            out.append(("temp", f"s{r.randrange(200)}", float(r.randrange(40, 90)), i))
    return out


ZONES = [(f"s{i}", f"z{i % 20}") for i in range(200)]


def zone_loop(rows: list[Row]) -> list[Match]:
    zones = dict(ZONES)
    hot: dict[str, deque[tuple[str, int]]] = {}
    waiting: deque[tuple[int, str, int]] = deque()
    resets: dict[str, int] = {}
    out: list[Match] = []

    def decide(before: float) -> None:
        while waiting and waiting[0][0] + 40 < before:
            end, zone, start = waiting.popleft()
            if resets.get(zone, -1) <= end:
                out.append(("alarm", (zone,), start, end + 40))

    for kind, name, *rest in rows:
        t = rest[-1]
        decide(t)
        if kind == "reset":
            resets[name] = t
        elif rest[0] > 80.0:
            zone = zones[name]
            group = hot.setdefault(zone, deque())
            while group and t - group[0][1] > 60:
                group.popleft()
            waiting.extend((t, zone, start) for sensor, start in group if sensor != name)
            group.append((name, t))
    decide(float("inf"))
    return unique(out)


ZONE_ALARM = Case(
    "zone_alarm",
    ":- event(temp(sensor: string, celsius: float)). :- event(reset(zone: string)).\n"
    "hot(Z, S) <- temp(S, T) where (T > 80.0, zone(S, Z)).\n"
    "two(Z) <- (hot(Z, A) seq hot(Z, B)) within 60 where A \\= B.\n"
    "alarm(Z) <- two(Z) seq (not reset(Z) within 40).\nprint_trigger(alarm/1).",
    "unrestricted",
    zone_rows,
    zone_loop,
    facts={"zone": ZONES},
    closes=True,
)


# a reading that is far from the one before


def jump_rows(n: int) -> list[Row]:
    r = random.Random(56)
    return [("level", f"t{r.randrange(500)}", round(r.gauss(50, 5), 2), i * 0.25) for i in range(n)]


def jump_loop(rows: list[Row]) -> list[Match]:
    latest: dict[str, tuple[float, float]] = {}
    out: list[Match] = []
    for _, tank, x, t in rows:
        before = latest.get(tank)
        if before is not None and abs(x - before[0]) > 10:
            out.append(("jump", (tank, before[0], x), before[1], t))
        latest[tank] = x, t
    return out


JUMP = Case(
    "jump",
    ":- event(level(tank: string, value: float)).\n"
    "jump(T, A, B) <- (level(T, A) seq level(T, B)) where abs(B - A) > 10.",
    "snoop_recent",
    jump_rows,
    jump_loop,
)


WATCHES = named(LOST, STAYS_OPEN, FLAP, RAN, ZONE_ALARM, JUMP)
