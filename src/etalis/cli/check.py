"""`etalis check` and `etalis explain`: what is wrong with a program, and how it is run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from etalis.cli.common import (
    Encoding,
    MatchDisplay,
    Policy,
    ProgramFile,
    count,
    load,
    read_program,
    reporting,
    write_text,
)
from etalis.cli.exit_codes import ExitCode
from etalis.cli.knowledge import NOTHING, KnowledgeOptions, is_query, with_knowledge
from etalis.cli.queries import query_problems, standard_form
from etalis.epsparql.syntax import Unit as Queries
from etalis.errors import Problem, ProgramError
from etalis.language.printer import print_program
from etalis.pictures.picture import Picture


@with_knowledge
def check(
    programs: Annotated[
        list[Path],
        typer.Argument(help="Files of event rules, or of queries: .rq, .epsparql.", exists=True, dir_okay=False),
    ],
    *,
    output: Annotated[MatchDisplay, typer.Option(help="text, or json: one object per problem.")] = MatchDisplay.TEXT,
    strict: Annotated[bool, typer.Option("--strict", help="Count warnings as problems.")] = False,
    standard: Annotated[bool, typer.Option("--standard", help="Print queries in the standard form.")] = False,
    encoding: Encoding = None,
    knowledge: KnowledgeOptions = NOTHING,
) -> None:
    """Report every problem of a program: code, place, hint."""
    with reporting():
        problems: list[tuple[Path, Problem]] = []
        for path in programs:
            unit, found = _find_in(path, knowledge, encoding)
            problems += [(path, problem) for problem in found]
            if standard and unit is not None and not any(problem.is_error for problem in found):
                print(standard_form(unit, knowledge.vocabulary), end="")
        for _, problem in problems:
            print(json.dumps(describe(problem), ensure_ascii=False) if output is MatchDisplay.JSON else problem)
        wrong = sum(problem.is_error for _, problem in problems)
        if output is not MatchDisplay.JSON:
            print(
                f"{count(len(programs), 'program')}: {count(wrong, 'error')}, {count(len(problems) - wrong, 'warning')}"
            )
        if wrong or (strict and problems):
            raise typer.Exit(ExitCode.PROGRAM)


@with_knowledge
def explain(
    program: ProgramFile,
    *,
    policy: Policy = None,
    code: Annotated[bool, typer.Option("--code", help="Show the Python code that the plan becomes.")] = False,
    svg: Annotated[Path | None, typer.Option(help="Draw the plan into this SVG file.")] = None,
    html: Annotated[Path | None, typer.Option(help="Draw the plan into this page, where boxes can be asked.")] = None,
    dot: Annotated[Path | None, typer.Option(help="Write the plan into this Graphviz file.")] = None,
    rules: Annotated[bool, typer.Option("--rules", help="Show the rules that queries become.")] = False,
    encoding: Encoding = None,
    knowledge: KnowledgeOptions = NOTHING,
) -> None:
    """Show how a program is run: its plan, a picture of it, its code."""
    with reporting():
        compiled = load(program, knowledge, encoding=encoding)
        files = [(svg, Picture.to_svg), (html, Picture.to_html), (dot, Picture.to_dot)]
        drawn = [(path, draw) for path, draw in files if path is not None]
        for path, draw in drawn:
            write_text(draw(compiled.picture(policy=policy)), path)
        if rules:
            print(print_program(compiled.compiled.written), end="")
        elif code:
            print(compiled.code(policy=policy))
        elif not drawn:
            print(compiled.explain(policy=policy))


def _find_in(
    path: Path, knowledge: KnowledgeOptions, encoding: str | None
) -> tuple[Queries | None, tuple[Problem, ...]]:
    """Return the problems of a file, and what it holds if that is queries."""
    if is_query(path):
        return query_problems(read_program(path, encoding), path, knowledge)
    return None, find_problems(path, knowledge, encoding)


def find_problems(path: Path, knowledge: KnowledgeOptions, encoding: str | None = None) -> tuple[Problem, ...]:
    """Return the errors and warnings of a program that is given some knowledge."""
    try:
        return knowledge.compile(path, read_program(path, encoding)).problems
    except ProgramError as error:
        return error.problems


def describe(problem: Problem) -> dict[str, Any]:
    """Return a problem as JSON-ready data."""
    source, place = (
        (None, None)
        if problem.span is None
        else (
            problem.span.source.name,
            problem.span.source.place(problem.span.start),
        )
    )
    line, column = place or (None, None)
    return {
        "code": problem.code,
        "message": problem.message,
        "file": source,
        "line": line,
        "column": column,
        "hint": problem.hint,
    }
