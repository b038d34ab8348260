"""The program of a pipeline: its files one after the other, and its tables of facts.

Law: problems have the places of the files they stand in, or of the section that names a table.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from copy import copy
from itertools import accumulate
from pathlib import Path
from typing import Any, TypeAlias

from etalis.data.values import to_value
from etalis.errors import EtalisError, Problem, ProgramError, Source, Span
from etalis.language.flags import FLAGS, flag_problems
from etalis.language.read.imports import read_below
from etalis.language.syntax import Const, SetFlag
from etalis.logic.knowledge.loaders import load_rows
from etalis.pipeline.parts import Pipeline
from etalis.runtime.compiled import CompiledProgram, compile_text

Texts: TypeAlias = Sequence[tuple[str, str]]  # name and text of each file


def assemble(pipeline: Pipeline) -> tuple[CompiledProgram | None, list[Problem]]:
    """Return the program with its facts, but for those that are refreshed, if it can be run, and the problems found."""
    problems: list[Problem] = []
    texts = _read_files(pipeline, problems)
    facts = [
        _note(pipeline, i, problems, load_rows, t.path, t.columns or None) for i, t in enumerate(pipeline.knowledge)
    ]
    if len(texts) < len(pipeline.program.files):
        return None, problems
    program = _compile(pipeline, texts, problems)
    if program is None or problems:
        return None, problems
    whole = copy(program)  # with those that are refreshed, which batches bring
    whole.knowledge = program.knowledge.copied()
    for i, (table, rows) in enumerate(zip(pipeline.knowledge, facts, strict=True)):
        _note(pipeline, i, problems, whole.knowledge.load, (table.name, rows))
        if table.is_fixed and not problems:
            program.knowledge.load((table.name, rows))
    return (None, problems) if problems else (program, [_place(pipeline, p, texts) for p in whole.problems])


def _read_files(pipeline: Pipeline, problems: list[Problem]) -> Texts:
    texts: list[tuple[str, str]] = []
    for path in pipeline.program.files:
        try:
            text = Path(path).read_text(encoding="utf-8-sig")
            texts.append((path, text if text.endswith("\n") else text + "\n"))
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
            problems.append(pipeline.problem("E706", f"cannot read {path}: {reason}", ("program", "files")))
    return texts


def _note(pipeline: Pipeline, number: int, problems: list[Problem], call: Callable[..., Any], *given: Any) -> Any:
    """Return what a call for a table gives; what it refuses is noted at the table's place."""
    try:
        return call(*given)
    except EtalisError as error:
        found = error.problems[0]
        problems.append(pipeline.problem(found.code, found.message, ("knowledge", number), found.hint))
        return None


def _compile(pipeline: Pipeline, texts: Texts, problems: list[Problem]) -> CompiledProgram | None:
    flags = dict(pipeline.program.flags)
    if pipeline.program.policy is not None:
        flags["event_consumption_policy"] = pipeline.program.policy
    unknown = [SetFlag(name, Const(to_value(flags.pop(name)))) for name in list(flags) if name not in FLAGS]
    problems += [_place(pipeline, problem, texts) for flag in unknown for problem in flag_problems(flag)]
    whole = "".join(text for _, text in texts)
    try:
        # Imports are looked for beside the first file.
        folder = Path(texts[0][0]).parent
        program = compile_text(whole, texts[0][0], read_below(folder), str(folder), flags=flags)
        program.name = pipeline.name
        return program
    except ProgramError as error:
        problems += [_place(pipeline, problem, texts) for problem in error.problems]
        return None


def _place(pipeline: Pipeline, problem: Problem, texts: Texts) -> Problem:
    """Return a problem with the place that the user knows: a file, or a flag in the pipeline."""
    span = problem.span
    if span is None:
        return Problem(problem.code, problem.message, pipeline.places.find(("program",)), problem.hint)
    if span.source.name != texts[0][0]:
        return problem
    begins = list(accumulate((len(text) for _, text in texts[:-1]), initial=0))
    number = bisect_right(begins, span.start) - 1
    (name, text), begin = texts[number], begins[number]
    shifted = Span(Source(name, text), span.start - begin, min(span.end - begin, len(text)))
    return Problem(problem.code, problem.message, shifted, problem.hint)
