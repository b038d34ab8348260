"""More programs: logs, connections, doors."""

from __future__ import annotations

import random
from collections import deque

from programs.case import Case, Match, Row, named, unique

# texts of logs

WORDS = ("timeout", "refused", "reset", "slow", "ok", "done", "retry")


def log_rows(n: int) -> list[Row]:
    r = random.Random(35)
    return [
        (
            "log",
            f"h{r.randrange(100)}",
            r.choices(("info", "warn", "error"), (8, 1, 1))[0],
            f"{r.choice(WORDS)} after {r.randrange(1000)} ms",
            i,
        )
        for i in range(n)
    ]


def log_loop(rows: list[Row]) -> list[Match]:
    waiting: dict[str, deque[tuple[str, int]]] = {}
    out: list[Match] = []
    for _, host, level, text, t in rows:
        if level == "error" and text.startswith("timeout"):
            window = waiting.get(host)
            if window is None:
                window = waiting[host] = deque()
            while window and t - window[0][1] > 5000:
                window.popleft()
            out.extend(("again", (host, before, text), s, t) for before, s in window)
            window.append((text, t))
    return out


LOGS = Case(
    "log_texts",
    ":- event(log(host: string, level: string, text: string)).\n"
    "bad(H, M) <- log(H, L, M) where (L == error, sub_atom(M, 0, _, _, timeout)).\n"
    "again(H, A, B) <- (bad(H, A) seq bad(H, B)) within 5000.\n"
    "print_trigger(again/3).",
    "unrestricted",
    log_rows,
    log_loop,
)


def contains_loop(rows: list[Row]) -> list[Match]:
    return [
        ("note", (host, text.upper()), t, t)
        for _, host, level, text, t in rows
        if level != "info" and "reset" in text and len(text) > 14
    ]


CONTAINS = Case(
    "log_contains",
    ":- event(log(host: string, level: string, text: string)).\n"
    r"note(H, U) <- log(H, L, M) where (L \= info, sub_atom(M, _, _, _, reset), !,"
    r" atom_length(M, N), N > 14, upcase_atom(M, U)).",
    "unrestricted",
    log_rows,
    contains_loop,
)


# many ports of one source: distinct values in a window


def port_rows(n: int) -> list[Row]:
    r = random.Random(36)
    return [
        ("conn", f"ip{min(r.randrange(300), r.randrange(300), r.randrange(300))}", r.randrange(60), i // 10)
        for i in range(n)
    ]


def scan_loop(rows: list[Row]) -> list[Match]:
    state: dict[str, tuple[deque[tuple[int, int]], dict[int, int]]] = {}
    out: list[Match] = []
    for _, source, port, t in rows:
        if source not in state:
            state[source] = deque(), {}
        window, counts = state[source]
        window.append((t, port))
        counts[port] = counts.get(port, 0) + 1
        while t - window[0][0] > 100:
            _, old = window.popleft()
            counts[old] -= 1
            if not counts[old]:
                del counts[old]
        if len(counts) > 8:
            out.append(("scan", (source, len(counts)), window[0][0], t))
    return unique(out)


SCAN = Case(
    "port_scan",
    ":- event(conn(source: string, port: int)).\n"
    "scan(S, N) <- (aggregate(distinct(P), conn(S, P), N) within 100) where N > 8.",
    "unrestricted",
    port_rows,
    scan_loop,
)


# two doors, two ways in: an `or` of sources


def door_rows(n: int) -> list[Row]:
    r = random.Random(37)
    people = max(10, n // 40)
    return [(r.choice(("badge", "phone")), f"p{r.randrange(people)}", f"door{r.randrange(6)}", i) for i in range(n)]


def doors_loop(rows: list[Row]) -> list[Match]:
    recent: dict[str, deque[tuple[str, int]]] = {}
    out: list[Match] = []
    for _, who, door, t in rows:
        window = recent.get(who)
        if window is None:
            window = recent[who] = deque()
        while window and t - window[0][1] > 3000:
            window.popleft()
        out.extend(("two", (who, other, door), s, t) for other, s in window if other != door)
        window.append((door, t))
    return out


DOORS = Case(
    "or_of_sources",
    ":- event(badge(who: string, door: string)). :- event(phone(who: string, door: string)).\n"
    "entry(W, D) <- badge(W, D) or phone(W, D).\n"
    r"two(W, A, B) <- (entry(W, A) seq entry(W, B)) within 3000 where A \= B." + "\nprint_trigger(two/3).",
    "unrestricted",
    door_rows,
    doors_loop,
)
DOORS_INLINE = Case(
    "or_inside",
    ":- event(badge(who: string, door: string)). :- event(phone(who: string, door: string)).\n"
    "two(W, A, B) <- ((badge(W, A) or phone(W, A)) seq (badge(W, B) or phone(W, B))) within 3000"
    r" where A \= B.",
    "unrestricted",
    door_rows,
    doors_loop,
)


# three errors in a row


def error_rows(n: int) -> list[Row]:
    r = random.Random(38)
    return [("err", f"h{r.randrange(200)}", r.randrange(10), i) for i in range(n)]


def three_loop(rows: list[Row]) -> list[Match]:
    runs: dict[str, deque[tuple[int, int, int]]] = {}
    out: list[Match] = []
    for _, host, _, t in rows:
        waiting = runs.get(host)
        if waiting is None:
            waiting = runs[host] = deque()
        while waiting and t - waiting[0][1] > 1000:
            waiting.popleft()
        if not waiting:
            waiting.append((1, t, t))
            continue
        count, s, _ = waiting.popleft()
        if count == 2:
            out.append(("three", (host,), s, t))
        else:
            waiting.append((count + 1, s, t))
    return out


THREE = Case(
    "three_errors",
    ":- event(err(host: string, code: int)).\nthree(H) <- (err(H, _) ntimes 3) within 1000.",
    "chronological",
    error_rows,
    three_loop,
)


NETWORKS = named(LOGS, CONTAINS, SCAN, DOORS, DOORS_INLINE, THREE)
