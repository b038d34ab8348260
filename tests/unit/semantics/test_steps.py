"""The executable meaning, by hand: its interface, and each choice that the later readings write down.

The features of the language are pinned by the cases; here stands what a case cannot say, and one small scenario per
reading (docs/decisions/0001-readings.md). In a scenario `1..3 d(1)` is the event d(1) on [1, 3], in seconds.
"""

from __future__ import annotations

from typing import Any

import pytest

from etalis.data.values import Struct
from etalis.errors import EtalisError, LimitError, ProgramError
from etalis.language.ground_terms import ground as value_of
from etalis.language.read.parser import parse, parse_event, parse_term
from etalis.semantics import steps as semantics
from etalis.semantics.matches import ground, match
from etalis.temporal.event import Event
from etalis.temporal.interval import to_time

ALL = ("unrestricted", "chronological", "recent", "snoop_recent", "continuous", "cumulative")
CONSUMING = ("chronological", "recent", "continuous", "cumulative")


def stream(text: str) -> list[Event]:
    """Read `1 a(1); 2..4 b` as events."""
    found = []
    for entry in filter(None, (part.strip() for part in text.split(";"))):
        time, atom = entry.split(" ", 1)
        start, _, end = time.partition("..")
        pattern = parse_event(atom)
        args = tuple(map(value_of, pattern.args))
        found.append(Event.make(pattern.name, args, to_time(float(start)), to_time(float(end or start))))
    return found


def run(program: str, events: str, policy: str | None = None, **options: Any) -> list[str]:
    """Return what a program makes of a stream, as text, in the order of making."""
    made = semantics.run(parse(program), stream(events), policy=policy, **options)
    return [f"{e.start}{f'..{e.end}' if e.start < e.end else ''} {e.atom}" for e in made]


def test_inputs_are_taken_by_end_start_and_rank() -> None:
    assert run("d(X) <- a(X).", "3 a(1); 1..3 a(2); 2 a(3); 3 a(4)") == ["2 d(3)", "1..3 d(2)", "3 d(1)", "3 d(4)"]


def test_a_round_is_sorted_and_comes_whole_before_the_next() -> None:
    program = "y(X) <- a(X). x(X) <- a(X). z <- x(1). b <- y(1)."
    assert run(program, "1 a(1)") == ["1 x(1)", "1 y(1)", "1 b", "1 z"]


def test_the_order_of_rules_changes_nothing() -> None:
    rules = ["x <- a.", "y <- x and b.", "z <- x seq y.", "x <- b seq b."]
    events = "1 a; 2 b; 3 b; 4 a; 4 b; 5 b"
    assert run(" ".join(rules), events) == run(" ".join(reversed(rules)), events)


def test_a_derived_event_is_made_once_and_names_the_rule_that_was_first() -> None:
    program = parse("one rule: d <- a. d <- a. two rule: e <- d. e <- b seq d.")
    made = semantics.run(program, stream("1 b; 2 a; 2 a"), policy="unrestricted")
    assert [(e.atom, e.start, e.rule) for e in made] == [("d", 2, "one"), ("e", 1, "4"), ("e", 2, "two")]


def test_inputs_and_derived_events_are_distinct() -> None:
    assert run("d <- a. n(N) <- aggregate(count, d, N).", "1 d; 1 a") == ["1 n(1)", "1 d", "1 n(2)"]


def test_until_ends_the_history() -> None:
    program = "late <- a seq (not b within 5). x <- a."
    assert run(program, "1 a; 9 a", until=to_time(5)) == ["1 x"]
    assert run(program, "1 a; 9 a", until=to_time(6)) == ["1 x", "1..6 late"]
    assert run(program, "1 a; 9 a") == ["1 x", "1..6 late", "9 x", "9..14 late"]


def test_policies_the_rule_before_the_call_before_the_flag() -> None:
    events = "1 a(1); 2 a(2); 3 b"
    rule = " d(X) <- a(X) seq b."
    flag = ":- set_flag(event_consumption_policy, chronological)."
    assert run(rule, events) == ["2..3 d(2)"]
    assert run(flag + rule, events) == ["1..3 d(1)"]
    assert run(flag + rule, events, "recent") == ["2..3 d(2)"]
    assert run("r([property(policy, chronological)]) rule: " + rule, events, "recent") == ["1..3 d(1)"]
    assert run("r rule: " + rule + " event_rule_property(r, policy, chronological).", events) == ["1..3 d(1)"]


def test_an_unknown_policy_is_refused() -> None:
    with pytest.raises(ProgramError, match="policy"):
        run("d <- a.", "1 a", "newest")


def test_errors_of_conditions_are_collected_and_stop_nothing() -> None:
    errors: list[EtalisError] = []
    assert run("d(X) <- a(X) where X > 1.", "1 a(x); 2 a(2)", errors=errors) == ["2 d(2)"]
    assert len(errors) == 1
    assert "X > 1" in str(errors[0])
    assert "X = x" in str(errors[0])


