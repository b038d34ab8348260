"""All problems of a program at once, each with code, place and hint (the codes stand in docs/errors.md).

`check` runs after parsing: it turns a syntax tree into findings, sorted by place. Errors refuse the program, warnings
let it run. The checks are one tuple of functions over an `Outline`; none depends on another having passed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from etalis.errors import Problem
from etalis.language.bounds import check_bounds
from etalis.language.knowledge import check_knowledge
from etalis.language.modules import Reader, read_file, resolve
from etalis.language.names import check_names
from etalis.language.outline import Outline
from etalis.language.recursion import check_recursion
from etalis.language.safety import check_safety
from etalis.language.shapes import check_shapes
from etalis.language.signatures import check_signatures
from etalis.language.syntax import Program

CHECKS: tuple[Callable[[Outline], Iterator[Problem]], ...] = (
    check_names,
    check_shapes,
    check_signatures,
    check_safety,
    check_knowledge,
    check_recursion,
    check_bounds,
)


def check(program: Program, *, read: Reader = read_file) -> list[Problem]:
    """Return all problems of a program, sorted by place; `read` supplies the files that it imports."""
    whole, problems = resolve(program, read)
    outline = Outline(whole)
    for inspect in CHECKS:
        problems.extend(inspect(outline))
    return sorted(dict.fromkeys(problems), key=_place)


def _place(problem: Problem) -> tuple[Any, ...]:
    if problem.span is None:
        return ("", 0, 0, problem.code, problem.message)
    return (problem.span.source.name, problem.span.start, problem.span.end, problem.code, problem.message)
