"""Queries of EP-SPARQL on the command line: which files hold them, what is wrong with them, their standard form."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from etalis.cli.knowledge import KnowledgeOptions
from etalis.epsparql.check import check
from etalis.epsparql.printer import print_unit
from etalis.epsparql.read import read_collect
from etalis.epsparql.reads import Predicates, known_predicates
from etalis.epsparql.syntax import Unit
from etalis.errors import Problem
from etalis.logic.rdf.load import load_graph

ENDINGS = (".rq", ".epsparql")


@dataclass(frozen=True, slots=True)
class QueryOptions:
    """How queries are read."""

    vocabulary: str | None = None
    dialect: str | None = None


def is_query(path: Path) -> bool:
    """Tell whether a file holds queries, by its ending."""
    return path.suffix.lower() in ENDINGS


def query_problems(
    text: str, path: Path, knowledge: KnowledgeOptions, options: QueryOptions
) -> tuple[Unit, tuple[Problem, ...]]:
    """Return the queries of a text, and their errors and warnings where they are given some background."""
    unit, problems = read_collect(text, name=str(path), vocabulary=options.vocabulary, dialect=options.dialect)
    if not any(problem.is_error for problem in problems):
        problems += check(unit, _background(unit, knowledge))
    return unit, tuple(problems)


def _background(unit: Unit, knowledge: KnowledgeOptions) -> Predicates | None:
    if not knowledge.rdf:
        return None
    return known_predicates(unit, _triples(knowledge.rdf), _triples(knowledge.rdf, entailment="rdfs"))


def _triples(files: list[Path], **options: Any) -> list[tuple[Any, ...]]:
    (_, rows), *_ = load_graph(files, terms="exact", **options).relations
    return list(rows.rows)


def standard_form(unit: Unit, options: QueryOptions) -> str:
    """Return queries as SPARQL writes them, with the vocabulary as the empty prefix."""
    return print_unit(unit, prefixes=None if options.vocabulary is None else {"": options.vocabulary})
