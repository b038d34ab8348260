"""Windows, counts, aggregates, choices and alarms: exact texts."""

from __future__ import annotations

import pytest

from etalis.language.check.checks import check
from etalis.language.syntax import Aggregate, AnyOf, Const, EventPattern, Repeat, Rule, Tree, Var
from helpers.findings import brief, finding


def test_window_of_no_length() -> None:
    assert finding("d <- (a seq b) within 0.") == (
        "test:1:7: error E212: no match fits into a window of 0 seconds: every match is longer than 0\n"
        "    1 | d <- (a seq b) within 0.\n"
        "              ^^^^^^^^^^^^^^^^^\n"
        "  hint: write the length in seconds: `within 0.5`"
    )


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (
            "r([property(window, 0)]) rule: d <- a seq b.",
            "E212 no match fits into a window of 0 seconds: every match is longer than 0",
        ),
        ("d <- a seq (not c within 0).", "E212 an absence must last longer than 0 seconds, not 0"),
        ("d <- (a seq b) last 3.", "E213 `last` belongs to an aggregate: aggregate(K, Pattern, R) last N"),
        (
            "d(C) <- (go seq aggregate(count, a, C)) last 3.",
            "E213 `last` belongs to an aggregate: aggregate(K, Pattern, R) last N",
        ),
        ("d <- a(N) seq b ntimes M.", "E214 M has no value left of the repetition that it counts"),
        (
            "d(S) <- go seq aggregate(sum(Y), p(X), S).",
            "E216 Y is aggregated, but does not occur in the aggregated pattern",
        ),
        (
            "d <- any(5, [a, b, c, e, f, g, h, i, j, k]).",
            "E219 5 of 10 can be chosen in 252 ways, more than 200 are refused",
        ),
        ("exceptionAlarm(l(X), 0) <- a(X).", "E223 an alarm rings later: its delay must be above 0, not 0"),
        ("exceptionAlarm(l(X), soon) <- a(X).", "E223 the delay of an alarm is a number of seconds, not soon"),
        ("exceptionAlarmAbsoluteDatetime(l(X), noon) <- a(X).", "E223 the time of an alarm cannot be noon"),
    ],
)
def test_operators_that_cannot_be(rule: str, message: str) -> None:
    assert brief(rule) == [message]


@pytest.mark.parametrize(
    "rule",
    [
        "d <- (a and (b or (c seq e))) within 0.",
        "d <- (a meets b) within 0.",
        "d(C) <- aggregate(count, a, C) last 3.",
        "d(C) <- (aggregate(count, a, C) where C > 1) last 3.",
        "d <- a(N) seq b ntimes N.",
        "d <- a ntimes (2, 2).",
        "d <- a star_times.",
        "exceptionAlarm(l(X), 0.5) <- a(X).",
        "exceptionAlarmAbsoluteDatetime(l(X), datetime(2020, 1, 1, 0, 0, 0)) <- a(X).",
    ],
)
def test_operators_that_can_be(rule: str) -> None:
    assert brief(rule) == []


P = EventPattern("p", (Var("X"),))


def test_trees_that_no_parser_made() -> None:
    def say(pattern: Aggregate | AnyOf | Repeat) -> list[str]:
        found = check(Tree((Rule(EventPattern("d", ()), pattern),)))
        return [f"{p.code} {p.message}" for p in found if p.is_error]

    assert say(Aggregate("median", Var("X"), P, Var("M"))) == ["E215 unknown aggregate median"]
    assert say(Aggregate("sum", None, P, Var("M"))) == ["E215 sum needs to know of what"]
    assert say(Aggregate("count", Var("X"), P, Const(1))) == ["E215 count takes no argument"]
    assert say(Repeat(P, Const(3), Const(2))) == ["E214 a repetition of 3 to 2 is empty"]
    assert say(Repeat(P, Const(0), None)) == ["E214 a repetition counts with a positive integer, not 0"]
    assert say(AnyOf(3, (P, P))) == ["E219 any(3, ...) chooses among 2 patterns"]
