"""More programs: services, shops and fleets; events on intervals, and such as come late."""

from __future__ import annotations

import random
from collections import deque

from programs.case import Case, Match, Row, named, unique

EVENTS = 100_000


# outages that lie within a maintenance: both are intervals


def outage_rows(n: int) -> list[Row]:
    r = random.Random(18)
    out: list[Row] = []
    for i in range(n):
        kind, most = ("maintenance", 2000) if r.random() < 0.2 else ("outage", 300)
        out.append((kind, f"s{r.randrange(200)}", (max(0, i - r.randrange(most)), i)))
    return out


def excused_loop(rows: list[Row]) -> list[Match]:
    outages: dict[str, deque[tuple[int, int]]] = {}
    out: list[Match] = []
    for kind, site, (start, end) in rows:
        waiting = outages.setdefault(site, deque())
        if kind == "outage":
            waiting.append((start, end))
            continue
        while waiting and waiting[0][1] <= end - 2000:
            waiting.popleft()
        if end - start <= 2000:
            out.extend(("excused", (site,), start, end) for s, e in waiting if start < s and e < end)
    return unique(out)


EXCUSED = Case(
    "outage_during",
    ":- event(outage(site: string)). :- event(maintenance(site: string)).\n"
    "excused(S) <- (outage(S) during maintenance(S)) within 2000.",
    "unrestricted",
    outage_rows,
    excused_loop,
    events=EVENTS,
)


# calls in the time of a meeting


def meeting_rows(n: int) -> list[Row]:
    r = random.Random(20)
    return [
        (r.choice(("meeting", "call")), f"p{r.randrange(500)}", (max(0, i - r.randrange(1, 400)), i)) for i in range(n)
    ]


def clash_loop(rows: list[Row]) -> list[Match]:
    waiting: dict[str, dict[str, deque[tuple[int, int]]]] = {"meeting": {}, "call": {}}
    out: list[Match] = []
    for kind, person, (start, end) in rows:
        others = waiting["call" if kind == "meeting" else "meeting"].get(person)
        if others:
            while others and others[0][1] < end - 800:
                others.popleft()
            for s, e in others:
                if start < e and s < end and end - min(s, start) <= 800 and max(s, start) < min(e, end):
                    out.append(("clash", (person,), min(s, start), end))
        waiting[kind].setdefault(person, deque()).append((start, end))
    return unique(out)


CLASH = Case(
    "meeting_par_call",
    ":- event(meeting(person: string)). :- event(call(person: string)).\n"
    "clash(P) <- (meeting(P) par call(P)) within 800.",
    "unrestricted",
    meeting_rows,
    clash_loop,
    events=EVENTS,
)


# parcels that do not come, from messages that come late


def parcel_rows(n: int) -> list[Row]:
    r = random.Random(24)
    return [(r.choice(("sent", "got")), r.randrange(2000), max(0, i - r.randrange(20))) for i in range(n)]


def missing_loop(rows: list[Row]) -> list[Match]:
    due: deque[tuple[int, int, int]] = deque()
    got: dict[int, int] = {}
    out: list[Match] = []

    def decide(before: float) -> None:
        while due and due[0][0] < before:
            end, parcel, start = due.popleft()
            if got.get(parcel, -1) <= start:
                out.append(("missing", (parcel,), start, end))

    for kind, parcel, t in sorted(rows, key=lambda row: row[2]):
        decide(t)
        if kind == "sent":
            due.append((t + 1000, parcel, t))
        else:
            got[parcel] = t
    decide(float("inf"))
    return unique(out)


MISSING = Case(
    "late_and_missing",
    ":- set_flag(out_of_order, on). :- set_flag(ooo_window, 20).\nmissing(I) <- sent(I) seq (not got(I) within 1000).",
    "unrestricted",
    parcel_rows,
    missing_loop,
    events=EVENTS,
    closes=True,
)


# tickets that nobody answers go up, and up again


def ticket_rows(n: int) -> list[Row]:
    r = random.Random(8)
    return [
        ("ticket", i, r.randrange(4), i)
        if i < 10 or r.random() < 0.5
        else ("answered", max(0, i - r.randrange(400)), i)
        for i in range(n)
    ]


