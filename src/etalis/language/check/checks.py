"""All problems of a program at once, each with code, place and hint (codes: docs/errors.md).

`check` runs after parsing: it turns a syntax tree into findings, sorted by place. Errors refuse the program, warnings
let it run. The checks are one tuple of functions over an `Outline`; none depends on another having passed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from etalis.errors import Problem
from etalis.language import syntax as s
from etalis.language.check.bounds import check_bounds
from etalis.language.check.effects import check_effects
from etalis.language.check.expressions import check_expressions
from etalis.language.check.goals import Indicator
from etalis.language.check.knowledge import check_knowledge
from etalis.language.check.names import check_names
from etalis.language.check.outline import Outline
from etalis.language.check.recursion import check_recursion
from etalis.language.check.safety import check_safety
from etalis.language.check.shapes import check_shapes
from etalis.language.check.signatures import check_signatures
from etalis.language.lint.computation import check_computation
from etalis.language.lint.event_arguments import check_arguments
from etalis.language.lint.foreign_words import check_words
from etalis.language.lint.ineffective_rules import check_idle
from etalis.language.lint.lowercase_constants import check_constants
from etalis.language.lint.redundancy import check_redundancy
from etalis.language.lint.single_variables import CODES as SINGLE
from etalis.language.lint.single_variables import check_single
from etalis.language.outer.check_outer import check_outer
from etalis.language.reactive.check_constraints import check_constraints
from etalis.language.reactive.cycles import check_cycles
from etalis.language.reactive.goals import check_tests
from etalis.language.reactive.reactions import check_reactions
from etalis.language.reactive.state import check_state
from etalis.language.reactive.variables import check_variables
from etalis.language.read.imports import Reader, read_nothing
from etalis.language.read.modules import resolve
from etalis.language.read.parser import parse_collect

CHECKS: tuple[Callable[[Outline], Iterator[Problem]], ...] = (
    check_names,
    check_shapes,
    check_outer,
    check_constraints,
    check_signatures,
    check_safety,
    check_single,
    check_arguments,
    check_computation,
    check_expressions,
    check_words,
    check_constants,
    check_knowledge,
    check_recursion,
    check_bounds,
    check_effects,
    check_state,
    check_tests,
    check_variables,
    check_reactions,
    check_cycles,
    check_idle,
    check_redundancy,
)


# Findings that need not be told where one of others holds the same place: a variable that occurs once, a condition
# that never holds.
_EXPLAINED_BY = dict.fromkeys(SINGLE, frozenset({"E204", "E214", "E216", "E275", "E276", "W205", "W217"}))
_EXPLAINED_BY |= {"W219": frozenset({"W231"}), "W231": frozenset({"W218", "W220", "W223"})}
_EXPLAINED_BY |= {"W226": frozenset({"W221"})}
_AROUND_RULES = (
    s.EventDeclaration | s.Clause | s.Declare | s.KnowledgeDeclaration | s.SetFlag | s.StateDeclaration | s.ActionClause
)
# What a clause that could not be read may explain: its label, its export, its name.
_EXPLAINED_BY_GAPS = frozenset({"E217", "E221", "E227"})


def check_text(
    text: str,
    name: str = "<program>",
    *,
    read: Reader = read_nothing,
    folder: str | None = None,
    given: frozenset[Indicator] = frozenset(),
) -> tuple[s.Tree, list[Problem]]:
    """Return the program of a text with all that it imports, and all its problems, of syntax and beyond.

    The files come from `read`, looked up from `folder`, or else from that of the name; `given` are predicates that come
    from elsewhere than the text.
    Where clauses could not be read, or name attributes that have no place, warnings and findings that their absence
    would explain are left out.
    """
    program, unread = parse_collect(text, name)
    whole, missing = resolve(program, read, folder)
    problems = [*unread, *missing, *findings(whole, given)]
    if any(problem.is_error for problem in unread) or any(problem.code == "E233" for problem in missing):
        problems = [problem for problem in problems if problem.is_error and problem.code not in _EXPLAINED_BY_GAPS]
    return whole, in_order(problems)


def check(program: s.Tree, *, read: Reader = read_nothing) -> list[Problem]:
    """Return all problems of a program, sorted by place; `read` supplies the files that it imports."""
    whole, missing = resolve(program, read)
    return in_order([*missing, *findings(whole)])


def check_rules(program: s.Tree, rules: Iterable[s.Rule]) -> list[Problem]:
    """Return the problems of rules that join a program at run time, against its declarations and knowledge."""
    added = tuple(rules)
    labels = {rule.label for rule in added}
    around = [
        item
        for item in program.items
        if isinstance(item, _AROUND_RULES) or (isinstance(item, s.LabelProperty) and item.label in labels)
    ]
    return check(s.Tree((*around, *added), program.span))


def findings(program: s.Tree, given: frozenset[Indicator] = frozenset()) -> list[Problem]:
    """Return what the checks find in a program that needs no more files."""
    outline = Outline(program, given)
    found = [problem for inspect in CHECKS for problem in inspect(outline)]
    places = {
        code: [problem.span for problem in found if problem.code in others] for code, others in _EXPLAINED_BY.items()
    }
    return [problem for problem in found if not any(map(problem.is_within, places.get(problem.code, ())))]


def in_order(problems: Iterable[Problem]) -> list[Problem]:
    """Sort problems by place and leave out repetitions."""
    return sorted(dict.fromkeys(problems), key=_place)


def _place(problem: Problem) -> tuple[Any, ...]:
    if problem.span is None:
        return ("", 0, 0, problem.code, problem.message)
    return (problem.span.source.name, problem.span.start, problem.span.end, problem.code, problem.message)
