"""What goals bind, told from facts and rules: the types of their columns and bodies, `term` where that is not one."""

from __future__ import annotations

import pytest

import etalis
from etalis.language.check.goals import TIMES
from etalis.logic.builtins.table import CODES
from etalis.plan import answers as a
from etalis.plan.answers import Answers
from etalis.plan.rules import plan_rules
from etalis.plan.types import infer_types

pytestmark = pytest.mark.fast

KNOWLEDGE = """
price(pen, 2). price(ink, 7).
rate(pen, 0.5). rate(ink, 1.0).
mixed(pen, 2). mixed(ink, low).
number(pen, 2). number(ink, 2.5).
large(pen, 9223372036854775808).
gap(pen, null). gap(ink, 3).
empty(pen, null).
shape(pen, box(2)). shape(ink, box(3)).
open(pen, _). open(ink, 3).
:- dynamic missing/2.
gross(S, G) :- price(S, P), G is P * 2.
net(S, N) :- price(S, P), rate(S, R), N is P * R.
twice(X, Y) :- Y is X * 2.
same(X, X).
known(S, P) :- price(S, P), !.
known(_, 0).
known2(S, P) :- price(S, P) -> true ; P = none.
inner(S, N) :- shape(S, box(N)).
count(0, z). count(N, X) :- N > 0, M is N - 1, count(M, X).
even(0, 1). even(N, R) :- N > 0, M is N - 1, odd(M, R).
odd(N, R) :- N > 0, M is N - 1, even(M, R).
loop(X, Y) :- loop(X, Y).
negated(S, 1) :- \\+ price(S, _).
tried(S, P) :- catch(price(S, P), _, P = 0).
quiet(S, P) :- ignore(price(S, P)).
called(S, P) :- call(price(S, P)), once(rate(S, _)).
applied(S, P) :- G = price, call(G, S, P).
listed(S, L) :- findall(P, price(S, P), L).
counted(S, N) :- aggregate_all(count, price(S, _), N).
summed(S, N) :- aggregate_all(sum(P), price(S, P), N).
largest(_, N) :- aggregate_all(max(R), rate(_, R), N).
chosen(_, X) :- member(X, [1, 2]).
paired(S, X) :- member(S-X, [pen-1.5, ink-2.5]).
nobody(_, X) :- member(X, []).
named(S, T) :- atom_concat(S, s, T).
long(S, N) :- atom_length(S, N).
by_kind(S, 1) :- S = pen.
by_kind(7, x).
"""
TYPES = {
    "price": "int", "rate": "float", "mixed": "term", "number": "term", "large": "term", "gap": "int", "empty": "term",
    "shape": "term", "open": "term", "missing": "term", "gross": "int", "net": "float", "twice": "term",
    "same": "string", "known": "int", "known2": "term", "inner": "term", "count": "string", "even": "int",
    "loop": "term", "negated": "int", "tried": "int", "quiet": "term", "called": "int", "applied": "term",
    "listed": "term", "counted": "int", "summed": "int", "largest": "float", "chosen": "int", "paired": "float",
    "nobody": "term", "named": "string", "long": "int", "by_kind": "int",
}  # fmt: skip


def type_of(goal: str, received: str = "string") -> str:
    program = etalis.compile(f"{KNOWLEDGE} d(Y) <- a(X) where ({goal}).")
    heads = plan_rules(program.compiled.rules, program.compiled.settings)
    found = infer_types(heads, {("a", 1): (received,)}, {}, Answers(program.compiled.knowledge.database()))
    return found["d", 1][0]


@pytest.mark.parametrize(("name", "expected"), TYPES.items(), ids=TYPES)
def test_what_a_predicate_binds(name: str, expected: str) -> None:
    assert type_of(f"{name}(X, Y)") == expected


