"""Registered effects: their arity, and what cannot be one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import etalis
from etalis.errors import ProgramError
from etalis.reactive.effects.registry import registry_of


def program() -> etalis.Program:
    return etalis.compile("d(X) <- a(X).", name="shop")


def pay(client: str, amount: float = 0.0, *, key: str) -> None: ...


def keyless(client: str) -> None: ...


def anything(*args: Any, **named: Any) -> None: ...


def test_the_arity_is_that_of_the_function_or_given() -> None:
    shop = program()
    shop.effect("pay", pay, retries=0)
    shop.effect("pay", pay, arity=2, compensate=anything)
    shop.effect("log", anything)
    found = shop.effects.find("pay", 1)
    assert found is not None
    assert (found.retries, found.compensate, shop.effects.arities("pay")) == (0, None, [1, 2])
    assert shop.effects.find("pay", 3) is None
    assert shop.effects.find("log", 7) is shop.effects.find("log", 0)
    assert len(shop.effects) == len(list(shop.effects)) == 3


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"name": 5, "function": pay}, "5 is not the name of an effect"),
        ({"name": "pay", "function": "pay"}, "pay needs a function, not 'pay'"),
        ({"name": "pay", "function": keyless}, "pay takes no key"),
        ({"name": "pay", "function": pay, "arity": 3}, "pay cannot be called with 3 arguments: it takes 1 to 2"),
        ({"name": "pay", "function": pay, "retries": -1}, "pay cannot be tried again -1 times"),
        ({"name": "pay", "function": pay, "compensate": keyless}, "the compensation of pay takes no key"),
        ({"name": "pay", "function": pay, "arity": 2, "compensate": lambda key: None}, "it takes 0"),
        ({"name": "pay", "function": type}, "the parameters of pay are not known"),
    ],
)
def test_what_cannot_be_an_effect_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ProgramError, match="E801") as raised:
        program().effect(**given)
    assert message in str(raised.value)


def test_a_registry_is_a_program_or_functions_by_name() -> None:
    shop = program()
    shop.effect("pay", pay)
    functions: dict[str, Callable[..., Any]] = {"pay": pay}
    assert registry_of(shop).arities("pay") == registry_of(functions).arities("pay") == [1]
    assert registry_of(shop.effects) is shop.effects


def test_a_program_is_known_by_its_name_not_by_where_it_lies(tmp_path: Any) -> None:
    (tmp_path / "shop.etalis").write_text("d(X) <- a(X).")
    assert etalis.compile_file(tmp_path / "shop.etalis").name == "shop.etalis"
    assert program().name == "shop"
