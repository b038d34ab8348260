"""Queries of EP-SPARQL on the command line: what is wrong with them, and their standard form."""

from __future__ import annotations

from pathlib import Path

from etalis.cli.knowledge import KnowledgeOptions
from etalis.epsparql.printer import print_unit
from etalis.epsparql.read import read_collect
from etalis.epsparql.syntax import Unit
from etalis.errors import Problem, ProgramError


def query_problems(text: str, path: Path, knowledge: KnowledgeOptions) -> tuple[Unit, tuple[Problem, ...]]:
    """Return the queries of a text, and their errors and warnings where they are given some background."""
    unit, problems = read_collect(
        text, name=str(path), prefixes=knowledge.prefixes, vocabulary=knowledge.vocabulary, dialect=knowledge.dialect
    )
    if any(problem.is_error for problem in problems):
        return unit, tuple(problems)
    try:
        return unit, knowledge.compile(path, text).problems
    except ProgramError as error:
        return unit, (*problems, *error.problems)


def standard_form(unit: Unit, vocabulary: str | None) -> str:
    """Return queries as SPARQL writes them, with the vocabulary as the empty prefix."""
    return print_unit(unit, prefixes=None if vocabulary is None else {"": vocabulary})
