"""State, actions and labels of two files are apart, and attributes of reactions have names."""

from __future__ import annotations

import pytest

from etalis.errors import ProgramError
from etalis.language.check.checks import check_text
from etalis.language.printer import print_program
from etalis.language.read.modules import load
from etalis.language.skipping import skip_broken

SHOP = """
:- export sale/1, sell/1.
:- state stock/2 key 1.
trade rule: on order(I) if stock(I, N) do sell(I) seq raise(sale(I)) undo skip.
action sell(I) :- stock(I, N), M is N - 1, set(stock(I, M)), effect(ship(I)).
always \\+ (stock(_, N), N < 0).
constraint paid: order(I) requires paid(I) before.
on violated(paid, I) do (stock(I, _) subject_to never(del(stock(I, 1)))).
on undelivered(trade, _) do skip.
"""


def load_with_shop(text: str) -> str:
    files = {"shop.event": SHOP}
    return print_program(load(text, read=files.get))


def test_names_of_an_imported_file_are_its_own() -> None:
    found = load_with_shop(
        ":- import sale/1, sell/1 from shop.\n:- state stock/1.\non sale(X) do sell(X) seq ins(stock(X)).\n"
    )
    assert found.splitlines() == [
        ":- state 'shop:stock'/2 key 1.",
        "'shop:trade' rule: on 'shop:order'(I) if 'shop:stock'(I, N) do sell(I) seq raise(sale(I)) undo skip.",
        "action sell(I) :- 'shop:stock'(I, N) seq M is N - 1 seq set('shop:stock'(I, M)) seq effect(ship(I)).",
        "always \\+ ('shop:stock'(_, N), N < 0).",
        "constraint 'shop:paid': 'shop:order'(I) requires 'shop:paid'(I) before.",
        "on violated('shop:paid', I) do 'shop:stock'(I, _) subject_to never(del('shop:stock'(I, 1))).",
        "on undelivered('shop:trade', _) do skip.",
        ":- state stock/1.",
        "on sale(X) do sell(X) seq ins(stock(X)).",
    ]


def test_actions_and_state_can_be_exported() -> None:
    _, problems = check_text(SHOP)
    assert [problem.code for problem in problems if problem.is_error] == []


def test_attributes_of_reactions_have_names() -> None:
    program = load("""
        :- event(w(card: string, amount: float)).
        :- event(alert(card: string, why: string)).
        on w(amount: A, card: C) seq (big(X) <- x(size: X)) if A > 5 do raise(alert(why: big, card: C)) seq
           await(call(card: C) within 5) seq skip.
        constraint c: never w(card: C).
        """)
    assert print_program(program).splitlines()[-2:] == [
        "on w(C, A) seq (big(X) <- x(X)) if A > 5 do raise(alert(C, big)) seq await(call(C) within 5) seq skip.",
        "constraint c: never w(C, _).",
    ]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (":- event(w(card: string)). on w(crd: C) do raise(b(C)).", "no attribute crd"),
        (":- event(b(x: int, y: int)). on a(C) do raise(b(x: C)).", "lacks y"),
        ("on a(C) do raise(b(x: C)).", "raised by an action"),
    ],
)
def test_names_without_a_place_are_refused(text: str, says: str) -> None:
    with pytest.raises(ProgramError, match="E233") as refused:
        load(text)
    assert says in str(refused.value)


def test_broken_reactions_are_skipped() -> None:
    text = "d <- a.\nr rule: on a(X) do effect(f(Y)).\non b do skip.\naction p :- q seq assert(r).\n"
    sound = skip_broken(text, "program", read={}.get)
    assert print_program(sound.program) == "d <- a.\non b do skip.\n"
    assert [problem.code for problem in sound.skipped] == ["E276", "E277"]
    assert any("this reaction is left out" in problem.message for problem in sound.problems)
