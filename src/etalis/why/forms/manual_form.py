"""Terms of justifications in the layout of the manual's `write_justification/1`.

Operands stand inside `seq( , )`, eight spaces further in; a line of 20 dashes, then the conclusion. What did not occur
is `failed forall rules( ... )`. Beyond `DEEPEST` levels lines go no further in. All walks are loops.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from etalis.logic.terms.unify import LIST, Term, deref, split_list
from etalis.why import justification as j
from etalis.why import why_not as w
from etalis.why.forms.attempt_term import why_not_term
from etalis.why.forms.term_form import justification_term, term_text
from etalis.why.forms.wording import UNLABELED
from etalis.why.printable import form

INDENT = " " * 8
LINE = "-" * 20
DEEPEST = 25


@form("Justification", "manual")
def write_justification_as_manual(found: j.Justification, dates: bool = False, whole: bool = False) -> str:
    """Write a justification in the layout of the manual."""
    del dates, whole
    return manual_text(justification_term(found.root))


@form("WhyNot", "manual")
def write_why_not_as_manual(found: w.WhyNot, dates: bool = False, whole: bool = False) -> str:
    """Write why an event did not occur in the layout of the manual."""
    del dates, whole
    return manual_text(why_not_term(found))


def manual_text(term: Term) -> str:
    """Write the term of a justification in the layout of the manual."""
    lines: list[str] = []
    todo: list[tuple[int, Any, bool]] = [(0, term, True)]  # level, a term or a line, and whether it is a term
    while todo:
        level, item, is_term = todo.pop()
        if is_term:
            todo.extend(reversed(_layout(level, item)))
        else:
            lines.append(INDENT * min(level, DEEPEST) + item)
    return "\n".join(lines)


def _layout(level: int, term: Term) -> list[tuple[int, Any, bool]]:
    """Return the lines and the terms that a term is written as."""
    match open_term(term):
        case ("justification", _, ("head", event, times), "default" | "shared"):
            return [(level, _event(event, times), False)]
        case ("justification", _, ("head", event, times), "failed"):
            return [(level, f"failed({_event(event, times)})", False)]
        case ("justification", label, ("head", event, times), ("failed", body, *causes)):
            inner = [(level + 1, body, True), *((level + 1, term_text(cause), False) for cause in causes)]
            head = [(level, "failed(", False), (level, _event(event, times), False), (level, LINE, False)]
            return [*_label(level, label), *head, *inner, (level, ")", False)]
        case ("justification", label, ("head", event, times), ("justification", *_) as body):
            inner = [(level + 1, body, True), (level, LINE, False), (level, _event(event, times), False)]
            return [*_label(level, label), *inner]
        case ("justification", label, ("head", event, times), body):
            inner = [(level, body, True), (level, LINE, False), (level, _event(event, times), False)]
            return [*_label(level, label), *inner]
        case (_, *_) as found if found[0] == LIST:
            return _listed(level, "failed forall rules(", split_list(found)[0])
        case (str() as name, *operands) if name != "prolog":
            return _listed(level, f"{name}(", operands)
        case other:
            return [(level, term_text(other), False)]


def open_term(term: Term) -> Term:
    """Return a term as far as its shape is looked at, without variables in between."""
    found = deref(term)
    if not isinstance(found, tuple) or not found or found[0] != "justification" or len(found) != 4:
        return found
    label, head, body = (deref(part) for part in found[1:])
    opened = (body[0], *map(deref, body[1:])) if isinstance(body, tuple) and body else body
    return ("justification", label, head, opened)


def _label(level: int, label: Term) -> list[tuple[int, Any, bool]]:
    return [] if label == UNLABELED else [(level, f"{term_text(label)} rule:", False)]


def _listed(level: int, opening: str, terms: Sequence[Term]) -> list[tuple[int, Any, bool]]:
    found: list[tuple[int, Any, bool]] = [(level, opening, False)]
    for place, term in enumerate(terms):
        found += [(level, ",", False)] if place else []
        found.append((level + 1, term, True))
    return [*found, (level, ")", False)]


def _event(event: Term, times: Term) -> str:
    return term_text(("event", event, times))
