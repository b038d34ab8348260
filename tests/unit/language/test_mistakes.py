"""Mistakes in meaning: the cases give just the warnings that they name, and large programs are checked quickly."""

from __future__ import annotations

from time import process_time

import pytest

from etalis.language.check.checks import check, check_text
from etalis.language.syntax import (
    Binary,
    Compound,
    Condition,
    Const,
    EventPattern,
    Negation,
    Pattern,
    Rule,
    Tree,
    Var,
    Within,
)
from helpers.cases import CASES, Case, read_cases

FILES = ("absences", "conditions", "growth", "in_vain", "never", "windows")
MEANING = {"W209", *(f"W{number}" for number in range(225, 240))}
ALL = [case for name in FILES for case in read_cases(CASES / "mistakes" / f"{name}.case", CASES)]


@pytest.mark.parametrize("case", ALL, ids=lambda case: case.id)
def test_no_more_and_no_fewer(case: Case) -> None:
    _, problems = check_text(case.program)
    codes = MEANING if case.id.startswith("mistakes/growth/") else MEANING - {"W209"}
    found = sorted(problem.code for problem in problems if problem.code in codes)
    assert found == sorted(code for line in case.warnings if (code := line.split()[0]) in codes)


@pytest.mark.parametrize("case", [case for case in ALL if case.warnings], ids=lambda case: case.id)
def test_every_warning_has_a_place_and_a_hint(case: Case) -> None:
    for problem in check_text(case.program)[1]:
        assert problem.span is not None
        assert problem.hint
        assert len(problem.message) < 160


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"e{i + 1}(X) <- (e{i}(X) seq a{i}(X)) within 5.\n" for i in range(3000)),
        "".join(f"e{i}(X) <- (e{i + 1}(X) seq a{i}(X)) within 5.\n" for i in range(3000)),
        "".join(f"s({i}, X) <- s({i + 1}, X) seq (not a within 5) within 9000.\n" for i in range(1000)),
    ],
    ids=["chain", "backwards", "cycle"],
)
def test_large_programs(text: str) -> None:
    began = process_time()
    check_text(text)
    assert process_time() - began < 20


@pytest.mark.parametrize("around", ["cnot", "seq", "where", "within"])
def test_deep_programs(around: str) -> None:
    event = EventPattern("a", (Var("X"),))
    pattern: Pattern = event
    for _ in range(600):
        match around:
            case "cnot":
                pattern = Negation("cnot", pattern, event)
            case "seq":
                pattern = Binary("seq", pattern, event)
            case "where":
                pattern = Condition("where", pattern, Compound(">", (Var("X"), Const(1))))
            case _:
                pattern = Within(pattern, 5)
    began = process_time()
    check(Tree((Rule(EventPattern("d", ()), pattern),)))
    assert process_time() - began < 20
