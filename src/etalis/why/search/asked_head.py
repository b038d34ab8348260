"""A question whose attributes are terms with variables in them, or name a variable twice: what a head must come to.

Where a question gives values alone, the variables of the head have these from the beginning, and nothing is left to
test.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from etalis.data.values import Value
from etalis.language import syntax as s
from etalis.language.traversal import rewrite_term, variables
from etalis.semantics.matches import ground, match_all
from etalis.why.bound_terms import bind_term


class AskedHead(NamedTuple):
    """The attributes of a head, and those of the question."""

    head: tuple[s.Term, ...]
    asked: tuple[s.Term, ...]

    @staticmethod
    def of(head: tuple[s.Term, ...], asked: tuple[s.Term, ...]) -> AskedHead | None:
        """Return what is to be tested; None where the values that are asked for say it all."""
        names = [variable.name for variable in variables(*asked)]
        plain = all(isinstance(term, s.Var) or not list(variables(term)) for term in asked)
        return None if plain and len(names) == len(set(names)) else AskedHead(head, asked)

    def can_be(self, bound: Mapping[str, Value]) -> bool:
        """Tell whether the attributes that are known fit the question."""
        return self._matched(bound) is not None

    def terms(self, bound: Mapping[str, Value]) -> dict[str, s.Term]:
        """Return what the question says of variables of the head that have no value yet.

        >>> question = s.Compound("f", (s.Var("Y"),)), s.Var("Y")
        >>> AskedHead((s.Var("A"), s.Var("B")), question).terms({"B": 3})
        {'A': Compound(name='f', args=(Const(value=3),))}
        """
        matched, found = self._matched(bound) or {}, dict[str, s.Term]()
        waiting = list(zip(self.head, self.asked, strict=True))
        while waiting:
            term, asked = waiting.pop()
            if isinstance(term, s.Var) and term.name not in bound:
                told = bind_term(asked, matched)
                found |= {} if isinstance(told, s.Var) else {term.name: _nameless(told)}
            elif isinstance(term, s.Compound) and isinstance(asked, s.Compound):
                waiting += zip(term.args, asked.args, strict=False)
        return found

    def _matched(self, bound: Mapping[str, Value]) -> dict[str, Value] | None:
        """Return the values of the question's variables, by the attributes that are known."""
        known = [
            (x, y) for x, y in zip(self.head, self.asked, strict=True) if all(v.name in bound for v in variables(x))
        ]
        return match_all([y for _, y in known], [ground(x, dict(bound)) for x, _ in known], {})


def put_terms(pattern: s.EventPattern, found: Mapping[str, s.Term]) -> s.EventPattern:
    """Return the pattern of an event with terms for its variables."""

    def change(_old: s.Term, new: s.Term) -> s.Term:
        return found.get(new.name, new) if isinstance(new, s.Var) else new

    if not found:
        return pattern
    return replace(pattern, args=tuple(rewrite_term(term, change) for term in pattern.args))


def _nameless(term: s.Term) -> s.Term:
    """Return a term without names of variables, which in a rule may be those of others."""

    def change(_old: s.Term, new: s.Term) -> s.Term:
        return s.Var(f"_#{new.name}") if isinstance(new, s.Var) and not new.name.startswith("_#") else new

    return rewrite_term(term, change)
