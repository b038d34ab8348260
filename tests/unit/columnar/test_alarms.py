"""Alarms at times that events tell, over columns: the same as in the engine, wherever batches are cut."""

from __future__ import annotations

import random

import pytest

import etalis
from etalis.columnar.events import find_types, gather
from etalis.columnar.run import ColumnRun
from etalis.errors import EventError
from etalis.logic.term import Value, real
from etalis.temporal.event import Event
from unit.columnar.agreement import check

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
            over = check(rule, stream(values, seed), policy)
            assert over or "//" in rule


def test_a_time_too_far_away_is_refused() -> None:
    program = etalis.compile(RULES["after"])
    events = [Event.make("a", (1, 1 << 60), 0, 0)]
    types = find_types(events)
    run = ColumnRun(program, types)
    with pytest.raises(EventError, match="too far away"):
        list(run.take(gather(events, types)))


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        ("exceptionAlarm(e, N) <- a(_, N) seq a(_, _).", "for a time that no single received event tells"),
        ("d(N) <- a(_, N). exceptionAlarm(e, N) <- d(N).", "for a time that no single received event tells"),
        ("exceptionAlarm(e, T) <- a(N, _) where (N > 0 -> T = 1 ; T = soon).", "for no number of seconds"),
    ],
)
def test_why_an_alarm_runs_event_at_a_time(rule: str, reason: str) -> None:
    run = ColumnRun(etalis.compile(rule), {("a", 2): ("int", "int")})
    assert f"its alarm is set {reason}" in run.choice.describe()
