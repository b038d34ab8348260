"""Checking text, and rules that come at run time."""

from __future__ import annotations

import pytest

import etalis
from etalis.errors import ProgramError
from etalis.language.check.checks import check_rules, check_text
from etalis.language.read.parser import parse_collect
from etalis.language.syntax import Rule


def codes(text: str) -> list[str]:
    return [problem.code for problem in check_text(text, read=lambda _: None)[1]]


def test_all_problems_come_at_once_in_order_of_place() -> None:
    text = (
        "d(Y) <- a(X). d <- a not b. :- set_flag(prolog_backend, swi). :- import x/0 from m. d <- (a seq b) within 0."
    )
    assert codes(text) == ["E204", "E110", "E206", "E220", "E212"]


def test_an_unread_clause_explains_what_is_missing() -> None:
    assert codes("r rule: d <- a not b. event_rule_property(r, window, 5). :- export d/0.") == ["E110"]
    assert codes("event_rule_property(r, window, 5).") == ["E217"]


def test_a_text_without_problems() -> None:
    program, problems = check_text("d(X) <- a(X).")
    assert len(program.items) == 1
    assert problems == []


def test_rules_at_run_time_are_checked_against_the_program() -> None:
    program, _ = parse_collect(
        ":- event(a(x: int)). r rule: c <- a(1). event_rule_property(r, window, 5). :- export c/0. print_trigger(c/0).",
        "program",
    )
    added, _ = parse_collect("d(Y) <- a(tom). e(X) <- a(X).", "added")
    rules = [item for item in added.items if isinstance(item, Rule)]
    assert [problem.code for problem in check_rules(program, rules[1:])] == []
    assert [problem.code for problem in check_rules(program, rules)] == ["E204", "E202"]


def test_deleting_a_rule_that_is_not_there() -> None:
    engine = etalis.compile("r1 rule: d(X) <- a(X).").engine()
    with pytest.raises(ProgramError, match="no rule r9 to delete") as caught:
        engine.delete_rule("r9")
    assert caught.value.code == "E230"


def test_registering_a_function_under_a_name_that_is_taken() -> None:
    with pytest.raises(ProgramError, match="is/2 is built in and cannot be registered") as caught:
        etalis.compile("d(X) <- a(X).", register={"is/2": lambda x: x})
    assert caught.value.code == "E231"
