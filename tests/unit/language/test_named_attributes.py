"""Declarations as text, and the names of variables at the places of attributes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from etalis.language.attributes import TYPES, declaration_text
from etalis.language.read.parser import parse
from etalis.language.rules import attribute_variables
from etalis.language.syntax import EventDeclaration
from helpers import trees

attributes = st.lists(st.tuples(trees.atoms, st.sampled_from(TYPES)), max_size=3)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(trees.atoms, attributes)
def test_a_declaration_reads_back_whatever_its_names(name: str, attributes: list[tuple[str, str]]) -> None:
    assert parse(declaration_text(name, attributes)).items == (EventDeclaration(name, tuple(attributes)),)


@pytest.mark.parametrize(
    ("name", "attributes", "text"),
    [
        ("w", [("card", "string"), ("amount", "float")], ":- event(w(card: string, amount: float))."),
        ("My table", [("Card No", "int"), ("select", "any")], ":- event('My table'('Card No': int, select: any))."),
        ("tick", [], ":- event(tick)."),
    ],
)
def test_a_declaration_is_short(name: str, attributes: list[tuple[str, str]], text: str) -> None:
    assert declaration_text(name, attributes) == text


def test_variables_of_every_place_are_told() -> None:
    text = "two(Card) <- (w(Card, A) seq w(Card, _)) cnot v(f(Card), 1). d(C) <- w(C, A, x) or (s(Y) <- w(Y, Amount))."
    found = attribute_variables(parse(text))
    assert {kind: [sorted(names) for names in places] for kind, places in found.items()} == {
        ("w", 2): [["Card", "Y"], ["A", "Amount"]],
        ("v", 2): [[], []],
        ("w", 3): [["C"], ["A"], []],
        ("s", 1): [["Y"]],
    }
