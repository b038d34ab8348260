"""More programs: meters, advertisements, games, wards, parcels, builds and what else is run as a business."""

from __future__ import annotations

import random
from collections import deque

from programs.case import Case, Match, Row, named

# a household above what its contract allows, by the mean of a quarter of an hour


def meter_rows(n: int) -> list[Row]:
    r = random.Random(201)
    return [("meter", f"m{r.randrange(300)}", round(r.uniform(0.1, 9.0), 2), i) for i in range(n)]


CONTRACTS = [(f"m{i}", 4.0 + i % 3 * 0.5) for i in range(280)]


def peak_loop(rows: list[Row]) -> list[Match]:
    limits = dict(CONTRACTS)
    recent: dict[str, deque[tuple[float, int]]] = {}
    sums: dict[str, float] = {}
    out: list[Match] = []
    for _, meter, power, t in rows:
        window = recent.setdefault(meter, deque())
        window.append((power, t))
        total = sums.get(meter, 0.0) + power
        while t - window[0][1] > 3000:
            total -= window.popleft()[0]
        sums[meter] = total
        limit = limits.get(meter)
        mean = total / len(window)
        if limit is not None and mean > limit + 0.0001:
            out.append(("peak", (meter, mean, limit), window[0][1], t))
    return out


PEAK = Case(
    "energy_peaks",
    ":- event(meter(id: string, kw: float)).\nload(M, A) <- aggregate(avg(K), meter(M, K), A) within 50 min.\n"
    "peak(M, A, L) <- load(M, A) where (contract(M, L), A > L + 0.0001).\nprint_trigger(peak/3).",
    "unrestricted",
    meter_rows,
    peak_loop,
    facts={"contract": CONTRACTS},
)


# what was bought, and the campaign of the last click before


def click_rows(n: int) -> list[Row]:
    r = random.Random(202)
    out: list[Row] = []
    for i in range(n):
        user = f"u{r.randrange(2000)}"
        is_click = r.random() < 0.7
        out.append(("click", user, f"ad{r.randrange(500)}", i) if is_click else ("buy", user, r.randrange(5, 400), i))
    return out


CAMPAIGNS = [(f"ad{i}", f"c{i % 25}") for i in range(450)]


def credit_loop(rows: list[Row]) -> list[Match]:
    campaign_of = dict(CAMPAIGNS)
    clicks: dict[str, tuple[str, int]] = {}
    out: list[Match] = []
    for kind, user, what, t in rows:
        if kind == "click":
            clicks[user] = what, t
        elif user in clicks:
            ad, clicked = clicks[user]
            campaign = campaign_of.get(ad)
            if t - clicked <= 3600 and campaign is not None and what >= 50:
                out.append(("credit", (campaign, user, what), clicked, t))
    return out


CREDIT = Case(
    "last_click",
    ":- event(click(user: string, ad: string)). :- event(buy(user: string, amount: int)).\n"
    "credit(C, U, A) <- (click(U, Ad) seq buy(U, A)) within 1 h where (A >= 50, campaign(Ad, C)).",
    "snoop_recent",
    click_rows,
    credit_loop,
    facts={"campaign": CAMPAIGNS},
)


# three hits of a player without being hit


def game_rows(n: int) -> list[Row]:
    r = random.Random(203)
    return [(r.choices(("hit", "hurt"), (6, 4))[0], f"p{r.randrange(300)}", r.randrange(100), i) for i in range(n)]


def combo_loop(rows: list[Row]) -> list[Match]:
    hits: dict[str, deque[int]] = {}
    out: list[Match] = []
    for kind, player, _, t in rows:
        if kind == "hurt":
            hits.pop(player, None)
            continue
        run = hits.setdefault(player, deque())
        while run and t - run[0] > 2000:
            run.popleft()
        times = list(run)
        for place in range(1, len(times)):
            for start in times[:place]:
                out.append(("combo", (player,), start, t))
        run.append(t)
    return list(dict.fromkeys(out))


