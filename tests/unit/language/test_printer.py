"""What is printed reads back as the same tree, with no bracket too many."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from etalis.language.parser import parse, parse_rule, parse_term
from etalis.language.printer import print_pattern, print_program, print_term, seconds
from etalis.language.syntax import Pattern, Program, Rule, EventPattern, Term
from unit.language import trees

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
@given(trees.programs)
def test_a_program_reads_back(program: Program) -> None:
    assert parse(print_program(program)) == program
