"""Every recipe of docs/recipes.md: over columns as event at a time, and on random rows as a loop by hand has it.

A loop takes rows (name, attributes, time) and returns what must be reported, as (name, attributes, start, end). Rows
have several keys, many equal time stamps, and lie where windows end.
"""

from __future__ import annotations

import ast
import doctest
import random
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import etalis

pytestmark = pytest.mark.docs

PAGE = Path(__file__).parents[1] / "docs" / "recipes.md"
ENVELOPE = {"event", "start", "end", "rule", "match_id"}
HOUR, DAY = 3600, 86400

Row = tuple[Any, ...]
Found = tuple[str, tuple[object, ...], float, float]


def recipes() -> dict[str, tuple[str, list[Row]]]:
    """Return program and rows of every call of `detect` on the page, by the heading above it."""
    text = PAGE.read_text(encoding="utf-8")
    lines, found = text.splitlines(), {}
    for example in doctest.DocTestParser().get_examples(text):
        if not example.source.startswith("detect("):
            continue
        heading = next(line for line in reversed(lines[: example.lineno]) if line.startswith("## "))[3:]
        statement = ast.parse(example.source).body[0]
        assert isinstance(statement, ast.Expr)
        assert isinstance(statement.value, ast.Call)
        program, *rows = map(ast.literal_eval, statement.value.args)
        name = heading if heading not in found else f"{heading}, second"
        found[name] = program, rows
    return found


RECIPES = recipes()


def by_engine(text: str, rows: list[Row]) -> list[Found]:
    engine = etalis.compile(text).engine(policy="unrestricted")
    matches = [*engine.run(rows), *engine.close()]
    assert not engine.errors
    assert not engine.dead_letters
    return sorted_found((m.name, m.args, m.start, m.end) for m in matches)


def by_columns(text: str, rows: list[Row]) -> list[Found]:
    table = etalis.compile(text).detect(rows, policy="unrestricted")
    return sorted_found(
        (
            row["event"],
            tuple(v for k, v in row.items() if k not in ENVELOPE and v is not None),
            row["start"],
            row["end"],
        )
        for row in table.to_pylist()
    )


def sorted_found(found: Iterator[Found]) -> list[Found]:
    return sorted(((n, a, round(s, 6), round(e, 6)) for n, a, s, e in found), key=repr)


@pytest.mark.parametrize("name", RECIPES)
def test_recipe_over_columns(name: str) -> None:
    """Tables give what events one by one give, and `check` has nothing to say of the program."""
    text, rows = RECIPES[name]
    assert not etalis.compile(text).problems
    assert by_columns(text, rows) == by_engine(text, rows) != []


def test_every_recipe_has_a_loop() -> None:
    assert LOOPS.keys() == RECIPES.keys()


@pytest.mark.parametrize("name", RECIPES)
def test_recipe_agrees_with_a_loop(name: str) -> None:
    text, _ = RECIPES[name]
    make, loop = LOOPS[name]
    count = 0
    for seed in range(12):
        rows = make(random.Random(seed))
        expected = sorted_found(iter(set(loop(rows))))
        assert by_engine(text, rows) == expected
        assert seed > 3 or by_columns(text, rows) == expected
        count += len(expected)
    assert count > 12


# Rows.


def stream(rng: random.Random, span: float, kinds: Callable[[random.Random], Row], count: int = 40) -> list[Row]:
    """Return rows in order of time, on a grid so coarse that about half of them share their time with another."""
    step = span / 30
    times = sorted(round(rng.randrange(31) * step, 6) for _ in range(count))
    return [(*kinds(rng), int(t) if t == int(t) else t) for t in times]


def readings(
    span: float, *values: object, name: str = "reading", count: int = 40
) -> Callable[[random.Random], list[Row]]:
    keys = ("s1", "s2", "s3")
    return lambda rng: stream(rng, span, lambda r: (name, r.choice(keys), r.choice(values)), count)


