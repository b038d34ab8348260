"""From syntax to the logic machine: terms, goals, and clauses with what wraps them."""

from __future__ import annotations

import pytest

from etalis.errors import ProgramError
from etalis.language.lower import load_clauses, to_logic, to_term
from etalis.language.read.parser import parse, parse_term
from etalis.logic.solver import Solver
from etalis.logic.terms.unify import Variable
from etalis.logic.terms.write import format_term


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("f(X, Y, X)", "f(_1,_2,_1)"),
        ("[a, 1, 2.0|T]", "[a,1,2.0|_1]"),
        ("[]", "[]"),
        ("'[]'", "'[]'"),
        ("{a}", "{a}"),
        ("\\+ (a, b)", "\\+ (a,b)"),
        ("- 1", "-(1)"),
        ("1 - -1", "1- -1"),
        ('"two words"', "'two words'"),
    ],
)
def test_terms(text: str, written: str) -> None:
    assert format_term(to_term(parse_term(text), {})) == written


def test_variables_are_shared_by_name() -> None:
    variables = {"X": Variable()}
    goal = to_logic(parse_term("p(X, Y)"), variables)
    assert goal.term == ("p", variables["X"], variables["Y"])
    assert list(goal.variables) == ["X", "Y"]


def test_wrapped_knowledge_is_loaded_in_its_written_order() -> None:
    text = "p(1). db(p(2)). static((p(X) :- X = 3)). prolog(p(4)). p(f(Y, [Y|_])) :- Y = 5."
    solver = Solver(load_clauses(parse(text)))
    found = [solution.get("X") for solution in solver.solve(to_logic(parse_term("p(X)")))]
    assert found == [1, 2, 3, 4, None]
    assert next(solver.solve(to_logic(parse_term("p(f(Z, [5, 6]))")))) == {"Z": 5}


def test_a_dynamic_predicate_is_empty_not_unknown() -> None:
    solver = Solver(load_clauses(parse(":- dynamic seen/1.")))
    assert list(solver.solve(to_logic(parse_term("seen(X)")))) == []


def test_all_clauses_that_cannot_be_loaded_are_reported_with_their_place() -> None:
    with pytest.raises(ProgramError) as caught:
        load_clauses(parse("ok(1).\natom_length(X, Y) :- X = Y.\np(X) :- 4.\n"))
    assert [problem.code for problem in caught.value.problems] == ["E507", "E503"]
    assert "<program>:2:1" in str(caught.value)
    assert "no permission to modify static procedure atom_length/2" in str(caught.value)
