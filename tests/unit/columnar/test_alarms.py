"""Alarms at times that events tell, over columns: the same as in the engine, wherever batches are cut."""

from __future__ import annotations

import random

import pytest

import etalis
from etalis.columnar.data.events import find_types, gather
from etalis.columnar.run import ColumnRun
from etalis.data.values import Value, real
from etalis.errors import EventError
from etalis.temporal.event import Event
from helpers.agreement import check

pytestmark = pytest.mark.fast

RULES = {
    "after": "exceptionAlarm(e(K, N), N) <- a(K, N).",
    "at": "exceptionAlarmAbsoluteDatetime(e(K), N) <- a(K, N).",
    "not in the head": "exceptionAlarm(e(K), N) <- a(K, N).",
    "by a fact": "wait(0, 2). wait(1, 3). wait(1, 9). exceptionAlarm(e(K), S) <- a(K, _) where wait(K, S).",
    "computed": "exceptionAlarm(e(K), S) <- a(K, N) where (N > 0, S is N * 2).",
    "several": "wait(0, 2). wait(0, 3). exceptionAlarm(e(K), S) <- a(K, _) event_multiply wait(K, S).",
    "two rules": "exceptionAlarm(e(K), N) <- a(K, N). exceptionAlarm(e(K), 3) <- a(K, _). d(K) <- a(K, N) where N > 1.",
    "at and after": "exceptionAlarmAbsoluteDatetime(e(K), N) <- a(K, N). exceptionAlarm(f(K), 2) <- e(K).",
    "followed": "exceptionAlarm(e(K), N) <- a(K, N). d(K) <- e(K) seq a(K, _).",
    "joined": "exceptionAlarm(e(K), N) <- a(K, N). d(K) <- a(K, _) seq e(K).",
    "absence after it": "exceptionAlarm(e(K), N) <- a(K, N). d(K) <- e(K) seq (not a(K, _) within 2).",
    "absent before it": "exceptionAlarm(e(K), N) <- a(K, N). d(K, L) <- (a(K, _) seq a(L, _)) cnot e(K).",
    "by a sequence": "exceptionAlarm(e(K, M), N) <- a(K, N) seq a(K, M).",
    "by one that is read again": "exceptionAlarm(e(M), N) <- a(K, N) seq a(K, M). d(K, M) <- a(K, N) seq a(K, M).",
    "by a conjunction": "exceptionAlarm(e(K), S) <- (a(K, N) and a(K, M)) where (number(M), number(N), S is N + M).",
    "by derived events": """d(K, S) <- a(K, N) where S is N * 2. f(K) <- e(K) seq d(K, _).
        exceptionAlarm(e(K), S) <- d(K, S).""",
    "by two kinds of them": """d(K, N) <- a(K, N) seq a(_, N). c(K) <- a(K, N) where N > 1.
        exceptionAlarm(e(K, N), N) <- d(K, N) and c(K). f(K) <- c(K) seq e(K, _). g(K) <- d(K, _) cnot e(K, _).""",
    "by an aggregate": "exceptionAlarm(e(K, S), S) <- aggregate(sum(N), a(K, N), S) last 2.",
    "by a repetition": "exceptionAlarm(e(K), N) <- a(K, N) seq a(K, _) star_times.",
    "by both": "exceptionAlarm(e(K), N) <- a(K, N) seq a(K, _). exceptionAlarmAbsoluteDatetime(e(N), K) <- a(K, N).",
    "by sequences, absent": """exceptionAlarm(e(K), N) <- (a(K, N) seq a(K, _)) cnot a(0, _).
        d(K) <- e(K) seq (not a(K, _) within 2).""",
    "by a term": "exceptionAlarmAbsoluteDatetime(e(K, N), datetime(1970, 1, 1, 0, 0, 5)) <- a(K, N) seq a(K, _).",
    "by values of several types": """t(0, 2). t(1, soon). t(1, 4). t(0, 0.5).
        exceptionAlarm(e(K), T) <- a(K, _) event_multiply t(K, T).""",
    "shared": "exceptionAlarm(e(K), S) <- a(K, N) where S is 6 // N. d(K, S) <- a(K, N) where S is 6 // N.",
}


def stream(values: tuple[Value, ...], seed: int) -> list[Event]:
    drawn = random.Random(seed)
    times = sorted(drawn.randrange(12) for _ in range(14))
    rows = [(drawn.randrange(2), drawn.choice(values)) for _ in times]
    return [Event.make("a", row, 10**6 * t, 10**6 * t) for t, row in zip(times, rows, strict=True)]


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
@pytest.mark.parametrize("values", [(1, 2, 3), (0, 2, -1, 5), (real(1.0), 0.5, 0.0000004), (1, 4, "null")])
def test_alarms_that_events_tell(rule: str, values: tuple[Value, ...]) -> None:
    for seed in range(3):
        for policy in ("chronological", "unrestricted"):
            assert check(rule, stream(values, seed), policy) or "//" in rule


def test_a_time_too_far_away_is_refused() -> None:
    program = etalis.compile(RULES["after"])
    events = [Event.make("a", (1, 1 << 60), 0, 0)]
    types = find_types(events)
    run = ColumnRun(program.compiled, types)
    with pytest.raises(EventError, match="too far away"):
        list(run.process(gather(events, types)))


@pytest.mark.parametrize(
    "rule",
    [
        "exceptionAlarm(d(N), 1) <- a(_, N). exceptionAlarm(e, N) <- d(N).",
        "exceptionAlarm(e, N) <- a(_, N) seq (not a(_, _) within 2).",
        "d(N) <- 3 seq a(_, N). exceptionAlarm(e, N) <- d(N).",
    ],
)
def test_why_an_alarm_runs_event_at_a_time(rule: str) -> None:
    run = ColumnRun(etalis.compile(rule).compiled, {("a", 2): ("int", "int")})
    assert "its alarm is set for a time that depends on a timer" in run.choice.describe()