def events(span: float, *names: str, keys: tuple[object, ...] = (1, 2, 3)) -> Callable[[random.Random], list[Row]]:
    return lambda rng: stream(rng, span, lambda r: (r.choice(names), r.choice(keys)))


def late(rng: random.Random) -> list[Row]:
    rows = events(150, "started", "finished")(rng)
    return sorted(rows, key=lambda row: row[-1] + rng.random() * 5)


def orders(rng: random.Random) -> list[Row]:
    steps = ("pay", "pay", "ship", "refund")
    return stream(
        rng,
        300,
        lambda r: ("ordered", r.choice((1, 2))) if r.random() < 0.2 else ("step", r.choice((1, 2)), r.choice(steps)),
    )


def quotes(rng: random.Random) -> list[Row]:
    return stream(rng, 300, lambda r: (r.choice(("quote", "trade")), r.choice("xy"), r.randrange(5)))


def beats(rng: random.Random) -> list[Row]:
    devices = ("pump", "fan", "lift")
    return stream(rng, 900, lambda r: ("started",) if r.random() < 0.3 else ("beat", r.choice(devices)))


# Loops.


def throttle(rows: list[Row]) -> Iterator[Found]:
    alerts: list[tuple[object, float]] = []
    for _, s, c, t in rows:
        if c > 30 and not any(key == s and t - 600 <= at < t for key, at in alerts):
            alerts.append((s, t))
            yield "alert", (s, c), t, t


def throttle_sequences(rows: list[Row]) -> Iterator[Found]:
    alerts: list[tuple[object, float]] = []
    for name, card, t in rows:
        begun = any(n == "login" and c == card and t - 1800 <= at < t for n, c, at in rows)
        if name == "refused" and begun and not any(c == card and t - 600 <= at < t for c, at in alerts):
            alerts.append((card, t))
            yield "alert", (card,), t, t


def first_of(name: str, gap: float) -> Callable[[list[Row]], Iterator[Found]]:
    """Return the loop for rows with no row of equal attributes in the gap before."""

    def loop(rows: list[Row]) -> Iterator[Found]:
        for row in rows:
            *_, t = row
            if not any(other[:-1] == row[:-1] and t - gap <= other[-1] < t for other in rows):
                yield name, row[1:-1], t, t

    return loop


def last_of(name: str, gap: float) -> Callable[[list[Row]], Iterator[Found]]:
    """Return the loop for rows with no row of their key in the gap after."""

    def loop(rows: list[Row]) -> Iterator[Found]:
        for row in rows:
            *_, t = row
            if not any(other[1] == row[1] and t < other[-1] <= round(t + gap, 6) for other in rows):
                yield name, row[1:-1], t, t + gap

    return loop


def over(rows: list[Row]) -> Iterator[Found]:
    for i, (_, client, t) in enumerate(rows):
        times = [at for _, c, at in rows[: i + 1] if c == client and at >= t - 60]
        if len(times) > 3:
            yield "over", (client, len(times)), times[0], t


def let_through(rows: list[Row]) -> Iterator[Found]:
    passed: set[tuple[object, float]] = set()
    for _, client, number, t in rows:
        if sum(c == client and t - 60 <= at < t for c, at in passed) < 3:
            passed.add((client, t))
            yield "passed", (client, number), t, t


def requests(rng: random.Random) -> list[Row]:
    return [(*row[:2], i, row[-1]) for i, row in enumerate(events(300, "request", keys=("c1", "c2"))(rng))]


def mean(rows: list[Row]) -> Iterator[Found]:
    for i, (_, s, _, t) in enumerate(rows):
        window = [(c, at) for _, key, c, at in rows[: i + 1] if key == s and at >= t - 300]
        yield "mean", (s, sum(c for c, _ in window) / len(window)), window[0][1], t


