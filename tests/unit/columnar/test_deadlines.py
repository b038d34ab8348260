"""What happens between rows, over columns: the same as in the engine, wherever batches are cut."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

import etalis
from etalis.columnar import schedule as moments
from etalis.columnar.data.events import find_types, gather
from etalis.columnar.run import ColumnRun
from etalis.temporal.event import Event
from helpers.agreement import check

pytestmark = pytest.mark.fast

SECOND = 1_000_000
PROGRAMS = (
    "r(I) <- a(I) seq (not b(I) within 3).",
    "r(I) <- a(I) seq (not b(I) within 3). s(I) <- r(I) seq (not c(I) within 2). t <- s(_) and r(_).",
    "r(I) <- (a(I) seq (not b(_) within 2)) within 4 where I > 0. s(I) <- a(I) seq (not b(_) within 4).",
    "exceptionAlarm(g(I), 2) <- a(I). r(I) <- b(I) seq g(I). s(I) <- a(I) cnot g(I).",
    "exceptionAlarm(g(I), 2) <- a(I). exceptionAlarm(h(I), 3) <- g(I) seq b(I). r(I) <- (h(I) or g(I)) within 5.",
    """exceptionAlarmAbsoluteDatetime(g(I), 7) <- a(I). exceptionAlarmAbsoluteDatetime(h(I), 0) <- g(I).
    r(I) <- h(I) and g(I).""",
    "exceptionAlarmAbsoluteDatetime(g(I), 0) <- d(I). d(I) <- a(I) seq (not b(I) within 1). r(I) <- g(I) seq c(I).",
    "r(I) <- a(I) seq 9. s(I) <- 4 seq a(I). t(I) <- 12 and b(I). u <- 9. v <- 40.",
    "r(N) <- aggregate(count, d(_), N) within 6. d(I) <- a(I) seq (not b(I) within 2).",
)


def stream(seed: int) -> list[Event]:
    rng = random.Random(seed)
    found = []
    for _ in range(40):
        end = rng.randrange(24)
        start = end - rng.choice((0, 0, 0, 1, 3))
        found.append(Event.make(rng.choice("aabc"), (rng.randrange(2),), start * SECOND, end * SECOND))
    return sorted(found, key=lambda event: (event.end_time, event.start_time))


@pytest.mark.parametrize("policy", ["unrestricted", "chronological", "recent", "continuous", "cumulative"])
def test_equal_to_the_engine(policy: str) -> None:
    for text in PROGRAMS:
        assert all(check(text, stream(seed), policy) for seed in (1, 2))


def test_what_is_too_far_away_runs_event_at_a_time() -> None:
    far = 10**18
    for text in (
        f"r(I) <- a(I) seq (not b(I) within {far}).",
        f"r <- a(_) seq {far}.",
        f"exceptionAlarm(g, {far}) <- a(_).",
    ):
        assert not check(text, stream(3), "recent")


def test_more_falls_due_than_a_piece_has_turns_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moments, "MOST_ROWS", 64)
    events = [Event.make("a", (0,), t * SECOND, t * SECOND) for t in range(200)]
    events += [Event.make("b", (0,), 1000 * SECOND, 1000 * SECOND)] * 3
    text = "r(I) <- a(I) seq (not b(I) within 500). exceptionAlarm(g(I), 900) <- r(I). s(I) <- b(I) seq g(I)."
    assert check(text, events, "recent")


def test_nothing_falls_due_before_the_rows_that_end_then() -> None:
    program = etalis.compile("r <- a seq (not b within 2).")
    events = [Event.make(name, (), t * SECOND, t * SECOND) for name, t in (("a", 1), ("c", 3), ("b", 3), ("c", 4))]
    types = find_types(events)
    run = ColumnRun(program.compiled, types)
    assert [e for event in events for e in run.process(gather([event], types))] == []
    assert list(run.close()) == []


def test_a_table_in_batches() -> None:
    text = """:- event(a(id: int)). :- event(b(id: int)).
    r(I) <- a(I) seq (not b(I) within 3). exceptionAlarm(g(I), 2) <- b(I).
    n(I, N) <- aggregate(count, r(I), N) last 2."""
    program = etalis.compile(text)
    rng = random.Random(4)
    rows = [(t // 2, rng.choice("ab"), rng.randrange(3)) for t in range(80)]
    table = pa.table(dict(zip(("at", "event", "id"), zip(*rows, strict=True), strict=True)))
    assert "event at a time" not in program.explain(table, time="at", event="event")
    whole = program.detect(table, time="at", event="event")
    engine = program.engine()
    pushed = [e for at, name, number in rows for e in engine.push(name, number, at=at)] + list(engine.close())
    assert whole["event"].to_pylist() == [e.name for e in pushed]
    assert whole["end"].to_pylist() == [e.end for e in pushed]
    assert program.detect(table, time="at", event="event", batch=7).equals(whole)
