"""Terms as values, and their variables."""

from __future__ import annotations

import pytest

from etalis.data.values import Struct
from etalis.language.ground_terms import ground, variables
from etalis.language.read.parser import parse_rule, parse_term


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a", "a"),
        ("f(1, [x])", Struct("f", (1, ("x",)))),
        ("[]", ()),
        ("[a, b | c]", Struct("[|]", ("a", Struct("[|]", ("b", "c"))))),
        ("f(X)", None),
        ("[a | T]", None),
    ],
)
def test_ground(text: str, value: object) -> None:
    assert ground(parse_term(text)) == value


def test_variables_come_once_and_in_order() -> None:
    assert variables(parse_term("f(Y, [X, Y | T], _)")) == ("Y", "X", "T", "_#1")
    assert variables(parse_rule("d(Z) <- a(X) seq b(Y) where p(Y, W)").pattern) == ("X", "Y", "W")
    assert variables(parse_rule("d(Z) <- a(X)")) == ("Z", "X")