def windows(*ends: int, step: int) -> Callable[[list[Row]], Iterator[Found]]:
    def loop(rows: list[Row]) -> Iterator[Found]:
        sums: dict[tuple[object, float], tuple[float, float]] = {}
        for _, k, v, t in rows:
            for end in (int(t // step) * step + later for later in ends):
                start, total = sums.get((k, end), (t, 0))
                sums[k, end] = start, total + v
        for (k, end), (start, total) in sums.items():
            yield "total", (k, end, total), start, end

    return loop


def sessions(rows: list[Row]) -> Iterator[Found]:
    for user in {row[1] for row in rows}:
        times = [row[-1] for row in rows if row[1] == user]
        cuts = [0, *(i for i in range(1, len(times)) if times[i] - times[i - 1] > 1800), len(times)]
        for a, b in pairwise(cuts):
            session = times[a:b]
            yield "session", (user, len(session) - session.count(session[0]) + 1), session[0], session[-1] + 1800


def best(rows: list[Row]) -> Iterator[Found]:
    for i, (*_, t) in enumerate(rows):
        window = [row for row in rows[: i + 1] if row[-1] >= t - 600]
        sums = sorted(
            ((sum(r[2] for r in window if r[1] == item), item) for item in {r[1] for r in window}), reverse=True
        )
        for rank, (total, item) in enumerate(sums[:2], 1):
            yield "top", (rank, item, total), window[0][-1], t


def first_and_last(rows: list[Row]) -> Iterator[Found]:
    yield from last_of("last", HOUR)(rows)
    for _, s, c, t in rows:
        if not any(key == s and t - HOUR <= at < t for _, key, _, at in rows):
            yield "first", (s, c), t, t


def distinct(rows: list[Row]) -> Iterator[Found]:
    for i, (_, user, _, t) in enumerate(rows):
        window = [row for row in rows[: i + 1] if row[1] == user and row[-1] >= t - 600]
        if (n := len({ip for _, _, ip, _ in window})) >= 3:
            yield "shared", (user, n), window[0][-1], t


def stuck(rows: list[Row]) -> Iterator[Found]:
    for name, job, t in rows:
        if name == "started" and not any(n == "finished" and j == job and t < at <= t + 600 for n, j, at in rows):
            yield "stuck", (job,), t, t + 600


def unpaid(rows: list[Row]) -> Iterator[Found]:
    for a, key, s in rows:
        for b, other, e in rows:
            paid = any(n == "paid" and k == key and s < t < e for n, k, t in rows)
            if (a, b) == ("ordered", "shipped") and key == other and s < e <= s + DAY and not paid:
                yield "unpaid", (key,), s, e


def heartbeat(rows: list[Row]) -> Iterator[Found]:
    for found in last_of("silent", 60)(rows):
        yield found
        _, (device,), start, end = found
        later = [t for _, d, t in rows if d == device and t > end]
        if later:
            yield "back", (device,), start, min(later)


def never(rows: list[Row]) -> Iterator[Found]:
    for name, *_, t in rows:
        for device in ("pump", "fan", "lift") if name == "started" else ():
            if not any(row[:2] == ("beat", device) and t < row[-1] <= t + 60 for row in rows):
                yield "missing", (device,), t, t + 60


def neighbours(rows: list[Row], most: float) -> Iterator[tuple[object, float, float, float, float]]:
    """Return key, both values and both times of rows of one key with none between."""
    for _, s, a, start in rows:
        for _, key, b, end in rows:
            between = any(k == s and start < t < end for _, k, _, t in rows)
            if s == key and start < end <= start + most and not between:
                yield s, a, b, start, end


def change(rows: list[Row]) -> Iterator[Found]:
    for s, a, b, start, end in neighbours(rows, HOUR):
        yield "change", (s, b - a), start, end


def rally(rows: list[Row]) -> Iterator[Found]:
    rises = {rise for rise in neighbours(rows, 60) if rise[2] > rise[1]}
    runs = [(r, r) for r in rises]
    for _ in range(2):
        runs = [(a, c) for a, b in runs for c in rises if (c[0], c[1], c[3]) == (b[0], b[2], b[4])]
    for a, b in runs:
        yield "rally", (a[0], a[1], b[2]), a[3], b[4]


def flapping(rows: list[Row]) -> Iterator[Found]:
    ups = {(s, start, end) for s, a, b, start, end in neighbours(rows, 600) if a <= 30 < b}
    runs = [(u, u) for u in ups]
    for _ in range(2):
        runs = [(first, v) for first, u in runs for v in ups if follows(ups, u, v)]
    for (s, start, _), (_, _, end) in runs:
        if end - start <= 600:
            yield "flapping", (s,), start, end


def follows(ups: set[tuple[Any, ...]], u: tuple[Any, ...], v: tuple[Any, ...]) -> bool:
    between = (w for w in ups if w[0] == u[0] and w[1] > u[2] and w[2] < v[1])
    return u[0] == v[0] and u[2] < v[1] and not any(between)


def locked(rows: list[Row]) -> Iterator[Found]:
    for user in {row[1] for row in rows}:
        times = sorted({t for name, u, t in rows if (name, u) == ("failed", user)})
        for start, end in zip(times, times[2:], strict=False):
            if end - start <= 600 and not any(n == "passed" and u == user and start < t < end for n, u, t in rows):
                yield "locked", (user,), start, end


def warm(rows: list[Row]) -> Iterator[Found]:
    places = {"s1": ("kitchen", 40), "s2": ("cellar", 20)}
    for _, s, c, t in rows:
        if s in places and c > places[s][1]:
            yield "warm", (places[s][0], c), t, t


def enriched(rows: list[Row]) -> Iterator[Found]:
    for _, s, c, t in rows:
        yield "note", (s, "known" if s == "s1" else "nobody"), t, t
        for who in ("ann", "bob") if c > 30 and s == "s1" else ():
            yield "call", (who, s), t, t


def priced(rows: list[Row]) -> Iterator[Found]:
    for name, s, pieces, t in rows:
        before = [(at, p) for n, key, p, at in rows if (n, key) == ("quote", s) and at < t]
        for at, p in before if name == "trade" else ():
            if at == max(before)[0] and t - at <= 60:
                yield "priced", (s, pieces, p), at, t


def in_time(rows: list[Row]) -> Iterator[Found]:
    for name, order, t in rows:
        if name == "order" and not any(n == "shipped" and o == order and t < u <= t + DAY for n, o, u in rows):
            yield "violated", ("shipped_in_time", order), t, t + DAY


def lost(rows: list[Row]) -> Iterator[Found]:
    for event, (label, order), t, due in in_time(rows):
        yield event, (label, order), t, due
        if not any(n == "shipped" and o == order and due < u <= due + 6 * DAY for n, o, u in rows):
            yield "lost", (order,), t, due + 6 * DAY


def paid_first(rows: list[Row]) -> Iterator[Found]:
    for name, order, t in rows:
        if name == "shipped" and not any(n == "paid" and o == order and t - 30 * DAY <= u < t for n, o, u in rows):
            yield "violated", ("paid_first", order), t, t


def in_step(rows: list[Row]) -> Iterator[Found]:
    for name, trade, t in rows:
        other = "booked" if name == "traded" else "traded"
        if not any(n == other and o == trade and abs(u - t) <= 5 for n, o, u in rows):
            yield "violated", (other, trade), t, t + 5


def both(rows: list[Row]) -> Iterator[Found]:
    for name, order, t in rows:
        for n, o, u in rows:
            if (name, n) == ("confirmed", "denied") and o == order and abs(u - t) <= 7 * DAY:
                yield "violated", ("settled", order), min(t, u), max(t, u)


def unanswered(rows: list[Row]) -> Iterator[Found]:
    for name, who, t in rows:
        after = min((u for *_, u in rows if u > t), default=None)
        for n, o, u in rows:
            if name == "hello" and u == after and (n, o) != ("welcome", who):
                yield "violated", ("handshake", who), t, u


def settling(rng: random.Random) -> list[Row]:
    paid = [("paid", key, how) for key in (1, 2, 3) for how in ("card", "cash")]
    return stream(rng, 3600, lambda r: r.choice([*paid, *[("ordered", key) for key in (1, 2, 3)] * 3]))


def settled(rows: list[Row]) -> Iterator[Found]:
    for name, key, *_, at in rows:
        if name == "ordered":
            paid = [(how[0], t) for n, k, *how, t in rows if n == "paid" and k == key and at < t <= at + 600]
            yield from (("settled", (key, how), at, t) for how, t in paid or [("nobody", at + 600)])


def took(rows: list[Row]) -> Iterator[Found]:
    for a, job, s in rows:
        for b, other, e in rows:
            if (a, b) == ("started", "finished") and job == other and s < e <= s + 60:
                yield "took", (job,), s, e


def machine(rows: list[Row]) -> Iterator[Found]:
    steps = {("new", "pay"): "paid", ("paid", "ship"): "shipped", ("paid", "refund"): "closed"}
    states: dict[object, tuple[str, float, float]] = {}
    for name, key, *what, t in rows:
        if name == "ordered":
            states[key] = "new", t, t
            yield "state", (key, "new"), t, t
        elif key in states and states[key][2] < t:
            state, start, _ = states[key]
            if to := steps.get((state, what[0])):
                states[key] = to, start, t
                yield "state", (key, to), start, t
            else:
                yield "refused", (key, state, what[0]), start, t


LOOPS: dict[str, tuple[Callable[[random.Random], list[Row]], Callable[[list[Row]], Iterator[Found]]]] = {
    "Throttle": (readings(3600, 10, 31, 40), throttle),
    "Throttle, second": (events(6000, "login", "refused", "refused"), throttle_sequences),
    "De-duplicate": (readings(3600, "hi", "ho", name="message"), first_of("fresh", 600)),
    "Debounce": (readings(0.75, "on", "off", name="switch"), last_of("settled", 0.05)),
    "Rate limit": (events(300, "request", keys=("c1", "c2")), over),
    "Rate limit, second": (requests, let_through),
    "Sliding windows": (readings(1800, 10, 20, 40), mean),
    "Tumbling windows": (readings(3600, 0, 1, 5, name="sale"), windows(600, step=600)),
    "Hopping windows": (readings(3600, 0, 1, 5, name="sale"), windows(300, 600, step=300)),
    "Session windows": (events(27000, "click", keys=("ann", "bob")), sessions),
    "Top k": (readings(3600, 1, 2, 5, name="sale"), best),
    "First and last per key": (readings(15 * HOUR, 1, 2, 5), first_and_last),
    "Count distinct": (readings(1800, "a", "b", "c", "d", name="login"), distinct),
    "Missing step": (events(3600, "started", "finished"), stuck),
    "Missing step, second": (events(3600, "ordered", "paid", "shipped"), unpaid),
    "Heartbeat": (events(600, "beat", keys=("pump", "fan")), heartbeat),
    "Never heard of": (beats, never),
    "Previous value": (readings(10 * HOUR, 1, 2, 5), change),
    "Rising run": (readings(450, *range(9), name="tick", count=80), rally),
    "Threshold crossed N times": (readings(1200, 20, 35), flapping),
    "Sequence with reset": (events(1800, "failed", "failed", "failed", "passed"), locked),
    "Join with reference data": (readings(300, 10, 30, 50), warm),
    "Enrich with facts": (readings(300, 10, 31), enriched),
    "Join with the latest value": (quotes, priced),
    "Left join": (settling, settled),
    "Service level": (events(4 * DAY, "order", "shipped"), in_time),
    "Service level, second": (events(20 * DAY, "order", "shipped", keys=(1, 2, 3, 4, 5, 6)), lost),
    "Right order": (events(90 * DAY, "paid", "shipped"), paid_first),
    "In step": (events(40, "traded", "booked"), in_step),
    "Never both": (events(20 * DAY, "confirmed", "denied"), both),
    "Handshake": (events(600, "hello", "welcome", "welcome", "work", keys=("ann", "bob")), unanswered),
    "Rows out of order": (late, took),
    "State machine per key": (orders, machine),
}
