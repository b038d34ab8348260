"""The first state, of the text or of a snapshot: it must be one that the program allows."""

from __future__ import annotations

from etalis.errors import EtalisError, Problem, ProgramError
from etalis.language.lower import to_logic
from etalis.language.printer import print_term
from etalis.language.rules import always
from etalis.language.syntax import Tree
from etalis.logic.solver import Solver


def refuse_illegal(program: Tree, solver: Solver) -> None:
    """Refuse a state in which one of the program's demands does not hold."""
    problems = []
    for item in always(program):
        text = f"what is known at first is no legal state: always {print_term(item.goal)}"
        try:
            holds = next(solver.solve(to_logic(item.goal)), None) is not None
        except EtalisError as error:
            holds, text = False, f"{text} raised {error.problems[0].message}"
        if not holds:
            problems.append(Problem("E516", text, item.span, "change the facts, or what the program demands of them"))
    if problems:
        raise ProgramError(*problems)
