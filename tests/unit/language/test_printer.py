"""What is printed reads back as the same tree, with no bracket too many."""

from __future__ import annotations

from hypothesis import given, settings

from etalis.language.printer import print_action, print_pattern, print_program, print_term
from etalis.language.read.parser import parse, parse_rule, parse_term
from etalis.language.syntax import Action, EventPattern, Item, Pattern, Reaction, Rule, Term, Tree
from helpers import trees

EXAMPLES = settings(max_examples=300, deadline=None, derandomize=True)


@EXAMPLES
@given(trees.terms)
def test_a_term_reads_back(term: Term) -> None:
    assert parse_term(print_term(term)) == term


@EXAMPLES
@given(trees.patterns)
def test_a_pattern_reads_back(pattern: Pattern) -> None:
    assert parse_rule(f"head <- {print_pattern(pattern)}.") == Rule(EventPattern("head", ()), pattern)


@EXAMPLES
@given(trees.actions)
def test_an_action_reads_back(action: Action) -> None:
    item = parse(f"on a do {print_action(action)}.").items[0]
    assert isinstance(item, Reaction)
    assert item.action == action


@EXAMPLES
@given(trees.reactive_items)
def test_a_clause_of_reactive_rules_reads_back(item: Item) -> None:
    assert parse(print_program(Tree((item,)))).items == (item,)


@EXAMPLES
@given(trees.programs)
def test_a_program_reads_back(program: Tree) -> None:
    assert parse(print_program(program)) == program


def test_what_is_deep_is_written() -> None:
    for text in ("f(" * 190 + "a" + ")" * 190, "1 + " * 190 + "1", "a, " * 190 + "a", "[" * 190 + "]" * 190):
        assert parse_term(print_term(parse_term(text))) == parse_term(text)
    for text in ("(" * 90 + "a" + " seq a)" * 90, "iso(" * 60 + "a" + ")" * 60, "a seq " * 190 + "a"):
        rule = parse_rule(f"d <- {text}")
        assert parse_rule(f"d <- {print_pattern(rule.pattern)}") == rule


def test_operators_of_the_program_are_obeyed() -> None:
    program = parse(":- op(700, xfx, near). :- op(0, xfx, is). p(X) :- X near y, is(X, 1).")
    assert print_program(program).splitlines()[2] == "p(X) :- X near y, is(X, 1)."
    assert parse(print_program(program)) == program