@pytest.mark.parametrize(
    ("triggers", "expected"),
    [
        ("", ["d", "e(1)", "e(2)"]),
        ("print_trigger(all_events).", ["d", "e(1)", "e(2)"]),
        ("print_trigger(all_defined_events).", ["d", "e(1)", "e(2)"]),
        ("print_trigger(e/1).", ["e(1)", "e(2)"]),
        ("external_trigger(e(2)).", ["e(2)"]),
        ("external_trigger(d). print_trigger(e(1)).", ["d", "e(1)"]),
        ("print_trigger(e(X, X)).", []),
    ],
)
def test_triggers_say_what_is_reported(triggers: str, expected: list[str]) -> None:
    program = parse("d <- a(1). e(X) <- a(X). " + triggers)
    made = semantics.run(program, stream("1 a(1); 2 a(2)"))
    assert sorted(e.atom for e in semantics.reported(program, made)) == expected


def test_max_derivations_stops_new_terms_at_one_stamp() -> None:
    with pytest.raises(LimitError, match=r"more than 50 events.* rule up"):
        run("d(0) <- a. up rule: d(s(X)) <- d(X).", "1 a", max_derivations=50)


def test_what_falls_due_counts_with_the_last_input() -> None:
    beat = "exceptionAlarm(tick, 1) <- tick. exceptionAlarm(tick, 1) <- a."
    with pytest.raises(LimitError):
        run(beat, "1 a", max_derivations=50)
    assert run(beat, "1 a", until=to_time(3)) == ["2 tick", "3 tick"]


def test_time_points_come_before_the_inputs_of_their_stamp() -> None:
    assert run("d(X) <- 2 and a(X).", "1 a(1); 2 a(2); 3 a(3)", "chronological") == ["1..2 d(1)"]
    assert run("d <- 2. d <- 2.", "") == ["2 d"]


def test_alarms_before_absences_and_the_absence_with_the_latest_left_side_first() -> None:
    by_alarm = "exceptionAlarm(c, 2) <- b. late <- a seq (not c within 3)."
    assert run(by_alarm, "1 a; 2 b") == ["4 c"]
    chain = "quiet <- p seq (not q within 2). late <- a seq (not quiet within 3)."
    assert run(chain, "0 a; 1 p") == ["1..3 quiet"]
    assert run(chain, "0 a; 0 p") == ["0..2 quiet", "0..3 late"]


def test_an_alarm_due_at_once_follows_the_inputs_of_its_stamp() -> None:
    program = "exceptionAlarmAbsoluteDatetime(e, 1) <- a. x <- b."
    assert run(program, "2 a; 2 b; 3 b") == ["2 x", "2 e", "3 x"]


def test_a_sub_rule_has_no_window_of_its_host() -> None:
    program = "d <- (a seq (s <- b seq c)) within 1."
    assert run(program, "1 b; 4 c") == ["1..4 s"]


@pytest.mark.parametrize("policy", ALL)
def test_or_compares_only_what_is_used_outside(policy: str) -> None:
    once = "n(N) <- aggregate(count, (a(X) or a(Y)), N)."
    assert run(once, "1 a(1)", policy) == ["1 n(1)"]
    twice = "d(X, N) <- aggregate(count, (a(X) or a(_)), N)."
    assert run(twice, "1 a(1)", policy) == ["1 d(1, 1)", "1 d(null, 1)"]


@pytest.mark.parametrize("policy", ALL)
def test_equal_solutions_of_event_multiply_are_one(policy: str) -> None:
    program = "n(N) <- aggregate(count, (a event_multiply (X = 1 ; X = 2 ; X = 1)), N)."
    assert run(program, "1 a", policy) == ["1 n(1)", "1 n(2)"]


def test_an_event_longer_than_the_window_is_not_even_kept() -> None:
    program = "d(X) <- (a(X) and b) within 3."
    assert run(program, "2 a(1); 0..5 a(2); 5 b", "snoop_recent") == ["2..5 d(1)"]


def test_snoop_recent_keeps_the_newest_per_key() -> None:
    assert run("d(X) <- a(X) seq b(X).", "1 a(1); 2 a(2); 3 a(1); 4 b(1); 5 b(1)", "snoop_recent") == [
        "3..4 d(1)",
        "3..5 d(1)",
    ]
    assert run("d(X) <- a(X) seq a(X).", "1 a(1); 2 a(1)", "snoop_recent") == ["1..2 d(1)"]


