"""What a program does when it runs: knowledge, recursion and bounds of state; exact texts."""

from __future__ import annotations

import pytest

from helpers.findings import brief, finding, findings


def test_unknown_predicate() -> None:
    assert finding("d(X) <- a(X) where neer(X, basel). near(X, Y) :- link(X, Y). link(a, b).") == (
        "test:1:20: warning W207: unknown predicate neer/2: nothing defines it\n"
        "    1 | d(X) <- a(X) where neer(X, basel). near(X, Y) :- link(X, Y). link(a, b).\n"
        "                           ^^^^^^^^^^^^^^\n"
        "  hint: did you mean near?"
    )


@pytest.mark.parametrize(
    ("program", "hint"),
    [
        ("d(X) <- a(X) where near(X). near(1, 2).", "near takes 2 arguments"),
        ("d(X) <- a(X) where c(X). c(X) <- b(X).", "c/1 is an event; a condition sees facts and clauses only"),
        ("d(X) <- a(X) where zzz(X).", "add facts or clauses for zzz, or declare it: `:- dynamic zzz/1.`"),
    ],
)
def test_hints_for_unknown_predicates(program: str, hint: str) -> None:
    assert f"hint: {hint}" in finding(program)


@pytest.mark.parametrize(
    "program",
    [
        ":- dynamic seen/1. d(X) <- a(X) where seen(X). e(X) <- a(X) do (retractall(seen(_)), assertz(seen(X))).",
        ":- dynamic seen/1. d(X) <- a(X) where \\+ seen(X).",
        "d(X) <- a(X) where (member(X, [1, 2]) ; X = f(_)).",
        "d(X) <- a(X) seq prolog(kb(X)). static(kb(1)).",
    ],
)
def test_known_predicates(program: str) -> None:
    assert brief(program) == []


def test_times_of_a_match_belong_to_check() -> None:
    assert brief("d(X) <- a(X) check (t1(T), T > X).") == []
    assert brief("d(X) <- a(X) where (t1(T), T > X).") == ["W207 t1/1 has a value behind `check` only"]


def test_side_effects_are_named() -> None:
    first, *_ = findings("d(X) <- a(X) where assertz(seen(X)).")
    assert first == (
        "test:1:20: warning W210: assertz/1 in a condition has a side effect; "
        "it also runs for candidates that fail later\n"
        "    1 | d(X) <- a(X) where assertz(seen(X)).\n"
        "                           ^^^^^^^^^^^^^^^^\n"
        "  hint: put it behind `do`, which runs once per match"
    )
    assert brief("d(X) <- a(X) where note(X). note(X) :- mark(X). mark(X) :- assertz(seen(X)).") == [
        "W210 note/1 in a condition has a side effect: it calls assertz/1; it also runs for candidates that fail later"
    ]
    assert brief(":- dynamic seen/1. d(X) <- a(X) do (retractall(seen(_)), assertz(seen(X))).") == []


def test_recursion_at_one_moment() -> None:
    assert finding("s(0) <- a.\ns(N) <- s(M) where N is M + 1.") == (
        "test:2:1: warning W208: this recursion may not end: s/1 causes itself at the same moment, "
        "and `N is M + 1` may make a new value every time\n"
        "    2 | s(N) <- s(M) where N is M + 1.\n"
        "        ^^^^\n"
        "  hint: let time pass in the cycle (`... seq tick`); otherwise only max_derivations stops it, with an error"
    )


RECEIVED = ":- event(s(x: any)). :- event(t(x: any)). :- event(tick(x: any)). "  # so that there can be a first
UNRESTRICTED = ":- set_flag(event_consumption_policy, unrestricted). "


@pytest.mark.parametrize(
    ("program", "warned"),
    [
        ("s(N) <- s(M) seq a(X) where N is M + X.", False),
        ("s(N) <- a(X) seq s(M) where N is M + X.", False),
        ("s(f(X)) <- s(X).", True),
        ("s(f(X)) <- t(X). t(X) <- s(X).", True),
        ("s(X) <- t(X). t(X) <- s(X).", False),
        ("s(Y) <- s(X) where next(X, Y). next(1, 2).", False),
        ("s(Y) <- s(X) where next(X, Y). next(X, Y) :- Y is X + 1.", True),
        ("s(N) <- s(M) and a(X) where N is M + X.", False),
        (UNRESTRICTED + "s(N) <- s(M) and a(X) where N is M + X.", True),
        (UNRESTRICTED + "s(N) <- s(M) during b(X) where N is M + X.", False),
        (UNRESTRICTED + ":- set_flag(interval_relations, weak). s(N) <- s(M) during b(X) where N is M + X.", True),
        (UNRESTRICTED + "s(N) <- b(X) during s(M) where N is M + X.", True),
        ("s(N) <- (s(M) or b(M)) where N is M + 1.", True),
        ("s(N) <- aggregate(count, s(M), N).", True),
        ("s(N) <- go seq aggregate(count, s(M), N).", False),
        ("s(X) <- s(X) ntimes 2.", False),
        ("s(N) <- s(M) where (M < 3, N is M + 1).", False),
        ("s(N) <- s(M) where (N is M - 1, 0 =< N).", False),
        ("s(N) <- s(M) where (M > 3, N is M + 1).", True),
        ("b(M) <- s(M). s(N) <- s(M) and b(K) where N is M + K.", True),
    ],
)
def test_which_recursion_may_not_end(program: str, warned: bool) -> None:
    assert [text[:4] for text in brief(RECEIVED + program)] == (["W208"] if warned else [])