@pytest.mark.parametrize(
    ("goal", "received", "expected"),
    [
        ("twice(X, Y)", "int", "int"),
        ("twice(X, Y)", "float", "float"),
        ("even(X, Y)", "int", "int"),
        ("by_kind(X, Y)", "int", "string"),
        ("price(_, P), Y is P + X", "float", "float"),
        ("price(X, _), Y = X", "term", "string"),
        ("price(X, P), (P > 3 -> Y = P ; rate(X, Y))", "string", "term"),
        ("unheard_of(X, Y)", "string", "term"),
        ("price(P, Y), P = X", "string", "int"),
        ("X = Y", "bool", "bool"),
        ("atom_concat(_, _, 12), Y = 5", "int", "int"),
        ("sub_atom(a12, _, _, _, 12), Y = 5", "int", "int"),
        ("sub_atom(X, 0, 1, _, Y)", "string", "term"),
        ("atomic_list_concat([X, 1], -, Y)", "int", "string"),
        ("sparql(ucase(X), Y)", "string", "string"),
        ("sparql(strlen(X), Y)", "string", "int"),
        ("sparql('>'(X, 1), Y)", "term", "string"),
        ("sparql('-'('*'(X, 2), abs(1)), Y)", "int", "int"),
        ("sparql('+'(X, 1), Y)", "float", "term"),
        ("sparql('/'(X, 2), Y)", "int", "term"),
        ("sparql(X, Y)", "int", "int"),
        ("sparql(Z, Y)", "int", "term"),
        ("sparql(strlen(X), Y), Y = X", "string", "string"),
        ("Y = a, sparql(strlen(X), Y)", "string", "string"),
        ("sparql(strlen(X), Y), price(_, Y)", "string", "int"),
        ("sparql(strlen(X), Y), rate(_, Y)", "string", "float"),
    ],
)
def test_what_a_goal_binds(goal: str, received: str, expected: str) -> None:
    assert type_of(goal, received) == expected


def test_what_facts_bind_is_sure() -> None:
    program = etalis.compile(f"{KNOWLEDGE} d(X) <- (a(X) where price(X, Y)) seq (b(X) where open(X, Z)) where Y = Z.")
    body = plan_rules(program.compiled.rules, program.compiled.settings)[0].body
    types = infer_types((), {}, {}, Answers(program.compiled.knowledge.database()))
    assert {"X", "Y"} <= types.sure(body)
    assert "Z" not in types.sure_by_test(body)[0]


@pytest.mark.parametrize(
    ("goal", "is_sure"),
    [
        ("findall(P, price(X, P), Y)", True),
        ("findall(P-Z, price(X, P), Y)", False),
        ("findall(Z, open(X, Z), Y)", False),
        ("findall(P, price(X, P), L), sort(L, M), nth1(1, M, Y)", True),
        ("length(Y, 2)", False),
        ("atom_chars(X, Y)", True),
        ("append([1], [X], Y)", True),
        ("append([1], _, Y)", False),
        ("functor(Y, f, 2)", False),
        ("copy_term(_, Y)", False),
        ("sparql(str(X), Y)", False),
    ],
)
def test_what_a_goal_is_sure_to_bind(goal: str, is_sure: bool) -> None:
    program = etalis.compile(f"{KNOWLEDGE} d(Y) <- a(X) where ({goal}).")
    body = plan_rules(program.compiled.rules, program.compiled.settings)[0].body
    types = infer_types((), {("a", 1): ("string",)}, {}, Answers(program.compiled.knowledge.database()))
    assert ("Y" in types.sure(body)) == is_sure


def test_a_function_of_the_host_may_return_anything() -> None:
    program = etalis.compile("d(Y) <- a(X) where f(X, Y).", register={"f/2": lambda x: x})
    heads = plan_rules(program.compiled.rules, program.compiled.settings)
    found = infer_types(heads, {("a", 1): ("int",)}, {}, Answers(program.compiled.knowledge.database()))
    assert found["d", 1] == ("term",)
    program = etalis.compile("d(Y) <- a(X) where length(X, Y).", register={"length/2": lambda x: x})
    heads = plan_rules(program.compiled.rules, program.compiled.settings)
    found = infer_types(heads, {("a", 1): ("string",)}, {}, Answers(program.compiled.knowledge.database()))
    assert found["d", 1] == ("term",)


def test_too_many_questions_are_not_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(a, "_MOST", 1)
    assert type_of("price(X, Y)") == "int"
    assert type_of("gross(X, Y)") == "term"


def test_what_is_told_of_built_in_predicates_is_told_of_some() -> None:
    assert a._BUILT_IN.keys() - TIMES <= CODES.keys()