def escalation_loop(rows: list[Row]) -> list[Match]:
    answers: dict[int, list[int]] = {}
    low: deque[tuple[int, int, int]] = deque()
    high: deque[tuple[int, int, int]] = deque()
    out: list[Match] = []

    def decide(before: float) -> None:
        while True:
            waiting = low if low and (not high or low[0][0] <= high[0][0]) else high
            if not waiting or waiting[0][0] >= before:
                return
            due, ticket, start = waiting.popleft()
            since = due - (100 if waiting is low else 200)
            if any(since < t <= due for t in answers.get(ticket, ())):
                continue
            out.append(("first" if waiting is low else "second", (ticket,), start, due))
            if waiting is low:
                high.append((due + 200, ticket, start))

    for row in rows:
        t = row[-1]
        decide(t)
        if row[0] == "ticket":
            low.append((t + 100, row[1], t))
        else:
            answers.setdefault(row[1], []).append(t)
    decide(float("inf"))
    return out


ESCALATION = Case(
    "escalation",
    "first(T) <- ticket(T, _) seq (not answered(T) within 100).\n"
    "second(T) <- first(T) seq (not answered(T) within 200).",
    "unrestricted",
    ticket_rows,
    escalation_loop,
    events=EVENTS,
    closes=True,
)


# offers that were accepted and shipped, and not cancelled between


def offer_rows(n: int) -> list[Row]:
    r = random.Random(13)
    kinds = ("quote", "accept", "ship", "cancel")
    return [(r.choices(kinds, (3, 3, 3, 2))[0], f"o{r.randrange(500)}", i) for i in range(n)]


def sold_loop(rows: list[Row]) -> list[Match]:
    quotes: dict[str, deque[int]] = {}
    accepted: dict[str, deque[int]] = {}
    cancelled: dict[str, int] = {}
    out: list[Match] = []
    for kind, order, t in rows:
        if kind == "quote":
            quotes.setdefault(order, deque()).append(t)
        elif kind == "accept":
            if waiting := quotes.get(order):
                accepted.setdefault(order, deque()).append(waiting.popleft())
        elif kind == "cancel":
            cancelled[order] = t
        else:
            while waiting := accepted.get(order):
                start = waiting.popleft()
                if start > cancelled.get(order, -1):
                    out.append(("sold", (order,), start, t))
                    break
    return out


SOLD = Case(
    "sold_not_cancelled",
    ":- event(quote(order: string)). :- event(accept(order: string)).\n"
    ":- event(ship(order: string)). :- event(cancel(order: string)).\n"
    "sold(O) <- (quote(O) seq accept(O) seq ship(O)) cnot cancel(O).",
    "chronological",
    offer_rows,
    sold_loop,
    events=EVENTS,
)


# how many pages were seen between a login and the logout


def visit_rows(n: int) -> list[Row]:
    r = random.Random(6)
    out: list[Row] = []
    for i in range(n):
        kind, user = r.choices(("login", "click", "logout"), (1, 6, 1))[0], r.randrange(300)
        out.append((kind, user, f"/{r.randrange(9)}", i) if kind == "click" else (kind, user, i))
    return out


def visit_loop(rows: list[Row]) -> list[Match]:
    logins: dict[int, deque[list[int]]] = {}
    visits: dict[int, list[tuple[int, int]]] = {}
    out: list[Match] = []
    for row in rows:
        kind, user, t = row[0], row[1], row[-1]
        if kind == "login":
            logins.setdefault(user, deque()).append([t, 0])
            visits.setdefault(user, []).append((0, t))
        elif kind == "click":
            if opened := logins.get(user):
                while opened and t - opened[0][0] > 3000:
                    opened.popleft()
                for login in opened:
                    login[1] += 1
                    visits[user].append((login[1], login[0]))
        else:
            seen = visits.get(user)
            while seen and t - seen[-1][1] > 4000:
                seen.pop()
            if seen:
                count, start = seen.pop()
                out.append(("session", (user, count), start, t))
    return out


VISIT = Case(
    "session_counts",
    "visit(U, N) <- (login(U) seq aggregate(count, click(U, _), N)) within 3000.\n"
    "session(U, N) <- (visit(U, N) seq logout(U)) within 4000.\nprint_trigger(session/2).",
    "recent",
    visit_rows,
    visit_loop,
    events=EVENTS,
)


