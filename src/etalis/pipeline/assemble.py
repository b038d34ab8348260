"""The program of a pipeline: its files one after the other, and its tables of facts as clauses behind them.

Facts become text, since a program's text is what travels to Spark's workers. Places of problems are those of the files.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from etalis.errors import EtalisError, Problem, ProgramError, Source, Span
from etalis.logic.loaders import load_rows
from etalis.logic.term import format_atom, format_value
from etalis.logic.unify import to_value
from etalis.pipeline.spec import KnowledgePart, Pipeline
from etalis.runtime.program import Program
from etalis.runtime.program import compile as compile_text

FEW = 100_000  # facts beyond which a text is no way to carry them


@dataclass(frozen=True, slots=True)
class _Piece:
    """A part of the whole text, with the name to show for it."""

    name: str
    text: str
    start: int

    def shift(self, problem: Problem) -> Problem:
        """Return a problem of the whole text as one of this piece."""
        assert problem.span is not None
        first, last = problem.span.start - self.start, problem.span.end - self.start
        span = Span(Source(self.name, self.text), first, min(last, len(self.text)))
        return Problem(problem.code, problem.message, span, problem.hint)


def assemble(pipeline: Pipeline) -> tuple[Program | None, list[Problem]]:
    """Return the program, if it can be read and run, and the problems found."""
    problems: list[Problem] = []
    texts: list[tuple[str, str]] = []
    for path in pipeline.program.files:
        try:
            texts.append((path, Path(path).read_text(encoding="utf-8-sig")))
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
            problems.append(pipeline.problem("E706", f"cannot read {path}: {reason}", ("program", "files")))
    for i, table in enumerate(pipeline.knowledge):
        try:
            texts.append((f"knowledge {table.name}", write_facts(table)))
        except EtalisError as error:
            found = error.problems[0]
            problems.append(pipeline.problem(found.code, found.message, ("knowledge", i), found.hint))
    if problems:
        return None, problems
    return _compile(pipeline, texts)


def write_facts(table: KnowledgePart) -> str:
    """Return the rows of a table as clauses."""
    rows = load_rows(table.path, table.columns or None)
    if len(rows.rows) > FEW:
        message = f"{table.path} has {len(rows.rows):,} rows, a pipeline takes {FEW:,} facts of one name"
        raise ProgramError(Problem("E708", message, hint="leave out what no rule asks for, or make them events"))
    name = format_atom(table.name)
    return "".join(f"{name}({', '.join(format_value(to_value(term)) for term in row)}).\n" for row in rows.rows)


def _compile(pipeline: Pipeline, texts: Sequence[tuple[str, str]]) -> tuple[Program | None, list[Problem]]:
    pieces: list[_Piece] = []
    whole = ""
    for name, text in texts:
        pieces.append(_Piece(name, text, len(whole)))
        whole += text if text.endswith("\n") else text + "\n"
    first = texts[0][0]  # imports are looked for beside it
    flags = dict(pipeline.program.flags)
    if pipeline.program.policy is not None:
        flags["event_consumption_policy"] = pipeline.program.policy
    try:
        program = compile_text(whole, name=first, **flags)
    except ProgramError as error:
        return None, [_place(pipeline, problem, first, pieces) for problem in error.problems]
    return program, [_place(pipeline, problem, first, pieces) for problem in program.problems]


def _place(pipeline: Pipeline, problem: Problem, whole: str, pieces: Sequence[_Piece]) -> Problem:
    """Return a problem with the place that the user knows: a file, or a flag in the pipeline."""
    if problem.span is None:
        return Problem(problem.code, problem.message, pipeline.places.find(("program",)), problem.hint)
    if problem.span.source.name != whole:
        return problem
    return next(piece for piece in reversed(pieces) if piece.start <= problem.span.start).shift(problem)
