"""Constraints as rules: what they stand for, where their parts come from, how they are printed again."""

from __future__ import annotations

import pytest

from etalis.language import syntax as s
from etalis.language.check.checks import check_text
from etalis.language.outer.strata import MOST_STAGES, find_stages
from etalis.language.printer import print_item
from etalis.language.read.parser import parse
from etalis.language.rules import coming_events, event_rules, known_events, labelled_rules, written_rules
from etalis.language.same_rule import is_same_rule
from etalis.language.traversal import postorder
from etalis.runtime.deadlines.timers import STAGE
from etalis.temporal.interval import EARLIEST, LATEST
from etalis.temporal.relation import relations

pytestmark = pytest.mark.fast

ALL = """
constraint one: never a(X) seq b(X).
constraint two: a(X) requires b(X) within 10.
constraint three: a(X) requires b(X) after within 10.
constraint four: a(X) requires b(X) before within 10.
constraint five: a(X) requires b(X) or d(X, ok) next.
e(X) <- a(X).
exceptionAlarm(late(X), 5) <- a(X).
"""


def rules(label: str) -> list[s.Rule]:
    return [rule for rule in labelled_rules(parse(ALL)) if rule.label == label]


def test_every_constraint_makes_violations_under_its_label() -> None:
    for label in ("one", "two", "three", "four", "five"):
        for rule in rules(label):
            assert rule.head == s.EventPattern("violated", (s.Const(label), s.Var("X")))
            assert rule.properties == (s.Property("policy", s.Const("unrestricted")),)


def test_the_rules_are_those_of_the_table() -> None:
    a, b = s.EventPattern("a", (s.Var("X"),)), s.EventPattern("b", (s.Var("X"),))
    ten = 10_000_000
    assert [rule.pattern for rule in rules("one")] == [s.Binary("seq", a, b)]
    assert [rule.pattern for rule in rules("two")] == [s.NotWithin(a, b, ten, before=ten)]
    assert [rule.pattern for rule in rules("three")] == [s.NotWithin(a, b, ten)]
    assert [rule.pattern for rule in rules("four")] == [s.Negation("fnot", a, b, window=ten)]


def test_what_comes_next_may_be_any_input_or_alarm() -> None:
    assert set(coming_events(parse(ALL))) == {("a", 1), ("b", 1), ("d", 2), ("late", 1)}
    others, *required = rules("five")
    followed = [{n.name for n in postorder(rule.pattern) if isinstance(n, s.EventPattern)} for rule in required]
    assert {n.name for n in postorder(others.pattern) if isinstance(n, s.EventPattern)} == {"a", "late"}
    assert followed == [{"a", "b"}, {"a", "d"}]


def test_no_rule_shares_a_node_with_another() -> None:
    several = [id(node) for rule in labelled_rules(parse(ALL)) for node in postorder(rule.pattern)]
    assert len(several) == len(set(several))


def test_sub_rules_of_a_constraint_are_there_once() -> None:
    tree = parse("constraint c: (p(X) <- a(X) seq b(X)) requires d(X) or e(X) next.")
    assert [rule.head.name for rule in event_rules(tree)] == ["violated", "violated", "violated", "p"]
    assert ("p", 1) in known_events(tree)
    assert ("p", 1) not in coming_events(tree)


def test_every_rule_knows_its_clause() -> None:
    tree = parse(ALL)
    assert [type(clause).__name__ for clause, _ in written_rules(tree)] == ["Constraint"] * 7 + ["Rule"] * 2


def test_places_are_those_of_the_text() -> None:
    (rule,) = labelled_rules(parse("constraint c: a(_, Y) seq b(Y) requires d(Y) within 5."))
    assert rule.span is not None
    assert rule.span.source.text[rule.span.start : rule.span.end].startswith("constraint c")
    (_, value) = rule.head.args
    assert value.span is not None
    assert value.span.start == len("constraint c: a(_, ")


@pytest.mark.parametrize("label", ["two", "four"])
def test_a_rule_that_no_rule_says_is_printed_as_its_constraint(label: str) -> None:
    (rule,) = rules(label)
    (constraint,) = parse(print_item(rule)).items
    assert constraint in parse(ALL).items


def test_a_rule_that_looks_back_is_not_the_one_that_does_not() -> None:
    (around,) = rules("two")
    (after,) = rules("three")
    assert not is_same_rule(around, after)
    assert is_same_rule(around, around)


# what is judged together


def chain(count: int) -> str:
    """Return constraints of which each requires the violation of the one before."""
    first = "constraint c0: a requires b within 5. "
    return first + "".join(f"constraint c{i}: a requires violated(c{i - 1}) within 5. " for i in range(1, count))


def test_a_chain_of_constraints_has_a_stage_for_each() -> None:
    several = event_rules(parse(chain(4)))
    stages, _ = find_stages(several, relations("strict"))
    assert [stages[id(rule.pattern)] for rule in several] == [1, 3, 5, 7]


def test_what_waits_for_a_violation_comes_behind_it() -> None:
    text = "constraint c: a requires b within 5. d <- e seq (not violated(c) within 9). f <- e seq (not d within 9)."
    several = event_rules(parse(text))
    stages, _ = find_stages(several, relations("strict"))
    assert [stages[id(rule.pattern)] for rule in several] == [1, 2, 2]


def test_more_stages_than_there_are_numbers_for_are_refused() -> None:
    assert [p.code for p in check_text(chain(MOST_STAGES // 2))[1] if p.is_error] == []
    errors = [problem for problem in check_text(chain(MOST_STAGES // 2 + 1))[1] if problem.is_error]
    assert [problem.code for problem in errors] == ["E243"]
    assert "over 7 constraints" in errors[0].message


def test_a_moment_of_the_last_stage_has_64_bits() -> None:
    assert STAGE > LATEST - EARLIEST
    assert abs(EARLIEST) + abs(LATEST) + MOST_STAGES * STAGE < 1 << 63


# what is warned of


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("constraint c: never a(X). constraint d: never b(X, Y).", []),
        ("constraint c: never a(X). constraint d: violated(c, X) requires b(X) within 5.", []),
        ("constraint c: never a(X). x <- violated(_, _) or violated(c, _).", []),
        ("constraint c: a(X) requires b(X) before within 5.", []),
        ("constraint c: a(X) requires b(X) before.", ["W209"]),
        ("constraint c: never a(X). x <- violated(c).", ["W270"]),
        ("constraint c: never a(X). x <- violated(_, _, _).", ["W270"]),
        ("constraint promised: never a(_). x <- violated(promise).", ["W228"]),
        ("constraint c: a(X) requires b(X) within 5. a(X) <- violated(c, X).", ["W208", "W227"]),
    ],
)
def test_warnings(text: str, codes: list[str]) -> None:
    assert [problem.code for problem in check_text(text)[1]] == codes


def test_warnings_speak_of_the_constraint() -> None:
    def message(text: str) -> str:
        return "; ".join(problem.message for problem in check_text(text)[1])

    assert message("constraint c: a requires b(_) before.") == ""
    assert message("constraint c: a(X) requires b(X) before.").startswith("the state of the constraint c has no bound")
    assert "Y is bound in some alternatives only" in message("constraint c: never a(X) or b(X, Y).")
    cycle = ":- event(a). constraint c: a requires b within 5. a <- violated(c)."
    assert "the violation of c and a/0 cause each other" in message(cycle)
