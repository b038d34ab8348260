"""Expressions of SPARQL in goals: functions that exist, with as many arguments as they take.

At run time an unknown function is an error of its expression, which a filter takes as false: nobody would see it.
"""

from __future__ import annotations

from collections.abc import Iterator

from etalis.errors import Problem, Span
from etalis.language.check.outline import Outline
from etalis.language.check.spelling import suggest
from etalis.language.syntax import Compound, Term
from etalis.logic.sparql.functions import FUNCTIONS, ExpressionFunction

_HINT = "expressions are those of SPARQL 1.1, names in small letters"
_GOALS = frozenset({("sparql", 1), ("sparql", 2)})


def check_expressions(outline: Outline) -> Iterator[Problem]:
    """Yield what is wrong with the expressions of a program's goals."""
    for call, _ in outline.called:
        if call.indicator in _GOALS:
            yield from expression_problems(call.args[0])


def expression_problems(expression: Term) -> Iterator[Problem]:
    """Yield the functions of an expression that there are not, or that take other numbers of arguments."""
    todo = [expression]
    while todo:
        term = todo.pop()
        if not isinstance(term, Compound):
            continue
        row = FUNCTIONS.get(term.name)
        if row is None:
            yield _unknown(term.name, term.span)
        elif not row.takes(len(term.args)):
            message = f"`{term.name}` takes {_count(row)}, not {len(term.args)}"
            yield Problem("E270", message, term.span, _HINT)
        todo.extend(reversed(term.args))


def _unknown(name: str, span: Span | None) -> Problem:
    small = name.lower()
    hint = f"did you mean {small}?" if small in FUNCTIONS else suggest(small, FUNCTIONS, _HINT)
    return Problem("E270", f"`{name}` is no function of expressions", span, hint)


def _count(row: ExpressionFunction) -> str:
    if row.most is None:
        return f"at least {row.least} arguments"
    counts = str(row.least) if row.least == row.most else f"{row.least} to {row.most}"
    return f"{counts} argument{'s' if row.most != 1 else ''}"
