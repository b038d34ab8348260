"""The table of goals: each line of goals.txt answers as it says."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest

from etalis.language.lower import load_clauses, to_logic
from etalis.language.read.parser import parse, parse_term
from etalis.logic.errors import LogicError
from etalis.logic.solver import Solver
from etalis.logic.terms.unify import deref, from_value
from etalis.logic.terms.write import format_term

TEXT = (Path(__file__).parent / "goals.txt").read_text().splitlines()
ROWS = [(i, *line.split(" ==> ")) for i, line in enumerate(TEXT, 1) if " ==> " in line]
KNOWLEDGE = parse("\n".join(TEXT[: ROWS[0][0] - 1]))


def answers(goal: str, most: int) -> list[str]:
    """Solve a goal and write its solutions as the table does."""
    solver = Solver(load_clauses(KNOWLEDGE))
    found = []
    try:
        for solution in islice(solver.solve(to_logic(parse_term(goal))), most):
            pairs = {n: format_term(from_value(v), priority=699) for n, v in solution.items() if not n.startswith("_")}
            found.append(", ".join(f"{name} = {text}" for name, text in pairs.items()) or "yes")
    except LogicError as error:
        found.append(error_text(error))
    return found or ["no"]


def error_text(error: LogicError) -> str:
    ball = error.term
    if ball[0] == "error" and isinstance(ball, tuple):
        ball = ("error", deref(ball[1]))
    return format_term(ball).replace("_1", "_")


def squeeze(answer: str) -> str:
    return answer.replace(" ", "")


@pytest.mark.parametrize(("line", "goal", "expected"), ROWS, ids=[f"{i}: {goal}" for i, goal, _ in ROWS])
def test_goal(line: int, goal: str, expected: str) -> None:
    wanted = [squeeze(answer) for answer in expected.split(" ; ")]
    most = len(wanted) if wanted[-1] == "..." else 100
    found = [squeeze(answer) for answer in answers(goal, most)]
    if wanted[-1] == "...":
        wanted, found = wanted[:-1], found[: len(wanted) - 1]
    assert found == wanted


def test_the_table_is_long_enough() -> None:
    assert len(ROWS) >= 300
