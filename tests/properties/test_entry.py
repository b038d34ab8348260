"""The generated `push` and `run` take events in every form as the general way does: matches, errors, counts."""

from __future__ import annotations

from collections import Counter, namedtuple
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

import etalis
from etalis import EtalisError, Event, Struct
from etalis.language.printer import print_program
from helpers.examples import by_day
from helpers.programs import policies, programs, streams

pytestmark = pytest.mark.property

PAIR = "d(K, X, Y) <- a(K, X) seq b(K, Y) within 20. "
DECLARED = ":- event(a(k: string, x: float)). :- event(b(k: string, y: float)). :- event(c(k: string)). "
MANY = "".join(f"r{i}(K) <- a{i}(K) seq b{i}(K). " for i in range(12))
PROGRAMS = {
    "undeclared": PAIR + "e(K) <- c(K).",
    "declared": DECLARED + PAIR + "e(K, X) <- a(K, X) where X > 1.",
    "typed": ":- event(a(k: int, x: time)). :- event(b(k: bool, y: term)). :- event(c(k: any)). "
    "d(K, X) <- a(K, X). d(K, Y) <- b(K, Y). e(K) <- c(K).",
    "by name": "d(K, X) <- a(k: K, x: X) seq b(k: K). e(K) <- c(K).",
    "places": ":- event(a(a2: any, a1: any)). :- event(b(k: any, y: any)). " + PAIR,
    "own fields": ":- event(a(at: any, event: any)). :- event(b('Args': any, attributes: any)). " + PAIR,
    "deadline": DECLARED + PAIR + "e(K) <- a(K, _) seq (not b(K, _) within 3). u <- c(_).",
    "derived": DECLARED + "up(K, X) <- a(K, X) where X > 0. d(K) <- up(K, _) seq b(K, _) within 9. a(K, 1.0) <- c(K).",
    "constants": DECLARED
    + "d(K) <- a(K, 1.0). d(K) <- b(K, 2.5). e(K, X) <- a(K, X) and b(K, X). f(K, f(X)) <- a(K, X).",
    "mixed": ":- event(a(k: any, x: float)). d(X) <- a(_, X) seq b(_, X). e(X) <- a(X, X). f <- a(_, X) cnot b(_, X).",
    "learned": ":- event(a(k: any, x: float)). :- knowledge a/2. d(K) <- b(K, _) where a(K, 1.0).",
    "goals": DECLARED + "d(K, T) <- a(K, X) seq b(K, Y) where (T is X + Y, p(X)). p(1.0). p(X) :- X > 2.",
    "collected": DECLARED
    + "d(K, S, M, L) <- aggregate(sum(X), a(K, X), S) and aggregate(max(Y), b(K, Y), M) where L = [S, M].",
    "triggers": "print_trigger(d/3). " + PAIR + "e(K) <- d(K, _, _).",
    "revised": ":- set_flag(revision_flag, on). :- set_flag(revision_window, 100). " + DECLARED + PAIR,
    "held": ":- set_flag(out_of_order, on). :- set_flag(ooo_window, 5). " + DECLARED + PAIR,
    "held until due": ":- set_flag(out_of_order, on). :- set_flag(ooo_window, 3). "
    + DECLARED
    + "e(K) <- a(K, _) seq (not b(K, _) within 3). f(K) <- e(K) seq (not c(K) within 2). "
    "exceptionAlarm(g(K), 2) <- b(K, _). d(K) <- g(K) and e(K). h(K) <- (e(K) seq c(K)) within 9.",
    "held until silent": ":- set_flag(out_of_order, on). :- set_flag(ooo_window, 1). "
    "e(K) <- a(K, _) seq (not b(K, _) within 1). f(K, X) <- (a(K, X) ?seq b(K, X)) within 4.",
    "corrected": ":- set_flag(out_of_order, on). :- set_flag(ooo_window, 5). :- set_flag(reporting, on_arrival). "
    + PAIR,
    "many": DECLARED + MANY + PAIR,
    "some": DECLARED + PAIR + "".join(f"r{i}(K) <- a{i}(K) seq b{i}(K). " for i in range(4)),
    "ahead": ":- set_flag(max_ahead, 30). " + PAIR,
    "intervals": DECLARED
    + "d(K, X) <- a(K, X) during b(K, _). e(K) <- a(K, _) par b(K, _). f(K) <- a(K, _) meets c(K).",
    "isolated": DECLARED + "d(K) <- iso(a(K, _) seq b(K, _)). e(K) <- c(K) seq (not a(K, _) within 3).",
}
ZONE = timezone(timedelta(hours=5, minutes=30))
BASE = datetime(1970, 1, 1, tzinfo=UTC)
FORMS = {
    "int": int,
    "float": float,
    "half": lambda t: t + 0.5,
    "utc": lambda t: BASE + timedelta(seconds=t),
    "zone": lambda t: (BASE + timedelta(seconds=t)).astimezone(ZONE),
    "naive": lambda t: (BASE + timedelta(seconds=t)).replace(tzinfo=None),
    "far": lambda t: datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=t),
    "text": lambda t: (BASE + timedelta(seconds=t)).isoformat(),
    "number as text": lambda t: f"{t}.25",
    "instant": lambda t: (t, float(t)),
    "interval": lambda t: [t - 1, t],
    "pair": lambda t: (t - 1, t),
    "long": lambda t: (t - 4, t),
    "pair of floats": lambda t: (t - 1.5, t + 0.0),
    "pair of dates": lambda t: (BASE + timedelta(seconds=t - 2), BASE + timedelta(seconds=t)),
    "odd pair": lambda t: (None, t) if t % 2 else (t - 1, t, t),
    "numpy": np.int64,
    "numpy float": np.float64,
    "datetime64": lambda t: np.datetime64(t * 1_000, "ms"),
    "pandas": lambda t: pd.Timestamp(t * 10**9 + 1_500),
    "decimal": Decimal,
    "stamp": lambda t: etalis.Stamp(t, id=t),
    "nan": lambda _: float("nan"),
    "infinite": lambda _: float("inf"),
    "no time": lambda _: "soon",
    "truth": lambda _: True,
    "none": lambda _: None,
    "beyond": lambda _: 10**12,
    "before": lambda _: -(10**12),
    "backwards": lambda t: (t, t - 1),
}
COMMON = ("int", "int", "int", "float", "half", "utc", "zone", "naive", "text", "interval", "pair", "long")
VALUES = st.sampled_from(
    [1, 2, 2.5, 1.0, -0.0, 0.0, 2.0, 1e300, "k", "l", "null", True, False, None, float("nan"), float("inf"), [1, 2.0],
     {"name": "f", "args": [1]}, {"x": 1}, np.float64(1.0), np.int64(2), np.str_("k"), Decimal("1.5"), Decimal(2),
     Struct("f", [1]), 10**40, "1.5", b"no", object()]
)  # fmt: skip
KEYS = st.sampled_from(["k", "l", 1, 2.5, 1.0, "k", "k"])
NAMES = ("a", "b", "a", "b", "a", "b", "c", "d", "up", "other", "a1", "b1", "a3", "b3", "rev", np.str_("a"), "")
FIELDS = ("k", "x", "y", "K", "X", "a1", "a2", "more", "start", "end", "rule", "args", "attributes", "at", "event", 5)
Row = namedtuple("Row", ["event", "k", "x", "at"])


