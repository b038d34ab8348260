"""A program without the clauses that have errors: `skip_broken`.

Law: what is left has no errors, nothing that could stay is gone, and every clause left out is named (W240). An error
that is not of one clause, such as a flag or an import, refuses the program as ever.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from etalis.errors import Problem, Span
from etalis.language.check.checks import findings, in_order
from etalis.language.check.goals import Indicator
from etalis.language.read.imports import Reader
from etalis.language.read.modules import resolve
from etalis.language.read.parser import parse_collect
from etalis.language.syntax import (
    ActionClause,
    Clause,
    Constraint,
    Item,
    LabelProperty,
    Reaction,
    Rule,
    Tree,
    Trigger,
)

_TOO_MANY = "E119"  # the rest of the text was not read
_NOUNS = {
    Rule: "rule",
    Clause: "clause",
    Trigger: "trigger",
    LabelProperty: "property",
    Reaction: "reaction",
    ActionClause: "action",
    Constraint: "constraint",
}


@dataclass(slots=True)
class Sound:
    """A program that can run, its warnings, and the errors of the clauses that were left out."""

    program: Tree
    problems: list[Problem] = field(default_factory=list)
    skipped: list[Problem] = field(default_factory=list)


def skip_broken(
    text: str, name: str, *, read: Reader, folder: str | None = None, given: frozenset[Indicator] = frozenset()
) -> Sound:
    """Return the program of a text without the clauses that have errors; errors that stay are among its problems."""
    program, unread = parse_collect(text, name)
    whole, missing = resolve(program, read, folder)
    absent = [p for p in (*unread, *missing) if p.is_error and _is_left_out(p)]
    sound = Sound(whole, [p for p in (*unread, *missing) if p not in absent], list(absent))
    warnings = [_say("clause", problem, problem.span) for problem in absent]
    while True:
        found = findings(sound.program, given)
        broken = {id(item): (item, p) for p in reversed(found) if p.is_error and (item := _place(p, sound.program))}
        if not broken:
            sound.problems = in_order([*sound.problems, *found, *warnings])
            sound.skipped = in_order(sound.skipped)
            return sound
        sound.program = Tree(tuple(item for item in sound.program.items if id(item) not in broken), sound.program.span)
        sound.skipped += [problem for _, problem in broken.values()]
        warnings += [_say(_NOUNS[type(item)], problem, item.span) for item, problem in broken.values()]


def _is_left_out(problem: Problem) -> bool:
    """Tell whether a problem says that a clause could not be read, or that its attributes have no places."""
    return problem.code == "E233" or (problem.code.startswith("E1") and problem.code != _TOO_MANY)


def _place(problem: Problem, program: Tree) -> Item | None:
    """Return the clause that an error lies in, None if it is an error of the whole."""
    return next((item for item in program.items if type(item) in _NOUNS and _holds(item.span, problem.span)), None)


def _holds(span: Span | None, inner: Span | None) -> bool:
    return (
        span is not None
        and inner is not None
        and span.source == inner.source
        and span.start <= inner.start
        and inner.end <= span.end
    )


def _say(noun: str, problem: Problem, span: Span | None) -> Problem:
    return Problem("W240", f"this {noun} is left out: {problem.message} ({problem.code})", span, problem.hint)
