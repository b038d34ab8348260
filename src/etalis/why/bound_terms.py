"""Patterns and terms with the values of their variables in them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from etalis.language import syntax as s
from etalis.language.lower import to_syntax
from etalis.language.traversal import PARTS, rewrite, rewrite_term
from etalis.logic.terms.unify import from_value
from etalis.why.justification import Bindings


def bind_term(term: s.Term, bindings: Bindings) -> s.Term:
    """Return a term with values for its variables.

    >>> bind_term(s.Compound("f", (s.Var("X"), s.Var("Y"))), {"X": 1}).args
    (Const(value=1), Var(name='Y'))
    """

    def change(_old: s.Term, new: s.Term) -> s.Term:
        if isinstance(new, s.Var) and new.name in bindings:
            return to_syntax(from_value(bindings[new.name]))
        return new

    return rewrite_term(term, change) if bindings else term


def bind_pattern(pattern: s.Pattern, bindings: Bindings) -> s.Pattern:
    """Return a pattern with values for its variables; a sub-rule is as it is."""

    def change(node: s.Pattern) -> s.Pattern:
        changes: dict[str, Any] = {}
        for field in PARTS[type(node)].terms:
            found = getattr(node, field)
            if isinstance(found, tuple):
                changes[field] = tuple(bind_term(term, bindings) for term in found)
            elif found is not None:
                changes[field] = bind_term(found, bindings)
        return replace(node, **changes) if changes else node

    return rewrite(pattern, change) if bindings else pattern