@st.composite
def calls(draw: Any, common: bool) -> tuple[str, Any]:
    """Return one event as it is given: by position, by name, as a row."""
    name = draw(st.sampled_from(NAMES))
    form = draw(st.sampled_from(COMMON if common else tuple(FORMS)))
    number = draw(st.sampled_from([2, 2, 2, 1, 1, 0, 3]))
    values = [draw(KEYS if place == 0 else VALUES) for place in range(number)]
    step = draw(st.sampled_from([0, 1, 1, 2, 7, -1]))
    way = draw(st.sampled_from(["push", "push", "named", "named", "tuple", "tuple", "dict", "dict", "other"]))
    fields = ("k", "y" if name == "b" else "x", "z")[:number]
    if not draw(st.integers(0, 3)):
        fields = tuple(draw(st.lists(st.sampled_from(FIELDS), min_size=number, max_size=number, unique=True)))
    order = draw(st.permutations(range(number + 2)))
    more = {"more": 1} if not draw(st.integers(0, 4)) else {}
    return way, (name, tuple(values), form, step, fields, tuple(order), more)


def given_as(way: str, what: Any, time: int) -> Any:
    """Return a function of an engine that gives it the event."""
    name, values, form, _, fields, order, more = what
    at = FORMS[form](time)
    if way == "push":
        return lambda engine: engine.push(name, *values, at=at)
    if way == "named":
        named = {str(field): value for field, value in zip(fields, values, strict=True) if field not in ("at", 5)}
        return lambda engine: engine.push(name, at=at, **named, **{k: v for k, v in more.items() if k not in named})
    row: Any = (name, *values, at)
    if way == "dict":
        items = [("event", name), ("at", at), *zip(fields, values, strict=True)]
        row = {**dict(items[i] for i in order), **more}
    elif way == "other":
        plain = len(values) == 2 and isinstance(name, str) and name
        row = Row(name, *values, at) if plain and form != "interval" else [name, *values, at]
    return lambda engine: list(engine.run([row]))


