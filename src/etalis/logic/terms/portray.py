"""Clauses as program text: `portray_clause/1` and `listing/1`; variables named A, B, ..., those of one place `_`."""

from __future__ import annotations

from collections import Counter

from etalis.logic.terms.unify import Term, Variable, deref, variables
from etalis.logic.terms.write import Style, letter_name, print_term

_INDENT = "    "


def portray(clause: Term) -> str:
    """Return a clause as it would stand in a program, with a full stop and a new line."""
    style = Style(numbered=True, names=_names(clause))
    clause = deref(clause)
    if isinstance(clause, tuple) and len(clause) == 3 and clause[0] == ":-":
        if deref(clause[2]) == "true":
            return portray(clause[1])
        goals = [print_term(goal, style, priority=999) for goal in _conjuncts(clause[2])]
        head = print_term(clause[1], style, priority=999)
        return f"{head} :-\n{_INDENT}" + f",\n{_INDENT}".join(goals) + ".\n"
    return print_term(clause, style) + ".\n"


def _names(clause: Term) -> dict[Variable, str]:
    names: dict[Variable, str] = {}
    number = 0
    for variable, count in Counter(variables(clause)).items():
        names[variable] = "_" if count == 1 else letter_name(number)
        number += count > 1
    return names


def _conjuncts(body: Term) -> list[Term]:
    goals: list[Term] = []
    body = deref(body)
    while isinstance(body, tuple) and len(body) == 3 and body[0] == ",":
        goals.append(body[1])
        body = deref(body[2])
    return [*goals, body]
