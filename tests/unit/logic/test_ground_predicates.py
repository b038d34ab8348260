"""Predicates over values answer as the solver does, or leave the answer to it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from etalis.data.values import Struct, real
from etalis.language.lower import new_database, to_logic
from etalis.language.read.parser import parse_term
from etalis.logic.builtins.table import CODES
from etalis.logic.inline.ground.modes import Mode
from etalis.logic.inline.ground.predicates import PREDICATES
from etalis.logic.machine.fact_lookup import Goal
from etalis.logic.solver import Solver
from etalis.logic.terms.unify import Variable
from helpers.compiled_goals import DECLINED, GoalRun
from helpers.examples import by_day

SOLVER = Solver(new_database())
ROWS = [(key, mode) for key, modes in PREDICATES.items() for mode in modes]

ATOMS = st.sampled_from(
    [
        "null",
        "a",
        "abc",
        "",
        "é",
        "ẞtraße",
        "a-b",
        "12",
        " 7",
        "1.5",
        "0x1F",
        "pi",
        "inf",
        "[]",
        "@<",
        "@>=",
        "@=<",
        "-",
    ]
)
NUMBERS = st.one_of(
    st.integers(-2, 5), st.sampled_from([1 << 70, -(1 << 5000)]), st.sampled_from([0.5, 1.0, -1.5, 1e300]).map(real)
)
ATOMIC = st.one_of(ATOMS, NUMBERS, st.just(()))
VALUES = st.recursive(
    ATOMIC,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4).map(tuple),
        st.lists(NUMBERS, max_size=4).map(tuple),
        st.lists(ATOMS, max_size=4).map(tuple),
        st.lists(st.tuples(inner, inner).map(lambda pair: Struct("-", pair)), max_size=3).map(tuple),
        st.lists(inner, min_size=1, max_size=2).map(lambda args: Struct("f", args)),
        st.tuples(inner, ATOMS).map(lambda args: Struct("[|]", args)),
    ),
    max_leaves=6,
)


@st.composite
def calls(draw: st.DrawFn, key: tuple[str, int], mode: Mode) -> tuple[GoalRun, list[Any]]:
    """Draw a call of a predicate in one of its modes, with values for its variables."""
    variables = {f"V{i}": Variable() for i in range(key[1])}
    names = [f"V{i}" for i in mode.inputs]
    args: list[Any] = [variables[f"V{i}"] for i in range(key[1])]
    outputs: list[str] = []
    if mode.result is not None:
        outputs = [f"V{mode.result}"]
        takes = draw(st.sampled_from(["variable", mode.takes]))
        if takes == "open":
            first = variables[outputs[0]]
            args[mode.result] = draw(st.sampled_from([("[|]", first, Variable()), ("f", first)]))
        elif takes == "anything":
            names.append(outputs.pop())
    goal = Goal((key[0], *args), variables)
    values = [draw(VALUES) for _ in names]
    kinds = {name: draw(st.sampled_from(["term", _type_of(x)])) for name, x in zip(names, values, strict=True)}
    return GoalRun(SOLVER, goal, kinds, outputs), values


def _type_of(value: Any) -> str:
    return "string" if isinstance(value, str) else "int" if isinstance(value, int) else "term"


@pytest.mark.property
@pytest.mark.parametrize(("key", "mode"), ROWS, ids=[f"{key[0]}/{key[1]}/{len(mode.inputs)}" for key, mode in ROWS])
@by_day(20)
@given(st.data())
def test_a_row_agrees_with_the_solver(key: tuple[str, int], mode: Mode, data: st.DataObject) -> None:
    run, values = data.draw(calls(key, mode))
    if run.run is not None:
        found = run.found(values)
        assert found in (DECLINED, run.expected(values))


ANSWERED = """
length([a, b], N)            N = 2
atom_length(abc, N)          N = 3
sort(0, @>=, [1, 3, 2], [A, B|_])   A = 3
sort([c, a, b, a], L)        L = [a, b, c]
msort([b, 1, a], [X|_])      X = 1
nth0(1, [a, b], X)           X = b
nth1(1, [a, b], X)           X = a
sum_list([1, 2.5], X)        X = 3.5
max_list([1, 3, 2], X)       X = 3
atom_concat(ab, X, abc)      X = c
sub_atom(abcd, 1, 2, _, X)   X = bc
upcase_atom(abc, X)          X = 'ABC'
atom_number('12', X)         X = 12
split_string("a,b", ",", "", [_, X])   X = b
atomic_list_concat([X|_], '-', 'a-b')  X = a
atomic_list_concat([a, 1, b], X)       X = a1b
last([1, 2], X)              X = 2
reverse([1, 2], [X|_])       X = 2
"""


@pytest.mark.parametrize("line", ANSWERED.strip().splitlines())
def test_answers_without_the_solver(line: str) -> None:
    text, _, expected = line.rpartition("  ")
    goal = to_logic(parse_term(f"Given = 1, {text.strip()}"))
    name, _, value = expected.strip().partition(" = ")
    run = GoalRun(SOLVER, goal, {"Given": "int"}, [name])
    assert run.run is not None
    found = run.found([1])
    assert found == run.expected([1]) == SOLVER.prepare(to_logic(parse_term(f"{name} = {value}")), (), (name,))()


def test_every_predicate_of_the_table_exists() -> None:
    assert [key for key in PREDICATES if key not in CODES and not SOLVER.database.provides(*key)] == []