@pytest.mark.parametrize(
    ("program", "warned"),
    [
        ("exceptionAlarm(tick(X), 1) <- tick(X).", True),
        ("exceptionAlarm(tick(X), 1) <- tick(X) seq a.", False),
        ("t(X) <- u(X). exceptionAlarm(u(X), 1) <- t(X).", True),
        ("t(X) <- t(X) seq (not c within 5).", True),
        ("exceptionAlarm(t(N), 1) <- t(M) where (M < 3, N is M + 1).", False),
        ("exceptionAlarm(late(X), 1) <- a(X). d(X) <- late(X).", False),
    ],
)
def test_recursion_through_time(program: str, warned: bool) -> None:
    found = brief(RECEIVED + program)
    assert len(found) == warned
    assert all("as time passes, also after the stream is closed" in text for text in found)


def test_state_without_bound() -> None:
    assert finding("d(X) <- a(X) seq b(X) seq c(X).", also="W209") == (
        "test:1:1: warning W209: the state of d/1 has no bound: seq keeps every `a(X) seq b(X)` and every a/1 "
        "until used, which may never happen\n"
        "    1 | d(X) <- a(X) seq b(X) seq c(X).\n"
        "        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        "  hint: add `within Duration` to the pattern, or bound all rules: "
        "set_flag(garbage_control, general) and garbage_window"
    )


@pytest.mark.parametrize(
    ("program", "says"),
    [
        (UNRESTRICTED + "d <- a and b.", "and keeps every a/0 and every b/0 for ever"),
        ("d <- (a seq b) cnot c.", "cnot keeps every c/0; seq keeps every a/0 for ever"),
        ("d(X) <- a(X) fnot c(X).", "fnot keeps every c/1 for ever"),
        ("d(C) <- go seq aggregate(count, a, C).", "aggregate keeps a value for every go/0 for ever"),
        ("d(L) <- aggregate(list(X), a(X), L).", "aggregate keeps every a/1 for ever"),
        ("d(X) <- a(X) ntimes 3.", "ntimes keeps a run of a/1 per X until used, which may never happen"),
        ("d <- a seq b star_times.", "seq keeps every a/0 for ever"),
        ("d <- a during b.", "during keeps every a/0 until used, which may never happen"),
        ("d <- any(2, [a, b]).", "any keeps every a/0 and every b/0 until used, which may never happen"),
        (
            "r([property(policy, snoop_recent)]) rule: d(X) <- a(X) seq b(X).",
            "seq keeps one a/1 per X for ever",
        ),
    ],
)
def test_what_keeps_the_state(program: str, says: str) -> None:
    (found,) = brief(program, also="W209")
    assert found.startswith("W209 the state of d/")
    assert found.endswith(f" has no bound: {says}")


@pytest.mark.parametrize(
    "program",
    [
        "d(X) <- a(X) where X > 1.",
        "d(X) <- (a(X) seq b(X)) within 5.",
        "r([property(window, 5)]) rule: d(X) <- a(X) and b(X).",
        "r rule: d(X) <- a(X) and b(X). event_rule_property(r, window, 5).",
        ":- set_flag(garbage_control, general). :- set_flag(garbage_window, 5). d <- a seq b.",
        "d <- a equals b.",
        "d <- a finishes b.",
        "d <- 7 seq a.",
        "d(X) <- a(X) fnot c.",
        "d(X) <- a(X) seq (not c(X) within 5).",
        "d(C) <- aggregate(sum(X), a(X), C) last 3.",
        "d <- a ntimes 3.",
        "d(X) <- ((a(X) seq b(X)) within 5) cnot c(X).",
        "d(C) <- aggregate(list(X), a(X), C) last 3.",
        "d(C) <- aggregate(list(X), a(X), C) within 3.",
        "r([property(policy, snoop_recent)]) rule: d <- a seq b.",
        "d <- a or b.",
    ],
)
def test_state_with_a_bound(program: str) -> None:
    assert brief(program, also="W209") == []
