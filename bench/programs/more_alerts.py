"""More programs: what is lost and comes back, spikes of differences, zones that people enter, reminders, tickets."""

from __future__ import annotations

import random
from collections import deque

from programs.case import Case, Match, Row, named

# a device that has not been heard of for a while, and is again: a chain behind a deadline


def beat_rows(n: int) -> list[Row]:
    r = random.Random(81)
    return [("beat", f"d{min(r.randrange(400), r.randrange(400))}", i // 4) for i in range(n)]


def back_loop(rows: list[Row]) -> list[Match]:
    last: dict[str, int] = {}
    lost: dict[str, tuple[int, int]] = {}
    deadlines: deque[tuple[int, str, int]] = deque()
    out: list[Match] = []
    for _, device, t in rows:
        while deadlines and deadlines[0][0] < t:
            due, who, s = deadlines.popleft()
            if last[who] == s:
                lost[who] = s, due
        if device in lost and lost[device][1] < t:
            out.append(("back", (device,), lost.pop(device)[0], t))
        if last.get(device) != t:
            deadlines.append((t + 200, device, t))
        last[device] = t
    return out


BACK = Case(
    "lost_and_back",
    ":- event(beat(d: string)).\nlost(D) <- beat(D) seq (not beat(D) within 200).\nback(D) <- lost(D) seq beat(D).\n"
    "print_trigger(back/1).",
    "chronological",
    beat_rows,
    back_loop,
)


# two jumps of a reading: differences, those that are large, and two of these one after the other


def reading_rows(n: int) -> list[Row]:
    r = random.Random(82)
    at = [50.0] * 200
    out: list[Row] = []
    for i in range(n):
        s = r.randrange(200)
        at[s] = round(min(99.5, max(1.5, at[s] + r.gauss(0, 6))), 2) + 0.001
        out.append(("reading", f"s{s}", at[s], i))
    return out


def spike_loop(rows: list[Row]) -> list[Match]:
    last: dict[str, tuple[float, int]] = {}
    spikes: dict[str, tuple[int, int]] = {}
    out: list[Match] = []
    for _, sensor, value, t in rows:
        before = last.get(sensor)
        last[sensor] = value, t
        if before is not None and value - before[0] > 6.0:
            spike = spikes.get(sensor)
            if spike is not None and spike[1] < before[1] and t - spike[0] <= 3000:
                out.append(("unstable", (sensor,), spike[0], t))
            spikes[sensor] = before[1], t
    return out


SPIKES = Case(
    "spikes",
    ":- event(reading(s: string, v: float)).\ndelta(S, D) <- reading(S, A) seq reading(S, B) where D is B - A.\n"
    "spike(S) <- delta(S, D) where D > 6.0.\nunstable(S) <- (spike(S) seq spike(S)) within 3000.\n"
    "print_trigger(unstable/1).",
    "snoop_recent",
    reading_rows,
    spike_loop,
)


# where somebody is when the pulse is high: facts that come and go with events


def zone_rows(n: int) -> list[Row]:
    r = random.Random(83)
    inside: dict[str, str] = {}
    out: list[Row] = []
    for i in range(n):
        person = f"p{r.randrange(500)}"
        if r.random() >= 0.1:
            out.append(("pulse", person, r.randrange(60, 180), i))
        elif person in inside:
            out.append(("leave", person, inside.pop(person), i))
        else:
            inside[person] = f"z{r.randrange(20)}"
            out.append(("enter", person, inside[person], i))
    return out


def zone_loop(rows: list[Row]) -> list[Match]:
    inside: dict[str, str] = {}
    out: list[Match] = []
    for kind, person, value, t in rows:
        if kind == "enter":
            inside[person] = value
        elif kind == "leave":
            inside.pop(person, None)
        elif value > 120 and (zone := inside.get(person)) is not None:
            out.append(("strain", (person, zone, value), t, t))
    return out


ZONES = Case(
    "zones",
    ":- event(enter(p: string, z: string)). :- event(leave(p: string, z: string)).\n"
    ":- event(pulse(p: string, r: int)).\n:- knowledge enter/2 - leave/2.\n"
    "strain(P, Z, R) <- pulse(P, R) where (R > 120, enter(P, Z)).",
    "unrestricted",
    zone_rows,
    zone_loop,
)


# large orders are looked at ten minutes later: an alarm for each


def order_rows(n: int) -> list[Row]:
    r = random.Random(84)
    return [(r.choice(("order", "paid")), f"c{r.randrange(3000)}", r.randrange(1, 500), i) for i in range(n)]


def remind_loop(rows: list[Row]) -> list[Match]:
    alarms: deque[tuple[int, str, int]] = deque()
    out: list[Match] = []
    for kind, customer, amount, t in rows:
        while alarms and alarms[0][0] < t:
            due, who, owed = alarms.popleft()
            out.append(("remind", (who, owed), due, due))
        if kind == "order" and amount > 250:
            alarms.append((t + 600, customer, amount))
    out.extend(("remind", (who, owed), due, due) for due, who, owed in alarms)
    return out


REMIND = Case(
    "reminders",
    ":- event(order(c: string, a: int)). :- event(paid(c: string, a: int)).\n"
    "exceptionAlarm(remind(C, A), 600) <- order(C, A) where A > 250.",
    "unrestricted",
    order_rows,
    remind_loop,
    closes=True,
)


# tickets without an answer, and those that are not closed: two deadlines


def ticket_rows(n: int) -> list[Row]:
    r = random.Random(85)
    kinds, weights = ("open", "answer", "close"), (4, 3, 3)
    return [(r.choices(kinds, weights)[0], f"t{r.randrange(2000)}", i // 2) for i in range(n)]


def ticket_loop(rows: list[Row]) -> list[Match]:
    waits = {"answer": ("silent", 300), "close": ("stale", 900)}
    last: dict[str, dict[str, int]] = {kind: {} for kind in waits}
    deadlines: dict[str, deque[tuple[str, int]]] = {kind: deque() for kind in waits}
    opened: dict[str, int] = {}
    out: list[Match] = []

    def flush(limit: int) -> None:
        for kind, (name, after) in waits.items():
            waiting, seen = deadlines[kind], last[kind]
            while waiting and waiting[0][1] + after < limit:
                ticket, s = waiting.popleft()
                if seen.get(ticket, -1) <= s:
                    out.append((name, (ticket,), s, s + after))

    for kind, ticket, t in rows:
        flush(t)
        if kind != "open":
            last[kind][ticket] = t
        elif opened.get(ticket) != t:
            opened[ticket] = t
            for waiting in deadlines.values():
                waiting.append((ticket, t))
    flush(1 << 60)
    return out


TICKETS = Case(
    "tickets",
    ":- event(open(k: string)). :- event(answer(k: string)). :- event(close(k: string)).\n"
    "silent(K) <- open(K) seq (not answer(K) within 300).\nstale(K) <- open(K) seq (not close(K) within 900).",
    "unrestricted",
    ticket_rows,
    ticket_loop,
    closes=True,
)

ALERTS = named(BACK, SPIKES, ZONES, REMIND, TICKETS)