# a sum that comes over a threshold, once


def power_rows(n: int) -> list[Row]:
    r = random.Random(9)
    return [("use", f"d{r.randrange(100)}", float(r.randrange(100)), i) for i in range(n)]


def crossed_loop(rows: list[Row]) -> list[Match]:
    used: dict[str, tuple[deque[tuple[float, int]], list[float]]] = {}
    over: dict[str, deque[int]] = {}
    out: list[Match] = []
    for _, device, watts, t in rows:
        if device not in used:
            used[device] = deque(), [0.0]
        window, total = used[device]
        window.append((watts, t))
        total[0] += watts
        while t - window[0][1] > 1000:
            total[0] -= window.popleft()[0]
        if total[0] > 700:
            before = over.setdefault(device, deque())
            while before and before[0] < t - 2000:
                before.popleft()
            if not before:
                out.append(("crossed", (device, total[0]), window[0][1], t))
            before.append(window[0][1])
    return out


CROSSED = Case(
    "sum_crosses",
    ":- event(use(device: string, watts: float)).\n"
    "over(D, X) <- (aggregate(sum(V), use(D, V), X) within 1000) where X > 700.\n"
    "crossed(D, X) <- (over(D, X) fnot over(D, _)) within 2000.\nprint_trigger(crossed/2).",
    "unrestricted",
    power_rows,
    crossed_loop,
    events=EVENTS,
)


# vehicles that leave a zone, which a function knows


def is_inside(x: float, y: float) -> bool:
    return (x - 50) ** 2 + (y - 50) ** 2 < 900


def position_rows(n: int) -> list[Row]:
    r = random.Random(16)
    return [("pos", f"v{r.randrange(200)}", r.uniform(0, 100), r.uniform(0, 100), i) for i in range(n)]


def left_loop(rows: list[Row]) -> list[Match]:
    latest: dict[str, tuple[bool, int]] = {}
    out: list[Match] = []
    for _, vehicle, x, y, t in rows:
        inside, before = is_inside(x, y), latest.get(vehicle)
        if before is not None and before[0] and not inside:
            out.append(("left", (vehicle, x, y), before[1], t))
        latest[vehicle] = inside, t
    return out


LEFT = Case(
    "geofence",
    ":- event(pos(vehicle: string, x: float, y: float)).\n"
    "left(V, X, Y) <- (pos(V, A, B) seq pos(V, X, Y)) where (inside(A, B), \\+ inside(X, Y)).",
    "snoop_recent",
    position_rows,
    left_loop,
    functions={"inside": is_inside},
    events=EVENTS,
)


# the share of calls that fail, of the last hundred


def call_rows(n: int) -> list[Row]:
    r = random.Random(23)
    return [("call", f"svc{r.randrange(50)}", int(r.random() < 0.1), i) for i in range(n)]


def failing_loop(rows: list[Row]) -> list[Match]:
    state: dict[str, tuple[deque[tuple[int, int]], list[int]]] = {}
    out: list[Match] = []
    for _, service, failed, t in rows:
        if service not in state:
            state[service] = deque(), [0]
        window, errors = state[service]
        window.append((failed, t))
        errors[0] += failed
        if len(window) > 100:
            errors[0] -= window.popleft()[0]
        share = errors[0] / len(window)
        if len(window) >= 20 and share > 0.12:
            out.append(("failing", (service, share), window[0][1], t))
    return out


FAILING = Case(
    "error_rate",
    ":- event(call(service: string, failed: int)).\n"
    "errors(S, E) <- aggregate(sum(X), call(S, X), E) last 100.\n"
    "calls(S, N) <- aggregate(count, call(S, _), N) last 100.\n"
    "failing(S, R) <- (errors(S, E) equals calls(S, N)) where (N >= 20, R is E / N, R > 0.12).\n"
    "print_trigger(failing/2).",
    "recent",
    call_rows,
    failing_loop,
    events=EVENTS,
)


SERVICES = named(EXCUSED, CLASH, MISSING, ESCALATION, SOLD, VISIT, CROSSED, LEFT, FAILING)