COMBO = Case(
    "combos",
    ":- event(hit(player: string, points: int)). :- event(hurt(player: string, points: int)).\n"
    "combo(P) <- ((hit(P, _) seq hit(P, _) seq hit(P, _)) cnot hurt(P, _)) within 2000.",
    "unrestricted",
    game_rows,
    combo_loop,
)


# fever and low pressure of one patient, and no treatment afterwards


def ward_rows(n: int) -> list[Row]:
    r = random.Random(204)
    out: list[Row] = []
    for i in range(n):
        patient, x = f"p{r.randrange(500)}", r.random()
        if x < 0.45:
            out.append(("temp", patient, round(r.gauss(37.2, 0.8), 1), i))
        elif x < 0.9:
            out.append(("pressure", patient, r.randrange(80, 160), i))
        else:
            out.append(("treated", patient, i))
    return out


def untreated_loop(rows: list[Row]) -> list[Match]:
    last: dict[str, dict[str, int]] = {"temp": {}, "pressure": {}}
    treated: dict[str, int] = {}
    waiting: deque[tuple[int, int, str]] = deque()
    out: list[Match] = []

    def decide(before: float) -> None:
        while waiting and waiting[0][0] + 600 < before:
            end, start, who = waiting.popleft()
            if treated.get(who, -1) <= end:
                out.append(("untreated", (who,), start, end + 600))

    for kind, patient, *rest in rows:
        t = rest[-1]
        decide(t)
        if kind == "treated":
            treated[patient] = t
        elif rest[0] >= 38.5 if kind == "temp" else rest[0] < 90:
            other = last["pressure" if kind == "temp" else "temp"].get(patient)
            if other is not None and t - other <= 1800:
                waiting.append((t, other, patient))
            last[kind][patient] = t
    decide(float("inf"))
    return out


UNTREATED = Case(
    "untreated",
    ":- event(temp(p: string, c: float)). :- event(pressure(p: string, mm: int)). :- event(treated(p: string)).\n"
    "risk(P) <- ((temp(P, C) where C >= 38.5) and (pressure(P, M) where M < 90)) within 30 min.\n"
    "untreated(P) <- risk(P) seq (not treated(P) within 10 min).\nprint_trigger(untreated/1).",
    "snoop_recent",
    ward_rows,
    untreated_loop,
    closes=True,
)


# parcels that do not leave a hub, and hubs where that happens to several


def parcel_rows(n: int) -> list[Row]:
    r = random.Random(205)
    arrived: deque[Row] = deque()
    out: list[Row] = []
    for i in range(n):
        if arrived and r.random() < 0.47:
            parcel, hub = arrived.popleft()
            if r.random() < 0.8:
                out.append(("depart", parcel, hub, i))
                continue
        hub = f"h{r.randrange(40)}"
        arrived.append((f"k{i}", hub))
        out.append(("arrive", f"k{i}", hub, i))
        if len(arrived) > 300:
            arrived.popleft()
    return out


def jam_loop(rows: list[Row]) -> list[Match]:
    left: set[str] = set()
    waiting: deque[tuple[int, str, str]] = deque()
    stuck: dict[str, deque[tuple[int, int]]] = {}
    out: list[Match] = []

    def decide(before: float) -> None:
        while waiting and waiting[0][0] + 900 < before:
            start, parcel, hub = waiting.popleft()
            if parcel in left:
                left.discard(parcel)
                continue
            window = stuck.setdefault(hub, deque())
            window.append((start, start + 900))
            while start + 900 - window[0][0] > 3000:
                window.popleft()
            if len(window) >= 4:
                out.append(("jam", (hub, len(window)), window[0][0], start + 900))

    for kind, parcel, hub, t in rows:
        decide(t)
        if kind == "arrive":
            waiting.append((t, parcel, hub))
        else:
            left.add(parcel)
    decide(float("inf"))
    return out