def test_cumulative_stores_what_arrives_if_the_combined_match_fails() -> None:
    program = "d(X) <- (a(X) and b) check (t1(S), t2(E), X + E - S =:= 3)."
    assert run(program, "2 a(2); 3 b", "cumulative") == ["2..3 d(2)"]
    # Both pairs pass, 1 + 2 and 2 + 1; the common match takes X from the latest and is 2 long, so it fails.
    assert run(program, "1 a(1); 2 a(2); 3 b; 5 a(1)", "cumulative") == ["3..5 d(1)"]


@pytest.mark.parametrize("policy", ALL)
def test_numbers_of_a_repetition_must_be_counts(policy: str) -> None:
    errors: list[EtalisError] = []
    assert run("d <- a(N) seq b ntimes N.", "1 a(0); 2 b; 3 a(x); 4 b", policy, errors=errors) == []
    assert errors


@pytest.mark.parametrize("policy", CONSUMING)
def test_a_repetition_used_on_arrival_takes_nothing_with_it(policy: str) -> None:
    program = "d(X) <- c(X) and (a seq b star_times)."
    assert run(program, "1 c(1); 2 a; 3 b; 4 c(2); 5 b", policy) == ["1..3 d(1)", "2..5 d(2)"]


def test_a_window_on_the_rule_lets_an_aggregate_slide() -> None:
    slides = ["1 n(1)", "1..2 n(2)", "2..4 n(2)"]
    assert run("n(N) <- aggregate(count, a, N) within 2.", "1 a; 2 a; 4 a") == slides
    assert run("r([property(window, 2)]) rule: n(N) <- aggregate(count, a, N).", "1 a; 2 a; 4 a") == slides


def test_a_variable_used_anywhere_else_groups_an_aggregate() -> None:
    program = "n(N) <- aggregate(count, a(X), N) seq b(X)."
    assert run(program, "1 a(1); 2 a(2); 3 a(1); 4 b(1)") == ["1..4 n(2)"]


@pytest.mark.parametrize("policy", ALL)
def test_isolation_spares_its_own_parts_alone(policy: str) -> None:
    program = "d <- iso(a seq b ntimes 2). x <- c."
    assert run(program, "1 a; 2 b; 3 c; 4 b", policy) == ["3 x", "1..4 d"]
    assert run(program, "1 a; 2 c; 3 b; 4 b", policy) == ["2 x"]


@pytest.mark.parametrize("policy", ALL)
def test_an_anchored_repetition_starts_where_its_first_element_does(policy: str) -> None:
    program = "d <- (a seq b ntimes 2) cnot c."
    assert run(program, "1 a; 2 b; 3 c; 4 b", policy) == ["1..4 d"]
    assert run(program, "1 a; 2 c; 3 b; 4 b", policy) == []


@pytest.mark.parametrize("policy", ALL)
def test_an_alternative_is_one_part_of_a_sequence(policy: str) -> None:
    directly = "d <- ((a seq b) seq c) cnot e."
    in_an_or = "d <- (((a seq b) or x) seq c) cnot e."
    assert run(directly, "1 a; 2 e; 3 b; 4 c", policy) == []
    assert run(in_an_or, "1 a; 2 e; 3 b; 4 c", policy) == ["1..4 d"]
    assert run(in_an_or, "1 a; 2 b; 3 e; 4 c", policy) == []


def test_least_model_is_the_set_of_what_unrestricted_makes() -> None:
    program = parse("d(X) <- (a(X) seq b) cnot c. late <- b seq (not a(_) within 2). e <- d(1) and late.")
    events = stream("1 a(1); 2 c; 3 a(1); 4 b; 5 b")
    assert semantics.least_model(program, events) == set(semantics.run(program, events, policy="unrestricted"))


def test_least_model_refuses_what_it_does_not_know() -> None:
    with pytest.raises(ProgramError, match="Repeat"):
        semantics.least_model(parse("d <- a ntimes 2."), stream("1 a"))


@pytest.mark.parametrize(
    ("pattern", "value", "bindings"),
    [
        ("f(X, X)", "f(1, 1)", {"X": 1}),
        ("f(X, X)", "f(1, 2)", None),
        ("f(X)", "f(1, 2)", None),
        ("X", "f(a)", {"X": Struct("f", ["a"])}),
        ("_", "f(a)", {}),
        ("[H | T]", "[1, 2]", {"H": 1, "T": (2,)}),
        ("[H | T]", "[]", None),
        ("[X, Y]", "[1, 2, 3]", None),
        ("[]", "[]", {}),
        ("1", "1.0", None),
        ("[H | T]", "[1 | x]", {"H": 1, "T": "x"}),
    ],
)
def test_terms_match_values(pattern: str, value: str, bindings: dict[str, Any] | None) -> None:
    assert match(parse_term(pattern), value_of(parse_term(value)), {}) == bindings


def test_an_unbound_variable_is_null() -> None:
    assert ground(parse_term("f([X | T], Y)"), {"X": 1, "T": (2,)}) == Struct("f", [(1, 2), "null"])
