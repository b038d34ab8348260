"""The types that generated code may rely on, of variables in an engine."""

from __future__ import annotations

import pytest

import etalis
from etalis.plan import algebra as p

pytestmark = pytest.mark.fast
DECLARED = ":- event(w(card: string, amount: float, n: int)). :- event(d(x: int)). :- event(o(x: any, t: time)).\n"


def types(text: str, *inserted: str) -> dict[str, str]:
    engine = etalis.compile(DECLARED + text).engine()
    for rule in inserted:
        engine.insert_rule(rule)
    rules = engine.core.rules
    last = [entry for entry in rules.wiring.entries if not isinstance(entry.node, p.Source)][-1]
    return dict(rules.compiler.base.types(last))


def test_pushed_attributes_have_their_declared_types() -> None:
    assert types("r(C) <- w(C, A, N) seq o(X, T).") == {
        "C": "string",
        "A": "float",
        "N": "int",
        "X": "term",
        "T": "time",
    }


def test_a_kind_that_is_not_declared_may_hold_anything() -> None:
    assert types("r(X) <- a(X, Y) seq b(Y).") == {"X": "term", "Y": "term"}


def test_what_rules_make_is_not_converted_to_what_is_declared() -> None:
    assert types("d(X) <- u(X). r(X) <- d(X) seq d(_).")["X"] == "term"
    assert types("d(X) <- w(_, _, X). r(X) <- d(X) seq d(_).")["X"] == "int"


def test_an_undeclared_kind_may_also_be_pushed() -> None:
    assert types("m(X) <- w(_, _, X). r(X) <- m(X) seq m(_).")["X"] == "term"


def test_conditions_give_types_to_what_they_compute_and_none_to_what_knowledge_may_say() -> None:
    found = types("r(T) <- (w(C, A, N) seq w(C, B, M)) where (T is A + B, K is N - M, limit(C, L)). limit(c, 5).")
    assert (found["T"], found["K"], found["L"]) == ("float", "int", "term")


def test_a_rule_that_comes_later_widens_what_it_makes() -> None:
    assert types("r(X) <- d(X) seq d(_).")["X"] == "int"
    assert types("r(X) <- d(X) seq d(_).", "d(X) <- u(X).", "q(X) <- d(X) seq d(_).")["X"] == "term"
