"""More programs: chats, subscribers, lifts, rides, tanks and networks; functions of the host, actions, recursion."""

from __future__ import annotations

import random
from collections import deque

from programs.case import Case, Match, Row, named, unique

# users whose messages a function of the host judges rude, three times


def message_rows(n: int) -> list[Row]:
    r = random.Random(221)
    words = ("hello", "thanks", "idiot", "nonsense", "please", "stupid", "good")
    return [("message", f"u{r.randrange(400)}", f"{r.choice(words)} {r.choice(words)}", i) for i in range(n)]


BAD = ("idiot", "stupid", "nonsense")


def rudeness(text: str) -> float:
    return sum(word in BAD for word in text.split()) / 2


def muted_loop(rows: list[Row]) -> list[Match]:
    rude: dict[str, list[int]] = {}
    out: list[Match] = []
    for _, user, text, t in rows:
        if rudeness(text) > 0.4:
            times = rude.get(user, [])
            if times and t - times[0] > 5000:
                times = []
            times.append(t)
            if len(times) == 3:
                out.append(("muted", (user,), times[0], t))
                times = []
            rude[user] = times
    return out


MUTED = Case(
    "muted",
    ":- event(message(user: string, text: string)).\n"
    "rude(U) <- message(U, T) where (rudeness(T, S), S > 0.4).\nmuted(U) <- (rude(U) ntimes 3) within 5000.\n"
    "print_trigger(muted/1).",
    "chronological",
    message_rows,
    muted_loop,
    functions={"rudeness": rudeness},
)


# subscribers who complain twice and are not seen afterwards


def complaint_rows(n: int) -> list[Row]:
    r = random.Random(222)
    return [(r.choices(("complaint", "login"), (3, 7))[0], f"u{r.randrange(1000)}", i) for i in range(n)]


def churn_loop(rows: list[Row]) -> list[Match]:
    last: dict[str, int] = {}
    seen: dict[str, int] = {}
    waiting: deque[tuple[int, int, str]] = deque()
    out: list[Match] = []

    def decide(before: float) -> None:
        while waiting and waiting[0][0] + 2000 < before:
            end, start, who = waiting.popleft()
            if seen.get(who, -1) <= end:
                out.append(("churn", (who,), start, end + 2000))

    for kind, user, t in rows:
        decide(t)
        if kind == "login":
            seen[user] = t
        else:
            if user in last and t - last[user] <= 3000:
                waiting.append((t, last[user], user))
            last[user] = t
    decide(float("inf"))
    return out


CHURN = Case(
    "churn",
    ":- event(complaint(user: string)). :- event(login(user: string)).\n"
    "angry(U) <- (complaint(U) seq complaint(U)) within 3000.\nchurn(U) <- angry(U) seq (not login(U) within 2000).\n"
    "print_trigger(churn/1).",
    "snoop_recent",
    complaint_rows,
    churn_loop,
    closes=True,
)


# a door of a lift that is open while it moves


def lift_rows(n: int) -> list[Row]:
    r = random.Random(223)
    out: list[Row] = []
    for i in range(n):
        kind, most = ("moves", 200) if r.random() < 0.5 else ("opens", 60)
        out.append((kind, f"l{r.randrange(100)}", r.randrange(30), (max(0, i - r.randrange(1, most)), i)))
    return out


def unsafe_loop(rows: list[Row]) -> list[Match]:
    doors: dict[str, deque[tuple[int, int, int]]] = {}
    out: list[Match] = []
    for kind, lift, floor, (start, end) in rows:
        waiting = doors.setdefault(lift, deque())
        if kind == "opens":
            waiting.append((start, end, floor))
            continue
        while waiting and waiting[0][1] <= end - 300:
            waiting.popleft()
        out.extend(("unsafe", (lift, at), start, end) for s, e, at in waiting if start < s and e < end)
    return unique(out)


UNSAFE = Case(
    "unsafe_lifts",
    ":- event(moves(lift: string, to: int)). :- event(opens(lift: string, at: int)).\n"
    "unsafe(L, F) <- (opens(L, F) during moves(L, _)) within 300.",
    "unrestricted",
    lift_rows,
    unsafe_loop,
    events=100_000,
)


# rides that were asked for, accepted and begun too late


