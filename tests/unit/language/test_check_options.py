"""Flags, properties, labels, triggers, exports and reserved heads: exact texts."""

from __future__ import annotations

import pytest

from etalis.errors import ProgramError
from etalis.language.flags import FLAGS, REFUSED, Settings, rule_settings, settings
from etalis.language.read.parser import parse_collect
from etalis.language.rules import event_rules
from etalis.semantics.steps import least_model
from etalis.temporal.event import Event
from etalis.temporal.policy import POLICIES
from helpers.findings import brief, finding


def test_unknown_flag() -> None:
    assert finding(":- set_flag(event_consumtion_policy, recent).") == (
        "test:1:1: error E205: unknown flag event_consumtion_policy\n"
        "    1 | :- set_flag(event_consumtion_policy, recent).\n"
        "        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        "  hint: did you mean event_consumption_policy?"
    )


@pytest.mark.parametrize("name", REFUSED)
def test_refused_flags_say_what_to_use_instead(name: str) -> None:
    text = finding(f":- set_flag({name}, on).")
    assert f"error E206: the flag {name} means nothing here\n" in text
    assert f"hint: {REFUSED[name]}" in text


def test_the_least_model_says_for_what_it_is_not_defined() -> None:
    program, _ = parse_collect("d(R) <- a seq aggregate(count, b, R).")
    with pytest.raises(ProgramError, match="E207: the least model is not defined here for Aggregate"):
        least_model(program, [Event("a", at=1)])


@pytest.mark.parametrize(
    ("flag", "message"),
    [
        ("logging, yes", "the flag logging takes on or off, not yes"),
        ("max_derivations, 0", "the flag max_derivations takes a positive integer, not 0"),
        (
            "garbage_window, soon",
            "the flag garbage_window takes a positive duration (90, 10 min), or -1 for none, not soon",
        ),
        ("garbage_control, general", "garbage_control(general) needs a garbage_window"),
        ("interval_relations, loose", "the flag interval_relations takes strict or weak, not loose"),
    ],
)
def test_values_that_a_flag_does_not_take(flag: str, message: str) -> None:
    assert brief(f":- set_flag({flag}).") == [f"E208 {message}"]


def test_every_default_is_accepted() -> None:
    for name, row in FLAGS.items():
        assert brief(f":- set_flag({name}, {row.default}).") == []


@pytest.mark.parametrize("policy", POLICIES)
def test_every_policy_is_accepted(policy: str) -> None:
    assert brief(f":- set_flag(event_consumption_policy, {policy}).") == []


def test_unknown_policy() -> None:
    assert finding(":- set_flag(event_consumption_policy, chronologic).") == (
        "test:1:39: error E211: unknown policy chronologic\n"
        "    1 | :- set_flag(event_consumption_policy, chronologic).\n"
        "                                              ^^^^^^^^^^^\n"
        "  hint: did you mean chronological?"
    )
    assert brief("r([property(policy, first)]) rule: d <- a.") == ["E211 unknown policy first"]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("windov, 5", "E209 unknown property windov"),
        ("window, long", "E210 the property window takes a duration, not long"),
        ("event_rule_window, -1", "E212 a window cannot be negative: -1"),
        ("ooo_window, soon", "E210 the property ooo_window takes a duration, not soon"),
    ],
)
def test_properties(given: str, expected: str) -> None:
    assert brief(f"r([property({given})]) rule: d <- a.") == [expected]
    assert brief(f"r rule: d <- a. event_rule_property(r, {given}).") == [expected]


def test_property_for_no_rule() -> None:
    assert brief("r1 rule: d <- a. event_rule_property(r2, window, 5).") == ["E217 no rule has the label r2"]


def test_values_given_twice() -> None:
    assert brief(":- set_flag(logging, on). :- set_flag(logging, off).") == [
        "W212 the flag logging was on; the last value given holds"
    ]
    assert brief("r([property(window, 5)]) rule: d <- a. event_rule_property(r, window, 6).") == [
        "W212 r has two values for window; the smallest holds"
    ]
    assert brief("r([property(window, 5)]) rule: d <- a. r rule: e <- a. event_rule_property(r, window, 5).") == []


def test_triggers() -> None:
    assert brief("print_trigger(5).") == ["E228 print_trigger cannot report 5"]
    assert brief("print_trigger(e/3). d <- a.") == [
        "W211 print_trigger names e/3, which no rule or declaration mentions"
    ]
    assert "hint: d has 0 attributes: write d/0" in finding("print_trigger(d/2). d <- a.")
    for fine in ("d/0", "all_events", "all_defined_events", "d", "_/1", "_"):
        assert brief(f"print_trigger({fine}). d <- a(X).") == []
    for received in ("a/1", "a(1)"):
        assert brief(f"print_trigger({received}). d <- a(X).") == [
            "W237 print_trigger reports nothing: a/1 is received, and only derived events are reported"
        ]


def test_export_of_nothing() -> None:
    assert brief(":- export d/1. c <- a.") == ["E227 d/1 is exported, but the file has no such event or predicate"]
    assert brief(":- export c/0, p/1. c <- a. p(1).") == []


def test_reserved_heads() -> None:
    assert brief("seq(X) <- a(X).") == ["E218 seq is a word of the language and cannot be an event"]


def program(text: str):
    tree, problems = parse_collect(text, "test")
    assert problems == []
    return tree


def test_settings() -> None:
    text = ":- set_flag(rule_sharing, off). :- set_flag(garbage_control, general). :- set_flag(garbage_window, 0.5)."
    assert settings(program(text)) == Settings(sharing=False, garbage_window=500_000)
    assert settings(program(""), {"event_consumption_policy": "continuous"}).policy == "continuous"
    with pytest.raises(ProgramError, match="unknown policy oldest"):
        settings(program(""), {"event_consumption_policy": "oldest"})


def test_settings_of_a_rule() -> None:
    text = """
      r([property(policy, chronological), property(window, 5)]) rule: d <- a seq b.
      event_rule_property(r, event_rule_window, 1.5).
      e <- a seq b.
    """
    tree = program(text)
    assert [rule_settings(settings(tree), rule) for rule in event_rules(tree)] == [
        ("chronological", 1_500_000),
        ("recent", None),
    ]


def test_a_history_without_an_end_is_told() -> None:
    assert brief(":- set_flag(revision_flag, on).") == [
        "W214 any event can be retracted at any time, so all events are kept"
    ]
    assert brief(":- set_flag(revision_flag, on). :- set_flag(revision_window, 60).") == []


def test_explanations_without_an_end_are_told() -> None:
    on, bounded = ":- set_flag(etalis_justification, on).", ":- set_flag(justification_horizon, 60)."
    assert brief(f"{on} c <- a.") == ["W240 any event can be explained at any time, so all events are kept"]
    assert brief(f"{on} {bounded} c <- a.") == []
    holds = "W240 an explanation of n/1 holds on to all inputs that it came from:"
    closure = "n(X) <- a(X). n(X) <- (n(X) seq b) {}."
    assert f"{holds} recursion without a window" in brief(f"{on} {bounded} {closure.format('')}")
    assert brief(f"{on} {bounded} {closure.format('within 5')}") == []
    opened = "n(R) <- (o seq aggregate(count, p, R)) {}."
    assert f"{holds} an aggregate since an opener without a window" in brief(f"{on} {bounded} {opened.format('')}")
    assert brief(f"{on} {bounded} {opened.format('within 5')}") == []
    assert not any(problem.startswith("W240") for problem in brief(f"{closure.format('')} {opened.format('')}"))