def outcome(engine: etalis.Engine, action: Any) -> Any:
    """Return what an action gives, an error by its text."""
    try:
        return [(repr(event), tuple(map(type, event.args)), event.parts) for event in action(engine)]
    except EtalisError as error:
        return str(error)
    except (TypeError, ValueError, AttributeError) as error:
        return type(error)


def standing(engine: etalis.Engine) -> Any:
    """Return where an engine stands; where events are held, how far they are settled."""
    disorder = engine.core.disorder
    reached = engine.now if disorder is None or disorder.held is None else engine.watermark
    letters = [(x.name, repr(x.args), x.start, x.end, x.reason) for x in engine.dead_letters]
    unread = {key: count for key, count in engine.core.evidence.unread.items() if count}
    return reached, engine.waiting(), letters, unread, engine.error_count, str(engine.report()), engine.due


def is_generated(engine: etalis.Engine) -> bool:
    """Whether an engine has a `push` of its own."""
    return engine.push is not None and "push" in engine.__dict__


def compare(program: etalis.Program, options: dict[str, Any], actions: list[Any], *, restores: bool = False) -> None:
    """Run both ways beside each other."""
    fast, slow = program.engine(**options), program.engine(**options)
    assert is_generated(fast), "no generated way in"
    slow._close_entries()
    for action in actions:
        assert outcome(fast, action) == outcome(slow, action)
        assert standing(fast) == standing(slow)
    again = program.restore(fast.snapshot()) if restores else None
    last = fast.close()
    assert outcome(fast, lambda _: last) == outcome(slow, etalis.Engine.close)
    assert standing(fast) == standing(slow)
    if again is not None:
        assert Counter(again.close()) == Counter(last)


@by_day(4)
@given(st.data())
def test_events_in_every_form_are_taken_as_in_general(data: Any) -> None:
    title = data.draw(st.sampled_from(sorted(PROGRAMS)))
    policy = data.draw(policies())
    common = data.draw(st.booleans())
    several = data.draw(st.lists(calls(common), max_size=14))
    hands_on = data.draw(st.booleans())
    note(f"{title} {policy} {hands_on}")
    time, actions = 10, []
    for way, what in several:
        time += what[3]
        note(f"{way} {what} at {time}")
        actions.append(given_as(way, what, time))
    corrects = title in ("revised", "corrected") or title.startswith("held")
    options: dict[str, Any] = {"policy": policy, "parts": not corrects and data.draw(st.integers(0, 5)) == 0}
    if hands_on:
        options["on_dead_letter"] = lambda _: None
    compare(etalis.compile(PROGRAMS[title]), options, actions, restores=data.draw(st.integers(0, 9)) == 0)


@settings(max_examples=settings.default.max_examples // 4)
@given(programs(), streams().filter(bool), policies(), st.data())
def test_random_programs_take_times_of_every_type(tree, stream, policy, data) -> None:
    text = print_program(tree)
    note(f"{policy}\n{text}")
    actions = []
    for event in stream:
        form = data.draw(st.sampled_from(COMMON))
        at = FORMS[form](event.end) if event.start == event.end else (event.start, event.end)
        note(f"{event.name} {event.args} {at}")
        actions.append(lambda engine, e=event, at=at: engine.push(e.name, *e.args, at=at))
    program = etalis.compile(text, max_derivations=200)
    if is_generated(program.engine(policy=policy)):
        compare(program, {"policy": policy}, actions)


def test_rows_together_are_taken_as_one_by_one() -> None:
    program = etalis.compile(PROGRAMS["declared"])
    rows = [("a", "k", float(i), i) if i % 2 else {"event": "b", "k": "k", "y": i, "at": i + 0.5} for i in range(50)]
    one = program.engine()
    assert list(program.engine().run(rows)) == [event for row in rows for event in one.run([row])]
    assert Event("b", "k", 1.0, at=1) in list(etalis.compile("b(K, X) <- a(K, X).").engine().run([("a", "k", 1.0, 1)]))