def ride_rows(n: int) -> list[Row]:
    r = random.Random(224)
    stages: dict[int, int] = {}
    out: list[Row] = []
    for i in range(n):
        ride = max(0, i // 3 - r.randrange(60))
        stage = stages.get(ride, 0)
        kind = ("request", "accept", "pickup", "pickup")[stage]
        stages[ride] = min(stage + 1, 3)
        out.append((kind, f"r{ride}", f"z{ride % 30}", i))
    return out


def slow_loop(rows: list[Row]) -> list[Match]:
    requested: dict[str, int] = {}
    accepted: dict[str, int] = {}
    out: list[Match] = []
    for kind, ride, zone, t in rows:
        if kind == "request":
            requested[ride] = t
        elif kind == "accept":
            if ride in requested and t - requested[ride] <= 600:
                accepted[ride] = requested.pop(ride)
        elif ride in accepted:
            start = accepted[ride]
            if 90 < t - start <= 3600:
                del accepted[ride]
                out.append(("slow", (ride, zone, t - start), start, t))
    return out


SLOW = Case(
    "slow_pickups",
    ":- event(request(ride: string, zone: string)). :- event(accept(ride: string, zone: string)).\n"
    ":- event(pickup(ride: string, zone: string)).\n"
    "agreed(R, Z) <- (request(R, Z) seq accept(R, Z)) within 10 min.\n"
    "slow(R, Z, D) <- (agreed(R, Z) seq pickup(R, Z)) within 1 h check (t1(S), t2(E), D is E - S, D > 90).\n"
    "print_trigger(slow/3).",
    "chronological",
    ride_rows,
    slow_loop,
)


# tanks whose level goes up and down too much in ten minutes


def level_rows(n: int) -> list[Row]:
    r = random.Random(225)
    return [("level", f"t{r.randrange(200)}", r.randrange(1000), i) for i in range(n)]


def unsteady_loop(rows: list[Row]) -> list[Match]:
    levels: dict[str, deque[tuple[int, int]]] = {}
    out: list[Match] = []
    for _, tank, level, t in rows:
        window = levels.setdefault(tank, deque())
        window.append((level, t))
        while t - window[0][1] > 2000:
            window.popleft()
        low, high = min(x for x, _ in window), max(x for x, _ in window)
        if high - low > 950:
            out.append(("unsteady", (tank, low, high), window[0][1], t))
    return out


UNSTEADY = Case(
    "unsteady_tanks",
    ":- event(level(tank: string, mm: int)).\n"
    "low(T, A) <- aggregate(min(L), level(T, L), A) within 2000.\n"
    "high(T, B) <- aggregate(max(L), level(T, L), B) within 2000.\n"
    "unsteady(T, A, B) <- (low(T, A) equals high(T, B)) where B - A > 950.\nprint_trigger(unsteady/3).",
    "unrestricted",
    level_rows,
    unsteady_loop,
)


# a source that sends much to many: two aggregates, both beyond a limit


def flow_rows(n: int) -> list[Row]:
    r = random.Random(226)
    return [
        ("flow", f"10.0.0.{r.randrange(200)}", f"10.1.0.{r.randrange(80)}", r.randrange(40, 1500), i) for i in range(n)
    ]


def leak_loop(rows: list[Row]) -> list[Match]:
    flows: dict[str, deque[tuple[str, int, int]]] = {}
    sums: dict[str, int] = {}
    counts: dict[str, dict[str, int]] = {}
    out: list[Match] = []
    for _, source, target, size, t in rows:
        window = flows.setdefault(source, deque())
        targets = counts.setdefault(source, {})
        window.append((target, size, t))
        total = sums.get(source, 0) + size
        targets[target] = targets.get(target, 0) + 1
        while t - window[0][2] > 2000:
            gone, less, _ = window.popleft()
            total -= less
            targets[gone] -= 1
            if not targets[gone]:
                del targets[gone]
        sums[source] = total
        if total > 9000 and len(targets) > 10:
            out.append(("leak", (source, total, len(targets)), window[0][2], t))
    return out


LEAK = Case(
    "leaking_hosts",
    ":- event(flow(source: string, target: string, bytes: int)).\n"
    "heavy(S, B) <- (aggregate(sum(X), flow(S, _, X), B) within 2000) where B > 9000.\n"
    "wide(S, N) <- (aggregate(distinct(T), flow(S, T, _), N) within 2000) where N > 10.\n"
    "leak(S, B, N) <- heavy(S, B) equals wide(S, N).\nprint_trigger(leak/3).",
    "unrestricted",
    flow_rows,
    leak_loop,
)


# seats of a course, taken by reactions


def seat_rows(n: int) -> list[Row]:
    r = random.Random(227)
    return [(r.choices(("book", "cancel"), (6, 5))[0], f"c{r.randrange(100)}", f"p{i}", i) for i in range(n)]


SEATS = [(f"c{i}", 20) for i in range(100)]


def booked_loop(rows: list[Row]) -> list[Match]:
    free = dict(SEATS)
    out: list[Match] = []
    for kind, course, person, t in rows:
        if kind == "cancel":
            free[course] += 1
        elif free[course] > 0:
            free[course] -= 1
            out.append(("booked", (course, person), t, t))
        else:
            out.append(("full", (course,), t, t))
    return out


SEAT = Case(
    "course_seats",
    ":- event(book(course: string, person: string)). :- event(cancel(course: string, person: string)).\n"
    ":- event(booking(course: string, person: string)). :- event(none(course: string)).\n:- state free/2 key 1.\n"
    + "".join(f"free({course}, {seats}).\n" for course, seats in SEATS)
    + "on book(C, P) do (free(C, N), N > 0, M is N - 1, set(free(C, M)), raise(booking(C, P))) or raise(none(C)).\n"
    "on cancel(C, _) do free(C, N), M is N + 1, set(free(C, M)).\n"
    "booked(C, P) <- booking(C, P).\nfull(C) <- none(C).",
    "unrestricted",
    seat_rows,
    booked_loop,
    events=50_000,
)


# how often a player has won without losing: an event of the event before


def win_rows(n: int) -> list[Row]:
    r = random.Random(228)
    return [(r.choices(("win", "lose"), (7, 3))[0], f"p{r.randrange(300)}", i) for i in range(n)]


def streak_loop(rows: list[Row]) -> list[Match]:
    streaks: dict[str, tuple[int, int]] = {}
    out: list[Match] = []
    for kind, player, t in rows:
        if kind == "lose":
            streaks[player] = 0, t
        elif player in streaks:
            length, start = streaks[player]
            streaks[player] = length + 1, start
            out.append(("streak", (player, length + 1), start, t))
    return out


STREAK = Case(
    "streaks",
    ":- event(win(player: string)). :- event(lose(player: string)).\nstreak(P, 0) <- lose(P).\n"
    "streak(P, N) <- streak(P, M) seq win(P) where N is M + 1.\n"
    "print_trigger(streak(_, N)) :- N > 0.",
    "snoop_recent",
    win_rows,
    streak_loop,
)


# sensors of a machine: any two of three alarms


def sensor_rows(n: int) -> list[Row]:
    r = random.Random(229)
    return [(r.choice(("heat", "smoke", "noise")), f"m{r.randrange(500)}", r.randrange(100), i) for i in range(n)]


def two_of_three_loop(rows: list[Row]) -> list[Match]:
    alarms: dict[str, deque[tuple[str, int]]] = {}
    out: list[Match] = []
    for kind, machine, value, t in rows:
        if value <= 60:
            continue
        window = alarms.setdefault(machine, deque())
        while window and t - window[0][1] > 2000:
            window.popleft()
        out.extend(("danger", (machine,), s, t) for other, s in window if other != kind)
        window.append((kind, t))
    return out


DANGER = Case(
    "any_two",
    ":- event(heat(m: string, x: int)). :- event(smoke(m: string, x: int)). :- event(noise(m: string, x: int)).\n"
    "hot(M) <- heat(M, X) where X > 60.\nsmoky(M) <- smoke(M, X) where X > 60.\nloud(M) <- noise(M, X) where X > 60.\n"
    "danger(M) <- any(2, [hot(M), smoky(M), loud(M)]) within 2000.\nprint_trigger(danger/1).",
    "unrestricted",
    sensor_rows,
    two_of_three_loop,
)


HOUSES = named(MUTED, CHURN, UNSAFE, SLOW, UNSTEADY, LEAK, SEAT, STREAK, DANGER)