JAM = Case(
    "jammed_hubs",
    ":- event(arrive(parcel: string, hub: string)). :- event(depart(parcel: string, hub: string)).\n"
    "stuck(P, H) <- arrive(P, H) seq (not depart(P, H) within 15 min).\n"
    "jam(H, N) <- (aggregate(count, stuck(_, H), N) within 50 min) where N >= 4.\nprint_trigger(jam/2).",
    "unrestricted",
    parcel_rows,
    jam_loop,
    closes=True,
)


# a test that passes, fails and passes on one branch


def result_rows(n: int) -> list[Row]:
    r = random.Random(206)
    return [("result", f"t{r.randrange(1500)}", r.choices(("pass", "fail"), (7, 3))[0], i) for i in range(n)]


def flaky_loop(rows: list[Row]) -> list[Match]:
    passed: dict[str, int] = {}
    failed: dict[str, tuple[int, int]] = {}
    out: list[Match] = []
    for _, test, outcome, t in rows:
        if outcome == "pass":
            if test in failed:
                start, _ = failed[test]
                if t - start <= 5000:
                    out.append(("flaky", (test,), start, t))
            passed[test] = t
        elif test in passed:
            failed[test] = passed[test], t
    return out


FLAKY = Case(
    "flaky_tests",
    ":- event(result(test: string, outcome: string)).\n"
    "flaky(T) <- (result(T, pass) seq result(T, fail) seq result(T, pass)) within 5000.",
    "snoop_recent",
    result_rows,
    flaky_loop,
)


# three rises in a row, each from where the one before has ended


def rise_rows(n: int) -> list[Row]:
    r = random.Random(207)
    return [("price", f"s{r.randrange(200)}", round(r.uniform(10, 90), 2), i) for i in range(n)]


def rally_loop(rows: list[Row]) -> list[Match]:
    last: dict[str, tuple[float, int]] = {}
    runs: dict[str, deque[int]] = {}
    out: list[Match] = []
    for _, symbol, price, t in rows:
        before = last.get(symbol)
        last[symbol] = price, t
        if before is None:
            continue
        if price <= before[0]:
            runs.pop(symbol, None)
            continue
        run = runs.setdefault(symbol, deque(maxlen=3))
        run.append(before[1])
        if len(run) == 3:
            out.append(("rally", (symbol,), run[0], t))
    return out


RALLY = Case(
    "rally_by_meets",
    ":- event(price(sym: string, value: float)).\nrise(S) <- price(S, A) seq price(S, B) where B > A.\n"
    "rally(S) <- rise(S) meets rise(S) meets rise(S).\nprint_trigger(rally/1).",
    "snoop_recent",
    rise_rows,
    rally_loop,
)


# a position beyond its limit, said once until it is within again


def fill_rows(n: int) -> list[Row]:
    r = random.Random(208)
    return [("fill", f"b{r.randrange(50)}", f"s{r.randrange(20)}", r.randrange(-100, 101), i) for i in range(n)]


LIMITS = [(f"b{i}", 600 + 50 * (i % 5)) for i in range(50)]


def position_loop(rows: list[Row]) -> list[Match]:
    limits = dict(LIMITS)
    positions: dict[tuple[str, str], tuple[int, int]] = {}
    out: list[Match] = []
    for _, book, symbol, quantity, t in rows:
        total, start = positions.get((book, symbol), (0, t))
        total += quantity
        positions[book, symbol] = total, start
        if abs(total) > limits[book]:
            out.append(("beyond", (book, symbol, total), start, t))
    return out


POSITION = Case(
    "positions",
    ":- event(fill(book: string, sym: string, quantity: int)).\n"
    "beyond(B, S, P) <- aggregate(sum(Q), fill(B, S, Q), P) where (limit(B, L), abs(P) > L).",
    "unrestricted",
    fill_rows,
    position_loop,
    facts={"limit": LIMITS},
)


VENTURES = named(PEAK, CREDIT, COMBO, UNTREATED, JAM, FLAKY, RALLY, POSITION)
