"""Arities, types, declarations and names that look alike: exact texts."""

from __future__ import annotations

import pytest

from etalis.language.check.checks import check
from etalis.language.syntax import Clause, Const, EventDeclaration, Tree
from helpers.findings import brief, finding


def test_arity_other_than_declared() -> None:
    assert finding(":- event(pay(card: string, sum: float)).\nd <- pay(C).") == (
        "test:2:6: error E201: pay is declared with 2 attributes, here it has 1\n"
        "    2 | d <- pay(C).\n"
        "             ^^^^^^\n"
        "  hint: write pay(Card, Sum), `_` for what does not matter, or by name: pay(card: X)"
    )


def test_two_arities_without_a_declaration() -> None:
    assert finding("d <- a(X) seq a(X, Y).") == (
        "test:1:15: warning W201: a/2 is not the same event as a/1, which is used elsewhere\n"
        "    1 | d <- a(X) seq a(X, Y).\n"
        "                      ^^^^^^^\n"
        "  hint: give both the same attributes (`_` for one that does not matter)"
    )


@pytest.mark.parametrize(
    ("declared", "written", "hint"),
    [
        ("int", "tom", None),
        ("int", "1.0", "write 1: an integer and a float are never equal"),
        ("int", "1.5", "no integer equals 1.5; declare the attribute float"),
        ("float", "5", "write 5.0: an integer and a float are never equal"),
        ("string", "5", 'write "5"'),
        ("bool", "yes", "write true or false"),
        ("time", "noon", "write seconds"),
        ("string", "f(x)", "declare the attribute term"),
        ("int", "[1]", "declare the attribute term"),
    ],
)
def test_constant_of_another_type(declared: str, written: str, hint: str | None) -> None:
    text = finding(f":- event(a(x: {declared})). d <- a({written}).")
    assert f"error E202: x of a/1 is declared {declared}, {written} is not\n" in text
    assert (f"hint: {hint}" in text) if hint else ("hint" not in text)


@pytest.mark.parametrize(
    ("declared", "written"),
    [
        ("int", "-1"),
        ("int", "null"),
        ("float", "2.5"),
        ("string", '"Basel"'),
        ("bool", "true"),
        ("time", "7"),
        ("term", "f([1])"),
    ],
)
def test_constant_of_its_type(declared: str, written: str) -> None:
    assert brief(f":- event(a(x: {declared})). d <- a({written}).") == []


def test_join_of_two_types() -> None:
    assert finding(":- event(a(x: int)). :- event(b(y: string)).\nd <- a(X) seq b(X).") == (
        "test:2:17: error E203: X can never be equal on both sides: int in a/1, string in b/1\n"
        "    2 | d <- a(X) seq b(X).\n"
        "                        ^\n"
        "  hint: use two variables, or correct a declaration"
    )


DECLARED = (
    ":- event(i(x: int)). :- event(f(x: float)). :- event(s(x: string)). :- event(t(x: time)). :- event(o(x: term)). "
)


@pytest.mark.parametrize(
    ("rule", "clash"),
    [
        ("d <- i(X) and f(X).", True),
        ("d <- i(X) or s(X).", False),
        ("d <- (i(X) or s(X)) seq s(X).", False),
        ("d <- (i(X) or f(X)) seq s(X).", True),
        ("d <- (i(X) and o(_)) cnot s(X).", True),
        ("d <- i(X) seq t(X).", False),
        ("d <- s(X) seq t(X).", True),
        ("d <- s(X) seq o(X).", False),
        ("s(X) <- i(X).", True),
        ("d <- i(X) seq aggregate(max(X), s(X), M).", False),
    ],
)
def test_where_types_meet(rule: str, clash: bool) -> None:
    assert [text[:4] for text in brief(DECLARED + rule)] == (["E203"] if clash else [])


def test_declarations() -> None:
    (found,) = check(Tree((EventDeclaration("a", (("x", "integer"),)), Clause(Const("p")))))
    assert str(found) == "error E224: unknown type integer of the attribute x\n  hint: did you mean int?"
    assert brief(":- event(a(x: int, x: int)). p.") == ["E225 a has two attributes named x"]
    assert brief(":- event(a(x: int)). :- event(a(x: float)). p.") == [
        "E225 a is declared twice, with different attributes"
    ]
    assert brief(":- event(a(x: int)). :- event(a(x: int)). p.") == []


def test_event_that_looks_misspelt() -> None:
    assert finding(":- event(withdrawal(x: int)).\nd <- withdrawl(X).") == (
        "test:2:6: warning W204: no rule derives withdrawl and no declaration names it, "
        "but withdrawal is almost the same name\n"
        "    2 | d <- withdrawl(X).\n"
        "             ^^^^^^^^^^^^\n"
        "  hint: did you mean withdrawal?"
    )


def test_of_two_inputs_the_rarer_one_looks_misspelt() -> None:
    found = brief("d <- deposit(X) seq deposit(Y). e <- depositt(X).")
    assert found == [
        "W204 no rule derives depositt and no declaration names it, but deposit also occurs and is almost the same name"
    ]


@pytest.mark.parametrize(
    "program",
    ["d <- e1 seq e2.", "d <- sensorA seq sensorB.", "d <- order seq orders.", "c <- a seq b.", "d <- in_x seq in_y."],
)
def test_names_in_series_are_no_slips(program: str) -> None:
    assert brief(program) == []
